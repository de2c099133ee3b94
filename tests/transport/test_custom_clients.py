"""HTTP clients of the caller's own: what is theirs stays theirs; what can be had of the clocks and of cancelling is."""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import httpx
import pytest
import tiny
from loopback import Outcome, Serve, Way, call

from llmcore.cassette import Hold, Repeat, Reply, Wait
from llmcore.client import AsyncClient, Client
from llmcore.errors import ConfigError, RequestTimeoutError
from llmcore.http import Timeout


@contextmanager
def sync_http(**settings: Any) -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, **settings) as http:
        yield http


@asynccontextmanager
async def async_http(**settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False, **settings) as http:
        yield http


def call_on(way: Way, model: Any, settings: dict[str, Any] | None = None, **options: Any) -> Outcome:
    """`call` on an HTTP client of the test's own, made with `settings`; it must be open afterwards."""
    settings = settings or {}
    if way == "sync":
        with sync_http(**settings) as http:
            outcome = call(way, model, http=http, **options)
            assert not http.is_closed
        return outcome

    from loopback import _async

    outcome = Outcome()

    async def main() -> None:
        async with async_http(**settings) as http:
            keywords = {name: options.pop(name, None) for name in ("whole", "again", "meanwhile", "seen")}
            await _async(outcome, model, *keywords.values(), {"http": http, **options})
            assert not http.is_closed

    anyio.run(main, backend=way)
    return outcome


def clocks(**seconds: float | None) -> Timeout:
    return Timeout(**{"connect": 30.0, "first_event": 30.0, "idle": 30.0, "total": None, **seconds})


def ran_out(outcome: Outcome, which: str, sent: str) -> None:
    error = outcome.failure
    assert isinstance(error, RequestTimeoutError), repr(error)
    assert (error.which, error.request_sent) == (which, sent)


def test_calls_use_one_connection(way: Way, serve: Serve) -> None:
    server = serve(tiny.hello(), tiny.whole())
    outcome = call_on(way, tiny.model(server.url), again=True)
    assert tiny.names(outcome.events) == tiny.HELLO
    assert outcome.again is not None
    assert len(server.connections) == 1


def test_headers_and_parameters_of_the_client_go_along_and_ours_win(way: Way, serve: Serve) -> None:
    server = serve(tiny.hello())
    settings = {"headers": {"x-team": "blue", "user-agent": "theirs", "authorization": "theirs"}, "params": {"v": "2"}}
    call_on(way, tiny.model(server.url), settings)
    request = server.requests[0]
    assert request.header("x-team") == "blue"
    assert (request.header("user-agent") or "").startswith("llmcore/")
    assert request.header("authorization") == f"Bearer {tiny.KEY}"
    assert request.header("accept-encoding") == "identity"
    assert request.path == "/chat?v=2"


def test_its_own_limit_on_connections_is_kept(way: Way, serve: Serve) -> None:
    """A pool of one that is taken: the wait for it is bounded by `connect`, and the request was never sent."""
    server = serve(tiny.stream(*tiny.words("a"), Hold()), tiny.whole())
    model, limits = tiny.model(server.url), httpx.Limits(max_connections=1)

    def sync() -> None:
        with sync_http(limits=limits) as http, Client(http=http) as client, client.stream(model, "Hi") as stream:
            next(iter(stream))
            with pytest.raises(RequestTimeoutError) as caught:
                client.generate(model, "Hi", timeout=clocks(connect=0.05))
            check(caught.value)

    async def main() -> None:
        async with (
            async_http(limits=limits) as http,
            AsyncClient(http=http) as client,
            client.stream(model, "Hi") as stream,
        ):
            await anext(aiter(stream))
            with pytest.raises(RequestTimeoutError) as caught:
                await client.generate(model, "Hi", timeout=clocks(connect=0.05))
            check(caught.value)

    def check(error: RequestTimeoutError) -> None:
        assert (error.which, error.request_sent, error.budget) == ("pool", "no", 0.05)

    sync() if way == "sync" else anyio.run(main, backend=way)
    assert len(server.requests) == 1


