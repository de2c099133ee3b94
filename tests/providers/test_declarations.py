"""Every declared route: where it goes, whose key it takes, what it says of itself; parametrised over the registry."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

import llmcore
from llmcore import registry
from llmcore.errors import AuthError, ConfigError
from llmcore.protocols.openai_chat import Quirks
from llmcore.providers import _gateways, _hosts, _local, _makers, compatible
from llmcore.route import Provider, Route
from llmcore.schema import ToolDefinition
from llmcore.secret import Secret

PROVIDERS = registry.providers()
ROUTES = {route.id: route for provider in PROVIDERS for route in provider.routes().values()}

all_providers = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.id)
all_routes = pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES.keys())

PLACES: dict[str, dict[str, Any]] = {
    f"{provider}/{api}": place
    for provider, apis in tomllib.loads(Path(__file__).with_name("places.toml").read_text(encoding="utf-8")).items()
    for api, place in apis.items()
}
"""Where a call goes, how its key is shown and what it says, by route; `places.toml` explains itself."""

OWN = {"openai-compatible/chat": "http://127.0.0.1:8000/v1"}
"""Places of one's own, for routes that have none."""

TOOL = ToolDefinition(name="weather", parameters={"type": "object", "properties": {"city": {"type": "string"}}})

CORPUS = os.environ.get("LLMCORE_CORPUS", "")


def with_corpus(test: Any) -> Any:
    return pytest.mark.corpus(pytest.mark.skipif(not CORPUS, reason="LLMCORE_CORPUS is not set")(test))


# -- Rules of a declaration


def test_the_table_of_places_names_every_route() -> None:
    assert set(PLACES) == set(ROUTES)


@all_providers
def test_ids_are_lower_case_with_hyphens(provider: Provider) -> None:
    names = [provider.id, *provider.routes()]
    assert [name for name in names if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)] == []
    assert all(route.provider == provider.id for route in provider.routes().values())


@all_providers
def test_a_provider_links_its_documentation(provider: Provider) -> None:
    assert re.fullmatch(r"https://[a-z0-9.-]+/\S*", provider.docs)


@all_providers
def test_every_route_can_be_named(provider: Provider) -> None:
    for api, route in provider.routes().items():
        model = registry.resolve(f"{provider.id}/{api}:some/model:free", base_url="http://127.0.0.1:8000/v1")
        assert model.route is route
        assert model.name == "some/model:free"
        assert type(model.quirks) is route.protocol.quirks
    if provider.route is not None:
        assert registry.resolve(f"{provider.id}:m", base_url="http://127.0.0.1:8000/v1").route is provider.route


@all_routes
def test_a_base_url_is_https_or_local(route: Route[Any, Any]) -> None:
    assert not route.base_url or route.base_url.startswith(("https://", "http://localhost:"))


@all_routes
def test_only_one_host_gets_the_key_of_a_variable(route: Route[Any, Any]) -> None:
    """A variable's key goes to routes of one provider alone: a service's key never leaves for another's host."""
    for variable in route.auth.env:
        holders = {other.provider for other in ROUTES.values() if variable in other.auth.env}
        assert holders == {route.provider}


@all_routes
def test_a_rule_changes_something(route: Route[Any, Any]) -> None:
    for rule in route.rules:
        assert rule.quirks or rule.capabilities != llmcore.Capabilities()


# -- What is sent


@pytest.mark.parametrize("id", PLACES)
def test_a_call_goes_to_its_place_with_its_key(id: str, client: llmcore.Client) -> None:
    place = PLACES[id]
    prepared = client.prepare(llmcore.model(f"{id}:some/model:free", base_url=OWN.get(id)), "Hi")
    assert (prepared.method, prepared.url) == ("POST", place["url"])
    name, shown = place["key"].split(": ", 1)
    headers = dict(prepared.headers)
    assert headers.pop(name) == shown
    assert headers.pop("user-agent") == f"llmcore/{llmcore.__version__}"
    assert headers == {"content-type": "application/json", "accept": "application/json"}
    assert msgspec.json.decode(prepared.content) == {
        "model": "some/model:free",
        "messages": [{"role": "user", "content": "Hi"}],
        **place.get("body", {}),
    }


