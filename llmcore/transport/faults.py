"""What the exceptions of an HTTP client mean, in one table, by the names of their classes: httpx, httpx2 and aiohttp
are told apart by nothing else, and none of them is imported for it."""

import ssl
from typing import Final, NamedTuple

from llmcore.errors import ConfigError, LLMError, ProtocolError, RequestTimeoutError, TransportError
from llmcore.schema.response import RequestSent
from llmcore.transport.clock import Line


class Fault(NamedTuple):
    """What an exception of the HTTP client means: our class, the clock it stands for, whether the provider may have
    seen the request, and the words for it. `SILENCE` stands for whichever of our clocks bounded the read."""

    error: type[LLMError]
    words: str
    sent: RequestSent = "maybe"
    which: str | None = None


SILENCE: Final = "silence"

FAULTS: Final[dict[str, Fault]] = {
    # httpx and httpx2
    "ConnectTimeout": Fault(RequestTimeoutError, "connecting took too long", "no", "connect"),
    "PoolTimeout": Fault(RequestTimeoutError, "no connection of the pool became free", "no", "pool"),
    "WriteTimeout": Fault(RequestTimeoutError, "sending the request took too long", "maybe", "write"),
    "ReadTimeout": Fault(RequestTimeoutError, "the provider stayed silent", "maybe", SILENCE),
    "ConnectError": Fault(TransportError, "the connection could not be made", "no"),
    "ProxyError": Fault(TransportError, "the proxy refused", "no"),
    "ReadError": Fault(TransportError, "the connection broke while reading"),
    "WriteError": Fault(TransportError, "the connection broke while sending"),
    "CloseError": Fault(TransportError, "the connection broke while closing"),
    "RemoteProtocolError": Fault(TransportError, "the provider broke HTTP"),
    "LocalProtocolError": Fault(ConfigError, "the request is not valid HTTP: a header or the URL", "no"),
    "UnsupportedProtocol": Fault(ConfigError, "the URL is neither http:// nor https://", "no"),
    "InvalidURL": Fault(ConfigError, "the URL is not valid", "no"),
    "DecodingError": Fault(ProtocolError, "the body does not decode as its content-encoding says", "yes"),
    "TooManyRedirects": Fault(ProtocolError, "the provider redirects for ever", "yes"),
    "TimeoutException": Fault(RequestTimeoutError, "the HTTP client's own time limit passed", "maybe", SILENCE),
    "TransportError": Fault(TransportError, "the transport failed"),
    "HTTPError": Fault(TransportError, "the HTTP client failed"),
    # aiohttp, under the httpx-aiohttp transport, which takes every one of its connection errors for a ConnectTimeout
    "ConnectionTimeoutError": Fault(RequestTimeoutError, "connecting took too long", "no", "connect"),
    "SocketTimeoutError": Fault(RequestTimeoutError, "the provider stayed silent", "maybe", SILENCE),
    "ClientConnectorError": Fault(TransportError, "the connection could not be made", "no"),
    "ServerDisconnectedError": Fault(TransportError, "the provider closed the connection"),
    "ClientOSError": Fault(TransportError, "the connection broke"),
    "ClientPayloadError": Fault(TransportError, "the body ended early"),
    "ClientResponseError": Fault(TransportError, "the provider broke HTTP"),
    "ClientConnectionError": Fault(TransportError, "the connection failed"),
    # what a client lets through of the layers below it
    "SSLError": Fault(TransportError, "TLS failed", "no"),
    "ConnectionError": Fault(TransportError, "the connection broke"),
    "BrokenResourceError": Fault(TransportError, "the connection broke"),
    "ClosedResourceError": Fault(TransportError, "the connection was closed"),
    "StreamError": Fault(TransportError, "the stream was closed"),
    "UnicodeEncodeError": Fault(ConfigError, "a header holds a character that HTTP cannot carry", "no"),
}


def translate(problem: BaseException, *, line: Line, opened: bool) -> LLMError | None:
    """The error that an exception of the HTTP client stands for; `None` where it is none of a client's.

    The call's own reasons (cancelled, a clock that ran out) come first. Only an `OSError` from the bottom of the chain
    is kept as the cause: what lies above it may hold the request, and so the key.
    """
    fault = _fault(problem)
    if fault is None:
        return None
    sent: RequestSent = "yes" if opened else fault.sent
    clock = line.clock
    if line.cancelled or (clock.expired() and (clock.which == "total" or fault.which in (None, SILENCE))):
        return line.interruption(sent)
    if fault.which == SILENCE:  # every limit on a read is made of our clocks
        return clock.error(sent)
    root = _root(problem)
    error = _timeout(fault, fault.which, line, sent) if fault.which is not None else _failure(fault, root, sent)
    error.__cause__ = root
    return error


def closed() -> ConfigError:
    """The error of a client that is used after it was closed."""
    return ConfigError("this client is closed; make a new one, or make the call inside its `with` block")


def _timeout(fault: Fault, which: str, line: Line, sent: RequestSent) -> RequestTimeoutError:
    timeout, elapsed = line.clock.timeout, line.clock.elapsed
    budget = timeout.first_event if which == "write" else timeout.connect
    may = f"; it may take {budget:.3g} s" if budget is not None else ""
    return RequestTimeoutError(f"{fault.words}{may}", which=which, elapsed=elapsed, budget=budget, request_sent=sent)


def _failure(fault: Fault, root: OSError | None, sent: RequestSent) -> LLMError:
    if isinstance(root, ssl.SSLCertVerificationError):
        return TransportError(
            f"the server's certificate is not trusted: {root}; set SSL_CERT_FILE to a file with the certificate of the "
            "authority that signed it, or pass an HTTP client of your own as http=",
            request_sent="no",
            retryable=False,
        )
    return fault.error(f"{fault.words}: {root}" if root is not None else fault.words, request_sent=sent)


def _fault(problem: BaseException) -> Fault | None:
    # The cause first: httpx-aiohttp maps too widely, and what it maps from is exact.
    for candidate in (problem.__cause__, problem):
        for cls in type(candidate).__mro__ if candidate is not None else ():
            fault = FAULTS.get(cls.__name__)
            if fault is not None and cls.__module__.partition(".")[0] != "llmcore":
                return fault
    return None


def _root(problem: BaseException | None) -> OSError | None:
    """The operating system's or TLS's own error at the bottom of the chain, with no traceback to hold frames."""
    found: OSError | None = None
    seen = set[int]()
    while problem is not None and id(problem) not in seen:
        seen.add(id(problem))
        # Only the standard library's: what an HTTP client derives from OSError may hold the request.
        if isinstance(problem, OSError) and str(problem) and type(problem).__module__ in ("builtins", "socket", "ssl"):
            found = problem
        problem = problem.__cause__ or problem.__context__
    return None if found is None else type(found)(*found.args)
