"""Every file in `examples/` runs as it stands, against a loopback stand-in for its provider.

The stand-in is reached through a proxy from the environment, under the provider's own name and over TLS: nothing in an
example points to it.
"""

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from llmcore.cassette import Close, Received, Reply

Answer = Reply | Callable[[Received], Reply]

ENVELOPE = {"id": "chatcmpl-1", "created": 1760000000, "model": "gpt-5-mini-2025-08-07"}
USAGE = {"prompt_tokens": 12, "completion_tokens": 9, "total_tokens": 21}


def whole(text: str) -> Reply:
    """OpenAI's whole answer with that text."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return Reply.json({**ENVELOPE, "object": "chat.completion", "choices": [choice], "usage": USAGE})


def chunk(delta: dict[str, Any], reason: str | None = None) -> str:
    choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
    return json.dumps({**ENVELOPE, "object": "chat.completion.chunk", "choices": choices})


def pieces(text: str) -> list[str]:
    return [chunk({"content": word}) for word in re.findall(r"\S+\s*", text)]


def streamed(text: str) -> Reply:
    """OpenAI's streamed answer with that text."""
    usage = json.dumps({**ENVELOPE, "object": "chat.completion.chunk", "choices": [], "usage": USAGE})
    return Reply.sse(*pieces(text), chunk({}, "stop"), usage, "[DONE]")


def calls(*arguments: str) -> Reply:
    """A streamed answer with a call of `stock` for each of these arguments."""
    deltas = [
        {"index": index, "id": f"call_{index}", "type": "function", "function": {"name": "stock", "arguments": text}}
        for index, text in enumerate(arguments)
    ]
    return Reply.sse(*(chunk({"tool_calls": [delta]}) for delta in deltas), chunk({}, "tool_calls"), "[DONE]")


def refused(status: int, code: str, *headers: tuple[str, str]) -> Reply:
    return Reply.json({"error": {"message": code, "type": code, "code": code}}, status=status, headers=headers)


def capital(request: Received) -> Reply:
    """The capital asked for: three questions come at once, in any order."""
    countries = {"Portugal": "Lisbon", "Peru": "Lima", "Poland": "Warsaw"}
    return whole(next(city for country, city in countries.items() if country.encode() in request.body))


def stocked(request: Received) -> Reply:
    """The end of the conversation, if the results of both calls came back under their ids."""
    body: Any = request.json()
    results = {message["tool_call_id"]: message["content"] for message in body["messages"][-2:]}
    assert json.loads(results["call_0"]) == {"article": "pen", "in_stock": 120}
    assert results["call_1"].endswith("there is no such article")  # the wire has no flag for errors
    return streamed("The pen, yes.")


class Example(NamedTuple):
    """What an example is answered, and what it prints then."""

    replies: list[Answer]
    printed: str


EXAMPLES = {
    "sync.py": Example(
        [whole("The Tagus."), streamed("Douro, Minho, Guadiana.")],
        "The Tagus.\nstop 21 tokens\nDouro, Minho, Guadiana.\nstop 21 tokens\n",
    ),
    "async_.py": Example(
        [capital, capital, capital, streamed("1 2 3 4 5")],
        "Portugal: Lisbon\nPeru: Lima\nPoland: Warsaw\n1 2 3 4 5\n",
    ),
    "tool_by_hand.py": Example(
        [calls('{"article":"pen"}', '{"article":"paper"}'), stocked],
        '[stock {"article":"pen"}]\n[stock {"article":"paper"}]\nThe pen, yes.\n',
    ),
    "errors.py": Example(
        [
            refused(429, "rate_limit_exceeded", ("retry-after-ms", "10")),
            whole("Hello."),
            Reply.sse(*pieces("1 2 3 "), Close()),
        ],
        "too fast: again in 0.01 s\nHello.\n1 2 3 \ncut off after 6 characters\n",
    ),
    "own_route.py": Example(
        [whole("The house model.")],
        "https://llm.example.com/v1/chat/completions\nhouse: The house model.\n",
    ),
}


@pytest.fixture
def folder(root: Path) -> Path:
    return root / "examples"


def test_every_example_is_run_here(folder: Path) -> None:
    assert {path.name for path in folder.glob("*.py")} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_as_it_stands(
    name: str,
    folder: Path,
    internet: Callable[[list[Answer]], AbstractContextManager[Any]],
    python: Callable[..., Any],
    importable: dict[str, str],
    tmp_path: Path,
) -> None:
    example = EXAMPLES[name]
    keys = {"OPENAI_API_KEY": "sk-canary-1", "EXAMPLE_API_KEY": "sk-canary-2"}
    with internet(example.replies) as net:
        ran = python("-W", "error", str(folder / name), cwd=tmp_path, env={**importable, **net.env, **keys})
        assert (ran.status, ran.err) == (0, "")
        assert ran.out == example.printed
        assert (net.server.unused, net.server.misses) == (0, ())
        assert {request.header("authorization") for request in net.server.requests} <= {
            f"Bearer {key}" for key in keys.values()
        }


def test_an_example_without_a_key_says_which(
    folder: Path, python: Callable[..., Any], importable: dict[str, str], tmp_path: Path
) -> None:
    ran = python(str(folder / "sync.py"), cwd=tmp_path, env=importable)
    assert ran.status == 1
    assert "OPENAI_API_KEY" in ran.err.splitlines()[-1]
