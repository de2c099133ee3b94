"""`AsyncClient(http="aiohttp")`: the same calls over the httpx-aiohttp transport, on asyncio."""

import asyncio
import gc
import logging
import socket
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
import tiny
from loopback import PATIENCE, Outcome, Serve, call

from llmcore.auth import query
from llmcore.cassette import Close, Hold, Repeat, ReplayServer, Reply, Reset, Send, Wait
from llmcore.client import AsyncClient, Client
from llmcore.errors import (
    CallCancelledError,
    ConfigError,
    OverloadedError,
    RateLimitError,
    RequestTimeoutError,
    StreamTruncatedError,
    TransportError,
)
from llmcore.http import Timeout

SILENT = Reply(framing="raw", actions=(Hold(),))


def run(model: Any, **options: Any) -> Outcome:
    return call("asyncio", model, http="aiohttp", **options)


def clocks(**seconds: float | None) -> Timeout:
    return Timeout(**{"connect": 30.0, "first_event": 30.0, "idle": 30.0, "total": None, **seconds})


def test_a_stream_and_a_whole_body_on_one_connection(scheme: str, serve: Serve) -> None:
    server = serve(tiny.hello(headers=(("set-cookie", "a=b; Path=/"),)), tiny.whole())
    outcome = run(tiny.model(server.url), again=True)
    assert tiny.names(outcome.events) == tiny.HELLO
    assert outcome.again is not None
    assert len(server.connections) == 1
    stream, whole = server.requests
    assert stream.header("authorization") == f"Bearer {tiny.KEY}"
    assert (stream.header("accept-encoding"), whole.header("cookie")) == ("identity", None)
    assert (stream.header("user-agent") or "").startswith("llmcore/")


def test_events_come_as_soon_as_they_are_sent(serve: Serve) -> None:
    gates = [threading.Event() for _ in range(2)]
    steps = [step for gate, word in zip(gates, tiny.words("a", "b"), strict=True) for step in (word, Wait(gate))]
    server = serve(tiny.stream(*steps, tiny.FINISH, tiny.DONE))
    heard = iter(gates)
    outcome = run(tiny.model(server.url), seen=lambda event: next(heard).set() if getattr(event, "text", "") else None)
    assert outcome.text == "ab"


@pytest.mark.parametrize(
    ("reply", "kind", "status"),
    [
        (Reply.text("<h1>Bad Gateway</h1>", status=502), OverloadedError, 502),
        (Reply.json({"e": 1}, status=429), RateLimitError, 429),
        (Reply(status=302, headers=(("location", "/elsewhere"),)), OverloadedError, 302),
        (Reply(status=500), OverloadedError, 500),
    ],
)
def test_error_replies(serve: Serve, reply: Reply, kind: type[Exception], status: int) -> None:
    server = serve(reply, tiny.whole())
    outcome = run(tiny.model(server.url), again=True)
    assert (type(outcome.failure), outcome.failure.status) == (kind, status)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "reply",
    [
        Reply(framing="raw", actions=(Reset(),)),
        Reply(framing="raw", actions=(Close(),)),
        Reply(framing="raw", actions=(Send(b"SSH-2.0\r\n\r\n"), Close())),
    ],
)
def test_a_connection_that_breaks_before_the_head_is_no_connect_timeout(
    scheme: str, serve: Serve, reply: Reply
) -> None:
    server = serve(reply, tiny.whole())
    outcome = run(tiny.model(server.url), whole=True, again=True)
    assert type(outcome.failure) is TransportError
    assert outcome.failure.request_sent == "maybe"
    assert outcome.again is not None


def test_nobody_listens() -> None:
    error = run(tiny.model("http://127.0.0.1:1"), whole=True).failure
    assert (type(error), error.request_sent) == (TransportError, "no")
    assert isinstance(error.__cause__, OSError)


