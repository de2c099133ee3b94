"""The replay server on a real socket: what it answers, what it sees, and that nothing of it stays behind."""

import base64
import gzip
import socket
import ssl
import threading
from collections.abc import Callable, Iterator

import httpx
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llmcore.cassette import (
    MISS_STATUS,
    Action,
    Burst,
    Close,
    Hold,
    Interaction,
    Pause,
    Received,
    RecordedRequest,
    RecordedResponse,
    Repeat,
    ReplayServer,
    Reply,
    Reset,
    Send,
    Wait,
)
from llmcore.cassette import server as server_module
from llmcore.cassette.script import BodyFraming, Split
from llmcore.cassette.wire import MAX_HEAD
from llmcore.errors import ConfigError

Talk = Callable[[str, bytes], bytes]


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    """A client that reads nothing from the environment."""
    with httpx.Client(trust_env=False, timeout=10) as client:
        yield client


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    for thread in threading.enumerate():
        if thread not in before and thread.name.startswith("replay-"):
            thread.join(1)
            assert not thread.is_alive()


def recording(content: str, *chunks: str, kind: str = "text/event-stream") -> Interaction:
    return Interaction(
        request=RecordedRequest(method="POST", url="https://api.example.com/v1/chat", body={"content": content}),
        response=RecordedResponse(
            status=200, headers={"content-type": kind}, chunks=tuple((0, text) for text in chunks)
        ),
    )


# What is answered


@pytest.mark.parametrize(
    ("split", "pieces"),
    [
        ("recorded", [b"data: \xc3\xa9\n", b"\n", b"data: 2\n\n"]),
        ("whole", [b"data: \xc3\xa9\n\ndata: 2\n\n"]),
        ("bytes", [bytes([byte]) for byte in b"data: \xc3\xa9\n\ndata: 2\n\n"]),
    ],
)
def test_a_recorded_stream_comes_in_the_chunks_asked_for(
    client: httpx.Client, split: Split, pieces: list[bytes]
) -> None:
    interaction = recording("", "data: é\n", "\n", "data: 2\n\n")
    with ReplayServer([interaction], split=split) as server, client.stream("POST", server.url) as reply:
        assert reply.headers["transfer-encoding"] == "chunked"
        assert list(reply.iter_raw()) == pieces


def test_random_chunks_are_those_of_the_seed(client: httpx.Client) -> None:
    interaction = recording("", "data: 0123456789\n\n" * 20)

    def pieces(seed: int) -> list[bytes]:
        with (
            ReplayServer([interaction], split="random", seed=seed) as server,
            client.stream("POST", server.url) as reply,
        ):
            return list(reply.iter_raw())

    assert pieces(7) == pieces(7) != pieces(8)
    assert b"".join(pieces(8)) == interaction.response.content


def test_a_whole_body_has_a_length(client: httpx.Client) -> None:
    with ReplayServer([recording("", '{"a":1}', kind="application/json")]) as server:
        reply = client.post(server.url)
    assert reply.headers["content-length"] == "7"
    assert "transfer-encoding" not in reply.headers
    assert reply.json() == {"a": 1}


def test_binary_bodies_come_byte_for_byte(client: httpx.Client) -> None:
    response = RecordedResponse(status=200, headers={}, chunks_base64=((0, "/wA="), (1, "CgsM")))
    interaction = Interaction(request=RecordedRequest(method="POST", url="http://h/"), response=response)
    with ReplayServer([interaction]) as server:
        assert client.post(server.url).content == b"\xff\x00\n\x0b\x0c"


def test_status_headers_html_and_gzip(client: httpx.Client) -> None:
    packed = Reply.json(
        gzip.compress(b'{"a":1}'), status=429, headers=(("content-encoding", "gzip"), ("retry-after", "3"))
    )
    with ReplayServer([packed, Reply.text("<h1>Bad Gateway</h1>", status=502), Reply(status=204)]) as server:
        one, two, three = client.get(server.url), client.get(server.url), client.get(server.url)
    assert (one.status_code, one.headers["retry-after"], one.json()) == (429, "3", {"a": 1})
    assert (two.status_code, two.text) == (502, "<h1>Bad Gateway</h1>")
    assert (three.status_code, three.content, "content-length" in three.headers) == (204, b"", False)


def test_a_reply_may_depend_on_the_request(client: httpx.Client) -> None:
    def echo(request: Received) -> Reply:
        return Reply.json({"path": request.path, "body": request.json()})

    with ReplayServer([echo], repeat=True) as server:
        assert client.post(server.url + "/v1?x=1", json=[1]).json() == {"path": "/v1?x=1", "body": [1]}
        assert client.post(server.url + "/v2", json=[2]).json() == {"path": "/v2", "body": [2]}


