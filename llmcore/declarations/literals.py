"""What no route file may hold: a key written down, and values that no JSON carries. Its values are never repeated."""

import datetime as dt
import math
import re
from collections.abc import Iterator
from typing import Any, Final, cast
from urllib.parse import parse_qsl, urlsplit

from llmcore.route import unknown

__all__ = ["ADVICE", "LONGEST", "VARIABLES", "credential", "in_query", "keys", "unknown_name", "unsendable"]

ADVICE: Final = (
    "a key does not stand in a file: name the environment variable that holds it, as in auth = { bearer = [VARIABLE] }"
)

VARIABLES: Final = re.compile(r"[A-Z_][A-Z0-9_]{0,63}\Z")
"""The names of variables that a file may give. Upper case alone: a key that was put in the place of a name has small
letters, too."""

_KEYS: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:(?:sk|rk|pk|tgp)[-_]|(?:csk|glpat|nvapi|pplx|xai)-|(?:fw|ghp|gho|ghs|github_pat|gsk|hf|r8)_)"
    r"(?=[a-z_-]*[0-9A-Z])[A-Za-z0-9_-]{16,}"
    r"|AIza[A-Za-z0-9_-]{30,}"  # Google
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}"  # AWS
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"  # a JSON Web Token
    r"|(?i:bearer|basic) +[A-Za-z0-9._~+/=-]{12,}"
    r")"
)
"""What keys look like, by the prefixes that vendors give them."""

_WORDS: Final = frozenset(
    (
        "apikey",
        "auth",
        "authorization",
        "cookie",
        "credential",
        "credentials",
        "key",
        "passwd",
        "password",
        "secret",
        "token",
    )
)
"""A header, parameter or field with one of these words in its name carries a credential."""

_ASKING: Final = frozenset(("apikey", "authorization", "credential", "key", "password", "secret", "token"))
LONGEST: Final = 32
"""Characters of a name that is repeated in a message."""

_NOT_SECRET: Final = frozenset(("prompt_cache_key",))
"""Fields of bodies that are named like one and carry none."""


def credential(name: str) -> bool:
    """Whether a header, a query parameter or a field of a body of that name carries a credential."""
    return name.lower() not in _NOT_SECRET and not _WORDS.isdisjoint(re.split(r"[^a-z0-9]+", name.lower()))


def unknown_name(kind: str, name: str, known: tuple[str, ...]) -> str:
    """As `llmcore.route.unknown`; but a name that asks for a key is answered with where that goes, and one too long to
    be ours is not repeated: it may be a key itself."""
    if name.lower().replace("_", "") in _ASKING:
        return f"unknown {kind} {name!r}: {ADVICE}"
    return unknown(kind, name, known) if len(name) <= LONGEST else f"unknown {kind} of {len(name)} characters"


def in_query(url: str) -> bool:
    """Whether a parameter in the query of `url` does."""
    try:
        pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:
        return False
    return any(credential(name) for name, _ in pairs)


def keys(value: object, place: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """The places under `place` at which a text, or a name, looks like a key. A name's own is that of its table."""
    for where, found in _walk(value, place):
        if isinstance(found, str) and _KEYS.search(found):
            yield where
        if isinstance(found, dict) and any(_KEYS.search(name) for name in cast("dict[str, Any]", found)):
            yield where


def unsendable(value: object, place: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The places at which stands what JSON does not have, and what it is."""
    for where, found in _walk(value, place):
        if isinstance(found, dt.date | dt.time):
            yield where, "JSON has no dates and times: write it as a text"
        elif isinstance(found, float) and not math.isfinite(found):
            yield where, "JSON has no infinity and no NaN"


def _walk(value: object, place: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], object]]:
    yield place, value
    if isinstance(value, dict):
        for name, inner in cast("dict[str, object]", value).items():
            yield from _walk(inner, (*place, name))
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[object]", value)):
            yield from _walk(inner, (*place, index))
