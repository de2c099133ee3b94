"""Framings: bytes in, frames out, incremental, linear and bounded. Every protocol can ride on every framing."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from llmcore.framing.sse import SSEDecoder
from llmcore.protocol import Frame

__all__ = ["SSE", "Framer", "Framing"]


class Framer(Protocol):
    """The state of one stream. `feed` gives the frames that the bytes complete, in order; `flush` those that the end
    of the bytes completes. Both raise `ProtocolError` for bytes that break the framing or its limits."""

    def feed(self, data: bytes) -> list[Frame]: ...
    def flush(self) -> list[Frame]: ...


class Framing(msgspec.Struct, frozen=True, kw_only=True):
    """How bytes become frames: `start` gives a new `Framer`; `accept` is the media type asked for."""

    id: str
    accept: str
    start: Callable[[], Framer]


SSE = Framing(id="sse", accept="text/event-stream", start=SSEDecoder)
