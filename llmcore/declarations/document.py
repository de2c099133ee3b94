"""One route file: its text as tables, and where in it a thing stands.

`tomllib` says no lines of what it has read. They are found by reading the file again up to a line, until it says the
thing: exact, and done only where there is something to complain about.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, cast

import msgspec

from llmcore.declarations.literals import LONGEST, unknown_name
from llmcore.errors import ConfigError

__all__ = ["TOP", "Declaration", "Document", "Place", "Problem", "read", "table_of"]

MAX_BYTES: Final = 1 << 18
"""Of a route file: a larger one is none."""

MAX_DEPTH: Final = 64
"""Of tables and lists in each other: what looks at them may go down into them."""

TOP: Final = "providers"
"""The one key at the top of a route file."""

_LINE: Final = re.compile(r"at line (\d+)")
_END: Final = "at end of document"
"""Where `tomllib` puts the line in what it says."""

Place: TypeAlias = tuple[str | int, ...]
"""The way to a thing in a file: names of keys, and positions in arrays."""


class Problem(NamedTuple):
    """One thing that is wrong in a file, and what to do about it. Its line is looked for when it is asked for."""

    document: "Document"
    place: Place
    what: str

    @property
    def line(self) -> int | None:
        """The line, from 1, on which it stands; `None` for what stands nowhere."""
        return self.document.line(self.place)

    def __str__(self) -> str:
        line = self.line
        where = self.document.file if line is None else f"{self.document.file}:{line}"
        return ": ".join(step for step in (where, dotted(self.place), self.what) if step)


class Document(msgspec.Struct, frozen=True, eq=False):
    """A route file that was read: its name for messages, its text and its tables."""

    file: str
    text: str
    tables: Mapping[str, Any]

    def problem(self, place: Place, what: str) -> Problem:
        """`what` is wrong at `place`."""
        return Problem(self, place, what)

    def line(self, place: Place) -> int | None:
        """The line, from 1, on which the statement begins that first says something at `place`."""
        if not _says(self.tables, place):
            return None
        lines = self.text.split("\n")
        low, high = 0, len(lines)  # the first `low` lines do not say it, the first `high` do; neither cuts a statement
        while True:
            middle = next(
                (count for count in _outwards((low + high) // 2, low, high) if _read(lines, count) is not None), None
            )
            if middle is None:
                return low + 1
            if _says(_read(lines, middle), place):
                high = middle
            else:
                low = middle


class Declaration(msgspec.Struct, frozen=True, eq=False):
    """One provider of a file, not looked at yet."""

    id: str
    table: object
    document: Document

    @property
    def override(self) -> bool:
        """Whether it says that it may do what a file may not."""
        return table_of(self.table).get("override") is True

    @property
    def place(self) -> Place:
        return (TOP, self.id)


def read(path: Path) -> tuple[Declaration, ...]:
    """What the file declares, in its order. Raises `ConfigError` for a file that cannot be read, is no TOML, or says at
    its top what no route file says."""
    document = _document(path)
    for key in document.tables:
        if key != TOP:
            raise ConfigError(str(document.problem((key,), unknown_name("key", key, (TOP,)))))
    if not isinstance(document.tables.get(TOP, {}), dict):
        raise ConfigError(str(document.problem((TOP,), "providers are tables: write [providers.ID]")))
    return tuple([Declaration(id, table, document) for id, table in table_of(document.tables.get(TOP)).items()])


def table_of(value: object) -> dict[str, object]:
    """`value` where it is a table; where not, an empty one: that it is none is told by whoever reads it."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def dotted(place: Place) -> str:
    """`providers.house.route.rules[0].match`; a name too long to be ours is not repeated."""
    steps = [f"[{step}]" if isinstance(step, int) else f".{step if len(step) <= LONGEST else '…'}" for step in place]
    return "".join(steps).removeprefix(".")


def _document(path: Path) -> Document:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as problem:
        raise ConfigError(f"{path} cannot be read: {problem.strerror}") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path} is larger than {MAX_BYTES} bytes: no route file")
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise ConfigError(f"{path}:{line}: this is no UTF-8") from None
    try:
        return Document(str(path), text, _parsed(text))
    except RecursionError:
        raise ConfigError(f"{path} nests too deeply: no route file") from None
    except ValueError as problem:  # TOMLDecodeError, and the interpreter's own for an endless number
        line = _LINE.search(str(problem))
        number = line[1] if line else len(text.rstrip().split("\n")) if _END in str(problem) else None
        where = str(path) if number is None else f"{path}:{number}"
        raise ConfigError(f"{where}: this is no TOML: {problem}") from None


def _parsed(text: str) -> Mapping[str, Any]:
    """What it says. Raises `RecursionError`, as `tomllib` itself does later, for what nests too deeply for us."""
    tables = tomllib.loads(text)
    level: list[object] = [tables]
    for _ in range(MAX_DEPTH):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return tables
    raise RecursionError


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def _read(lines: list[str], count: int) -> Mapping[str, Any] | None:
    """What the first `count` lines say; `None` where a statement is cut."""
    try:
        return tomllib.loads("\n".join(lines[:count]) + "\n")
    except ValueError:
        return None


def _outwards(start: int, low: int, high: int) -> Iterator[int]:
    """The numbers between `low` and `high`, both left out: `start` and down, then those above it."""
    yield from range(start, low, -1)
    yield from range(max(start, low) + 1, high)


def _says(tables: object, place: Place) -> bool:
    """Whether something stands at `place`."""
    here: Any = tables
    for step in place:
        try:
            here = here[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True
