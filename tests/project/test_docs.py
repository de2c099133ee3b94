"""Every code block of the README and of `docs/` runs as it stands (docs/decisions/0007).

A comment before a block names the replies that the provider gives to it, in order:

    <!-- replies: weather-call weather-answer -->
    ```python
    …
    ```

    ```text
    what the block prints, exactly
    ```

The `text` block may be left away. A block is a whole program, so there is no way to show one that does not run. In
`docs/`, a block in `sh` is run as well; and one under `<!-- file: house.toml -->` is a file of that name, which lies in
the folder in which the blocks after it run. (The README's commands are run by `.ci/run`.)
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, get_args

import pytest

from llmcore import cli, errors
from llmcore.cassette.script import Received, Reply, Send
from llmcore.errors import LLMError
from llmcore.schema.parts import Part

ROOT = Path(__file__).resolve().parents[2]
SITE = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", *SITE]


class Block(NamedTuple):
    """One code block: where it stands, its language and text, the files that stand before it on its page, the replies
    that it needs and what it should print."""

    page: str
    line: int
    language: str
    code: str
    files: dict[str, str]
    replies: tuple[str, ...]
    printed: str | None


FENCE = re.compile(
    r"^(?:<!-- (?:replies: (?P<replies>[a-z0-9 -]+)|file: (?P<file>[a-z_.]+)) -->\n)?```(?P<language>[a-z]+)\n"
    r"(?P<code>.*?)^```\n(?:\n```text\n(?P<printed>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
RUN = ("python", "sh")


def blocks() -> list[Block]:
    found = list[Block]()
    for page in PAGES:
        text, files = page.read_text(encoding="utf-8"), dict[str, str]()
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start("code")) + 1
            replies = tuple((match["replies"] or "").split())
            name = page.relative_to(ROOT).as_posix()
            if match["language"] == "python" or (match["language"] == "sh" and page in SITE):
                found.append(
                    Block(name, line, match["language"], match["code"], dict(files), replies, match["printed"])
                )
            if match["file"] is not None:
                files[match["file"]] = match["code"]
    return found


BLOCKS = blocks()


def answer(text: str = "", call: tuple[str, dict[str, object]] | None = None) -> Callable[[Received], Reply]:
    """OpenAI's Chat answer with that text, or that call of a tool: a stream where it was asked for, else whole."""
    finish = "tool_calls" if call else "stop"
    usage = {"prompt_tokens": 12, "completion_tokens": 9, "total_tokens": 21}
    envelope = {"id": "chatcmpl-1", "created": 1760000000, "model": "gpt-5-mini-2025-08-07"}

    def chunk(delta: object, reason: str | None = None) -> str:
        choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
        return json.dumps({**envelope, "object": "chat.completion.chunk", "choices": choices})

    def reply(received: Received) -> Reply:
        message: dict[str, object] = {"role": "assistant", "content": text or None}
        deltas: list[dict[str, object]] = [{"content": word} for word in re.findall(r"\S+\s*", text)]
        if call is not None:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
            deltas = [{"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}]
        body = received.json()
        assert isinstance(body, dict)
        if not body.get("stream"):
            choices = [{"index": 0, "message": message, "finish_reason": finish}]
            return Reply.json({**envelope, "object": "chat.completion", "choices": choices, "usage": usage})
        last = json.dumps({**envelope, "object": "chat.completion.chunk", "choices": [], "usage": usage})
        return Reply.sse(*[chunk(delta) for delta in deltas], chunk({}, finish), last, "[DONE]")

    return reply


def words(received: Received) -> Reply:
    """The answer of the service in docs/protocol-authors-guide.md."""
    said, end = ["Hello! ", "How ", "can ", "I ", "help?"], {"end": "stop", "tokens": 9}
    body = received.json()
    assert isinstance(body, dict)
    if not body.get("stream"):
        return Reply.json({"words": said, **end})
    return Reply.sse(*[json.dumps({"word": word}) for word in said], json.dumps(end))


def cut(received: Received) -> Reply:
    """The beginning of the haiku, and then the end of the bytes."""
    whole = answer("Bytes come one ")(received)
    return Reply.sse(*[action.data for action in whole.actions[:3] if isinstance(action, Send)])


REPLIES: dict[str, Reply | Callable[[Received], Reply]] = {
    "hello": answer("Hello! How can I help?"),
    "haiku": answer("Bytes come one by one, a name, a call, then answers: the stream has an end."),
    "words": words,
    "cut": cut,
    "weather-call": answer(call=("weather", {"city": "Lisbon"})),
    "weather-answer": answer("It is 21 degrees in Lisbon."),
    "json": answer('{"city": "Lisbon", "degrees": 21}'),
    "bad-key": Reply.json(
        {
            "error": {
                "message": "Incorrect API key provided.",
                "type": "invalid_request_error",
                "code": "invalid_api_key",
            }
        },
        status=401,
        headers=(("x-request-id", "req_1"),),
    ),
    "rate-limit": Reply.json(
        {"error": {"message": "Rate limit reached.", "type": "requests", "code": "rate_limit_exceeded"}},
        status=429,
        headers=(("retry-after", "2"),),
    ),
}


def name_of(block: Block) -> str:
    return f"{block.page}:{block.line}"


def test_every_page_is_read() -> None:
    fences = sum(page.read_text(encoding="utf-8").count("```python") for page in PAGES)
    assert sum(block.language == "python" for block in BLOCKS) == fences
    assert {"README.md", "docs/guide.md"} <= {block.page for block in BLOCKS}


@pytest.mark.parametrize("page", SITE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_shows_nothing_that_does_not_run(page: Path) -> None:
    """A fence is a block that runs, what it prints, a file, a directive of the site, or a drawing."""
    text = page.read_text(encoding="utf-8")
    fences = re.findall(r"^ *```([^\n]*)$", text, re.MULTILINE)[::2]
    assert set(fences) <= {*RUN, "text", "toml", "", "{toctree}"}
    assert fences.count("toml") == len(re.findall(r"^<!-- file: [a-z_]+\.toml -->\n```toml$", text, re.MULTILINE))


def test_every_reply_is_used() -> None:
    assert {name for block in BLOCKS for name in block.replies} == set(REPLIES)


def test_the_page_on_errors_lists_them_all() -> None:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (yes|no) \|", text, re.MULTILINE)
    classes = [found for found in vars(errors).values() if isinstance(found, type) and issubclass(found, LLMError)]
    expected = {(found.__name__, found.kind, "yes" if found.retryable else "no") for found in classes}
    assert sorted(listed) == sorted(expected - {("LLMError", "unknown", "no")})


def test_the_page_on_the_command_line_has_every_command_and_status() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert re.findall(r"^## ([a-z]+)$", text, re.MULTILINE) == list(cli.COMMANDS)
    statuses = {int(number) for number in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    assert statuses == {0, cli.FAILED, cli.TERMINATED, *cli.EXIT.values()}


def test_the_page_on_messages_has_every_part() -> None:
    text = (ROOT / "docs" / "messages-and-events.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert sorted(listed) == sorted(part.__name__ for part in get_args(Part))


@pytest.mark.parametrize("block", BLOCKS, ids=name_of)
def test_a_block_runs(block: Block, internet, importable, tmp_path: Path) -> None:
    for name, text in block.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with internet([REPLIES[name] for name in block.replies]) as net:
        keys = {"OPENAI_API_KEY": "sk-documentation", "EXAMPLE_API_KEY": "ex-documentation"}
        ran = COMMANDS[block.language](block.code, tmp_path, {**importable, **net.env, **keys})
        assert ran.returncode == 0, ran.stderr
        assert net.server.misses == ()
        assert net.server.unused == 0
        assert bool(net.hosts) is bool(block.replies)
    if block.printed is not None:
        assert ran.stdout == block.printed


def run_python(code: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    (folder / "block.py").write_text(code, encoding="utf-8")
    return run([sys.executable, "-W", "error", "block.py"], folder, env)


def run_sh(code: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs the block in a shell, in which `llmcore` is the one that is tested, installed or not."""
    sh = shutil.which("sh")
    if sh is None:
        pytest.skip("there is no shell")
    command = f'llmcore() {{ "{sys.executable}" -W error -m llmcore "$@"; }}\n'
    return run([sh, "-e", "-u", "-c", command + code], folder, env)


COMMANDS = {"python": run_python, "sh": run_sh}


def run(command: list[str], folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs it in `folder`, which is its home: whoever runs the tests may have routes of their own."""
    keep = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR") if name in os.environ}
    home = {"HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        command,
        cwd=folder,
        env={**keep, **home, **env},
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=300,
        check=False,
    )
