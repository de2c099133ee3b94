"""What servers and networks do to a reply, and what the caller is told of it."""

import gzip
import threading
import zlib
from typing import Any

import pytest
import tiny
from loopback import PATIENCE, Serve, Way, call

from llmcore.cassette import Burst, Close, Hold, Reply, Reset, Send, Wait
from llmcore.client.call import MAX_ERROR_BODY
from llmcore.errors import (
    AuthError,
    LLMError,
    OverloadedError,
    ProtocolError,
    RateLimitError,
    StreamTruncatedError,
    TransportError,
)

HEL = ["ResponseStart", "TextStart", "TextDelta"]
EVENT_STREAM = (("content-type", "text/event-stream"),)


def ids(cases: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("case", list(cases.values()), ids=list(cases))


# Connections are used again


def test_one_connection_serves_calls_of_both_kinds(way: Way, scheme: str, serve: Serve) -> None:
    server = serve(tiny.hello(), tiny.whole())
    outcome = call(way, tiny.model(server.url), again=True)
    assert tiny.names(outcome.events) == tiny.HELLO
    assert outcome.again is not None
    assert [request.connection for request in server.requests] == [0, 0]


def test_the_rest_after_the_end_is_taken_when_it_comes_at_once(way: Way, serve: Serve) -> None:
    done = f"data: {tiny.DONE}\n\n".encode()
    server = serve(tiny.stream(*tiny.words("Hel", "lo"), tiny.FINISH, Burst((done, b": bye\n\n", b"\n"))), tiny.whole())
    assert call(way, tiny.model(server.url), again=True).text == "Hello"
    assert len(server.connections) == 1


@pytest.mark.parametrize("status", [200, 429, 500])
def test_a_connection_survives_an_error(way: Way, serve: Serve, status: int) -> None:
    broken = tiny.stream('{"error":"overloaded"}') if status == 200 else Reply.json({"error": "x"}, status=status)
    server = serve(broken, tiny.whole())
    outcome = call(way, tiny.model(server.url), whole=status != 200, again=True)
    assert outcome.failure.status == status
    if status != 200:  # what follows an error frame is not waited for
        assert len(server.connections) == 1


def test_a_server_that_closed_an_idle_connection_costs_nothing(way: Way, serve: Serve) -> None:
    first = tiny.hello()
    closing = Reply(headers=first.headers, actions=first.actions, keep_alive=False)
    server = serve(closing, tiny.whole())
    outcome = call(way, tiny.model(server.url), again=True)
    assert outcome.again is not None
    assert len(server.connections) == 2


# Frames


KEEP_ALIVES = {
    "comment": b": OPENROUTER PROCESSING\n\n",
    "comment as data": b"data: : OPENROUTER PROCESSING\n\n",
    "empty data": b"data:\n\n",
    "blank data": b"data: \n\n",
    "bare event": b"event: keepalive\n\n",
    "id": b"id: 7\n: ping\n\n",
    "retry": b"retry: 3000\n\n",
    "line ends": b"\n\r\n\r\n\n",
}


@ids(KEEP_ALIVES)
def test_keep_alives_change_nothing(way: Way, serve: Serve, case: bytes) -> None:
    parts = [*tiny.words("Hel", "lo"), tiny.FINISH, tiny.DONE]
    server = serve(tiny.stream(*[step for part in parts for step in (case, part)]))
    assert tiny.names(call(way, tiny.model(server.url)).events) == tiny.HELLO


def test_line_separators_are_text(way: Way, serve: Serve) -> None:
    server = serve(tiny.stream('{"text":"a\u2028b\u2029c\u0085d"}', tiny.FINISH, tiny.DONE))
    assert call(way, tiny.model(server.url)).text == "a\u2028b\u2029c\u0085d"


def test_every_byte_in_a_chunk_of_its_own(way: Way, serve: Serve) -> None:
    parts = [*tiny.words("Hé", "l\u2028o"), tiny.FINISH, tiny.DONE]
    body = "".join(f"data: {part}\r\n\r\n" for part in parts).encode()
    server = serve(Reply(headers=EVENT_STREAM, actions=(Burst(tuple(bytes([byte]) for byte in body)),)))
    outcome = call(way, tiny.model(server.url))
    assert tiny.names(outcome.events) == tiny.HELLO
    assert outcome.text == "Hél\u2028o"


# Replies that are errors


@ids(
    {
        "HTML": (Reply.text("<h1>Bad Gateway</h1>", status=502), OverloadedError, 502, "<h1>Bad Gateway</h1>"),
        "empty": (Reply(status=500), OverloadedError, 500, ""),
        "JSON": (Reply.json({"e": 1}, status=429), RateLimitError, 429, '{"e":1}'),
        "a stream": (Reply.sse("oops", status=503), OverloadedError, 503, "data: oops\n\n"),
        "gzip": (
            Reply.json(gzip.compress(b'{"e":1}'), status=401, headers=(("content-encoding", "gzip"),)),
            AuthError,
            401,
            '{"e":1}',
        ),
        "deflate": (
            Reply.json(zlib.compress(b'{"e":1}'), status=401, headers=(("content-encoding", "deflate"),)),
            AuthError,
            401,
            '{"e":1}',
        ),
        "not UTF-8": (Reply.json(b"\xff\xfe\x00", status=400), OverloadedError, 400, "\ufffd\ufffd\x00"),
        "cut off": (
            Reply(status=429, length=100, actions=(Send(b'{"e'),), framing="length"),
            RateLimitError,
            429,
            '{"e',
        ),
        "redirect": (
            Reply(status=302, headers=(("location", "http://127.0.0.1:9/elsewhere"),)),
            OverloadedError,
            302,
            "",
        ),
        "redirect to nowhere": (Reply(status=307, headers=(("location", "/elsewhere"),)), OverloadedError, 307, ""),
    }
)
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "stream"])
def test_an_error_reply_is_the_error_of_its_status(way: Way, serve: Serve, whole: bool, case: Any) -> None:
    reply, kind, status, excerpt = case
    server = serve(reply)
    outcome = call(way, tiny.model(server.url), whole=whole)
    error = outcome.failure
    assert type(error) is kind
    assert (error.status, error.body_excerpt, error.request_sent) == (status, excerpt, "yes")
    assert (error.provider, error.model) == ("tiny", "t1")
    assert not outcome.entered  # raised on entering
    assert len(server.requests) == 1  # no redirect is followed, nothing is tried again


