"""Every `python` block of the README and of `docs/` runs as it stands (docs/decisions/0007).

A comment before a block names the replies that the provider gives to it, in order:

    <!-- replies: weather-call weather-answer -->
    ```python
    …
    ```

    ```text
    what the block prints, exactly
    ```

The `text` block may be left away. A block is a whole program, so there is no way to show one that does not run.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from llmcore.cassette.script import Received, Reply

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


class Block(NamedTuple):
    """One code block: where it stands, its text, the replies it needs and what it should print."""

    page: str
    line: int
    code: str
    replies: tuple[str, ...]
    printed: str | None


FENCE = re.compile(
    r"^(?:<!-- replies: (?P<replies>[a-z0-9 -]+) -->\n)?```python\n(?P<code>.*?)^```\n"
    r"(?:\n```text\n(?P<printed>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)


def blocks() -> list[Block]:
    found = list[Block]()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start("code")) + 1
            replies = tuple((match["replies"] or "").split())
            name = page.relative_to(ROOT).as_posix()
            found.append(Block(name, line, match["code"], replies, match["printed"]))
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


REPLIES: dict[str, Reply | Callable[[Received], Reply]] = {
    "hello": answer("Hello! How can I help?"),
    "haiku": answer("Bytes come one by one, a name, a call, then answers: the stream has an end."),
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
    assert len(BLOCKS) == fences
    assert {"README.md", "docs/guide.md"} <= {block.page for block in BLOCKS}


def test_every_reply_is_used() -> None:
    assert {name for block in BLOCKS for name in block.replies} == set(REPLIES)


@pytest.mark.parametrize("block", BLOCKS, ids=name_of)
def test_a_block_runs(block: Block, internet, python, importable, tmp_path: Path) -> None:
    program = tmp_path / "block.py"
    program.write_text(block.code, encoding="utf-8")
    with internet([REPLIES[name] for name in block.replies]) as net:
        keys = {"OPENAI_API_KEY": "sk-documentation", "EXAMPLE_API_KEY": "ex-documentation"}
        ran = python("-W", "error", str(program), cwd=tmp_path, env={**importable, **net.env, **keys})
        assert ran.status == 0, ran.err
        assert net.server.misses == ()
        assert net.server.unused == 0
        assert bool(net.hosts) is bool(block.replies)
    if block.printed is not None:
        assert ran.out == block.printed
