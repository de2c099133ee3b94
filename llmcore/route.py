"""Route, Provider, Model: declarations of where and how a model is reached.

A `Route` is four orthogonal parts (Protocol, Endpoint, Auth, Framing) and what differs on it as data (quirks,
capabilities, rules, defaults). A `Provider` is a name for its routes. A `Model` is one model on one route.
"""

import fnmatch
import functools
import os
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec

from llmcore.auth import Auth
from llmcore.capabilities import Capabilities
from llmcore.errors import ConfigError
from llmcore.framing import Framing
from llmcore.protocol import Protocol
from llmcore.schema.base import Data, excerpt
from llmcore.schema.limits import MediaLimits
from llmcore.schema.request import CacheOptions, Generation, HttpExtras, ReasoningOptions
from llmcore.secret import Secret
from llmcore.url import expand, join, variables_in

Q = TypeVar("Q", bound=msgspec.Struct)
B = TypeVar("B")

Evidence = Literal["recorded", "documented"]


class Endpoint(msgspec.Struct, frozen=True):
    """Where: method and path, `{model}` standing for the model's name. Never the host."""

    method: str
    path: str
    stream_path: str | None = None

    def url(self, base_url: str, model: str, *, stream: bool) -> str:
        """The URL of one call."""
        path = self.stream_path if stream and self.stream_path is not None else self.path
        return join(base_url, expand(path, {"model": model}))


def post(path: str, *, stream_path: str | None = None) -> Endpoint:
    """`POST path`; streams go to `stream_path` where that is another."""
    return Endpoint("POST", path, stream_path)


class Defaults(Data, frozen=True, kw_only=True):
    """What a request says when it does not say it itself. Merged field by field: the later, the stronger."""

    generation: Generation = Generation()
    reasoning: ReasoningOptions | None = None
    cache: CacheOptions | None = None
    provider_options: dict[str, object] = {}
    http: HttpExtras = msgspec.field(default_factory=HttpExtras)  # it holds dicts: one of its own each time


class ModelRule(msgspec.Struct, Generic[Q], frozen=True, kw_only=True):
    """What is true of the models whose name matches `match` (a glob) and not of their whole route.

    `quirks` names the fields that differ, by name, and is checked against the protocol's quirks when the route is
    made. All rules that match are merged in order, field by field; the last wins.
    """

    match: str
    capabilities: Capabilities = Capabilities()
    quirks: dict[str, object] = {}
    defaults: Defaults = Defaults()


class Route(msgspec.Struct, Generic[Q, B], frozen=True, kw_only=True):
    """One way to a provider's models. `id` is `provider/api`. `base_url` may hold `{variables}`, which come from the
    environment variables that `variables` names (or from `base_url=`)."""

    id: str
    protocol: Protocol[Q, B]
    base_url: str
    endpoint: Endpoint
    auth: Auth
    framing: Framing
    transport: Literal["http"] = "http"
    capabilities: Capabilities = Capabilities()
    quirks: Q | None = None
    rules: tuple[ModelRule[Q], ...] = ()
    defaults: Defaults = Defaults()
    media_limits: MediaLimits = MediaLimits()
    variables: dict[str, str] = {}

    def __post_init__(self) -> None:
        provider, slash, api = self.id.partition("/")
        if not (slash and _is_id(provider) and _is_id(api)):
            raise ConfigError(f"a route's id is provider/api in lower case with hyphens, not {excerpt(self.id)}")
        if self.quirks is not None and not isinstance(self.quirks, self.protocol.quirks):
            raise ConfigError(
                f"route {self.id} speaks {self.protocol.id}, whose quirks are {self.protocol.quirks.__qualname__}, "
                f"not {type(self.quirks).__qualname__}"
            )
        known = self.protocol.quirks.__struct_fields__
        for rule in self.rules:
            for name in rule.quirks:
                if name not in known:
                    raise ConfigError(f"route {self.id}, rule {rule.match!r}: {unknown('quirk', name, known)}")
        for name in variables_in(self.base_url):
            if name not in self.variables:
                raise ConfigError(f"route {self.id}: no variable is named for {{{name}}} of its base URL")

    @property
    def provider(self) -> str:
        return self.id.partition("/")[0]

    def place(self) -> str:
        """`base_url` with its variables filled in. Raises `ConfigError` naming the environment variable that is missing
        or holds more than a name, or saying that this route has no place of its own."""
        if not self.base_url:
            raise ConfigError(f"{self.id} has no place of its own: pass base_url=, as in http://localhost:8000/v1")
        values = dict[str, str]()
        for name in variables_in(self.base_url):
            variable = self.variables[name]
            value = os.environ.get(variable, "").strip()
            if not value:
                raise ConfigError(f"{self.id} needs the {name} for its URL: set {variable}, or pass base_url=")
            if expand("{name}", {"name": value}) != value:
                raise ConfigError(f"{variable} is the {name} alone, without a scheme, a path or white space")
            values[name] = value
        return expand(self.base_url, values)

    def model(
        self,
        name: str,
        *,
        api_key: Secret | None = None,
        base_url: str | None = None,
        rules: tuple[ModelRule[Q], ...] = (),
    ) -> "Model[B]":
        """The model `name` on this route, its rules applied. `rules` come after the route's own (catalog, overlay).
        Raises what `place` raises where no `base_url` is given."""
        capabilities, defaults = self.capabilities, self.defaults
        quirks: Any = self.quirks if self.quirks is not None else self.protocol.quirks()
        for rule in (*self.rules, *rules):
            if fnmatch.fnmatchcase(name, rule.match):
                capabilities = merged(capabilities, rule.capabilities)
                defaults = merged(defaults, rule.defaults)
                quirks = msgspec.structs.replace(quirks, **rule.quirks) if rule.quirks else quirks
        return Model(
            name=name,
            route=self,
            base_url=base_url or self.place(),
            credential=api_key,
            capabilities=capabilities,
            quirks=quirks,
            defaults=defaults,
        )


