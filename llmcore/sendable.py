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
- What a request says beside its messages is of the type that its fields have. (Python does not ask when a struct is
  made; where one is not, nothing else is looked at.)

A message whose status is `partial`, `cancelled` or `error` may hold anything while it is kept; to be sent it keeps
these rules like any other.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

import msgspec

from llmcore.fields import a, field_at_fault, odd_fields
from llmcore.schema.base import Data, excerpt
from llmcore.schema.message import Message, MessageMetadata, Role
from llmcore.schema.parts import Json, Media, Opaque, Part, Reasoning, ResultPart, Text, ToolCall, ToolResult
from llmcore.schema.request import Request

PARTS: Final[Mapping[Role, frozenset[type[Part]]]] = {
    "system": frozenset({Text}),
    "user": frozenset({Text, Media}),
    "assistant": frozenset({Text, Reasoning, ToolCall, ToolResult, Media, Opaque}),
    "tool": frozenset({ToolResult}),
}
"""The types of parts that a message of each role may carry."""

RESULT: Final[frozenset[type[ResultPart]]] = frozenset({Text, Json, Media, Opaque})
"""The types of parts that the result of a tool may carry."""

TEXTS: Final[Mapping[type[Part | ResultPart], tuple[str, ...]]] = {
    Text: ("text",),
    Reasoning: ("text",),
    ToolCall: ("id", "name", "arguments"),
    ToolResult: ("tool_call_id", "name"),
    Media: (),  # checked when it is made
    Opaque: ("kind",),
    Json: (),
}
"""The fields of a part that must hold a text."""


class Problem(Data, frozen=True, kw_only=True):
    """One thing that keeps a history from being sent: where, what, and what to do. `part_index` is `None` where it is
    the whole message, `message_index` where it is the request; `field` then says which of its fields, where it is one.
    `repairable` says that `repair` mends it."""

    message_index: int | None
    part_index: int | None = None
    field: str | None = None
    what: str
    remedy: str
    repairable: bool = False

    @property
    def where(self) -> str:
        """The place, as `messages[3].content[0]` or `tools[0].parameters`."""
        if self.field is not None:
            return self.field
        message = "request" if self.message_index is None else f"messages[{self.message_index}]"
        return message if self.part_index is None else f"{message}.content[{self.part_index}]"


def problems(history: Sequence[Message] | Request) -> Iterator[Problem]:
    """Everything that keeps the history from being sent, in order."""
    if isinstance(history, Request):
        odd = odd_fields(history)
        if odd:
            yield from [Problem(message_index=None, field=it.field, what=it.what, remedy=it.remedy) for it in odd]
            return
        if not history.messages and not history.system_parts:
            yield Problem(message_index=None, what="there is nothing to answer", remedy="add a message")
    messages = history.messages if isinstance(history, Request) else history
    pairing = _Pairing()
    for index, message in enumerate(messages):
        found = _shape_problems(index, message)
        if found:
            yield from found
        else:
            yield from pairing.problems(index, message)
    yield from pairing.open_problems(len(messages))
    yield from _encoding_problems(history, messages)


# ---- shape: what one message may hold


def _shape_problems(index: int, message: object) -> Sequence[Problem]:
    """What is wrong with one message by itself. (Whoever calls us may not have asked a type checker.)"""
    if not isinstance(message, Message):
        what = f"{a(type(message).__name__)} is not a Message"
        return [Problem(message_index=index, what=what, remedy="make it with Message.user(...) and its like")]
    role, content = message.role, message.content
    allowed = PARTS.get(role)
    if allowed is None:
        what = f"{excerpt(str(role))} is no role"
        return [Problem(message_index=index, what=what, remedy=f"use one of {', '.join(PARTS)}")]
    if type(content) not in _TUPLE:
        what = f"the content is {a(type(content).__name__)}, not a tuple of parts"
        return [Problem(message_index=index, what=what, remedy=f"make it with Message.{role}(...)")]
    if message.metadata is not None and type(message.metadata) is not MessageMetadata:
        what = f"its metadata is {a(type(message.metadata).__name__)}, not a MessageMetadata"
        return [Problem(message_index=index, what=what, remedy="make it with MessageMetadata(...)")]
    found = list[Problem]()
    for position, part in enumerate(content):
        if type(part) is Text and type(part.text) is str and role != "tool":
            continue  # as most are
        odd = _part_problem(part, role, allowed)
        if odd is not None:
            found.append(Problem(message_index=index, part_index=position, what=odd[0], remedy=odd[1]))
    if found:
        return found
    if role == "tool":
        if len(content) != 1:
            what = f"a tool message has exactly one result, this has {len(content)}"
            remedy = "give each result its own message"
            return [Problem(message_index=index, what=what, remedy=remedy, repairable=True)]
    elif role != "system" and all(map(is_blank, content)):
        what = "the message says nothing: it is empty or blank"
        return [Problem(message_index=index, what=what, remedy="leave it out", repairable=True)]
    return ()


