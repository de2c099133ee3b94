"""Exchanges: one reply each, whose body is read as it comes. They know the interface of httpx's responses and import no
client: the response may be httpx's, httpx2's or any of that interface."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio

from llmcore.errors import LLMError
from llmcore.http import HttpHead
from llmcore.transport.clock import DRAIN_SECONDS, Line
from llmcore.transport.faults import translate
from llmcore.transport.foreign import Alarm, body_limit, foreign_socket, patient
from llmcore.transport.network import AsyncWatchedStream, WatchedStream


def _head(response: Any) -> HttpHead:
    return HttpHead(
        status=response.status_code,
        headers=tuple([(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw]),
    )


def _as_sent(response: Any, head: HttpHead) -> bool:
    """Whether the body is read as it comes: it is not compressed, and nobody (an event hook) has read it before us."""
    return (head.header("content-encoding") or "identity").lower() == "identity" and not getattr(
        response, "is_stream_consumed", False
    )


def _not_ours(request: Any, response: Any, line: Line) -> None:
    """Takes what can be had of a client that is not ours: its socket, and a limit for the reads of the body."""
    line.detach()
    line.socket = foreign_socket(response)
    # httpcore looks at this again when it begins to read the body.
    request.extensions["timeout"]["read"] = body_limit(line.clock.timeout)


def _is_httpcore(response: Any) -> bool:
    return response.http_version == "HTTP/1.1" and hasattr(response.extensions.get("network_stream"), "read")


class Exchange:
    """One reply of a sync client."""

    def __init__(self, request: Any, response: Any, line: Line, *, watched: bool) -> None:
        self._response = response
        self._line = line
        self.head = _head(response)
        self._watched = watched
        self._ended = False
        self._alarm = Alarm(None)
        if not watched:
            _not_ours(request, response, line)
            patience = line.socket is None or patient(line.clock.timeout)
            self._alarm = Alarm(None if patience else line)
        chunks: Iterator[bytes] = iter(response.stream if _as_sent(response, self.head) else response.iter_bytes())
        self._next: Callable[[], bytes] = chunks.__next__

    def read(self) -> bytes:
        """The next bytes, `b""` at the end of the body. Raises the translated error."""
        line = self._line
        failure = line.interruption("yes") if line.cancelled or not self._watched else None
        try:
            while failure is None:
                data = self._next()
                if not self._watched:
                    failure = line.interruption("yes")
                if data and failure is None:
                    return data
        except StopIteration:
            self._ended = True
            # A socket that was shut down may look like the end of a body.
            failure = line.interruption("yes") if line.cancelled or not self._watched else None
            if failure is None:
                return b""
        except Exception as problem:
            failure = translate(problem, line=line, opened=True)
            if failure is None:
                raise
        raise failure

    def close(self, *, reuse: bool) -> None:
        """Gives the connection back. With `reuse` the rest of the body is taken first, if it comes at once."""
        try:
            if reuse and not self._ended:
                self._drain()
        finally:
            self._alarm.cancel()
            detach(self._line)
            self._response.close()

    def _drain(self) -> None:
        """Takes what is left of the body. What has not come at once is not waited for."""
        self._line.clock.drain()
        if not self._watched:
            if self._line.socket is None:
                return
            self._alarm.cancel()
            self._alarm = Alarm(self._line)
        try:
            while self.read():
                continue
        except LLMError:
            return


class AsyncExchange:
    """One reply of an async client."""

    def __init__(self, request: Any, response: Any, line: Line, *, watched: bool) -> None:
        self._response = response
        self._line = line
        self.head = _head(response)
        self._watched = watched
        self._ended = False
        self._patience = body_limit(line.clock.timeout)
        if not watched:
            _not_ours(request, response, line)
        self._chunks: AsyncIterator[bytes] = aiter(
            response.stream if _as_sent(response, self.head) else response.aiter_bytes()
        )
        self._next = self._chunks.__anext__

    async def read(self) -> bytes:
        """The next bytes, `b""` at the end of the body. Raises the translated error."""
        line = self._line
        failure = line.interruption("yes") if line.cancelled or not self._watched else None
        try:
            while failure is None:
                data = await self._next() if self._watched else await self._scoped()
                if not self._watched:
                    failure = line.interruption("yes")
                if data and failure is None:
                    return data
        except StopAsyncIteration:
            self._ended = True
            failure = line.interruption("yes") if line.cancelled or not self._watched else None
            if failure is None:
                return b""
        except Exception as problem:
            failure = translate(problem, line=line, opened=True)
            if failure is None:
                raise
        raise failure

    async def _scoped(self) -> bytes:
        """A read of a client that is not ours: in a scope only where the client's own limit is later than ours, by more
        than a hundredth. (Some microseconds have always passed since the last event; a scope costs twenty.)"""
        seconds = self._line.clock.remaining()
        if seconds is None or (self._patience is not None and seconds >= self._patience * 0.99):
            return await self._next()
        with anyio.move_on_after(seconds):
            return await self._next()
        raise self._line.interruption("yes") or self._line.clock.error("yes")

    async def close(self, *, reuse: bool) -> None:
        """Gives the connection back, also while the task is being cancelled. With `reuse` the rest of the body is
        taken first, if it comes at once."""
        try:
            if reuse and not self._ended:
                await self._drain()
        finally:
            detach(self._line)
            with anyio.CancelScope(shield=True):
                try:
                    await self._response.aclose()
                    await self._unwind()
                except RuntimeError as problem:
                    # An event loop that shuts down closes the client's generators itself, all at once and in any order.
                    if "already running" not in str(problem):
                        raise

    async def _drain(self) -> None:
        """Takes what is left of the body. What has not come at once is not waited for."""
        self._line.clock.drain()
        try:
            while await self.read():
                continue
        except LLMError:
            return

    async def _unwind(self) -> None:
        """Ends the client's generators, one inside the other, that were reading the body: left to the garbage
        collector they cost a task each on asyncio and a warning on trio.

        On an HTTP/1.1 connection of httpcore's, which is closed by now, the next read fails and so ends them all. Of
        another client nothing is known: its outermost one is closed.
        """
        chunks: Any = self._chunks
        if self._ended or getattr(chunks, "ag_running", True):
            return
        if not self._watched and not _is_httpcore(self._response):
            await chunks.aclose()
            return
        try:
            with anyio.move_on_after(DRAIN_SECONDS):  # should it wait all the same
                while await self._next():
                    continue
        except StopAsyncIteration:
            return
        except Exception as problem:
            if translate(problem, line=self._line, opened=True) is None:
                raise


def detach(line: Line) -> None:
    """The connection may serve another call now: it must not obey this one's clock."""
    stream = line.detach()
    if isinstance(stream, WatchedStream | AsyncWatchedStream):
        stream.line = None
