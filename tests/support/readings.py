"""What must hold for reading over every protocol, written once: a `Subject` says how to read, a `Wire` what to read.

A protocol joins by giving a subject and a strategy of wires (see `chat_answers`); the checks are the same for all.
"""

import random
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import msgspec

from llmcore.errors import LLMError, StreamTruncatedError
from llmcore.events import Event, ResponseEnd
from llmcore.fold import Fold
from llmcore.ids import counter
from llmcore.lifecycle import violations
from llmcore.media import MediaSink
from llmcore.protocol import Frame
from llmcore.route import Model
from llmcore.schema.message import Message
from llmcore.schema.response import Response

NO_END = violations(())[0]


class Wire(msgspec.Struct, frozen=True):
    """A stream as bytes, framed. `proof` is the offset behind the first payload that proves the end, `proved` the one
    behind its whole frame; `payloads` are the data of the frames without their framing."""

    data: bytes
    proof: int
    proved: int
    payloads: tuple[bytes, ...]


class Reading:
    """What came out of reading: the events, the error that ended it, the message as far as it came, the response."""

    def __init__(self, events: list[Event], error: LLMError | None, sink: MediaSink) -> None:
        self.events = events
        self.error = error
        fold = Fold(sink)
        fold.add(events)
        self.message: Message = fold.message("complete" if error is None else "error")
        self.response: Response | None = None if error is not None else fold.response()

    @property
    def done(self) -> Response:
        """The response, of which there must be one."""
        if self.error is not None:
            raise self.error
        assert self.response is not None
        return self.response

    def problems(self) -> list[str]:
        """What is out of order in the events. An error takes the place of the end."""
        return [found for found in violations(self.events) if self.error is None or found != NO_END]

    def same_as(self, other: "Reading") -> bool:
        """Whether the other is the same in events, message, and error or response."""
        errors = [(type(each.error), str(each.error)) for each in (self, other)]
        return self.events == other.events and self.message == other.message and errors[0] == errors[1]


class Subject:
    """One model's protocol, fed as a client feeds it: bytes through its framing, frames through `step`, then `finish`;
    or a whole body through `parse`. Ids are counted, so that readings of the same bytes are equal."""

    def __init__(self, model: Model[Any]) -> None:
        self.model = model

    def stream(self, pieces: Iterable[bytes]) -> Reading:
        protocol, framer = self.model.route.protocol, self.model.route.framing.start()
        sink, events, error = MediaSink(), list[Event](), None
        state = protocol.start(self.model, counter(), sink)
        try:
            for piece in pieces:
                for frame in framer.feed(piece):
                    protocol.step(state, frame, events)
            for frame in framer.flush():
                protocol.step(state, frame, events)
            if not events or not isinstance(events[-1], ResponseEnd):
                protocol.finish(state, events)
        except LLMError as problem:
            error = problem
        return Reading(events, error, sink)

    def frames(self, payloads: Iterable[bytes]) -> Reading:
        protocol, sink, events, error = self.model.route.protocol, MediaSink(), list[Event](), None
        state = protocol.start(self.model, counter(), sink)
        try:
            for payload in payloads:
                protocol.step(state, Frame(data=payload), events)
            if not events or not isinstance(events[-1], ResponseEnd):
                protocol.finish(state, events)
        except LLMError as problem:
            error = problem
        return Reading(events, error, sink)

    def whole(self, body: bytes) -> Reading:
        sink, events, error = MediaSink(), list[Event](), None
        try:
            self.model.route.protocol.parse(body, self.model, counter(), sink, events)
        except LLMError as problem:
            error = problem
        return Reading(events, error, sink)


def cut(data: bytes, chance: random.Random, count: int = 8) -> Iterator[bytes]:
    """`data` cut at up to `count` places, some pieces empty."""
    places = sorted(chance.randint(0, len(data)) for _ in range(count))
    return (data[start:end] for start, end in pairwise([0, *places, len(data)]))


def check_splits(subject: Subject, data: bytes, chance: random.Random) -> Reading:
    """The same bytes give the same reading however they are cut: whole, at random, byte by byte. Gives that reading."""
    whole = subject.stream([data])
    assert whole.problems() == []
    assert subject.stream(cut(data, chance)).same_as(whole), "cut at random"
    assert subject.stream(data[at : at + 1] for at in range(len(data))).same_as(whole), "cut at every byte"
    return whole


def check_truncation(subject: Subject, wire: Wire, places: Iterable[int] | None = None) -> None:
    """Cut at every byte (or at `places`): no success before the proof of the end is there, success once its frame is;
    what came is a beginning of what would have come, and no call in it passes for one that can be run."""
    full = subject.stream([wire.data])
    said, refused, thought = full.done.text, full.done.refusal or "", full.message.reasoning
    for place in range(len(wire.data)) if places is None else places:
        cut_off = subject.stream([wire.data[:place]])
        message = cut_off.message
        assert cut_off.problems() == [], place
        assert said.startswith(message.text), place
        assert refused.startswith(message.refusal or ""), place
        assert thought.startswith(message.reasoning), place
        if cut_off.error is None:
            assert place >= wire.proof, f"success at byte {place}, the end is proved at {wire.proof}"
            continue
        assert isinstance(cut_off.error, StreamTruncatedError), (place, cut_off.error)
        assert place < wire.proved, f"truncated at byte {place}, the end was proved at {wire.proved}"
        assert cut_off.events == full.events[: len(cut_off.events)], place
        assert message.metadata is not None
        assert message.metadata.status == "error"
        assert all(call.error for call in message.tool_calls), place


def check_cut_body(subject: Subject, body: bytes, places: Iterable[int]) -> None:
    """No beginning of a whole body passes for a body."""
    for place in places:
        assert subject.whole(body[:place]).error is not None, place


def check_any_bytes(subject: Subject, data: bytes) -> None:
    """Whatever the bytes: events in order and at the most one of our errors (any other ends the test)."""
    assert subject.stream([data]).problems() == []
    assert subject.frames([data]).problems() == []
    assert subject.whole(data).problems() == []


def check_payloads(subject: Subject, payloads: Iterable[bytes]) -> Reading:
    """Whatever the frames: events in order and at the most one of our errors. Gives the reading."""
    reading = subject.frames(payloads)
    assert reading.problems() == []
    return reading


def mutated(value: object, chance: random.Random, junk: Iterable[object]) -> object:
    """A copy of a JSON value with one place in it changed: replaced by something from `junk`, left out, or doubled."""
    choices = list(junk)
    match value:
        case dict() if value and chance.random() < 0.85:
            key = chance.choice(list(value))
            return (
                {**value, key: mutated(value[key], chance, choices)}
                if chance.random() < 0.8
                else {name: item for name, item in value.items() if name != key}
            )
        case list() if value and chance.random() < 0.85:
            place = chance.randrange(len(value))
            if chance.random() < 0.2:
                return [*value, value[place]]
            return [*value[:place], mutated(value[place], chance, choices), *value[place + 1 :]]
        case _:
            return chance.choice(choices)
