"""Every declared route: where it goes, whose key it takes, what it says of itself; parametrised over the registry."""

import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

import llmcore
from llmcore import registry
from llmcore.errors import AuthError, ConfigError
from llmcore.protocols.openai_chat import Quirks
from llmcore.route import Provider, Route
from llmcore.secret import Secret

PROVIDERS = registry.providers()
ROUTES = {route.id: route for provider in PROVIDERS for route in provider.routes().values()}

all_providers = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.id)
all_routes = pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES.keys())

AZURE = "https://my-resource.openai.azure.com/openai"
PLACES = {
    "azure/chat": (
        f"{AZURE}/v1/chat/completions",
        ("api-key", "$AZURE_OPENAI_API_KEY"),
    ),
    "azure/deployments": (
        f"{AZURE}/deployments/some%2Fmodel%3Afree/chat/completions?api-version=2024-10-21",
        ("api-key", "$AZURE_OPENAI_API_KEY"),
    ),
    "cerebras/chat": (
        "https://api.cerebras.ai/v1/chat/completions",
        ("authorization", "Bearer $CEREBRAS_API_KEY"),
    ),
    "cloudflare/gateway": (
        "https://gateway.ai.cloudflare.com/v1/my-account/my-gateway/compat/chat/completions",
        ("cf-aig-authorization", "Bearer $CF_AIG_TOKEN"),
    ),
    "cloudflare/workers-ai": (
        "https://api.cloudflare.com/client/v4/accounts/my-account/ai/v1/chat/completions",
        ("authorization", "Bearer $CLOUDFLARE_API_TOKEN"),
    ),
    "crusoe/chat": (
        "https://api.inference.crusoecloud.com/v1/chat/completions",
        ("authorization", "Bearer $CRUSOE_API_KEY"),
    ),
    "deepseek/chat": (
        "https://api.deepseek.com/chat/completions",
        ("authorization", "Bearer $DEEPSEEK_API_KEY"),
    ),
    "groq/chat": (
        "https://api.groq.com/openai/v1/chat/completions",
        ("authorization", "Bearer $GROQ_API_KEY"),
    ),
    "heroku/chat": (
        "https://us.inference.heroku.com/v1/chat/completions",
        ("authorization", "Bearer $INFERENCE_KEY"),
    ),
    "huggingface/chat": (
        "https://router.huggingface.co/v1/chat/completions",
        ("authorization", "Bearer $HF_TOKEN"),
    ),
    "huggingface/nebius": (
        "https://router.huggingface.co/nebius/v1/chat/completions",
        ("authorization", "Bearer $HF_TOKEN"),
    ),
    "huggingface/novita": (
        "https://router.huggingface.co/novita/v3/openai/chat/completions",
        ("authorization", "Bearer $HF_TOKEN"),
    ),
    "huggingface/together": (
        "https://router.huggingface.co/together/v1/chat/completions",
        ("authorization", "Bearer $HF_TOKEN"),
    ),
    "mistral/chat": (
        "https://api.mistral.ai/v1/chat/completions",
        ("authorization", "Bearer $MISTRAL_API_KEY"),
    ),
    "ollama/chat": (
        "http://localhost:11434/v1/chat/completions",
        ("authorization", "Bearer $API_KEY"),
    ),
    "ollama/cloud": (
        "https://ollama.com/v1/chat/completions",
        ("authorization", "Bearer $OLLAMA_API_KEY"),
    ),
    "openai-compatible/chat": (
        "http://127.0.0.1:8000/v1/chat/completions",
        ("authorization", "Bearer $API_KEY"),
    ),
    "openai/chat": (
        "https://api.openai.com/v1/chat/completions",
        ("authorization", "Bearer $OPENAI_API_KEY"),
    ),
    "openrouter/chat": (
        "https://openrouter.ai/api/v1/chat/completions",
        ("authorization", "Bearer $OPENROUTER_API_KEY"),
    ),
    "snowflake/chat": (
        "https://my-account.snowflakecomputing.com/api/v2/cortex/v1/chat/completions",
        ("authorization", "Bearer $SNOWFLAKE_PAT"),
    ),
    "together/chat": (
        "https://api.together.xyz/v1/chat/completions",
        ("authorization", "Bearer $TOGETHER_API_KEY"),
    ),
    "zai/chat": (
        "https://api.z.ai/api/paas/v4/chat/completions",
        ("authorization", "Bearer $ZAI_API_KEY"),
    ),
}
"""Where a call goes and how its key is shown, by route."""

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
    url, shown = PLACES[id]
    own = "http://127.0.0.1:8000/v1" if id == "openai-compatible/chat" else None
    model = llmcore.model(f"{id}:some/model:free", base_url=own)
    prepared = client.prepare(model, "Hi")
    assert (prepared.method, prepared.url) == ("POST", url)
    assert shown in prepared.headers
    decoded = msgspec.json.decode(prepared.content)
    assert decoded["model"] == "some/model:free"
    assert decoded["messages"] == [{"role": "user", "content": "Hi"}]
    assert set(decoded) == {"model", "messages", "stream"} or set(decoded) == {"model", "messages"}


@all_routes
def test_usage_of_a_stream_is_asked_for_or_comes_unasked(route: Route[Any, Any], client: llmcore.Client) -> None:
    model = route.model("m", base_url="http://127.0.0.1:8000/v1")
    assert isinstance(model.quirks, Quirks)
    decoded = msgspec.json.decode(client.prepare(model, "Hi", stream=True).content)
    asked = {"include_usage": True} if model.quirks.stream_usage == "request" else None
    assert decoded["stream"] is True
    assert decoded.get("stream_options") == asked


@all_routes
def test_an_answer_is_limited_by_the_field_of_the_route(route: Route[Any, Any], client: llmcore.Client) -> None:
    model = route.model("m", base_url="http://127.0.0.1:8000/v1")
    assert isinstance(model.quirks, Quirks)
    decoded = msgspec.json.decode(client.prepare(model, "Hi", max_tokens=7).content)
    assert {name: decoded[name] for name in decoded if "max" in name} == {model.quirks.max_tokens_field: 7}


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
