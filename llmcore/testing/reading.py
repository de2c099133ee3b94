"""Reading as a client reads, without one: bytes through the framing, frames through `step`, then `finish`; or a whole
body through `parse`. Ids are counted, so that two readings of the same bytes are equal."""

from collections.abc import Iterable, Iterator
from typing import Any

from llmcore.errors import LLMError
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
"""What `lifecycle.violations` says of a stream without an end."""


class Reading:
    """What came out: the events, the error that ended them, the message as far as it came, and the response where
    there was no error."""

    def __init__(self, events: list[Event], error: LLMError | None, sink: MediaSink) -> None:
        self.events = events
        self.error = error
        self.problems = [found for found in violations(events) if error is None or found != NO_END]
        """What is out of order in the events. An error takes the place of the end."""
        self.message: Message | None = None
        self.response: Response | None = None
        if not self.problems:
            fold = Fold(sink)
            fold.add(events)
            self.message = fold.message("complete" if error is None else "error")
            self.response = fold.response() if error is None else None

    def same_as(self, other: "Reading") -> bool:
        """Whether the other is the same in events, message, and error or response."""
        errors = [(type(each.error), str(each.error)) for each in (self, other)]
        return self.events == other.events and self.message == other.message and errors[0] == errors[1]

    def __repr__(self) -> str:
        end = "no error" if self.error is None else repr(self.error)
        return f"Reading({', '.join(event.type for event in self.events)}; {end})"


def read_stream(model: Model[Any], pieces: Iterable[bytes]) -> Reading:
    """Reads a stream that comes in these pieces."""
    framer = model.route.framing.start()

    def frames() -> Iterator[Frame]:
        for piece in pieces:
            yield from framer.feed(piece)
        yield from framer.flush()

    return read_frames(model, frames())


def read_frames(model: Model[Any], frames: Iterable[Frame]) -> Reading:
    """Reads frames. As in a client, an error behind the end of the response is nobody's; events there are a problem."""
    protocol, sink, out = model.route.protocol, MediaSink(), list[Event]()
    try:
        state = protocol.start(model, counter(), sink)
        for frame in frames:
            protocol.step(state, frame, out)
        if not _ended(out):
            protocol.finish(state, out)
    except LLMError as problem:
        return Reading(out, None if _ended(out) else problem, sink)
    return Reading(out, None, sink)


def read_body(model: Model[Any], body: bytes) -> Reading:
    """Reads a whole body."""
    sink, out = MediaSink(), list[Event]()
    try:
        model.route.protocol.parse(body, model, counter(), sink, out)
    except LLMError as problem:
        return Reading(out, problem, sink)
    return Reading(out, None, sink)


def frames_of(model: Model[Any], stream: bytes) -> list[Frame]:
    """The frames of a stream. Raises `ProtocolError` where the bytes break the framing."""
    framer = model.route.framing.start()
    return [*framer.feed(stream), *framer.flush()]


def _ended(out: list[Event]) -> bool:
    return any(isinstance(event, ResponseEnd) for event in out[-1:])
