"""What a loopback server answers, as data: a status, headers, and the actions that make up the body and its mishaps.

A reply is the same whether it comes from a recording (`replay`) or is written for a test: `Reply.sse("…", "…")`,
`Reply(actions=(Send(b"half of it"), Reset()))`. Every wait in it ends when the client goes away or the server closes.
"""

import random
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import msgspec

from llmcore.cassette.format import Interaction
from llmcore.errors import ConfigError
from llmcore.protocol import Headers
from llmcore.schema.base import excerpt
from llmcore.url import redact_query

Split = Literal["recorded", "whole", "bytes", "random"]
"""How a recorded body is cut into HTTP chunks: as it came, not at all, at every byte, or at seeded random places."""

BodyFraming = Literal["auto", "chunked", "length", "close", "raw"]
"""How the client is told where the body ends. `chunked`; `length`, a content-length; `close`, the end of the
connection; `raw`: the server writes no head and no framing, the actions write every byte. `auto` is `length` for a body
that one `Send` holds and that is no event stream, else `chunked`."""


class Send(msgspec.Struct, frozen=True):
    """Writes `data`, as one HTTP chunk where the body is chunked."""

    data: bytes

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return len(self.data)


class Burst(msgspec.Struct, frozen=True):
    """Writes the pieces, each as an HTTP chunk of its own, in one go: the client sees the cuts, the kernel may not."""

    pieces: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return sum(map(len, self.pieces))


class Pause(msgspec.Struct, frozen=True):
    """Waits that many seconds."""

    seconds: float


class Wait(msgspec.Struct, frozen=True):
    """Is silent until `event` is set."""

    event: threading.Event


class Hold(msgspec.Struct, frozen=True):
    """Is silent until the client goes away."""


class Repeat(msgspec.Struct, frozen=True):
    """Writes `data` again and again until the client goes away: once for each release of `gate`, or, without a gate,
    every `seconds`."""

    data: bytes
    gate: threading.Semaphore | None = None
    seconds: float = 0.01


class Close(msgspec.Struct, frozen=True):
    """Ends the connection here, whatever the body's framing promised. A TLS session is ended by its close message
    unless `ragged`, which cuts the connection under it."""

    ragged: bool = False


class Reset(msgspec.Struct, frozen=True):
    """Breaks the connection: the client's next read fails (TCP RST). Under TLS, the `ssl` of some Pythons (3.11, not
    3.13) shows it to a client as the end of the bytes."""


