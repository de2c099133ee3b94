"""Usage: a provider's own counts made into disjoint buckets. Snapshots replace each other, nothing is ever summed."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final, Literal

import msgspec

from llmcore.schema.base import JSONObject
from llmcore.schema.parts import Modality
from llmcore.schema.usage import Direction, ModalityTokens, Unit, Usage
from llmcore.wire.values import at, is_object

Path = tuple[str, ...]
Bucket = Literal["input", "output", "cache_read", "cache_write", "cache_write_1h", "reasoning"]


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Where a protocol's counts stand in its usage record. Of several places the first one that is not zero counts.

    `buckets` are the token counts; `inclusive` says that the input count has the cached tokens in it (they are taken
    off). `modalities` are parts of the input or output by modality, `units` what is counted apart from tokens.
    """

    buckets: Mapping[Bucket, tuple[Path, ...]]
    inclusive: bool
    modalities: Mapping[tuple[Direction, Modality], Path] = {}
    units: Mapping[str, tuple[Direction, Path]] = {}


class Meter:
    """The usage of one response, from the records that come. `problems` are the sentences of what was odd in it."""

    __slots__ = ("_counts", "_record", "problems", "usage")

    def __init__(self, counts: Counts) -> None:
        self._counts: Final = counts
        self._record: JSONObject = {}
        self.usage = Usage()
        self.problems: list[str] = []

    def take(self, record: JSONObject) -> bool:
        """Lays a record upon the earlier ones, latest non-null value wins. A record without any token never replaces
        one with tokens. Whether the usage is another now."""
        if not record or (self._record and not self._has_tokens(record)):
            return False
        merged = _laid(self._record, record)
        if merged == self._record:
            return False
        self._record = merged
        before, self.usage = self.usage, self._read(merged)
        return self.usage != before

    def decimal(self, *path: str) -> Decimal | None:
        """The number at `path` exactly as its shortest form says, for money."""
        number = _number(at(self._record, *path))
        return None if number is None else Decimal(repr(number))

    def _has_tokens(self, record: JSONObject) -> bool:
        return any(_first(record, paths) for paths in self._counts.buckets.values())

    def _read(self, record: JSONObject) -> Usage:
        tokens = {bucket: self._tokens(bucket, record) for bucket in self._counts.buckets}
        entering = tokens.get("input")
        if self._counts.inclusive and entering is not None:
            cached = sum(tokens.get(name) or 0 for name in ("cache_read", "cache_write", "cache_write_1h"))
            if cached > entering:
                self._odd(f"{cached} cached tokens of {entering} input tokens")
            entering = max(entering - cached, 0)
        output, reasoning = tokens.get("output"), tokens.get("reasoning")
        if reasoning is not None and output is not None and reasoning > output:
            self._odd(f"{reasoning} reasoning tokens of {output} output tokens")
            reasoning = output
        return Usage(
            input_tokens=entering,
            cache_read_tokens=tokens.get("cache_read"),
            cache_write_tokens=tokens.get("cache_write"),
            cache_write_1h_tokens=tokens.get("cache_write_1h"),
            output_tokens=output,
            reasoning_tokens=reasoning,
            by_modality=tuple(self._modalities(record)),
            units=tuple(self._units(record)),
            native=record,
        )

    def _tokens(self, bucket: Bucket, record: JSONObject) -> int | None:
        count = _first(record, self._counts.buckets[bucket])
        if count is not None and count < 0:
            self._odd(f"{count} {bucket} tokens")
            return 0
        return count

    def _modalities(self, record: JSONObject) -> Iterable[ModalityTokens]:
        for (direction, modality), path in self._counts.modalities.items():
            count = _count(at(record, *path))
            if count is not None and count > 0:
                yield ModalityTokens(direction=direction, modality=modality, tokens=count)

    def _units(self, record: JSONObject) -> Iterable[Unit]:
        for kind, (direction, path) in self._counts.units.items():
            count = _number(at(record, *path))
            if count is not None and count > 0:
                yield Unit(kind=kind, direction=direction, count=count)

    def _odd(self, what: str) -> None:
        sentence = f"the provider reports {what}: clamped"
        if sentence not in self.problems:
            self.problems.append(sentence)


def _laid(under: JSONObject, over: JSONObject) -> JSONObject:
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        if is_object(value) and is_object(below):
            merged[key] = _laid(below, value)
        elif value is not None or key not in merged:
            merged[key] = value
    return merged


def _number(value: object) -> float | int | None:
    """A finite number, also one in a text; nothing else is a count."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return value
    if value != value or abs(value) == float("inf"):
        return None
    return int(value) if value.is_integer() else value


def _count(value: object) -> int | None:
    number = _number(value)
    return number if isinstance(number, int) else None


def _first(record: JSONObject, paths: tuple[Path, ...]) -> int | None:
    found: int | None = None
    for path in paths:
        count = _count(at(record, *path))
        if count:
            return count
        found = count if found is None else found
    return found
