"""HTTP over httpx: the only module that imports it.

A transport opens exchanges; an exchange is one reply whose body is read as it comes. What httpx (or httpx2, or any
client of that interface) raises is translated by one table, by the names of the classes, and the error carries nothing
of the request.
"""

import functools
import inspect
import logging
import os
import socket
import ssl
import threading
from collections.abc import AsyncIterator
from typing import Any, Final
from weakref import WeakSet

import anyio
import anyio.lowlevel
import httpx

from llmcore.errors import ConfigError
from llmcore.http import HttpRequest
from llmcore.schema.base import excerpt
from llmcore.transport import guard, proxies
from llmcore.transport.clock import Line
from llmcore.transport.exchange import AsyncExchange, Exchange, detach
from llmcore.transport.faults import closed, translate
from llmcore.transport.foreign import Waiting, client_timeouts
from llmcore.transport.network import KEEP_ALIVE, LINE, AsyncWatchedStream, WatchedStream, watch
from llmcore.url import redact_query

LIMITS: Final = httpx.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=30.0)
"""No cap on connections: a client that is asked for a thousand streams opens a thousand."""


@functools.cache
def ssl_context() -> ssl.SSLContext:
    """The one TLS context of the process: certifi's roots, or those that SSL_CERT_FILE, SSL_CERT_DIR,
    REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE name."""
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        path = os.environ.get(name)
        if path:
            return _context(name, path, None)
    folder = os.environ.get("SSL_CERT_DIR")
    return _context("SSL_CERT_DIR", None, folder) if folder else httpx.create_ssl_context(trust_env=False)


def _context(name: str, cafile: str | None, capath: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=cafile, capath=capath)
    except OSError as problem:
        raise ConfigError(f"{name} does not name readable certificates: {problem.strerror or problem}") from None


class _NoQueries(logging.Filter):
    """httpx logs the URL of each request, in whose query a key may stand: the values of a query are left out. Only of
    the records of our own calls; what else the program does with httpx is logged as ever."""

    def filter(self, record: logging.LogRecord) -> bool:
        if LINE.get() is not None and isinstance(record.args, tuple):
            record.args = tuple([redact_query(str(arg)) if type(arg).__name__ == "URL" else arg for arg in record.args])
        return True


for _name in ("httpx", "httpx2"):
    logging.getLogger(_name).addFilter(_NoQueries())


@functools.lru_cache(maxsize=256)
def _url(url: str) -> httpx.URL:
    return httpx.URL(url)


def _build(client: Any, request: HttpRequest, line: Line, *, own: bool) -> Any:
    """The HTTP client's request object: made directly for a client of ours; a client of the user's makes it, with the
    headers and parameters that it was given."""
    if getattr(client, "is_closed", False):
        raise ConfigError("the HTTP client given as http= is closed") if not own else closed()
    if line.cancelled and (interruption := line.interruption("no")) is not None:
        raise interruption
    guard.check(request.url)
    for name, value in request.headers:
        # Not left to httpcore: its error, and its debug log, repeat the value.
        if not (value.isascii() and value.isprintable() and name.isascii() and name.isprintable() and " " not in name):
            raise ConfigError(f"the header {excerpt(name)} holds a character that HTTP cannot carry")
    line.clock.sent()
    extensions = {"timeout": client_timeouts(line.clock.timeout)}
    if own:
        return httpx.Request(
            request.method, _url(request.url), headers=request.headers, content=request.body, extensions=extensions
        )
    return client.build_request(
        request.method, request.url, headers=list(request.headers), content=request.body, extensions=extensions
    )


class HttpTransport:
    """Opens exchanges on an `httpx.Client`, ours or the user's. Threads may share it."""

    def __init__(self, client: Any | None = None) -> None:
        self._given = client
        self._own: httpx.Client | None = None
        self._pid = 0
        self._closed = False
        self._lock = threading.Lock()
        self._lines = WeakSet[Line]()

    def open(self, request: HttpRequest, line: Line) -> Exchange:
        """Sends the request and waits for the head of the reply. Raises the translated error."""
        client, own = self._client(), self._given is None
        with self._lock:
            self._lines.add(line)
        token = LINE.set(line)
        try:
            built = _build(client, request, line, own=own)
            response = client.send(built, stream=True, auth=None, follow_redirects=False)
            return Exchange(built, response, line, watched=isinstance(line.socket, WatchedStream))
        except BaseException as problem:
            detach(line)
            failure = translate(problem, line=line, opened=False) if isinstance(problem, Exception) else None
            if failure is None:
                raise
        finally:
            LINE.reset(token)
        raise failure

    def close(self) -> None:
        """Closes the pool that this transport made and ends the calls under way (no thread may wait for ever on a pool
        that is gone); a client of the user's stays the user's."""
        with self._lock:
            own, self._own, self._closed = self._own, None, True
            under_way = list(self._lines)
        for line in under_way:
            line.cancel()
        if own is not None and self._pid == os.getpid():
            own.close()

    def _client(self) -> Any:
        if self._given is not None and not self._closed:
            return self._given
        with self._lock:
            if self._closed:
                raise closed()
            if self._own is None or self._pid != os.getpid():  # a forked child must not use its parent's sockets
                self._pid = os.getpid()
                self._own = httpx.Client(
                    transport=watch(_transport(None)),
                    mounts={pattern: watch(_transport(p)) if p else None for pattern, p in _mounts()},
                    trust_env=False,
                    timeout=None,  # noqa: S113  # each request carries its own, and the clock of its call
                )
            return self._own


