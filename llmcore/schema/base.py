"""What all canonical data shares: the Struct configuration, JSON aliases and the limits on text that we repeat."""

from typing import Final, Literal, TypeAlias, cast

import msgspec

JSONValue: TypeAlias = "dict[str, JSONValue] | list[JSONValue] | str | int | float | bool | None"
"""Any JSON value, for type checkers. (msgspec cannot decode a recursive alias: fields that hold one say `object`.)"""

JSONObject: TypeAlias = dict[str, object]
"""A JSON object whose values nobody has looked at yet."""

CacheHint = Literal["5m", "1h"]
"""How long the prompt prefix that ends here should stay in the provider's cache."""

SCHEMA_VERSION: Final = 1
"""Version of the stored form of everything in `llmcore.schema`; a store writes it beside what it keeps."""


class Data(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of the canonical structs: frozen, defaults left out when written. It has no fields.

    Each of them says `frozen=True, kw_only=True` itself: msgspec applies `kw_only` to the fields of one class only, and
    type checkers inherit neither.
    """


class Diagnosed(Data, frozen=True, dict=True):
    """Base of the structs that carry diagnostics beside their fields.

    What hangs in the instance dictionary (`raw`, the HTTP exchange) is not data: no encoder, repr, comparison, copy or
    pickle carries it.
    """


def attach(thing: Diagnosed, **diagnostics: object) -> None:
    """Hangs diagnostics on `thing`, beside its fields."""
    cast("dict[str, object]", thing.__dict__).update(diagnostics)


def excerpt(text: str, limit: int = 80) -> str:
    """`text`, or its first `limit` characters and its length: no message of ours repeats an unbounded value."""
    return repr(text) if len(text) <= limit else f"{text[:limit]!r}… ({len(text)} characters)"
