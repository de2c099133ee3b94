"""Tool arguments: judged once, kept as they came, never guessed at."""

import pytest

from llmcore.errors import InvalidRequestError
from llmcore.wire.arguments import is_object, parse, settle, written


@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_row_05_blank_arguments_are_no_arguments(text: str) -> None:
    assert settle(text) == ("{}", None)
    assert parse(text) == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (' {"a": [1, 2.5, null, true]} ', {"a": [1, 2.5, None, True]}),
        ('{"a": "line\nbreak\tand tab"}', {"a": "line\nbreak\tand tab"}),  # raw control characters
        ('{"a": "\\ud83d\\ude00"}', {"a": "\U0001f600"}),
        ('{"a": "\\ud83d"}', {"a": "\ufffd"}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}),
    ],
)
def test_objects_are_kept_as_they_came(text: str, value: object) -> None:
    assert settle(text) == (text, None)
    assert parse(text) == value
    assert is_object(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a":', "not JSON"),
        ('{"a": 1}{"a": 1}', "not JSON"),
        ("{'a': 1}", "not JSON"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "-Infinity"),
        ("[1]", "an array"),
        ("null", "null"),
        ('"{}"', "a text"),
        ("3", "a number"),
        ("true", "a boolean"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_row_89_what_is_no_object_keeps_its_text_and_says_why(text: str, why: str) -> None:
    arguments, error = settle(text)
    assert arguments == text
    assert error is not None
    assert why in error
    assert len(error) < 200
    assert not is_object(text)


def test_parse_raises_for_what_does_not_parse() -> None:
    with pytest.raises(InvalidRequestError, match="not JSON"):
        parse("{oops}")


def test_values_are_written_as_json_without_lone_surrogates() -> None:
    assert written({"a": "x\ud83d", "b": [1]}) == '{"a":"x\ufffd","b":[1]}'