# Order


def test_strict_order_answers_in_order_whatever_is_asked(client: httpx.Client) -> None:
    with ReplayServer([recording("a", "1"), recording("b", "2")]) as server:
        assert [client.post(server.url, json={"content": "b"}).text for _ in range(2)] == ["1", "2"]
        assert (server.unused, server.misses) == (0, ())
        reply = client.post(server.url + "/v1?key=canary")
    assert reply.status_code == MISS_STATUS
    assert reply.json()["error"]["code"] == "replay_miss"
    assert server.misses == ("no reply for POST /v1?key=…: all 2 of the script are used",)


def test_matched_order_pairs_by_content_and_first_come_first_served(client: httpx.Client) -> None:
    script = [recording("a", "first a"), recording("a", "second a"), recording("b", "b")]
    with ReplayServer(script, order="match") as server:
        url = server.url + "/v1/chat"
        assert [client.post(url, json={"content": text}).text for text in "baa"] == ["b", "first a", "second a"]


def test_a_miss_in_matched_order_names_the_nearest_and_uses_nothing(client: httpx.Client) -> None:
    with ReplayServer([recording("a", "x")], order="match") as server:
        reply = client.post(server.url + "/v1/chat", json={"content": "z"})
        assert reply.status_code == MISS_STATUS
        assert reply.json()["error"]["message"] == server.misses[0]
        assert server.misses[0].endswith("""differs in body.content: '"a"' recorded, '"z"' sent""")
        assert server.unused == 1


@pytest.mark.parametrize("order", ["strict", "match"])
def test_repeat_starts_again(client: httpx.Client, order: str) -> None:
    script = [recording("a", "1"), recording("a", "2")]
    with ReplayServer(script, order=order, repeat=True) as server:  # type: ignore[arg-type]
        texts = [client.post(server.url + "/v1/chat", json={"content": "a"}).text for _ in range(4)]
    assert texts == (["1", "2", "1", "2"] if order == "strict" else ["1", "2", "1", "1"])


def test_matched_order_takes_recordings_only() -> None:
    with pytest.raises(ConfigError, match="every step is an Interaction"):
        ReplayServer([Reply.json({})], order="match")


def test_another_script_can_be_put_in_place_while_it_runs(client: httpx.Client) -> None:
    with ReplayServer([Reply.json(1)]) as server:
        assert client.get(server.url).json() == 1
        server.load([Reply.json(2), Reply.json(3)])
        assert (server.requests, server.unused) == ((), 2)
        assert client.get(server.url).json() == 2
        assert len(server.connections) == 1, "the connection lives on"


# What the server sees


def test_requests_are_seen_whole_and_connections_are_counted(client: httpx.Client) -> None:
    with ReplayServer([Reply.json({})], repeat=True) as server:
        client.post(server.url + "/a?b=c", content=b"\x00\xff" * 70_000, headers={"X-One": "1"})
        client.get(server.url + "/d", headers={"connection": "close"})
        client.get(server.url)
        first, second, third = server.requests
        assert (first.method, first.path, first.body, first.header("x-one")) == (
            "POST",
            "/a?b=c",
            b"\x00\xff" * 70_000,
            "1",
        )
        assert [request.connection for request in (first, second, third)] == [0, 0, 1]
        assert [connection.id for connection in server.connections] == [0, 1]


def test_a_chunked_request_body_is_read(client: httpx.Client) -> None:
    with ReplayServer([Reply.json({})], repeat=True) as server:
        client.post(server.url, content=iter([b"ab", b"c" * 300]))
        client.post(server.url, content=b"next")
        assert [request.body for request in server.requests] == [b"ab" + b"c" * 300, b"next"]


def test_expect_continue_and_pipelined_requests(talk: Talk) -> None:
    asked = b"POST /1 HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\nhi"
    asked += b"GET /2 HTTP/1.1\r\nconnection: close\r\n\r\n"
    with ReplayServer([Reply.json(1), Reply.json(2)]) as server:
        answered = talk(server.url, asked)
        assert [request.path for request in server.requests] == ["/1", "/2"]
    assert answered.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert answered.endswith(b"connection: close\r\n\r\n2")


