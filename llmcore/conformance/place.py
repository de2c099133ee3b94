"""Which route a recorded case runs on: its provider's of the case's protocol, else the protocol's generic one."""

import functools
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from llmcore import registry
from llmcore.route import Provider, Route

ALIASES: Final[dict[str, str]] = {
    "google-gla": "google",
    "google-vertex": "vertex",
    "bedrock": "amazon-bedrock",
    "bedrock-invoke": "amazon-bedrock",
    "cloudflare-ai-gateway": "cloudflare/gateway",
    "cloudflare-workers-ai": "cloudflare/workers-ai",
    "huggingface-nebius": "huggingface/nebius",
    "huggingface-novita": "huggingface/novita",
    "huggingface-together": "huggingface/together",
    "ollama-cloud": "ollama/cloud",
}
"""Provider ids of recorded cases that are not ours: our provider, or our `provider/api`."""

VENDORS: Final[dict[str, str]] = {
    "anthropic-messages": "anthropic",
    "bedrock-converse": "amazon-bedrock",
    "cohere-chat": "cohere",
    "gemini": "google",
    "openai-chat": "openai",
    "openai-responses": "openai",
}
"""Whose protocol it is. Where no `*-compatible` provider speaks it, the vendor's route (default quirks) is generic."""

Providers = Mapping[str, Provider]


class Place(msgspec.Struct, frozen=True):
    """The route that a case runs on; `note` says why where it is not its provider's own."""

    route: Route[Any, Any]
    note: str | None = None


def place(provider: str, protocol: str, providers: Providers | None = None) -> Place | None:
    """Where a case of `provider` over `protocol` runs; `None` where nothing here speaks the protocol.

    `providers` (default: all of the registry) are those there are, by id.
    """
    known = _registered() if providers is None else providers
    id, _, api = ALIASES.get(provider, provider).partition("/")
    if id not in known:
        return _generic(protocol, known, f"no provider {provider} here")
    route = _speaking(known.get(id), protocol, api)
    if route is None:
        return _generic(protocol, known, f"provider {id} has no {api or 'route'} that speaks {protocol}")
    return Place(route)


@functools.cache
def _registered() -> Providers:
    return {provider.id: provider for provider in registry.providers()}


def _speaking(provider: Provider | None, protocol: str, api: str = "") -> Route[Any, Any] | None:
    """The route of `provider` over `protocol` (the one named `api`, where one is): the default one before others."""
    routes = {} if provider is None else provider.routes()
    return next((route for name, route in routes.items() if route.protocol.id == protocol and api in ("", name)), None)


def _generic(protocol: str, known: Providers, why: str) -> Place | None:
    for id, provider in known.items():
        route = _speaking(provider, protocol) if id.endswith("-compatible") else None
        if route is not None:
            return Place(route, f"generic route {route.id}: {why}")
    route = _speaking(known.get(VENDORS.get(protocol, "")), protocol)
    if route is None:
        return None
    plain = msgspec.structs.replace(route, quirks=None, rules=())
    return Place(plain, f"generic route {route.id} with default quirks: {why}")
