"""The network layer under httpx's own transport: sockets whose waits obey the clock of the call they serve.

httpcore takes a network backend; this one gives the streams of httpcore's own backends, wrapped. While a call is on a
connection, each read waits no longer than the call's nearest deadline, and the call can shut the socket down from any
thread. That is all four clocks with no timer, task or scope of our own, in sync and async alike.
"""

import socket
import ssl
import time
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any, Final

import httpcore

from llmcore.transport.clock import Line

LINE: Final[ContextVar[Line | None]] = ContextVar("llmcore_line", default=None)
"""The call that the running thread or task is opening. A stream takes it when it is made for it, one of the pool with
the first write of the request."""

KEEP_ALIVE: Final = tuple(
    (level, option, value)
    for level, name, value in (
        (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
        (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 60),
        (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 30),
        (socket.IPPROTO_TCP, "TCP_KEEPCNT", 5),
        (socket.IPPROTO_TCP, "TCP_NODELAY", 1),
    )
    if (option := getattr(socket, name, None)) is not None
)
"""Long answers stay silent for minutes; address translators on the way forget a silent connection after 120 s."""


def shut(raw: Any) -> None:
    """Shuts a socket down in both directions, whatever thread waits on it."""
    if raw is None:
        return
    try:
        # Not `raw.shutdown` where raw is an SSLSocket: that one takes the TLS object away from under the reader.
        socket.socket.shutdown(raw, socket.SHUT_RDWR) if isinstance(raw, socket.socket) else raw.shutdown(
            socket.SHUT_RDWR
        )
    except OSError:  # closed by the other side, or by its own thread, in the meantime: what was wanted
        return


class WatchedStream(httpcore.NetworkStream):
    """A sync stream that serves one call at a time. `until` is when its connection has to stand, by `time.monotonic`:
    TLS takes what TCP left of the connect clock."""

    def __init__(self, inner: httpcore.NetworkStream, until: float) -> None:
        self._inner = inner
        self._until = until
        self.line: Line | None = None
        take(self)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        line = self.line
        if line is None:
            return self._inner.read(max_bytes, timeout)
        return self._inner.read(max_bytes, wait(line))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, sending(self, timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        limit = connecting(timeout, self._until)
        return WatchedStream(self._inner.start_tls(ssl_context, server_hostname, limit), self._until)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    def shut_down(self) -> None:
        shut(self._inner.get_extra_info("socket"))


class AsyncWatchedStream(httpcore.AsyncNetworkStream):
    """An async stream that serves one call at a time."""

    def __init__(self, inner: httpcore.AsyncNetworkStream, until: float) -> None:
        self._inner = inner
        self._until = until
        self.line: Line | None = None
        take(self)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        line = self.line
        if line is None:
            return await self._inner.read(max_bytes, timeout)
        return await self._inner.read(max_bytes, wait(line))

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._inner.write(buffer, sending(self, timeout))

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        limit = connecting(timeout, self._until)
        return AsyncWatchedStream(await self._inner.start_tls(ssl_context, server_hostname, limit), self._until)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    def shut_down(self) -> None:
        shut(self._inner.get_extra_info("socket"))


def take(stream: WatchedStream | AsyncWatchedStream) -> Line | None:
    """The call that is being opened; `stream` serves it from now on."""
    line = LINE.get()
    if line is not None and stream.line is not line:
        stream.line, line.socket = line, stream
    return line


def connecting(timeout: float | None, until: float) -> float | None:
    """How long the next step of connecting may take. Raises `httpcore.ConnectTimeout` when the time is up,
    `ConnectError` when the call was cancelled."""
    line = LINE.get()
    if line is not None and line.cancelled:
        raise httpcore.ConnectError("cancelled")
    limits = [timeout, until - time.monotonic(), line.clock.total_left if line is not None else None]
    limit = min(seconds for seconds in limits if seconds is not None)
    if limit <= 0:
        raise httpcore.ConnectTimeout("the time to connect has passed")
    return None if limit == float("inf") else limit


def sending(stream: WatchedStream | AsyncWatchedStream, timeout: float | None) -> float | None:
    """How long the next write may take: the request goes out with it. Raises `httpcore.WriteTimeout` when the time is
    up, `WriteError` when the call was cancelled before it had a socket."""
    line = take(stream)
    if line is None:
        return timeout
    if line.cancelled:
        raise httpcore.WriteError("cancelled")
    line.clock.sent()
    seconds = line.clock.remaining()
    if seconds == 0.0:
        raise httpcore.WriteTimeout("the deadline has passed")
    return seconds


def wait(line: Line) -> float | None:
    """How long the next read may take. Raises `httpcore.ReadTimeout` when the time is up, `ReadError` when the call
    was cancelled."""
    if line.cancelled:
        raise httpcore.ReadError("cancelled")
    seconds = line.clock.remaining()
    if seconds == 0.0:
        raise httpcore.ReadTimeout("the deadline has passed")
    return seconds


def _until(timeout: float | None) -> float:
    return float("inf") if timeout is None else time.monotonic() + timeout


class WatchedBackend(httpcore.NetworkBackend):
    """httpcore's sync backend, its streams watched."""

    def __init__(self) -> None:
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        until = _until(timeout)
        limit = connecting(timeout, until)
        return WatchedStream(self._inner.connect_tcp(host, port, limit, local_address, socket_options), until)

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        return WatchedStream(self._inner.connect_unix_socket(path, timeout, socket_options), _until(timeout))


class AsyncWatchedBackend(httpcore.AsyncNetworkBackend):
    """httpcore's own choice of async backend (asyncio or trio), its streams watched."""

    def __init__(self, inner: httpcore.AsyncNetworkBackend) -> None:
        self._inner = inner

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        until = _until(timeout)
        limit = connecting(timeout, until)
        inner = await self._inner.connect_tcp(host, port, limit, local_address, socket_options)
        return AsyncWatchedStream(inner, until)

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        inner = await self._inner.connect_unix_socket(path, timeout, socket_options)
        return AsyncWatchedStream(inner, _until(timeout))

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


def watch(transport: Any) -> Any:
    """`transport` (httpx's own), with its pool's network backend wrapped.

    httpx has no argument for httpcore's backend, so this sets the attribute that httpcore's public argument sets. An
    httpx where that is no more keeps working: the call is then told by httpx's timeouts alone, as with a client of the
    user's own.
    """
    pool: Any = getattr(transport, "_pool", None)
    backend = getattr(pool, "_network_backend", None)
    if isinstance(backend, httpcore.NetworkBackend):
        pool._network_backend = WatchedBackend()  # noqa: SLF001  # see above
    elif isinstance(backend, httpcore.AsyncNetworkBackend):
        pool._network_backend = AsyncWatchedBackend(backend)  # noqa: SLF001  # see above
    return transport
