"""The async client: the driver that carries a flow's operations out with awaits, on asyncio and trio."""

import warnings
from collections.abc import AsyncGenerator, AsyncIterator
from inspect import isawaitable
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeVar, Unpack, overload

from llmcore.client.call import Call
from llmcore.client.prepare import Check, Prepared
from llmcore.client.prompt import Prompt
from llmcore.client.settings import CallFields, GenerateBy, Settings, http_client, settings
from llmcore.client.settings import resolve as resolve_model
from llmcore.client.sync import finished, interrupted
from llmcore.errors import ConfigError, LLMError
from llmcore.events import Event, TextDelta, TextStart
from llmcore.flow import Close, Emit, Flow, Invoke, Open, Read, Sleep
from llmcore.http import HttpHead, Timeout
from llmcore.protocol import Mint
from llmcore.route import Model
from llmcore.schema.message import Message
from llmcore.schema.response import Response
from llmcore.secret import KeySource
from llmcore.transport.faults import closed

B = TypeVar("B")


class AsyncDriver:
    """Carries out one flow."""

    def __init__(self, call: Call[Any], flow: Flow[Response], transport: Any) -> None:
        self.call = call
        self._flow = flow
        self._transport = transport
        self._exchange: Any = None
        self.busy = False
        self.stopped = False

    async def advance(self) -> list[Event] | None:
        """Runs the flow up to its next events; `None` when it has ended. Raises the call's error; whatever is raised
        (a cancellation too), the connection is closed first."""
        flow = self._flow
        value: object = None
        failure: LLMError | None = None
        self.busy = True
        try:
            while True:
                try:
                    operation = flow.send(value) if failure is None else flow.throw(failure)
                except StopIteration:
                    await self.aclose()
                    return None
                value = failure = None
                try:
                    match operation:
                        case Read():
                            value = await self._exchange.read()
                        case Emit():
                            return operation.events
                        case Open():
                            self._exchange = await self._transport.open(operation.request, self.call.line)
                            value = self._exchange.head
                        case Close():
                            await self.aclose(reuse=operation.reuse)
                        case Invoke():
                            value = operation.function()
                            value = await value if isawaitable(value) else value
                        case Sleep():
                            await _sleep(operation.seconds)
                except LLMError as error:
                    failure = error
        except BaseException as problem:
            interrupted(self.call, problem)
            await self.aclose()
            raise
        finally:
            self.busy = False

    @property
    def is_open(self) -> bool:
        return self._exchange is not None

    async def stop(self) -> None:
        """Closes the connection; another task that waits on it is woken."""
        self.stopped = True
        if self.busy:
            self.call.line.cancel()
        await self.aclose()

    async def aclose(self, *, reuse: bool = False) -> None:
        """Closes the connection, or gives it back."""
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            await exchange.close(reuse=reuse)


async def _sleep(seconds: float) -> None:
    import anyio

    await anyio.sleep(seconds)


async def _events(driver: AsyncDriver) -> AsyncGenerator[Event | None, None]:
    """The one generator of a stream. It is primed on entering (the `None`), so that the event loop closes it also when
    nobody iterates it."""
    try:
        yield None
        while not driver.stopped and (events := await driver.advance()) is not None:
            for event in events:
                yield event
    finally:
        if driver.is_open:
            try:
                await driver.aclose()
            finally:
                warnings.warn(
                    "a stream was never closed; use `async with client.stream(…)`", ResourceWarning, stacklevel=2
                )


class _TextDeltas:
    """The pieces of the text of a stream. No async generator: one that is left early is a burden to the event loop."""

    def __init__(self, events: AsyncIterator[Event]) -> None:
        self._events = events
        self._refused = set[str]()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while True:
            event = await anext(self._events)
            if isinstance(event, TextDelta):
                if event.id not in self._refused:
                    return event.text
            elif isinstance(event, TextStart) and event.refusal:
                self._refused.add(event.id)


