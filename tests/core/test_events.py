"""The event vocabulary: its unions, what its Structs cost, and the input of a call."""

from typing import get_args

import msgspec
import msgspec.inspect
import pytest

from llmcore import events as e
from llmcore.errors import InvalidRequestError

PROTOCOL, RUN, SERIALIZED = (set(get_args(union)) for union in (e.Event, e.RunEvent, e.SerializedEvent))
SCALARS = (
    msgspec.inspect.StrType,
    msgspec.inspect.IntType,
    msgspec.inspect.FloatType,
    msgspec.inspect.BoolType,
    msgspec.inspect.NoneType,
    msgspec.inspect.LiteralType,
)


def test_the_loop_and_policy_add_to_what_a_protocol_yields() -> None:
    assert {e.StepStart, e.StepEnd, e.ToolErrorEvent, e.Restart} == RUN - PROTOCOL
    assert {e.ErrorEvent} == SERIALIZED - RUN
    assert PROTOCOL < RUN < SERIALIZED


def test_tags_are_unique() -> None:
    assert len({kind.type for kind in SERIALIZED}) == len(SERIALIZED)


@pytest.mark.parametrize("kind", sorted(SERIALIZED, key=lambda kind: kind.__name__))
def test_an_event_of_scalars_alone_is_left_to_reference_counting(kind: type[msgspec.Struct]) -> None:
    info = msgspec.inspect.type_info(kind)
    assert isinstance(info, msgspec.inspect.StructType)
    leaves = [
        leaf
        for field in info.fields
        for leaf in (field.type.types if isinstance(field.type, msgspec.inspect.UnionType) else (field.type,))
    ]
    assert kind.__struct_config__.gc is not all(isinstance(leaf, SCALARS) for leaf in leaves)


def test_the_input_of_a_call() -> None:
    assert e.ToolCallEnd(id="a", arguments='{"x": [1]}').input == {"x": [1]}
    with pytest.raises(InvalidRequestError, match="it ends early"):
        _ = e.ToolCallEnd(id="a", arguments='{"x"', error="it ends early").input


@pytest.mark.parametrize("data", [b'{"type":"telepathy"}', b'{"id":"b0"}', b"[]"])
def test_an_event_of_no_known_type_is_an_error(data: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(data, type=e.SerializedEvent)
