"""Clients that are not ours: what of the clocks and of cancelling can be had of them from outside."""

import asyncio
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

import anyio

from llmcore.http import Timeout
from llmcore.transport.clock import Line
from llmcore.transport.network import shut


def client_timeouts(timeout: Timeout) -> dict[str, float | None]:
    """httpx's own timeouts for a request, which rule until the connection is up, and until the reply's head where the
    client is not ours."""
    limits = {
        "connect": timeout.connect,
        "read": timeout.first_event,
        "write": timeout.first_event,
        "pool": timeout.connect,
    }
    if timeout.total is None:
        return limits
    return {name: timeout.total if value is None else min(value, timeout.total) for name, value in limits.items()}


def body_limit(timeout: Timeout) -> float | None:
    """The longest that one read of a body may take: httpx's limit for a client that is not ours, which does not know
    whether the first event has come."""
    waits = [seconds for seconds in (timeout.first_event, timeout.idle) if seconds is not None]
    limits = [seconds for seconds in (max(waits) if len(waits) == 2 else None, timeout.total) if seconds is not None]
    return min(limits, default=None)


class ForeignSocket:
    """The socket of a client that is not ours."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def shut_down(self) -> None:
        shut(self._raw)


def foreign_socket(response: Any) -> ForeignSocket | None:
    """The socket behind a reply of a client that is not ours, where it shows one."""
    stream = getattr(response, "extensions", {}).get("network_stream")
    raw = stream.get_extra_info("socket") if stream is not None else None
    return None if raw is None else ForeignSocket(raw)


LOOK: Final = 0.02
"""Shortest time in seconds between two looks of an alarm at the clock."""


class Waiting:
    """A wait of a task, which any thread can end."""

    def __init__(self, scope: anyio.CancelScope) -> None:
        self._scope = scope
        if anyio.get_cancelled_exc_class() is asyncio.CancelledError:
            self._soon: Callable[[Callable[[], object]], object] = asyncio.get_running_loop().call_soon_threadsafe
        else:  # in a run of trio, which is then loaded
            trio: Any = sys.modules["trio"]
            self._soon = trio.lowlevel.current_trio_token().run_sync_soon

    def shut_down(self) -> None:
        self._soon(self._scope.cancel)


class Alarm:
    """Shuts the socket of a sync client that is not ours down when a clock runs out: one thread for each open body
    whose client's own limit would come too late, and none for any other."""

    def __init__(self, line: Line | None) -> None:
        self._stop = threading.Event()
        if line is not None:
            threading.Thread(target=self._watch, args=(line,), name="llmcore-alarm", daemon=True).start()

    def _watch(self, line: Line) -> None:
        # The deadline moves, also to nearer than it was: no wait is longer than the shortest clock. While the caller
        # has the events only `total` runs, and this looks again until another does.
        timeout = line.clock.timeout
        clocks = [seconds for seconds in (timeout.first_event, timeout.idle) if seconds is not None]
        shortest = min(clocks, default=timeout.total or LOOK)
        while not self._stop.wait(max(min(line.clock.remaining() or 0.0, shortest), LOOK)):
            if line.clock.expired():
                line.hang_up()
                return

    def cancel(self) -> None:
        self._stop.set()


def patient(timeout: Timeout) -> bool:
    """Whether the client's own limit for a read keeps every clock that runs while a body comes."""
    clocks = {timeout.first_event, timeout.idle}
    return timeout.total is None and len(clocks) == 1