class AsyncStream:
    """A streamed answer. Enter it to send the request; iterate it for the events; when they have ended, `response` is
    the whole answer. Iteration goes on after a `break`; leaving the `async with` block early closes the connection."""

    def __init__(self, call: Call[Any], transport: Any) -> None:
        self._call = call
        self._driver = AsyncDriver(call, call.streamed(), transport)
        self._iterator: AsyncGenerator[Any, None] | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        if self._iterator is not None or self._closed:
            raise ConfigError("this stream was entered before; call client.stream(…) again")
        self._closed = True  # until it stands
        self._call.clock.begin()
        await self._driver.advance()
        self._iterator = _events(self._driver)
        await anext(self._iterator)
        self._closed = False
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> AsyncIterator[Event]:
        if self._iterator is None:
            raise ConfigError("enter the stream before iterating it: `async with client.stream(…) as stream:`")
        if self._call.failure is not None:
            raise self._call.failure
        if self._closed and self._call.response is None:
            raise ConfigError("this stream was closed before its end (`partial` is what came of it)")
        return self._iterator

    def text_deltas(self) -> AsyncIterator[str]:
        """The pieces of the answer's text, refusals left out."""
        return _TextDeltas(aiter(self))

    def cancel(self) -> None:
        """Ends the stream, from any task or thread: whoever waits for its next event gets a `CallCancelledError`."""
        self._call.line.cancel()

    async def aclose(self) -> None:
        """Closes the connection. Events that have not come yet never will: an iteration under way ends, a task that
        waits for one gets a `CallCancelledError`."""
        self._closed = True
        await self._driver.stop()
        if self._iterator is not None and not self._driver.busy:
            await self._iterator.aclose()

    @property
    def response(self) -> Response:
        """The whole answer. Raises `ConfigError` before the stream has ended."""
        return finished(self._call)

    @property
    def http(self) -> HttpHead | None:
        """The head of the provider's reply (status, headers), once it is here."""
        return self._call.head

    @property
    def partial(self) -> Message | None:
        """The message as far as it has come."""
        return self._call.partial()


class AsyncClient:
    """Calls models from async code, on asyncio or trio. Tasks may share it; it keeps one pool of connections for each
    running event loop.

    `http` takes an `httpx.AsyncClient` (httpx2's, or any of that interface), which stays the caller's to close, or
    `"aiohttp"` (extra `llmcore[aiohttp]`, asyncio only). The other keywords are those of `Client`.
    """

    def __init__(
        self,
        *,
        http: Any | Literal["aiohttp"] | None = None,
        timeout: Timeout | float | None = None,
        generate: GenerateBy = "whole",
        strict: bool = False,
        keep_raw: bool = False,
        mint: Mint | None = None,
    ) -> None:
        self._settings: Final[Settings] = settings(timeout, generate, strict, keep_raw, mint)
        self._http = http_client(http, asynchronous=True)
        self._transport: Any = None
        self._closed = False

    def model(self, name: str, *, api_key: KeySource | None = None, base_url: str | None = None) -> Model[Any]:
        """The model `provider[/api]:model`, with a key and a place of one's own where they are given."""
        return resolve_model(name, api_key=api_key, base_url=base_url)

    async def generate(self, model: str | Model[Any], prompt: Prompt, **fields: Unpack[CallFields]) -> Response:
        """The model's whole answer to a text, to messages or to a request."""
        transport = self._open_transport()
        whole = self._settings.generate == "whole"
        call = self._settings.call(model, prompt, fields, stream=not whole)
        driver = AsyncDriver(call, call.whole() if whole else call.streamed(), transport)
        while await driver.advance() is not None:
            continue
        return finished(call)

    def stream(self, model: str | Model[Any], prompt: Prompt, **fields: Unpack[CallFields]) -> AsyncStream:
        """The model's answer as it comes. The request is made ready now and sent on entering."""
        transport = self._open_transport()
        return AsyncStream(self._settings.call(model, prompt, fields, stream=True), transport)

    @overload
    def prepare(
        self, model: Model[B], prompt: Prompt, *, stream: bool = False, **fields: Unpack[CallFields]
    ) -> Prepared[B]: ...
    @overload
    def prepare(
        self, model: str, prompt: Prompt, *, stream: bool = False, **fields: Unpack[CallFields]
    ) -> Prepared[object]: ...
    def prepare(
        self, model: str | Model[Any], prompt: Prompt, *, stream: bool = False, **fields: Unpack[CallFields]
    ) -> Prepared[Any]:
        """What a call would send, with nothing sent and no key needed."""
        return self._settings.prepare(model, prompt, fields, stream=stream)

    def check(
        self, model: str | Model[Any], prompt: Prompt, *, stream: bool = False, **fields: Unpack[CallFields]
    ) -> Check:
        """What a call would lose on this model, and what would refuse it, with nothing sent."""
        return self._settings.check(model, prompt, fields, stream=stream)

    async def aclose(self) -> None:
        """Closes the pool of the running loop. Calls after that are refused; a client given as `http` stays open."""
        self._closed = True
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __reduce__(self) -> str:
        raise TypeError("an AsyncClient holds sockets and is not pickled; make one in each process")

    def _open_transport(self) -> Any:
        if self._closed:
            raise closed()
        if self._transport is None:
            from llmcore.transport.http import AsyncHttpTransport  # the HTTP client is loaded by the first call

            self._transport = AsyncHttpTransport(self._http)
        return self._transport
