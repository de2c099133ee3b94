"""Hypothesis strategies for what comes over a wire, how it is cut, and what goes wrong with it."""

import json
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Final, cast

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

from llmcore.protocol import Frame
from llmcore.schema.message import Message
from llmcore.schema.parts import Origin, Part, Reasoning, Text, ToolCall
from llmcore.schema.response import Response, StopReason
from llmcore.schema.usage import Usage

ODD: Final = cast(
    "tuple[object, ...]",
    (
        *(None, True, False, 0, -1, 1.5, 10**30, -1e300),
        *("", " ", "x", "\ud800", "\u2028", "NaN", "[DONE]"),
        *([], [None], [{}], {}, {"": None}, {"type": "x"}),
    ),
)
"""JSON values that nobody expects where something else should stand."""

_TEXTS: Final = st.text(st.characters(exclude_categories=("Cs",)), max_size=12) | st.sampled_from(
    ("Hello", " world", "\r\n", "\u2028", "𝄞", "👩\u200d🚀", "é", '"\\', "data: x\n\n", "[DONE]")
)


def json_values(max_leaves: int = 6) -> st.SearchStrategy[Any]:
    """Any JSON value of at most `max_leaves` leaves; numbers are finite, text is valid Unicode."""
    leaves = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | _TEXTS
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
        max_leaves=max_leaves,
    )


# -- how bytes are cut


@st.composite
def splits(draw: st.DrawFn, data: bytes, max_cuts: int = 8) -> list[bytes]:
    """`data` in pieces, cut at up to `max_cuts` places; some pieces may be empty."""
    places = sorted(draw(st.lists(st.integers(0, len(data)), max_size=max_cuts)))
    return [data[start:end] for start, end in pairwise([0, *places, len(data)])]


def truncations(data: bytes) -> st.SearchStrategy[bytes]:
    """`data` without its end: every proper prefix. `data` is not empty."""
    return st.integers(0, len(data) - 1).map(lambda size: data[:size])


# -- what goes wrong


@st.composite
def changed_bytes(draw: st.DrawFn, data: bytes) -> bytes:
    """`data` with a few bytes in it replaced, left out or put in."""
    out = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        place, what = draw(st.integers(0, len(out))), draw(st.binary(max_size=2))
        out[place : place + draw(st.integers(0, 2))] = what
    return bytes(out)


@st.composite
def changed_json(draw: st.DrawFn, value: object, words: Sequence[str] = ()) -> Any:
    """A copy of a JSON value with one place in it changed: something odd (or one of `words`) in its stead, left out, or
    doubled."""
    if isinstance(value, dict) and value and draw(st.integers(0, 9)):
        items: dict[str, object] = dict(value)  # pyright: ignore[reportUnknownArgumentType]  # JSON
        key = draw(st.sampled_from(sorted(items)))
        if draw(st.integers(0, 4)):
            return {**items, key: draw(changed_json(items[key], words))}
        return {name: item for name, item in items.items() if name != key}
    if isinstance(value, list) and value and draw(st.integers(0, 9)):
        parts: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType]  # JSON
        place = draw(st.integers(0, len(parts) - 1))
        if not draw(st.integers(0, 4)):
            return [*parts, parts[place]]
        return [*parts[:place], draw(changed_json(parts[place], words)), *parts[place + 1 :]]
    return draw(st.sampled_from((*ODD, *words)))


@st.composite
def changed_frames(draw: st.DrawFn, frames: Sequence[Frame]) -> list[Frame]:
    """Frames of a stream after an accident: some with odd values, cut short, lost, doubled or out of order."""
    out = list(frames)
    for _ in range(draw(st.integers(1, 3))):
        if not out:
            break
        place = draw(st.integers(0, len(out) - 1))
        frame = out[place]
        match draw(st.sampled_from(("odd", "odd", "odd", "short", "lost", "double", "moved", "name"))):
            case "odd":
                out[place] = draw(_odd(frame))
            case "short":
                out[place] = _with(frame, frame.data[: draw(st.integers(0, len(frame.data)))])
            case "lost":
                del out[place]
            case "double":
                out.insert(draw(st.integers(0, len(out))), frame)
            case "moved":
                out.insert(draw(st.integers(0, len(out) - 1)), out.pop(place))
            case _:
                names = sorted({other.name for other in frames} | {"", "error", "no_such_event"})
                out[place] = Frame(frame.data, draw(st.sampled_from(names)), frame.kind)
    return out


@st.composite
def _odd(draw: st.DrawFn, frame: Frame) -> Frame:
    try:
        value = json.loads(frame.data)
    except ValueError:
        return _with(frame, draw(changed_bytes(frame.data)))
    return _with(frame, json.dumps(draw(changed_json(value))).encode())


