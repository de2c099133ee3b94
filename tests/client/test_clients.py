"""What a call gives beyond its text: records of the attempt, headers, the raw reply; and both ways to ask for it."""

import inspect
import logging
import threading
from typing import Any

import anyio
import msgspec
import pytest
import tiny
from loopback import Serve, Way, call

from llmcore.cassette import Hold, Reply
from llmcore.client import AsyncClient, Client
from llmcore.errors import ConfigError, InvalidRequestError, LLMError, RateLimitError
from llmcore.events import ResponseEnd, ResponseStart
from llmcore.http import HttpHead, Timeout
from llmcore.protocol import Frame
from llmcore.schema import Message, Request, Response
from llmcore.schema.response import RateLimit

LIMITS = (
    ("x-request-id", "req_1"),
    ("x-ratelimit-limit-requests", "60"),
    ("x-ratelimit-remaining-tokens", "149984"),
    ("x-ratelimit-reset-tokens", "6m0s"),
)
RATE_LIMIT = RateLimit(limit_requests=60, remaining_tokens=149984, reset_tokens=360.0)


def answer(way: Way, model: Any, *, settings: dict[str, Any] | None = None, **fields: Any) -> Response:
    """`generate`, in the way asked for."""

    def sync() -> Response:
        with Client(**(settings or {})) as client:
            return client.generate(model, "Hi", **fields)

    async def main() -> Response:
        async with AsyncClient(**(settings or {})) as client:
            return await client.generate(model, "Hi", **fields)

    return sync() if way == "sync" else anyio.run(main, backend=way)


def bare(response: Response) -> Response:
    """The response without what differs from call to call."""
    attempts = tuple(msgspec.structs.replace(attempt, seconds=None) for attempt in response.attempts)
    return msgspec.structs.replace(response, timing=type(response.timing)(), attempts=attempts)


def test_whole_and_assembled_from_a_stream_are_equal(way: Way, serve: Serve) -> None:
    server = serve(tiny.whole(headers=LIMITS), tiny.hello(headers=LIMITS))
    whole = answer(way, tiny.model(server.url))
    streamed = answer(way, tiny.model(server.url), settings={"generate": "stream"})
    assert bare(whole) == bare(streamed)
    assert [request.json().get("stream") for request in server.requests] == [None, True]  # type: ignore[attr-defined]


def test_sync_and_async_are_equal(serve: Serve) -> None:
    server = serve(tiny.whole(headers=LIMITS), repeat=True)
    ways: list[Way] = ["sync", "asyncio", "trio"]
    first, *others = [bare(answer(way, tiny.model(server.url))) for way in ways]
    assert others == [first, first]
    sent = [(request.method, request.path, request.headers, request.body) for request in server.requests]
    assert sent[1:] == [sent[0], sent[0]]


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "stream"])
def test_the_record_of_a_call(way: Way, serve: Serve, whole: bool) -> None:
    server = serve(tiny.whole(headers=LIMITS) if whole else tiny.hello(headers=LIMITS))
    outcome = call(way, tiny.model(server.url), whole=whole)
    response = outcome.response
    assert response is not None
    assert (response.request_id, response.rate_limit) == ("req_1", RATE_LIMIT)
    [attempt] = response.attempts
    assert (attempt.outcome, attempt.status, attempt.request_id, attempt.request_sent) == (
        "succeeded",
        200,
        "req_1",
        "yes",
    )
    assert (attempt.provider, attempt.model) == ("tiny", "t1")
    assert response.timing.first_event is not None
    assert response.timing.total is not None
    assert attempt.seconds is not None
    assert 0 < response.timing.first_event <= response.timing.total
    if not whole:
        start = outcome.events[0]
        assert isinstance(start, ResponseStart)
        assert start.request_id == "req_1"


@pytest.mark.parametrize("stage", ["status", "in the stream", "cut off"])
def test_the_record_of_a_call_that_fails(way: Way, serve: Serve, stage: str) -> None:
    replies = {
        "status": Reply.json({}, status=429, headers=LIMITS),
        "in the stream": tiny.stream(*tiny.words("Hel"), '{"error":"overloaded"}', headers=LIMITS),
        "cut off": tiny.stream(*tiny.words("Hel"), headers=LIMITS),
    }
    server = serve(replies[stage])
    error = call(way, tiny.model(server.url)).failure
    assert isinstance(error, LLMError)
    assert (error.request_id, error.provider, error.model, error.request_sent) == ("req_1", "tiny", "t1", "yes")
    [attempt] = error.attempts
    assert (attempt.outcome, attempt.error_kind, attempt.status) == ("failed", error.kind, error.status)
    assert attempt.seconds is not None
    assert attempt.request_id == "req_1"


def test_raw_and_the_exchange(way: Way, serve: Serve) -> None:
    server = serve(tiny.whole(), tiny.hello(), tiny.hello())
    model = tiny.model(server.url)
    whole = answer(way, model)
    assert whole.raw == b'{"text":"Hello","finish":"stop"}'
    assert isinstance(whole.__dict__["http"], HttpHead)
    assert answer(way, model, settings={"generate": "stream"}).raw is None
    kept = answer(way, model, settings={"generate": "stream", "keep_raw": True}).raw
    assert isinstance(kept, list)
    assert all(isinstance(frame, Frame) for frame in kept)
    assert [frame.data.decode() for frame in kept] == [*tiny.words("Hel", "lo"), tiny.FINISH, tiny.DONE]


