"""Retry-After in all its spellings (HARD_CASES rows 64 and 74)."""

import pytest

from llmcore.wire.delays import retry_after

NOW = ("Date", "Wed, 21 Oct 2026 07:28:00 GMT")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ([("Retry-After", "2")], 2.0),
        ([("retry-after", "1.5")], 1.5),
        ([("retry-after", "0")], 0.0),
        ([("retry-after", "-3")], 0.0),
        ([("retry-after", "3600")], 3600.0),
        ([("retry-after", "nan")], None),
        ([("retry-after", "inf")], None),
        ([("retry-after", "soon")], None),
        ([("retry-after", "")], None),
        ([("retry-after-ms", "250"), ("retry-after", "9")], 0.25),
        ([("retry-after-ms", "x"), ("retry-after", "9")], 9.0),
        ([("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT"), NOW], 30.0),
        ([("retry-after", "Wed, 21 Oct 2026 07:27:00 GMT"), NOW], 0.0),
        ([("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT")], None),  # against whose clock?
        ([("retry-after", "Wed, 99 Oct 2026 07:28:30 GMT"), NOW], None),
        ([], None),
    ],
)
def test_row_64_headers(headers: list[tuple[str, str]], seconds: float | None) -> None:
    assert retry_after(tuple(headers)) == seconds


@pytest.mark.parametrize(
    ("details", "seconds"),
    [
        ([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "45.837906927s"}], 45.837906927),
        ([{"@type": "x"}, {"metadata": {"quotaResetDelay": "373.8ms"}}], 0.3738),
        ([{"retryDelay": "soon"}], None),
        ([{"retryDelay": 5}], None),
        ([], None),
    ],
)
def test_row_74_details_of_a_wrapper(details: list[object], seconds: float | None) -> None:
    assert retry_after((), details) == seconds
    assert retry_after((("retry-after", "1"),), details) == 1.0


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Rate limit reached. Please try again in 1.2s. Visit …", 1.2),
        ("Please try again in 6m0s.", 360.0),
        ("Please retry in 45.8s", 45.8),
        ("try again in 250ms", 0.25),
        ("Please retry after 20 seconds", 20.0),
        ("Please wait 2 minutes", 120.0),
        ("try again later", None),
        ("", None),
    ],
)
def test_row_74_sentences(words: str, seconds: float | None) -> None:
    assert retry_after((), (), words) == seconds