def test_the_trailers_of_a_chunked_request_are_read_over(talk: Talk) -> None:
    head = b"POST / HTTP/1.1\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    with ReplayServer([Reply.json(1)]) as server:
        answered = talk(server.url, head + b"2;x=y\r\nab\r\n0\r\nchecksum: 1\r\nother: 2\r\n\r\n")
        assert [request.body for request in server.requests] == [b"ab"]
    assert answered.endswith(b"\r\n\r\n1")


BAD_REQUESTS = {
    "no request line": b"hello\r\n\r\n",
    "a header without colon": b"GET / HTTP/1.1\r\nnonsense\r\n\r\n",
    "a bad length": b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
    "a huge length": b"POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n",
    "a bad chunk size": b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
    "a huge chunk": b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nfffffffffff\r\n",
    "a chunk that goes on": b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n",
    "an endless head": b"GET / HTTP/1.1\r\nx: " + b"y" * (2 * MAX_HEAD),
    "an endless line": b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n" + b"1" * (2 * MAX_HEAD),
}


@pytest.mark.parametrize("data", BAD_REQUESTS.values(), ids=BAD_REQUESTS)
def test_what_is_no_request_is_answered_with_400(talk: Talk, data: bytes) -> None:
    with ReplayServer([Reply.json({})]) as server:
        answered = talk(server.url, data)
        assert server.requests == ()
    assert answered.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"\r\nconnection: close\r\n" in answered
    assert b'"type":"bad_request"' in answered


def test_an_http_1_0_client_is_answered_and_closed(talk: Talk) -> None:
    with ReplayServer([Reply.json({})]) as server:
        assert b"connection: close\r\n\r\n{}" in talk(server.url, b"GET / HTTP/1.0\r\n\r\n")


def test_a_client_that_leaves_a_silent_stream_is_seen(client: httpx.Client) -> None:
    with ReplayServer([Reply.sse("one", Hold())]) as server:
        with client.stream("GET", server.url) as reply:
            pieces = reply.iter_raw()
            assert next(pieces) == b"data: one\n\n"
            assert not server.connections[0].closed.is_set()
        assert server.wait_closed()
        (connection,) = server.connections
        assert connection.closed.is_set()
        assert connection.early


def test_a_client_that_leaves_between_requests_is_not_early() -> None:
    with ReplayServer([Reply.json({})]) as server:
        with httpx.Client(trust_env=False) as client:
            client.get(server.url)
        assert server.wait_closed()
        (connection,) = server.connections
        assert (connection.closed.is_set(), connection.early) == (True, False)
        assert repr(connection) == "Connection(0, ended)"


def test_waiting_for_requests_and_closings_has_an_end() -> None:
    with (
        ReplayServer([Reply.json({})]) as server,
        socket.create_connection(("127.0.0.1", int(server.url[17:]))) as sock,
    ):
        assert not server.wait_requests(1, timeout=0.001)
        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert server.wait_requests(1)
        assert not server.wait_closed(timeout=0.001)


# Mishaps


def mishap(client: httpx.Client, *actions: Action, framing: BodyFraming = "auto", length: int | None = None) -> bytes:
    """What a client has read of the body when it ends; raises as the client does."""
    reply = Reply(actions=actions, framing=framing, length=length)
    with ReplayServer([reply]) as server, client.stream("GET", server.url) as response:
        got = b""
        try:
            for piece in response.iter_raw():
                got += piece
        except httpx.TransportError as problem:
            problem.add_note(got.decode())
            raise
        return got


def test_a_clean_close_without_the_last_chunk(client: httpx.Client) -> None:
    with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read") as caught:
        mishap(client, Send(b"ab"), Close(), framing="chunked")
    assert caught.value.__notes__ == ["ab"]


def test_a_close_inside_a_chunk(client: httpx.Client) -> None:
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    with pytest.raises(httpx.RemoteProtocolError) as caught:
        mishap(client, Send(head + b"5\r\nab"), Close(), framing="raw")
    assert caught.value.__notes__ == ["ab"]


def test_a_reset_in_the_body(client: httpx.Client) -> None:
    with pytest.raises(httpx.ReadError):
        mishap(client, Send(b"ab"), Reset(), framing="chunked")


def test_a_length_that_is_not_kept(client: httpx.Client) -> None:
    with pytest.raises(httpx.RemoteProtocolError, match="received 2 bytes, expected 10"):
        mishap(client, Send(b"ab"), framing="length", length=10)


def test_a_body_that_ends_with_the_connection(client: httpx.Client) -> None:
    assert mishap(client, Send(b"ab"), Burst((b"c", b"d")), framing="close") == b"abcd"


