"""Clients of httpx2, the other library of httpx's interface, in its place."""

import logging
import threading
from typing import Any

import anyio
import httpx2
import pytest
import tiny
from loopback import PATIENCE, Outcome, Serve, Way, _async, call

from llmcore.cassette import Hold, Repeat, Reply, Reset
from llmcore.client import AsyncClient
from llmcore.errors import CallCancelledError, RequestTimeoutError, StreamTruncatedError, TransportError
from llmcore.http import Timeout
from llmcore.transport.faults import FAULTS


def call_on(way: Way, model: Any, **options: Any) -> Outcome:
    if way == "sync":
        with httpx2.Client(trust_env=False) as http:
            return call(way, model, http=http, **options)
    outcome = Outcome()

    async def main() -> None:
        keywords = [options.pop(name, None) for name in ("whole", "again", "meanwhile", "seen")]
        async with httpx2.AsyncClient(trust_env=False) as http:
            await _async(outcome, model, *keywords, {"http": http, **options})

    anyio.run(main, backend=way)
    return outcome


def clocks(**seconds: float | None) -> Timeout:
    return Timeout(**{"connect": 30.0, "first_event": 30.0, "idle": 30.0, "total": None, **seconds})


def test_a_stream_and_a_whole_body_on_one_connection(way: Way, serve: Serve) -> None:
    server = serve(tiny.hello(), tiny.whole())
    outcome = call_on(way, tiny.model(server.url), again=True)
    assert tiny.names(outcome.events) == tiny.HELLO
    assert outcome.again is not None
    assert len(server.connections) == 1
    assert server.requests[0].header("authorization") == f"Bearer {tiny.KEY}"
    assert server.requests[0].header("accept-encoding") == "identity"


def test_line_separators_are_text(way: Way, serve: Serve) -> None:
    server = serve(tiny.stream('{"text":"a\u2028b"}', tiny.FINISH, tiny.DONE))
    assert call_on(way, tiny.model(server.url)).text == "a\u2028b"


@pytest.mark.parametrize(
    ("reply", "timeout", "which", "sent"),
    [
        (Reply(framing="raw", actions=(Hold(),)), clocks(first_event=0.1), "first_event", "maybe"),
        (tiny.stream(b": hello\n\n", Hold()), clocks(first_event=0.1), "first_event", "yes"),
        (tiny.stream(*tiny.words("a"), Hold()), clocks(idle=0.1), "idle", "yes"),
        (tiny.stream(*tiny.words("a"), Repeat(b": hi\n\n", seconds=0.01)), clocks(idle=0.1), "idle", "yes"),
        (tiny.stream(Repeat(b'data: {"text":"x"}\n\n', seconds=0.01)), clocks(total=0.1), "total", "yes"),
    ],
)
def test_the_clocks(way: Way, serve: Serve, reply: Reply, timeout: Timeout, which: str, sent: str) -> None:
    server = serve(reply)
    error = call_on(way, tiny.model(server.url), timeout=timeout).failure
    assert isinstance(error, RequestTimeoutError)
    assert (error.which, error.request_sent) == (which, sent)


def test_broken_connections(way: Way, serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("a"), Reset()), Reply(framing="raw", actions=(Reset(),)))
    assert type(call_on(way, tiny.model(server.url)).failure) is StreamTruncatedError
    assert type(call_on(way, tiny.model(server.url)).failure) is TransportError
    refused = call_on(way, tiny.model("http://127.0.0.1:1")).failure
    assert (type(refused), refused.request_sent) == (TransportError, "no")


def test_cancel_in_mid_stream(way: Way, serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("a"), Hold()))
    heard = threading.Event()

    def cancel(stream: Any) -> None:
        assert heard.wait(PATIENCE)
        stream.cancel()

    outcome = call_on(way, tiny.model(server.url), meanwhile=cancel, seen=lambda event: heard.set())
    assert type(outcome.failure) is CallCancelledError
    assert server.wait_closed()


def test_a_stream_left_early_frees_a_pool_of_one(serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("a"), Hold()), tiny.whole())
    model = tiny.model(server.url)

    async def main() -> None:
        limits = httpx2.Limits(max_connections=1)
        async with httpx2.AsyncClient(limits=limits, trust_env=False) as http, AsyncClient(http=http) as client:
            async with client.stream(model, "Hi") as stream:
                await anext(aiter(stream))
            assert (await client.generate(model, "Hi")).text == "Hello"

    anyio.run(main)


def test_every_exception_of_httpx2_is_in_the_table() -> None:
    found = {value for value in vars(httpx2).values() if isinstance(value, type) and issubclass(value, Exception)}
    for cls in found - {httpx2.HTTPStatusError, httpx2.CookieConflict}:
        assert any(base.__name__ in FAULTS for base in cls.__mro__), cls


def test_its_log_shows_no_query(way: Way, serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    from llmcore.auth import query

    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="httpx2")
    server = serve(tiny.whole())
    call_on(way, tiny.model(server.url, auth=query("key")), whole=True)
    assert server.requests[0].path == f"/chat?key={tiny.KEY}"
    assert any(record.name == "httpx2" for record in caplog.records)
    assert tiny.KEY not in caplog.text
