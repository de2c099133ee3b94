"""No key comes out: not in a text, a traceback, a chain of causes or a log record, whatever goes wrong.

On a real socket: what checks header values is the HTTP client's lower half, which a mock does not have.
"""

import logging
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
import tiny
from loopback import Serve, Way, call

from llmcore.auth import Auth, custom, header, none, query
from llmcore.cassette import Close, Hold, Received, Reply, Reset, Send
from llmcore.client import Client
from llmcore.errors import AuthError, ConfigError, LLMError
from llmcore.http import HttpRequest
from llmcore.schema import HttpExtras

CANARY = tiny.KEY


def chain(error: BaseException) -> Iterator[BaseException]:
    """The error and all that hangs on it."""
    waiting, seen = [error], set[int]()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += [other for other in (each.__cause__, each.__context__) if other is not None]


def texts(error: BaseException) -> str:
    """Everything of the error that anybody could print."""
    parts = ["".join(traceback.format_exception(error))]
    for each in chain(error):
        parts += [str(each), repr(each), repr(each.args), repr(vars(each))]
    return "\n".join(parts)


def logged(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(f"{record.getMessage()} {record.args!r} {record.__dict__!r}" for record in caplog.records)


@pytest.fixture(autouse=True)
def everything_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("httpx", "httpcore", "llmcore", "asyncio"):
        caplog.set_level(logging.DEBUG, logger=name)


def test_the_log_is_really_on(way: Way, serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    """Else the other tests here would prove nothing."""
    server = serve(tiny.whole())
    call(way, tiny.model(server.url + "/place"), whole=True)
    assert "/place/chat" in logged(caplog)
    assert {"httpx", "httpcore.http11"} <= {record.name for record in caplog.records}


@pytest.mark.parametrize("key", ["", " ", "\n"])
def test_an_empty_key(way: Way, serve: Serve, key: str) -> None:
    server = serve(tiny.whole())
    error = call(way, tiny.model(server.url, key=key), whole=True).failure
    assert isinstance(error, AuthError)
    assert (error.request_sent, error.retryable) == ("no", False)
    assert "api_key" in error.message
    assert server.requests == ()


@pytest.mark.parametrize("key", [f"{CANARY}é", f"{CANARY}\u200b{CANARY}", f"{CANARY}\n{CANARY}", f"{CANARY}\x00x"])
@pytest.mark.parametrize("auth", [None, header("x-api-key"), query("key")], ids=["bearer", "header", "query"])
def test_a_key_that_no_header_takes(
    way: Way, serve: Serve, caplog: pytest.LogCaptureFixture, key: str, auth: Auth | None
) -> None:
    server = serve(tiny.whole())
    error = call(way, tiny.model(server.url, key=key, auth=auth), whole=True).failure
    assert isinstance(error, AuthError)
    assert error.request_sent == "no"
    assert CANARY not in texts(error)
    assert CANARY not in logged(caplog)
    assert server.requests == ()


def test_white_space_round_a_key_is_left_out(way: Way, serve: Serve) -> None:
    server = serve(tiny.whole())
    call(way, tiny.model(server.url, key=f" {CANARY}\n"), whole=True)
    assert server.requests[0].header("authorization") == f"Bearer {CANARY}"


def test_no_key_names_the_variable(way: Way, serve: Serve) -> None:
    server = serve(tiny.whole())
    error = call(way, tiny.model(server.url, key=None), whole=True).failure
    assert isinstance(error, AuthError)
    assert "TINY_API_KEY" in error.message


def test_a_key_from_the_environment(way: Way, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_API_KEY", CANARY)
    server = serve(tiny.whole())
    call(way, tiny.model(server.url, key=None), whole=True)
    assert server.requests[0].header("authorization") == f"Bearer {CANARY}"


def test_no_key_where_none_is_needed(way: Way, serve: Serve) -> None:
    server = serve(tiny.whole())
    call(way, tiny.model(server.url, key=None, auth=none()), whole=True)
    assert server.requests[0].header("authorization") is None


def test_a_key_that_a_function_gives(way: Way, serve: Serve) -> None:
    async def later() -> str:
        return CANARY

    server = serve(tiny.whole())
    error = call(way, tiny.model(server.url, key=later), whole=True).error
    if way == "sync":
        assert isinstance(error, ConfigError)
        assert "AsyncClient" in error.message
        error = call(way, tiny.model(server.url, key=lambda: CANARY), whole=True).error
    assert error is None
    assert server.requests[0].header("authorization") == f"Bearer {CANARY}"


def _signed(request: HttpRequest) -> HttpRequest:
    return request.with_header("x-signature", f"Signature {CANARY}")


def _signed_in_the_query(request: HttpRequest) -> HttpRequest:
    return HttpRequest(method=request.method, url=f"{request.url}?sig={CANARY}", headers=request.headers, body=b"{}")


AUTHS = {
    "bearer": None,
    "header": header("x-api-key"),
    "query": query("key"),
    "function": custom(_signed),
    "function, query": custom(_signed_in_the_query),
}


def echo(request: Received) -> Reply:
    """A server that shows what it got."""
    sent = f"{request.path} {request.headers}"
    return Reply.text(f"bad key in {sent}", status=401)


def echo_late(request: Received) -> Reply:
    """The same, with the key where an excerpt would cut it in two."""
    return Reply.text("x" * 180 + CANARY, status=401)


def echo_in_stream(request: Received) -> Reply:
    return tiny.stream(f'{{"error":"bad key {CANARY}"}}')


def echo_in_whole(request: Received) -> Reply:
    return Reply.text(f"<html>{CANARY}</html>")


MISHAPS: dict[str, Any] = {
    "shown": echo,
    "shown late": echo_late,
    "in a stream": echo_in_stream,
    "in a page": echo_in_whole,
    "reset": Reply(framing="raw", actions=(Reset(),)),
    "cut off": tiny.stream(*tiny.words("a"), Reset()),
    "no HTTP": Reply(framing="raw", actions=(Send(b"oops\r\n\r\n"), Close())),
    "silent": Reply(framing="raw", actions=(Hold(),)),
    "silent in mid-stream": tiny.stream(*tiny.words("a"), Hold()),
    "redirect": Reply(status=302, headers=(("location", "http://127.0.0.1:9/"),)),
    "bad redirect": Reply(status=302, headers=(("location", "http://[oops/"),)),
    "fine": tiny.hello(),
}


@pytest.mark.parametrize("auth", list(AUTHS.values()), ids=list(AUTHS))
@pytest.mark.parametrize("mishap", list(MISHAPS.values()), ids=list(MISHAPS))
def test_no_key_comes_out_of_a_mishap(
    way: Way, serve: Serve, caplog: pytest.LogCaptureFixture, auth: Auth | None, mishap: Any
) -> None:
    server = serve(mishap)
    model = tiny.model(server.url, auth=auth)
    outcome = call(way, model, timeout=0.05)
    sent = server.requests[0]
    assert CANARY in f"{sent.path} {sent.headers}"  # it did go out
    if outcome.error is not None:
        assert CANARY not in texts(outcome.error)
        assert CANARY[:12] not in texts(outcome.error)
    assert CANARY not in repr(outcome.response)
    assert CANARY not in logged(caplog)
    assert CANARY not in repr(model)
    assert (outcome.error is None) is (mishap is MISHAPS["fine"])


def test_a_key_in_extra_headers_and_query(way: Way, serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    """The caller's own: they are not known to be keys, but no URL is logged with its query, and no header at all."""
    server = serve(tiny.whole())
    with Client() as client:
        client.generate(
            tiny.model(server.url), "Hi", http=HttpExtras(headers={"x-more": CANARY}, query={"more": CANARY})
        )
    assert server.requests[0].path == f"/chat?more={CANARY}"
    assert CANARY not in logged(caplog)
    assert "more=…" in logged(caplog)


def test_the_logs_of_others_are_left_alone(caplog: pytest.LogCaptureFixture, serve: Serve) -> None:
    import httpx

    server = serve(tiny.whole(), tiny.whole())
    with Client() as client:
        client.generate(tiny.model(server.url), "Hi")
    with httpx.Client(trust_env=False) as http:
        http.get(server.url + "/?page=7")
    assert "page=7" in logged(caplog)


@pytest.mark.parametrize(
    "name_and_value", [("x-signature", f"{CANARY}\n{CANARY}"), ("x-signature", f"{CANARY}é"), ("x y", CANARY)]
)
def test_a_function_that_makes_a_header_no_header(
    way: Way, serve: Serve, caplog: pytest.LogCaptureFixture, name_and_value: tuple[str, str]
) -> None:
    server = serve(tiny.whole())
    auth = custom(lambda request: request.with_header(*name_and_value))
    error = call(way, tiny.model(server.url, auth=auth), whole=True).failure
    assert isinstance(error, ConfigError)
    assert error.request_sent == "no"
    assert CANARY not in texts(error)
    assert CANARY not in logged(caplog)


def test_nobody_listens(way: Way, caplog: pytest.LogCaptureFixture) -> None:
    for auth in AUTHS.values():
        error = call(way, tiny.model("http://127.0.0.1:1", auth=auth), whole=True).failure
        assert CANARY not in texts(error)
    assert CANARY not in logged(caplog)


def test_prepared_and_curl_show_the_variable() -> None:
    with Client() as client:
        for auth in (None, header("x-api-key", "TINY_API_KEY"), query("key", "TINY_API_KEY")):
            prepared = client.prepare(tiny.model("http://127.0.0.1:9/v1", auth=auth), "Hi")
            for text in (repr(prepared), prepared.to_curl(), prepared.url):
                assert CANARY not in text
            assert "$TINY_API_KEY" in prepared.to_curl()
        signed = client.prepare(tiny.model("http://127.0.0.1:9/v1", auth=custom(_signed)), "Hi")
        assert CANARY not in repr(signed)


def test_errors_pickle_without_the_key(way: Way, serve: Serve) -> None:
    import pickle

    server = serve(echo)
    error = call(way, tiny.model(server.url), whole=True).failure
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert isinstance(copy, LLMError)
    assert (copy.message, copy.status, copy.attempts) == (error.message, error.status, error.attempts)
    assert CANARY.encode() not in pickle.dumps(error)
