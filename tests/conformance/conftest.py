"""A folder in the corpus format, written by hand in a temporary place."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

JSON = {"content-type": "application/json"}
EVENTS = {"content-type": "text/event-stream"}


class Folder:
    """Writes cases. `case` gives the path of the file; `expect` is the list of expectation entries, `None` for none."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def case(
        self,
        slug: str,
        *interactions: dict[str, Any],
        expect: Iterable[dict[str, Any]] | None = None,
        provider: str = "openai",
        protocol: str = "openai-chat",
        model: str | None = "gpt-x",
        tags: Iterable[str] = (),
    ) -> Path:
        folder = self.path / protocol
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{slug}.json"
        record = {
            "id": f"{protocol}/{slug}",
            "protocol": protocol,
            "provider": provider,
            "vendor_host": "api.example.com",
            "model": model,
            "tags": list(tags),
            "source": "written by hand",
            "interactions": interactions,
        }
        path.write_text(json.dumps(record), "utf-8")
        if expect is not None:
            entries = [{"index": index, **entry} for index, entry in enumerate(expect)]
            path.with_name(f"{slug}.expected.json").write_text(json.dumps(entries), "utf-8")
        return path

    def manifest(self) -> None:
        """Writes the manifest of the cases so far."""
        entries = []
        for path in sorted(self.path.rglob("*.json")):
            if not path.name.endswith(".expected.json"):
                case = json.loads(path.read_text("utf-8"))
                kept = {name: case[name] for name in ("id", "protocol", "provider", "model", "tags")}
                entries.append({**kept, "path": path.relative_to(self.path).as_posix()})
        (self.path / "manifest.json").write_text(json.dumps(entries), "utf-8")

    @staticmethod
    def reply(
        body: object,
        *,
        status: int = 200,
        operation: str = "generate",
        stream: bool = False,
        headers: Any = None,
        asked: Any = None,
    ) -> dict[str, Any]:
        """An interaction; `body` is text, or what is written as JSON; `asked` is the body of the request."""
        return {
            "operation": operation,
            "stream": stream,
            "model": "gpt-x",
            "request": {"method": "POST", "url": "https://api.example.com/v1/chat/completions", "body": asked or {}},
            "response": {
                "status": status,
                "headers": headers or (EVENTS if stream else JSON),
                "body": body if isinstance(body, str) else json.dumps(body),
            },
        }

    @classmethod
    def stream(cls, *chunks: object, done: bool = True, **fields: Any) -> dict[str, Any]:
        """An interaction whose reply is a stream of these JSON documents."""
        events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        return cls.reply("".join(events) + ("data: [DONE]\n\n" if done else ""), stream=True, **fields)


def chat(message: dict[str, Any], finish: str | None = "stop", **fields: Any) -> dict[str, Any]:
    """A whole OpenAI Chat reply."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-x", "choices": [choice], **fields}


def chunk(delta: dict[str, Any], finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """A chunk of an OpenAI Chat stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-x"}
    return {**head, "choices": [choice], **fields}


USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4}}


def expectation(**fields: Any) -> dict[str, Any]:
    """An entry of an expectation: what is not said is empty."""
    empty = {"text": "", "reasoning": "", "tool_calls": [], "hosted_tool_calls": [], "error": None}
    return {"oracle": "by hand", **empty, "stop_reason_native": None, "usage_native": None, **fields}


class Wire:
    """The builders above, for tests to use through the fixture `wire`."""

    chat = staticmethod(chat)
    chunk = staticmethod(chunk)
    expectation = staticmethod(expectation)
    usage = USAGE


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "recorded")


@pytest.fixture
def wire() -> type[Wire]:
    return Wire