@pytest.mark.parametrize("id", PLACES)
def test_a_full_call_has_the_fields_of_the_service(id: str, client: llmcore.Client) -> None:
    place = PLACES[id]
    model = llmcore.model(f"{id}:some/model:free", base_url=OWN.get(id))
    prepared = client.prepare(
        model,
        "Hi",
        stream=True,
        system="Be brief.",
        tools=[TOOL],
        max_tokens=7,
        temperature=0.5,
        top_p=0.9,
        stop=("x",),
    )
    body = msgspec.json.decode(prepared.content)
    asked = {"stream_options": {"include_usage": True}} if place.get("usage") != "unasked" else {}
    assert [message["role"] for message in body.pop("messages")] == ["system", "user"]
    assert [tool["function"]["name"] for tool in body.pop("tools")] == ["weather"]
    assert body == {
        "model": "some/model:free",
        place["limit"]: 7,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["x"],
        "stream": True,
        **asked,
        **place.get("body", {}),
    }
    assert prepared.warnings == ()
    assert dict(prepared.headers)["accept"] == "text/event-stream"


# -- Keys and places that are missing


@pytest.mark.parametrize("id", [id for id, route in ROUTES.items() if not route.auth.optional])
def test_a_missing_key_is_an_auth_error_that_names_the_variable(id: str, client: llmcore.Client) -> None:
    model = registry.resolve(f"{id}:m", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(AuthError, match=ROUTES[id].auth.env[0]):
        client.generate(model, "Hi")


@pytest.mark.parametrize("id", [id for id, route in ROUTES.items() if route.variables])
def test_a_missing_part_of_the_url_is_named_with_its_variable(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, variable in ROUTES[id].variables.items():
        with monkeypatch.context() as patch:
            patch.delenv(variable)
            with pytest.raises(
                ConfigError, match=rf"{id} needs the {name} for its URL: set {variable}, or pass base_url="
            ):
                registry.resolve(f"{id}:m")


@pytest.mark.parametrize("value", ["https://mine.example.com", "mine/../x", "mine account", "mine?x"])
def test_a_part_of_the_url_is_a_name_and_nothing_more(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_RESOURCE_NAME", value)
    with pytest.raises(ConfigError, match="AZURE_RESOURCE_NAME is the resource alone"):
        registry.resolve("azure:m")


def test_the_generic_provider_asks_for_its_place() -> None:
    with pytest.raises(ConfigError, match=r"openai-compatible/chat has no place of its own: pass base_url="):
        registry.resolve("openai-compatible:m")


def test_a_base_url_of_the_callers_own_replaces_the_whole_place(client: llmcore.Client) -> None:
    base = "https://mine.example.com/openai?api-version=2025-04-01-preview"
    prepared = client.prepare(llmcore.model("azure/deployments:gpt-4o", base_url=base), "Hi")
    assert prepared.url == (
        "https://mine.example.com/openai/deployments/gpt-4o/chat/completions?api-version=2025-04-01-preview"
    )


def test_a_key_in_the_environment_is_never_shown(client: llmcore.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk-canary-123456")
    model = llmcore.model("groq:m", api_key=Secret("gsk-canary-654321"))
    for prepared in (client.prepare("groq:m", "Hi"), client.prepare(model, "Hi")):
        assert "canary" not in repr(prepared) + prepared.to_curl() + repr(model)


# -- What stands behind a declaration


def test_no_row_hides_another() -> None:
    tables = (_gateways.GATEWAYS, _hosts.HOSTS, _local.LOCAL, _makers.MAKERS)
    rows = [row.id for table in tables for row in table]
    assert [row for table in tables for row in sorted(row.id for row in table)] == rows
    assert len({*rows}) == len(rows)
    assert len(compatible.COMPATIBLE) > len(rows)
    assert all(compatible.COMPATIBLE[row.id] is row for table in tables for row in table)


def test_a_provider_without_recordings_claims_nothing_but_its_documentation() -> None:
    documented = [provider for provider in PROVIDERS if provider.evidence == "documented"]
    assert len(documented) > 50
    for provider in documented:
        for route in provider.routes().values():
            assert route.capabilities == llmcore.Capabilities(), route.id
            assert all(rule.capabilities == llmcore.Capabilities() for rule in route.rules), route.id


def test_a_server_of_ones_own_gets_no_key_of_a_service() -> None:
    """What listens on this machine is sent a key only where one is meant for it, and needs none."""
    local = {variable for row in _local.LOCAL for route in row.routes().values() for variable in route.auth.env}
    assert local == {"LITELLM_PROXY_API_KEY", "LM_API_TOKEN", "VLLM_API_KEY"}
    assert all(route.auth.optional for row in _local.LOCAL for route in row.routes().values())


def test_each_quirk_is_set_by_some_route() -> None:
    default = Quirks()
    models = [(route, [rule.quirks for rule in route.rules]) for route in ROUTES.values()]
    unset = set[str](Quirks.__struct_fields__)
    for route, rules in models:
        own = route.quirks if route.quirks is not None else default
        unset -= {name for name in unset if getattr(own, name) != getattr(default, name)}
        unset -= {name for rule in rules for name, value in rule.items() if value != getattr(default, name)}
    assert unset == set()


def sources() -> str:
    folder = Path(str(llmcore.__file__)).parent / "providers"
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py")))


@with_corpus
def test_every_case_that_a_declaration_names_exists() -> None:
    named = set(re.findall(r"\b[a-z][a-z0-9-]*--[a-z0-9][a-z0-9-]*\b", sources()))
    assert len(named) > 10
    assert [name for name in sorted(named) if not Path(CORPUS, "openai-chat", f"{name}.json").exists()] == []


class Recorded:
    """What the recorded traffic shows of one place: the URLs called, and what was asked and answered there."""

    def __init__(self) -> None:
        self.tools = self.parallel_tool_calls = self.streaming = self.streaming_tool_calls = False
        self.structured_output = self.reasoning = False

    def see(self, interaction: dict[str, Any]) -> None:
        body, text = interaction["request"]["body"] or {}, interaction["response"].get("body", "")
        if interaction["response"]["status"] != 200:
            return
        streamed = bool(body.get("stream"))
        called = '"tool_calls":[{' in text.replace(" ", "")
        self.tools |= called
        self.streaming |= streamed
        self.streaming_tool_calls |= streamed and called
        self.structured_output |= (body.get("response_format") or {}).get("type") == "json_schema"
        self.reasoning |= '"reasoning_content":"' in text or '"reasoning":"' in text
        if called and not streamed:
            message = msgspec.json.decode(text)["choices"][0]["message"]
            self.parallel_tool_calls |= len(message["tool_calls"]) > 1


@pytest.fixture(scope="module")
def recorded() -> dict[str, Recorded]:
    """By route: what was recorded at its URL."""
    places = {
        id: re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(route.base_url.partition("?")[0])) + "/"
        for id, route in ROUTES.items()
        if route.base_url
    }
    found: dict[str, Recorded] = {}
    for path in Path(CORPUS, "openai-chat").glob("*.json"):
        if path.name.endswith(".expected.json"):
            continue
        for interaction in msgspec.json.decode(path.read_bytes())["interactions"]:
            for id, place in places.items():
                if re.match(place, interaction["request"]["url"]):
                    found.setdefault(id, Recorded()).see(interaction)
    return found


@with_corpus
def test_a_provider_is_called_recorded_where_bytes_of_it_exist(recorded: dict[str, Recorded]) -> None:
    for provider in PROVIDERS:
        shown = any(route.id in recorded for route in provider.routes().values())
        assert (provider.evidence == "recorded") == shown, provider.id


@with_corpus
@pytest.mark.parametrize("id", [id for id, route in ROUTES.items() if route.capabilities != llmcore.Capabilities()])
def test_a_capability_is_claimed_where_it_was_recorded(id: str, recorded: dict[str, Recorded]) -> None:
    capabilities = ROUTES[id].capabilities
    claimed = [name for name in capabilities.__struct_fields__ if getattr(capabilities, name) is True]
    assert [name for name in claimed if not getattr(recorded[id], name)] == []
