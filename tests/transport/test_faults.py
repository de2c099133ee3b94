"""What the exceptions of an HTTP client mean: one table, each class raised by a client, none leaked."""

import socket
import ssl
from itertools import pairwise
from typing import Any

import httpx
import pytest
import respx
import tiny

from llmcore.client import Client
from llmcore.errors import ConfigError, LLMError, ProtocolError, RequestTimeoutError, TransportError
from llmcore.http import Timeout
from llmcore.transport.clock import Clock, Line
from llmcore.transport.faults import FAULTS, translate

URL = "https://api.example.com/v1/chat"
REQUEST = httpx.Request("POST", URL, headers={"authorization": f"Bearer {tiny.KEY}"})
CASES: list[tuple[Exception, type[LLMError], str, str | None]] = [
    (httpx.ConnectTimeout("x"), RequestTimeoutError, "no", "connect"),
    (httpx.PoolTimeout("x"), RequestTimeoutError, "no", "pool"),
    (httpx.WriteTimeout("x"), RequestTimeoutError, "maybe", "write"),
    (httpx.ReadTimeout("x"), RequestTimeoutError, "maybe", "first_event"),
    (httpx.TimeoutException("x"), RequestTimeoutError, "maybe", "first_event"),
    (httpx.ConnectError("x"), TransportError, "no", None),
    (httpx.ProxyError("x"), TransportError, "no", None),
    (httpx.ReadError("x"), TransportError, "maybe", None),
    (httpx.WriteError("x"), TransportError, "maybe", None),
    (httpx.CloseError("x"), TransportError, "maybe", None),
    (httpx.NetworkError("x"), TransportError, "maybe", None),
    (httpx.RemoteProtocolError("x"), TransportError, "maybe", None),
    (httpx.ProtocolError("x"), TransportError, "maybe", None),
    (httpx.TransportError("x"), TransportError, "maybe", None),
    (httpx.LocalProtocolError("x"), ConfigError, "no", None),
    (httpx.UnsupportedProtocol("x"), ConfigError, "no", None),
    (httpx.InvalidURL("x"), ConfigError, "no", None),
    (httpx.DecodingError("x"), ProtocolError, "yes", None),
    (httpx.TooManyRedirects("x"), ProtocolError, "yes", None),
    (httpx.StreamClosed(), TransportError, "maybe", None),
    (httpx.ReadError("x", request=REQUEST), TransportError, "maybe", None),
    (ConnectionResetError(104, "reset"), TransportError, "maybe", None),
    (BrokenPipeError(32, "pipe"), TransportError, "maybe", None),
    (ssl.SSLError(1, "bad record"), TransportError, "no", None),
]


@pytest.mark.parametrize(("problem", "kind", "sent", "which"), CASES, ids=lambda value: type(value).__name__)
@respx.mock
def test_each_exception_of_the_client(
    problem: Exception, kind: type[LLMError], sent: str, which: str | None, respx_mock: respx.MockRouter
) -> None:
    respx_mock.post(URL).mock(side_effect=problem)
    with httpx.Client() as http, Client(http=http) as client, pytest.raises(LLMError) as caught:
        client.generate(tiny.model("https://api.example.com/v1"), "Hi")
    error = caught.value
    assert type(error) is kind
    assert error.request_sent == sent
    assert getattr(error, "which", None) == which
    assert (error.provider, error.model, len(error.attempts)) == ("tiny", "t1", 1)
    assert error.__cause__ is None or isinstance(error.__cause__, OSError)
    assert not isinstance(error.__cause__, httpx.HTTPError)
    assert error.__context__ is None or isinstance(error.__context__, LLMError)


def test_every_exception_of_httpx_is_in_the_table() -> None:
    """A class that httpx adds is found here, by itself or by its base."""
    found = {value for value in vars(httpx).values() if isinstance(value, type) and issubclass(value, Exception)}
    not_of_a_call = {httpx.HTTPStatusError, httpx.CookieConflict}
    for cls in found - not_of_a_call:
        assert any(base.__name__ in FAULTS for base in cls.__mro__), cls