@pytest.mark.parametrize("last", [Reset(), Close(), b'data: {"te'])
def test_a_stream_without_its_end(scheme: str, serve: Serve, last: Any) -> None:
    server = serve(tiny.stream(*tiny.words("Hel"), last))
    error = run(tiny.model(server.url)).failure
    assert type(error) is StreamTruncatedError
    assert (error.partial.text, error.request_sent) == ("Hel", "yes")


def test_what_had_its_evidence_is_complete(serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("Hel", "lo"), tiny.FINISH, Reset()))
    assert tiny.names(run(tiny.model(server.url)).events) == tiny.HELLO


@pytest.mark.parametrize(
    ("reply", "timeout", "which", "sent"),
    [
        (SILENT, clocks(first_event=0.1), "first_event", "maybe"),
        (SILENT, clocks(total=0.1), "total", "maybe"),
        (tiny.stream(b": hello\n\n", Hold()), clocks(first_event=0.1), "first_event", "yes"),
        (tiny.stream(*tiny.words("a"), Hold()), clocks(idle=0.1), "idle", "yes"),
        (tiny.stream(*tiny.words("a"), Repeat(b": hi\n\n", seconds=0.01)), clocks(idle=0.1), "idle", "yes"),
        (tiny.stream(Repeat(b'data: {"text":"x"}\n\n', seconds=0.01)), clocks(total=0.1), "total", "yes"),
    ],
)
def test_the_clocks(serve: Serve, reply: Reply, timeout: Timeout, which: str, sent: str) -> None:
    server = serve(reply)
    error = run(tiny.model(server.url), timeout=timeout).failure
    assert isinstance(error, RequestTimeoutError)
    assert (error.which, error.request_sent) == (which, sent)
    assert server.wait_closed()


def test_the_clock_of_connecting() -> None:
    with ReplayServer(silent=True) as server:
        model = tiny.model(server.url.replace("http:", "https:"))
        error = run(model, timeout=clocks(connect=0.1)).failure
    assert isinstance(error, RequestTimeoutError)
    assert (error.which, error.request_sent) == ("connect", "no")


def test_a_server_that_stays_after_the_end(serve: Serve) -> None:
    go_on = threading.Event()
    server = serve(tiny.stream(*tiny.words("Hello"), tiny.FINISH, tiny.DONE, Wait(go_on)))
    assert run(tiny.model(server.url)).text == "Hello"
    assert not go_on.is_set()
    assert server.wait_closed()


@pytest.mark.parametrize("silent", [True, False], ids=["before the head", "in mid-stream"])
def test_cancel_from_another_thread(scheme: str, serve: Serve, silent: bool) -> None:
    server = serve(SILENT if silent else tiny.stream(*tiny.words("a"), Hold()), tiny.whole())
    heard = threading.Event()

    def cancel(stream: Any) -> None:
        assert server.wait_requests(1)
        assert silent or heard.wait(PATIENCE)
        stream.cancel()

    # Time that the loop's own thread spends waiting for the other one is none that the loop can run in.
    async def main() -> None:
        async with AsyncClient(http="aiohttp") as client:
            stream = client.stream(tiny.model(server.url), "Hi")
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.to_thread.run_sync, cancel, stream)
                error: BaseException | None = None
                try:
                    async with stream:
                        async for _ in stream:
                            heard.set()
                except CallCancelledError as problem:
                    error = problem
            assert isinstance(error, CallCancelledError)
            assert error.request_sent == ("maybe" if silent else "yes")
            assert (await client.generate(tiny.model(server.url), "Again")).text == "Hello"

    anyio.run(main)
    assert server.connections[0].closed.is_set()


def test_a_cancelled_task(serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("a"), Hold()), tiny.whole())

    async def main() -> None:
        async with AsyncClient(http="aiohttp") as client:
            heard = asyncio.Event()

            async def work() -> None:
                async with client.stream(tiny.model(server.url), "Hi") as stream:
                    async for _ in stream:
                        heard.set()

            task = asyncio.create_task(work())
            await heard.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(server.connections[0].closed.wait, PATIENCE)
            assert (await client.generate(tiny.model(server.url), "Again")).text == "Hello"

    asyncio.run(main())