def test_a_huge_error_body_is_not_read_to_its_end(way: Way, serve: Serve) -> None:
    """Ten megabytes are offered; the server stops when the client has gone."""
    pieces = tuple(Send(b"x" * 65536) for _ in range(160))
    server = serve(Reply(status=500, headers=(("content-type", "text/plain"),), actions=pieces))
    error = call(way, tiny.model(server.url), whole=True).failure
    assert error.status == 500
    assert server.wait_closed()
    assert server.connections[0].early


def test_what_is_read_of_an_error_body_is_bounded(serve: Serve) -> None:
    """Counted at the flow, where nothing is buffered."""
    from llmcore.client.call import Call
    from llmcore.client.prepare import plan
    from llmcore.client.prompt import as_request
    from llmcore.flow import Close as CloseOperation
    from llmcore.flow import Open, Read
    from llmcore.http import HttpHead, Timeout
    from llmcore.transport.clock import Clock

    ready = plan(tiny.model("http://127.0.0.1:9"), as_request("Hi"), stream=False, strict=False)
    flow = Call(ready, Clock(Timeout()), lambda: "tu_1").whole()
    taken = 0

    def drive() -> None:
        nonlocal taken
        value: object = None
        while True:
            match flow.send(value):
                case Open():
                    value = HttpHead(status=500)
                case Read():
                    value, taken = b"x" * 4096, taken + 4096
                case CloseOperation(reuse=reuse):
                    assert not reuse
                    value = None
                case _:
                    value = "canary"  # the key

    with pytest.raises(OverloadedError):
        drive()
    assert MAX_ERROR_BODY < taken <= MAX_ERROR_BODY + 4096


