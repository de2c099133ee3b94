"""What type checkers see of declarations: a route takes only its own protocol's quirks; its models know the body."""

from typing import Any, assert_type

import msgspec

from llmcore import SSE, Endpoint, HttpRequest, Model, ModelRule, Provider, Route, Secret, bearer, custom, post
from llmcore.protocol import Protocol
from llmcore.protocols.openai_chat import OPENAI_CHAT, ChatBody, Quirks


class OtherQuirks(msgspec.Struct, frozen=True):
    """Another protocol's."""


def routes() -> None:
    assert_type(OPENAI_CHAT, Protocol[Quirks, ChatBody])
    route = Route(
        id="example/chat",
        protocol=OPENAI_CHAT,
        base_url="https://llm.example.com/v1",
        endpoint=post("/chat/completions"),
        auth=bearer("EXAMPLE_API_KEY"),
        framing=SSE,
        quirks=Quirks(max_tokens_field="max_tokens"),
        rules=(ModelRule(match="o*", quirks={"system_role": "developer"}),),
    )
    assert_type(route.model("m"), Model[ChatBody])
    assert_type(route.model("m", api_key=Secret("k")).route, Route[Any, ChatBody])
    route.model("m", api_key="k")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Provider(id="example", docs="https://docs.example.com", evidence="documented", route=route)
    Provider(id="example", docs="https://docs.example.com", evidence="rumour", route=route)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def quirks_of_another_protocol(end: Endpoint) -> None:
    key = bearer()
    Route(id="e/c", protocol=OPENAI_CHAT, base_url="u", endpoint=end, auth=key, framing=SSE, quirks=Quirks())
    Route(id="e/c", protocol=OPENAI_CHAT, base_url="u", endpoint=end, auth=key, framing=SSE, quirks=OtherQuirks())  # type: ignore[misc]  # pyright: ignore[reportArgumentType]


def quirk_values() -> None:
    Quirks(system_role="developer")
    Quirks(system_role="root")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Quirks(vendor="groq")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def signers() -> None:
    def sync(request: HttpRequest) -> HttpRequest:
        return request.with_header("x-signed", "yes")

    async def later(request: HttpRequest) -> HttpRequest:
        return request

    custom(sync)
    custom(later)
    custom(len)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
