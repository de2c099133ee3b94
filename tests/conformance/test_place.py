"""Which route a case runs on."""

import msgspec
import pytest

from llmcore import registry
from llmcore.auth import none
from llmcore.conformance.place import ALIASES, VENDORS, place
from llmcore.errors import ProtocolError
from llmcore.framing import SSE
from llmcore.protocol import Protocol
from llmcore.route import ModelRule, Provider, Route, post


class Quirks(msgspec.Struct, frozen=True):
    loud: bool = False


def unused(*_):
    raise ProtocolError("nothing is said in these tests")


def protocol(id):
    return Protocol(
        id=id, quirks=Quirks, options=Quirks, body=dict, lower=unused, start=unused, step=unused, finish=unused,
        parse=unused, error=unused,
    )  # fmt: skip


def provider(id, default=None, **apis):
    routes = {
        name: Route(
            id=f"{id}/{name}", protocol=protocol(spoken), base_url="https://example.com", endpoint=post("/x"),
            auth=none(), framing=SSE, quirks=Quirks(loud=True), rules=(ModelRule(match="*", quirks={"loud": True}),),
        )
        for name, spoken in apis.items()
    }  # fmt: skip
    return Provider(id=id, docs="", evidence="documented", route=routes.get(default), apis=routes)


def table(*providers):
    return {each.id: each for each in providers}


def test_a_case_runs_on_its_providers_route_of_its_protocol_whatever_the_default():
    known = table(provider("acme", "talk", talk="openai-responses", chat="openai-chat"))
    found = place("acme", "openai-chat", known)
    assert found is not None
    assert (found.route.id, found.note) == ("acme/chat", None)


def test_an_alias_may_name_one_of_several_routes_of_a_protocol():
    known = table(provider("huggingface", "nebius", nebius="openai-chat", together="openai-chat"))
    found = place("huggingface-together", "openai-chat", known)
    assert found is not None
    assert found.route.id == "huggingface/together"


@pytest.mark.parametrize(
    ("name", "why"),
    [("stranger", "no provider stranger here"), ("acme", "provider acme has no route that speaks openai-chat")],
)
def test_without_a_route_of_its_own_a_case_runs_on_the_generic_one_and_says_so(name, why):
    known = table(provider("acme", talk="gemini"), provider("any-compatible", "chat", chat="openai-chat"))
    found = place(name, "openai-chat", known)
    assert found is not None
    assert found.route.quirks == Quirks(loud=True)
    assert found.note == f"generic route any-compatible/chat: {why}"


def test_without_a_compatible_provider_the_vendors_route_with_default_quirks_is_generic():
    known = table(provider("google", "chat", chat="gemini"))
    found = place("stranger", "gemini", known)
    assert found is not None
    assert found.route.model("any").quirks == Quirks(loud=False)
    assert found.note == "generic route google/chat with default quirks: no provider stranger here"


def test_a_protocol_that_nothing_speaks_has_no_place():
    assert place("acme", "semaphore", table(provider("acme", chat="openai-chat"))) is None


def test_the_aliases_lead_to_what_the_registry_has():
    """An alias whose provider is here names a route of it, or nothing but the provider."""
    known = {each.id: each for each in registry.providers()}
    for alias in ALIASES.values():
        id, slash, api = alias.partition("/")
        if slash and id in known:
            assert api in known[id].routes()
    assert not set(ALIASES) & set(known), "an alias of a provider that is here under that very id"


def test_every_protocol_that_is_here_has_a_generic_route():
    spoken = {route.protocol.id for each in registry.providers() for route in each.routes().values()}
    for id in spoken & set(VENDORS):
        found = place("no-such-provider", id)
        assert found is not None
        assert found.note is not None
