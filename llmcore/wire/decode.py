"""Decoding what a provider sent: typed and quick where it is as documented, patient where it is not.

The quick way is a typed `msgspec` decoder. What it rejects is read once more by `salvage`, which takes what the
standard `json` module takes (lone surrogate escapes, NaN, raw control characters, a byte-order mark, invalid UTF-8)
and then leaves out the single values whose type is not the documented one: usage, ids and other things that we could
do without never fail a frame that carries content.
"""

import json
import logging
import re
from typing import Any, Final, TypeVar

import msgspec

from llmcore.errors import ProtocolError
from llmcore.schema.base import excerpt
from llmcore.wire.texts import scrubbed
from llmcore.wire.values import is_object

T = TypeVar("T")

_log: Final = logging.getLogger("llmcore")

MAX_EXCERPT: Final = 500
MAX_KEYS: Final = 20
MAX_PRUNED: Final = 64
"""Odd values that are left out of one frame; one with more is no frame of this protocol."""

_PLACE: Final = re.compile(r" - at `\$([^`]*)`\Z")
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_WORD_AT_END: Final = re.compile(r"[A-Za-z0-9_\-+/=.]+\Z")

REJECTED: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What a typed decoder raises for bytes that are not as documented."""


def excerpt_of(body: bytes) -> str:
    """The beginning of `body` as text, at most `MAX_EXCERPT` characters, for messages about it.

    It does not end inside a word: half a key could not be recognised and taken out by those who know the key.
    """
    text = body[: 4 * MAX_EXCERPT].decode("utf-8", "replace")
    if len(text) <= MAX_EXCERPT and len(body) <= 4 * MAX_EXCERPT:
        return text
    return _WORD_AT_END.sub("", text[:MAX_EXCERPT]) + "…"


def log_skipped(protocol: str, value: object, size: int) -> None:
    """One DEBUG record of a frame that says nothing to us. It names the frame's keys and never what stands in them."""
    keys = ", ".join([excerpt(key, 40) for key in list(value)[:MAX_KEYS]]) if is_object(value) else "none"
    _log.debug("%s: a frame of %d bytes was skipped; its keys: %s", protocol, size, keys)


def loads(body: bytes) -> object:
    """The JSON value of `body`, read patiently. Raises `ValueError` for what is not JSON."""
    try:
        return json.loads(body.decode("utf-8", "replace").removeprefix("\ufeff"), strict=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def salvage(body: bytes, kind: type[T], needed: frozenset[str], pruned: list[str]) -> T:
    """`body` as a `kind`, without the values that are not of the documented type; their places are appended to
    `pruned` (`usage.prompt_tokens`).

    Raises `ProtocolError` for what is not JSON, not an object, or has an odd value in one of the `needed` fields:
    those carry content, which is never lost silently. A field is named with its holder (`delta.content`).
    """
    try:
        value = loads(body)
    except ValueError as problem:
        raise ProtocolError(f"not JSON: {problem}", body_excerpt=excerpt_of(body)) from None
    for _ in range(MAX_PRUNED):
        try:
            return msgspec.convert(value, kind, strict=False)
        except msgspec.ValidationError as problem:
            place = _prune(value, str(problem), needed)
            if place is None:
                raise ProtocolError(f"not as documented: {problem}", body_excerpt=excerpt_of(body)) from None
            pruned.append(place)
        except UnicodeEncodeError:  # half a character in a key, or where a number should be
            value = scrubbed(value)
    raise ProtocolError("not a frame of this protocol: too many odd values", body_excerpt=excerpt_of(body))


def _prune(value: object, problem: str, needed: frozenset[str]) -> str | None:
    """Takes out the value that `problem` names; gives its place, or `None` where it must not be missing."""
    found = _PLACE.search(problem)
    steps = _STEP.findall(found[1]) if found else []
    names = [name for name, _ in steps if name]
    if not names or ".".join(names[-2:]) in needed:
        return None
    holder: Any = value  # a dict or a list, as the path says
    try:
        for name, position in steps[:-1]:
            holder = holder[name or int(position)]
        last, index = steps[-1]
        del holder[last or int(index)]
    except (KeyError, IndexError, TypeError):
        return None
    return ".".join(names)
