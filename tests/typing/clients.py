"""What type checkers see of the clients. Nothing here runs: pyright strict and mypy strict read it.

Each line marked with an ignore is an error that a type checker must report; one that is not reported is an error too.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager
from typing import Any, assert_type

import llmcore
from llmcore import (
    AsyncClient,
    AsyncStream,
    Check,
    Client,
    Generation,
    LLMError,
    Message,
    Model,
    Prepared,
    Request,
    Response,
    Stream,
    Timeout,
    ToolCall,
    ToolDefinition,
)
from llmcore.events import Event, TextDelta, ToolCallEnd
from llmcore.protocols.openai_chat import ChatBody
from llmcore.schema import StopReason


def one_offs() -> None:
    assert_type(llmcore.generate("openai/chat:m", "Hello"), Response)
    streamed: AbstractContextManager[Stream] = llmcore.stream("openai/chat:m", "Hello")
    with streamed as stream:
        assert_type(stream.response, Response)
    assert_type(llmcore.model("openai/chat:m"), Model[Any])
    assert_type(llmcore.model("openai/chat:m", api_key="k", base_url="https://llm.example.com"), Model[Any])
    llmcore.model("openai/chat:m", "k")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def sync_client(client: Client, model: Model[ChatBody]) -> None:
    assert_type(client.generate(model, "Hello"), Response)
    assert_type(client.generate("openai/chat:m", [Message.user("Hello")]), Response)
    assert_type(client.generate(model, Request(messages=(Message.user("Hello"),))), Response)
    assert_type(client.prepare(model, "Hello"), Prepared[ChatBody])
    assert_type(client.prepare(model, "Hello", stream=True).body, ChatBody)
    assert_type(client.prepare("openai/chat:m", "Hello"), Prepared[object])
    assert_type(client.prepare(model, "Hello").to_curl(), str)
    assert_type(client.check(model, "Hello"), Check)
    assert_type(client.check(model, "Hello").errors, tuple[LLMError, ...])
    with client.stream(model, "Hello") as stream:
        assert_type(stream, Stream)
        assert_type(iter(stream), Iterator[Event])
        assert_type(stream.text_deltas(), Iterator[str])
        assert_type(stream.partial, Message | None)
    assert_type(stream.response, Response)


async def async_client(client: AsyncClient, model: Model[ChatBody]) -> None:
    assert_type(await client.generate(model, "Hello"), Response)
    assert_type(client.prepare(model, "Hello"), Prepared[ChatBody])
    assert_type(client.prepare("openai/chat:m", "Hello"), Prepared[object])
    assert_type(client.check(model, "Hello"), Check)
    async with client.stream(model, "Hello") as stream:
        assert_type(stream, AsyncStream)
        assert_type(aiter(stream), AsyncIterator[Event])
        async for text in stream.text_deltas():
            assert_type(text, str)
    assert_type(stream.response, Response)


def keywords(client: Client, model: Model[ChatBody]) -> None:
    """The fields of a request, `generation`'s flattened, and the call's own; nothing else, and each of its type."""
    tool = ToolDefinition(name="weather")
    client.generate(model, "Hello", max_tokens=5, temperature=0.5, stop=("END",), tools=(tool,), system="Be brief.")
    client.generate(model, "Hello", timeout=30, strict=True)
    client.generate(model, "Hello", timeout=Timeout(connect=1, idle=None))
    client.stream(model, "Hello", seed=1)
    client.prepare(model, "Hello", top_p=1)
    client.generate(model, "Hello", max_token=5)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.generate(model, "Hello", max_tokens="5")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.generate(model, "Hello", time_budget_ms=5)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.generate(model, "Hello", stream=True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.stream(model, "Hello", n=2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.generate(model, 5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.generate(model)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Client(timeout="30")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Client(generate="chunks")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Client(retries=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def sync_is_not_async(client: Client, model: Model[ChatBody]) -> None:
    async def wrong() -> None:
        async with client.stream(model, "Hello"):  # type: ignore[attr-defined]  # pyright: ignore[reportGeneralTypeIssues]
            return

    assert_type(wrong.__name__, str)


def responses(response: Response) -> None:
    assert_type(response.text, str)
    assert_type(response.refusal, str | None)
    assert_type(response.tool_calls, tuple[ToolCall, ...])
    assert_type(response.stop_reason, StopReason)
    assert_type(response.usage.input_tokens, int | None)
    assert_type(response.message, Message)
    response.stop_reason = "stop"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


def events(event: Event) -> None:
    """The events are a union that a `match` narrows."""
    match event:
        case TextDelta(text=text):
            assert_type(text, str)
        case ToolCallEnd():
            assert_type(event.input, object)
            assert_type(event.error, str | None)
        case _:
            word: str = event.type
            assert_type(len(word), int)


def canonical_data() -> None:
    Message.user("Look:", llmcore.Media.from_url("https://example.com/a.png"))
    Message.user(llmcore.Reasoning(text="no"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Generation(max_tokens="5")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Request("x")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
