"""Route files: what they can say, what they may not, and how that is told."""

import itertools
import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llmcore import auth, registry
from llmcore.auth import CallableAuth, HeaderAuth, NoAuth, QueryAuth
from llmcore.capabilities import Capabilities
from llmcore.declarations import build, literals, trust
from llmcore.declarations.document import MAX_BYTES, Document, Problem, dotted, read
from llmcore.declarations.tables import WRONG, Reader
from llmcore.errors import ConfigError
from llmcore.framing import SSE
from llmcore.protocols.openai_chat import OPENAI_CHAT, Quirks
from llmcore.registry import Declared
from llmcore.route import Defaults, Endpoint, ModelRule, Provider, Route, post
from llmcore.schema.request import CacheOptions, Generation, HttpExtras, ReasoningOptions
from llmcore.wire.ids import IdRule
from llmcore.wire.tags import ThinkingTags

HOUSE = """\
[providers.house]
docs = "https://llm.example.com/docs"

[providers.house.route]
id = "house/chat"
protocol = "openai-chat"
base_url = "https://llm.example.com/v1"
endpoint = { path = "/chat/completions" }
auth = { bearer = ["EXAMPLE_API_KEY"] }
framing = "sse"
"""

IN_PYTHON = Provider(
    id="house",
    docs="https://llm.example.com/docs",
    evidence="documented",
    route=Route(
        id="house/chat",
        protocol=OPENAI_CHAT,
        base_url="https://llm.example.com/v1",
        endpoint=post("/chat/completions"),
        auth=auth.bearer("EXAMPLE_API_KEY"),
        framing=SSE,
    ),
)

Check = Callable[[str], Declared]


