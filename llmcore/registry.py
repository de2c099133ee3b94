"""The registry: provider ids to `Provider`s, model names to `Model`s. The one file that reaches up, and only by data.

A provider comes through one of three doors, tried in this order, each opened at its first use and not before:

1. a module of ours: `llmcore.providers.<id with underscores>`, in its constant `PROVIDER`;
2. a row of ours: `COMPATIBLE[id]` in `llmcore.providers.compatible`;
3. an entry point of an installed distribution: group `llmcore.providers`, named by the id, its object a `Provider`.

What comes out of any of them is checked alike. A later door never redefines an id of an earlier one.
"""

import functools
import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from llmcore.errors import ConfigError
from llmcore.route import Model, Provider, Route, unknown
from llmcore.schema.base import excerpt
from llmcore.secret import Secret

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["ENTRY_POINT_GROUP", "provider", "providers", "resolve"]

ENTRY_POINT_GROUP: Final = "llmcore.providers"
"""The entry-point group in which a distribution declares providers of its own."""

_PACKAGE: Final = "llmcore.providers"
_ROWS: Final = "compatible"
_CONSTANT: Final = "PROVIDER"

Loader: TypeAlias = Callable[[], object]
"""Imports one declaration and gives it, unchecked."""


def provider(id: str) -> Provider:
    """The provider of that id, imported at its first use. Raises `ConfigError` naming the nearest id there is, or
    saying what is wrong with the declaration."""
    return _provider(id)


def providers() -> tuple[Provider, ...]:
    """Every provider there is, by id. Imports them all."""
    return tuple([_provider(id) for id in sorted(_ids())])


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
    for door in _DOORS:
        loader = door().get(id)
        if loader is not None:
            return _checked(id, loader())
    raise ConfigError(unknown("provider", id, tuple(sorted(_ids()))))


def _ids() -> set[str]:
    return {id for door in _DOORS for id in door()}


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
    spec = importlib.util.find_spec(_PACKAGE)
    paths = spec.submodule_search_locations if spec is not None else None
    names = [found.name for found in pkgutil.iter_modules(paths)] if paths is not None else []
    return {
        name.replace("_", "-"): functools.partial(_constant, name, _CONSTANT)
        for name in names
        if name != _ROWS and not name.startswith("_")
    }


@functools.cache
def _rows() -> Mapping[str, Loader]:
    """The rows of the table of those that are data only."""
    table: dict[str, Provider] = _constant(_ROWS, "COMPATIBLE")
    return {id: functools.partial(table.__getitem__, id) for id in table}


@functools.cache
def _entry_points() -> Mapping[str, Loader]:
    """What installed distributions declare. Raises `ConfigError` for an id that is declared twice or is ours."""
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
    return {id: functools.partial(_loaded, point) for id, point in found.items()}


def _loaded(point: "EntryPoint") -> object:
    try:
        return point.load()
    except Exception as problem:
        raise ConfigError(
            f"provider {point.name} of distribution {_distribution(point)} cannot be loaded from {point.value}: "
            f"{type(problem).__name__}: {excerpt(str(problem), 300)}"
        ) from problem


def _constant(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"{_PACKAGE}.{module}"), name)


def _distribution(point: "EntryPoint") -> str:
    return point.dist.name if point.dist is not None else "(unnamed)"


_DOORS: Final = (_modules, _rows, _entry_points)
