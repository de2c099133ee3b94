"""The contract between a wire protocol and everything else: frames in, canonical events out, no I/O.

A protocol is one frozen `Protocol` of plain functions (`protocols/` has one module for each). It may not wait, open a
socket, ask for the time, read the environment or draw a random number: ids come from `mint`, media go to `sink`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

import msgspec

from llmcore.errors import LLMError
from llmcore.events import Event
from llmcore.media import MediaSink
from llmcore.schema.request import Request
from llmcore.schema.response import CallWarning

if TYPE_CHECKING:
    from llmcore.route import Model

Q = TypeVar("Q")
"""The protocol's quirks."""
B = TypeVar("B")
"""The protocol's body."""

Mint: TypeAlias = Callable[[], str]
"""Gives a new id for a tool call at each call (`llmcore.ids` has the usual ones)."""

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Header names (any case) and values, in order; a name may stand several times."""


class Frame(msgspec.Struct, gc=False):
    """One message of a stream: `data` is its payload; `name` what the framing calls it (`""` where it does not);
    `kind` is `error` where the framing itself says that this is one."""

    data: bytes
    name: str = ""
    kind: Literal["event", "error"] = "event"


class Lowered(msgspec.Struct, Generic[B], frozen=True):
    """A request in the protocol's own form: the typed body, what was lost on the way, and headers it needs."""

    body: B
    warnings: tuple[CallWarning, ...] = ()
    headers: Headers = ()


class Protocol(msgspec.Struct, Generic[Q, B], frozen=True, kw_only=True):
    """What is said. `quirks`, `options` and `body` are Struct types; the rest are functions:

    - `lower(request, model, stream)` gives the body. Raises `CapabilityError` for what this route cannot carry and
      `InvalidRequestError` for what no route can. It changes nothing that it is given.
    - `start(model, mint, sink)` gives a new parser state.
    - `step(state, frame, out)` appends the events of one frame to `out`, none to many. Raises the `LLMError` that an
      error frame stands for, and `ProtocolError` for a frame that breaks the protocol.
    - `finish(state, out)` is told that the bytes have ended. Raises `StreamTruncatedError` without terminal evidence.
    - `parse(body, model, mint, sink, out)` appends all events of a whole-body reply, through the same handlers.
    - `error(status, headers, body, model)` gives the error that a non-2xx reply stands for, whatever its body is.
    """

    id: str
    quirks: type[Q]
    options: type[msgspec.Struct]
    body: type[B]
    lower: "Callable[[Request, Model[B], bool], Lowered[B]]"
    start: "Callable[[Model[B], Mint, MediaSink], Any]"
    step: Callable[[Any, Frame, list[Event]], None]
    finish: Callable[[Any, list[Event]], None]
    parse: "Callable[[bytes, Model[B], Mint, MediaSink, list[Event]], None]"
    error: "Callable[[int, Headers, bytes, Model[B]], LLMError]"
