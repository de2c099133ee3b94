"""The registry: provider ids to `Provider`s, model names to `Model`s. The one file that reaches up, and only by data.

A provider comes through one of three doors, tried in this order, each opened at its first use and not before:

1. a module of ours: `llmcore.providers.<id with underscores>`, in its constant `PROVIDER`;
2. a row of ours: `COMPATIBLE[id]` in `llmcore.providers.compatible`;
3. an entry point of an installed distribution: group `llmcore.providers`, named by the id, its object a `Provider`.

What comes out of any of them is checked alike. A later door never redefines an id of an earlier one.

Before them stands a fourth, for route files (`llmcore.declarations`): those of the user's configuration, looked for
once, when the first provider is asked for, and those that a program loads with `load_routes`. A file may redefine an
id where it says `override = true`. A file that cannot be read stops every lookup, as nobody knows what it says; what a
declaration in it does wrong is told where its provider is used.

A protocol is found by its id: `llmcore.protocols.<id with underscores>`, in the constant of that name in capitals.
"""

import functools
import importlib
import importlib.util
import os
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from llmcore.declarations import files
from llmcore.errors import ConfigError
from llmcore.protocol import Protocol
from llmcore.route import Model, Provider, Route, unknown
from llmcore.schema.base import excerpt
from llmcore.secret import Secret

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from llmcore.declarations.build import Built
    from llmcore.declarations.document import Declaration, Problem

__all__ = [
    "ENTRY_POINT_GROUP", "Declared", "check_routes", "load_routes", "protocol", "provider", "providers", "resolve"
]  # fmt: skip

ENTRY_POINT_GROUP: Final = "llmcore.providers"
"""The entry-point group in which a distribution declares providers of its own."""

_PACKAGE: Final = "llmcore.providers"
_PROTOCOLS: Final = "llmcore.protocols"
_ROWS: Final = "compatible"
_CONSTANT: Final = "PROVIDER"

Loader: TypeAlias = Callable[[], object]
"""Imports one declaration and gives it, unchecked."""
Files: TypeAlias = "Mapping[Path, tuple[Declaration, ...]]"
"""What stands in each route file, in order."""


def provider(id: str) -> Provider:
    """The provider of that id, imported at its first use. Raises `ConfigError` naming the nearest id there is, or
    saying what is wrong with the declaration."""
    return _provider(id)


def providers() -> tuple[Provider, ...]:
    """Every provider there is, by id. Imports them all."""
    return tuple([_provider(id) for id in sorted(_ids())])


def protocol(id: str) -> Protocol[Any, Any]:
    """The protocol of that id, imported at its first use. Raises `ConfigError` naming the nearest id there is."""
    names = _names(_PROTOCOLS)
    module = id.replace("-", "_")
    if "_" in id or module not in names:
        raise ConfigError(unknown("protocol", id, tuple([name.replace("_", "-") for name in names])))
    return getattr(importlib.import_module(f"{_PROTOCOLS}.{module}"), module.upper())


class Declared(NamedTuple):
    """What route files declare: the providers that are right, and all that is wrong."""

    providers: tuple[Provider, ...]
    problems: "tuple[Problem, ...]"


def load_routes(path: str | os.PathLike[str]) -> tuple[Provider, ...]:
    """The providers that a route file declares, or all `*.toml` of a folder; from now on they are found by their names.

    All is looked at before any of it counts. A file that was loaded before, or belongs to the user's configuration, is
    read anew in its place. Raises `ConfigError` naming file, line, place and what to do. Meant for the start of a
    program: models that were made before keep their routes.
    """
    read = _read(path)
    found = _declared(read)
    _raise(found.problems)
    _LOADED.update(read)
    _provider.cache_clear()
    return found.providers


def check_routes(path: str | os.PathLike[str]) -> Declared:
    """What `load_routes` would find; nothing is loaded. Raises `ConfigError` for a file that cannot be read at all."""
    return _declared(_read(path))


