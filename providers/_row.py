"""How a row is written that was declared from a service's documentation alone: `documented(...)`, and what rows share.

Such a row has one route, `<id>/chat`, claims no capability, and says `evidence="documented"`. What it does not say is
the documented format of OpenAI's Chat Completions.
"""

from typing import Any, Final

from llmcore.auth import Auth, bearer
from llmcore.framing import SSE
from llmcore.protocols.openai_chat import OPENAI_CHAT, ChatBody, Knob, Quirks
from llmcore.route import Defaults, ModelRule, Provider, Route, post

__all__ = ["CHAT", "MAX_TOKENS", "TOP_K", "documented", "route", "without"]

CHAT: Final = post("/chat/completions")

MAX_TOKENS: Final = Quirks(max_tokens_field="max_tokens")
"""For services that document the older of the two fields, and nothing else that is their own."""

TOP_K: Final = Quirks(max_tokens_field="max_tokens", knobs={"top_k": "top_k"})
"""For services that document the older field, and `top_k` beside it."""


def without(*knobs: Knob) -> dict[Knob, str | None]:
    """The quirk for knobs that a service does not have: they are left out with a warning."""
    return dict.fromkeys(knobs)


def route(
    id: str,
    base_url: str,
    auth: Auth,
    *,
    quirks: Quirks | None = None,
    rules: tuple[ModelRule[Quirks], ...] = (),
    variables: dict[str, str] | None = None,
    defaults: Defaults | None = None,
) -> Route[Quirks, ChatBody]:
    """A route that speaks Chat Completions at `base_url` and claims no capability."""
    return Route(
        id=id,
        protocol=OPENAI_CHAT,
        base_url=base_url,
        variables=variables or {},
        endpoint=CHAT,
        auth=auth,
        framing=SSE,
        quirks=quirks,
        rules=rules,
        defaults=defaults or Defaults(),
    )


def documented(
    id: str,
    base_url: str,
    *keys: str,
    docs: str,
    auth: Auth | None = None,
    quirks: Quirks | None = None,
    rules: tuple[ModelRule[Quirks], ...] = (),
    variables: dict[str, str] | None = None,
    defaults: Defaults | None = None,
    apis: dict[str, Route[Any, Any]] | None = None,
) -> Provider:
    """The provider `id`, known from `docs`. Its key is a bearer token from the first of the variables `keys` that is
    set; `auth` says otherwise."""
    return Provider(
        id=id,
        docs=docs,
        evidence="documented",
        route=route(
            f"{id}/chat",
            base_url,
            auth or bearer(*keys),
            quirks=quirks,
            rules=rules,
            variables=variables,
            defaults=defaults,
        ),
        apis=apis or {},
    )
