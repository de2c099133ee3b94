"""Tool calls out of fragments: which call a fragment belongs to, and the events of each call.

What a wire says of a fragment (an index, an id, a name) is evidence, not identity. Services leave the index out, send
0 for every call, repeat or blank or change the id, send the name late or with every fragment, or resend what they have
sent. So each fragment is given to a call by all its evidence together:

1. the call under its index, unless the id is another's; else the call under its id, unless an index that is new and a
   name say that this is another call with the same id; else, with an index that is new, a call that has none yet (and
   no other name); else the last call (of several fragments in one delta without evidence: the last calls, in order);
2. yet it begins another call when it has a name and the call so found has another id, another name, a name from this
   same delta, or complete arguments that the fragment does not repeat; or when it has another id and the arguments of
   the call so found are complete.

A call starts when its name is known. One that begins with the same name, no arguments and no id of its own, after a
call that is complete, may be an echo: it starts with its first argument text, and without any it never was.
"""

import re
from typing import Final

import msgspec

from llmcore.events import Event, ToolCallDelta, ToolCallEnd, ToolCallStart
from llmcore.protocol import Mint
from llmcore.schema.base import JSONObject
from llmcore.schema.parts import Origin
from llmcore.wire.arguments import is_object, settle
from llmcore.wire.texts import Joiner, low_half, scrub

_MARK: Final = re.compile(r'["{}\[\]]|\\.?', re.DOTALL)


class Call(msgspec.Struct):
    """One call as far as it has come."""

    id: str
    index: int | None = None
    wire_id: str | None = None
    name: str | None = None
    pieces: list[str] = []
    size: int = 0
    round: int = 0
    started: bool = False
    started_with: str | None = None
    echo: bool = False
    custom: bool = False
    joiner: Joiner | None = None
    looked_at: int = 0
    depth: int = 0
    quoted: bool = False
    escaped: bool = False
    broken: bool = False

    def complete(self) -> bool:
        """Whether the arguments are a whole object. (This is asked at every header: each piece is looked at once, and
        all of them together once, when every bracket is closed.)"""
        if not self.pieces or self.broken or not self.pieces[-1].rstrip().endswith("}") or not self._closed():
            return False
        self.broken = not is_object("".join(self.pieces))  # no text behind it mends what closes and is no object
        return not self.broken

    def _closed(self) -> bool:
        """Whether every string is ended and every bracket outside strings closed."""
        while self.looked_at < len(self.pieces):
            piece = self.pieces[self.looked_at]
            self.looked_at += 1
            start, self.escaped = int(self.escaped), False
            for found in _MARK.finditer(piece, start):
                mark = found[0]
                if mark == '"':
                    self.quoted = not self.quoted
                elif mark[0] == "\\":
                    self.escaped = len(mark) == 1  # the end of the piece: what it escapes begins the next one
                elif not self.quoted:
                    self.depth += 1 if mark in "{[" else -1
        return self.depth == 0 and not self.quoted

    def new_in(self, text: str) -> str | None:
        """What is new in a `text` that says all that came so far once more; `None` for one that does not."""
        if not 0 < self.size <= len(text):
            return None
        said = "".join(self.pieces)
        if text.startswith(said):
            return text[self.size :]
        low = low_half(said[-1], text[self.size - 1])  # what came so far may end in the middle of a character
        return low + text[self.size :] if low and text.startswith(said[:-1]) else None

    def append(self, text: str) -> None:
        """Adds a piece; the halves of a character that was cut between two pieces are joined."""
        last = self.pieces[-1][-1:] if self.pieces else ""
        if last and "\udc00" <= text[0] <= "\udfff" and "\ud800" <= last <= "\udbff":
            self.pieces[-1] = self.pieces[-1][:-1]
            self.size -= 1
            text = scrub(last + text[0]) + text[1:]
        self.pieces.append(text)
        self.size += len(text)


