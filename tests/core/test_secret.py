"""Credentials: what is taken for a key, and that nothing shows one."""

import copy
import pickle
import traceback

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmcore.errors import AuthError
from llmcore.secret import MIN_REDACTED, REDACTED, Secret, from_environment, redact, validated

KEY = "sk-0123456789"


@pytest.mark.parametrize("value", [KEY, f"  {KEY}\n", f"\t{KEY}\r\n"])
def test_hard_case_116_white_space_round_a_key_is_taken_away(value: str) -> None:
    assert validated(value, "OPENAI_API_KEY") == KEY


@pytest.mark.parametrize("value", ["", " ", "\n", " \t\r\n"])
def test_hard_case_116_an_empty_key_is_an_error_that_names_the_variable(value: str) -> None:
    with pytest.raises(AuthError, match=r"^OPENAI_API_KEY is empty; set it to the provider's API key$"):
        validated(value, "OPENAI_API_KEY")


@pytest.mark.parametrize(
    "value",
    [
        f"{KEY}\nx",
        f"{KEY}é",
        f"{KEY}\u200b",
        f"\ufeff{KEY}",
        f"{KEY}\x00",
        f"{KEY}\r\nX: 1",
        f"{KEY}\x7f",
        f"{KEY}\ud83d",
    ],
)
def test_hard_case_116_a_key_that_no_header_can_carry_is_an_error_without_the_key(value: str) -> None:
    with pytest.raises(AuthError, match="OPENAI_API_KEY holds a character that no API key has") as caught:
        validated(value, "OPENAI_API_KEY")
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + str(vars(caught.value))
    assert KEY not in shown
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@given(st.text(max_size=12))
@settings(max_examples=200)
def test_what_is_taken_can_stand_in_a_header(value: str) -> None:
    try:
        key = validated(value, "K")
    except AuthError as error:
        # "K" itself stands in the message, as do the words of it: only a longer value can be recognised.
        refused = str(error)
    else:
        assert key == value.strip()
        assert key.encode("ascii")
        assert not any(ord(char) < 32 or ord(char) == 127 for char in key)
        return
    assert len(value.strip()) < 8 or value.strip() not in refused


def test_nothing_shows_a_secret() -> None:
    secret = Secret(KEY, "OPENAI_API_KEY")
    assert secret.reveal() == KEY
    for shown in (repr(secret), str(secret), f"{secret}", repr([secret]), repr({"k": secret})):
        assert KEY not in shown
        assert "Secret(<OPENAI_API_KEY>)" in shown
    assert repr(Secret(KEY)) == "Secret(<api_key>)"
    assert not hasattr(secret, "__dict__")


def test_a_secret_neither_pickles_nor_copies() -> None:
    for carry in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not pickled; give the name of its environment variable") as caught:
            carry(Secret(KEY))
        assert KEY not in str(caught.value)


def test_secrets_compare_by_identity() -> None:
    one, other = Secret(KEY), Secret(KEY)
    assert one != other
    assert one == one
    assert len({one, other}) == 2


def test_a_secret_may_come_from_a_function_asked_each_time() -> None:
    keys = iter(["a", "b"])
    secret = Secret(lambda: next(keys), "token")
    assert "lambda" not in repr(secret)
    assert [secret.reveal(), secret.reveal()] == ["a", "b"]


def test_the_first_variable_that_is_set_and_not_blank_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LLMCORE_T1", raising=False)
    monkeypatch.setenv("LLMCORE_T2", "  ")
    monkeypatch.setenv("LLMCORE_T3", KEY)
    monkeypatch.setenv("LLMCORE_T4", "other")
    secret = from_environment(("LLMCORE_T1", "LLMCORE_T2", "LLMCORE_T3", "LLMCORE_T4"))
    assert secret is not None
    assert (secret.name, secret.reveal()) == ("LLMCORE_T3", KEY)
    assert from_environment(("LLMCORE_T1", "LLMCORE_T2")) is None
    assert from_environment(()) is None


def test_secrets_are_taken_out_of_texts() -> None:
    assert redact(f"Bearer {KEY}, {KEY}!", [KEY]) == f"Bearer {REDACTED}, {REDACTED}!"
    assert redact("nothing here", [KEY]) == "nothing here"
    assert redact("https://h/?key=a%2Bb%2Fc%3D%3D", ["a+b/c=="]) == f"https://h/?key={REDACTED}"
    assert redact("short: abc", ["abc", ""]) == "short: abc"
    assert len("abc") < MIN_REDACTED


def test_a_secret_that_begins_with_another_leaves_nothing() -> None:
    for values in (["secret", "secret-tail"], ["secret-tail", "secret"]):
        assert redact("a secret-tail b secret c", values) == f"a {REDACTED} b {REDACTED} c"
