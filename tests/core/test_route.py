"""Routes, rules, providers and models: what a declaration may say, and what is made of it."""

import msgspec
import pytest

from llmcore.auth import bearer, none
from llmcore.capabilities import Capabilities
from llmcore.errors import ConfigError, InvalidRequestError, LLMError
from llmcore.framing import SSE
from llmcore.protocol import Lowered, Protocol
from llmcore.protocols.openai_chat import Options
from llmcore.route import Defaults, Endpoint, Model, ModelRule, Provider, Route, merged, post, unknown
from llmcore.schema import CacheOptions, Generation, HttpExtras, ReasoningOptions
from llmcore.secret import Secret


class Quirks(msgspec.Struct, frozen=True, kw_only=True):
    max_tokens_field: str = "max_tokens"
    sentinel: bool = True


class OtherQuirks(msgspec.Struct, frozen=True, kw_only=True):
    sentinel: bool = True


class Body(msgspec.Struct):
    model: str


def error(status: int, *_: object) -> LLMError:
    return InvalidRequestError(f"status {status}")


PROTOCOL = Protocol[Quirks, Body](
    id="plain",
    quirks=Quirks,
    options=Quirks,
    body=Body,
    lower=lambda request, model, stream: Lowered(Body(model=model.name)),
    start=lambda model, mint, sink: None,
    step=lambda state, frame, out: None,
    finish=lambda state, out: None,
    parse=lambda body, model, mint, sink, out: None,
    error=error,
)


def route(id: str = "example/chat", **changes: object) -> Route[Quirks, Body]:
    fields: dict[str, object] = {
        "id": id,
        "protocol": PROTOCOL,
        "base_url": "https://api.example.com/v1",
        "endpoint": post("/chat"),
        "auth": none(),
        "framing": SSE,
    }
    return Route(**(fields | changes))  # type: ignore[arg-type]


# ---- declarations


@pytest.mark.parametrize("id", ["example/chat", "a/b", "my-server.v1/chat-2"])
def test_the_id_of_a_route_is_provider_and_api(id: str) -> None:
    made = route(id)
    assert (made.id, made.provider) == (id, id.split("/", maxsplit=1)[0])


@pytest.mark.parametrize(
    "id", ["", "example", "/chat", "example/", "Example/chat", "ex ample/chat", "-a/b", "a/b/c", "a/-b", "é/b"]
)
def test_an_id_of_another_form_is_refused(id: str) -> None:
    with pytest.raises(ConfigError, match="provider/api in lower case with hyphens"):
        route(id)


def test_quirks_of_another_protocol_are_refused() -> None:
    with pytest.raises(ConfigError, match="route example/chat speaks plain, whose quirks are Quirks, not OtherQuirks"):
        route(quirks=OtherQuirks())


def test_a_rule_with_an_unknown_quirk_is_refused_naming_the_nearest() -> None:
    with pytest.raises(
        ConfigError, match=r"rule 'gpt-\*': unknown quirk 'max_token_field'; did you mean 'max_tokens_field'"
    ):
        route(rules=(ModelRule(match="gpt-*", quirks={"max_token_field": "x"}),))


def test_a_variable_of_the_base_url_needs_a_name() -> None:
    with pytest.raises(ConfigError, match=r"no variable is named for \{resource\}"):
        route(base_url="https://{resource}.example.com")


def test_names_near_and_far() -> None:
    assert unknown("option", "temperatur", ("temperature", "top_p")) == (
        "unknown option 'temperatur'; did you mean 'temperature'?"
    )
    assert unknown("option", "zzz", ("b", "a")) == "unknown option 'zzz'; known are a, b"
    assert unknown("option", "zzz", ()) == "unknown option 'zzz'"
    assert len(unknown("option", "x" * 9999, ("a",))) < 200


def test_the_url_of_a_call() -> None:
    plain = post("/chat")
    assert plain.url("https://h/v1?a=1", "m", stream=True) == plain.url("https://h/v1?a=1", "m", stream=False)
    assert plain.url("https://h/v1?a=1", "m", stream=False) == "https://h/v1/chat?a=1"
    apart = post("/models/{model}:generate", stream_path="/models/{model}:stream?alt=sse")
    assert apart.method == "POST"
    assert apart.url("https://h", "a/b", stream=False) == "https://h/models/a%2Fb:generate"
    assert apart.url("https://h", "a/b", stream=True) == "https://h/models/a%2Fb:stream?alt=sse"
    assert Endpoint("GET", "/models").url("https://h", "", stream=False) == "https://h/models"


# ---- places


def test_variables_of_the_base_url_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    made = route(base_url="https://{resource}.example.com/v1", variables={"resource": "EXAMPLE_RESOURCE"})
    monkeypatch.delenv("EXAMPLE_RESOURCE", raising=False)
    with pytest.raises(ConfigError, match="needs the resource for its URL: set EXAMPLE_RESOURCE, or pass base_url="):
        made.model("m")
    assert made.model("m", base_url="https://other/v1").base_url == "https://other/v1"
    monkeypatch.setenv("EXAMPLE_RESOURCE", " mine ")
    assert made.model("m").base_url == "https://mine.example.com/v1"
    for value in ("https://mine", "a/b", "a b", "evil.com/?x="):
        monkeypatch.setenv("EXAMPLE_RESOURCE", value)
        with pytest.raises(ConfigError, match="EXAMPLE_RESOURCE is the resource alone"):
            made.model("m")


