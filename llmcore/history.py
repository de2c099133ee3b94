"""The history that a request carries: validated, and mended where it is wedged.

`validate` raises for the first thing that keeps a history from being sent (`problems` lists them all; the rules stand
in `llmcore.sendable`). `repair` mends on a copy what an interrupted run, another program or a provider may have left.
"""

from collections.abc import Sequence
from operator import is_
from typing import Final, Literal, TypeVar, cast

import msgspec

from llmcore.errors import InvalidRequestError
from llmcore.schema.base import Data, excerpt
from llmcore.schema.canonical import scrub
from llmcore.schema.message import Message
from llmcore.schema.parts import Part, ToolCall, ToolResult
from llmcore.schema.request import Request
from llmcore.sendable import SURROGATE, Problem, encoding_problem, is_blank, problems

__all__ = ["NOT_RUN", "UNAVAILABLE", "Problem", "Repair", "RepairKind", "Repaired", "problems", "repair", "validate"]

T = TypeVar("T")

UNAVAILABLE: Final = "result unavailable; the tool may or may not have run"
"""What `repair` answers a call with whose result is lost."""
NOT_RUN: Final = "the tool was not run: the arguments of the call do not parse"
"""What `repair` answers a call with that nobody can have run."""

RepairKind = Literal[
    "answered",
    "moved",
    "split",
    "renamed",
    "dropped_result",
    "dropped_call",
    "dropped_message",
    "scrubbed",
]


class Repair(Data, frozen=True, kw_only=True):
    """One thing that `repair` did. The indices are those of the history that it was given."""

    kind: RepairKind
    message_index: int
    part_index: int | None = None
    reason: str


class Repaired(Data, frozen=True, kw_only=True):
    """A history that can be sent, and what was done for it; `repairs` is empty where nothing had to be."""

    messages: tuple[Message, ...]
    repairs: tuple[Repair, ...] = ()


def validate(history: Sequence[Message] | Request) -> None:
    """Raises `InvalidRequestError` for the first thing that keeps the history from being sent: message, part, remedy.
    Its `param` is the place."""
    problem = next(problems(history), None)
    if problem is not None:
        raise _error(problem)


def repair(history: Sequence[Message]) -> Repaired:
    """`history` made sendable, on a copy: a valid one comes back as it is.

    Results are put directly behind the message of their call, in the order in which they stood. A call without one is
    answered with an error that says so, unless it was cut off itself: then it is dropped. Results that answer nothing,
    second results and messages that say nothing are dropped; a call id that was used before is changed, in call and
    result; lone surrogates become U+FFFD. Deterministic: the same history gives the same repairs on every turn.

    Raises `InvalidRequestError` for what no interruption explains: a part that its role may not carry, a value without
    JSON, or a result in a message marked `critical` that could only be dropped.
    """
    clean, repairs = _scrubbed(history)
    found = list(problems(clean))
    beyond = next((problem for problem in found if not problem.repairable), None)
    if beyond is not None:
        raise _error(beyond)
    if found:
        clean = _Mending(clean, repairs).mended()
        validate(clean)
    return Repaired(messages=tuple(clean), repairs=tuple(sorted(repairs, key=lambda one: one.message_index)))


def _error(problem: Problem) -> InvalidRequestError:
    repairing = ", or let llmcore.history.repair mend it" if problem.repairable else ""
    return InvalidRequestError(f"{problem.where}: {problem.what}; {problem.remedy}{repairing}", param=problem.where)


def _scrubbed(history: Sequence[Message]) -> tuple[list[Message], list[Repair]]:
    messages, repairs = list(history), list[Repair]()
    for index, message in enumerate(messages):
        if encoding_problem(message) == SURROGATE:
            messages[index] = _scrub(message)
            reason = "lone surrogates were replaced by U+FFFD"
            repairs.append(Repair(kind="scrubbed", message_index=index, reason=reason))
    return messages, repairs


def _scrub(value: T) -> T:
    """`value` with every text in it scrubbed; what holds no such text is the same object."""
    changed: object = value
    match value:
        case str():
            changed = scrub(value)
        case list():
            changed = [_scrub(item) for item in cast("list[object]", value)]
        case tuple():
            changed = tuple([_scrub(item) for item in cast("tuple[object, ...]", value)])
        case dict():
            pairs = cast("dict[object, object]", value).items()
            changed = {_scrub(name): _scrub(item) for name, item in pairs}
        case msgspec.Struct():
            old = {name: getattr(value, name) for name in value.__struct_fields__}
            new = {name: _scrub(item) for name, item in old.items()}
            changed = msgspec.structs.replace(value, **new) if new != old else value
        case _:
            pass
    return cast("T", changed)


# ---- mending


class _Turn:
    """One message that is no tool message, and the results of the calls in it."""

    def __init__(self, index: int, message: Message) -> None:
        self.index = index
        self.message = message
        self.slots: dict[int, _Slot] = {}  # by the position of the call
        self.kept: dict[int, _Slot] = {}  # results of the provider's own, by their position: the call they answer


class _Slot:
    """One call, the id that it gets, and the result that was found for it: where it stood and its message."""

    def __init__(self, turn: _Turn, call: ToolCall) -> None:
        self.turn = turn
        self.call = call
        self.id = call.id
        self.place: tuple[int, int] | None = None
        self.result: Message | None = None

    @property
    def was_cut(self) -> bool:
        """Whether the stream ended inside the call: it is not whole and nobody can have run it."""
        metadata = self.turn.message.metadata
        broken_off = metadata is not None and metadata.status not in (None, "complete")
        return broken_off and self.call.error is not None and self.place is None and not self.call.provider_executed