def test_half_a_head(client: httpx.Client) -> None:
    with pytest.raises(httpx.RemoteProtocolError, match="disconnected without sending"):
        mishap(client, Send(b"HTTP/1.1 200 OK\r\ncontent-ty"), Close(), framing="raw")


def test_headers_that_never_come() -> None:
    with (
        ReplayServer([Reply(actions=(Hold(),), framing="raw")]) as server,
        httpx.Client(trust_env=False, timeout=httpx.Timeout(10, read=0.01)) as client,
    ):
        with pytest.raises(httpx.ReadTimeout):
            client.get(server.url)
        assert server.wait_closed()
        assert server.connections[0].early


def test_a_pause_is_over_by_itself_and_a_wait_when_the_test_says(client: httpx.Client) -> None:
    go = threading.Event()
    script = [Reply.sse("1", Pause(0.001), "2", Wait(go), "3")]
    with ReplayServer(script) as server, client.stream("GET", server.url) as reply:
        pieces = reply.iter_raw()
        assert [next(pieces), next(pieces)] == [b"data: 1\n\n", b"data: 2\n\n"]
        go.set()
        assert list(pieces) == [b"data: 3\n\n"]


def test_keep_alives_come_when_the_test_says(client: httpx.Client) -> None:
    gate = threading.Semaphore(0)
    with ReplayServer([Reply.sse("1", Repeat(b": ping\n\n", gate))]) as server:
        with client.stream("GET", server.url) as reply:
            pieces = reply.iter_raw()
            assert next(pieces) == b"data: 1\n\n"
            for _ in range(3):
                gate.release()
                assert next(pieces) == b": ping\n\n"
        assert server.wait_closed()


def test_keep_alives_come_by_themselves(client: httpx.Client) -> None:
    with ReplayServer([Reply.sse(Repeat(b": ping\n\n", seconds=0.001))]) as server:
        with client.stream("GET", server.url) as reply:
            pieces = reply.iter_raw()
            assert {next(pieces) for _ in range(5)} == {b": ping\n\n"}
        assert server.wait_closed()
        assert server.connections[0].early


def test_a_silent_server_accepts_and_says_nothing() -> None:
    with ReplayServer(silent=True) as server:
        with (
            httpx.Client(trust_env=False, timeout=httpx.Timeout(10, read=0.01)) as client,
            pytest.raises(httpx.ReadTimeout),
        ):
            client.get(server.url)
        assert server.wait_closed()
        assert server.requests == ()


# TLS


