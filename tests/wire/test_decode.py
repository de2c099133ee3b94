"""Decoding: typed where it is as documented, patient where it is not (HARD_CASES rows 97 and 141)."""

import json

import msgspec
import pytest

from llmcore.errors import ProtocolError
from llmcore.wire.decode import MAX_EXCERPT, REJECTED, excerpt_of, salvage


class Inner(msgspec.Struct):
    text: str | None = None
    count: int | None = None


class Outer(msgspec.Struct):
    text: str | None = None
    counts: dict[str, int] | None = None
    named: dict[str, Inner] | None = None
    id: str | None = None
    inner: Inner | None = None
    items: list[Inner] | None = None


NEEDED = frozenset({"text", "items", "inner.text"})


def read(body: bytes) -> tuple[Outer, list[str]]:
    pruned = list[str]()
    return salvage(body, Outer, NEEDED, pruned), pruned


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"text": "a\\ud83d"}', "a\ud83d"),  # a lone surrogate escape
        (b'\xef\xbb\xbf{"text": "a"}', "a"),  # a byte-order mark
        (b'{"text": "a\xff"}', "a\ufffd"),  # invalid UTF-8
        (b'{"text": "a\nb"}', "a\nb"),  # a raw control character
        (b'{"text": "a", "x": NaN}', "a"),
    ],
)
def test_what_the_typed_decoder_rejects_is_read_patiently(body: bytes, text: str) -> None:
    with pytest.raises(REJECTED):
        msgspec.json.decode(body, type=Outer)
    assert read(body) == (Outer(text=text), [])


@pytest.mark.parametrize(
    ("body", "expected", "place"),
    [
        ({"text": "a", "id": 5}, Outer(text="a"), "id"),
        ({"text": "a", "inner": {"count": "x", "text": "b"}}, Outer(text="a", inner=Inner(text="b")), "inner.count"),
        ({"text": "a", "inner": 7}, Outer(text="a"), "inner"),
        ({"text": "a", "counts": {"x": "y"}}, Outer(text="a"), "counts"),
        ({"items": [{"count": []}, {"text": "c"}]}, Outer(items=[Inner(), Inner(text="c")]), "items.count"),
    ],
)
def test_row_141_odd_values_that_we_can_do_without_are_left_out(body: object, expected: Outer, place: str) -> None:
    assert read(json.dumps(body).encode()) == (expected, [place])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b'{"text": "a"',
        b'{"text": "a"} trailing',
        b"[1]",
        b'"text"',
        b'{"text": 5}',
        b'{"inner": {"text": {}}}',
        b'{"items": [5]}',
        b'{"items": {}}',
        b'{"named": {"x": {"count": "y"}}}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_what_carries_content_is_never_lost_silently(body: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        read(body)
    assert len(caught.value.message) < 300
    assert len(caught.value.body_excerpt or "") <= MAX_EXCERPT + 1


def test_a_frame_of_nothing_but_odd_values_is_none() -> None:
    body = json.dumps({"items": [{"count": "x"}] * 100}).encode()
    with pytest.raises(ProtocolError, match="too many odd values"):
        read(body)


def test_half_a_character_where_none_can_be_kept_is_replaced() -> None:
    assert read(rb'{"text": "a", "\ud800": 1, "inner": {"count": "\ud800"}}') == (
        Outer(text="a", inner=Inner()),
        ["inner.count"],
    )


def test_numbers_are_lax() -> None:
    body = json.dumps({"inner": {"count": "12"}, "items": [{"count": 12.0}]}).encode()
    assert read(body) == (Outer(inner=Inner(count=12), items=[Inner(count=12)]), [])


@pytest.mark.parametrize("size", [0, 1, MAX_EXCERPT, MAX_EXCERPT + 1, 10_000_000])
def test_excerpts_are_bounded(size: int) -> None:
    assert len(excerpt_of(b"a b " * (size // 4) + b"c" * (size % 4))) <= MAX_EXCERPT + 1


def test_an_excerpt_does_not_end_inside_a_word_that_may_be_a_key() -> None:
    body = b"x " * (MAX_EXCERPT // 2 - 4) + b"sk-abcdefghijklmnopqrstuvwxyz"
    assert "sk-" not in excerpt_of(body)
    assert excerpt_of(b"\xff\xfe") == "\ufffd\ufffd"
