"""Wire ids of tool calls (HARD_CASES rows 3 and 98)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.wire.ids import CallIds, IdRule

NINE = IdRule(characters="alphanumeric", length=9, exact=True)
RULES = [IdRule(), IdRule(length=64), NINE, IdRule(characters="alphanumeric", length=12)]


@pytest.mark.parametrize("rule", RULES)
def test_row_98_ids_are_legal_unique_stable_and_pair(rule: IdRule) -> None:
    ours = ["tu_01ARZ3NDEKTSV4RRFFQ69G5FAV", "tu_0", "x" * 80, "with space", "é", "a:b"]
    first, second = CallIds(rule), CallIds(rule)
    sent = [first.of_call(call, None) for call in ours]
    assert sent == [second.of_call(call, None) for call in ours]
    assert len(set(sent)) == len(ours)
    assert all(rule.allows(wire) for wire in sent)
    assert [first.of_result(call) for call in ours] == sent
    assert first.of_result("none of these") is None


def test_the_providers_own_id_goes_back_as_it_is_even_where_the_rule_differs() -> None:
    ids = CallIds(NINE)
    assert ids.of_call("tu_1", "functions.get_weather:0") == "functions.get_weather:0"


def test_row_03_one_wire_id_for_two_calls_goes_out_as_two() -> None:
    ids = CallIds(IdRule())
    one, two = ids.of_call("tu_1", "call_x"), ids.of_call("tu_2", "call_x")
    assert (one, two) == ("call_x", "tu_2")
    assert (ids.of_result("tu_1"), ids.of_result("tu_2")) == ("call_x", "tu_2")


def test_an_id_that_another_call_has_as_its_wire_id_is_derived() -> None:
    ids = CallIds(IdRule())
    ids.of_call("tu_1", "tu_2")
    derived = ids.of_call("tu_2", None)
    assert derived != "tu_2"
    assert re.fullmatch(r"[0-9A-Za-z]{24}", derived)


@given(st.lists(st.text(max_size=12), unique=True, max_size=12), st.sampled_from(RULES))
def test_any_ids_are_legal_and_unique(calls: list[str], rule: IdRule) -> None:
    ids = CallIds(rule)
    sent = [ids.of_call(call, None) for call in calls]
    assert len(set(sent)) == len(calls)
    assert all(rule.allows(wire) for wire in sent)


def test_a_turn_more_changes_no_id_before_it() -> None:
    short, long = CallIds(NINE), CallIds(NINE)
    calls = [f"tu_{number}" for number in range(20)]
    assert [long.of_call(call, None) for call in calls][:10] == [short.of_call(call, None) for call in calls[:10]]
