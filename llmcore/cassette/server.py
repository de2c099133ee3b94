"""A loopback HTTP/1.1 server that answers from a script: recordings, or replies written for a test.

    with ReplayServer(cassette.interactions) as server:
        client.generate(llmcore.model("openai/chat:gpt-5-mini", api_key="any", base_url=server.url + "/v1"), "Hello")
        server.requests[0].json()

One thread accepts, one serves each connection, and none outlives the server. The server sees what a client does: how
many connections it opened, what it sent on each, when it closed one, and whether it left in the middle of a reply.
Standard library only, loopback only: it is no server for a network.
"""

import socket
import ssl
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, Literal, Self

from llmcore.cassette.connection import Connection
from llmcore.cassette.format import Interaction, RecordedRequest
from llmcore.cassette.match import miss_message, same_request
from llmcore.cassette.script import Received, Reply, Responder, Split, Step, replay
from llmcore.errors import ConfigError

Order = Literal["strict", "match"]

MISS_STATUS: Final = 599
"""The status of the answer to a request that the script has no reply for. Its JSON body says why."""

_RETRY: Final = 0.01
"""Seconds until the server accepts again after it could not."""
_JOIN: Final = 10.0
"""Seconds that a thread of the server may take to end."""


class ReplayServer:
    """The server; entering it starts it, leaving it ends every connection and thread.

    `script` holds one step for each request. In `order="strict"` the requests take the steps one after another,
    whatever they ask; in `order="match"` a request takes the first unused interaction with its method, path, query and
    canonical body. A request that finds nothing is answered with status 599 and a body that says why, and stands in
    `misses`. `repeat` keeps steps in the script after use (`strict` starts again at the first).

    `split`, `seed` and `pace` say how recorded bodies are cut and timed (see `script.replay`). `tls` makes it an https
    server. `silent` accepts connections and takes what comes without a word: a server that hangs.
    """

    def __init__(
        self,
        script: Iterable[Step] = (),
        *,
        order: Order = "strict",
        split: Split = "recorded",
        seed: int = 0,
        pace: float = 0.0,
        repeat: bool = False,
        tls: ssl.SSLContext | None = None,
        silent: bool = False,
        host: str = "127.0.0.1",
    ) -> None:
        self._tls = tls
        self._silent = silent
        self._host = host
        self._changed = threading.Condition()
        self._closing = False
        self._listener: socket.socket | None = None
        self._acceptor: threading.Thread | None = None
        self._port = 0
        self._connections: list[Connection] = []
        self.load(script, order=order, split=split, seed=seed, pace=pace, repeat=repeat)

    def load(
        self,
        script: Iterable[Step],
        *,
        order: Order = "strict",
        split: Split = "recorded",
        seed: int = 0,
        pace: float = 0.0,
        repeat: bool = False,
    ) -> None:
        """Puts another script in place, also while the server runs, and forgets the requests and misses so far.
        Raises `ConfigError` for a script that cannot be served so."""
        steps = list(script)
        if order == "match" and not all(isinstance(step, Interaction) for step in steps):
            raise ConfigError("order='match' compares requests with recorded ones: every step is an Interaction")
        ready = [
            replay(step, split=split, seed=seed, pace=pace) if isinstance(step, Interaction) else step for step in steps
        ]
        with self._changed:
            self._script, self._order, self._repeat = ready, order, repeat
            self._used: set[int] = set()
            self._requests: list[Received] = []
            self._misses: list[str] = []
            self._changed.notify_all()

    @property
    def url(self) -> str:
        """`http(s)://host:port`, without a path. Raises `ConfigError` before the server has started."""
        if not self._port:
            raise ConfigError("the replay server is not running: use it as a context manager, or call start()")
        return f"{'https' if self._tls else 'http'}://{self._host}:{self._port}"

    @property
    def requests(self) -> tuple[Received, ...]:
        """The requests so far, in the order in which they were complete."""
        with self._changed:
            return tuple(self._requests)

    @property
    def connections(self) -> "tuple[Connection, ...]":
        """All connections since the start, in the order in which they were accepted."""
        with self._changed:
            return tuple(self._connections)

    @property
    def misses(self) -> tuple[str, ...]:
        """Why each request that found no reply found none."""
        with self._changed:
            return tuple(self._misses)

    @property
    def unused(self) -> int:
        """How many steps of the script no request has taken."""
        with self._changed:
            return len(self._script) - len(self._used)

    def wait_requests(self, count: int, timeout: float = 10.0) -> bool:
        """Waits until `count` requests are here; `False` when `timeout` seconds pass without them."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._requests) >= count, timeout)

    def wait_closed(self, timeout: float = 10.0) -> bool:
        """Waits until every connection so far has ended; `False` when `timeout` seconds pass first."""
        deadline = time.monotonic() + timeout
        return all(each.ended.wait(max(0.0, deadline - time.monotonic())) for each in self.connections)

    def start(self) -> Self:
        """Binds a free port on loopback and begins to accept. Raises `ConfigError` when it runs or has run."""
        if self._listener is not None or self._closing:
            raise ConfigError("a replay server starts once; make another")
        self._listener = socket.create_server((self._host, 0), backlog=128)
        self._port = self._listener.getsockname()[1]
        self._acceptor = threading.Thread(target=self._accept, name="replay-accept", daemon=True)
        self._acceptor.start()
        return self

    def close(self) -> None:
        """Ends every connection, wakes whatever waits, and returns when all threads are gone. It may be called twice.
        Raises `RuntimeError` when a thread does not end (a responder that never returns)."""
        with self._changed:
            if self._closing:
                return
            self._closing = True
        if self._listener is not None and self._acceptor is not None:
            # Closing a listening socket wakes its accept on some systems only; a connection wakes it on all.
            with suppress(OSError), socket.create_connection((self._host, self._port), timeout=1.0):
                pass
            self._acceptor.join(_JOIN)
            self._listener.close()
        for connection in self.connections:
            connection.stop(_JOIN)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ReplayServer({self.url if self._port else 'not started'})"

    def _accept(self) -> None:
        assert self._listener is not None
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:  # the client was gone before it was accepted, or no descriptor is left for it
                time.sleep(_RETRY)
                continue
            with self._changed:
                if self._closing:
                    sock.close()
                    return
                answer = None if self._silent else self._answer
                connection = Connection(len(self._connections), sock, self._tls, answer)
                self._connections.append(connection)
            connection.start()

    def _answer(self, request: Received) -> Reply:
        with self._changed:
            self._requests.append(request)
            place = self._find(request)
            if place is None:
                step: Reply | Responder = self._miss(request)
            else:
                self._used.add(place)
                step = self._script[place]
            self._changed.notify_all()
        return step if isinstance(step, Reply) else step(request)

    def _find(self, request: Received) -> int | None:
        """The place of the step that answers, `None` where none does."""
        places = range(len(self._script))
        fresh = [place for place in places if place not in self._used]
        if self._order == "strict":
            if not fresh and self._repeat:
                self._used.clear()
                fresh = list(places)
            return fresh[0] if fresh else None
        known = [place for place in places if place in self._used] if self._repeat else []
        return next((place for place in [*fresh, *known] if same_request(self._recorded(place), request)), None)

    def _recorded(self, place: int) -> RecordedRequest:
        step = self._script[place]
        assert isinstance(step, Reply)
        assert step.recorded is not None  # `load` lets nothing else be matched
        return step.recorded.request

    def _miss(self, request: Received) -> Reply:
        fresh = [place for place in range(len(self._script)) if place not in self._used]
        nearest = [self._recorded(place) for place in fresh] if self._order == "match" else []
        message = miss_message(request, nearest, len(self._used))
        self._misses.append(message)
        error = {"message": message, "type": "replay_miss", "code": "replay_miss"}
        return Reply.json({"error": error}, status=MISS_STATUS)