class Model(msgspec.Struct, Generic[B], frozen=True, kw_only=True):
    """One model on one route, ready to be called. The credential is never encoded, compared or shown."""

    name: str
    route: Route[Any, B]
    base_url: str
    credential: Secret | None = None
    capabilities: Capabilities = Capabilities()
    quirks: msgspec.Struct
    defaults: Defaults = Defaults()

    @property
    def provider(self) -> str:
        return self.route.provider

    @property
    def id(self) -> str:
        """The model's full name, `provider/api:model`."""
        return f"{self.route.id}:{self.name}"

    def __repr__(self) -> str:
        return f"Model({self.id!r})"


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """A vendor or a server: its default `route`, and others by name in `apis`. `evidence` says what stands behind the
    declaration: bytes that were recorded, or only its documentation (`docs`, a link)."""

    id: str
    docs: str
    evidence: Evidence
    route: Route[Any, Any] | None = None
    apis: dict[str, Route[Any, Any]] = {}

    def model(self, name: str, *, api_key: Secret | None = None, base_url: str | None = None) -> Model[Any]:
        """The model `name` on the default route."""
        return self.api(None).model(name, api_key=api_key, base_url=base_url)

    def api(self, name: str | None) -> Route[Any, Any]:
        """The route of that name, or the default one. Raises `ConfigError` naming the nearest."""
        if name is None:
            if self.route is None:
                raise ConfigError(f"provider {self.id} has no model route of its own; name one: {', '.join(self.apis)}")
            return self.route
        routes = self.routes()
        if name not in routes:
            raise ConfigError(f"provider {self.id}: {unknown('api', name, tuple(routes))}")
        return routes[name]

    def routes(self) -> "dict[str, Route[Any, Any]]":
        """All routes by the name of their api, the default one first."""
        default = {} if self.route is None else {self.route.id.partition("/")[2]: self.route}
        return default | self.apis


def merged(under: Any, over: Any) -> Any:
    """Struct `over` laid upon `under` of the same type: a field that `over` sets wins; structs and dicts merge."""
    changes = dict[str, Any]()
    for field in _fields(under.__class__):
        low, high = getattr(under, field.name), getattr(over, field.name)
        default = field.default if field.default is not msgspec.NODEFAULT else None
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        if high in (default, low):
            continue
        if isinstance(high, dict) and isinstance(low, dict):
            changes[field.name] = {**low, **high}
        elif isinstance(high, msgspec.Struct) and type(high) is type(low):
            changes[field.name] = merged(low, high)
        else:
            changes[field.name] = high
    return msgspec.structs.replace(under, **changes) if changes else under


@functools.cache
def _fields(struct: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(struct)


def unknown(kind: str, name: str, known: tuple[str, ...]) -> str:
    """`unknown quirk 'x'; did you mean 'y'?`, for errors about names."""
    import difflib

    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(sorted(known))}" if known else ""
    return f"unknown {kind} {excerpt(name)}{hint}"


def _is_id(text: str) -> bool:
    return bool(text) and not text.startswith("-") and not set(text) - _ID_CHARACTERS


_ID_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-.")