def test_a_whole_body_over_the_limit_is_refused(way: Way, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llmcore.client.call.MAX_BODY", 1000)
    server = serve(tiny.whole("x" * 2000), tiny.whole())
    outcome = call(way, tiny.model(server.url), whole=True, again=True)
    assert isinstance(outcome.error, ProtocolError)
    assert "1000 bytes" in outcome.error.message
    assert outcome.again is not None


# Replies of status 200 that are none


@ids(
    {
        "HTML": (Reply.text("<html>Sign in</html>"), "web page"),
        "empty": (Reply.json(b""), "tiny protocol"),
        "not JSON": (Reply.json(b"<oops>"), "tiny protocol"),
        "not UTF-8": (Reply.json(b'{"text":"\xff"}'), "tiny protocol"),
        "no content": (Reply(status=204), "tiny protocol"),
    }
)
def test_a_200_that_is_no_answer_is_a_protocol_error(way: Way, serve: Serve, case: Any) -> None:
    reply, words = case
    server = serve(reply)
    error = call(way, tiny.model(server.url), whole=True).failure
    assert isinstance(error, ProtocolError)
    assert words in error.message
    assert (error.status, error.request_sent) == (200 if reply.status != 204 else 204, "yes")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("status", "kind"), [(200, ProtocolError), (429, RateLimitError)])
def test_a_body_that_does_not_decode(way: Way, serve: Serve, status: int, kind: type[LLMError]) -> None:
    """httpx leaves its own generators behind when a body does not decode, of which trio warns."""
    server = serve(Reply.json(b'{"e":1}', status=status, headers=(("content-encoding", "gzip"),)))
    error = call(way, tiny.model(server.url), whole=True).failure
    assert type(error) is kind
    assert (error.status, error.request_sent) == (status, "yes")


def test_a_web_page_in_answer_to_a_stream(way: Way, serve: Serve) -> None:
    server = serve(Reply.text("<html>Sign in</html>"))
    outcome = call(way, tiny.model(server.url))
    assert isinstance(outcome.error, ProtocolError)
    assert (outcome.entered, outcome.error.body_excerpt) == (False, "<html>Sign in</html>")
    assert "base_url" in outcome.error.message


def test_a_whole_body_in_answer_to_a_stream_is_its_events(way: Way, serve: Serve) -> None:
    server = serve(tiny.whole())
    outcome = call(way, tiny.model(server.url))
    assert tiny.names(outcome.events) == ["ResponseStart", "TextStart", "TextDelta", "TextEnd", "ResponseEnd"]
    assert outcome.text == "Hello"
    assert outcome.response is not None
    assert outcome.response.text == "Hello"


def test_a_json_error_with_status_200_in_answer_to_a_stream(way: Way, serve: Serve) -> None:
    server = serve(Reply.json({"error": "overloaded"}))
    outcome = call(way, tiny.model(server.url))
    assert isinstance(outcome.error, OverloadedError)
    assert (outcome.error.status, outcome.error.retryable) == (200, True)


def test_an_error_inside_a_stream(way: Way, serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("Hel"), '{"error":"overloaded"}', *tiny.words("never")))
    outcome = call(way, tiny.model(server.url))
    assert tiny.names(outcome.events) == HEL
    assert isinstance(outcome.error, OverloadedError)
    assert outcome.error.status == 200
    assert outcome.error.partial is not None
    assert (outcome.error.partial.text, outcome.error.partial.metadata.status) == ("Hel", "error")


def test_text_and_error_in_one_read(way: Way, serve: Serve) -> None:
    """What came before the error is given before it."""
    frames = "".join(f"data: {part}\n\n" for part in (*tiny.words("Hel"), '{"error":"overloaded"}')).encode()
    server = serve(tiny.stream(frames))
    outcome = call(way, tiny.model(server.url))
    assert tiny.names(outcome.events) == HEL
    assert isinstance(outcome.error, OverloadedError)


def test_nothing_after_the_end_can_spoil_it(way: Way, serve: Serve) -> None:
    parts = (*tiny.words("Hello"), tiny.FINISH, tiny.DONE, '{"error":"late"}', "no JSON")
    server = serve(tiny.stream("".join(f"data: {part}\n\n" for part in parts).encode()))
    outcome = call(way, tiny.model(server.url))
    assert outcome.error is None
    assert outcome.text == "Hello"


# Streams that end too early


def cut(*actions: Any, framing: str = "auto", length: int | None = None) -> Reply:
    steps = tiny.stream(*tiny.words("Hel"), *actions)
    return Reply(headers=steps.headers, actions=steps.actions, framing=framing, length=length)  # type: ignore[arg-type]


CUTS = {
    "clean end": cut(),
    "end of the connection": cut(framing="close"),
    "closed in a chunk": cut(Close()),
    "in the middle of a frame": cut(b'data: {"text":"lo'),
    "in the middle of a character": cut('data: {"text":"é'.encode()[:-1]),
    "reset": cut(Reset()),
    "content-length too long": cut(framing="length", length=10_000),
}


