"""A declaration in a file to the `Provider` that it describes, or to all that is wrong with it."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

import msgspec

from llmcore import framing
from llmcore.auth import Auth, HeaderAuth, bearer, header, none, query
from llmcore.capabilities import Capabilities
from llmcore.declarations import literals
from llmcore.declarations.document import TOP, Declaration, Place, Problem, table_of
from llmcore.declarations.tables import WRONG, Reader
from llmcore.errors import ConfigError
from llmcore.framing import Framing
from llmcore.protocol import Protocol
from llmcore.route import Defaults, Endpoint, Evidence, ModelRule, Provider, Route
from llmcore.schema.limits import MediaLimits
from llmcore.url import expand, join, variables_in

__all__ = ["Built", "build"]

ProtocolOf: TypeAlias = Callable[[str], Protocol[Any, Any]]
"""The protocol of an id. Raises `ConfigError` naming the nearest."""


class RuleTable(msgspec.Struct, frozen=True, kw_only=True):
    """A `ModelRule` in a file. The quirks of rules and routes wait until their protocol is known."""

    match: str
    capabilities: Capabilities = Capabilities()
    quirks: dict[str, object] = {}
    defaults: Defaults = Defaults()


class EndpointTable(msgspec.Struct, frozen=True, kw_only=True):
    """An `Endpoint` in a file."""

    path: str
    method: Literal["POST", "PUT", "PATCH"] = "POST"
    stream_path: str | None = None


class RouteTable(msgspec.Struct, frozen=True, kw_only=True):
    """A `Route` in a file: the protocol and the framing by id, the auth by its one word."""

    id: str
    protocol: str
    base_url: str
    endpoint: EndpointTable
    auth: object
    framing: str
    transport: Literal["http"] = "http"
    media_limits: MediaLimits = MediaLimits()
    capabilities: Capabilities = Capabilities()
    quirks: dict[str, object] = {}
    rules: tuple[RuleTable, ...] = ()
    defaults: Defaults = Defaults()
    variables: dict[str, str] = {}


class ProviderTable(msgspec.Struct, frozen=True, kw_only=True):
    """A `Provider` in a file, whose id is the table's name. `override` lifts the rules of trust. Its routes are looked
    at one by one."""

    docs: str
    evidence: Evidence = "documented"
    override: bool = False
    route: object = None
    apis: dict[str, object] = {}


class BearerTable(msgspec.Struct, frozen=True, kw_only=True):
    bearer: tuple[str, ...]
    optional: bool = False


class HeaderTable(msgspec.Struct, frozen=True, kw_only=True):
    header: str
    env: tuple[str, ...] = ()
    prefix: str = ""
    optional: bool = False


class QueryTable(msgspec.Struct, frozen=True, kw_only=True):
    query: str
    env: tuple[str, ...] = ()
    optional: bool = False


_AUTHS: Final[Mapping[str, tuple[type[msgspec.Struct], Callable[[Any], Auth]]]] = {
    "bearer": (BearerTable, lambda table: bearer(*table.bearer, optional=table.optional)),
    "header": (
        HeaderTable,
        lambda table: header(table.header, *table.env, prefix=table.prefix, optional=table.optional),
    ),
    "query": (QueryTable, lambda table: query(table.query, *table.env, optional=table.optional)),
}
"""The auth that a table has, by the word that it must have, and what is made of it."""

_AUTH_WORDS: Final = "bearer, header or query"

_FRAMINGS: Final = {
    value.id: value for value in (getattr(framing, name) for name in framing.__all__) if isinstance(value, Framing)
}
_TOKEN: Final = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""The characters of a header's name. https://www.rfc-editor.org/rfc/rfc9110#name-tokens"""
_LONGEST_PREFIX: Final = 24


class Built(NamedTuple):
    """What came of a declaration: the provider, or `None` and all that is wrong."""

    provider: Provider | None
    problems: tuple[Problem, ...]


def build(declaration: Declaration, protocol_of: ProtocolOf) -> Built:
    """The provider that is declared. Whether it may do what it wants to is not asked here."""
    written = tuple(literals.keys(declaration.table, declaration.place))
    if written:  # these alone: what is said of anything else might repeat them
        return Built(None, tuple([declaration.document.problem(place, literals.ADVICE) for place in written]))
    builder = _Builder(declaration, protocol_of)
    provider = builder.provider()
    return Built(None if builder.problems else provider, tuple(builder.problems))


