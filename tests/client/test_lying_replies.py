"""Replies that are not what they say they are: the bytes decide, and nothing that they say is lost."""

import threading
from typing import Any

import pytest
from chat_frames import STREAM, WHOLE, chunk
from loopback import PATIENCE, Serve, Way, call

import llmcore
from llmcore.cassette import Reply, Send
from llmcore.cassette.script import Hold
from llmcore.client import Client
from llmcore.errors import (
    CallCancelledError,
    LLMError,
    ProtocolError,
    QuotaError,
    RateLimitError,
    StreamTruncatedError,
)
from llmcore.schema import HttpExtras, Request

KEY = "sk-canary-0123"
KINDS = ["text/event-stream", "text/plain", "application/json", "application/octet-stream"]


DELTA = '{"content":"Well"}'
WELL = f"data: {chunk(DELTA)}\n\n"


def model(url: str, key: str = KEY) -> Any:
    return llmcore.model("openai/chat:gpt-5-mini", api_key=key, base_url=url + "/v1")


def typed(body: str, kind: str) -> Reply:
    return Reply(headers=(("content-type", kind),), actions=(Send(body.encode()),))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("body", "error"),
    [
        ('{"error":{"message":"slow down","code":429}}', RateLimitError),
        ('{"error":{"message":"no credit","code":"insufficient_quota"}}', QuotaError),
        ("<html><title>bad gateway</title></html>", ProtocolError),
    ],
    ids=["a rate limit", "a quota", "a web page"],
)
def test_an_error_in_a_200_is_itself_whatever_the_content_type(
    kind: str, body: str, error: type[LLMError], way: Way, serve: Serve
) -> None:
    outcome = call(way, model(serve(typed(body, kind)).url))
    assert type(outcome.failure) is error
    assert outcome.failure.status == 200


def test_a_whole_body_that_calls_itself_a_stream(way: Way, serve: Serve) -> None:
    outcome = call(way, model(serve(typed(WHOLE, "text/event-stream")).url))
    assert outcome.response is not None
    assert (outcome.response.text, outcome.response.stop_reason) == ("Well, ", "tool_use")


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("whole", [False, True], ids=["asked for a stream", "asked for a body"])
def test_a_stream_is_read_whatever_was_asked_for(kind: str, whole: bool, way: Way, serve: Serve) -> None:
    body = "".join(f"data: {data}\n\n" for data in STREAM)
    outcome = call(way, model(serve(typed(body, kind)).url), whole=whole)
    assert outcome.response is not None
    assert (outcome.response.text, outcome.response.stop_reason) == ("Well, ", "tool_use")


def test_an_error_without_its_frame_behind_a_delta(way: Way, serve: Serve) -> None:
    delta = WELL
    bare = '{"error":{"message":"no credit","code":"insufficient_quota"}}\n'
    outcome = call(way, model(serve(typed(delta + bare, "text/event-stream")).url))
    assert type(outcome.failure) is QuotaError
    assert outcome.failure.partial.text == "Well"


def test_a_stream_that_was_cut_shows_its_end_without_the_key(way: Way, serve: Serve) -> None:
    ending = f"upstream said: {KEY} is over its limit"
    delta = WELL
    outcome = call(way, model(serve(typed(delta + ending, "text/event-stream")).url))
    assert type(outcome.failure) is StreamTruncatedError
    assert "over its limit" in outcome.failure.body_excerpt
    assert KEY not in outcome.failure.body_excerpt


def test_keys_of_the_callers_own_that_come_back_are_taken_out(serve: Serve) -> None:
    gateway, query, place = "gw-canary-4567", "q-canary-8901", "p-canary-2345"
    echo = f"bad {gateway} {query} {place}"
    headers = (("x-request-id", f"req-{gateway}"),)
    server = serve(Reply.json({"error": {"message": echo}}, status=401, headers=headers))
    extras = HttpExtras(headers={"x-gateway": gateway}, query={"token": query})
    chosen = llmcore.model("openai/chat:m", api_key=KEY, base_url=f"{server.url}/v1?key={place}")
    with Client() as client, pytest.raises(llmcore.AuthError) as caught:
        client.generate(chosen, "Hi", http=extras)
    said = f"{caught.value} {caught.value.body_excerpt} {caught.value.request_id} {caught.value.attempts}"
    for secret in (gateway, query, place):
        assert secret not in said
        assert secret not in repr(Request(http=extras))


def test_a_key_that_comes_back_escaped_is_taken_out(serve: Serve) -> None:
    key = 'sk-ab/cd"ef-0123'
    server = serve(Reply.json(b'{"error":{"message":"bad sk-ab\\/cd\\"ef-0123"}}', status=401))
    with Client() as client, pytest.raises(llmcore.AuthError) as caught:
        client.generate(model(server.url, key), "Hi")
    assert "ab\\/cd" not in (caught.value.body_excerpt or "")
    assert key not in str(caught.value)


def test_a_failed_stream_says_so_for_good(serve: Serve) -> None:
    server = serve(typed(WELL, "text/event-stream"))
    with Client() as client, client.stream(model(server.url), "Hi") as stream:
        with pytest.raises(StreamTruncatedError) as first:
            list(stream)
        with pytest.raises(StreamTruncatedError) as again:
            list(stream)
        with pytest.raises(StreamTruncatedError):
            _ = stream.response
    assert again.value is first.value
    assert stream.partial is first.value.partial
    assert stream.partial is not None
    assert stream.partial.metadata is not None
    assert stream.partial.metadata.status == "error"


def test_the_head_is_at_hand_on_responses_streams_and_errors(serve: Serve) -> None:
    named = (("x-extra", "1"),)
    server = serve(
        Reply.json(WHOLE.encode(), headers=named),
        Reply.sse(*STREAM, headers=named),
        Reply.json({"error": {"message": "no"}}, status=400, headers=named),
    )
    with Client() as client:
        response = client.generate(model(server.url), "Hi")
        assert response.http is not None
        assert response.http.header("x-extra") == "1"
        with client.stream(model(server.url), "Hi") as stream:
            assert stream.http is not None
            assert stream.http.header("x-extra") == "1"
        with pytest.raises(LLMError) as caught:
            client.generate(model(server.url), "Hi")
    assert caught.value.http is not None
    assert (caught.value.http.status, caught.value.http.header("x-extra")) == (400, "1")


def test_closing_the_client_wakes_whoever_waits(serve: Serve) -> None:
    server = serve(Reply.sse(chunk(DELTA), Hold()))
    client = Client()
    waiting, seen = threading.Event(), list[BaseException]()

    def read() -> None:
        with client.stream(model(server.url), "Hi") as stream:
            try:
                for _ in stream:
                    waiting.set()
            except CallCancelledError as error:
                seen.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    assert waiting.wait(PATIENCE)
    client.close()
    reader.join(PATIENCE)
    assert not reader.is_alive()
    assert [type(error) for error in seen] == [CallCancelledError]
