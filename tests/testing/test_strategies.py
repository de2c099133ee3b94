"""The strategies draw what they say."""

import copy
import enum
import json
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from llmcore.protocol import Frame
from llmcore.testing import strategies as drawn

EXAMPLES = settings(max_examples=100, deadline=None)


class Colour(enum.Enum):
    RED = "red"


class Leaf(msgspec.Struct, tag="leaf"):
    colour: Colour
    word: Literal["a", "b"]
    raw: msgspec.Raw = msgspec.Raw(b"null")
    blob: bytes = b""
    pair: tuple[int, str] = (0, "")


class Branch(msgspec.Struct, tag="branch", rename="camel"):
    some_leaves: list["Leaf | Branch"]
    by_name: dict[str, float] = {}
    anything: Any = None
    flag: bool | None = None
    many: tuple[int, ...] = ()


class Plain(msgspec.Struct, array_like=True):
    first: int
    second: str = ""


@given(st.binary(max_size=30).flatmap(lambda data: st.tuples(st.just(data), drawn.splits(data))))
@EXAMPLES
def test_splits_lose_nothing(case: tuple[bytes, list[bytes]]) -> None:
    data, pieces = case
    assert b"".join(pieces) == data


@given(st.binary(min_size=1, max_size=30).flatmap(lambda data: st.tuples(st.just(data), drawn.truncations(data))))
@EXAMPLES
def test_truncations_are_proper_prefixes(case: tuple[bytes, bytes]) -> None:
    data, part = case
    assert data.startswith(part)
    assert len(part) < len(data)


def test_every_truncation_can_be_drawn() -> None:
    for size in range(3):
        assert find(drawn.truncations(b"abc"), lambda part, size=size: len(part) == size) == b"abc"[:size]


@given(st.data(), drawn.json_values())
@EXAMPLES
def test_a_changed_value_is_json_and_the_first_is_left_alone(data: st.DataObject, value: Any) -> None:
    before = copy.deepcopy(value)
    changed = data.draw(drawn.changed_json(value, ["word"]))
    assert value == before
    json.loads(json.dumps(changed))


@given(st.data())
@EXAMPLES
def test_changed_frames_leave_the_first_alone(data: st.DataObject) -> None:
    frames = [Frame(b'{"a":[1,2]}', "x"), Frame(b"[DONE]"), Frame(b"")]
    before = [Frame(frame.data, frame.name) for frame in frames]
    changed = data.draw(drawn.changed_frames(frames))
    assert frames == before
    assert len(changed) <= len(frames) + 3


@pytest.mark.parametrize("type", [Leaf, Branch, Plain, Leaf | Branch, list[Leaf], dict[str, Plain], int | None])
def test_wire_events_are_what_a_decoder_takes(type: Any) -> None:
    decoder = msgspec.json.Decoder(type)

    @given(drawn.wire_events(type))
    @EXAMPLES
    def holds(value: object) -> None:
        decoder.decode(json.dumps(value))

    holds()


def test_optional_fields_are_there_or_not() -> None:
    values = drawn.wire_events(Branch)
    assert "flag" in find(values, lambda value: "flag" in value)
    assert "flag" not in find(values, lambda value: "flag" not in value)
    nested = find(values, lambda value: any(leaf["type"] == "branch" for leaf in value["someLeaves"]))
    assert nested["type"] == "branch"