@pytest.fixture(autouse=True)
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A user without route files, and a registry that has read none."""
    empty = tmp_path / "configuration"
    empty.mkdir()
    monkeypatch.setenv("LLMCORE_CONFIG", str(empty))
    forget()
    yield
    forget()


def forget() -> None:
    registry._LOADED.clear()
    registry._configured.cache_clear()
    registry._provider.cache_clear()


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """What a file of that text declares."""

    def check(text: str) -> Declared:
        file = tmp_path / "house.toml"
        file.write_text(text, encoding="utf-8")
        return registry.check_routes(file)

    return check


def told(declared: Declared) -> list[tuple[int | None, str, str]]:
    """The problems as (line, place, text)."""
    return [(problem.line, dotted(problem.place), problem.what) for problem in declared.problems]


# -- What a file can say


def test_ten_lines_of_toml_are_ten_lines_of_python(check: Check) -> None:
    assert check(HOUSE) == ((IN_PYTHON,), ())
    assert len([line for line in HOUSE.splitlines() if line]) <= 10


def test_everything_that_a_route_has_can_be_said(check: Check) -> None:
    declared = check("""
        [providers.all]
        docs = "d"
        evidence = "recorded"

        [providers.all.route]
        id = "all/chat"
        protocol = "openai-chat"
        framing = "sse"
        transport = "http"
        base_url = "https://{region}.example.com/v1?api-version=2"
        variables = { region = "EXAMPLE_REGION" }
        endpoint = { method = "POST", path = "/{model}/chat", stream_path = "/{model}/stream" }
        auth = { header = "x-key", prefix = "Key ", env = ["EXAMPLE_API_KEY", "EXAMPLE_KEY"], optional = true }

        [providers.all.route.capabilities]
        tools = true
        prefill = false
        media_input = ["image", "audio"]
        output_combinations = [["text"], ["audio", "text"]]
        max_input_tokens = 8192

        [providers.all.route.quirks]
        max_tokens_field = "max_tokens"
        knobs = { top_k = "top_k", logprobs = false }
        stop_limit = false
        thinking_tags = { open = "<thought>" }
        media = { image = false, video = "video_url" }
        tool_ids = { characters = "alphanumeric", length = 9, exact = true }
        hosted_tools = ["browser_*"]
        reasoning_blank = true

        [providers.all.route.defaults]
        generation = { max_tokens = 100, temperature = 1, stop = ["END"] }
        reasoning = { effort = "low" }
        cache = { mode = "off" }
        provider_options = { openai-chat = { service_tier = "flex" }, all = { store = false } }
        http = { headers = { x-team = "search" }, query = { trace = "1" }, body = { extra = { deep = [1, 2.5] } } }

        [[providers.all.route.rules]]
        match = "big-*"
        capabilities = { reasoning = true }
        quirks = { thinking_tags = false, tool_ids = { length = 12 }, hosted_tools = ["a", "b"] }
        defaults = { generation = { max_tokens = 200 } }

        [[providers.all.route.rules]]
        match = "*-mini"

        [providers.all.apis.query]
        id = "all/query"
        protocol = "openai-chat"
        framing = "sse"
        base_url = "http://[::1]:8000"
        endpoint = { path = "/chat" }
        auth = { query = "k", env = ["EXAMPLE_API_KEY"] }

        [providers.all.apis.open]
        id = "all/open"
        protocol = "openai-chat"
        framing = "sse"
        base_url = ""
        endpoint = { path = "/chat" }
        auth = "none"
    """)
    assert told(declared) == []
    (provider,) = declared.providers

    def plain(api: str, base_url: str, how: auth.Auth) -> Route[Any, Any]:
        return Route(
            id=f"all/{api}", protocol=OPENAI_CHAT, base_url=base_url, endpoint=post("/chat"), auth=how, framing=SSE
        )

    assert provider == Provider(
        id="all",
        docs="d",
        evidence="recorded",
        route=Route(
            id="all/chat",
            protocol=OPENAI_CHAT,
            base_url="https://{region}.example.com/v1?api-version=2",
            variables={"region": "EXAMPLE_REGION"},
            endpoint=post("/{model}/chat", stream_path="/{model}/stream"),
            auth=auth.header("x-key", "EXAMPLE_API_KEY", "EXAMPLE_KEY", prefix="Key ", optional=True),
            framing=SSE,
            capabilities=Capabilities(
                tools=True,
                prefill=False,
                media_input=("image", "audio"),
                output_combinations=(("text",), ("audio", "text")),
                max_input_tokens=8192,
            ),
            quirks=Quirks(
                max_tokens_field="max_tokens",
                knobs={"top_k": "top_k", "logprobs": None},
                stop_limit=None,
                thinking_tags=ThinkingTags(open="<thought>"),
                media={"image": None, "video": "video_url"},
                tool_ids=IdRule(characters="alphanumeric", length=9, exact=True),
                hosted_tools=("browser_*",),
                reasoning_blank=True,
            ),
            rules=(
                ModelRule(
                    match="big-*",
                    capabilities=Capabilities(reasoning=True),
                    quirks={"thinking_tags": None, "tool_ids": IdRule(length=12), "hosted_tools": ("a", "b")},
                    defaults=Defaults(generation=Generation(max_tokens=200)),
                ),
                ModelRule(match="*-mini"),
            ),
            defaults=Defaults(
                generation=Generation(max_tokens=100, temperature=1.0, stop=("END",)),
                reasoning=ReasoningOptions(effort="low"),
                cache=CacheOptions(mode="off"),
                provider_options={"openai-chat": {"service_tier": "flex"}, "all": {"store": False}},
                http=HttpExtras(headers={"x-team": "search"}, query={"trace": "1"}, body={"extra": {"deep": [1, 2.5]}}),
            ),
        ),
        apis={
            "query": plain("query", "http://[::1]:8000", auth.query("k", "EXAMPLE_API_KEY")),
            "open": plain("open", "", auth.none()),
        },
    )
    assert provider.api("chat").model("big-1", base_url="http://h").quirks == Quirks(
        max_tokens_field="max_tokens",
        knobs={"top_k": "top_k", "logprobs": None},
        stop_limit=None,
        media={"image": None, "video": "video_url"},
        tool_ids=IdRule(length=12),
        hosted_tools=("a", "b"),
        reasoning_blank=True,
    )


@pytest.mark.parametrize(
    ("form", "struct", "more"),
    [
        (build.ProviderTable, Provider, {"override"}),
        (build.RouteTable, Route, set[str]()),
        (build.RuleTable, ModelRule, set[str]()),
        (build.EndpointTable, Endpoint, set[str]()),
    ],
)
def test_a_table_has_the_fields_of_its_struct(form: Any, struct: Any, more: set[str]) -> None:
    assert set(form.__struct_fields__) - more == set(struct.__struct_fields__) - (
        {"id"} if struct is Provider else set()
    )


PROVIDERS = registry.providers()


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.id)
def test_every_provider_of_ours_could_be_a_file(provider: Provider, check: Check) -> None:
    """What Python says of a vendor, TOML can say, too."""
    if any(isinstance(route.auth, CallableAuth) for route in provider.routes().values()):
        pytest.skip("a function stands in no file")
    declared = check(written(provider))
    assert told(declared) == []
    assert declared.providers == (provider,)


def written(provider: Provider) -> str:
    """The provider as a route file."""
    table: dict[str, object] = {"docs": provider.docs, "evidence": provider.evidence, "override": True}
    if provider.route is not None:
        table["route"] = route_table(provider.route)
    table["apis"] = {api: route_table(route) for api, route in provider.apis.items()}
    return f"[providers]\n{json.dumps(provider.id)} = {toml(table)}\n"


def route_table(route: Route[Any, Any]) -> dict[str, object]:
    fields: dict[str, object] = {name: getattr(route, name) for name in route.__struct_fields__}
    changes = {"protocol": route.protocol.id, "framing": route.framing.id, "auth": auth_table(route.auth)}
    return {name: value for name, value in (fields | changes).items() if value is not None}


def auth_table(how: auth.Auth) -> object:
    optional = {"optional": True} if how.optional else {}
    match how:
        case NoAuth():
            return "none"
        case HeaderAuth(name="authorization", prefix="Bearer "):
            return {"bearer": how.env, **optional}
        case HeaderAuth():
            return {"header": how.name, "prefix": how.prefix, "env": how.env, **optional}
        case QueryAuth():
            return {"query": how.name, "env": how.env, **optional}
        case _:
            raise AssertionError(how)


def toml(value: object) -> str:
    """The value in TOML's own words; a field that is `None` by default is left out, any other `None` is `false`."""
    match value:
        case None:
            return "false"
        case bool() | int() | float():
            return json.dumps(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list() | tuple():
            return f"[{', '.join(map(toml, value))}]"
        case dict():
            return "{" + ", ".join(f"{json.dumps(name)} = {toml(inner)}" for name, inner in value.items()) + "}"
        case msgspec.Struct():
            defaults = {field.name: field.default for field in msgspec.structs.fields(value)}
            given = {name: getattr(value, name) for name in value.__struct_fields__}
            return toml(
                {name: inner for name, inner in given.items() if not (inner is None and defaults[name] is None)}
            )
        case _:
            raise AssertionError(value)


# -- What is wrong, where, and what to do

ROUTE = "providers.house.route"


@pytest.mark.parametrize(
    ("old", "new", "line", "place", "said"),
    [
        # Keys and words, with the nearest
        ('docs = "', 'dogs = "', 2, "providers.house.dogs", "unknown key 'dogs'; did you mean 'docs'?"),
        ('docs = "', 'dogs = "', 1, "providers.house", "docs is missing"),
        ("base_url =", "base_uri =", 7, f"{ROUTE}.base_uri", "unknown key 'base_uri'; did you mean 'base_url'?"),
        ("base_url =", "base_uri =", 4, ROUTE, "base_url is missing"),
        ("{ path", "{ paht", 8, f"{ROUTE}.endpoint.paht", "unknown key 'paht'; did you mean 'path'?"),
        ('"openai-chat"', '"openai-chart"', 6, f"{ROUTE}.protocol", "unknown protocol 'openai-chart'; did you mean"),
        ('"openai-chat"', '"openai_chat"', 6, f"{ROUTE}.protocol", "unknown protocol 'openai_chat'; did you mean"),
        ('"sse"', '"ssse"', 10, f"{ROUTE}.framing", "unknown framing 'ssse'; did you mean 'sse'?"),
        ('"sse"', '"sse"\ntransport = "htp"', 11, f"{ROUTE}.transport", "unknown word 'htp'; did you mean 'http'?"),
        ('docs"\n', 'docs"\nevidence = "seen"\n', 3, "providers.house.evidence", "unknown word 'seen'; known are"),
        # Types
        ('"openai-chat"', "7", 6, f"{ROUTE}.protocol", "expected text, found a whole number"),
        ('"sse"', "true", 10, f"{ROUTE}.framing", "expected text, found true or false"),
        ('{ path = "/chat/completions" }', '"/chat"', 8, f"{ROUTE}.endpoint", "expected a table, found text"),
        ('"sse"', '"sse"\nrules = "x"', 11, f"{ROUTE}.rules", "expected a list, found text"),
        ('"sse"', '"sse"\nrules = [1]', 11, f"{ROUTE}.rules[0]", "expected a table, found a whole number"),
        ('"sse"', '"sse"\nrules = [{}]', 11, f"{ROUTE}.rules[0]", "match is missing"),
        ('docs"\n', 'docs"\noverride = "yes"\n', 3, "providers.house.override", "expected true or false, found text"),
        ('docs"\n', 'docs"\napis = []\n', 3, "providers.house.apis", "expected a table, found a list"),
        ('docs = "https://llm.example.com/docs"', "docs = 1979-05-27", 2, "providers.house.docs", "JSON has no dates"),
        ('docs = "https://llm.example.com/docs"', "docs = 07:32:00", 2, "providers.house.docs", "found a date or"),
        # Names and places
        ('"house/chat"', '"hut/chat"', 5, f"{ROUTE}.id", "this route is called house/chat"),
        ('"house/chat"', '"House"', 4, ROUTE, "a route's id is provider/api in lower case with hyphens, not 'House'"),
        ('"https://llm.example.com/v1"', '"llm.example.com"', 7, f"{ROUTE}.base_url", "a base URL is http(s)://host…"),
        (
            "https://llm.example.com/v1", "https://me:pw@llm.example.com",
            7, f"{ROUTE}.base_url", "the base URL has credentials before its host",
        ),
        ("https://llm.example.com/v1", "https://[/v1", 7, f"{ROUTE}.base_url", "the base URL does not parse: "),
        ("com/v1", "com/v1#x", 7, f"{ROUTE}.base_url", "the base URL has a #fragment"),
        ("com/v1", "com/v1?key=x", 7, f"{ROUTE}.base_url", "the query of the URL holds a credential"),
        ("com/v1", "com/{region}", 4, ROUTE, "no variable is named for {region} of its base URL"),
        ("/chat/c", "/{name}/c", 8, f"{ROUTE}.endpoint.path", "{model} is the only variable of a path"),
        (
            '"sse"', '"sse"\nvariables = { place = "REGION" }',
            11, f"{ROUTE}.variables.place", "the base URL has no such variable",
        ),
        # Auth
        ('{ bearer = ["EXAMPLE_API_KEY"] }', '"bearer"', 9, f"{ROUTE}.auth", 'an auth is "none" or a table'),
        ('{ bearer = ["EXAMPLE_API_KEY"] }', "{ }", 9, f"{ROUTE}.auth", "an auth has one of bearer, header or query"),
        ("{ bearer", '{ query = "k", bearer', 9, f"{ROUTE}.auth", "an auth has one of bearer, header or query"),
        ('["EXAMPLE_API_KEY"]', '"EXAMPLE_API_KEY"', 9, f"{ROUTE}.auth.bearer", "expected a list, found text"),
        ('"] }', '"], prefix = "x" }', 9, f"{ROUTE}.auth.prefix", "unknown key 'prefix'"),
        ("EXAMPLE_API_KEY", "example-key", 9, f"{ROUTE}.auth", "what names a variable here is not one"),
        ("bearer =", 'header = "x key", env =', 9, f"{ROUTE}.auth.header", "this is no name of a header"),
        ("bearer =", 'header = "x", prefix = "a\\nb", env =', 9, f"{ROUTE}.auth.prefix", "a prefix is at most 24"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(
    old: str, new: str, line: int, place: str, said: str, check: Check
) -> None:
    assert old in HOUSE
    declared = check(HOUSE.replace(old, new, 1))
    assert declared.providers == ()
    assert any((line, place) == found[:2] and said in found[2] for found in told(declared)), told(declared)


@pytest.mark.parametrize(
    ("quirks", "place", "said"),
    [
        ('max_token_field = "x"', "max_token_field", "unknown key 'max_token_field'; did you mean 'max_tokens_field'?"),
        ('max_tokens_field = "max"', "max_tokens_field", "unknown word 'max'"),
        ('stop_limit = "4"', "stop_limit", "expected a whole number, found text"),
        ("stop_limit = 4.5", "stop_limit", "expected a whole number, found a number"),
        ("stop_limit = true", "stop_limit", "expected a whole number, found true or false"),
        ("cache_breakpoints = false", "cache_breakpoints", "expected a whole number, found true or false"),
        ("reasoning_blank = 1", "reasoning_blank", "expected true or false, found a whole number"),
        ('knobs = { seeed = "seed" }', "knobs.seeed", "unknown word 'seeed'; did you mean 'seed'?"),
        ('knobs = { seed = "sead" }', "", "quirk knobs['seed']: unknown field 'sead'; did you mean 'seed'?"),
        ("knobs = { seed = 1 }", "knobs.seed", "expected text, found a whole number"),
        ("knobs = 1", "knobs", "expected a table, found a whole number"),
        ('media = { image = "image" }', "media.image", "unknown word 'image'; did you mean 'image_url'?"),
        ("efforts = { low = false }", "efforts.low", "expected text, found true or false"),
        ("hosted_tools = [1]", "hosted_tools[0]", "expected text, found a whole number"),
        ('thinking_tags = "<think>"', "thinking_tags", "expected a table, found text"),
        ('tool_ids = { lenght = 9 }', "tool_ids.lenght", "unknown key 'lenght'; did you mean 'length'?"),
        ('tool_ids = { characters = "all" }', "tool_ids.characters", "unknown word 'all'"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("holder", ["route", "rule"])
def test_quirks_are_held_to_those_of_the_protocol(
    holder: str, quirks: str, place: str, said: str, check: Check
) -> None:
    header, where = f"[{ROUTE}.quirks]\n", f"{ROUTE}.quirks"
    if holder == "rule":
        header, where = (
            f'[[{ROUTE}.rules]]\nmatch = "a"\n[[{ROUTE}.rules]]\nmatch = "b"\n[{ROUTE}.rules.quirks]\n',
            (f"{ROUTE}.rules[1].quirks"),
        )
    ((line, found, what),) = told(check(f"{HOUSE}{header}{quirks}\n"))
    assert found == (f"{where}.{place}" if place else where)
    assert said in what
    assert line == len((HOUSE + header).splitlines()) + (1 if place else 0)


@pytest.mark.parametrize(
    ("options", "place", "said"),
    [
        ("openai-chat = { servise_tier = 'x' }", "openai-chat.servise_tier", "unknown option 'servise_tier'; did you"),
        ("openai-chat = { service_tier = 1 }", "openai-chat", "Expected `str | null`, got `int` - at `$.service_tier`"),
        ("house = { store = 'x' }", "house", "Expected `bool | null`, got `str` - at `$.store`"),
        ("openai-chat = 1", "openai-chat", "Expected `object`, got `int`"),
        ("openai = { store = true }", "openai", "unknown provider or protocol 'openai'; did you mean 'openai-chat'?"),
    ],
)
def test_options_are_held_to_those_of_the_protocol(options: str, place: str, said: str, check: Check) -> None:
    text = f"{HOUSE}[{ROUTE}.defaults.provider_options]\n{options}\n"
    ((line, found, what),) = told(check(text))
    assert (line, found) == (12, f"{ROUTE}.defaults.provider_options.{place}")
    assert said in what


def test_everything_that_is_wrong_is_told_at_once(check: Check) -> None:
    text = HOUSE.replace("docs =", "dogs =").replace('"sse"', '"ssse"').replace('"openai-chat"', '"openai-chart"')
    second = HOUSE.replace("house", "home").replace("path", "paht")
    declared = check(f"{text}\n{second}\n{HOUSE.replace('house', 'third')}")
    assert [problem.place[1] for problem in declared.problems] == ["house"] * 4 + ["home"] * 2
    assert [provider.id for provider in declared.providers] == ["third"]


def test_a_route_is_needed(check: Check) -> None:
    ((line, place, what),) = told(check('[providers.house]\ndocs = "d"\n'))
    assert (line, place) == (1, "providers.house")
    assert what == "no route is declared: write [providers.house.route]"


def test_an_api_is_filed_under_its_routes_own_name(check: Check) -> None:
    other = HOUSE.partition("\n\n")[2].replace("house.route", "house.apis.other").replace("house/chat", "house/others")
    assert told(check(HOUSE + other)) == [(12, "providers.house.apis.other.id", "this route is called house/other")]
    same = other.replace("apis.other", "apis.chat").replace("house/others", "house/chat")
    assert told(check(HOUSE + same)) == [(11, "providers.house.apis.chat", "the default route has that name already")]


def test_an_error_names_file_line_place_and_what(check: Check, tmp_path: Path) -> None:
    check(HOUSE.replace("docs =", "dogs ="))
    file = tmp_path / "house.toml"
    with pytest.raises(ConfigError) as caught:
        registry.load_routes(file)
    assert str(caught.value) == (
        f"{file}:2: providers.house.dogs: unknown key 'dogs'; did you mean 'docs'? (and 1 more)"
    )


class Mixed(msgspec.Struct, frozen=True, kw_only=True):
    """Kinds that no quirk has yet."""

    either: str | int = 0
    many: tuple[str, ...] | str | None = None
    flag: bool | None = None


@pytest.mark.parametrize(
    ("table", "read", "noted"),
    [
        ({"either": "a", "many": ["b"], "flag": False}, Mixed(either="a", many=("b",), flag=False), ""),
        ({"either": 7, "many": "b", "flag": True}, Mixed(either=7, many="b", flag=True), ""),
        ({"many": False}, Mixed(), ""),
        ({"either": False}, WRONG, "this must be something: false stands for nothing"),
        ({"either": [1]}, WRONG, "expected text or a whole number, found a list"),
        ({"many": 1}, WRONG, "expected a list or text, found a whole number"),
    ],
)
def test_a_field_of_several_kinds(table: dict[str, object], read: object, noted: str) -> None:
    notes = list[str]()
    assert Reader(lambda _, what: notes.append(what)).struct(Mixed, table, ()) == read
    assert notes == ([noted] if noted else [])


# -- Files that are none


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"[providers.house\n", r"house\.toml:1: this is no TOML"),
        (b"\n\na = 1\na = 2\n", r"house\.toml:4: this is no TOML"),
        (b"docs = 'x'\n", r"house\.toml:1: docs: unknown key 'docs'; known are providers"),
        (b"\n[provider.house]\n", r"house\.toml:2: provider: unknown key 'provider'; did you mean 'providers'\?"),
        (b"providers = 1\n", r"house\.toml:1: providers: providers are tables: write \[providers\.ID\]"),
        (b"[[providers]]\n", r"house\.toml:1: providers: providers are tables"),
        (b"a = 1\n# \xff\n", r"house\.toml:2: this is no UTF-8"),
        (b"a = " + b"[" * 20000, r"house\.toml nests too deeply|this is no TOML"),
        (b"providers" + b".a" * 20000 + b" = 1", r"house\.toml nests too deeply: no route file"),
        (b"providers.a = " + b"[" * 70 + b"]" * 70, r"house\.toml nests too deeply: no route file"),
        (b"a = " + b"9" * 5000, r"house\.toml: this is no TOML"),
        (b"#" * (MAX_BYTES + 1), r"house\.toml is larger than"),
    ],
)
def test_a_file_that_is_no_route_file_is_refused(data: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "house.toml"
    file.write_bytes(data)
    with pytest.raises(ConfigError, match=said):
        registry.check_routes(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.toml cannot be read: No such file"):
        registry.load_routes(tmp_path / "absent.toml")
    (tmp_path / "all" / "folder.toml").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"folder\.toml cannot be read: "):
        registry.load_routes(tmp_path / "all")


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    file = tmp_path / "house.toml"
    file.write_bytes(b"\xef\xbb\xbf" + HOUSE.replace("\n", "\r\n").encode())
    assert registry.check_routes(file).providers == (IN_PYTHON,)
    file.write_bytes(b"\xef\xbb\xbf" + HOUSE.replace("sse", "ssse").replace("\n", "\r\n").encode())
    assert [problem.line for problem in registry.check_routes(file).problems] == [10]


def test_a_provider_that_is_no_table_is_refused(check: Check) -> None:
    assert told(check("[providers]\nhouse = 1\n"))[0] == (
        2,
        "providers.house",
        "expected a table, found a whole number",
    )


# -- Keys

CANARY = "sk-canary0123456789abcdef"


def strings(text: str) -> list[tuple[int, int]]:
    """Where the quoted texts of a document stand."""
    marks = [index for index, char in enumerate(text) if char == '"']
    return [(start + 1, end) for start, end in zip(marks[::2], marks[1::2], strict=True)]


@pytest.mark.parametrize("span", strings(HOUSE), ids=lambda span: HOUSE[slice(*span)])
def test_a_key_in_the_place_of_any_text_is_refused_and_not_repeated(span: tuple[int, int], check: Check) -> None:
    text = HOUSE[: span[0]] + CANARY + HOUSE[span[1] :]
    (problem,) = check(text).problems
    assert literals.ADVICE in problem.what
    assert "canary" not in str(problem)
    assert problem.line == HOUSE.count("\n", 0, span[0]) + 1


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-0123456789abcdefgh", "gsk_0123456789abcdefghij", "hf_AbcdefghijKlmnopqrst", "xai-0123456789abcdefghij",
        "AIza" + "Sy0123456789abcdefghijklmnopqrstuvw", "AKIA" + "0123456789ABCDEF", "ASIA" + "0123456789ABCDEF",
        "eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "Bearer 0123456789abcdef", "basic QWxhZGRpbjpvcGVu",
        "nvapi-0123456789abcdefghij",
        "github_pat_0123456789abcdefghij",
    ],
)  # fmt: skip
def test_what_vendors_keys_look_like_is_known(key: str, check: Check) -> None:
    for text in (
        f'{HOUSE}[{ROUTE}.defaults.http.headers]\nx-team = "{key}"\n',
        f'{HOUSE}[{ROUTE}.defaults.http.body]\n"{key}" = 1\n',
        f'{HOUSE}[{ROUTE}.defaults.http.body]\ndeep = [{{ deeper = ["a", "{key}"] }}]\n',
        HOUSE.replace("com/v1", f"com/v1/{key}"),
    ):
        (problem,) = check(text).problems
        assert literals.ADVICE in problem.what
        assert key not in str(problem)


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.id)
def test_nothing_of_ours_looks_like_a_key(provider: Provider) -> None:
    assert list(literals.keys(tomllib.loads(written(provider)), ())) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('["EXAMPLE_API_KEY"]', '["Zq3tB7cYw1XkLm9PzR5vN8sD"]'),
        ('["EXAMPLE_API_KEY"]', '"Zq3tB7cYw1XkLm9PzR5vN8sD"'),
        ('{ bearer = ["EXAMPLE_API_KEY"] }', '"Zq3tB7cYw1XkLm9PzR5vN8sD"'),
        (
            '{ bearer = ["EXAMPLE_API_KEY"] }',
            '{ bearer = ["EXAMPLE_API_KEY"], Zq3tB7cYw1XkLm9PzR5vN8sD0123456789 = 1 }',
        ),
        ('{ bearer = ["EXAMPLE_API_KEY"] }', '{ bearer = [], key = "Zq3tB7cYw1XkLm9PzR5vN8sD" }'),
        ('"sse"', '"sse"\napi_key = "Zq3tB7cYw1XkLm9PzR5vN8sD"'),
        ('"sse"', '"sse"\n[providers.house.route.defaults.http.headers]\nAuthorization = "Zq3tB7cYw1XkLm9PzR5vN8sD"'),
        ('"sse"', '"sse"\n[providers.house.route.defaults.http.headers]\nx-api-key = "Zq3tB7cYw1XkLm9PzR5vN8sD"'),
        ('"sse"', '"sse"\n[providers.house.route.defaults.http.query]\naccess_token = "Zq3tB7cYw1XkLm9PzR5vN8sD"'),
        ('"sse"', '"sse"\n[providers.house.route.defaults.http.body]\napi_key = "Zq3tB7cYw1XkLm9PzR5vN8sD"'),
        (
            '"sse"',
            '"sse"\nrules = [{ match = "x", defaults.http.headers.cookie = "Zq3tB7cYw1XkLm9PzR5vN8sD" }]',
        ),
        ("com/v1", "com/v1?api_key=Zq3tB7cYw1XkLm9PzR5vN8sD"),
        ('"https://llm.example.com/v1"', '"https://me:Zq3tB7cYw1XkLm9PzR5vN8sD@example.com/v1"'),
    ],
)
def test_a_key_of_no_known_shape_is_found_by_where_it_stands(old: str, new: str, check: Check) -> None:
    declared = check(HOUSE.replace(old, new, 1))
    assert declared.problems
    said = "\n".join(map(str, declared.problems))
    assert "Zq3tB7" not in said
    remedies = ("name the environment variable", "pass them as api_key or auth", "expected a list", "of 34 characters")
    assert any(remedy in said for remedy in remedies)


