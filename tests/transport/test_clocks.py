"""The four clocks on a real socket: which one ends a call, what is known of the request, what came before."""

import socket
import threading
from collections.abc import Iterator

import anyio
import pytest
import tiny
from loopback import Serve, Way, call

from llmcore.cassette import Close, Hold, Repeat, ReplayServer, Reply, Send, Wait
from llmcore.client import AsyncClient, Client
from llmcore.errors import ConfigError, RequestTimeoutError
from llmcore.http import Timeout

SHORT = 0.1
"""Seconds of the clock under test; the others are far away."""


def clocks(**seconds: float | None) -> Timeout:
    return Timeout(**{"connect": 30.0, "first_event": 30.0, "idle": 30.0, "total": None, **seconds})


def ran_out(error: object, which: str, sent: str) -> RequestTimeoutError:
    assert isinstance(error, RequestTimeoutError), repr(error)
    assert (error.which, error.request_sent) == (which, sent)
    assert error.retryable
    assert error.elapsed is not None
    assert error.budget == SHORT
    assert error.elapsed >= SHORT
    return error


@pytest.fixture
def blackhole() -> Iterator[str]:
    """A port whose queue of connections is full: the kernel answers no more of them."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        fillers = list[socket.socket]()
        while True:
            filler = socket.socket()
            filler.settimeout(0.05)
            fillers.append(filler)
            if filler.connect_ex(address):
                break
        yield f"http://127.0.0.1:{address[1]}"
        for filler in fillers:
            filler.close()


def test_connect_when_nobody_answers(way: Way, blackhole: str) -> None:
    outcome = call(way, tiny.model(blackhole), timeout=clocks(connect=SHORT))
    ran_out(outcome.error, "connect", "no")
    assert not outcome.entered


def test_connect_when_the_tls_handshake_hangs(way: Way) -> None:
    with ReplayServer(silent=True) as server:
        model = tiny.model(server.url.replace("http:", "https:"))
        ran_out(call(way, model, timeout=clocks(connect=SHORT)).error, "connect", "no")
        assert server.wait_closed()


def test_total_while_connecting(way: Way, blackhole: str) -> None:
    ran_out(call(way, tiny.model(blackhole), timeout=SHORT).error, "total", "no")


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "stream"])
def test_first_event_before_the_head(way: Way, scheme: str, serve: Serve, whole: bool) -> None:
    server = serve(Reply(framing="raw", actions=(Hold(),)), tiny.whole())
    outcome = call(way, tiny.model(server.url), whole=whole, again=True, timeout=clocks(first_event=SHORT))
    error = ran_out(outcome.error, "first_event", "maybe")
    assert (outcome.entered, error.status, error.partial) == (False, None, None)
    assert error.attempts[0].outcome == "failed"
    assert server.connections[0].closed.is_set()
    assert outcome.again is not None


def test_first_event_after_the_head(way: Way, scheme: str, serve: Serve) -> None:
    server = serve(tiny.stream(b": hello\n\n", Hold()))
    outcome = call(way, tiny.model(server.url), timeout=clocks(first_event=SHORT))
    error = ran_out(outcome.error, "first_event", "yes")
    assert (outcome.entered, outcome.events, error.status, error.partial) == (True, [], 200, None)
    assert server.wait_closed()


def test_idle_in_mid_stream(way: Way, scheme: str, serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("Hel", "lo"), Hold()), tiny.whole())
    outcome = call(way, tiny.model(server.url), again=True, timeout=clocks(idle=SHORT))
    error = ran_out(outcome.error, "idle", "yes")
    assert tiny.names(outcome.events) == ["ResponseStart", "TextStart", "TextDelta", "TextDelta"]
    assert error.partial is not None
    assert (error.partial.text, error.partial.metadata.status) == ("Hello", "error")
    assert outcome.again is not None


@pytest.mark.parametrize("used", ["silent", "idle"])
def test_clocks_on_a_connection_that_served_before(way: Way, scheme: str, serve: Serve, used: str) -> None:
    silent = Reply(framing="raw", actions=(Hold(),)) if used == "silent" else tiny.stream(*tiny.words("a"), Hold())
    server = serve(tiny.hello(), silent)
    timeout = clocks(first_event=SHORT if used == "silent" else 30.0, idle=SHORT)
    model = tiny.model(server.url)

    def sync() -> BaseException:
        with Client(timeout=timeout) as client:
            with client.stream(model, "Hi") as stream:
                list(stream)
            with pytest.raises(RequestTimeoutError) as caught, client.stream(model, "Hi") as stream:
                list(stream)
        return caught.value

    async def main() -> BaseException:
        async with AsyncClient(timeout=timeout) as client:
            async with client.stream(model, "Hi") as stream:
                assert [event async for event in stream]
            with pytest.raises(RequestTimeoutError) as caught:
                async with client.stream(model, "Hi") as stream:
                    assert [event async for event in stream]
        return caught.value

    error = sync() if way == "sync" else anyio.run(main, backend=way)
    if used == "silent":
        ran_out(error, "first_event", "maybe")
    else:
        ran_out(error, "idle", "yes")
    assert len(server.connections) == 1


def test_idle_in_the_middle_of_a_frame(way: Way, serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("Hel"), b'data: {"te', Hold()))
    ran_out(call(way, tiny.model(server.url), timeout=clocks(idle=SHORT)).error, "idle", "yes")


@pytest.mark.parametrize("keep_alive", [b": keep-alive\n\n", b"data: : PROCESSING\n\n", b"event: ping\n\n", b"\n"])
def test_keep_alives_do_not_reset_idle(way: Way, serve: Serve, keep_alive: bytes) -> None:
    server = serve(tiny.stream(*tiny.words("Hel"), Repeat(keep_alive, seconds=0.01)))
    outcome = call(way, tiny.model(server.url), timeout=clocks(idle=SHORT))
    ran_out(outcome.error, "idle", "yes")
    assert outcome.text == "Hel"


def test_keep_alives_do_not_hold_off_the_first_event(way: Way, serve: Serve) -> None:
    server = serve(tiny.stream(Repeat(b": keep-alive\n\n", seconds=0.01)))
    ran_out(call(way, tiny.model(server.url), timeout=clocks(first_event=SHORT)).error, "first_event", "yes")


def test_events_reset_idle_and_total_ends_a_dripping_stream(way: Way, scheme: str, serve: Serve) -> None:
    """Drips come far more often than `idle` allows, for longer than it allows all in all."""
    frame = f"data: {tiny.words('x')[0]}\n\n".encode()
    server = serve(tiny.stream(Repeat(frame, seconds=0.01)))
    outcome = call(way, tiny.model(server.url), timeout=clocks(idle=0.1, total=0.3))
    assert isinstance(outcome.error, RequestTimeoutError)
    assert (outcome.error.which, outcome.error.budget) == ("total", 0.3)
    assert len(outcome.events) > 3
    assert outcome.error.partial is not None
    assert outcome.error.partial.text == outcome.text
    assert server.wait_closed()


def test_total_before_the_head_and_in_a_whole_body(way: Way, serve: Serve) -> None:
    dripping = Reply(headers=(("content-type", "application/json"),), actions=(Repeat(b" ", seconds=0.01),))
    server = serve(Reply(framing="raw", actions=(Hold(),)), dripping)
    model = tiny.model(server.url)
    ran_out(call(way, model, whole=True, timeout=SHORT).error, "total", "maybe")
    ran_out(call(way, model, whole=True, timeout=SHORT).error, "total", "yes")


def test_a_number_for_a_call_bounds_all_of_it_and_leaves_the_other_clocks(serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("a"), Hold()))
    with (
        Client(timeout=clocks(idle=None)) as client,
        client.stream(tiny.model(server.url), "Hi", timeout=SHORT) as stream,
        pytest.raises(RequestTimeoutError) as caught,
    ):
        list(stream)
    ran_out(caught.value, "total", "yes")


def test_time_that_the_caller_takes_is_not_idle(way: Way, serve: Serve) -> None:
    """The caller is slower than `idle`; what has come in the meantime is read all the same."""
    pause = threading.Event()
    server = serve(tiny.stream(*tiny.words("a"), Wait(pause), *tiny.words("b"), tiny.FINISH, tiny.DONE))

    def slow(event: object) -> None:
        if getattr(event, "text", "") == "a":
            pause.set()
            threading.Event().wait(0.2)

    outcome = call(way, tiny.model(server.url), seen=slow, timeout=clocks(idle=0.1))
    assert outcome.error is None
    assert outcome.text == "ab"


def test_a_server_that_stays_after_the_end_is_not_waited_for(way: Way, scheme: str, serve: Serve) -> None:
    """Row 15: the client has finished before the server is told to go on."""
    go_on = threading.Event()
    server = serve(tiny.stream(*tiny.words("Hello"), tiny.FINISH, tiny.DONE, Wait(go_on)))
    outcome = call(way, tiny.model(server.url), timeout=clocks())
    assert not go_on.is_set()
    assert outcome.response is not None
    assert outcome.response.text == "Hello"
    assert server.wait_closed()


def test_a_body_without_an_end_after_the_done_is_cut_off(way: Way, serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("Hello"), tiny.FINISH, tiny.DONE, Repeat(b": more\n\n", seconds=0.005)))
    outcome = call(way, tiny.model(server.url), timeout=clocks())
    assert outcome.response is not None
    assert server.wait_closed()


def test_no_clock_at_all(way: Way, serve: Serve) -> None:
    never = Timeout(connect=None, first_event=None, idle=None, total=None)
    server = serve(tiny.hello(), tiny.whole())
    outcome = call(way, tiny.model(server.url), again=True, timeout=never)
    assert outcome.text == "Hello"
    assert outcome.again is not None


def test_an_error_body_that_stays_away_leaves_the_error_its_class(way: Way, serve: Serve) -> None:
    reply = Reply(status=429, headers=(("content-type", "application/json"),), actions=(Send(b'{"er'), Hold()))
    server = serve(reply)
    outcome = call(way, tiny.model(server.url), timeout=clocks(first_event=SHORT))
    assert (outcome.failure.kind, outcome.failure.status) == ("rate_limit", 429)
    assert outcome.failure.body_excerpt == '{"er'


@pytest.mark.parametrize("value", [0, -1, float("nan"), "soon", True])
def test_a_timeout_that_is_none(value: object) -> None:
    with pytest.raises(ConfigError, match="timeout"):
        Client(timeout=value)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="timeout"):
        Client(timeout=Timeout(idle=value))  # type: ignore[arg-type]
    with Client() as client, pytest.raises(ConfigError, match="timeout"):
        client.generate(tiny.model("http://127.0.0.1:9"), "Hi", timeout=value)  # type: ignore[arg-type]


def test_the_server_ends_a_stream_in_the_middle_of_a_wait(way: Way, serve: Serve) -> None:
    """No clock: the end of the connection is what ends the call."""
    server = serve(tiny.stream(*tiny.words("Hel"), Close()))
    assert call(way, tiny.model(server.url), timeout=clocks()).failure.kind == "transport"
