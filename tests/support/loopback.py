"""Ways to make a call (sync, on asyncio, on trio) and servers to make it to (plain, TLS), for tests on a real socket.

A test says what the server does and what should come of it; `call` carries the call out in the way asked for and gives
everything that could be seen of it.
"""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
import trustme

from llmcore.cassette import ReplayServer
from llmcore.client import AsyncClient, Client
from llmcore.errors import LLMError
from llmcore.events import Event
from llmcore.schema.response import Response
from llmcore.transport.http import ssl_context

Way = Literal["sync", "asyncio", "trio"]
Scheme = Literal["plain", "tls"]
Serve = Callable[..., ReplayServer]
PATIENCE = 10.0
"""Seconds after which something that should have happened has not; no test waits so long when all is well."""


class Outcome:
    """What was seen of a call: `entered` says that the reply's head came; `again` is the answer to a second call that
    the same client made afterwards."""

    def __init__(self) -> None:
        self.entered = False
        self.events: list[Event] = []
        self.response: Response | None = None
        self.error: LLMError | None = None
        self.again: Response | None = None

    @property
    def text(self) -> str:
        return "".join(getattr(event, "text", "") for event in self.events)

    @property
    def failure(self) -> Any:
        """The error, of which there must be one."""
        assert self.error is not None
        return self.error


Meanwhile = Callable[[Any], None]
"""What another thread does with the stream while the call runs."""


@contextmanager
def beside(work: Meanwhile | None, stream: Any) -> Iterator[None]:
    """Runs `work(stream)` in a thread meanwhile; what it raises is raised here."""
    failures = list[BaseException]()

    def run() -> None:
        assert work is not None
        try:
            work(stream)
        except BaseException as problem:  # noqa: BLE001  # raised again below, in the test's own thread
            failures.append(problem)

    thread = threading.Thread(target=run) if work is not None else None
    if thread is not None:
        thread.start()
    try:
        yield
    finally:
        if thread is not None:
            thread.join(PATIENCE)
            assert not thread.is_alive()
    if failures:
        raise failures[0]


def call(
    way: Way,
    model: Any,
    *,
    whole: bool = False,
    again: bool = False,
    meanwhile: Meanwhile | None = None,
    seen: Meanwhile | None = None,
    **settings: Any,
) -> Outcome:
    """Makes one call and takes its events to the end. `meanwhile` runs beside it in a thread; `seen` gets each event
    when it comes, in the caller's own thread."""
    outcome = Outcome()
    if way == "sync":
        _sync(outcome, model, whole, again, meanwhile, seen, settings)
    else:
        anyio.run(_async, outcome, model, whole, again, meanwhile, seen, settings, backend=way)
    return outcome


def _sync(outcome: Outcome, model: Any, whole: bool, again: bool, meanwhile: Any, seen: Any, settings: Any) -> None:
    with Client(**settings) as client:
        try:
            if whole:
                outcome.response = client.generate(model, "Hi")
            else:
                stream = client.stream(model, "Hi")
                with beside(meanwhile, stream), stream:
                    outcome.entered = True
                    for event in stream:
                        outcome.events.append(event)
                        if seen is not None:
                            seen(event)
                    outcome.response = stream.response
        except LLMError as error:
            outcome.error = error
        if again:
            outcome.again = client.generate(model, "Again")


async def _async(
    outcome: Outcome, model: Any, whole: bool, again: bool, meanwhile: Any, seen: Any, settings: Any
) -> None:
    async with AsyncClient(**settings) as client:
        try:
            if whole:
                outcome.response = await client.generate(model, "Hi")
            else:
                stream = client.stream(model, "Hi")
                with beside(meanwhile, stream):
                    async with stream:
                        outcome.entered = True
                        async for event in stream:
                            outcome.events.append(event)
                            if seen is not None:
                                seen(event)
                        outcome.response = stream.response
        except LLMError as error:
            outcome.error = error
        if again:
            outcome.again = await client.generate(model, "Again")


@pytest.fixture(params=["sync", "asyncio", "trio"])
def way(request: pytest.FixtureRequest) -> Way:
    """Each way to make a call."""
    return request.param


@pytest.fixture(params=["plain", "tls"])
def scheme(request: pytest.FixtureRequest) -> Scheme:
    """Each way to reach a server."""
    return request.param


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """A certificate authority of the tests' own."""
    return trustme.CA()


@pytest.fixture(scope="session")
def authority_file(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The authority's certificate in a file."""
    path = tmp_path_factory.mktemp("tls") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


@pytest.fixture(scope="session")
def server_tls(authority: trustme.CA) -> ssl.SSLContext:
    """The server's side of TLS on 127.0.0.1."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch, authority_file: Path) -> Iterator[None]:
    """The authority is trusted, as a company's would be: through SSL_CERT_FILE."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority_file))
    ssl_context.cache_clear()
    yield
    ssl_context.cache_clear()


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine says of proxies and keys is none of a test's."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "TINY_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def serve(request: pytest.FixtureRequest) -> Iterator[Serve]:
    """Starts servers that end with the test: `serve(reply, …)`. They speak TLS where the test's `scheme` does."""
    tls = None
    if "scheme" in request.fixturenames and request.getfixturevalue("scheme") == "tls":
        request.getfixturevalue("trusted")
        tls = request.getfixturevalue("server_tls")
    with ExitStack() as stack:

        def start(*script: Any, **options: Any) -> ReplayServer:
            return stack.enter_context(ReplayServer(script, tls=tls, **options))

        yield start
