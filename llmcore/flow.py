"""A call as a flow: a plain generator that yields operations and is sent their results.

Everything that a call does but I/O is written once, as flows; two drivers (`llmcore.client`, `llmcore.aclient`) carry
the operations out, one sync, one async. A layer around a call (retry, budget, cassette, the tool loop) is a flow that
does `yield from` the inner one.
"""

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeAlias, TypeVar

import msgspec

from llmcore.events import Event
from llmcore.http import HttpRequest

T = TypeVar("T")


class Open(msgspec.Struct, frozen=True):
    """Send `request`; the result is the reply's `HttpHead`. `stream` says that the body will be read as it comes."""

    request: HttpRequest
    stream: bool = False


class Read(msgspec.Struct, frozen=True):
    """The next bytes of the body that is open, whatever came; `b""` at its end."""


class Sleep(msgspec.Struct, frozen=True):
    """Wait that many seconds."""

    seconds: float


class Invoke(msgspec.Struct, frozen=True):
    """Call a function of the user's; the result is what it gives. What it gives is awaited where it is awaitable, which
    the sync driver refuses with a `ConfigError`."""

    function: Callable[[], object | Awaitable[object]]


class Emit(msgspec.Struct, frozen=True):
    """Hand these events to whoever iterates the call."""

    events: list[Event]


class Close(msgspec.Struct, frozen=True):
    """Close the body that is open. `reuse` says that it has ended, or ends here: what is left is taken if it comes at
    once, so that the connection can serve again."""

    reuse: bool = False


Operation: TypeAlias = Open | Read | Sleep | Invoke | Emit | Close
Flow: TypeAlias = Generator[Operation, Any, T]
"""A flow that ends in a `T`. (What is sent depends on the operation, hence the `Any`.)"""