def test_a_stream_left_early(serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("a"), Hold()), tiny.whole())

    async def main() -> None:
        async with AsyncClient(http="aiohttp") as client:
            async with client.stream(tiny.model(server.url), "Hi") as stream:
                await anext(stream.text_deltas())
            assert await asyncio.to_thread(server.connections[0].closed.wait, PATIENCE)
            assert (await client.generate(tiny.model(server.url), "Again")).text == "Hello"

    asyncio.run(main())


def test_two_event_loops_and_nothing_left_open(serve: Serve) -> None:
    server = serve(tiny.whole(), tiny.whole())
    client = AsyncClient(http="aiohttp")

    async def once() -> str:
        return (await client.generate(tiny.model(server.url), "Hi")).text

    assert [asyncio.run(once()) for _ in range(2)] == ["Hello", "Hello"]
    gc.collect()
    assert server.wait_closed()


def test_more_streams_than_aiohttp_would_open(serve: Serve) -> None:
    """aiohttp's own cap is a hundred connections."""
    gate = threading.Event()
    steps = (Wait(gate), *tiny.words("Hello"), tiny.FINISH, tiny.DONE)
    server = serve(*[tiny.stream(*steps) for _ in range(120)])

    async def main() -> list[str]:
        async with AsyncClient(http="aiohttp") as client:
            tasks = [asyncio.create_task(one(client)) for _ in range(120)]
            assert await asyncio.to_thread(server.wait_requests, 120)
            gate.set()
            return await asyncio.gather(*tasks)

    async def one(client: AsyncClient) -> str:
        async with client.stream(tiny.model(server.url), "Hi") as stream:
            return "".join([text async for text in stream.text_deltas()])

    assert asyncio.run(main()) == ["Hello"] * 120


@pytest.mark.skipif(not hasattr(socket, "TCP_KEEPIDLE"), reason="the options are Linux's")
def test_tcp_keep_alive_is_on(serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("a"), Hold()))

    async def main() -> tuple[int, int]:
        async with AsyncClient(http="aiohttp") as client, client.stream(tiny.model(server.url), "Hi") as stream:
            raw: Any = stream._call.line.socket._raw
            return (
                raw.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
                raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
            )

    assert asyncio.run(main()) == (1, 60)


def test_a_proxy(monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    server = serve(tiny.whole())
    monkeypatch.setenv("HTTP_PROXY", server.url)
    assert run(tiny.model("http://api.example.invalid/v1"), whole=True).error is None
    assert server.requests[0].path == "http://api.example.invalid/v1/chat"


def test_a_private_authority(server_tls: Any, authority_file: Path) -> None:
    with ReplayServer([tiny.whole()], tls=server_tls) as server:
        error = run(tiny.model(server.url), whole=True).failure
    assert type(error) is TransportError
    assert "SSL_CERT_FILE" in error.message
    assert authority_file.exists()


def test_no_key_in_the_logs(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server = serve(tiny.whole(), Reply.text(f"bad {tiny.KEY}", status=401))
    model = tiny.model(server.url, auth=query("key"))
    run(model, whole=True)
    error = run(model, whole=True).failure
    assert server.requests[0].path == f"/chat?key={tiny.KEY}"
    assert tiny.KEY not in caplog.text + repr(error) + str(error.body_excerpt)


def test_it_runs_on_asyncio_only(serve: Serve) -> None:
    server = serve(tiny.whole())
    error = call("trio", tiny.model(server.url), whole=True, http="aiohttp").failure
    assert isinstance(error, ConfigError)
    assert "asyncio" in error.message


def test_the_sync_client_has_no_aiohttp() -> None:
    with pytest.raises(ConfigError, match="AsyncClient"):
        Client(http="aiohttp")