class AsyncHttpTransport:
    """Opens exchanges on an `httpx.AsyncClient`: the user's, or one of ours for each running event loop."""

    def __init__(self, client: Any | None = None) -> None:
        self._given = None if client == "aiohttp" else client
        self._aiohttp = client == "aiohttp"
        self._closed = False
        self._pools: anyio.lowlevel.RunVar[tuple[httpx.AsyncClient, Any, int] | None] = anyio.lowlevel.RunVar(
            "llmcore_pool", None
        )

    async def open(self, request: HttpRequest, line: Line) -> AsyncExchange:
        """Sends the request and waits for the head of the reply. Raises the translated error."""
        client, own = await self._client(), self._given is None
        token = LINE.set(line)
        try:
            built = _build(client, request, line, own=own)
            sending = client.send(built, stream=True, auth=None, follow_redirects=False)
            # Our own streams obey the clock themselves; any other client is bounded by one scope for the call.
            response = await (sending if own and not self._aiohttp else _within(sending, line))
            return AsyncExchange(built, response, line, watched=isinstance(line.socket, AsyncWatchedStream))
        except BaseException as problem:
            detach(line)
            failure = translate(problem, line=line, opened=False) if isinstance(problem, Exception) else None
            if failure is None:
                raise
        finally:
            LINE.reset(token)
        raise failure

    async def _client(self) -> Any:
        if self._closed:
            raise closed()
        if self._given is not None:
            return self._given
        pool = self._pools.get()
        if pool is not None and pool[2] == os.getpid():
            return pool[0]
        client = httpx.AsyncClient(
            transport=self._transport(None),
            mounts={pattern: self._transport(p) if p else None for pattern, p in _mounts()},
            trust_env=False,
            timeout=None,  # noqa: S113  # each request carries its own, and the clock of its call
        )
        keeper = _keep(client)
        await anext(keeper)
        self._pools.set((client, keeper, os.getpid()))
        return client

    def _transport(self, proxy: str | None) -> Any:
        return _aiohttp_transport(proxy) if self._aiohttp else watch(_transport(proxy, httpx.AsyncHTTPTransport))

    async def aclose(self) -> None:
        """Closes the pool of the running loop; those of other loops close with their loop."""
        self._closed = True
        pool = self._pools.get()
        self._pools.set(None)
        if pool is not None and pool[2] == os.getpid():
            await pool[1].aclose()


async def _within(sending: Any, line: Line) -> Any:
    """The reply, the wait for its head bounded by the call's own clocks and ended by `cancel`."""
    seconds = line.clock.remaining()
    with anyio.move_on_after(seconds) as scope:
        line.socket = Waiting(scope)
        if line.cancelled:
            scope.cancel()
        return await sending
    raise line.interruption("maybe") or line.clock.error("maybe")


async def _keep(client: httpx.AsyncClient) -> AsyncIterator[None]:
    """Closes the pool when its loop shuts its async generators down: no socket outlives the loop it belongs to."""
    try:
        yield
    finally:
        await client.aclose()


def _transport(proxy: str | None, kind: Any = httpx.HTTPTransport) -> Any:
    return kind(
        verify=ssl_context(),
        trust_env=False,
        limits=LIMITS,
        proxy=proxy,
        retries=0,
        socket_options=KEEP_ALIVE,
    )


def _aiohttp_transport(proxy: str | None) -> Any:
    """httpx-aiohttp's transport over a session of ours: no cap on connections, no cookies, TCP keep-alive, and replies
    that show their socket."""
    try:
        import aiohttp
        import httpx_aiohttp
    except ImportError:
        raise ConfigError('http="aiohttp" needs the extra: pip install "llmcore[aiohttp]"') from None
    if anyio.get_cancelled_exc_class().__module__.partition(".")[0] == "trio":
        raise ConfigError('http="aiohttp" runs on asyncio only; leave it away on trio')

    def connect(address: Any) -> socket.socket:
        sock = socket.socket(family=address[0], type=address[1], proto=address[2])
        for option in KEEP_ALIVE:
            sock.setsockopt(*option)
        return sock

    def session() -> Any:
        # aiohttp before 3.12 has no door for socket options.
        has_door = "socket_factory" in inspect.signature(aiohttp.TCPConnector).parameters
        options: dict[str, Any] = {"socket_factory": connect} if has_door else {}
        connector = aiohttp.TCPConnector(
            ssl=ssl_context(), limit=0, keepalive_timeout=LIMITS.keepalive_expiry, **options
        )
        return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())

    return _ShowsSocket(
        httpx_aiohttp.AiohttpTransport(
            client=session, verify=ssl_context(), trust_env=False, proxy=httpx.Proxy(proxy) if proxy else None
        )
    )


class _ShowsSocket(httpx.AsyncBaseTransport):
    """httpx-aiohttp's transport, with the `network_stream` that httpx's own replies have."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        reply = getattr(response.stream, "_aiohttp_response", None)
        transport = getattr(getattr(reply, "connection", None), "transport", None)
        if transport is not None:  # else the body is here already
            response.extensions["network_stream"] = transport
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


def _mounts() -> list[tuple[str, str | None]]:
    """httpx's mount patterns with the proxy of each; a `None` goes direct. Raises `ConfigError` naming the variable
    whose value httpx does not take for a proxy."""
    found = proxies.from_environment()
    mounts = list[tuple[str, str | None]]()
    for scheme, (variable, url) in found.by_scheme.items():
        try:
            httpx.Proxy(url)
        except (httpx.InvalidURL, ValueError):
            raise proxies.no_proxy(variable) from None
        mounts.append(("all://" if scheme == "all" else f"{scheme}://", url))
    return [*mounts, *((pattern, None) for pattern in found.direct if _is_pattern(pattern))]


def _is_pattern(pattern: str) -> bool:
    try:
        httpx.URL(pattern)
    except httpx.InvalidURL:
        proxies.ignored(pattern)
        return False
    return True