def _part_problem(part: Part, role: Role, allowed: frozenset[type[Part]]) -> tuple[str, str] | None:
    """What is wrong with a part of a message by itself, and what to do."""
    kind = type(part)
    if kind not in allowed:
        return _misplaced(part, f"a {role} message")
    if isinstance(part, ToolResult):
        return _result_problem(part, role)
    return _text_problem(part)


def _misplaced(part: object, holder: str) -> tuple[str, str]:
    """What is wrong with a part that its holder may not carry, and what to do."""
    name = getattr(type(part), "type", None) if isinstance(part, Data) else None
    remedy = _PLACE.get(name or "", "use the parts of llmcore.schema")
    return f"{a(name or type(part).__name__)} is no part of {holder}", remedy


def _text_problem(part: Part | ResultPart) -> tuple[str, str] | None:
    """What is wrong with the fields of a part that hold texts."""
    for name in TEXTS[type(part)]:
        value = getattr(part, name)
        if type(value) is not str and not isinstance(value, str):
            return f"`{name}` of its {part.type} part is {a(type(value).__name__)}, not a str", "pass a str"
    if type(part) is Opaque and type(part.data) is not msgspec.Raw:
        return f"`data` of its opaque part is {a(type(part.data).__name__)}, not a Raw", "pass msgspec.Raw(json_bytes)"
    return None


def _result_problem(result: ToolResult, role: Role) -> tuple[str, str] | None:
    """What is wrong with the result of a tool."""
    if result.provider_executed != (role == "assistant"):
        return _MISPLACED, _PLACE["tool_result"]
    content = result.content
    if type(content) not in _TUPLE:
        remedy = "give the parts to Message.tool(call, ...)"
        return f"the content of its result is {a(type(content).__name__)}, not a tuple of parts", remedy
    for part in content:
        if isinstance(part, Text) and type(part.text) is str:
            continue
        if type(part) not in RESULT:
            what, remedy = _misplaced(part, "the result of a tool")
            return what, remedy if isinstance(cast("object", part), Data) else "wrap it in Json(value=...)"
        odd = _text_problem(part)
        if odd is not None:
            return odd
    return _text_problem(result)


_TUPLE: Final = (tuple, list)
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
            problem = self._result(index, 0, result)
            if problem is not None:
                yield problem
            return
        if self.open:
            yield from self.open_problems(index)
        for position, part in enumerate(message.content):
            problem = None
            if isinstance(part, ToolCall):
                problem = self._call(index, position, part)
            elif isinstance(part, ToolResult):
                problem = self._result(index, position, part)
            if problem is not None:
                yield problem

    def open_problems(self, end: int) -> Iterator[Problem]:
        """The calls that are still open where something else comes, or nothing more."""
        for call, (index, position) in self.open.items():
            what = f"the call {excerpt(call)} has no result before messages[{end}]"
            remedy = "put Message.tool(call, ...) directly behind its message"
            yield Problem(message_index=index, part_index=position, what=what, remedy=remedy, repairable=True)
        self.open.clear()

    def _call(self, index: int, position: int, call: ToolCall) -> Problem | None:
        if call.id in self.calls:
            what = f"the call id {excerpt(call.id)} was used before"
            remedy = "give each call its own id"
            return Problem(message_index=index, part_index=position, what=what, remedy=remedy, repairable=True)
        self.calls.add(call.id)
        if call.provider_executed:
            self.hosted.add(call.id)
        else:
            self.open[call.id] = (index, position)
        return None

    def _result(self, index: int, position: int, result: ToolResult) -> Problem | None:
        call = result.tool_call_id
        waiting = self.hosted if result.provider_executed else self.open.keys()
        if call in waiting:
            self.answered.add(call)
            self.hosted.discard(call)
            self.open.pop(call, None)
            return None
        if call in self.answered:
            what = f"the call {excerpt(call)} has a result already"
        elif call in self.calls:
            what = f"the result of call {excerpt(call)} does not stand directly behind its message"
        else:
            what = f"no call before has the id {excerpt(call)}, which this result answers"
        remedy = "leave it out, or put it behind its call"
        return Problem(message_index=index, part_index=position, what=what, remedy=remedy, repairable=True)


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
    if not found:  # it is of the request
        field = field_at_fault(history, lambda value: encoding_problem(value) is not None)
        problem = encoding_problem(history) or SURROGATE
        found.append(msgspec.structs.replace(_unencodable(None, None, problem), field=field))
    yield from found


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