def resolve(name: str, *, api_key: Secret | None = None, base_url: str | None = None) -> Model[Any]:
    """The model that `provider[/api]:model` names, on its route, its rules applied; nothing is sent.

    The name is split at the first colon: what follows is the vendor's own id and may hold colons and slashes. Raises
    `ConfigError` for a name of another form, for a provider or an api that does not exist, and for a route whose URL is
    not known without `base_url` (or an environment variable, which it names).
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # untyped callers
        raise ConfigError(f"a model's name is text such as 'groq:llama-3.3-70b-versatile', not {type(name).__name__}")
    where, colon, model = name.partition(":")
    id, slash, api = where.partition("/")
    if not (colon and id and model) or (slash and not api) or model != model.strip():
        raise ConfigError(
            f"a model's name is provider:model or provider/api:model, as in groq:llama-3.3-70b-versatile, "
            f"not {excerpt(name)}"
        )
    found = provider(id)
    if not slash and found.route is None and found.apis:
        raise ConfigError(f"provider {id} has no default api; name one: {_alternatives(found, model)}")
    route: Route[Any, Any] = found.api(api if slash else None)
    return route.model(model, api_key=api_key, base_url=base_url)


def _alternatives(found: Provider, model: str) -> str:
    return " or ".join(f"{found.id}/{api}:{model[:80]}" for api in found.apis)


@functools.cache
def _provider(id: str) -> Provider:
    everywhere = _in_files()
    written = [declaration for declaration in everywhere if declaration.id == id]
    for declaration in written:
        _raise(_problems(declaration, everywhere))
    found = _built(written[-1]).provider if written else _in_code(id)
    if found is None:
        raise ConfigError(unknown("provider", id, tuple(sorted(_ids()))))
    return found


def _in_code(id: str) -> Provider | None:
    for door in _DOORS:
        loader = door().get(id)
        if loader is not None:
            return _checked(id, loader())
    return None


def _ids() -> set[str]:
    return {id for door in _DOORS for id in door()} | {declaration.id for declaration in _in_files()}


def _in_files() -> "tuple[Declaration, ...]":
    """What route files declare, in the order of the files: the user's, then those that were loaded."""
    return tuple([declaration for read in {**_configured(), **_LOADED}.values() for declaration in read])


@functools.cache
def _configured() -> "Files":
    return _read_all(files.configured())


def _read(path: str | os.PathLike[str]) -> "Files":
    return _read_all(files.files_at(Path(path)))


def _read_all(paths: tuple[Path, ...]) -> "Files":
    if not paths:
        return {}
    from llmcore.declarations.document import read

    return {path.resolve(): read(path) for path in paths}


def _declared(read: "Files") -> Declared:
    """What stands in files that have just been read, beside all that is known without them."""
    everywhere = tuple([one for file in {**_configured(), **_LOADED, **read}.values() for one in file])
    problems = list["Problem"]()
    right = list[Provider]()
    for declaration in [one for file in read.values() for one in file]:
        wrong = _problems(declaration, everywhere)
        provider = _built(declaration).provider
        problems += wrong
        if provider is not None and not wrong:
            right.append(_checked(declaration.id, provider))
    return Declared(tuple(right), tuple(problems))


def _problems(declaration: "Declaration", everywhere: "tuple[Declaration, ...]") -> "tuple[Problem, ...]":
    """All that is wrong with a declaration, and all that it may not do beside those of every file."""
    from llmcore.declarations import trust

    built = _built(declaration)
    if built.provider is None or declaration.override:
        return built.problems
    before = everywhere[: everywhere.index(declaration)]
    taken = next((other.document.file for other in before if other.id == declaration.id), _owner(declaration.id))
    return tuple(trust.problems(declaration, built.provider, taken, _others(declaration, everywhere)))


