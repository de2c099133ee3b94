"""Credentials: held where nothing prints them, validated before any I/O, taken out of every text that leaves us."""

import json
import os
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeAlias
from urllib.parse import quote

from llmcore.errors import AuthError

REDACTED: Final = "<redacted>"
MIN_REDACTED: Final = 6
"""A shorter value is not searched for in texts: it would take ordinary words with it."""


class Secret:
    """A value that shows itself only to whoever calls `reveal`. It compares by identity and does not pickle."""

    __slots__ = ("_source", "name")

    def __init__(self, source: "str | Callable[[], str | Awaitable[str]]", name: str = "api_key") -> None:
        self._source = source
        self.name = name

    def reveal(self) -> "str | Awaitable[str]":
        """The value, or an awaitable of it where the source is an async function. Not validated yet."""
        return self._source if isinstance(self._source, str) else self._source()

    def __repr__(self) -> str:
        return f"Secret(<{self.name}>)"

    def __reduce__(self) -> str:
        raise TypeError("a Secret is not pickled; give the name of its environment variable instead")


KeySource: TypeAlias = str | Secret | Callable[[], str | Awaitable[str]]
"""An API key, or a function (sync, or async for async clients) that gives the current one."""


def from_environment(names: Iterable[str]) -> Secret | None:
    """The first of the environment variables that is set and not blank, else `None`."""
    for name in names:
        value = os.environ.get(name)
        if value and value.strip():
            return Secret(value, name)
    return None


def validated(value: str, name: str) -> str:
    """`value` without surrounding white space. Raises `AuthError` for one that cannot stand in a header; the error
    names the variable or argument and never repeats the value."""
    key = value.strip()
    if not key:
        raise AuthError(f"{name} is empty; set it to the provider's API key")
    if not key.isascii() or not key.isprintable():
        raise AuthError(
            f"{name} holds a character that no API key has (a line break, a non-ASCII or an invisible character); "
            "copy the key again"
        )
    return key


def redact(text: str, values: Iterable[str]) -> str:
    """`text` with every one of the secret `values` replaced: as they are, as they stand in a URL and in JSON."""
    forms = {form for value in values for form in _forms(value) if len(value) >= MIN_REDACTED}
    for form in sorted(forms, key=len, reverse=True):  # the longer first: one may begin with another
        text = text.replace(form, REDACTED)
    return text


def _forms(value: str) -> tuple[str, ...]:
    written = json.dumps(value)[1:-1]
    return (value, quote(value, safe=""), written, written.replace("/", "\\/"))
