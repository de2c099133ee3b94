"""What the two checks share: holding something to cases that hypothesis draws, and counting its work."""

import sys
from collections.abc import Callable
from typing import Final, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

T = TypeVar("T")

TIMES: Final = 8
"""How many times as much input the growth of work is looked at over."""


def drawn(examples: int, cases: st.SearchStrategy[T], check: Callable[[T], None]) -> None:
    """Holds `check` to `examples` cases drawn by hypothesis; what it raises for the simplest of them comes through."""

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        report_multiple_bugs=False,  # the exception itself comes through, not a group of several
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=tuple(HealthCheck),  # pyright: ignore[reportArgumentType]  # an enumeration with a metaclass of its own
    )
    @given(cases)
    def holds(case: T) -> None:
        check(case)

    holds()


def calls_in(work: Callable[[], object]) -> int:
    """How many functions `work` calls, Python's own among them: a measure that no other program's load changes."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls
