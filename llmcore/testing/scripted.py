"""A scripted model: plays given answers through the whole pipeline, on loopback.

    with ScriptedModel(["Hello", RateLimitError("slow down", retry_after=2.0)]) as scripted:
        assert client.generate(scripted.model(), "Hi").text == "Hello"

Nothing of ours is replaced: the request is lowered, sent, and its answer framed, read, checked and folded as any
other's, by whatever client the test uses (sync or async, `http=` of its own or none). Only the far end is a script.
"""

import threading
from collections.abc import Iterable
from inspect import iscoroutinefunction
from types import TracebackType
from typing import Final, Self

import msgspec

from llmcore.auth import none
from llmcore.capabilities import Capabilities
from llmcore.cassette.script import Action, Received, Reply, Send
from llmcore.cassette.server import ReplayServer
from llmcore.errors import ConfigError, LLMError
from llmcore.framing import SSE
from llmcore.route import Defaults, Endpoint, Model, Route
from llmcore.schema import decode
from llmcore.schema.base import excerpt
from llmcore.schema.message import Message
from llmcore.schema.request import Request
from llmcore.schema.response import Response
from llmcore.testing.turns import Mishap, Played, Responder, Steps, Turn, steps_of
from llmcore.testing.wire import Fault, NoQuirks, ScriptBody, protocol

_encode: Final = msgspec.json.Encoder().encode

STATUS: Final = {
    "auth": 401,
    "quota": 402,
    "timeout": 408,
    "rate_limit": 429,
    "context_length": 400,
    "bad_request": 400,
    "content_filter": 400,
    "capability": 400,
    "overloaded": 503,
}
"""The HTTP status under which an error of each kind comes, where it has none of its own; 500 for all others."""


class ScriptedModel:
    """A model that answers from a script, one turn for each request, in the order in which the requests arrive.

    A turn is a text, an assistant `Message`, a `Response`, an `LLMError` to raise, a list of events (to the letter; an
    error or a mishap of `llmcore.cassette`, such as `Close()`, may stand among them), or a plain function that gives
    one of these for the `Request`. What such a function raises is raised by the call. `repeat` begins again at the
    first turn when all were played. `capabilities` and `defaults` are those of the model.

    Enter it to begin. Leaving it without an exception checks that the script was played to its end. A request that
    finds no turn left raises `AssertionError`, in the call and again at the end.
    """

    def __init__(
        self,
        turns: Iterable[Turn],
        *,
        provider: str = "scripted",
        name: str = "script",
        repeat: bool = False,
        capabilities: Capabilities | None = None,
        defaults: Defaults | None = None,
    ) -> None:
        if isinstance(turns, str | Message | Response | LLMError):
            raise ConfigError(f"a script is a list of turns: give [{type(turns).__name__}(…)], also for a single one")
        self._provider, self._name, self._repeat = provider, name, repeat
        self._capabilities = capabilities if capabilities is not None else Capabilities()
        self._defaults = defaults if defaults is not None else Defaults()
        self._turns: Final[list[Steps | Responder]] = []
        for number, turn in enumerate(turns):
            try:
                self._turns.append(_ready(turn, provider, name))
            except ConfigError as problem:
                raise ConfigError(f"turn {number} of the script: {problem.message}") from None
        self._lock = threading.Lock()
        self._played = 0
        self._beyond = 0
        self._requests: list[Request] = []
        self._raised: list[BaseException] = []
        self._server = ReplayServer([self._reply], repeat=True)
        self._started = False

    def model(self, name: str | None = None) -> Model[ScriptBody]:
        """The model, to be given to any client in place of a name. Raises `ConfigError` before it is entered."""
        if not self._started:
            raise ConfigError("enter the script first: `with ScriptedModel([…]) as scripted:`")
        route: Route[NoQuirks, ScriptBody] = Route(
            id=f"{self._provider}/script",
            protocol=protocol(self._raised.__getitem__),
            base_url=self._server.url,
            endpoint=Endpoint("POST", "/turns"),
            auth=none(),
            framing=SSE,
            capabilities=self._capabilities,
            defaults=self._defaults,
        )
        return route.model(name if name is not None else self._name)

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests that arrived, in order, with the model's defaults in them."""
        with self._lock:
            return tuple(self._requests)

    @property
    def received(self) -> tuple[Received, ...]:
        """The same as HTTP: headers and bytes."""
        return self._server.requests

    @property
    def remaining(self) -> int:
        """How many turns were not played yet."""
        with self._lock:
            return max(0, len(self._turns) - self._played)

    def assert_finished(self) -> None:
        """Raises `AssertionError` unless each turn was played, and no request found none."""
        with self._lock:
            count, played, beyond = len(self._turns), self._played, self._beyond
        if played < count:
            raise AssertionError(
                f"{count - played} of {count} turns of the script were not played, from turn {played} on"
            )
        if beyond:
            raise AssertionError(f"{beyond} requests found no turn: the script has {count}")

    def __enter__(self) -> Self:
        self._server.start()
        self._started = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        if kind is None:
            self.assert_finished()

    def __repr__(self) -> str:
        with self._lock:
            return f"ScriptedModel({self._provider}:{self._name}, {self._played} of {len(self._turns)} turns played)"

    # -- the far end, on a thread of the server

    def _reply(self, received: Received) -> Reply:
        body = msgspec.json.decode(received.body, type=_Envelope)
        request = decode(bytes(body.request), Request)
        with self._lock:
            self._requests.append(request)
            turn = self._next()
        if turn is None:
            message = f"the script has {len(self._turns)} turns, and this is request {len(self.requests)}"
            return self._failure(AssertionError(message))
        if isinstance(turn, Steps):
            return self._answer(turn.steps, stream=body.stream)
        try:
            return self._answer(steps_of(turn(request), self._provider, body.model).steps, stream=body.stream)
        except BaseException as problem:  # noqa: BLE001  # not swallowed: the caller's own thread raises it
            return self._failure(problem)

    def _next(self) -> Steps | Responder | None:
        """The turn to play; `None` where none is left."""
        if self._played >= len(self._turns) and not (self._repeat and self._turns):
            self._beyond += 1
            return None
        turn = self._turns[self._played % len(self._turns)]
        self._played += 1
        return turn

    def _answer(self, steps: tuple[Played, ...], *, stream: bool) -> Reply:
        errors = [step for step in steps if isinstance(step, LLMError)]
        # A provider that fails before it has said anything says so in the status, and one that is asked for a whole
        # body always does.
        if errors and (not stream or steps[0] is errors[0]):
            return self._failure(errors[0])
        if stream:
            return Reply.sse(*[self._frame(step) for step in steps])
        return Reply(headers=(("content-type", "application/json"),), actions=tuple(_whole(steps)))

    def _failure(self, problem: BaseException) -> Reply:
        status = 500
        if isinstance(problem, LLMError):
            status = problem.status if problem.status and problem.status >= 300 else STATUS.get(problem.kind, 500)
        return Reply.json(_encode(self._fault(problem)), status=status)

    def _frame(self, step: Played) -> bytes | Mishap:
        if isinstance(step, LLMError):
            return b"event: error\ndata: %b\n\n" % _encode(self._fault(step))
        if isinstance(step, Mishap):
            return step
        return b"event: %b\ndata: %b\n\n" % (step.type.encode(), _encode(step))

    def _fault(self, problem: BaseException) -> Fault:
        with self._lock:
            self._raised.append(problem)
            return Fault(len(self._raised) - 1, excerpt(str(problem), 200))


class _Envelope(msgspec.Struct):
    """`ScriptBody` with the request unread: what else the caller put into the body (`http.body`) is not ours."""

    model: str
    stream: bool
    request: msgspec.Raw


def _ready(turn: Turn, provider: str, name: str) -> Steps | Responder:
    if not callable(turn) or isinstance(turn, type):  # an error's class, its parentheses forgotten
        return steps_of(turn, provider, name)
    if iscoroutinefunction(turn):
        raise ConfigError("an async function cannot give a turn: make it a plain one")
    return turn


def _whole(steps: tuple[Played, ...]) -> Iterable[Action]:
    """A whole body in pieces, each mishap in its place. Errors among the steps were dealt with."""
    comma = b""
    yield Send(b'{"events":[')
    for step in steps:
        if isinstance(step, Mishap):
            yield step
        elif not isinstance(step, LLMError):
            yield Send(comma + _encode(step))
            comma = b","
    yield Send(b"]}")