def test_first_event_before_the_head(way: Way, serve: Serve) -> None:
    server = serve(Reply(framing="raw", actions=(Hold(),)))
    ran_out(call_on(way, tiny.model(server.url), timeout=clocks(first_event=0.1)), "first_event", "maybe")


def test_total_before_the_head(way: Way, serve: Serve) -> None:
    server = serve(Reply(framing="raw", actions=(Hold(),)))
    ran_out(call_on(way, tiny.model(server.url), timeout=0.1), "total", "maybe")


def test_first_event_after_the_head(way: Way, serve: Serve) -> None:
    server = serve(tiny.stream(b": hello\n\n", Hold()))
    ran_out(call_on(way, tiny.model(server.url), timeout=clocks(first_event=0.1)), "first_event", "yes")


def test_idle_in_mid_stream(way: Way, serve: Serve) -> None:
    """The client's own read limit is the longer of `first_event` and `idle`: an alarm comes before it."""
    server = serve(tiny.stream(*tiny.words("Hel"), Hold()))
    outcome = call_on(way, tiny.model(server.url), timeout=clocks(idle=0.1))
    ran_out(outcome, "idle", "yes")
    assert outcome.text == "Hel"


def test_keep_alives_do_not_reset_idle(way: Way, serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("Hel"), Repeat(b": hi\n\n", seconds=0.01)))
    ran_out(call_on(way, tiny.model(server.url), timeout=clocks(idle=0.1)), "idle", "yes")


def test_total_on_a_dripping_stream(way: Way, serve: Serve) -> None:
    frame = f"data: {tiny.words('x')[0]}\n\n".encode()
    server = serve(tiny.stream(Repeat(frame, seconds=0.01)))
    ran_out(call_on(way, tiny.model(server.url), timeout=clocks(total=0.15)), "total", "yes")


def test_time_that_the_caller_takes_is_not_idle(way: Way, serve: Serve) -> None:
    go_on = threading.Event()
    server = serve(tiny.stream(*tiny.words("a"), Wait(go_on), *tiny.words("b"), tiny.FINISH, tiny.DONE))

    def slow(event: object) -> None:
        if getattr(event, "text", "") == "a":
            threading.Event().wait(0.15)
            go_on.set()

    outcome = call_on(way, tiny.model(server.url), seen=slow, timeout=clocks(idle=0.1))
    assert outcome.error is None
    assert outcome.text == "ab"


def test_a_server_that_stays_after_the_end(way: Way, serve: Serve) -> None:
    go_on = threading.Event()
    server = serve(tiny.stream(*tiny.words("Hello"), tiny.FINISH, tiny.DONE, Wait(go_on)), tiny.whole())
    outcome = call_on(way, tiny.model(server.url), again=True)
    assert not go_on.is_set()
    assert outcome.again is not None


@pytest.mark.parametrize("kind", ["reads", "logs"])
def test_event_hooks_of_the_client(way: Way, serve: Serve, kind: str) -> None:
    """A hook that reads the body, as people write to log it, takes nothing from us."""
    server = serve(tiny.hello())
    seen = list[int]()

    def hook(response: httpx.Response) -> None:
        seen.append(response.status_code)
        if kind == "reads":
            response.read()

    async def async_hook(response: httpx.Response) -> None:
        seen.append(response.status_code)
        if kind == "reads":
            await response.aread()

    hooks = {"event_hooks": {"response": [hook if way == "sync" else async_hook]}}
    outcome = call_on(way, tiny.model(server.url), hooks)
    assert outcome.error is None
    assert outcome.text == "Hello"
    assert seen == [200]


def test_redirects_and_auth_of_the_client_are_not_used(way: Way, serve: Serve) -> None:
    server = serve(Reply(status=302, headers=(("location", "/elsewhere"),)))
    settings = {"follow_redirects": True, "auth": ("user", "password")}
    assert call_on(way, tiny.model(server.url), settings, whole=True).failure.status == 302
    assert server.requests[0].header("authorization") == f"Bearer {tiny.KEY}"


