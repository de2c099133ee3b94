"""Pools of connections: one for each process and event loop, shared by threads and tasks, closed with their client."""

import asyncio
import copy
import gc
import os
import pickle
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest
import tiny
from loopback import Serve, Way

from llmcore.cassette import Hold, Received, Reply, Wait
from llmcore.client import AsyncClient, Client
from llmcore.errors import ConfigError
from llmcore.transport import http as transport


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return request.param


def test_one_client_in_two_event_loops(serve: Serve) -> None:
    """A pool belongs to the loop in which it was made; each run has its own, and leaves nothing open."""
    server = serve(*[tiny.whole() for _ in range(4)])
    model, client = tiny.model(server.url), AsyncClient()

    async def twice() -> list[str]:
        return [(await client.generate(model, "Hi")).text for _ in range(2)]

    assert asyncio.run(twice()) == ["Hello", "Hello"]
    assert server.connections[0].closed.wait(10)
    assert asyncio.run(twice()) == ["Hello", "Hello"]
    assert [request.connection for request in server.requests] == [0, 0, 1, 1]
    gc.collect()  # a socket left open would warn here, and warnings are errors
    assert server.wait_closed()


def test_one_client_on_asyncio_and_on_trio(serve: Serve) -> None:
    server = serve(tiny.whole(), tiny.hello(), tiny.whole())
    model, client = tiny.model(server.url), AsyncClient()

    async def whole() -> str:
        return (await client.generate(model, "Hi")).text

    async def stream() -> str:
        async with client.stream(model, "Hi") as stream:
            return "".join([text async for text in stream.text_deltas()])

    assert anyio.run(whole, backend="asyncio") == "Hello"
    assert anyio.run(stream, backend="trio") == "Hello"
    assert anyio.run(whole, backend="asyncio") == "Hello"
    gc.collect()
    assert server.wait_closed()


def test_a_stream_left_open_when_its_loop_ends(serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("a"), Hold()))
    client, streams = AsyncClient(), list[Any]()

    async def main() -> None:
        streams.append(await client.stream(tiny.model(server.url), "Hi").__aenter__())
        await anext(aiter(streams[0]))

    with pytest.warns(ResourceWarning, match="never closed"):
        asyncio.run(main())
    gc.collect()
    assert server.wait_closed()


def test_loops_that_come_and_go_leave_nothing(serve: Serve) -> None:
    """Row 123: neither sockets nor pools add up."""
    server = serve(tiny.whole(), repeat=True)
    model, client = tiny.model(server.url), AsyncClient()

    async def once() -> None:
        await client.generate(model, "Hi")

    def open_files() -> int:
        return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0  # noqa: PTH112, PTH208

    asyncio.run(once())
    server.wait_closed()
    gc.collect()
    before = open_files()
    for _ in range(20):
        asyncio.run(once())
    server.wait_closed()
    gc.collect()
    assert open_files() <= before + 1
    assert len(server.connections) == 21


@pytest.mark.parametrize("calls", [0, 1])
def test_a_closed_client_says_so(way: Way, serve: Serve, calls: int) -> None:
    server = serve(tiny.whole(), tiny.whole())
    model = tiny.model(server.url)

    def sync() -> None:
        client = Client()
        for _ in range(calls):
            client.generate(model, "Hi")
        made_before = client.stream(model, "Hi")
        client.close()
        client.close()
        with pytest.raises(ConfigError, match="closed"):
            client.generate(model, "Hi")
        with pytest.raises(ConfigError, match="closed"):
            client.stream(model, "Hi")
        with pytest.raises(ConfigError, match="closed"):
            made_before.__enter__()

    async def main() -> None:
        client = AsyncClient()
        for _ in range(calls):
            await client.generate(model, "Hi")
        made_before = client.stream(model, "Hi")
        await client.aclose()
        await client.aclose()
        with pytest.raises(ConfigError, match="closed"):
            await client.generate(model, "Hi")
        with pytest.raises(ConfigError, match="closed"):
            client.stream(model, "Hi")
        with pytest.raises(ConfigError, match="closed"):
            await made_before.__aenter__()

    sync() if way == "sync" else anyio.run(main, backend=way)
    assert len(server.requests) == calls
    assert server.wait_closed()


