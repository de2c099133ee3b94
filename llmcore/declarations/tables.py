"""Tables to structs: each value as the annotation of its field has it, every problem noted where it stands.

It says more than a decoder would: all problems and not the first, the nearest name for an unknown key or word, and
nothing of a value that may be a key.
"""

import types
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias, Union, cast, get_args, get_origin

import msgspec

from llmcore.declarations.document import Place
from llmcore.declarations.literals import unknown_name
from llmcore.errors import ConfigError

__all__ = ["WRONG", "Reader"]

Note: TypeAlias = Callable[[Place, str], None]
"""Takes down what is wrong, and where."""


class Wrong:
    """What stands for a value that could not be read. Its problem has been noted."""


WRONG: Final = Wrong()

_KINDS: Final[dict[type, str]] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    tuple: "a list",
    dict: "a table",
}
"""What TOML's types, and ours, are called in messages."""


class Reader:
    """Reads values by their types; `note` takes down each problem. A value that is wrong is `WRONG`, and so is
    whatever holds it. Types: structs, their unions with `None`, `dict`, `tuple[X, ...]`, `Literal`, plain ones, and
    `object` for anything."""

    __slots__ = ("_note",)

    def __init__(self, note: Note) -> None:
        self._note: Final = note

    def struct(self, kind: type[msgspec.Struct], given: object, place: Place) -> Any:
        """A `kind`, of the table `given`."""
        values = self.fields(kind, given, place)
        if values is WRONG:
            return WRONG
        try:
            return kind(**cast("dict[str, Any]", values))
        except ConfigError as problem:  # what the struct itself says of its values
            return self.wrong(place, problem.message)

    def fields(self, kind: type[msgspec.Struct], given: object, place: Place, *, some: bool = False) -> Any:
        """The values of the fields of `kind` that a table has, by name; with `some` none of them has to be there."""
        if not isinstance(given, dict):
            return self.wrong(place, _expected("a table", given))
        table = cast("dict[str, object]", given)
        known = {field.name: field for field in msgspec.structs.fields(kind)}
        for name in table:
            if name not in known:
                self._note((*place, name), unknown_name("key", name, tuple(known)))
        for name, field in known.items():
            if field.required and name not in table and not some:
                self._note(place, f"{name} is missing")
        values = {
            name: self.value(field.type, table[name], (*place, name)) for name, field in known.items() if name in table
        }
        whole = table.keys() <= known.keys() and (some or all(n in table or not f.required for n, f in known.items()))
        return values if whole and WRONG not in values.values() else WRONG

    def value(self, kind: Any, given: object, place: Place) -> Any:
        """`given` as a `kind`."""
        if isinstance(kind, type) and issubclass(cast("type[object]", kind), msgspec.Struct):
            return self.struct(cast("type[msgspec.Struct]", kind), given, place)
        handler = _HANDLERS.get(get_origin(kind))
        if handler is not None:
            return handler(self, kind, given, place)
        try:
            return msgspec.convert(given, cast("Any", kind))
        except msgspec.ValidationError:
            return self.wrong(place, _expected(_name(kind), given))

    def wrong(self, place: Place, what: str) -> Any:
        """Notes it, and gives `WRONG`."""
        self._note(place, what)
        return WRONG


def _union(reader: Reader, kind: Any, given: object, place: Place) -> Any:
    choices = [choice for choice in get_args(kind) if choice is not type(None)]
    if given is False and bool not in choices:
        if type(None) in get_args(kind):
            return None
        return reader.wrong(place, "this must be something: false stands for nothing")
    if len(choices) == 1:
        return reader.value(choices[0], given, place)
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError:
        return reader.wrong(place, _expected(" or ".join(map(_name, choices)), given))


def _dict(reader: Reader, kind: Any, given: object, place: Place) -> Any:
    if not isinstance(given, dict):
        return reader.wrong(place, _expected("a table", given))
    keys, values = get_args(kind)
    table = cast("dict[str, object]", given)
    read = {
        reader.value(keys, key, (*place, key)): reader.value(values, value, (*place, key))
        for key, value in table.items()
    }
    return WRONG if WRONG in read or WRONG in read.values() else read


def _tuple(reader: Reader, kind: Any, given: object, place: Place) -> Any:
    if not isinstance(given, list):
        return reader.wrong(place, _expected("a list", given))
    (item, *_) = get_args(kind)
    items = cast("list[object]", given)
    read = tuple([reader.value(item, value, (*place, index)) for index, value in enumerate(items)])
    return WRONG if WRONG in read else read


def _literal(reader: Reader, kind: Any, given: object, place: Place) -> Any:
    words = get_args(kind)
    if given in words:
        return given
    if not isinstance(given, str):
        return reader.wrong(place, _expected(" or ".join(map(repr, words)), given))
    return reader.wrong(place, unknown_name("word", given, words))


_HANDLERS: Final[dict[Any, Callable[[Reader, Any, object, Place], Any]]] = {
    Union: _union,
    types.UnionType: _union,
    dict: _dict,
    tuple: _tuple,
    Literal: _literal,
}
"""By the origin of the annotation."""


def _expected(what: str, given: object) -> str:
    found = _KINDS.get(type(given), "a date or a time")
    return f"expected {what}, found {found}"


def _name(kind: Any) -> str:
    return _KINDS.get(get_origin(kind) or kind, str(kind))
