"""Unicode at the boundary."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.wire.texts import Joiner, scrub, scrubbed

TEXTS = st.text(alphabet=st.characters() | st.sampled_from("\ud83d\ude00\udfff\ud800"), max_size=20)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain", "plain"),
        ("é 😀", "é 😀"),
        ("\ud83d\ude00", "😀"),
        ("a\ud83d", "a\ufffd"),
        ("\ude00b", "\ufffdb"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
    ],
)
def test_row_87_lone_surrogates_are_replaced_and_pairs_joined(text: str, clean: str) -> None:
    assert scrub(text) == clean


def test_json_values_are_scrubbed_in_keys_and_values_on_a_copy() -> None:
    value = {"k\ud83d": ["\ude00", {"x": 1}], "n": None}
    assert scrubbed(value) == {"k\ufffd": ["\ufffd", {"x": 1}], "n": None}
    assert value == {"k\ud83d": ["\ude00", {"x": 1}], "n": None}
    assert scrubbed(("a", 1.5, True)) == ["a", 1.5, True]


@given(st.lists(TEXTS, max_size=6))
def test_row_97_pieces_join_to_the_scrubbed_whole_wherever_they_are_cut(pieces: list[str]) -> None:
    joiner = Joiner()
    out = [joiner.feed(piece) for piece in pieces]
    out.append(joiner.flush())
    assert "".join(out) == scrub("".join(pieces))
    for piece in out:
        piece.encode()


def test_a_pair_cut_between_two_pieces_waits_for_its_other_half() -> None:
    joiner = Joiner()
    assert joiner.feed("a\ud83d") == "a"
    assert joiner.feed("\ude00b") == "😀b"
    assert joiner.flush() == ""