def test_https_with_a_certificate_of_ones_own(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    with (
        ReplayServer([Reply.json(1), Reply.sse("a", Hold())], tls=server_tls) as server,
        httpx.Client(verify=client_tls, trust_env=False) as client,
    ):
        assert server.url.startswith("https://127.0.0.1:")
        assert client.get(server.url).json() == 1
        with client.stream("GET", server.url) as reply:
            assert next(reply.iter_raw()) == b"data: a\n\n"
        assert server.wait_closed()
        assert server.connections[0].early


def test_a_client_that_does_not_trust_the_certificate(server_tls: ssl.SSLContext) -> None:
    with ReplayServer([Reply.json(1)], tls=server_tls) as server, httpx.Client(trust_env=False) as client:
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            client.get(server.url)
        assert server.wait_closed()
        assert server.requests == ()


@pytest.mark.parametrize("ragged", [False, True])
def test_a_tls_session_ends_with_its_close_message_or_without(
    server_tls: ssl.SSLContext, client_tls: ssl.SSLContext, ragged: bool
) -> None:
    actions = (Send(b"ab"), Close(ragged=ragged))
    with ReplayServer([Reply(actions=actions, framing="close")], tls=server_tls) as server:
        port = int(server.url.rpartition(":")[2])
        with (
            socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
            client_tls.wrap_socket(plain, server_hostname="127.0.0.1", suppress_ragged_eofs=False) as sock,
        ):
            sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
            got = b""
            while not got.endswith(b"ab"):
                got += sock.recv(65536)
            if ragged:
                with pytest.raises(ssl.SSLEOFError):
                    sock.recv(1)
            else:
                assert sock.recv(1) == b""


def test_a_reset_under_tls(server_tls: ssl.SSLContext, client_tls: ssl.SSLContext) -> None:
    # The ssl of Python 3.11 makes an end of file of the ECONNRESET that its read gives; that of 3.13 raises it.
    with (
        httpx.Client(verify=client_tls, trust_env=False) as client,
        ReplayServer([Reply.sse("a", Reset())], tls=server_tls) as server,
        pytest.raises((httpx.RemoteProtocolError, httpx.ReadError), match=r"incomplete chunked read|reset by peer"),
    ):
        client.get(server.url)


def test_a_silent_server_does_not_shake_hands(client_tls: ssl.SSLContext, server_tls: ssl.SSLContext) -> None:
    timeout = httpx.Timeout(10, connect=0.02)
    with ReplayServer(silent=True, tls=server_tls) as server:
        with (
            httpx.Client(verify=client_tls, trust_env=False, timeout=timeout) as client,
            pytest.raises(httpx.ConnectTimeout),
        ):
            client.get(server.url)
        assert server.wait_closed()


# The server's own life


UNENDING: dict[str, tuple[Action, ...]] = {
    "hold": (Hold(),),
    "wait": (Wait(threading.Event()),),
    "pause": (Pause(1000),),
    "repeat": (Repeat(b"x", threading.Semaphore(0)),),
    "repeat by time": (Repeat(b"x", seconds=0.001),),
    "a client that does not read": (Repeat(b"x" * 1_000_000, seconds=0),),
}


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("actions", UNENDING.values(), ids=UNENDING)
def test_closing_the_server_ends_whatever_it_is_doing(
    actions: tuple[Action, ...], secure: bool, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    with (
        httpx.Client(verify=client_tls, trust_env=False, timeout=10) as client,
        ReplayServer([Reply(actions=(Send(b"a"), *actions))], tls=server_tls if secure else None) as server,
        client.stream("GET", server.url) as reply,
    ):
        assert reply.status_code == 200
        server.close()
        (connection,) = server.connections
        assert connection.ended.is_set()
        assert not connection.closed.is_set(), "the server ended it, not the client"
        server.close()


def test_idle_connections_and_half_made_requests_end_with_the_server() -> None:
    server = ReplayServer([Reply.json({})]).start()
    port = int(server.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)) as half:
        half.sendall(b"POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nab")
        server.close()
    assert server.requests == ()


def test_a_server_starts_once_and_has_no_address_before() -> None:
    server = ReplayServer()
    with pytest.raises(ConfigError, match="not running"):
        _ = server.url
    assert repr(server) == "ReplayServer(not started)"
    server.close()
    with pytest.raises(ConfigError, match="starts once"):
        server.start()
    with ReplayServer() as running:
        assert repr(running) == f"ReplayServer({running.url})"
        with pytest.raises(ConfigError, match="starts once"):
            running.start()


def test_many_clients_at_once_each_get_their_own_reply() -> None:
    script = [recording(str(number), f"reply {number}") for number in range(24)]
    got = dict[int, str]()

    with ReplayServer(script, order="match", split="bytes") as server:

        def ask(number: int) -> None:
            with httpx.Client(trust_env=False) as client:
                got[number] = client.post(server.url + "/v1/chat", json={"content": str(number)}).text

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert got == {number: f"reply {number}" for number in range(24)}
    assert (server.unused, server.misses) == (0, ())


@given(body=st.binary(max_size=2000), seed=st.integers(0, 1000), split=st.sampled_from(["whole", "bytes", "random"]))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_body_comes_through_any_split(client: httpx.Client, body: bytes, seed: int, split: Split) -> None:
    chunks = ((0, base64.b64encode(body).decode()),) if body else ()
    interaction = Interaction(
        request=RecordedRequest(method="POST", url="http://h/"),
        response=RecordedResponse(status=200, headers={"content-type": "text/event-stream"}, chunks_base64=chunks),
    )
    with ReplayServer([interaction], split=split, seed=seed) as server:
        assert client.post(server.url).content == body


def test_a_responder_that_never_returns_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    def stuck(_: Received) -> Reply:
        go.wait()
        return Reply.json(1)

    monkeypatch.setattr(server_module, "_JOIN", 0.01)
    server = ReplayServer([stuck]).start()
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert server.wait_requests(1)
        with pytest.raises(RuntimeError, match=r"connection 0 has not ended after 0.01 s: a responder does not return"):
            server.close()
        go.set()
        assert server.connections[0].ended.wait(10)


def test_an_error_of_a_responder_is_not_hidden(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[BaseException | None]()
    monkeypatch.setattr(threading, "excepthook", lambda args: seen.append(args.exc_value))

    def broken(request: Received) -> Reply:
        return Reply.json(msgspec.json.decode(request.body))

    with ReplayServer([broken]) as server, pytest.raises(httpx.RemoteProtocolError):
        client.post(server.url, content=b"{")
    assert [type(problem) for problem in seen] == [msgspec.DecodeError]
