"""The waits of a socket, one by one, with a time of the test's own: what each may take, and what it raises instead."""

import socket
from collections.abc import Iterator
from typing import Any

import httpcore
import httpx
import pytest

from llmcore.http import Timeout
from llmcore.transport import network
from llmcore.transport.clock import Clock, Line
from llmcore.transport.network import LINE, AsyncWatchedBackend, WatchedBackend, WatchedStream, shut, watch


class Inner(httpcore.NetworkStream):
    """Takes down the limits that it is given."""

    def __init__(self) -> None:
        self.limits: list[float | None] = []

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self.limits.append(timeout)
        return b""

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.limits.append(timeout)

    def start_tls(self, ssl_context: Any, server_hostname: Any = None, timeout: float | None = None) -> "Inner":
        self.limits.append(timeout)
        return self

    def get_extra_info(self, info: str) -> Any:
        return None


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    time = [100.0]
    monkeypatch.setattr(network.time, "monotonic", lambda: time[0])
    return time


@pytest.fixture
def line(now: list[float]) -> Iterator[Line]:
    line = Line(Clock(Timeout(first_event=10.0, idle=3.0, total=30.0), lambda: now[0]))
    token = LINE.set(line)
    yield line
    LINE.reset(token)


def test_tls_takes_what_tcp_left_of_the_connect_clock(line: Line, now: list[float]) -> None:
    inner = Inner()
    stream = WatchedStream(inner, until=105.0)
    now[0] = 103.0
    secured = stream.start_tls(None, timeout=5.0)  # type: ignore[arg-type]
    assert inner.limits == [2.0]
    assert isinstance(secured, WatchedStream)
    assert line.socket is secured
    now[0] = 105.0
    with pytest.raises(httpcore.ConnectTimeout):
        stream.start_tls(None, timeout=5.0)  # type: ignore[arg-type]


def test_connecting_takes_no_more_than_total_leaves(line: Line, now: list[float]) -> None:
    now[0] = 128.0
    assert network.connecting(None, float("inf")) == 2.0
    assert network.connecting(1.0, float("inf")) == 1.0
    now[0] = 130.0
    with pytest.raises(httpcore.ConnectTimeout):
        network.connecting(5.0, 135.0)


def test_connecting_without_any_limit() -> None:
    assert network.connecting(None, float("inf")) is None


def test_a_cancelled_call_does_not_connect(line: Line) -> None:
    line.cancel()
    with pytest.raises(httpcore.ConnectError):
        network.connecting(5.0, 105.0)


def test_reads_and_writes_obey_the_clock_of_the_call(line: Line, now: list[float]) -> None:
    inner = Inner()
    stream = WatchedStream(inner, until=105.0)
    now[0] = 107.0
    stream.write(b"request", 99.0)  # first_event begins with it
    now[0] = 109.0
    stream.read(1, 99.0)
    line.clock.beat()
    line.clock.resume()
    stream.read(1, 99.0)
    now[0] = 112.0
    with pytest.raises(httpcore.ReadTimeout):
        stream.read(1, 99.0)
    assert inner.limits == [10.0, 8.0, 3.0]


def test_a_write_when_total_has_passed(line: Line, now: list[float]) -> None:
    stream = WatchedStream(Inner(), until=105.0)
    now[0] = 131.0
    with pytest.raises(httpcore.WriteTimeout):
        stream.write(b"request", 99.0)


def test_a_cancelled_call_neither_reads_nor_writes(line: Line) -> None:
    stream = WatchedStream(Inner(), until=105.0)
    line.cancel()
    with pytest.raises(httpcore.WriteError):
        stream.write(b"request")
    with pytest.raises(httpcore.ReadError):
        stream.read(1)


def test_a_stream_of_the_pool_takes_each_call_in_turn(now: list[float]) -> None:
    inner = Inner()
    stream = WatchedStream(inner, until=105.0)
    stream.write(b"nobody's", 7.0)
    stream.read(1, 7.0)
    assert inner.limits == [7.0, 7.0]
    for seconds in (4.0, 5.0):
        line = Line(Clock(Timeout(first_event=seconds), lambda: now[0]))
        token = LINE.set(line)
        stream.write(b"request", 99.0)
        LINE.reset(token)
        stream.read(1, 99.0)
        assert line.detach() is stream
        stream.line = None
    assert inner.limits[2:] == [4.0, 4.0, 5.0, 5.0]


def test_shutting_down_twice_or_too_late_is_nothing() -> None:
    one, other = socket.socketpair()
    shut(one)
    assert other.recv(1) == b""
    shut(one)
    one.close()
    shut(one)
    shut(None)
    other.close()


def test_httpx_has_the_place_for_the_backend() -> None:
    """An httpx without it would be told by its own timeouts alone: then this fails, and the docs must say so."""
    sync, asynchronous = watch(httpx.HTTPTransport()), watch(httpx.AsyncHTTPTransport())
    assert isinstance(sync._pool._network_backend, WatchedBackend)
    assert isinstance(asynchronous._pool._network_backend, AsyncWatchedBackend)
    proxied = watch(httpx.HTTPTransport(proxy="http://127.0.0.1:1"))
    assert isinstance(proxied._pool._network_backend, WatchedBackend)


def test_a_transport_without_that_place_is_left_as_it_is() -> None:
    mock = httpx.MockTransport(lambda request: httpx.Response(200))
    assert watch(mock) is mock