@pytest.mark.parametrize(
    "text",
    [
        "https://sk-hosting-in-the-north.example.com/v1", "gsk_", "sk-short1", "task-0123456789abcdefghij",
        "hf_a_name_in_small_letters", "a bearer of news", "eyJ", "AIza", "EXAMPLE_API_KEY",
    ],
)  # fmt: skip
def test_what_only_begins_like_a_key_is_none(text: str) -> None:
    assert list(literals.keys(text, ())) == []


def test_a_cache_key_and_an_organisation_are_no_secrets(check: Check) -> None:
    extras = (
        "headers = { openai-organization = 'org-1', anthropic-version = '2023' }\nbody = { prompt_cache_key = 'a' }"
    )
    assert check(f"{HOUSE}[{ROUTE}.defaults.http]\n{extras}\n").problems == ()


# -- Trust


def house(
    base_url: str = "https://llm.example.com/v1", auth: str = '{ bearer = ["EXAMPLE_API_KEY"] }', **more: str
) -> str:
    text = HOUSE.replace('"https://llm.example.com/v1"', json.dumps(base_url))
    text = text.replace('{ bearer = ["EXAMPLE_API_KEY"] }', auth)
    return text.replace('docs"\n', 'docs"\n' + "".join(f"{name} = {value}\n" for name, value in more.items()), 1)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (HOUSE.replace("house", "groq"), 1, "provider groq is declared already, by llmcore; take another id"),
        (HOUSE.replace("house", "azure"), 1, "provider azure is declared already, by llmcore; take another id"),
        (
            house(auth='{ bearer = ["GROQ_API_KEY"] }'), 9,
            "GROQ_API_KEY is the key of groq, and llm.example.com is none of its hosts; name another variable",
        ),
        (
            house(auth='{ header = "x", env = ["EXAMPLE_API_KEY", "GROQ_API_KEY"] }'), 9,
            "GROQ_API_KEY is the key of groq, and llm.example.com is none of its hosts",
        ),
        (
            house(auth='{ query = "x", env = ["GROQ_API_KEY"] }', base_url=""), 9,
            "GROQ_API_KEY is the key of groq, and this route has no host of its own",
        ),
        (
            house("https://{w}/v1", '{ bearer = ["DATABRICKS_TOKEN"] }\nvariables = { w = "HOSTNAME" }'), 9,
            "DATABRICKS_TOKEN is the key of databricks, and {} is none of its hosts",
        ),
        (
            house(auth='{ bearer = ["ANTHROPIC_API_KEY"] }'), 9,
            "ANTHROPIC_API_KEY is the key of anthropic, and llm.example.com is none of its hosts",
        ),
        (house("https://api.groq.com.evil.example/v1", '{ bearer = ["GROQ_API_KEY"] }'), 9, "is none of its hosts"),
        (house("https://api.groq.com./v1", '{ bearer = ["GROQ_API_KEY"] }'), 9, "is none of its hosts"),
        (
            house("https://a.b.openai.azure.com/v1", '{ header = "api-key", env = ["AZURE_OPENAI_API_KEY"] }'), 9,
            "AZURE_OPENAI_API_KEY is the key of azure, and a.b.openai.azure.com is none of its hosts",
        ),
        (house("http://llm.example.com/v1"), 7, "over http anybody on the way can read the key: use https, or auth"),
        (house(" HTTP://llm.example.com/v1"), 7, "over http anybody on the way can read the key"),
        (house("http://10.0.0.7:8000"), 7, "over http anybody on the way can read the key"),
        (house("http://localhost.example.com"), 7, "over http anybody on the way can read the key"),
        (house("http://llm.example.com/v1", "{ bearer = [] }"), 7, "over http anybody on the way can read the key"),
    ],
)  # fmt: skip
def test_what_a_file_may_not_do_unless_it_says_so(text: str, line: int, said: str, check: Check) -> None:
    ((found, _, what),) = told(check(text))
    assert found == line
    assert said in what
    assert what.endswith("(override = true in its table allows it)")
    allowed = check(text.replace('docs"\n', 'docs"\noverride = true\n', 1))
    assert allowed.problems == ()
    assert len(allowed.providers) == 1