def line(**seconds: Any) -> Line:
    return Line(Clock(Timeout(**seconds)))


def chained(*problems: BaseException) -> BaseException:
    for outer, inner in pairwise(problems):
        outer.__cause__ = inner
    return problems[0]


def test_the_cause_comes_first() -> None:
    """httpx-aiohttp takes each of aiohttp's connection errors for a ConnectTimeout."""

    class ServerDisconnectedError(Exception):
        pass

    error = translate(chained(httpx.ConnectTimeout("x"), ServerDisconnectedError("y")), line=line(), opened=False)
    assert type(error) is TransportError
    assert error.request_sent == "maybe"


def test_only_an_error_of_the_system_is_kept_as_cause_and_without_its_frames() -> None:
    try:
        raise ConnectionRefusedError(111, "refused")
    except ConnectionRefusedError as problem:
        refused = problem
    error = translate(chained(httpx.ConnectError("x", request=REQUEST), refused), line=line(), opened=False)
    assert error is not None
    assert isinstance(error.__cause__, ConnectionRefusedError)
    assert error.__cause__ is not refused
    assert (error.__cause__.__traceback__, error.__cause__.__context__) == (None, None)
    assert "refused" in error.message


def test_an_os_error_of_a_clients_own_is_not_kept() -> None:
    class Leaky(OSError):
        def __str__(self) -> str:
            return f"with {tiny.KEY}"

    error = translate(chained(httpx.ConnectError("x"), Leaky()), line=line(), opened=False)
    assert error is not None
    assert error.__cause__ is None
    assert tiny.KEY not in error.message


def test_a_chain_that_bites_its_tail() -> None:
    first, second = httpx.ReadError("x"), socket.gaierror(-2, "unknown")
    first.__cause__, second.__cause__ = second, first
    error = translate(first, line=line(), opened=True)
    assert type(error) is TransportError
    assert error.request_sent == "yes"


def test_what_is_no_clients_is_nobodys() -> None:
    assert translate(LookupError("x"), line=line(), opened=False) is None
    assert translate(ConfigError("ours already"), line=line(), opened=False) is None


def test_a_certificate_says_what_to_do() -> None:
    untrusted = ssl.SSLCertVerificationError(1, "self-signed certificate in certificate chain")
    error = translate(chained(httpx.ConnectError("x"), untrusted), line=line(), opened=False)
    assert type(error) is TransportError
    assert (error.retryable, error.request_sent) == (False, "no")
    assert "SSL_CERT_FILE" in error.message
    assert "http=" in error.message


@pytest.mark.parametrize(
    ("problem", "seconds", "which"),
    [
        (httpx.ConnectTimeout("x"), {"first_event": 1.0}, "connect"),
        (httpx.ConnectTimeout("x"), {"total": 1.0}, "total"),
        (httpx.PoolTimeout("x"), {"first_event": 1.0}, "pool"),
        (httpx.ReadTimeout("x"), {"first_event": 1.0}, "first_event"),
        (httpx.ReadTimeout("x"), {"total": 1.0, "first_event": 2.0}, "total"),
        (httpx.ReadError("x"), {"total": 1.0}, "total"),
        (httpx.WriteTimeout("x"), {"first_event": 1.0}, "write"),
    ],
)
def test_which_clock_a_timeout_was(problem: Exception, seconds: dict[str, float], which: str) -> None:
    now = [0.0]
    clock = Clock(Timeout(**{"connect": 9.0, "first_event": None, "idle": None, **seconds}), lambda: now[0])
    clock.sent()
    now[0] = 1.5
    error = translate(problem, line=Line(clock), opened=False)
    assert isinstance(error, RequestTimeoutError)
    assert error.which == which
