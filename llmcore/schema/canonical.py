"""The one canonical JSON of a value, its digest, and the reader of what was stored.

Canonical JSON is RFC 8785 (https://www.rfc-editor.org/rfc/rfc8785): UTF-8 without white space, keys sorted by their
UTF-16 code units, only necessary escapes, numbers as ECMAScript writes them, so that `1`, `1.0` and `1e0` are one
number. It decides two things that the RFC leaves to others or decides otherwise:

- An integer is written with all its digits. The RFC knows only doubles, and beyond 2**53 two different ids would have
  one digest. (A float there is written as the RFC says: `1e21` and the integer of that value are two spellings.)
- A lone surrogate becomes U+FFFD, and two that make a pair their character. The RFC refuses both; a history that holds
  one could then be neither stored nor sent.

NaN and the infinities have no JSON and are refused. A field of a Struct is left out where its text is that of its
default (msgspec, faster, leaves it out where it is the very object): two equal requests have one digest.
"""

import hashlib
import json
import logging
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeVar, cast

import msgspec

from llmcore.errors import InvalidRequestError
from llmcore.schema.base import excerpt
from llmcore.schema.parts import Opaque

T = TypeVar("T")

_log: Final = logging.getLogger("llmcore")
_quoted: Final = json.JSONEncoder(ensure_ascii=False).encode
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeError, RecursionError)
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""One escape in JSON text: a pair of surrogates, a lone one (group 1), or any other."""


def canonical(value: object) -> bytes:
    """The canonical JSON of a Struct or of any JSON value (tuples and sets as arrays, bytes as base64).

    JSON that is kept as text (`Opaque.data`) is parsed first: its white space and order do not matter here. Raises
    `InvalidRequestError` for NaN and infinities, for what has no JSON, for nesting beyond Python's limit, and for two
    keys of an object that are one in JSON.
    """
    out = list[str]()
    try:
        _write(value, out)
    except TypeError as problem:
        raise InvalidRequestError(f"a {type(value).__name__} has no canonical JSON: {excerpt(str(problem))}") from None
    except RecursionError:
        raise InvalidRequestError(f"a {type(value).__name__} is nested too deeply for canonical JSON") from None
    return "".join(out).encode()


def digest(value: object) -> str:
    """The SHA-256 of `canonical(value)`, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical(value)).hexdigest()


def decode(data: bytes | str, type: type[T]) -> T:
    """A value of `type` from stored JSON, whatever version of llmcore wrote it.

    Unknown fields are ignored. An unknown part, wherever the type allows an `Opaque`, becomes one: `kind` is its type
    and `data` its JSON, byte for byte. One WARN record of the logger `llmcore` names all of them. An escaped lone
    surrogate is read as U+FFFD. Raises `InvalidRequestError`, which says where, for anything else that does not fit.
    """
    try:
        return msgspec.json.decode(data, type=type)
    except _UNREADABLE:
        kinds = list[str]()
    name = getattr(type, "__name__", "value")
    try:
        text = whole_escapes(data.encode() if isinstance(data, str) else data)
        value = msgspec.json.decode(_mend(text, _shape(type), kinds), type=type)
    except _UNREADABLE as problem:
        raise InvalidRequestError(f"this is not the JSON of a {name}: {excerpt(str(problem), 200)}") from None
    if kinds:
        named = ", ".join(excerpt(kind) for kind in list(dict.fromkeys(kinds))[:10])
        _log.warning("a stored %s holds %d parts of unknown type, kept as opaque: %s", name, len(kinds), named)
    return value