def test_a_client_that_is_closed(way: Way) -> None:
    closed: Any = httpx.Client() if way == "sync" else httpx.AsyncClient()
    if way == "sync":
        closed.close()
    else:
        anyio.run(closed.aclose, backend=way)
    error = call(way, tiny.model("http://127.0.0.1:1"), http=closed).failure
    assert isinstance(error, ConfigError)
    assert "http=" in error.message


def test_http2_and_proxies_are_the_clients_own_affair(way: Way, serve: Serve) -> None:
    """A proxy given to the client is used: the server sees the whole URL."""
    server = serve(tiny.whole())
    outcome = call_on(way, tiny.model("http://api.example.invalid/v1"), {"proxy": server.url}, whole=True)
    assert outcome.response is not None
    assert server.requests[0].path == "http://api.example.invalid/v1/chat"


# Clients with no socket at all


def mocked(handler: Any, way: Way) -> Any:
    transport = httpx.MockTransport(handler)
    return httpx.Client(transport=transport) if way == "sync" else httpx.AsyncClient(transport=transport)


def reply(body: bytes, kind: str = "text/event-stream") -> httpx.Response:
    return httpx.Response(200, headers={"content-type": kind}, content=body)


BODY = "".join(f"data: {part}\n\n" for part in (*tiny.words("Hel", "lo"), tiny.FINISH, tiny.DONE)).encode()


def test_a_mock_transport(way: Way) -> None:
    requests = list[httpx.Request]()

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return reply(BODY)

    outcome = call(way, tiny.model("https://api.example.invalid/v1"), http=mocked(answer, way))
    assert tiny.names(outcome.events) == tiny.HELLO
    assert str(requests[0].url) == "https://api.example.invalid/v1/chat"
    assert requests[0].headers["authorization"] == f"Bearer {tiny.KEY}"
    assert requests[0].read() == b'{"model":"t1","prompt":"Hi","stream":true}'


def test_a_mock_whose_body_comes_in_pieces(way: Way) -> None:
    pieces = [BODY[place : place + 5] for place in range(0, len(BODY), 5)]

    async def later() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    def answer(_: httpx.Request) -> httpx.Response:
        content: Any = iter(pieces) if way == "sync" else later()
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=content)

    assert call(way, tiny.model("http://h.invalid"), http=mocked(answer, way)).text == "Hello"


def test_the_clock_is_looked_at_after_each_read_where_there_is_no_socket() -> None:
    def pieces() -> Iterator[bytes]:
        yield BODY[:20]
        threading.Event().wait(0.02)
        yield BODY[20:]

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=pieces())

    outcome = call("sync", tiny.model("http://h.invalid"), http=mocked(answer, "sync"), timeout=0.01)
    ran_out(outcome, "total", "yes")


@pytest.mark.parametrize("way", ["asyncio", "trio"])
def test_an_async_mock_that_hangs_is_ended_by_its_clock(way: Way) -> None:
    async def hang(_: httpx.Request) -> httpx.Response:
        await anyio.sleep_forever()
        raise AssertionError

    outcome = call(way, tiny.model("http://h.invalid"), http=mocked(hang, way), timeout=clocks(first_event=0.05))
    ran_out(outcome, "first_event", "maybe")


def test_what_a_hook_raises_is_the_callers_own(way: Way) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        raise LookupError("the test's own")

    with pytest.raises(LookupError, match="own"):
        call(way, tiny.model("http://h.invalid"), http=mocked(answer, way))


def test_a_request_object_of_another_kind_of_client(serve: Serve) -> None:
    """Any client of that interface: `build_request` and `send` are all that is asked of it."""

    class Wrapped:
        def __init__(self, inner: httpx.Client) -> None:
            self._inner = inner
            self.built = 0

        def build_request(self, *args: Any, **keywords: Any) -> Any:
            self.built += 1
            return self._inner.build_request(*args, **keywords)

        def send(self, *args: Any, **keywords: Any) -> Any:
            return self._inner.send(*args, **keywords)

    server = serve(tiny.hello())
    with sync_http() as http:
        wrapped = Wrapped(http)
        assert call("sync", tiny.model(server.url), http=wrapped).text == "Hello"
    assert wrapped.built == 1
