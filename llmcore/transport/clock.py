"""The clocks of one call, and the line to its socket. Pure: the time comes from a function, nothing waits here."""

import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

from llmcore.errors import CallCancelledError, LLMError, RequestTimeoutError
from llmcore.http import Timeout
from llmcore.schema.response import RequestSent

DRAIN_SECONDS = 0.05
"""How long the rest of a body may take after the response has ended, for its connection to be used again."""

_NEVER: Final = float("inf")


class Clock:
    """Says how long the call may still wait, and which clock ends the wait.

    Before the first event with content `first_event` runs; after it `idle` runs from event to event, so that
    keep-alives do not reset it; `total` runs always. Time that the caller takes for the events it was given is no
    silence of the provider's: `hold` and `resume` take it out of `first_event` and `idle`, never out of `total`.
    """

    __slots__ = (
        *("_deadline", "_first_event", "_held", "_idle", "_now", "_silent", "_total_at"),
        *("began", "start", "timeout", "which"),
    )

    def __init__(self, timeout: Timeout, now: Callable[[], float] = time.monotonic) -> None:
        self.timeout = timeout
        self._now = now
        self._first_event = _NEVER if timeout.first_event is None else timeout.first_event
        self._idle = _NEVER if timeout.idle is None else timeout.idle
        self.begin()

    def begin(self) -> None:
        """The call begins now: `total` runs, and no other clock before the request goes out (`connect` is the HTTP
        client's to keep)."""
        self.start = self._held = self._silent = self._now()
        self.began: float | None = None
        self._total_at = _NEVER if self.timeout.total is None else self.start + self.timeout.total
        self._arm("connect", _NEVER)

    def sent(self) -> None:
        """The request goes out now."""
        self._silent = self._now()
        self._arm("first_event", self._silent + self._first_event)

    def _arm(self, which: str, deadline: float) -> None:
        if self._total_at < deadline:
            which, deadline = "total", self._total_at
        self.which, self._deadline = which, deadline

    def beat(self) -> None:
        """An event with content has come, and goes to the caller."""
        now = self._now()
        if self.began is None:
            self.began = now
        self._held = self._silent = now
        self.which, self._deadline = "total", self._total_at

    def hold(self) -> None:
        """Events without content go to the caller."""
        self._held = self._now()
        self.which, self._deadline = "total", self._total_at

    def resume(self) -> None:
        """The caller is back, after `beat` or `hold`: the silence goes on where it was, after a `beat` at nothing."""
        self._silent = silent = self._silent + self._now() - self._held
        if self.began is None:
            self._arm("first_event", silent + self._first_event)
        else:
            self._arm("idle", silent + self._idle)

    @property
    def budget(self) -> float:
        """What the clock `which` allows, in seconds."""
        return getattr(self.timeout, self.which) or 0.0

    def drain(self) -> None:
        """The response has ended: only what comes at once is still waited for."""
        self._deadline = self._now() + DRAIN_SECONDS

    def remaining(self) -> float | None:
        """Seconds until the nearest deadline, at least 0; `None` without one."""
        if self._deadline == _NEVER:
            return None
        return max(0.0, self._deadline - self._now())

    @property
    def elapsed(self) -> float:
        """Seconds since the call began."""
        return self._now() - self.start

    def expired(self) -> bool:
        """Whether the nearest deadline has passed."""
        return self._now() >= self._deadline

    @property
    def total_left(self) -> float | None:
        """Seconds that `total` leaves, at least 0; `None` without one."""
        return None if self._total_at == _NEVER else max(0.0, self._total_at - self._now())

    def error(self, sent: RequestSent) -> RequestTimeoutError:
        """The error of the clock that ran out."""
        return RequestTimeoutError(
            f"the {self.which} clock ran out: {self.elapsed:.3g} s have passed, {_MEANING[self.which]} "
            f"may take {self.budget:.3g} s",
            which=self.which,
            elapsed=self.elapsed,
            budget=self.budget,
            request_sent=sent,
        )


_MEANING = {
    "connect": "connecting",
    "first_event": "the first event",
    "idle": "the time between two events",
    "total": "the whole call",
}


class Socket(Protocol):
    """The end of a connection, as far as a call needs it: it can be shut down from any thread."""

    def shut_down(self) -> None: ...


class Line:
    """What a call and its connection share: the clock, whether the call was cancelled, and the socket once there is
    one. The network layer asks it before each wait; `cancel` may come from any thread."""

    __slots__ = ("__weakref__", "_lock", "cancelled", "clock", "socket")

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.cancelled = False
        self.socket: Socket | None = None
        self._lock = threading.Lock()  # a socket that was given back is never shut down: it may serve another call

    def cancel(self) -> None:
        """Ends the call: a wait under way is woken, one to come does not begin."""
        self.cancelled = True
        self.hang_up()

    def hang_up(self) -> None:
        """Shuts the socket down, if this call still holds one."""
        with self._lock:
            if self.socket is not None:
                self.socket.shut_down()

    def detach(self) -> Socket | None:
        """Lets go of the socket and gives it back; from now on nobody shuts it down for this call."""
        with self._lock:
            socket, self.socket = self.socket, None
        return socket

    def interruption(self, sent: RequestSent) -> LLMError | None:
        """The error that stands behind a failed wait, where the call itself is the reason."""
        if self.cancelled:
            return CallCancelledError("the call was cancelled", request_sent=sent)
        return self.clock.error(sent) if self.clock.expired() else None