@pytest.mark.parametrize("variables", ["{ a = 'GROQ_API_KEY' }", "{ a = 'HF_TOKEN' }", "{ a = 'MY_SECRET' }"])
def test_no_key_goes_into_a_url_whoever_says_so(variables: str, check: Check) -> None:
    text = house("https://{a}.example.com/v1", override="true") + f"variables = {variables}\n"
    assert [what for _, _, what in told(check(text))] == ["a key does not go into a URL: name it in auth"]


def test_a_key_that_is_not_called_one_does_not_go_into_a_url_either(check: Check) -> None:
    text = house("https://{a}.example.com/v1") + "variables = { a = 'SNOWFLAKE_PAT' }\n"
    ((_, place, what),) = told(check(text))
    assert place == f"{ROUTE}.variables.a"
    assert what.startswith("SNOWFLAKE_PAT is the key of snowflake, which does not go into a URL")


@pytest.mark.parametrize(
    ("base_url", "how"),
    [
        ("https://api.groq.com/other/v2", '{ bearer = ["GROQ_API_KEY"] }'),
        ("https://API.groq.com:8443/v2", '{ bearer = ["GROQ_API_KEY"] }'),
        ("https://my-house.openai.azure.com/openai/v1", '{ bearer = ["AZURE_OPENAI_API_KEY"] }'),
        ("http://llm.example.com/v1", '"none"'),
        ("http://localhost:8000/v1", '{ bearer = ["EXAMPLE_API_KEY"] }'),
        ("http://127.0.0.1:8000/v1", '{ bearer = ["EXAMPLE_API_KEY"] }'),
        ("http://[::1]:8000/v1", '{ bearer = ["EXAMPLE_API_KEY"] }'),
        ("", "{ bearer = [] }"),
    ],
)
def test_what_a_file_may_do(base_url: str, how: str, check: Check) -> None:
    assert check(house(base_url, how)).problems == ()


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True), ("a.localhost", True), ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True),
        ("0.0.0.0", False), ("10.0.0.1", False), ("localhost.com", False), ("", False), ("{}", False),
    ],
)  # fmt: skip
def test_this_machine_is_known(host: str, local: bool) -> None:
    assert trust.loopback(host) is local


