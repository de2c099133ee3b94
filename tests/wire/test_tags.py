"""Thoughts between tags (HARD_CASES row 30)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.wire.tags import TagSplitter, ThinkingTags


def split(pieces: list[str], **tags: object) -> tuple[str, str]:
    splitter = TagSplitter(ThinkingTags(**tags))  # type: ignore[arg-type]
    out = [pair for piece in pieces for pair in splitter.feed(piece)] + splitter.flush()
    assert all(text for _, text in out)
    return "".join(t for kind, t in out if kind == "reasoning"), "".join(t for kind, t in out if kind == "text")


CASES = [
    ("<think>a</think>b", {}, ("a", "b")),
    ("\n <think>a</think>\n\nb", {}, ("a", "\n\nb")),
    ("<think></think>b", {}, ("", "b")),
    ("b <think>a</think>", {}, ("", "b <think>a</think>")),  # a mention in the answer
    ("b</think>c", {}, ("", "b</think>c")),  # an orphan closer is text
    ("<think>a</think>b<think>c</think>", {}, ("a", "b<think>c</think>")),
    ("<think>a", {}, ("a", "")),  # the end inside
    ("<think>a</thi", {}, ("a</thi", "")),
    ("<thin", {}, ("", "<thin")),
    ("", {}, ("", "")),
    (" ", {}, ("", " ")),
    ("a</think>b", {"starts_open": True}, ("a", "b")),
    ("<think>a</think>b", {"starts_open": True}, ("a", "b")),
    ("<th", {"starts_open": True}, ("<th", "")),
    ("[THINK]a[/THINK]b", {"open": "[THINK]", "close": "[/THINK]"}, ("a", "b")),
    ("<mm:think>a</mm:think>b", {"open": "<mm:think>", "close": "</mm:think>"}, ("a", "b")),
]


@pytest.mark.parametrize(("text", "tags", "expected"), CASES)
def test_row_30_every_split_position_gives_the_same(
    text: str, tags: dict[str, object], expected: tuple[str, str]
) -> None:
    assert split([text], **tags) == expected
    assert split(list(text), **tags) == expected
    for cut in range(len(text) + 1):
        assert split([text[:cut], text[cut:]], **tags) == expected


@given(st.lists(st.text(alphabet="<think>/ \n", max_size=8), max_size=8), st.booleans())
def test_any_split_of_any_text_gives_the_same(pieces: list[str], starts_open: bool) -> None:
    assert split(pieces, starts_open=starts_open) == split(["".join(pieces)], starts_open=starts_open)


def test_a_piece_that_cannot_be_a_tag_is_not_held_back() -> None:
    splitter = TagSplitter(ThinkingTags())
    assert splitter.feed("<b>") == [("text", "<b>")]
    assert splitter.feed("<think>") == [("text", "<think>")]
