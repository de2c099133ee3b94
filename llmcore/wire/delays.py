"""How long to wait before trying again, in every spelling that services have for it."""

import re
from collections.abc import Iterable
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Final

from llmcore.http import HttpHead, duration
from llmcore.protocol import Headers
from llmcore.wire.values import mapping, sequence

DETAILS: Final = ("retryDelay", "quotaResetDelay")
"""Fields of `google.rpc.RetryInfo` and its relatives, which also come through OpenAI-compatible wrappers."""

_TRY_IN: Final = re.compile(
    r"(?:try again|retry|wait)(?: your request)?(?: in| after)? "
    r"(?P<delay>(?:\d+(?:\.\d+)?\s?(?:milliseconds?|seconds?|minutes?|hours?|ms|s|m|h)\s?)+)",
    re.IGNORECASE,
)
_UNITS: Final = (("millisecond", "ms"), ("second", "s"), ("minute", "m"), ("hour", "h"))


def retry_after(headers: Headers, details: Iterable[object] = (), words: str = "") -> float | None:
    """Seconds to wait: from `retry-after-ms`, `retry-after` (seconds or a date), else from the body's details, else
    from its words. Never negative; `None` where nothing says it.

    A date is measured against the reply's own `date`, never against our clock, which may be wrong.
    """
    head = HttpHead(status=0, headers=headers)
    milliseconds = _seconds(head.header("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = head.header("retry-after")
    found = (_seconds(value), _until(value, head.header("date")), of_details(details), of_words(words))
    return next((seconds for seconds in found if seconds is not None), None)


def of_details(details: Iterable[object]) -> float | None:
    """The delay that structured details name, at any depth."""
    for name in DETAILS:
        for value in _values(list(details), name):
            seconds = duration(value) if isinstance(value, str) else None
            if seconds is not None:
                return seconds
    return None


def of_words(words: str) -> float | None:
    """The delay of a sentence such as "Please try again in 6m0s"."""
    found = _TRY_IN.search(words)
    if found is None:
        return None
    delay = found["delay"].lower().replace(" ", "")
    for long, short in _UNITS:
        delay = delay.replace(f"{long}s", short).replace(long, short)
    return duration(delay)


def _seconds(text: str | None) -> float | None:
    try:
        seconds = float(text) if text else None
    except ValueError:
        return None
    return max(seconds, 0.0) if seconds is not None and seconds == seconds and seconds != float("inf") else None


def _until(text: str | None, now: str | None) -> float | None:
    then, start = _date(text), _date(now)
    if then is None or start is None or (then.tzinfo is None) != (start.tzinfo is None):
        return None
    return max((then - start).total_seconds(), 0.0)


def _date(text: str | None) -> datetime | None:
    try:
        return parsedate_to_datetime(text) if text else None
    except (TypeError, ValueError):
        return None


def _values(value: object, name: str) -> Iterable[object]:
    for key, item in mapping(value).items():
        if key == name:
            yield item
        yield from _values(item, name)
    for item in sequence(value):
        yield from _values(item, name)
