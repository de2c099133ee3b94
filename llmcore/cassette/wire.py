"""The server's side of a socket, and the requests that come over it.

Two exceptions say why nothing more can be read: `Gone` when the other side has ended the connection, `BadRequest` when
what it sends is no HTTP/1.1 request.
"""

import socket
import ssl
import struct
import threading
import time
from contextlib import suppress
from typing import Final

from llmcore.cassette.script import Close, Received, Reset

MAX_HEAD: Final = 256 * 1024
"""Bytes of a request's head; a longer one is refused with 400."""
MAX_BODY: Final = 1 << 30
"""Bytes of a request's body; a longer one is refused with 400."""
_READ: Final = 64 * 1024


class Gone(Exception):
    """The other side has ended the connection."""


class BadRequest(Exception):
    """What came is no request that this server reads; its text says why."""


class Wire:
    """The socket, blocking, used by its connection's thread alone but for `stop`. Any failure of it is `Gone`."""

    def __init__(self, sock: socket.socket) -> None:
        self.stopped = False
        self.received = bytearray()
        self._pending = bytearray()
        self._sock = sock
        self._lock = threading.Lock()  # a socket is never shut down while its thread closes it
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def secure(self, tls: ssl.SSLContext | None) -> None:
        """Puts TLS over the socket, as its server side, where there is a context."""
        if tls is None:
            return
        try:
            with self._lock:
                wrapped = tls.wrap_socket(self._sock, server_side=True, do_handshake_on_connect=False)
                self._sock = wrapped
            wrapped.do_handshake()
        except OSError:  # ssl.SSLError is one: a client that does not trust the certificate, or has left
            raise Gone from None

    def read(self, seconds: float | None = None) -> None:
        """Waits for bytes, at most that many seconds, and adds them to `received`."""
        try:
            self._sock.settimeout(seconds)
            data = self._sock.recv(_READ)
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
            return
        except OSError:
            raise Gone from None
        if not data:
            raise Gone
        self.received += data

    def silence(self, seconds: float | None) -> None:
        """Writes nothing, for that long or until the other side goes."""
        if seconds is None:
            while True:
                self.read()
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.read(left)

    def put(self, data: bytes) -> None:
        """Writes `data` with the next flush."""
        self._pending += data

    def flush(self) -> None:
        """Writes what has been put."""
        if not self._pending:
            return
        data, self._pending = self._pending, bytearray()
        try:
            self._sock.settimeout(None)
            self._sock.sendall(data)
        except OSError:
            raise Gone from None

    def stop(self) -> None:
        """Ends all that the connection's thread does with the socket, from another thread."""
        self.stopped = True
        with self._lock, suppress(OSError):
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)  # the plain one: SSLSocket's drops its session

    def close(self, how: Close | Reset) -> None:
        """Closes the socket, gently or not."""
        if isinstance(how, Close) and not how.ragged and isinstance(self._sock, ssl.SSLSocket):
            # Non-blocking: our close message goes out, and nobody waits for theirs.
            with suppress(OSError, ValueError):
                self._sock.settimeout(0)
                self._sock.unwrap()
        with self._lock, suppress(OSError):
            if isinstance(how, Reset):
                self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._sock.close()


def read_request(wire: Wire, connection: int) -> tuple[Received, bool]:
    """The next request, and whether it is the last of its connection."""
    while (end := wire.received.find(b"\r\n\r\n")) < 0:
        if len(wire.received) > MAX_HEAD:
            raise BadRequest(f"the head of the request is longer than {MAX_HEAD} bytes")
        wire.read()
    lines = bytes(wire.received[:end]).decode("latin-1").split("\r\n")
    del wire.received[: end + 4]
    try:
        method, target, version = lines[0].split(" ")
        headers = tuple(_header(line) for line in lines[1:])
    except ValueError:
        raise BadRequest("the request line or a header is not HTTP/1.1") from None
    fields = dict(headers)
    if fields.get("expect", "").lower() == "100-continue":
        wire.put(b"HTTP/1.1 100 Continue\r\n\r\n")
        wire.flush()
    body = _read_body(wire, fields)
    last = fields.get("connection", "").lower() == "close" or version != "HTTP/1.1"
    return Received(method=method, path=target, headers=headers, body=body, connection=connection), last


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not name or name != name.strip():
        raise ValueError(line)
    return name.lower(), value.strip()


def _read_body(wire: Wire, fields: dict[str, str]) -> bytes:
    if fields.get("transfer-encoding", "").lower() == "chunked":
        return _read_chunks(wire)
    length = fields.get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or int(length) > MAX_BODY:
        raise BadRequest(f"the content-length is a number of at most {MAX_BODY}")
    return _take(wire, int(length))


def _read_chunks(wire: Wire) -> bytes:
    body = bytearray()
    while True:
        size = _line(wire).partition(b";")[0].strip()
        try:
            length = int(size, 16)
        except ValueError:
            raise BadRequest("the size of a chunk is not a hexadecimal number") from None
        if not 0 <= length <= MAX_BODY - len(body):
            raise BadRequest(f"the body is longer than {MAX_BODY} bytes")
        if length == 0:
            break
        body += _take(wire, length)
        if _line(wire):
            raise BadRequest("a chunk is longer than its size")
    while _line(wire):  # trailers
        continue
    return bytes(body)


def _line(wire: Wire) -> bytes:
    while (end := wire.received.find(b"\r\n")) < 0:
        if len(wire.received) > MAX_HEAD:
            raise BadRequest("a line of the chunked body does not end")
        wire.read()
    line = bytes(wire.received[:end])
    del wire.received[: end + 2]
    return line


def _take(wire: Wire, length: int) -> bytes:
    while len(wire.received) < length:
        wire.read()
    data = bytes(wire.received[:length])
    del wire.received[:length]
    return data