@ids(CUTS)
def test_a_stream_without_its_end_is_truncated(way: Way, scheme: str, serve: Serve, case: Reply) -> None:
    server = serve(case, tiny.whole())
    outcome = call(way, tiny.model(server.url), again=True)
    error = outcome.failure
    assert type(error) is StreamTruncatedError
    assert (error.status, error.request_sent, error.retryable) == (200, "yes", True)
    assert tiny.names(outcome.events) == HEL
    assert error.partial is not None
    assert (error.partial.text, error.partial.metadata.status) == ("Hel", "error")
    assert error.message.count("without its terminal event") == 1
    assert outcome.again is not None


@pytest.mark.parametrize("ragged", [True, False])
@pytest.mark.parametrize("scheme", ["tls"], indirect=True)
def test_tls_ends_with_and_without_its_close_message(way: Way, scheme: str, serve: Serve, ragged: bool) -> None:
    server = serve(cut(Close(ragged=ragged)), cut(Close(ragged=ragged), framing="close"))
    for _ in range(2):
        assert type(call(way, tiny.model(server.url)).failure) is StreamTruncatedError


@ids(
    {
        "reset": tiny.stream(*tiny.words("Hel", "lo"), tiny.FINISH, Reset()),
        "closed in a chunk": tiny.stream(*tiny.words("Hel", "lo"), tiny.FINISH, Close()),
        "clean end": tiny.stream(*tiny.words("Hel", "lo"), tiny.FINISH),
        "the end without its blank line": tiny.stream(*tiny.words("Hel", "lo"), tiny.FINISH, b"data: [DONE]"),
        "the same, and closed": tiny.stream(*tiny.words("Hel", "lo"), b"data: [DONE]", Close()),
    }
)
def test_what_had_its_terminal_evidence_is_complete_however_it_ends(
    way: Way, scheme: str, serve: Serve, case: Reply
) -> None:
    server = serve(case)
    outcome = call(way, tiny.model(server.url))
    assert outcome.error is None
    assert tiny.names(outcome.events) == tiny.HELLO
    assert outcome.response is not None
    assert outcome.response.text == "Hello"


def test_a_sentinel_alone_ends_a_stream_as_unknown(way: Way, serve: Serve) -> None:
    server = serve(tiny.stream(*tiny.words("Hello"), tiny.DONE))
    response = call(way, tiny.model(server.url)).response
    assert response is not None
    assert (response.text, response.stop_reason) == ("Hello", "unknown")


def test_success_needs_terminal_evidence_at_every_byte(serve: Serve) -> None:
    """Cut after each byte: never a finished answer before the finish was there."""
    frames = [f"data: {part}\n\n" for part in (*tiny.words("Hel", "lo"), tiny.FINISH, tiny.DONE)]
    body = "".join(frames).encode()
    enough = len("".join(frames[:2]).encode()) + len(frames[2]) - 2  # the finish, whole, without its blank line
    cuts = range(len(body) + 1)
    server = serve(*[Reply(headers=EVENT_STREAM, actions=(Send(body[:place]),)) for place in cuts])
    from llmcore.client import Client

    with Client() as client:
        for place in cuts:
            with client.stream(tiny.model(server.url), "Hi") as stream:
                if place < enough:
                    with pytest.raises(StreamTruncatedError):
                        list(stream)
                else:
                    assert "".join(stream.text_deltas()) == stream.response.text == "Hello"


@ids(
    {
        "reset": Reply(framing="raw", actions=(Reset(),)),
        "closed": Reply(framing="raw", actions=(Close(),)),
        "no HTTP": Reply(framing="raw", actions=(Send(b"SSH-2.0-OpenSSH_9.6\r\n"), Close())),
        "half a head": Reply(framing="raw", actions=(Send(b"HTTP/1.1 200 OK\r\nconte"), Close())),
    }
)
def test_a_connection_that_breaks_before_the_head(way: Way, scheme: str, serve: Serve, case: Reply) -> None:
    server = serve(case, tiny.whole())
    outcome = call(way, tiny.model(server.url), whole=True, again=True)
    error = outcome.failure
    assert type(error) is TransportError
    assert (error.status, error.request_sent, error.retryable, error.partial) == (None, "maybe", True, None)
    assert outcome.again is not None


