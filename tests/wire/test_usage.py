"""Usage: disjoint buckets, snapshots that replace, nothing summed (HARD_CASES rows 31, 36, 41)."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.schema.usage import ModalityTokens, Unit, Usage
from llmcore.wire.usage import Counts, Meter

COUNTS = Counts(
    buckets={
        "input": (("prompt",),),
        "output": (("completion",),),
        "cache_read": (("details", "cached"), ("cached",)),
        "cache_write": (("details", "written"),),
        "reasoning": (("out", "reasoning"),),
    },
    inclusive=True,
    modalities={("input", "audio"): ("details", "audio")},
    units={"web_search": ("output", ("searches",))},
)


def meter(*records: dict[str, Any]) -> Meter:
    meter = Meter(COUNTS)
    for record in records:
        meter.take(record)
    return meter


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"prompt": 10, "completion": 5}, Usage(input_tokens=10, output_tokens=5)),
        (
            {"prompt": 10, "completion": 5, "details": {"cached": 4, "written": 1}},
            Usage(input_tokens=5, cache_read_tokens=4, cache_write_tokens=1, output_tokens=5),
        ),
        ({"prompt": 10, "details": {"cached": 0}}, Usage(input_tokens=10, cache_read_tokens=0)),
        ({"prompt": 10, "details": {"cached": 0}, "cached": 3}, Usage(input_tokens=7, cache_read_tokens=3)),
        ({"prompt": 10, "cached": 3, "details": None}, Usage(input_tokens=7, cache_read_tokens=3)),
        ({"completion": 8, "out": {"reasoning": 6}}, Usage(output_tokens=8, reasoning_tokens=6)),
        ({"prompt": "12", "completion": 3.0}, Usage(input_tokens=12, output_tokens=3)),
        ({"prompt": 2.5, "completion": True, "details": "odd"}, Usage()),
        (
            {"prompt": 9, "details": {"audio": 4}, "searches": 2},
            Usage(
                input_tokens=9,
                by_modality=(ModalityTokens(direction="input", modality="audio", tokens=4),),
                units=(Unit(kind="web_search", direction="output", count=2),),
            ),
        ),
    ],
)
def test_row_31_counts_become_disjoint_buckets(record: dict[str, Any], expected: Usage) -> None:
    found = meter(record)
    assert found.usage == Usage(**{**{f: getattr(expected, f) for f in Usage.__struct_fields__}, "native": record})
    assert found.problems == []


@pytest.mark.parametrize(
    ("record", "expected", "problem"),
    [
        ({"prompt": 3, "details": {"cached": 5}}, (0, 5, None, None), "5 cached tokens of 3 input tokens"),
        ({"completion": 3, "out": {"reasoning": 5}}, (None, None, 3, 3), "5 reasoning tokens of 3 output tokens"),
        ({"prompt": -1, "completion": 2}, (0, None, 2, None), "-1 input tokens"),
    ],
)
def test_impossible_counts_are_clamped_and_said(
    record: dict[str, Any], expected: tuple[Any, ...], problem: str
) -> None:
    found = meter(record)
    usage = found.usage
    seen = (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens, usage.reasoning_tokens)
    assert seen == expected
    assert len(found.problems) == 1
    assert problem in found.problems[0]


def test_row_41_snapshots_replace_and_are_never_summed() -> None:
    found = meter({"prompt": 10, "completion": 1}, {"prompt": 10, "completion": 5}, {"prompt": 10, "completion": 9})
    assert found.usage.total_tokens == 19


def test_latest_non_null_wins_field_by_field() -> None:
    found = meter({"prompt": 10, "details": {"cached": 4}}, {"prompt": 10, "completion": 7, "details": None})
    assert (found.usage.input_tokens, found.usage.cache_read_tokens, found.usage.output_tokens) == (6, 4, 7)
    assert found.usage.native == {"prompt": 10, "details": {"cached": 4}, "completion": 7}


def test_a_record_of_zeros_never_replaces_one_with_tokens() -> None:
    """Workers AI sends 45/2 and then, in a second last chunk, 0/0."""
    found = meter({"prompt": 45, "completion": 2}, {"prompt": 0, "completion": 0, "details": {"cached": 0}})
    assert (found.usage.input_tokens, found.usage.output_tokens) == (45, 2)


def test_zeros_alone_are_zeros_and_nothing_is_none() -> None:
    assert meter({"prompt": 0, "completion": 0}).usage.output_tokens == 0
    assert meter().usage == Usage()
    assert meter({}).usage == Usage()


def test_take_says_whether_anything_is_new() -> None:
    found = Meter(COUNTS)
    assert found.take({"prompt": 1}) is True
    assert found.take({"prompt": 1}) is False
    assert found.take({"prompt": 0}) is False
    assert found.take({"prompt": 2}) is True


def test_money_is_exact() -> None:
    found = meter({"prompt": 1, "cost": 0.0076509169000000005, "bad": "x"})
    assert found.decimal("cost") == Decimal("0.0076509169000000005")
    assert found.decimal("bad") is None
    assert found.decimal("absent") is None


NUMBERS = st.none() | st.integers(-5, 50) | st.floats() | st.text(max_size=3) | st.booleans()


@given(
    st.lists(
        st.fixed_dictionaries(
            {"prompt": NUMBERS, "completion": NUMBERS},
            optional={
                "details": st.none() | st.fixed_dictionaries({"cached": NUMBERS, "written": NUMBERS}),
                "out": st.none() | st.fixed_dictionaries({"reasoning": NUMBERS}),
            },
        ),
        max_size=4,
    )
)
def test_any_records_give_counts_that_are_possible(records: list[dict[str, Any]]) -> None:
    usage = meter(*records).usage
    counts = [usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens]
    assert all(count is None or count >= 0 for count in counts)
    if usage.reasoning_tokens is not None and usage.output_tokens is not None:
        assert usage.reasoning_tokens <= usage.output_tokens
