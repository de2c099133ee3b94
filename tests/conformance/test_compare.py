"""Differences, verdicts, and the documented rules."""

import msgspec
import pytest

from llmcore.conformance.compare import differences, judge
from llmcore.conformance.corpus import Call, Hosted
from llmcore.conformance.expect import EQUATIONS, Expected, ExpectedError
from llmcore.conformance.report import Listed, Replay, Row, RowCall, RowError, RowHosted, Summary, worst_replay
from llmcore.conformance.rules import RULES, Rule

EXPECTED = Expected(
    text="Hi",
    reasoning="hm",
    refusal=None,
    tool_calls=(Call("f", "a", {"x": 1}),),
    hosted=(Hosted("search", "search"),),
    raw_stop_reason="tool_calls",
    usage={"prompt_tokens": 7},
)
ROW = Row(
    id="openai-chat/a",
    index=0,
    mode="whole",
    text="Hi",
    refusal=None,
    reasoning="hm",
    tool_calls=(RowCall("f", "a", {"x": 1}),),
    hosted=(RowHosted("search", "search"),),
    stop_reason="tool_use",
    raw_stop_reason="tool_calls",
    usage={"input_tokens": 7},
    error=None,
    warnings=(),
    lifecycle=(),
    route="openai/chat",
)
LONGER = Rule(
    id="longer",
    protocol="openai-chat",
    field="text",
    when=lambda documents: "tail" in documents[0],
    right=lambda documents, expected: expected.text + documents[0]["tail"],
    reason="the tail counts",
    evidence="this test",
)


def changed(**fields):
    return msgspec.structs.replace(ROW, **fields)


def test_a_row_that_is_as_expected_passes():
    assert differences("openai-chat", EXPECTED, ROW) == {}
    assert judge("openai-chat", EXPECTED, ROW, []).verdict == "pass"


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("text", {"text": "Ho"}),
        ("reasoning", {"reasoning": ""}),
        ("refusal", {"refusal": "no"}),
        ("tool_calls", {"tool_calls": ()}),
        ("tool_calls", {"tool_calls": (RowCall("f", "b", {"x": 1}),)}),
        ("tool_calls", {"tool_calls": (RowCall("f", "a", {"x": 2}),)}),
        ("tool_calls", {"tool_calls": (RowCall("f", "a", None),)}),
        ("hosted", {"hosted": ()}),
        ("raw_stop_reason", {"raw_stop_reason": "stop"}),
        ("usage", {"usage": {"input_tokens": 8}}),
        ("usage", {"usage": None}),
        ("error", {"error": RowError("AuthError", "auth", 401, "LLM_AUTH_ERROR")}),
        ("lifecycle", {"lifecycle": ("the stream has no ResponseEnd",)}),
    ],
)
def test_each_field_that_differs_fails(field, fields):
    row = changed(**fields)
    assert list(differences("openai-chat", EXPECTED, row)) == [field]
    judged = judge("openai-chat", EXPECTED, row, [])
    assert judged.verdict == "fail"
    assert judged.difference


def test_an_error_is_compared_by_class_and_status():
    expected = Expected(error=ExpectedError("AuthError", 401))
    empty = changed(text="", reasoning="", tool_calls=(), hosted=(), raw_stop_reason=None, usage=None)
    for name, status, found in [("AuthError", 401, []), ("AuthError", 403, ["error"]), ("QuotaError", 401, ["error"])]:
        row = msgspec.structs.replace(empty, error=RowError(name, "auth", status, "LLM_AUTH_ERROR"))
        assert list(differences("openai-chat", expected, row)) == found
    assert list(differences("openai-chat", expected, empty)) == ["error"]


def test_a_refusal_is_compared_only_where_the_oracle_speaks_of_it():
    silent = msgspec.structs.replace(EXPECTED, refusal=msgspec.UNSET)
    assert differences("openai-chat", silent, changed(refusal="no")) == {}


def test_a_long_difference_is_cut():
    judged = judge("openai-chat", EXPECTED, changed(text="x" * 10_000), [])
    assert judged.difference is not None
    assert len(judged.difference) < 1000


@pytest.mark.parametrize(
    ("text", "documents", "protocol", "verdict"),
    [
        ("Hi!", [{"tail": "!"}], "openai-chat", "documented"),
        ("Hi?", [{"tail": "!"}], "openai-chat", "fail"),  # a rule says what is right, it does not excuse anything
        ("Hi!", [{}], "openai-chat", "fail"),  # its condition does not hold
        ("Hi!", None, "openai-chat", "fail"),  # no document, no condition
        ("Hi", [{"tail": "!"}], "openai-chat", "pass"),  # nothing to explain
    ],
)
def test_a_rule_explains_what_it_speaks_of_and_nothing_else(text, documents, protocol, verdict):
    judged = judge(protocol, EXPECTED, changed(text=text), documents, (LONGER,))
    assert judged.verdict == verdict
    assert judged.rules == (("longer",) if verdict == "documented" else ())


def test_a_rule_of_another_protocol_or_field_explains_nothing():
    other = msgspec.structs.replace(LONGER, protocol="gemini")
    assert judge("openai-chat", EXPECTED, changed(text="Hi!"), [{"tail": "!"}], (other,)).verdict == "fail"
    both = changed(text="Hi!", reasoning="")
    assert judge("openai-chat", EXPECTED, both, [{"tail": "!"}], (LONGER,)).verdict == "fail"


def test_the_rules_are_whole_and_speak_of_fields_that_are_compared():
    compared = {*Expected.__struct_fields__}
    assert len({rule.id for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.field in compared
        assert rule.protocol in EQUATIONS
        assert rule.reason
        assert rule.evidence


def test_the_summary_counts_cases_by_their_worst_row():
    def rows(*verdicts):
        return [changed(verdict=verdict) for verdict in verdicts]

    summary = Summary()
    summary.add(rows("pass", "pass"), [], [])
    summary.add(rows("documented", "documented"), ["longer", "longer"], [])
    summary.add(rows("documented", "fail"), ["longer"], [])
    summary.add([], [], [Listed("a", 0, "embed", "no method")])
    assert summary.line() == (
        "cases 3, passed 1, documented 1, failed 1 "
        "(rows 6, replayed 0, longer 2; listed, not counted: 1; not replayed: 0)"
    )


def test_the_summary_counts_turns_and_a_case_is_as_good_as_its_worst_replay():
    def rows(*verdicts):
        return [
            changed(index=index, mode=mode, replay=None if verdict is None else Replay(verdict=verdict))
            for index, verdict in enumerate(verdicts)
            for mode in ("stream", "split")
        ]

    summary = Summary()
    summary.add(rows("pass", "not_compared", None), [], [])
    summary.add(rows("pass", "documented"), [], [])
    summary.add(rows("documented", "fail"), [], [])
    assert summary.line() == (
        "cases 3, passed 1, documented 1, failed 1 (rows 14, replayed 5; listed, not counted: 0; not replayed: 1)"
    )
    assert worst_replay(rows(None)) is None
    assert worst_replay(rows(None, "not_compared")) == "not_compared"
    assert worst_replay(rows("pass", "not_compared")) == "pass"
    assert worst_replay(rows("documented", "fail", "pass")) == "fail"
