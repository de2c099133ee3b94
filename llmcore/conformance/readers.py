"""Small independent readers of recorded bodies, for cases that nobody has an expectation for.

They read whole documents at leisure and share no line with the protocols: stream frames by splitting the text,
everything else by plain dictionaries. A reader gives what it finds, in the wire's own words.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from llmcore.cassette.format import RecordedResponse
from llmcore.conformance.corpus import Call, Hosted, OracleError
from llmcore.conformance.expect import Expected, ExpectedError, at, error_class, is_object

Document = dict[str, Any]
"""A JSON object off the wire."""

Reader = Callable[[RecordedResponse], Expected]


def documents(response: RecordedResponse) -> list[Document] | None:
    """The JSON objects of a reply in order: the `data` of each server-sent event, or the whole body; `None` where the
    body is none. What is no object between events (sentinels) is left out."""
    text = response.content.decode("utf-8", "replace").removeprefix("\ufeff")
    if not _is_stream(response):
        found = _json(text)
        return [found] if is_object(found) else None
    return [found for data in _events(text) if is_object(found := _json(data))]


def _is_stream(response: RecordedResponse) -> bool:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return headers.get("content-type", "").lower().startswith("text/event-stream")


def _events(text: str) -> Iterator[str]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    data = list[str]()
    for line in lines:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []


def _json(text: str) -> object:
    """The JSON value, `None` for what is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def read_chat(response: RecordedResponse) -> Expected:
    """What an OpenAI Chat reply says: its first choice, from `message` or from all `delta`s."""
    found = documents(response)
    refused = response.status >= 400
    if found is None:
        name = error_class(OracleError(status=response.status)) if refused else "ProtocolError"
        return Expected(error=ExpectedError(name, response.status))
    chat = _Chat()
    for item in found:
        chat.take(item)
    error = chat.error or (found[0] if refused and found else None)
    if error is None and not chat.choices:
        return Expected(error=ExpectedError("ProtocolError", response.status))
    return Expected(
        text="".join(chat.text),
        reasoning="".join(chat.reasoning),
        refusal="".join(chat.refusal) or None,
        tool_calls=tuple(chat.calls()) if error is None else (),
        hosted=tuple(Hosted(type, type) for type in chat.hosted.values()),
        raw_stop_reason=chat.finish,
        usage=chat.usage,
        error=None if error is None else _chat_error(error, response.status),
    )


class _Chat:
    """What has been read of the first choice."""

    def __init__(self) -> None:
        self.text = list[str]()
        self.reasoning = list[str]()
        self.refusal = list[str]()
        self.tools = dict[object, dict[str, Any]]()
        self.hosted = dict[object, str]()
        self.finish: str | None = None
        self.usage: Any = None
        self.error: object = None
        self.choices = 0

    def take(self, item: dict[str, Any]) -> None:
        self.error = item.get("error") or self.error
        self.usage = item.get("usage") or at(item, "x_groq.usage") or self.usage
        for choice in item.get("choices") or ():
            if choice.get("index", 0) == 0:
                self.choices += 1
                self.finish = self.finish if choice.get("finish_reason") is None else choice["finish_reason"]
                self.delta(choice.get("message") or choice.get("delta") or {})

    def delta(self, delta: dict[str, Any]) -> None:
        content = delta.get("content") or ""
        parts: list[Document] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts:
            if part.get("type") == "thinking":
                self.reasoning += [piece.get("text", "") for piece in part.get("thinking", ())]
            else:
                self.text.append(part.get("text", ""))
        self.reasoning.append(delta.get("reasoning_content") or delta.get("reasoning") or "")
        self.refusal.append(delta.get("refusal") or "")
        for position, piece in enumerate(delta.get("tool_calls") or ()):
            call = self.tools.setdefault(piece.get("index", position), {"id": None, "name": "", "arguments": ""})
            function = piece.get("function") or piece.get("custom") or {}
            call["id"] = call["id"] or piece.get("id")
            call["name"] = call["name"] or function.get("name") or ""
            arguments = function.get("arguments", function.get("input")) or ""
            call["arguments"] += json.dumps(arguments) if is_object(arguments) else arguments
        for position, run in enumerate(delta.get("executed_tools") or ()):
            self.hosted.setdefault(run.get("index", position), run.get("type", ""))

    def calls(self) -> Iterator[Call]:
        for call in self.tools.values():
            yield Call(call["name"], call["id"], _json(call["arguments"] or "{}"))


def _chat_error(error: object, status: int) -> ExpectedError:
    found: Document = error if is_object(error) else {}
    effective = status if status >= 400 else found.get("status_code")
    named = OracleError(type=found.get("type"), code=found.get("code"), status=effective)
    return ExpectedError(error_class(named), status)


READERS: Final[dict[str, Reader]] = {"openai-chat": read_chat}
"""The reader of each protocol's bodies."""
