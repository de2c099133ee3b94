"""The clock of a call, with a time of the test's own."""

import pytest

from llmcore.errors import CallCancelledError, RequestTimeoutError
from llmcore.http import Timeout
from llmcore.transport.clock import Clock, Line

STEPS = {"begin", "sent", "beat", "hold", "resume", "drain"}


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def run(timeout: Timeout, *steps: str | float) -> tuple[Clock, Time]:
    """A clock after `steps`: its own methods, and numbers of seconds that pass."""
    time = Time()
    clock = Clock(timeout, time)
    for step in steps:
        if isinstance(step, str):
            assert step in STEPS
            getattr(clock, step)()
        else:
            time.now += step
    return clock, time


ALL = Timeout(connect=5, first_event=10, idle=3, total=60)
NO_TOTAL = Timeout(connect=5, first_event=10, idle=3, total=None)
NONE = Timeout(connect=None, first_event=None, idle=None, total=None)


@pytest.mark.parametrize(
    ("timeout", "steps", "left", "which"),
    [
        # before the request goes out only `total` runs: the key and the connection have their own limits
        (NO_TOTAL, (), None, "connect"),
        (NO_TOTAL, (1000.0,), None, "connect"),
        (ALL, (4.0,), 56.0, "total"),
        # first_event counts from sending
        (NO_TOTAL, (7.0, "sent"), 10.0, "first_event"),
        (NO_TOTAL, (7.0, "sent", 4.0), 6.0, "first_event"),
        (NO_TOTAL, ("sent", 11.0), 0.0, "first_event"),
        # total, where it comes first
        (ALL, (55.0, "sent"), 5.0, "total"),
        (Timeout(first_event=10, total=9), ("sent",), 9.0, "total"),
        # idle counts from event to event
        (NO_TOTAL, ("sent", 9.0, "beat", "resume"), 3.0, "idle"),
        (NO_TOTAL, ("sent", 9.0, "beat", "resume", 2.0), 1.0, "idle"),
        (NO_TOTAL, ("sent", "beat", "resume", 2.0, "beat", "resume", 2.0), 1.0, "idle"),
        # what the caller takes is no silence of the provider's …
        (NO_TOTAL, ("sent", 1.0, "hold", 500.0, "resume"), 9.0, "first_event"),
        (NO_TOTAL, ("sent", 1.0, "beat", 500.0, "resume"), 3.0, "idle"),
        (NO_TOTAL, ("sent", "beat", "resume", 1.0, "hold", 500.0, "resume", 1.0), 1.0, "idle"),
        (NO_TOTAL, ("sent", "beat", 500.0), None, "total"),
        # … but it is of the call's time
        (ALL, ("sent", "beat", 59.0, "resume"), 1.0, "total"),
        (ALL, ("sent", "beat", 61.0), 0.0, "total"),
        # once the response has ended, only what comes at once is waited for
        (NONE, ("sent", "beat", "resume", "drain"), 0.05, "idle"),
        (NONE, ("sent", 1e9, "beat", "resume", 1e9), None, "idle"),
        # a call begins when it is made, not when it was made ready
        (ALL, (50.0, "begin"), 60.0, "total"),
        (NO_TOTAL, ("sent", "beat", "begin", "sent"), 10.0, "first_event"),
    ],
)
def test_the_nearest_deadline_and_its_clock(
    timeout: Timeout, steps: tuple[str | float, ...], left: float | None, which: str
) -> None:
    clock, _ = run(timeout, *steps)
    assert clock.remaining() == (None if left is None else pytest.approx(left))
    assert clock.which == which
    assert clock.expired() is (left == 0.0)


@pytest.mark.parametrize(
    ("steps", "which", "elapsed", "budget"),
    [
        (("sent", 11.0), "first_event", 11.0, 10.0),
        (("sent", 1.0, "beat", "resume", 4.0), "idle", 5.0, 3.0),
        ((70.0,), "total", 70.0, 60.0),
    ],
)
def test_the_error_names_the_clock_and_both_times(
    steps: tuple[str | float, ...], which: str, elapsed: float, budget: float
) -> None:
    clock, _ = run(ALL, *steps)
    error = clock.error("maybe")
    assert isinstance(error, RequestTimeoutError)
    assert (error.which, error.elapsed, error.budget, error.request_sent) == (which, elapsed, budget, "maybe")
    assert which in error.message


def test_the_first_content_is_remembered() -> None:
    clock, _ = run(ALL, "sent", 2.0, "hold", "resume", 1.0, "beat", "resume", 1.0, "beat")
    assert clock.began == 103.0
    assert clock.elapsed == 4.0


def test_total_left() -> None:
    assert run(ALL, 50.0)[0].total_left == 10.0
    assert run(ALL, 70.0)[0].total_left == 0.0
    assert run(NO_TOTAL, 70.0)[0].total_left is None


# The line


class Socket:
    def __init__(self) -> None:
        self.shut = 0

    def shut_down(self) -> None:
        self.shut += 1


def test_cancel_shuts_the_socket_down_and_is_the_reason() -> None:
    clock, time = run(ALL, "sent")
    line, socket = Line(clock), Socket()
    line.socket = socket
    assert line.interruption("yes") is None
    line.cancel()
    time.now += 1000  # cancelling wins over a clock
    error = line.interruption("yes")
    assert isinstance(error, CallCancelledError)
    assert error.request_sent == "yes"
    assert socket.shut == 1


def test_a_socket_that_was_given_back_is_left_alone() -> None:
    line, socket = Line(run(ALL)[0]), Socket()
    line.socket = socket
    assert line.detach() is socket
    line.cancel()
    line.hang_up()
    assert socket.shut == 0
    assert line.detach() is None


def test_a_clock_that_ran_out_is_the_reason() -> None:
    clock, time = run(NO_TOTAL, "sent")
    line = Line(clock)
    time.now += 10
    error = line.interruption("maybe")
    assert isinstance(error, RequestTimeoutError)
    assert (error.which, error.request_sent) == ("first_event", "maybe")