class _Builder:
    """The making of one provider. It goes on after a problem, so that all of them are told at once."""

    def __init__(self, declaration: Declaration, protocol_of: ProtocolOf) -> None:
        self.problems: list[Problem] = []
        self._declaration: Final = declaration
        self._protocol_of: Final = protocol_of
        self._reader: Final = Reader(self._note)

    def _note(self, place: Place, what: str) -> None:
        problem = self._declaration.document.problem(place, what)
        if problem not in self.problems:  # two look at the same thing, each for reasons of its own
            self.problems.append(problem)

    def provider(self) -> Provider | None:
        """The provider, `None` where there are problems."""
        place, raw = self._declaration.place, table_of(self._declaration.table)
        for where, what in literals.unsendable(self._declaration.table, place):
            self._note(where, what)
        table = self._reader.struct(ProviderTable, self._declaration.table, place)
        default = self._route(raw["route"], (*place, "route")) if "route" in raw else None
        apis = {api: self._route(given, (*place, "apis", api)) for api, given in table_of(raw.get("apis")).items()}
        if "route" not in raw and not apis:
            self._note(place, f"no route is declared: write [{TOP}.{self._declaration.id[:40]}.route]")
        routes = {api: route for api, route in apis.items() if route is not None}
        for api, route in routes.items():
            self._named(route, f"{self._declaration.id}/{api}", (*place, "apis", api))
        if default is not None:
            api = default.id.partition("/")[2]
            self._named(default, f"{self._declaration.id}/{api}", (*place, "route"))
            if api in apis:
                self._note((*place, "apis", api), "the default route has that name already")
        if self.problems:
            return None
        return Provider(id=self._declaration.id, docs=table.docs, evidence=table.evidence, route=default, apis=routes)

    def _named(self, route: Route[Any, Any], id: str, place: Place) -> None:
        if route.id != id:
            self._note((*place, "id"), f"this route is called {id}")

    def _route(self, given: object, place: Place) -> Route[Any, Any] | None:
        """The route of a table, `None` where there are problems."""
        before, raw = len(self.problems), table_of(given)
        table = self._reader.struct(RouteTable, given, place)
        auth = self._auth(raw["auth"], (*place, "auth")) if "auth" in raw else None
        framed = self._framing(raw.get("framing"), (*place, "framing"))
        protocol = self._protocol(raw.get("protocol"), (*place, "protocol"))
        quirks, of_rules = self._quirks(raw, protocol, place) if protocol is not None else (None, [])
        self._addresses(raw, place)
        self._extras(raw, place)
        for index, rule in enumerate(_list(raw.get("rules"))):
            self._extras(table_of(rule), (*place, "rules", index))
        if len(self.problems) > before or protocol is None or auth is None or framed is None:
            return None
        rules: list[ModelRule[Any]] = [
            ModelRule(match=rule.match, capabilities=rule.capabilities, quirks=values, defaults=rule.defaults)
            for rule, values in zip(table.rules, of_rules, strict=True)
        ]
        try:
            return Route(
                id=table.id,
                protocol=protocol,
                base_url=table.base_url,
                endpoint=Endpoint(table.endpoint.method, table.endpoint.path, table.endpoint.stream_path),
                auth=auth,
                framing=framed,
                transport=table.transport,
                capabilities=table.capabilities,
                media_limits=table.media_limits,
                quirks=quirks if "quirks" in raw else None,
                rules=tuple(rules),
                defaults=table.defaults,
                variables=table.variables,
            )
        except ConfigError as problem:  # what a Route says of itself
            self._note(place, problem.message)
            return None

    def _protocol(self, id: object, place: Place) -> Protocol[Any, Any] | None:
        if not isinstance(id, str):
            return None  # missing, or no text: that has been noted
        try:
            return self._protocol_of(id)
        except ConfigError as problem:
            self._note(place, problem.message)
            return None

    def _framing(self, id: object, place: Place) -> Framing | None:
        if isinstance(id, str) and id not in _FRAMINGS:
            self._note(place, literals.unknown_name("framing", id, tuple(_FRAMINGS)))
        return _FRAMINGS.get(id) if isinstance(id, str) else None

    def _auth(self, given: object, place: Place) -> Auth | None:
        if given == "none":
            return none()
        if not isinstance(given, dict):
            self._note(place, f'an auth is "none" or a table with {_AUTH_WORDS}; {literals.ADVICE}')
            return None
        table = cast("dict[str, object]", given)
        words = [word for word in _AUTHS if word in table]
        if len(words) != 1:
            self._note(place, f"an auth has one of {_AUTH_WORDS}")
            return None
        kind, make = _AUTHS[words[0]]
        read = self._reader.struct(kind, table, place)
        if read is WRONG:
            return None
        auth = make(read)
        for name in auth.env:
            self._variable(name, place)
        if isinstance(auth, HeaderAuth) and (not auth.name or set(auth.name) - _TOKEN):
            self._note((*place, "header"), "this is no name of a header")
        if isinstance(auth, HeaderAuth) and words[0] == "header" and not _is_prefix(auth.prefix):
            self._note((*place, "prefix"), f"a prefix is at most {_LONGEST_PREFIX} printable ASCII characters")
        return auth

    def _variable(self, name: str, place: Place) -> None:
        if not literals.VARIABLES.match(name):
            what = "what names a variable here is not one: capital letters, digits and underscores"
            self._note(place, f"{what}; {literals.ADVICE}")

    def _quirks(self, raw: dict[str, object], protocol: Protocol[Any, Any], place: Place) -> tuple[Any, list[Any]]:
        """The quirks of a route, and those that each of its rules names, as the protocol has them. The options of both
        are looked at, too."""
        quirks = self._reader.struct(protocol.quirks, raw.get("quirks", {}), (*place, "quirks"))
        self._options(raw, protocol, place)
        of_rules = list[Any]()
        for index, rule in enumerate(_list(raw.get("rules"))):
            where = (*place, "rules", index)
            given = table_of(rule).get("quirks", {})
            of_rules.append(self._reader.fields(protocol.quirks, given, (*where, "quirks"), some=True))
            self._reader.struct(protocol.quirks, given, (*where, "quirks"))  # what the struct thinks of them together
            self._options(table_of(rule), protocol, where)
        return quirks, of_rules

    def _options(self, raw: dict[str, object], protocol: Protocol[Any, Any], place: Place) -> None:
        """Looks at the `provider_options` of the defaults in `raw`: they stay as they are, and the protocol reads them
        with each call."""
        place = (*place, "defaults", "provider_options")
        known = (self._declaration.id, protocol.id)
        for key, given in table_of(table_of(raw.get("defaults")).get("provider_options")).items():
            if key not in known:
                self._note((*place, key), literals.unknown_name("provider or protocol", key, known))
                continue
            ours, table = protocol.options.__struct_fields__, table_of(given)
            for name in sorted(table.keys() - set(ours)):
                self._note((*place, key, name), literals.unknown_name("option", name, ours))
            try:
                msgspec.convert({n: table[n] for n in ours if n in table} if table else given, protocol.options)
            except msgspec.ValidationError as problem:
                self._note((*place, key), str(problem))

    def _addresses(self, raw: dict[str, object], place: Place) -> None:
        """Looks at all that says where a request goes: the URL, its variables, the paths."""
        base, variables = raw.get("base_url"), table_of(raw.get("variables"))
        for name, variable in variables.items():
            if isinstance(variable, str):
                self._variable(variable, (*place, "variables", name))
                if literals.credential(variable):
                    self._note((*place, "variables", name), "a key does not go into a URL: name it in auth")
        if isinstance(base, str) and base:
            for name in sorted(variables.keys() - set(variables_in(base))):
                self._note((*place, "variables", name), "the base URL has no such variable")
            self._base(base, (*place, "base_url"))
        for name in ("path", "stream_path"):
            path = table_of(raw.get("endpoint")).get(name)
            if isinstance(path, str) and set(variables_in(path)) - {"model"}:
                self._note((*place, "endpoint", name), "{model} is the only variable of a path")

    def _base(self, base: str, place: Place) -> None:
        if literals.in_query(base):
            self._note(place, f"the query of the URL holds a credential; {literals.ADVICE}")
        try:
            join(expand(base, dict.fromkeys(variables_in(base), "x")))
        except ConfigError as problem:
            self._note(place, problem.message)

    def _extras(self, raw: dict[str, object], place: Place) -> None:
        """Looks at the door to headers, query and body in the defaults in `raw`: no credential goes through it."""
        extras = table_of(table_of(raw.get("defaults")).get("http"))
        for door in ("headers", "query", "body"):
            for name in table_of(extras.get(door)):
                if literals.credential(name):
                    self._note((*place, "defaults", "http", door, name), literals.ADVICE)


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _is_prefix(text: str) -> bool:
    return len(text) <= _LONGEST_PREFIX and text.isascii() and (text.isprintable() or not text)
