"""Whether a JSON value is of a type that TypedDicts, unions and literals spell out, as vendors' SDKs declare what they
send: walked to the end, every item of every iterable too, no key too many.

A type checker would not do: it sees no value. The SDK would not: it sends what it is given.
"""

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typing_extensions as te

LISTS = (list, Iterable, Sequence, "SequenceNotStr")
"""What a JSON array may be declared as (by name: a class that an SDK has of its own)."""
QUALIFIERS = (te.Required, te.NotRequired, te.ReadOnly)
SCALARS: dict[Any, Callable[[object], bool]] = {
    str: lambda value: isinstance(value, str),
    bool: lambda value: isinstance(value, bool),
    int: lambda value: isinstance(value, int) and not isinstance(value, bool),
    float: lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    type(None): lambda value: value is None,
    None: lambda value: value is None,
    object: lambda _: True,
    Any: lambda _: True,
    dict: lambda value: isinstance(value, dict),
    list: lambda value: isinstance(value, list),
}


def problems(value: object, kind: Any, place: str = "$") -> list[str]:
    """What in a JSON value is not as `kind` says, each with its place; empty when all of it is.

    Of a union the arm with the fewest problems speaks. Raises `TypeError` for a kind of type that is not known here:
    nothing passes unseen.
    """
    if kind in SCALARS:
        return [] if SCALARS[kind](value) else [f"{place}: {shown(value)} is no {getattr(kind, '__name__', kind)}"]
    if te.is_typeddict(kind):
        return of_typed_dict(value, kind, place)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated or origin in QUALIFIERS:
        return problems(value, arguments[0], place)
    if origin in (Literal, te.Literal):
        known = any(value == word and type(value) is type(word) for word in arguments)
        return [] if known else [f"{place}: {shown(value)} is none of {', '.join(map(repr, arguments))}"]
    if origin is Union or origin is types.UnionType:
        found = [problems(value, arm, place) for arm in arguments]
        return min(found, key=len)
    if origin in LISTS or getattr(origin, "__name__", "") in LISTS:
        if not isinstance(value, list):
            return [f"{place}: {shown(value)} is no list"]
        return [each for at, item in enumerate(value) for each in problems(item, arguments[0], f"{place}[{at}]")]
    if origin in (dict, Mapping):
        if not isinstance(value, dict):
            return [f"{place}: {shown(value)} is no object"]
        return [each for key, item in value.items() for each in problems(item, arguments[1], f"{place}.{key}")]
    raise TypeError(f"{place}: no rule for the type {kind!r}")


def of_typed_dict(value: object, kind: Any, place: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{place}: {shown(value)} is no {kind.__name__}"]
    known = fields(kind)
    found = [f"{place}: {key!r} is no key of {kind.__name__}" for key in value if key not in known]
    found += [f"{place}: {key!r} is missing" for key, (_, needed) in known.items() if needed and key not in value]
    for key, item in value.items():
        if key in known:
            found += problems(item, known[key][0], f"{place}.{key}")
    return found


def fields(kind: Any) -> dict[str, tuple[Any, bool]]:
    """The keys of a TypedDict, each with its type and whether it must be there.

    `__required_keys__` does not know: where annotations are texts (`from __future__ import annotations`) it has not
    seen `Required` in them.
    """
    out = dict[str, tuple[Any, bool]]()
    for base in getattr(kind, "__orig_bases__", ()):
        if te.is_typeddict(base):
            out |= fields(base)
    for key, hint in te.get_type_hints(kind, include_extras=True).items():
        if get_origin(hint) in QUALIFIERS:
            out[key] = (hint, get_origin(hint) is te.Required)
        elif key not in out:
            out[key] = (hint, kind.__total__)
    return out


def shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
