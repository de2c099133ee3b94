"""The sync client: the driver that carries a flow's operations out with blocking calls."""

import threading
import time
import warnings
from collections.abc import Iterator
from inspect import isawaitable
from types import TracebackType
from typing import Any, Final, Self, TypeVar, Unpack, overload

from llmcore.client.call import Call
from llmcore.client.prepare import Check, Prepared
from llmcore.client.prompt import Prompt
from llmcore.client.settings import CallFields, GenerateBy, Settings, http_client, settings
from llmcore.client.settings import resolve as resolve_model
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


class Driver:
    """Carries out one flow."""

    def __init__(self, call: Call[Any], flow: Flow[Response], transport: Any) -> None:
        self.call = call
        self._flow = flow
        self._transport = transport
        self._exchange: Any = None
        self.busy = False
        self.stopped = False

    def advance(self) -> list[Event] | None:
        """Runs the flow up to its next events; `None` when it has ended. Raises the call's error; whatever is raised,
        the connection is closed first."""
        flow = self._flow
        value: object = None
        failure: LLMError | None = None
        self.busy = True
        try:
            while True:
                try:
                    operation = flow.send(value) if failure is None else flow.throw(failure)
                except StopIteration:
                    self.close()
                    return None
                value = failure = None
                try:
                    match operation:
                        case Read():
                            value = self._exchange.read()
                        case Emit():
                            return operation.events
                        case Open():
                            self._exchange = self._transport.open(operation.request, self.call.line)
                            value = self._exchange.head
                        case Close():
                            self.close(reuse=operation.reuse)
                        case Invoke():
                            value = _plain(operation.function())
                        case Sleep():
                            time.sleep(operation.seconds)
                except LLMError as error:
                    failure = error
        except BaseException as problem:
            interrupted(self.call, problem)
            self.close()
            raise
        finally:
            self.busy = False

    @property
    def is_open(self) -> bool:
        return self._exchange is not None

    def stop(self) -> None:
        """Closes the connection; where another thread waits on it, wakes that thread, which then closes it."""
        self.stopped = True
        if self.busy:
            self.call.line.cancel()
        else:
            self.close()

    def close(self, *, reuse: bool = False) -> None:
        """Closes the connection, or gives it back."""
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.close(reuse=reuse)


def interrupted(call: Call[Any], problem: BaseException) -> None:
    """Takes down that a call was ended from outside: by Ctrl-C, by the event loop."""
    if not isinstance(problem, Exception):
        call.line.cancelled = True


def _plain(value: object) -> object:
    if isawaitable(value):
        close = getattr(value, "close", None)
        if close is not None:
            close()
        raise ConfigError("an async function cannot serve a sync client: use AsyncClient, or a plain function")
    return value


def _events(driver: Driver) -> Iterator[Event | None]:
    """The one generator of a stream. It is primed on entering (the `None`), so that also a stream that nobody iterates
    closes."""
    try:
        yield None
        while not driver.stopped and (events := driver.advance()) is not None:
            yield from events
    finally:
        if driver.is_open:
            driver.close()
            warnings.warn("a stream was never closed; use `with client.stream(…)`", ResourceWarning, stacklevel=2)


