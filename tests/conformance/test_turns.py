"""Turns of the assistant in recorded requests, and how two of them are compared."""

import pytest
from msgspec import UNSET

from llmcore.conformance.expect import EQUATIONS
from llmcore.conformance.turns import DIALECTS, Dialect, Silence, differences, groups, same, turns
from llmcore.schema.request import ReasoningOptions

CHAT = DIALECTS["openai-chat"]
SYSTEM, USER = {"role": "system", "content": "Be kind"}, {"role": "user", "content": "Go"}
SAID, CALLED = {"role": "assistant", "content": "Hi"}, {"role": "assistant", "tool_calls": [{"id": "a"}]}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "done"}


def test_a_conversation_falls_into_groups():
    found = groups(CHAT, [SYSTEM, USER, SAID, USER, CALLED, RESULT, RESULT])
    assert [(group.kind, len(group.items)) for group in found] == [
        ("other", 2), ("turn", 1), ("other", 1), ("turn", 1), ("result", 2),
    ]  # fmt: skip


def test_items_of_the_models_that_follow_each_other_are_one_turn():
    """As on wires where a turn is several items: thoughts, a call, a message."""
    items = Dialect(
        items=lambda body: body["input"],
        kind=lambda item: "turn" if item["type"] in ("reasoning", "call") else "other",
        options=lambda _: {},
    )
    thought, call, said = {"type": "reasoning"}, {"type": "call"}, {"type": "message"}
    assert turns(items, {"input": [said, thought, call, said, call]}) == [(thought, call), (call,)]


@pytest.mark.parametrize("body", [None, "text", {}, {"messages": "Go"}, {"messages": [USER, "Go"]}, {"messages": []}])
def test_a_body_without_a_conversation_has_no_turns(body):
    assert turns(CHAT, body) == []


def test_a_message_without_a_role_is_none_of_the_models():
    assert CHAT.kind({"content": "Go"}) == CHAT.kind({"role": ["assistant"]}) == "other"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ("", None, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        ('{"x": 1}', '{"x":1}', False),  # text is text
        (UNSET, None, False),
        (UNSET, UNSET, True),
    ],
)
def test_json_values_are_the_same_or_not(one, other, equal):
    assert same(one, other) is equal
    ours, theirs = ({"at": value} if value is not UNSET else {} for value in (one, other))
    assert bool(differences(ours, theirs)) is not equal


def test_a_difference_names_its_place_and_both_values():
    ours = {"content": None, "tool_calls": [{"id": "a", "function": {"name": "f"}}, {"id": "b"}]}
    theirs = {"content": "Hi", "tool_calls": [{"id": "a", "function": {"name": "g"}}, {"id": "c"}], "name": "me"}
    assert differences(ours, theirs) == [
        "content: recorded '\"Hi\"', lowered 'null'",
        "tool_calls[0].function.name: recorded '\"g\"', lowered '\"f\"'",
        "tool_calls[1].id: recorded '\"c\"', lowered '\"b\"'",
        "name: recorded '\"me\"', lowered 'nothing'",
    ]


def test_lists_of_other_lengths_differ_as_a_whole():
    assert differences({"a": [1]}, {"a": [1, 2]}) == ["a: recorded '[1,2]', lowered '[1]'"]
    assert differences([{"a": 1}], {"a": 1}) == ["the turn: recorded '{\"a\":1}', lowered '[{\"a\":1}]'"]


def test_long_values_are_shown_from_where_they_part():
    (sentence,) = differences({"text": "x" * 5000 + "A" * 500}, {"text": "x" * 5000 + "B" * 500})
    assert len(sentence) < 500
    assert "…xxx" in sentence
    assert "BBB" in sentence
    assert "AAA" in sentence


CALLS = {"tool_calls": [{"id": "a"}]}


@pytest.mark.parametrize(
    ("ours", "theirs", "equal"),
    [
        (CALLS | {"content": None}, CALLS, True),
        (CALLS | {"content": None}, CALLS | {"content": ""}, True),
        (CALLS | {"content": None}, CALLS | {"content": []}, True),
        (CALLS | {"content": None}, CALLS | {"content": " "}, False),
        (CALLS | {"content": None}, CALLS | {"content": "Hi"}, False),
        ({"content": None}, {"content": ""}, False),  # without calls content is not optional
        ({"content": "", "tool_calls": []}, {"tool_calls": []}, False),
        ({"content": None} | CALLS, {"content": ""}, False),
        ({"content": "Hi"}, {"content": "Hi", "prefix": False}, True),
        ({"content": "Hi"}, {"content": "Hi", "prefix": True}, False),
        ({"content": "Hi"}, {"content": "Hi", "prefix": 0}, False),
        (CALLS, {"tool_calls": [{"id": "a", "index": 0}]}, True),
        (CALLS, {"tool_calls": [{"id": "a", "index": 1}]}, False),
        ({"content": "Hi"}, {"content": "Hi", "name": None, "tool_calls": None}, True),
        ({"content": "Hi"}, {"content": "Hi", "refusal": None}, False),  # no client is known to write it
    ],
)
def test_spellings_of_nothing_are_no_differences_and_nothing_else_is_excused(ours, theirs, equal):
    assert (differences(ours, theirs, CHAT.silences) == []) is equal


def test_a_silence_holds_at_its_place_only():
    silence = (Silence("a.b", (UNSET, None), "in this test"),)
    assert differences({"a": {}}, {"a": {"b": None}}, silence) == []
    assert differences({"a": [{}]}, {"a": [{"b": None}]}, silence) == []
    assert differences({"b": None}, {}, silence) != []
    assert differences({"a": {"a": {"b": None}}}, {"a": {"a": {}}}, silence) != []


@pytest.mark.parametrize(
    ("body", "reasoning"),
    [
        ({}, None),
        ({"reasoning_effort": "low"}, ReasoningOptions(effort="low")),
        ({"reasoning": {"effort": "high", "max_tokens": 100}}, ReasoningOptions(effort="high", budget_tokens=100)),
        ({"thinking": {"type": "disabled"}}, ReasoningOptions(effort="none")),
        ({"thinking": {"type": "enabled"}, "reasoning_effort": "max"}, ReasoningOptions(effort="max")),
        ({"reasoning": "yes", "thinking": None}, None),
    ],
)
def test_how_much_is_to_be_thought_is_read_wherever_it_stands(body, reasoning):
    assert CHAT.options(body).get("reasoning") == reasoning


def test_tools_that_the_client_runs_are_read():
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    body = {
        "tools": [
            {"type": "function", "function": {"name": "f", "description": "d", "parameters": schema}},
            {"type": "function", "function": {"name": "g"}},
            {"type": "browser_search"},
            "junk",
        ]
    }
    first, second = CHAT.options(body)["tools"]
    assert (first.name, first.description, first.parameters) == ("f", "d", schema)
    assert (second.name, second.description, second.parameters) == ("g", "", {"type": "object", "properties": {}})
    assert CHAT.options({})["tools"] == ()


def test_every_dialect_is_of_a_protocol_that_is_compared_and_says_why_it_is_lenient():
    assert set(DIALECTS) <= set(EQUATIONS)
    for dialect in DIALECTS.values():
        assert len({silence.path for silence in dialect.silences}) == len(dialect.silences)
        for silence in dialect.silences:
            assert len(silence.values) > 1
            assert silence.reason