def test_a_client_that_made_no_call_holds_nothing() -> None:
    with Client() as client:
        assert client._transport is None
    with pytest.raises(ConfigError):
        client.generate(tiny.model("http://127.0.0.1:1"), "Hi")


def test_eight_threads_share_a_client(serve: Serve) -> None:
    """All eight are in the server at once, with one pool between them."""
    together = threading.Barrier(8)

    def answer(request: Received) -> Reply:
        together.wait(10)
        return tiny.whole(str(request.json()["prompt"]))  # type: ignore[index]

    server = serve(answer, repeat=True)
    model = tiny.model(server.url)
    with Client() as client, ThreadPoolExecutor(8) as pool:
        for _ in range(2):
            texts = list(pool.map(lambda number: client.generate(model, f"{number}").text, range(8)))
            assert texts == [str(number) for number in range(8)]
    assert len(server.connections) == 8


def test_threads_that_come_first_make_one_pool(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[Any]()
    real = transport.httpx.Client

    def slowly(**settings: Any) -> Any:
        made.append(real(**settings))
        threading.Event().wait(0.01)
        return made[-1]

    monkeypatch.setattr(transport.httpx, "Client", slowly)
    server = serve(tiny.whole(), repeat=True)
    with Client() as client, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: client.generate(tiny.model(server.url), "Hi"), range(8)))
    assert len(made) == 1


@pytest.mark.anyio
async def test_tasks_share_a_client(anyio_backend: str, serve: Serve) -> None:
    gate = threading.Event()
    steps = [Wait(gate), *tiny.words("Hello"), tiny.FINISH, tiny.DONE]
    server = serve(*[tiny.stream(*steps) for _ in range(20)])
    texts = list[str]()
    async with AsyncClient() as client:

        async def one() -> None:
            async with client.stream(tiny.model(server.url), "Hi") as stream:
                texts.append("".join([text async for text in stream.text_deltas()]))

        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(one)
            await anyio.to_thread.run_sync(server.wait_requests, 20)
            gate.set()
    assert texts == ["Hello"] * 20
    assert len(server.connections) == 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_opens_its_own_connection(serve: Serve) -> None:
    server = serve(*[tiny.whole() for _ in range(3)])
    model = tiny.model(server.url)
    with Client() as client:
        client.generate(model, "Hi")
        child = os.fork()
        if child == 0:  # nothing of the test's may run here: no teardown, no report
            os._exit(0 if client.generate(model, "Hi").text == "Hello" else 1)
        assert os.waitpid(child, 0)[1] == 0
        client.generate(model, "Hi")
    assert [request.connection for request in server.requests] == [0, 1, 0]


@pytest.mark.parametrize("made", [Client, AsyncClient])
@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_client_is_not_pickled_or_copied(made: Callable[[], Any], duplicate: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="in each process"):
        duplicate(made())


@pytest.mark.skipif(not hasattr(socket, "TCP_KEEPIDLE"), reason="the options are Linux's")
def test_tcp_keep_alive_is_on(way: Way, scheme: str, serve: Serve) -> None:
    """Row 73: address translators forget a silent connection. Read from the real socket, while it waits."""
    go_on = threading.Event()
    server = serve(tiny.stream(*tiny.words("a"), Wait(go_on), tiny.FINISH, tiny.DONE))
    found = list[int]()

    def look(stream: Any) -> None:
        raw = stream._call.line.socket.get_extra_info("socket")
        for level, option in (
            (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
            (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
            (socket.IPPROTO_TCP, socket.TCP_NODELAY),
        ):
            found.append(raw.getsockopt(level, option))
        go_on.set()

    def sync() -> None:
        with Client() as client, client.stream(tiny.model(server.url), "Hi") as stream:
            look(stream)
            list(stream)

    async def main() -> None:
        async with AsyncClient() as client, client.stream(tiny.model(server.url), "Hi") as stream:
            look(stream)
            assert [event async for event in stream]

    sync() if way == "sync" else anyio.run(main, backend=way)
    assert (found[0] != 0, found[1], found[2] != 0) == (True, 60, True)