# -- Lines

LONG = """\
# providers.house.route.id is not here

[providers.house] # docs = 1
docs = '''
[providers.house.route]
id = "no"
'''

[providers.house.route]
# id = "no"
id = "house/chat"; protocol"""
LONG = (
    LONG.replace("; protocol", "")
    + """

endpoint.path = "/x"
auth = { bearer = [
] }
variables = {}
quirks.hosted_tools = [
  "a",
  # a comment
  "b",
]

[[providers.house.route.rules]]
match = "a"

[[providers.house.route.rules]]
quirks.knobs = { seed = "x" }
match = "b"
"""
)


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("providers",), 3),
        (("providers", "house"), 3),
        (("providers", "house", "docs"), 4),
        (("providers", "house", "route"), 9),
        (("providers", "house", "route", "id"), 11),
        (("providers", "house", "route", "endpoint", "path"), 13),
        (("providers", "house", "route", "auth", "bearer"), 14),
        (("providers", "house", "route", "quirks", "hosted_tools"), 17),
        (("providers", "house", "route", "quirks", "hosted_tools", 1), 17),
        (("providers", "house", "route", "rules"), 23),
        (("providers", "house", "route", "rules", 0, "match"), 24),
        (("providers", "house", "route", "rules", 1), 26),
        (("providers", "house", "route", "rules", 1, "quirks", "knobs", "seed"), 27),
        (("providers", "house", "route", "rules", 1, "match"), 28),
        (("providers", "house", "route", "rules", 2), None),
        (("providers", "house", "route", "rules", "a"), None),
        (("providers", "house", "docs", "a"), None),
        ((), 1),
    ],
)
def test_a_line_is_that_of_the_statement(place: tuple[str | int, ...], line: int | None) -> None:
    assert Document("f", LONG, tomllib.loads(LONG)).line(place) == line


