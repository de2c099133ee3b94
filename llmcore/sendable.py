"""What makes a history sendable, for every provider: `problems` lists what stands in the way.

- A role carries only its own parts: system text; user text and media; assistant text, reasoning, tool calls, media,
  opaque blocks and results that the provider made; a tool message exactly one result.
- A message says something: blank text alone does not, nor does reasoning that holds nothing. (Blank text beside other
  parts is legal; whether a wire takes it is the protocol's to know.) System messages may be empty.
- Every call of the client's tools is answered, once, in the tool messages directly behind its message; nothing else
  may stand there before all are, and the history may not end with an open call. Calls that the provider ran itself need
  no answer, and have at most one, in an assistant message at or behind the call.
- Call ids are unique. (Ids of messages belong to whoever stores them.)
- All text is valid Unicode, and every value has a JSON.

A message whose status is `partial`, `cancelled` or `error` may hold anything while it is kept; to be sent it keeps
these rules like any other.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

import msgspec

from llmcore.schema.base import Data, excerpt
from llmcore.schema.message import Message, Role
from llmcore.schema.parts import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from llmcore.schema.request import Request

PARTS: Final[Mapping[Role, frozenset[type[Part]]]] = {
    "system": frozenset({Text}),
    "user": frozenset({Text, Media}),
    "assistant": frozenset({Text, Reasoning, ToolCall, ToolResult, Media, Opaque}),
    "tool": frozenset({ToolResult}),
}
"""The types of parts that a message of each role may carry."""


class Problem(Data, frozen=True, kw_only=True):
    """One thing that keeps a history from being sent: where, what, and what to do. `part_index` is `None` where it is
    the whole message, `message_index` where it is the request. `repairable` says that `repair` mends it."""

    message_index: int | None
    part_index: int | None = None
    what: str
    remedy: str
    repairable: bool = False

    @property
    def where(self) -> str:
        """The place, as `messages[3].content[0]`."""
        message = "request" if self.message_index is None else f"messages[{self.message_index}]"
        return message if self.part_index is None else f"{message}.content[{self.part_index}]"


def problems(history: Sequence[Message] | Request) -> Iterator[Problem]:
    """Everything that keeps the history from being sent, in order."""
    messages = history.messages if isinstance(history, Request) else history
    if isinstance(history, Request) and not messages and not history.system_parts:
        yield Problem(message_index=None, what="there is nothing to answer", remedy="add a message")
    pairing = _Pairing()
    for index, message in enumerate(messages):
        found = list(_shape_problems(index, message))
        yield from found
        if not found:
            yield from pairing.problems(index, message)
    yield from pairing.open_problems(len(messages))
    yield from _encoding_problems(history, messages)


# ---- shape: what one message may hold


def _shape_problems(index: int, message: object) -> Iterator[Problem]:
    if not isinstance(message, Message):
        what = f"a {type(message).__name__} is not a Message"
        yield Problem(message_index=index, what=what, remedy="make it with Message.user(...) and its like")
        return
    allowed = PARTS.get(message.role)
    if allowed is None:
        what = f"{excerpt(str(message.role))} is no role"
        yield Problem(message_index=index, what=what, remedy=f"use one of {', '.join(PARTS)}")
        return
    content = cast("object", message.content)
    if not isinstance(content, tuple | list):
        what = f"the content is a {type(content).__name__}, not a tuple of parts"
        yield Problem(message_index=index, what=what, remedy=f"make it with Message.{message.role}(...)")
        return
    for position, part in enumerate(cast("Sequence[object]", content)):
        kind = type(part)
        if kind not in allowed:
            name = getattr(kind, "type", None) if isinstance(part, Data) else None
            what = f"a {name or kind.__name__} is no part of a {message.role} message"
            remedy = _PLACE.get(name or "", "use the parts of llmcore.schema")
            yield Problem(message_index=index, part_index=position, what=what, remedy=remedy)
        elif isinstance(part, ToolResult) and part.provider_executed != (message.role == "assistant"):
            yield Problem(message_index=index, part_index=position, what=_MISPLACED, remedy=_PLACE["tool_result"])
    if message.role == "tool" and len(message.content) != 1:
        what = f"a tool message has exactly one result, this has {len(message.content)}"
        yield Problem(message_index=index, what=what, remedy="give each result its own message", repairable=True)
    elif message.role in ("user", "assistant") and all(map(is_blank, message.content)):
        what = "the message says nothing: it is empty or blank"
        yield Problem(message_index=index, what=what, remedy="leave it out", repairable=True)


_MISPLACED: Final = "the result of a call is not where who made it puts it"
_PLACE: Final = {
    "tool_result": "results of your tools go into Message.tool(...), those that the provider made to the assistant",
    "tool_call": "calls stand in assistant messages",
    "reasoning": "reasoning stands in assistant messages",
    "media": "put it into a user message or a tool result",
    "opaque": "opaque blocks stand in assistant messages and tool results",
    "json": "JSON stands in tool results; send it as text",
}


def is_blank(part: Part) -> bool:
    """Whether a part carries nothing at all: a provider's state beside empty text is something."""
    if isinstance(part, Text):
        return not part.text.strip() and part.provider_metadata is None
    if isinstance(part, Reasoning):
        state = part.signature or part.redacted or part.provider_metadata
        return not part.text.strip() and not state
    return False