class _Mending:
    """One history being mended: calls and results are paired first, then everything is put down in order."""

    def __init__(self, history: Sequence[Message], repairs: list[Repair]) -> None:
        self.history = history
        self.repairs = repairs
        self.turns: list[_Turn] = []
        self.by_id: dict[str, list[_Slot]] = {}

    def mended(self) -> list[Message]:
        for index, message in enumerate(self.history):
            self._tool_message(index, message) if message.role == "tool" else self._turn(index, message)
        self._rename()
        out = list[Message]()
        for turn in self.turns:
            message = self._message(turn)
            if message is not None:
                out.append(message)
            out += self._results(turn)
        return out

    def _note(self, kind: RepairKind, index: int, part: int | None, reason: str) -> None:
        self.repairs.append(Repair(kind=kind, message_index=index, part_index=part, reason=reason))

    def _drop(self, kind: RepairKind, index: int, part: int | None, reason: str) -> None:
        if self.history[index].critical:
            problem = Problem(
                message_index=index,
                part_index=part,
                what=f"{reason}, but the message is critical and may not lose it",
                remedy="mend it by hand",
            )
            raise _error(problem)
        self._note(kind, index, part, reason)

    # pairing

    def _turn(self, index: int, message: Message) -> None:
        turn = _Turn(index, message)
        self.turns.append(turn)
        for position, part in enumerate(message.content):
            if isinstance(part, ToolCall):
                slot = turn.slots[position] = _Slot(turn, part)
                self.by_id.setdefault(part.id, []).append(slot)
            elif isinstance(part, ToolResult):
                answered = self._answer(index, position, part)
                if answered is not None:
                    turn.kept[position] = answered

    def _tool_message(self, index: int, message: Message) -> None:
        if len(message.content) != 1:
            kind, reason = (
                ("split", "each result was given its own message")
                if message.content
                else ("dropped_message", "a tool message without a result")
            )
            self._note(kind, index, None, reason)
        for position, part in enumerate(message.content):
            assert isinstance(part, ToolResult)
            slot = self._answer(index, position, part)
            if slot is None:
                continue
            own = message if len(message.content) == 1 else msgspec.structs.replace(message, content=(part,))
            slot.result = own if position == 0 else msgspec.structs.replace(own, id=None)
            if slot.turn is not self.turns[-1]:
                self._note("moved", index, position, "the result was put directly behind the message of its call")

    def _answer(self, index: int, position: int, result: ToolResult) -> _Slot | None:
        """The call that a result answers: the first open one of the latest message that has such a call."""
        called = self.by_id.get(result.tool_call_id, [])
        found: _Slot | None = None
        for slot in reversed(called):
            if found is not None and slot.turn is not found.turn:
                break
            if slot.place is None and slot.call.provider_executed == result.provider_executed:
                found = slot
        if found is not None:
            found.place = (index, position)
            return found
        what = "a second result of one call" if called else "a result that answers no call before it"
        self._drop("dropped_result", index, position, what)
        return None

    def _rename(self) -> None:
        """Gives every call whose id was used before the first free `<id>-2`, `<id>-3`, …"""
        taken = set(self.by_id)
        for call_id, slots in self.by_id.items():
            number = 2
            for slot in slots[1:]:
                while (fresh := f"{call_id}-{number}") in taken:
                    number += 1
                taken.add(fresh)
                slot.id = fresh
                position = next(place for place, one in slot.turn.slots.items() if one is slot)
                self._note("renamed", slot.turn.index, position, f"the call id {excerpt(call_id)} was used before")

    # putting down

    def _message(self, turn: _Turn) -> Message | None:
        """The message of a turn with what it may keep, `None` where that says nothing."""
        message, parts = turn.message, list[Part]()
        for position, part in enumerate(message.content):
            slot = turn.slots.get(position) or turn.kept.get(position)
            if isinstance(part, ToolCall) and slot is not None:
                if slot.was_cut:
                    self._drop("dropped_call", turn.index, position, "a call that was cut off, and so never run")
                else:
                    parts.append(part if slot.id == part.id else msgspec.structs.replace(part, id=slot.id))
            elif not isinstance(part, ToolResult):
                parts.append(part)
            elif slot is not None:
                parts.append(_answering(part, slot))
        if message.role != "system" and all(map(is_blank, parts)):
            self._note("dropped_message", turn.index, None, "the message says nothing: it is empty or blank")
            return None
        unchanged = len(parts) == len(message.content) and all(map(is_, parts, message.content))
        return message if unchanged else msgspec.structs.replace(message, content=tuple(parts))

    def _results(self, turn: _Turn) -> list[Message]:
        """The tool messages behind a turn: those that were found, as they stood, then those that are missing."""
        slots = [slot for slot in turn.slots.values() if not slot.call.provider_executed and not slot.was_cut]
        out = list[Message]()
        for slot in sorted((slot for slot in slots if slot.result is not None), key=lambda slot: slot.place or (0, 0)):
            assert slot.result is not None
            result = slot.result.content[0]
            assert isinstance(result, ToolResult)
            own = _answering(result, slot)
            out.append(slot.result if own is result else msgspec.structs.replace(slot.result, content=(own,)))
        for position, slot in turn.slots.items():
            if slot in slots and slot.result is None:
                said = UNAVAILABLE if slot.call.error is None else NOT_RUN
                out.append(Message.tool(slot.id, said, name=slot.call.name, is_error=True))
                self._note("answered", turn.index, position, f"the call {excerpt(slot.call.name)} had no result")
        return out


def _answering(result: ToolResult, slot: _Slot) -> ToolResult:
    return result if result.tool_call_id == slot.id else msgspec.structs.replace(result, tool_call_id=slot.id)
