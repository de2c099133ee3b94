"""The wire of a scripted model: our own events as JSON, one in each server-sent event. The lossless protocol.

A request is `{"model": …, "stream": …, "request": <the canonical request>}`. A stream is one frame for each event,
`response_end` its terminal evidence, or a frame named `error`. A whole body is `{"events": […]}`. What the script wants
raised goes by its number: `{"fault": 0}`, in an error frame or in the body of a non-2xx reply.
"""

import copy
from collections.abc import Callable
from typing import Any, Final, NoReturn

import msgspec

from llmcore.errors import LLMError, ProtocolError, StreamTruncatedError
from llmcore.events import Event, MediaEnd
from llmcore.lifecycle import Lifecycle
from llmcore.media import MediaSink
from llmcore.protocol import Frame, Headers, Lowered, Mint, Protocol
from llmcore.route import Model
from llmcore.schema.base import excerpt
from llmcore.schema.parts import Base64Source, HandleSource
from llmcore.schema.request import Request


class NoQuirks(msgspec.Struct, frozen=True):
    """There are none."""


class NoOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """There are none."""


class ScriptBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a request to a scripted model: everything that was asked."""

    model: str
    stream: bool
    request: Request


class Fault(msgspec.Struct, frozen=True):
    """Something that the script wants raised, by its number; `message` is for eyes."""

    fault: int
    message: str = ""


class Whole(msgspec.Struct, frozen=True):
    """A whole body."""

    events: list[Event]


class State:
    """The state of one stream."""

    __slots__ = ("lifecycle", "sink")

    def __init__(self, sink: MediaSink) -> None:
        self.sink = sink
        self.lifecycle = Lifecycle()


Raised = Callable[[int], BaseException]
"""What the script wants raised under a number."""

_event: Final[msgspec.json.Decoder[Event]] = msgspec.json.Decoder(Event)
_whole: Final = msgspec.json.Decoder(Whole)
_fault: Final = msgspec.json.Decoder(Fault)
_UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError)


def protocol(raised: Raised) -> Protocol[NoQuirks, ScriptBody]:
    """The protocol of one script. `raised` knows its errors by number."""

    def step(state: State, frame: Frame, out: list[Event]) -> None:
        if frame.name == "error":
            fail(_decoded(_fault, frame.data).fault)
        take(state, _decoded(_event, frame.data), out)

    def parse(body: bytes, _model: Model[ScriptBody], _mint: Mint, sink: MediaSink, out: list[Event]) -> None:
        state = State(sink)
        for event in _decoded(_whole, body).events:
            take(state, event, out)
        finish(state, out)

    def error(status: int, _headers: Headers, body: bytes, _model: Model[ScriptBody]) -> LLMError:
        try:
            fail(_fault.decode(body).fault)
        except _UNREADABLE:
            text = body[:200].decode("utf-8", "replace")
            return ProtocolError(f"HTTP {status} is no reply of a script", body_excerpt=text)

    def fail(number: int) -> NoReturn:
        problem = raised(number)
        # A fresh copy each time: an error gathers the attempts and the partial message of the call that it ends.
        raise copy.copy(problem) if isinstance(problem, LLMError) else problem

    return Protocol(
        id="script",
        quirks=NoQuirks,
        options=NoOptions,
        body=ScriptBody,
        lower=lower,
        start=start,
        step=step,
        finish=finish,
        parse=parse,
        error=error,
    )


def lower(request: Request, model: Model[ScriptBody], stream: bool) -> Lowered[ScriptBody]:
    return Lowered(ScriptBody(model=model.name, stream=stream, request=request))


def start(_model: Model[ScriptBody], _mint: Mint, sink: MediaSink) -> State:
    return State(sink)


def take(state: State, event: Event, out: list[Event]) -> None:
    """Appends one event; media inline in it go to the sink. Raises `ProtocolError` where it is out of order."""
    state.lifecycle.check((event,))
    if isinstance(event, MediaEnd) and isinstance(event.media.source, Base64Source):
        handle = state.sink.put(event.media.bytes(), event.media.media_type)
        event = MediaEnd(id=event.id, media=msgspec.structs.replace(event.media, source=HandleSource(handle=handle)))
    out.append(event)


def finish(state: State, _out: list[Event]) -> None:
    if state.lifecycle.phase != "after":
        raise StreamTruncatedError("the stream ended before its response_end")


def _decoded(decoder: msgspec.json.Decoder[Any], data: bytes) -> Any:
    try:
        return decoder.decode(data)
    except _UNREADABLE as problem:
        raise ProtocolError(
            f"not the wire of a script: {excerpt(str(problem), 200)}",
            body_excerpt=data[:200].decode("utf-8", "replace"),
        ) from None
