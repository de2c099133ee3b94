"""One connection of the replay server: requests read from the socket, scripted actions written to it.

A connection ends from inside by `Gone` when the client (or the closing server) has ended it, by `_Over` when the script
does. Everything else that comes out of here is a defect and reaches `threading.excepthook`.
"""

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

from llmcore.cassette.script import (
    Action,
    Burst,
    Close,
    Hold,
    Pause,
    Received,
    Repeat,
    Reply,
    Reset,
    Send,
    Wait,
)
from llmcore.cassette.wire import BadRequest, Gone, Wire, read_request
from llmcore.protocol import Headers

_POLL: Final = 0.005
"""Seconds between two looks whether the client is still there, while something else is waited for."""
_LINGER: Final = 0.05
"""Seconds that a client which was told off may go on sending: closing on unread bytes would reset the connection, and
the reply might never be seen."""
_NO_BODY: Final = (204, 304)


class _Over(Exception):
    """The script ends the connection, by the action `how`."""

    def __init__(self, how: Close | Reset) -> None:
        super().__init__()
        self.how = how


class Connection:
    """A connection as the server saw it. `id` counts from 0; `closed` is set once the client has closed it, `early`
    says that it did so before a reply was complete; `ended` is set when nothing of it is left, whoever ended it."""

    def __init__(
        self,
        id: int,
        sock: socket.socket,
        tls: ssl.SSLContext | None,
        answer: Callable[[Received], Reply] | None,
    ) -> None:
        self.id = id
        self.closed = threading.Event()
        self.ended = threading.Event()
        self.early = False
        self._tls = tls
        self._answer = answer
        self._wire = Wire(sock)
        self._thread = threading.Thread(target=self._run, name=f"replay-{id}", daemon=True)

    def start(self) -> None:
        """Begins to serve, in a thread of its own. For the server."""
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Breaks the connection off and waits for its thread. Raises `RuntimeError` when that takes longer than
        `timeout` seconds. For the server."""
        self._wire.stop()
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise RuntimeError(
                f"replay connection {self.id} has not ended after {timeout} s: a responder does not return"
            )

    def __repr__(self) -> str:
        state = "ended" if self.ended.is_set() else "open"
        return f"Connection({self.id}, {state}{', early' if self.early else ''})"

    def _run(self) -> None:
        how: Close | Reset = Close()
        try:
            self._serve()
        except _Over as over:
            how = over.how
        except Gone:
            if not self._wire.stopped:
                self.closed.set()
        finally:
            self._wire.close(how)
            self.ended.set()

    def _serve(self) -> None:
        if self._answer is None:
            self._wire.silence(None)
            return
        self._wire.secure(self._tls)
        while True:
            try:
                request, last = read_request(self._wire, self.id)
            except BadRequest as problem:
                reply = Reply.json({"error": {"message": str(problem), "type": "bad_request"}}, status=400)
                with suppress(_Over):
                    _write_reply(self._wire, reply, last=True)
                self._wire.silence(_LINGER)
                return
            reply = self._answer(request)
            try:
                _write_reply(self._wire, reply, last=last)
            except Gone:
                self.early = not self._wire.stopped
                raise


class _Body:
    """The body of one reply, while it is written."""

    def __init__(self, wire: Wire, chunked: bool) -> None:
        self.wire = wire
        self.written = 0
        self._chunked = chunked

    def write(self, *pieces: bytes) -> None:
        """Puts the pieces, each as an HTTP chunk where the body is chunked, to go out before anything else is done."""
        kept = [piece for piece in pieces if piece]
        self.written += sum(map(len, kept))
        self.wire.put(b"".join([b"%x\r\n%b\r\n" % (len(piece), piece) for piece in kept] if self._chunked else kept))


def _write_reply(wire: Wire, reply: Reply, *, last: bool) -> None:
    """Writes the reply, action by action. Raises `_Over` where the connection cannot be used after it."""
    chunked = reply.chunked()
    promised = None if chunked or reply.framing in ("close", "raw") else _promised(reply)
    last = last or not reply.keep_alive or reply.framing in ("close", "raw")
    if reply.framing != "raw":
        wire.put(_head(reply, chunked, promised, last))
    body = _Body(wire, chunked)
    for action in reply.actions:
        _ACTS[type(action)](body, action)
    if chunked and reply.status not in _NO_BODY:
        wire.put(b"0\r\n\r\n")
    wire.flush()
    if last or (promised is not None and promised != body.written):
        raise _Over(Close())


def _promised(reply: Reply) -> int:
    if reply.length is not None:
        return reply.length
    return sum(action.size for action in reply.actions if isinstance(action, Send | Burst))


def _head(reply: Reply, chunked: bool, length: int | None, last: bool) -> bytes:
    try:
        phrase = HTTPStatus(reply.status).phrase
    except ValueError:
        phrase = "Unassigned"
    framing: Headers = ()
    if reply.status not in _NO_BODY:
        framing = (("transfer-encoding", "chunked"),) if chunked else ()
        framing = (("content-length", str(length)),) if length is not None else framing
    ending = (("connection", "close"),) if last else ()
    lines = [f"HTTP/1.1 {reply.status} {phrase}"]
    lines += [f"{name}: {value}" for name, value in (*reply.headers, *framing, *ending)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _send(body: _Body, action: Send) -> None:
    if body.written:
        body.wire.flush()  # the one before goes out by itself; the first goes with the head, the last with the end
    body.write(action.data)


def _burst(body: _Body, action: Burst) -> None:
    if body.written:
        body.wire.flush()
    body.write(*action.pieces)


def _pause(body: _Body, action: Pause) -> None:
    body.wire.flush()
    body.wire.silence(action.seconds)


def _wait(body: _Body, action: Wait) -> None:
    body.wire.flush()
    while not action.event.wait(_POLL):
        body.wire.read(0)


def _hold(body: _Body, _: Hold) -> None:
    body.wire.flush()
    body.wire.silence(None)


def _repeat(body: _Body, action: Repeat) -> None:
    body.wire.flush()
    while True:
        if action.gate is None:
            body.wire.silence(action.seconds)
        elif not action.gate.acquire(timeout=_POLL):
            body.wire.read(0)
            continue
        body.write(action.data)
        body.wire.flush()


def _end(body: _Body, action: Close | Reset) -> None:
    body.wire.flush()
    raise _Over(action)


_ACTS: Final[dict[type[Action], Callable[[_Body, Any], None]]] = {
    Send: _send,
    Burst: _burst,
    Pause: _pause,
    Wait: _wait,
    Hold: _hold,
    Repeat: _repeat,
    Close: _end,
    Reset: _end,
}