class Calls:
    """The calls of one response that are open; `count` is how many have started. `odd` is set once a text had a lone
    surrogate in it."""

    __slots__ = ("_by_id", "_by_index", "_ended", "_mint", "_origin", "_round", "count", "odd", "open")

    def __init__(self, mint: Mint, origin: Origin) -> None:
        self._mint: Final = mint
        self._origin: Final = origin
        self._by_index: dict[int, Call] = {}
        self._by_id: dict[str, Call] = {}
        self._ended: dict[str, str] = {}
        self._round = 0
        self.count = 0
        self.open: list[Call] = []
        self.odd = False

    def next_delta(self) -> None:
        """Says that the following fragments are of a new delta."""
        self._round += 1

    def fragment(
        self,
        out: list[Event],
        *,
        index: int | None = None,
        wire_id: str | None = None,
        name: str | None = None,
        text: str = "",
        custom: bool = False,
        behind: int = 1,
    ) -> None:
        """Takes one fragment. `behind` says which fragment of its delta it is, counted from the last one (1)."""
        if not self.open and self._is_afterthought(wire_id, name, text):
            return
        call = self._find(index, wire_id, name, behind)
        if call is None or self._another(call, wire_id, name, text):
            echo = call is not None and not text.strip() and name == call.name and wire_id in (None, call.wire_id)
            call = Call(id=self._mint(), custom=custom, echo=echo)
            self.open.append(call)
        elif name is not None and name == call.name and (new := call.new_in(text)) is not None:
            text = new
        self._label(call, index, wire_id, name)
        if text:
            call.append(text)
        self._emit(call, text, out)

    def end(self, out: list[Event], *, cut: bool = False) -> list[ToolCallEnd]:
        """Ends all calls that are open. `cut` says that the answer was cut, so that arguments may be missing."""
        ended = [end for call in self.open if (end := self._end(call, out, cut)) is not None]
        self.open = []
        self._by_index.clear()
        self._by_id.clear()
        return ended

    # -- whose fragment it is

    def _is_afterthought(self, wire_id: str | None, name: str | None, text: str) -> bool:
        """Whether a fragment that comes when no call is open says nothing new: blank, or an ended call once more."""
        if wire_id is None:
            return name is None and not text.strip()
        arguments = self._ended.get(wire_id)
        return arguments is not None and (not text.strip() or text == arguments)

    def _find(self, index: int | None, wire_id: str | None, name: str | None, behind: int) -> Call | None:
        at = self._by_index.get(index) if index is not None else None
        if at is not None and (wire_id is None or at.wire_id is None or at.wire_id == wire_id):
            return at
        known = self._by_id.get(wire_id) if wire_id is not None else None
        if known is not None:
            other_index = index is not None and known.index is not None and known.index != index
            return None if other_index and name is not None and at is None else known
        if at is not None:
            return at
        if not self.open:
            return None
        if index is None:
            return self.open[-min(behind, len(self.open))] if wire_id is None and name is None else self.open[-1]
        candidate = self.open[index] if 0 <= index < len(self.open) else self.open[-1]
        named = name is None or candidate.name is None or name == candidate.name
        return candidate if candidate.index is None and named else None

    def _another(self, call: Call, wire_id: str | None, name: str | None, text: str) -> bool:
        other_id = wire_id is not None and call.wire_id is not None and wire_id != call.wire_id
        if name is None:
            return other_id and (call.round == self._round or call.complete())
        if other_id:
            return True
        if call.name is None:
            return False
        if name != call.name or call.round == self._round:
            return True
        return call.complete() and not (text.strip() and call.new_in(text) is not None)

    def _label(self, call: Call, index: int | None, wire_id: str | None, name: str | None) -> None:
        if index is not None:
            self._by_index[index] = call
            if call.index is None:
                call.index = index
        if wire_id is not None:
            self._by_id[wire_id] = call
            if call.wire_id is None:
                call.wire_id = wire_id
        if name is not None:
            call.round = self._round
            if call.name is None:
                call.name = name
        elif wire_id is not None:
            call.round = self._round

    # -- its events

    def _emit(self, call: Call, text: str, out: list[Event]) -> None:
        if not call.started:
            if call.name is None or (call.echo and not call.pieces):
                return
            self._start(call, out)
            text = "".join(call.pieces)
            if call.custom:
                out.append(ToolCallDelta(id=call.id, text='"'))
        if self.odd or call.joiner is not None:
            if call.joiner is None:
                call.joiner = Joiner()
            text = call.joiner.feed(text)
        if text:
            out.append(ToolCallDelta(id=call.id, text=_quoted(text) if call.custom else text))

    def _start(self, call: Call, out: list[Event]) -> None:
        call.started = True
        self.count += 1
        call.started_with = call.wire_id
        out.append(ToolCallStart(id=call.id, name=call.name or "", wire_id=call.wire_id))

    def _end(self, call: Call, out: list[Event], cut: bool) -> ToolCallEnd | None:
        if not call.started:
            if call.echo or not (call.pieces or call.wire_id):
                return None
            call.name = call.name or ""
            self._emit(call, "", out)
        if call.joiner is not None and (rest := call.joiner.flush()):
            out.append(ToolCallDelta(id=call.id, text=rest))
        arguments, error, metadata = self._settled(call, cut, out)
        end = ToolCallEnd(
            id=call.id,
            arguments=arguments,
            error=error if call.name else "the provider sent no name for this call",
            wire_id=None if call.wire_id == call.started_with else call.wire_id,
            provider_metadata=metadata,
            origin=self._origin if call.wire_id is not None or metadata is not None else None,
        )
        if call.wire_id is not None:
            self._ended[call.wire_id] = arguments
        out.append(end)
        return end

    def _settled(self, call: Call, cut: bool, out: list[Event]) -> tuple[str, str | None, JSONObject | None]:
        text = scrub("".join(call.pieces))
        if call.custom:  # a free text: as JSON it is a string
            out.append(ToolCallDelta(id=call.id, text='"'))
            error = "the answer was cut before the call was complete" if cut else None
            return f'"{_quoted(text)}"', error, {"type": "custom"}
        arguments, error = settle(text)
        if cut and not text.strip():
            error = "the answer was cut before the arguments of this call"
        return arguments, error, None


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()[1:-1]