def test_warnings_of_lowering_come_with_the_first_event_and_the_response(
    way: Way, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="llmcore")
    server = serve(tiny.whole(), tiny.hello())
    response = answer(way, tiny.model(server.url), seed=7)
    assert [warning.subject for warning in response.warnings] == ["generation.seed"]
    assert len(caplog.records) == 1
    streamed = answer(way, tiny.model(server.url), settings={"generate": "stream"}, seed=7)
    assert streamed.warnings == response.warnings


def test_strict_refuses_before_anything_is_sent(way: Way, serve: Serve) -> None:
    server = serve(tiny.whole())
    for settings, fields in (({"strict": True}, {}), ({}, {"strict": True})):
        with pytest.raises(LLMError, match="strict"):
            answer(way, tiny.model(server.url), settings=settings, seed=7, **fields)
    assert server.requests == ()
    assert answer(way, tiny.model(server.url), settings={"strict": True}, seed=7, strict=False).text == "Hello"


def test_a_timeout_of_the_call_wins_over_the_clients(way: Way, serve: Serve) -> None:
    server = serve(Reply(framing="raw", actions=(Hold(),)), tiny.whole())
    with pytest.raises(LLMError) as caught:
        answer(way, tiny.model(server.url), settings={"timeout": 60}, timeout=Timeout(first_event=0.05))
    assert getattr(caught.value, "which", None) == "first_event"
    assert answer(way, tiny.model(server.url), settings={"timeout": 60.0}, timeout=None).text == "Hello"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_json_does_not_have(value: float) -> None:
    with Client() as client, pytest.raises(InvalidRequestError, match="temperature"):
        client.generate(tiny.model("http://127.0.0.1:1"), "Hi", temperature=value)


@pytest.mark.parametrize(
    "settings", [{"generate": "both"}, {"timeout": -1}, {"timeout": "soon"}, {"http": "httpx"}, {"http": object()}]
)
@pytest.mark.parametrize("made", [Client, AsyncClient])
def test_settings_that_are_none(made: Any, settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        made(**settings)


def test_a_client_of_the_other_kind() -> None:
    import httpx

    with pytest.raises(ConfigError, match=r"httpx\.Client"):
        Client(http=httpx.AsyncClient())
    with pytest.raises(ConfigError, match=r"httpx\.AsyncClient"), httpx.Client() as http:
        AsyncClient(http=http)
    with pytest.raises(ConfigError, match="AsyncClient only"):
        Client(http="aiohttp")


def test_the_mint_is_the_callers(serve: Serve) -> None:
    ids = list[str]()

    def mint() -> str:
        ids.append("x")
        return "x"

    with Client(mint=mint) as client:
        assert client._settings.mint is mint
    assert ids == []


def test_the_messages_of_an_answer_go_on(way: Way, serve: Serve) -> None:
    """The message of a response is a message of the next request."""
    server = serve(tiny.whole(), tiny.whole())
    model = tiny.model(server.url)

    def sync() -> None:
        with Client() as client:
            first = client.generate(model, "Hi")
            client.generate(model, [Message.user("Hi"), first.message, Message.user("And?")])

    async def main() -> None:
        async with AsyncClient() as client:
            first = await client.generate(model, "Hi")
            await client.generate(model, Request(messages=(Message.user("Hi"), first.message, Message.user("And?"))))

    sync() if way == "sync" else anyio.run(main, backend=way)
    assert server.requests[1].json() == {"model": "t1", "prompt": "Hi Hello And?"}


def test_a_slow_reader_loses_nothing(way: Way, serve: Serve) -> None:
    """A thousand events that wait for their reader."""
    server = serve(tiny.stream(*tiny.words(*[str(number) for number in range(1000)]), tiny.FINISH, tiny.DONE))
    outcome = call(way, tiny.model(server.url), seen=lambda event: threading.Event().is_set())
    assert outcome.text == "".join(map(str, range(1000)))
    assert isinstance(outcome.events[-1], ResponseEnd)


def test_errors_are_raised_on_entering_and_stay_retryable(way: Way, serve: Serve) -> None:
    server = serve(Reply.json({}, status=429), tiny.hello())
    outcome = call(way, tiny.model(server.url))
    assert isinstance(outcome.error, RateLimitError)
    assert (outcome.entered, outcome.error.retryable) == (False, True)
    assert call(way, tiny.model(server.url)).text == "Hello"
    assert len(server.requests) == 2


# The two clients are one


TWINS = ("__init__", "generate", "stream", "prepare", "check", "model")


@pytest.mark.parametrize("name", TWINS)
def test_the_signatures_are_equal(name: str) -> None:
    def parts(cls: type) -> list[tuple[str, Any, Any, Any]]:
        signature = inspect.signature(getattr(cls, name))
        return [
            (parameter.name, parameter.kind, parameter.default, str(parameter.annotation).replace("Async", ""))
            for parameter in signature.parameters.values()
            if parameter.name != "http"
        ]

    assert parts(Client) == parts(AsyncClient)
    assert ("http" in inspect.signature(getattr(Client, name)).parameters) is (
        "http" in inspect.signature(getattr(AsyncClient, name)).parameters
    )


def test_the_public_names_are_equal() -> None:
    from llmcore.client import AsyncStream, Stream

    def public(cls: type) -> set[str]:
        return {name for name in vars(cls) if not name.startswith("_")}

    assert public(Client) - {"close"} == public(AsyncClient) - {"aclose"}
    assert public(Stream) - {"close"} == public(AsyncStream) - {"aclose"}
    for name in public(Client) - {"close", "generate"}:
        ours, theirs = inspect.signature(getattr(Client, name)), inspect.signature(getattr(AsyncClient, name))
        assert str(ours.return_annotation).rpartition(".")[2].replace("Async", "") == str(
            theirs.return_annotation
        ).rpartition(".")[2].replace("Async", "")