@settings(max_examples=100, deadline=None)
@given(
    gaps=st.lists(st.sampled_from(["", "# x = 1", "\n\n", "# '''"]), min_size=8, max_size=8),
    values=st.lists(
        st.sampled_from(["1", "'a'", "[\n1,\n2\n]", "'''\nk0 = 1\n'''", '"""\n"""', "{ a = 1 }"]),
        min_size=8,
        max_size=8,
    ),
)
def test_lines_of_any_document(gaps: list[str], values: list[str]) -> None:
    text, lines = "", list[int]()
    for index, (gap, value) in enumerate(zip(gaps, values, strict=True)):
        text += f"{gap}\n"
        lines.append(text.count("\n") + 1)
        text += f"k{index} = {value}\n"
    document = Document("f", text, tomllib.loads(text))
    assert [document.line((f"k{index}",)) for index in range(len(values))] == lines


# -- Anything at all


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_a_file_or_refused(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "any.toml"
    file.write_bytes(data)
    try:
        declarations = read(file)
    except ConfigError as error:
        said = str(error)
    else:
        said = str([declaration.document.file for declaration in declarations] or file)
    assert str(file) in said


VALUES = [
    "1",
    "1.5",
    "true",
    "false",
    '"x"',
    "[]",
    "{}",
    "[[1]]",
    "{ a = { b = [1] } }",
    "1979-05-27",
    "inf",
    "nan",
    '""',
]
LINES = [index for index, line in enumerate(HOUSE.splitlines()) if " = " in line]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.dictionaries(st.sampled_from(LINES), st.sampled_from(VALUES), max_size=3),
    extra=st.dictionaries(
        st.sampled_from(["quirks", "rules", "defaults", "capabilities", "variables", "transport", "nonsense"]),
        st.sampled_from(
            [*VALUES, "[{}]", "[{ match = 1, quirks = 1, defaults = 1 }]", "{ http = 1, generation = [] }"]
        ),
        max_size=3,
    ),
)
def test_any_values_are_a_provider_or_problems_that_say_where(
    changes: dict[int, str], extra: dict[str, str], tmp_path: Path
) -> None:
    lines = HOUSE.splitlines()
    for index, value in changes.items():
        lines[index] = f"{lines[index].partition(' = ')[0]} = {value}"
    lines += [f"{name} = {value}" for name, value in extra.items()]
    file = tmp_path / "any.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    declared = registry.check_routes(file)
    assert len(declared.providers) == (0 if declared.problems else 1)
    assert all(problem.line is not None and problem.what for problem in declared.problems)
    counted = itertools.groupby(sorted(map(str, declared.problems)))
    assert [text for text, same in counted if len(list(same)) > 1] == [], "told twice"


def test_a_problem_is_one_line() -> None:
    document = Document("f.toml", "a = 1\n", {"a": 1})
    assert str(Problem(document, ("a",), "x")) == "f.toml:1: a: x"
    assert str(Problem(document, ("b", 0, "c"), "x")) == "f.toml: b[0].c: x"
    assert str(Problem(document, (), "x")) == "f.toml:1: x"