def _with(frame: Frame, data: bytes) -> Frame:
    return Frame(data, frame.name, frame.kind)


# -- wire events, from their types


def wire_events(type: Any) -> st.SearchStrategy[Any]:
    """JSON values that a `msgspec` decoder of `type` takes: structs, tagged unions, and whatever stands in them. An
    optional field is there or not; a field that msgspec has no JSON type for is any JSON value."""
    return _shaped(inspect.type_info(type))


_PLAIN: Final[dict[type[inspect.Type], st.SearchStrategy[Any]]] = {
    inspect.NoneType: st.none(),
    inspect.BoolType: st.booleans(),
    inspect.IntType: st.integers(-3, 10**6),
    inspect.FloatType: st.floats(-1e6, 1e6),
    inspect.StrType: _TEXTS,
    inspect.BytesType: st.sampled_from(["", "AA==", "aGVsbG8="]),
    inspect.ByteArrayType: st.sampled_from(["", "AA==", "aGVsbG8="]),
}


def _shaped(type: Any) -> st.SearchStrategy[Any]:
    match type:
        case inspect.StructType():
            return _struct(type.cls)
        case inspect.UnionType():
            return st.one_of([_shaped(each) for each in type.types])
        case inspect.LiteralType():
            return st.sampled_from(type.values)
        case inspect.EnumType():
            return st.sampled_from([member.value for member in type.cls])
        case inspect.ListType() | inspect.SetType() | inspect.FrozenSetType() | inspect.VarTupleType():
            return st.lists(_shaped(type.item_type), max_size=3)
        case inspect.TupleType():
            return st.tuples(*[_shaped(each) for each in type.item_types]).map(list)
        case inspect.DictType():
            return st.dictionaries(_TEXTS, _shaped(type.value_type), max_size=3)
        case inspect.Metadata():
            return _shaped(type.type)
        case _:
            return _PLAIN.get(type.__class__, json_values())


@cache
def _struct(cls: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Deferred: a struct may hold itself."""

    def fields() -> st.SearchStrategy[Any]:
        info = inspect.type_info(cls)
        assert isinstance(info, inspect.StructType)
        needed = {field.encode_name: _shaped(field.type) for field in info.fields if field.required}
        free = {field.encode_name: _shaped(field.type) for field in info.fields if not field.required}
        if info.tag_field is not None:
            needed = {info.tag_field: st.just(info.tag), **needed}
        if info.array_like:
            return st.tuples(*needed.values(), *free.values()).map(list)
        return st.fixed_dictionaries(needed, optional=free)

    return st.deferred(fields)


# -- canonical answers


@st.composite
def responses(draw: st.DrawFn, provider: str = "scripted") -> Response:
    """Responses with text, reasoning and calls of tools in any order, for a script to play."""
    content = draw(st.lists(_PARTS, max_size=4))
    parts = [
        msgspec.structs.replace(part, id=f"tu_{n}") if isinstance(part, ToolCall) else part
        for n, part in enumerate(content)
    ]
    calls = any(isinstance(part, ToolCall) for part in parts)
    words: list[StopReason] = ["tool_use"] if calls else ["stop", "length", "content_filter", "unknown"]
    stop, model, usage = draw(st.sampled_from(words)), draw(st.none() | st.just("m-1")), draw(_USAGES)
    base = Response(provider=provider, model=model, message=Message.assistant(*parts), stop_reason=stop, usage=usage)
    return msgspec.structs.replace(base, raw_stop_reason=draw(st.none() | st.just(stop)))


_SEEN: Final = st.text(st.sampled_from("ab \n\u2028é中😀👩\u200d"), max_size=12)
_ORIGIN: Final = Origin(provider="scripted", protocol="script", model="m-1")
_PARTS: Final[st.SearchStrategy[Part]] = (
    st.builds(Text, text=_SEEN, refusal=st.booleans())
    | st.builds(
        Reasoning,
        text=_SEEN,
        signature=st.none() | st.just("sig=="),
        redacted=st.none(),
        origin=st.none() | st.just(_ORIGIN),
    )
    | st.builds(
        ToolCall,
        id=st.just(""),
        name=st.sampled_from(["weather", "search-web"]),
        arguments=st.dictionaries(_SEEN, json_values(3), max_size=2).map(json.dumps),
        wire_id=st.none() | st.just("call_1"),
    )
)
_COUNTS: Final = st.none() | st.integers(0, 10**6)
_USAGES: Final = st.builds(Usage, input_tokens=_COUNTS, cache_read_tokens=_COUNTS, output_tokens=_COUNTS)