@ids(
    {
        "reset": Reply(headers=(("content-type", "application/json"),), actions=(Send(b'{"te'), Reset())),
        "closed": Reply(headers=(("content-type", "application/json"),), actions=(Send(b'{"te'), Close())),
        "too long": Reply(headers=(), framing="length", length=999, actions=(Send(b'{"te'),)),
    }
)
def test_a_whole_body_that_breaks_off(way: Way, scheme: str, serve: Serve, case: Reply) -> None:
    server = serve(case)
    error = call(way, tiny.model(server.url), whole=True).failure
    assert type(error) is TransportError
    assert (error.status, error.request_sent, error.partial) == (200, "yes", None)


def test_nobody_listens(way: Way, scheme: str) -> None:
    url = f"{'https' if scheme == 'tls' else 'http'}://127.0.0.1:1"
    error = call(way, tiny.model(url), whole=True).failure
    assert type(error) is TransportError
    assert (error.request_sent, error.status) == ("no", None)
    assert isinstance(error.__cause__, OSError)


def test_a_name_that_does_not_exist(way: Way) -> None:
    error = call(way, tiny.model("http://nowhere.invalid"), whole=True).failure
    assert type(error) is TransportError
    assert (error.request_sent, error.retryable) == ("no", True)


# What every reply carries


def test_events_come_as_soon_as_they_are_sent(way: Way, scheme: str, serve: Serve) -> None:
    """The server says the next word only when the client has heard the last one."""
    gates = [threading.Event() for _ in range(3)]
    steps = [step for gate, word in zip(gates, tiny.words("a", "b", "c"), strict=True) for step in (word, Wait(gate))]
    server = serve(tiny.stream(*steps, tiny.FINISH, tiny.DONE))
    heard = iter(gates)
    outcome = call(
        way,
        tiny.model(server.url),
        seen=lambda event: next(heard).set() if getattr(event, "text", "") else None,
        timeout=PATIENCE,
    )
    assert outcome.text == "abc"


def test_streams_ask_for_no_compression_and_whole_bodies_neither(way: Way, serve: Serve) -> None:
    server = serve(tiny.hello(), tiny.whole())
    call(way, tiny.model(server.url), again=True)
    stream, whole = server.requests
    assert (stream.header("accept-encoding"), stream.header("accept")) == ("identity", "text/event-stream")
    assert (whole.header("accept-encoding"), whole.header("accept")) == (None, "application/json")
    for request in server.requests:
        assert request.header("content-type") == "application/json"
        assert (request.header("user-agent") or "").startswith("llmcore/")
        assert request.header("authorization") == f"Bearer {tiny.KEY}"
        assert request.header("cookie") is None


def test_a_compressed_stream_is_read_all_the_same(way: Way, serve: Serve) -> None:
    plain = tiny.hello()
    body = gzip.compress(b"".join(action.data for action in plain.actions if isinstance(action, Send)))
    headers = (*plain.headers, ("content-encoding", "gzip"))
    server = serve(Reply(headers=headers, actions=(Burst(tuple(body[i : i + 7] for i in range(0, len(body), 7))),)))
    assert call(way, tiny.model(server.url)).text == "Hello"


def test_cookies_are_not_kept(way: Way, serve: Serve) -> None:
    server = serve(tiny.hello(headers=(("set-cookie", "a=b; Path=/"),)), tiny.whole())
    call(way, tiny.model(server.url), again=True)
    assert [request.header("cookie") for request in server.requests] == [None, None]


def test_a_silent_server_is_waited_for(way: Way, serve: Serve) -> None:
    """Longer than any clock under test elsewhere: nothing ends a call but its clocks."""
    go_on = threading.Event()
    server = serve(tiny.stream(Wait(go_on), *tiny.words("Hello"), tiny.FINISH, tiny.DONE))

    def later(_: object) -> None:
        assert server.wait_requests(1)
        threading.Event().wait(0.05)
        go_on.set()

    assert call(way, tiny.model(server.url), meanwhile=later).text == "Hello"


def test_hold_is_no_end(serve: Serve) -> None:
    """The tests' own server: a hold ends with the client."""
    from llmcore.client import Client

    server = serve(tiny.stream(*tiny.words("a"), Hold()))
    with Client() as client, client.stream(tiny.model(server.url), "Hi") as stream:
        assert next(stream.text_deltas()) == "a"
        assert not server.connections[0].ended.is_set()
    assert server.wait_closed()
