"""The whole way on a real wire format: a name, a prompt, the bytes of OpenAI Chat, typed events and a response."""

from typing import Any

import anyio
import pytest
from chat_frames import STREAM, WHOLE
from loopback import Serve, Way

import llmcore
from llmcore.cassette import Reply
from llmcore.client import AsyncClient, Client
from llmcore.errors import AuthError, StreamTruncatedError
from llmcore.events import Event, TextDelta, ToolCallEnd
from llmcore.lifecycle import violations
from llmcore.schema import Message, Response, ToolDefinition

ADD = ToolDefinition(
    name="add",
    parameters={"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
)


def both(way: Way, model: Any, prompt: Any, **fields: Any) -> tuple[Response, list[Event], Response]:
    """One whole answer, and one streamed, with its events."""

    def sync() -> tuple[Response, list[Event], Response]:
        with Client() as client:
            whole = client.generate(model, prompt, **fields)
            with client.stream(model, prompt, **fields) as stream:
                events = list(stream)
            return whole, events, stream.response

    async def main() -> tuple[Response, list[Event], Response]:
        async with AsyncClient() as client:
            whole = await client.generate(model, prompt, **fields)
            async with client.stream(model, prompt, **fields) as stream:
                events = [event async for event in stream]
            return whole, events, stream.response

    return sync() if way == "sync" else anyio.run(main, backend=way)


def test_a_tool_call_whole_and_streamed(way: Way, serve: Serve) -> None:
    server = serve(Reply.json(WHOLE.encode()), Reply.sse(*STREAM))
    model = llmcore.model("openai/chat:gpt-5-mini", api_key="sk-canary-0123", base_url=server.url + "/v1")
    whole, events, streamed = both(way, model, "What is 1 + 2?", tools=[ADD], system="Be brief.")
    assert violations(events) == []
    for response in (whole, streamed):
        assert (response.text, response.stop_reason) == ("Well, ", "tool_use")
        [made] = response.tool_calls
        assert (made.name, made.input, made.wire_id) == ("add", {"a": 1, "b": 2}, "call_1")
        assert (response.usage.input_tokens, response.usage.output_tokens) == (9, 5)
        assert response.model == "gpt-5-mini-2025"
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Well, "
    assert [event.arguments for event in events if isinstance(event, ToolCallEnd)] == ['{"a":1,"b":2}']
    one, two = server.requests
    assert (one.path, one.header("authorization")) == ("/v1/chat/completions", "Bearer sk-canary-0123")
    body: Any = one.json()
    assert body["model"] == "gpt-5-mini"
    assert body["messages"][-1] == {"role": "user", "content": "What is 1 + 2?"}
    assert two.json()["stream"] is True  # type: ignore[index]


def test_the_result_of_the_tool_goes_back_under_its_wire_id(way: Way, serve: Serve) -> None:
    server = serve(Reply.json(WHOLE.encode()), Reply.sse(*STREAM), Reply.json(WHOLE.encode()), Reply.sse(*STREAM))
    model = llmcore.model("openai/chat:gpt-5-mini", api_key="sk-canary-0123", base_url=server.url + "/v1")
    _, _, first = both(way, model, "What is 1 + 2?", tools=[ADD])
    history = [Message.user("What is 1 + 2?"), first.message, Message.tool(first.tool_calls[0], "3")]
    both(way, model, history, tools=[ADD])
    body: Any = server.requests[2].json()
    assert body["messages"][1]["tool_calls"][0]["id"] == body["messages"][2]["tool_call_id"] == "call_1"


@pytest.mark.parametrize("place", range(len(STREAM)))
def test_a_stream_that_is_cut(serve: Serve, place: int) -> None:
    server = serve(Reply.sse(*STREAM[:place]))
    model = llmcore.model("openai/chat:gpt-5-mini", api_key="sk-canary-0123", base_url=server.url + "/v1")
    finished = place > 5
    with Client() as client, client.stream(model, "Hi", tools=[ADD]) as stream:
        if finished:
            assert violations(stream) == []
            assert stream.response.stop_reason == "tool_use"
            return
        with pytest.raises(StreamTruncatedError) as caught:
            list(stream)
    partial = caught.value.partial
    assert (partial is None) is (place == 0)
    assert partial is None or partial.metadata.status == "error"


def test_an_error_with_the_key_in_it(way: Way, serve: Serve) -> None:
    body = {"error": {"message": "Incorrect API key provided: sk-canary-0123.", "type": "invalid_request_error"}}
    server = serve(Reply.json(body, status=401, headers=(("x-request-id", "req_9"),)))
    model = llmcore.model("openai/chat:gpt-5-mini", api_key="sk-canary-0123", base_url=server.url + "/v1")
    with pytest.raises(AuthError) as caught:
        both(way, model, "Hi")
    assert (caught.value.status, caught.value.request_id) == (401, "req_9")
    assert "sk-canary-0123" not in f"{caught.value!r} {caught.value.body_excerpt}"
    assert "Incorrect API key" in str(caught.value)