def test_a_route_without_a_place_needs_one() -> None:
    with pytest.raises(ConfigError, match="example/chat has no place of its own: pass base_url="):
        route(base_url="").model("m")


# ---- models and rules


def test_a_model_has_what_its_route_has() -> None:
    made = route(capabilities=Capabilities(tools=True), quirks=Quirks(sentinel=False)).model("m")
    assert (made.id, made.provider, made.base_url) == ("example/chat:m", "example", "https://api.example.com/v1")
    assert made.capabilities == Capabilities(tools=True)
    assert made.quirks == Quirks(sentinel=False)
    assert route().model("m").quirks == Quirks()


def test_all_rules_that_match_are_merged_in_order_and_the_last_wins() -> None:
    made = route(
        capabilities=Capabilities(tools=True, max_output_tokens=10),
        defaults=Defaults(generation=Generation(max_tokens=1, temperature=0.1), provider_options={"a": 1}),
        rules=(
            ModelRule(match="gpt-*", capabilities=Capabilities(reasoning=False, max_output_tokens=20)),
            ModelRule(
                match="gpt-5*",
                capabilities=Capabilities(reasoning=True),
                quirks={"max_tokens_field": "max_completion_tokens"},
                defaults=Defaults(generation=Generation(max_tokens=2), provider_options={"b": 2}),
            ),
            ModelRule(match="GPT-5*", quirks={"sentinel": False}),
            ModelRule(match="o1", capabilities=Capabilities(tools=False)),
        ),
    )
    five = made.model("gpt-5-mini")
    assert five.capabilities == Capabilities(tools=True, reasoning=True, max_output_tokens=20)
    assert five.quirks == Quirks(max_tokens_field="max_completion_tokens")
    assert five.defaults == Defaults(
        generation=Generation(max_tokens=2, temperature=0.1), provider_options={"a": 1, "b": 2}
    )
    assert made.model("gpt-4").capabilities == Capabilities(tools=True, reasoning=False, max_output_tokens=20)
    assert made.model("o1").capabilities == Capabilities(tools=False, max_output_tokens=10)
    assert made.model("o1-mini").capabilities == made.capabilities


def test_rules_that_come_with_the_call_are_stronger() -> None:
    made = route(rules=(ModelRule(match="*", capabilities=Capabilities(tools=True)),))
    overlay = ModelRule[Quirks](match="m", capabilities=Capabilities(tools=False))
    assert made.model("m", rules=(overlay,)).capabilities.tools is False
    assert made.model("n", rules=(overlay,)).capabilities.tools is True


def test_laying_one_struct_upon_another() -> None:
    under = Defaults(
        generation=Generation(temperature=0.5, stop=("a",)),
        cache=CacheOptions(key="k"),
        provider_options={"a": 1, "b": 1},
        http=HttpExtras(headers={"x": "1"}, query={"q": "1"}),
    )
    over = Defaults(
        generation=Generation(temperature=0.0, stop=("b",)),
        reasoning=ReasoningOptions(effort="low"),
        cache=CacheOptions(ttl="1h"),
        provider_options={"b": 2},
        http=HttpExtras(headers={"y": "2"}),
    )
    before = msgspec.json.encode((under, over))
    assert merged(under, over) == Defaults(
        generation=Generation(temperature=0.0, stop=("b",)),
        reasoning=ReasoningOptions(effort="low"),
        cache=CacheOptions(key="k", ttl="1h"),
        provider_options={"a": 1, "b": 2},
        http=HttpExtras(headers={"x": "1", "y": "2"}, query={"q": "1"}),
    )
    assert msgspec.json.encode((under, over)) == before
    assert merged(under, Defaults()) is under
    assert merged(Defaults(), over) == over


def test_no_repr_of_a_model_shows_its_key() -> None:
    made = route(auth=bearer("EXAMPLE_KEY")).model("m", api_key=Secret("sk-0123456789"))
    assert repr(made) == "Model('example/chat:m')"
    assert isinstance(made, Model)
    assert isinstance(made.credential, Secret)


# ---- providers


def test_a_provider_names_its_routes() -> None:
    chat, other = route("example/chat"), route("example/responses")
    provider = Provider(id="example", docs="https://docs", evidence="documented", route=chat, apis={"responses": other})
    assert provider.api(None) is chat
    assert provider.api("chat") is chat
    assert provider.api("responses") is other
    assert list(provider.routes()) == ["chat", "responses"]
    assert provider.model("m").id == "example/chat:m"
    with pytest.raises(ConfigError, match="provider example: unknown api 'response'; did you mean 'responses'"):
        provider.api("response")


def test_a_provider_without_a_default_route_says_so() -> None:
    provider = Provider(id="example", docs="d", evidence="recorded", apis={"chat": route()})
    with pytest.raises(ConfigError, match="provider example has no model route of its own; name one: chat"):
        provider.model("m")


def test_a_dict_laid_upon_nothing_is_itself() -> None:
    under, over = Options(verbosity="low"), Options(logit_bias={"1": 2.0}, metadata={})
    assert merged(under, over) == Options(verbosity="low", logit_bias={"1": 2.0}, metadata={})
    assert merged(over, Options(logit_bias={"3": 4.0})).logit_bias == {"1": 2.0, "3": 4.0}