class Stream:
    """A streamed answer. Enter it to send the request; iterate it for the events; when they have ended, `response` is
    the whole answer. Iteration goes on after a `break`; leaving the `with` block early closes the connection."""

    def __init__(self, call: Call[Any], transport: Any) -> None:
        self._call = call
        self._driver = Driver(call, call.streamed(), transport)
        self._iterator: Iterator[Any] | None = None
        self._closed = False

    def __enter__(self) -> Self:
        if self._iterator is not None or self._closed:
            raise ConfigError("this stream was entered before; call client.stream(…) again")
        self._closed = True  # until it stands
        self._call.clock.begin()
        self._driver.advance()
        self._iterator = _events(self._driver)
        next(self._iterator)
        self._closed = False
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Event]:
        if self._iterator is None:
            raise ConfigError("enter the stream before iterating it: `with client.stream(…) as stream:`")
        if self._call.failure is not None:
            raise self._call.failure
        if self._closed and self._call.response is None:
            raise ConfigError("this stream was closed before its end (`partial` is what came of it)")
        return self._iterator

    def text_deltas(self) -> Iterator[str]:
        """The pieces of the answer's text, refusals left out."""
        refused = set[str]()
        for event in self:
            if isinstance(event, TextDelta):
                if event.id not in refused:
                    yield event.text
            elif isinstance(event, TextStart) and event.refusal:
                refused.add(event.id)

    def cancel(self) -> None:
        """Ends the stream, from any thread: whoever waits for its next event gets a `CallCancelledError`."""
        self._call.line.cancel()

    def close(self) -> None:
        """Closes the connection. Events that have not come yet never will: an iteration under way ends, a thread that
        waits for one gets a `CallCancelledError`."""
        self._closed = True
        self._driver.stop()

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


def finished(call: Call[Any]) -> Response:
    """The response of a call whose events have ended. Raises the call's error where it failed."""
    if call.response is None:
        if call.failure is not None:
            raise call.failure
        raise ConfigError("the stream has not ended: iterate it to its end first (`partial` is what came so far)")
    return call.response


class Client:
    """Calls models. Threads may share it; it keeps one pool of connections.

    `http` takes an `httpx.Client` (httpx2's, or any of that interface), which stays the caller's to close. `timeout` in
    seconds bounds each whole call; a `Timeout` sets each clock. `generate="stream"` asks for streams and gives whole
    responses. `strict` makes every warning of lowering an error. `keep_raw` keeps the frames of streams.
    """

    def __init__(
        self,
        *,
        http: Any | None = None,
        timeout: Timeout | float | None = None,
        generate: GenerateBy = "whole",
        strict: bool = False,
        keep_raw: bool = False,
        mint: Mint | None = None,
    ) -> None:
        self._settings: Final[Settings] = settings(timeout, generate, strict, keep_raw, mint)
        self._http = http_client(http, asynchronous=False)
        self._transport: Any = None
        self._closed = False
        self._lock = threading.Lock()

    def model(self, name: str, *, api_key: KeySource | None = None, base_url: str | None = None) -> Model[Any]:
        """The model `provider[/api]:model`, with a key and a place of one's own where they are given."""
        return resolve_model(name, api_key=api_key, base_url=base_url)

    def generate(self, model: str | Model[Any], prompt: Prompt, **fields: Unpack[CallFields]) -> Response:
        """The model's whole answer to a text, to messages or to a request."""
        transport = self._open_transport()
        whole = self._settings.generate == "whole"
        call = self._settings.call(model, prompt, fields, stream=not whole)
        driver = Driver(call, call.whole() if whole else call.streamed(), transport)
        while driver.advance() is not None:
            continue
        return finished(call)

    def stream(self, model: str | Model[Any], prompt: Prompt, **fields: Unpack[CallFields]) -> Stream:
        """The model's answer as it comes. The request is made ready now and sent on entering."""
        transport = self._open_transport()
        return Stream(self._settings.call(model, prompt, fields, stream=True), transport)

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

    def close(self) -> None:
        """Closes the pool and ends the calls under way: whoever waits for one gets a `CallCancelledError`. Calls after
        that are refused; a client given as `http` stays open."""
        with self._lock:
            self._closed = True
            transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> str:
        raise TypeError("a Client holds sockets and is not pickled; make one in each process")

    def _open_transport(self) -> Any:
        with self._lock:
            if self._closed:
                raise closed()
            if self._transport is None:
                from llmcore.transport.http import HttpTransport  # the HTTP client is loaded by the first call

                self._transport = HttpTransport(self._http)
            return self._transport