Action: TypeAlias = Send | Burst | Pause | Wait | Hold | Repeat | Close | Reset


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One answer. `length` overrides the content-length (to promise what does not come); `keep_alive=False` says so in
    the head and closes afterwards. `recorded` is the interaction that the reply replays, where it does."""

    status: int = 200
    headers: Headers = ()
    actions: tuple[Action, ...] = ()
    framing: BodyFraming = "auto"
    length: int | None = None
    keep_alive: bool = True
    recorded: Interaction | None = None

    @classmethod
    def json(cls, value: object, *, status: int = 200, headers: Headers = ()) -> "Reply":
        """A whole JSON body; `value` is encoded unless it is bytes already."""
        body = value if isinstance(value, bytes) else msgspec.json.encode(value)
        return cls(status=status, headers=(("content-type", "application/json"), *headers), actions=(Send(body),))

    @classmethod
    def text(cls, body: str, *, status: int = 200, media_type: str = "text/html", headers: Headers = ()) -> "Reply":
        """A whole text body, HTML unless said otherwise: what proxies answer in a provider's place."""
        kind = ("content-type", f"{media_type}; charset=utf-8")
        return cls(status=status, headers=(kind, *headers), actions=(Send(body.encode()),))

    @classmethod
    def sse(cls, *steps: str | bytes | Action, status: int = 200, headers: Headers = ()) -> "Reply":
        """A stream of server-sent events: a text is the data of one event, bytes are written as they are, and actions
        act in their place."""
        return cls(
            status=status,
            headers=(("content-type", "text/event-stream"), *headers),
            actions=tuple(_sse_step(step) for step in steps),
        )

    def chunked(self) -> bool:
        """Whether the body goes out in HTTP chunks."""
        if self.framing != "auto":
            return self.framing == "chunked"
        kind = next((value for name, value in self.headers if name.lower() == "content-type"), "")
        whole = all(isinstance(action, Send) for action in self.actions) and len(self.actions) <= 1
        return not whole or kind.lower().startswith(STREAM_TYPES)


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """A request as the server got it. `path` is the request target, its query with it; header names are in lower case;
    `connection` counts the server's connections from 0."""

    method: str
    path: str
    headers: Headers
    body: bytes
    connection: int

    def header(self, name: str) -> str | None:
        """The first header of that name, in any case; `None` without one."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key == wanted), None)

    def json(self) -> object:
        """The body, parsed. Raises `msgspec.DecodeError` where it is not JSON."""
        return msgspec.json.decode(self.body)

    def __repr__(self) -> str:
        return (
            f"Received({self.method} {redact_query(self.path)}, {len(self.body)} bytes, connection {self.connection})"
        )


Responder: TypeAlias = Callable[[Received], Reply]
"""A reply that depends on the request."""

Step: TypeAlias = Interaction | Reply | Responder
"""What a script is made of: what to answer to one request."""

STREAM_TYPES: Final = ("text/event-stream", "application/vnd.amazon.eventstream", "application/x-ndjson")
_HOP_BY_HOP: Final = frozenset(
    {"connection", "keep-alive", "content-length", "transfer-encoding", "trailer", "upgrade"}
)
_CUTS: Final = (1, 2, 3, 5, 8, 21, 55, 144, 610, 2584)


def replay(interaction: Interaction, *, split: Split = "recorded", seed: int = 0, pace: float = 0.0) -> Reply:
    """The recorded reply as a script. `pace` stretches the recorded times: 0 sends everything at once, 1 is as
    recorded. Pauses go with `split="recorded"` only; raises `ConfigError` when asked for with another."""
    recorded = interaction.response
    if pace and split != "recorded":
        raise ConfigError(
            f"recorded timing belongs to the recorded chunks: pace= goes with split='recorded', not {split!r}"
        )
    headers = tuple((name, value) for name, value in recorded.headers.items() if name.lower() not in _HOP_BY_HOP)
    return Reply(
        status=recorded.status,
        headers=headers,
        actions=_paced(recorded.pieces, pace) if pace else _cut(recorded.pieces, split, seed),
        recorded=interaction,
    )


def cut(data: bytes, seed: int) -> tuple[bytes, ...]:
    """`data` in pieces of random sizes, mostly small and none above a few thousand bytes; equal for an equal seed."""
    chance, places = random.Random(seed), [0]  # noqa: S311  # reproducible cuts, no secret
    sizes = [size for size in _CUTS if size <= max(1, len(data) // 4)]
    while places[-1] < len(data):
        places.append(min(len(data), places[-1] + chance.randint(1, chance.choice(sizes))))
    return tuple(data[start:end] for start, end in pairwise(places))


def _cut(pieces: Sequence[tuple[int, bytes]], split: Split, seed: int) -> tuple[Action, ...]:
    recorded = tuple(data for _, data in pieces if data)
    body = b"".join(recorded)
    match split:
        case "recorded":
            return tuple(Send(data) for data in recorded)
        case "whole":
            return (Send(body),) if body else ()
        case "bytes":
            return (Burst(tuple(body[place : place + 1] for place in range(len(body)))),)
        case "random":
            return (Burst(cut(body, seed)),)
        case _:
            raise ConfigError(f"a body is split as recorded, whole, bytes or random, not {excerpt(split)}")


def _paced(pieces: Sequence[tuple[int, bytes]], pace: float) -> tuple[Action, ...]:
    actions, now = list[Action](), 0
    for ms, data in pieces:
        if ms > now:
            actions.append(Pause((ms - now) / 1000 * pace))
            now = ms
        if data:
            actions.append(Send(data))
    return tuple(actions)


def _sse_step(step: str | bytes | Action) -> Action:
    if isinstance(step, str):
        lines = "".join(f"data: {line}\n" for line in step.split("\n"))
        return Send(f"{lines}\n".encode())
    return Send(step) if isinstance(step, bytes) else step