def _others(declaration: "Declaration", everywhere: "tuple[Declaration, ...]") -> Iterator[Provider]:
    """The providers whose keys are not those of `declaration`: all of code's, and those of other files that claim no
    right to them. What cannot be loaded or is wrong has no key."""
    for id in {id for door in _DOORS for id in door()} - {declaration.id}:
        try:
            found = _in_code(id)
        except ConfigError:
            continue
        if found is not None:
            yield found
    for other in everywhere:
        if other.document is not declaration.document and other.id != declaration.id and not other.override:
            found = _built(other).provider
            if found is not None:
                yield found


@functools.cache
def _built(declaration: "Declaration") -> "Built":
    from llmcore.declarations.build import build

    return build(declaration, protocol)


def _raise(problems: "tuple[Problem, ...]") -> None:
    for problem in problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise ConfigError(f"{problem}{more}")


def _owner(id: str) -> str | None:
    """Who declares that id in code, if anyone does."""
    if id in _modules() or id in _rows():
        return "llmcore"
    return f"distribution {_distribution(_points()[id])}" if id in _points() else None


def _checked(id: str, found: object) -> Provider:
    """`found`, if it is the provider `id` and its routes are its own under their own names."""
    if not isinstance(found, Provider):
        raise ConfigError(f"what is declared as provider {id} is no Provider but of type {type(found).__name__}")
    if found.id != id:
        raise ConfigError(f"what is declared as provider {id} calls itself {excerpt(found.id)}")
    for api, route in found.routes().items():
        if route.id != f"{id}/{api}":
            raise ConfigError(f"provider {id}: the route of api {api} is called {route.id}, not {id}/{api}")
    return found


@functools.cache
def _modules() -> Mapping[str, Loader]:
    """Our own modules, by id; found by their file names, not imported."""
    return {
        name.replace("_", "-"): functools.partial(_constant, name, _CONSTANT)
        for name in _names(_PACKAGE)
        if name != _ROWS
    }


@functools.cache
def _names(package: str) -> tuple[str, ...]:
    """The public modules of a package, not imported."""
    spec = importlib.util.find_spec(package)
    paths = spec.submodule_search_locations if spec is not None else None
    names = [found.name for found in pkgutil.iter_modules(paths)] if paths is not None else []
    return tuple([name for name in names if not name.startswith("_")])


@functools.cache
def _rows() -> Mapping[str, Loader]:
    """The rows of the table of those that are data only."""
    table: dict[str, Provider] = _constant(_ROWS, "COMPATIBLE")
    return {id: functools.partial(table.__getitem__, id) for id in table}


def _entry_points() -> Mapping[str, Loader]:
    """What installed distributions declare."""
    return {id: functools.partial(_loaded, point) for id, point in _points().items()}


@functools.cache
def _points() -> "Mapping[str, EntryPoint]":
    """Their entry points, by id. Raises `ConfigError` for an id that is declared twice or is ours."""
    from importlib.metadata import entry_points

    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        owner = "llmcore" if point.name in _modules() or point.name in _rows() else None
        owner = _distribution(found[point.name]) if point.name in found else owner
        if owner is not None:
            raise ConfigError(
                f"distribution {_distribution(point)} declares provider {excerpt(point.name)}, which {owner} declares; "
                "uninstall it, or have it take another id"
            )
        found[point.name] = point
    return found


def _loaded(point: "EntryPoint") -> object:
    try:
        return point.load()
    except (Exception, SystemExit) as problem:  # an imported module that exits is one that cannot be loaded
        raise ConfigError(
            f"provider {point.name} of distribution {_distribution(point)} cannot be loaded from {point.value}: "
            f"{type(problem).__name__}: {excerpt(str(problem), 300)}"
        ) from problem


def _constant(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"{_PACKAGE}.{module}"), name)


def _distribution(point: "EntryPoint") -> str:
    return point.dist.name if point.dist is not None else "(unnamed)"


_DOORS: Final = (_modules, _rows, _entry_points)
_LOADED: Final[dict[Path, "tuple[Declaration, ...]"]] = {}
"""The route files that `load_routes` has read."""