def scrub(text: str) -> str:
    """`text` as valid Unicode: lone surrogates replaced by U+FFFD, pairs of them joined. Itself where it is valid."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def whole_escapes(data: bytes) -> bytes:
    """JSON text with every escaped lone surrogate replaced by the escape of U+FFFD; all else byte for byte."""
    return _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], data)


def number(value: float) -> str:
    """A finite double as ECMAScript's `Number::toString` writes it (https://tc39.es/ecma262/#sec-numeric-types-number-tostring).

    Python's `repr` finds the same shortest digits and differs in where it sets the point and when it takes an exponent.
    """
    if value != value or value in (float("inf"), float("-inf")):
        raise InvalidRequestError(f"{value} has no JSON; leave it out or send None")
    if value == 0:
        return "0"
    text = repr(value)
    if "e" not in text:  # from 1e-4 to 1e16; an exponent beyond that means that no point stands between the digits
        return text.removesuffix(".0")
    sign = "-" if text.startswith("-") else ""
    mantissa, _, power = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    point = int(power) + 1  # where the decimal point stands, counted from the left of `digits` (`whole` is one digit)
    if len(digits) <= point <= 21:
        return sign + digits.ljust(point, "0")
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+d}"


def _write(value: object, out: list[str]) -> None:
    """Appends the canonical text of a value."""
    match value:
        case str():
            out.append(_quoted(scrub(value)))
        case bool() | None:
            out.append("null" if value is None else "true" if value else "false")
        case int():
            out.append(int.__repr__(value))
        case float():
            out.append(number(value))
        case dict():
            _write_object(cast("dict[object, object]", value), out)
        case list() | tuple():
            _write_array(cast("list[object] | tuple[object, ...]", value), out)
        case msgspec.Raw():
            _write(_parsed(bytes(value)), out)
        case msgspec.Struct() if not value.__struct_config__.array_like:
            _write_struct(value, out)
        case _:
            _write(msgspec.to_builtins(value, str_keys=True, order="deterministic"), out)


def _write_array(values: list[object] | tuple[object, ...], out: list[str]) -> None:
    mark = "["
    for value in values:
        out.append(mark)
        _write(value, out)
        mark = ","
    out.append("]" if values else "[]")


def _write_object(fields: dict[object, object], out: list[str]) -> None:
    texts = {_key(name): value for name, value in fields.items()}
    if len(texts) < len(fields):
        raise InvalidRequestError("two keys of an object are one key in JSON")
    mark = "{"
    for name in sorted(texts, key=None if "".join(texts).isascii() else _utf16):
        out.append(f"{mark}{_quoted(name)}:")
        _write(texts[name], out)
        mark = ","
    out.append("}" if fields else "{}")


def _key(name: object) -> str:
    if isinstance(name, str):
        return scrub(name)
    return next(iter(msgspec.to_builtins({name: None}, str_keys=True)))


def _write_struct(value: msgspec.Struct, out: list[str]) -> None:
    mark = "{"
    for name, attribute, default in _fields(type(value)):
        if attribute is None:  # the tag, which is the same in every value of the type
            text = default
        else:
            field = getattr(value, attribute)
            if field is msgspec.UNSET:
                continue
            pieces = list[str]()
            _write(field, pieces)
            text = "".join(pieces)
            if text == default:
                continue
        out.append(f"{mark}{_quoted(name)}:{text}")
        mark = ","
    out.append("{}" if mark == "{" else "}")


@lru_cache(maxsize=512)
def _fields(type: type[msgspec.Struct]) -> tuple[tuple[str, str | None, str | None], ...]:
    """What is written of a Struct type, in canonical order: name in JSON, attribute, and the text of the default where
    that is left out. The tag has no attribute, and its text instead of a default."""
    config = type.__struct_config__
    found = list[tuple[str, str | None, str | None]]()
    if config.tag_field is not None:
        found.append((config.tag_field, None, canonical(config.tag).decode()))
    for field in msgspec.structs.fields(type):
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        left_out = config.omit_defaults and default not in (msgspec.NODEFAULT, msgspec.UNSET)
        found.append((field.encode_name, field.name, canonical(default).decode() if left_out else None))
    return tuple(sorted(found, key=lambda entry: _utf16(entry[0])))


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-be")


def _parsed(text: bytes) -> object:
    """The value of JSON that was kept as text."""
    try:
        return msgspec.json.decode(whole_escapes(text))
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise InvalidRequestError(f"raw JSON that does not parse: {excerpt(str(problem))}") from None


# The reader of unknown parts follows the type, not the names of fields: what looks like a part inside free JSON (the
# result of a tool, a provider's metadata) is data and stays as it is.


@lru_cache(maxsize=64)
def _shape(type: Any) -> Any:
    import msgspec.inspect

    return msgspec.inspect.type_info(type)


def _mend(data: bytes, shape: Any, kinds: list[str]) -> bytes:
    """`data`, JSON of a value of type `shape`, with its unknown parts made opaque; their types go to `kinds`. What is
    kept as text, and what has nothing to mend in it, stays byte for byte."""
    import msgspec.inspect as inspect

    is_object = data.lstrip().startswith(b"{")
    if not is_object and not data.lstrip().startswith(b"["):
        return data
    match shape:
        case inspect.UnionType():
            return _mend_union(data, shape, kinds, is_object=is_object)
        case inspect.VarTupleType() | inspect.ListType() if not is_object:
            items = msgspec.json.decode(data, type=list[msgspec.Raw])
            return b"[" + b",".join([_mend(bytes(item), shape.item_type, kinds) for item in items]) + b"]"
        case inspect.StructType() if is_object:
            types: dict[str, Any] = {field.encode_name: field.type for field in shape.fields}
            return _mend_object(data, types.get, kinds)
        case inspect.DictType() if is_object:
            return _mend_object(data, lambda _: shape.value_type, kinds)
        case _:
            return data


def _mend_object(data: bytes, shape_of: Callable[[str], Any], kinds: list[str]) -> bytes:
    fields = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    pairs = [
        msgspec.json.encode(name) + b":" + _mend(bytes(value), shape_of(name), kinds) for name, value in fields.items()
    ]
    return b"{" + b",".join(pairs) + b"}"


def _mend_union(data: bytes, shape: Any, kinds: list[str], *, is_object: bool) -> bytes:
    """`data` as one of several types: structs by their tag where there are several."""
    import msgspec.inspect as inspect

    wanted = (inspect.StructType, inspect.DictType) if is_object else (inspect.VarTupleType, inspect.ListType)
    fitting = [one for one in shape.types if isinstance(one, wanted)]
    if len(fitting) < 2:
        return _mend(data, fitting[0], kinds) if fitting else data
    tag = msgspec.json.decode(data, type=_Tag).type
    known = next((one for one in fitting if getattr(one, "tag", None) == tag), None)
    if known is not None:
        return _mend(data, known, kinds)
    if tag is None or not any(getattr(one, "cls", None) is Opaque for one in fitting):
        return data
    kinds.append(tag)
    return msgspec.json.encode(Opaque(kind=tag, data=msgspec.Raw(data)))


class _Tag(msgspec.Struct):
    type: str | None = None