# ---- pairing: calls and their results


class _Pairing:
    """Follows calls and results through a history, message by message."""

    def __init__(self) -> None:
        self.calls: set[str] = set()
        self.answered: set[str] = set()
        self.hosted: set[str] = set()  # calls that the provider ran and that have no result yet
        self.open: dict[str, tuple[int, int]] = {}  # calls of the client's tools without a result, and where they stand

    def problems(self, index: int, message: Message) -> Iterator[Problem]:
        if message.role == "tool":
            result = message.content[0]
            assert isinstance(result, ToolResult)
            yield from self._result(index, 0, result)
            return
        yield from self.open_problems(index)
        for position, part in enumerate(message.content):
            if isinstance(part, ToolCall):
                yield from self._call(index, position, part)
            elif isinstance(part, ToolResult):
                yield from self._result(index, position, part)

    def open_problems(self, end: int) -> Iterator[Problem]:
        """The calls that are still open where something else comes, or nothing more."""
        for call, (index, position) in self.open.items():
            what = f"the call {excerpt(call)} has no result before messages[{end}]"
            remedy = "put Message.tool(call, ...) directly behind its message"
            yield Problem(message_index=index, part_index=position, what=what, remedy=remedy, repairable=True)
        self.open.clear()

    def _call(self, index: int, position: int, call: ToolCall) -> Iterator[Problem]:
        if call.id in self.calls:
            what = f"the call id {excerpt(call.id)} was used before"
            remedy = "give each call its own id"
            yield Problem(message_index=index, part_index=position, what=what, remedy=remedy, repairable=True)
            return
        self.calls.add(call.id)
        if call.provider_executed:
            self.hosted.add(call.id)
        else:
            self.open[call.id] = (index, position)

    def _result(self, index: int, position: int, result: ToolResult) -> Iterator[Problem]:
        call = result.tool_call_id
        waiting = self.hosted if result.provider_executed else self.open.keys()
        if call in waiting:
            self.answered.add(call)
            self.hosted.discard(call)
            self.open.pop(call, None)
            return
        if call in self.answered:
            what = f"the call {excerpt(call)} has a result already"
        elif call in self.calls:
            what = f"the result of call {excerpt(call)} does not stand directly behind its message"
        else:
            what = f"no call before has the id {excerpt(call)}, which this result answers"
        remedy = "leave it out, or put it behind its call"
        yield Problem(message_index=index, part_index=position, what=what, remedy=remedy, repairable=True)


# ---- text: what JSON can hold


def _encoding_problems(history: object, messages: Sequence[object]) -> Iterator[Problem]:
    """Text that is no Unicode and values without JSON. One encoding of the whole is the check; only where it fails
    are the messages looked at, one by one."""
    if encoding_problem(history) is None:
        return
    found = list[Problem]()
    for index, message in enumerate(messages):
        problem = encoding_problem(message)
        if problem is not None:
            parts: Sequence[object] = message.content if isinstance(message, Message) else ()
            part = next((n for n, value in enumerate(parts) if encoding_problem(value) == problem), None)
            found.append(_unencodable(index, part, problem))
    yield from found or [_unencodable(None, None, encoding_problem(history) or SURROGATE)]


def _unencodable(index: int | None, part: int | None, what: str) -> Problem:
    lone = what == SURROGATE
    remedy = "replace it" if lone else "use JSON values only"
    return Problem(
        message_index=index, part_index=part, what=what, remedy=remedy, repairable=lone and index is not None
    )


def encoding_problem(value: object) -> str | None:
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return SURROGATE
    except (TypeError, ValueError, RecursionError) as problem:
        return f"a value in it has no JSON: {excerpt(str(problem))}"
    return None


SURROGATE: Final = "text in it holds a lone surrogate, which is no Unicode"
