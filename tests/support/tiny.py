"""A protocol of three words for tests of what lies around a protocol: the transport, the drivers, the clients.

Frames: `{"text": "…"}` is a piece of the answer, `{"finish": "…"}` its terminal evidence, `[DONE]` the end,
`{"error": "…"}` an error; blank data and data that begin with a colon are keep-alives. A whole body is
`{"text": "…", "finish": "…"}`.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from llmcore.auth import Auth, bearer
from llmcore.capabilities import Capabilities
from llmcore.cassette import Action, Reply
from llmcore.errors import AuthError, LLMError, OverloadedError, ProtocolError, RateLimitError, StreamTruncatedError
from llmcore.events import Event, ResponseEnd, ResponseStart, TextDelta, TextEnd, TextStart
from llmcore.framing import SSE
from llmcore.protocol import Frame, Headers, Lowered, Protocol
from llmcore.route import Defaults, Endpoint, Model, ModelRule, Route
from llmcore.schema import CallWarning, Request
from llmcore.schema.parts import Text
from llmcore.secret import Secret

KEY = "canary-key-0123456789"


class Quirks(msgspec.Struct, frozen=True):
    loud: bool = False


class Options(msgspec.Struct, frozen=True):
    tier: str = ""


class Body(msgspec.Struct, frozen=True, omit_defaults=True):
    model: str
    prompt: str
    stream: bool = False
    max_tokens: int | None = None
    temperature: float | None = None
    tier: str | None = None


class Wire(msgspec.Struct):
    text: str = ""
    finish: str = ""
    error: str = ""


class State:
    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.started = self.opened = self.ended = False
        self.finish = ""


ERRORS: dict[int, type[LLMError]] = {401: AuthError, 429: RateLimitError}


def lower(request: Request, model: Model[Body], stream: bool) -> Lowered[Body]:
    warnings = ()
    if request.generation.seed is not None:
        warnings = (CallWarning(subject="generation.seed", reason="there is no seed: left out", protocol="tiny"),)
    prompt = " ".join(part.text for message in request.messages for part in message.content if isinstance(part, Text))
    options: Any = request.provider_options.get("tiny", {})
    body = Body(
        model=model.name,
        prompt=prompt,
        stream=stream,
        max_tokens=request.generation.max_tokens,
        temperature=request.generation.temperature,
        tier=options.get("tier"),
    )
    return Lowered(body, warnings, (("x-tiny", "1"),))


def step(state: State, frame: Frame, out: list[Event]) -> None:
    data = frame.data.strip()
    if not data or data.startswith(b":"):
        return
    if state.ended:
        raise ProtocolError("a frame after the end")  # stricter than a protocol should be: nobody may hear of it
    if not state.started:
        state.started = True
        out.append(ResponseStart(provider=state.provider))
    if data == b"[DONE]":
        end(state, out)
        return
    wire = decode(data)
    if wire.error:
        raise OverloadedError(wire.error)
    if wire.text:
        if not state.opened:
            state.opened = True
            out.append(TextStart(id="b0"))
        out.append(TextDelta(id="b0", text=wire.text))
    state.finish = wire.finish or state.finish


def decode(data: bytes) -> Wire:
    try:
        return msgspec.json.decode(data, type=Wire)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise ProtocolError("not the tiny protocol", body_excerpt=data[:100].decode("utf-8", "replace")) from None


def end(state: State, out: list[Event]) -> None:
    state.ended = True
    if state.opened:
        out.append(TextEnd(id="b0"))
    out.append(ResponseEnd(stop_reason="stop" if state.finish else "unknown", raw_stop_reason=state.finish or None))


def finish(state: State, out: list[Event]) -> None:
    if not state.finish:
        raise StreamTruncatedError("the stream ended without its terminal event")
    end(state, out)


def parse(body: bytes, model: Model[Body], mint: object, sink: object, out: list[Event]) -> None:
    if not body:
        raise ProtocolError("an empty body is not the tiny protocol")
    state = State(model.provider)
    step(state, Frame(body), out)
    finish(state, out)


def error(status: int, headers: Headers, body: bytes, model: Model[Body]) -> LLMError:
    excerpt = body[:200].decode("utf-8", "replace")
    return ERRORS.get(status, OverloadedError)(f"HTTP {status}: {excerpt}", body_excerpt=excerpt)


TINY = Protocol(
    id="tiny",
    quirks=Quirks,
    options=Options,
    body=Body,
    lower=lower,
    start=lambda model, mint, sink: State(model.provider),
    step=step,
    finish=finish,
    parse=parse,
    error=error,
)


def route(
    base_url: str = "http://127.0.0.1:9/v1",
    *,
    auth: Auth | None = None,
    capabilities: Capabilities | None = None,
    rules: tuple[ModelRule[Quirks], ...] = (),
    defaults: Defaults | None = None,
) -> Route[Quirks, Body]:
    return Route(
        id="tiny/chat",
        protocol=TINY,
        base_url=base_url,
        endpoint=Endpoint("POST", "/chat"),
        auth=bearer("TINY_API_KEY") if auth is None else auth,
        framing=SSE,
        capabilities=capabilities or Capabilities(),
        rules=rules,
        defaults=defaults or Defaults(),
    )


def model(base_url: str, *, key: Any = KEY, name: str = "t1", auth: Auth | None = None) -> Model[Body]:
    return route(base_url, auth=auth).model(name, api_key=None if key is None else Secret(key))


def words(*texts: str) -> tuple[str, ...]:
    """The data of the frames that carry `texts`."""
    return tuple(msgspec.json.encode({"text": text}).decode() for text in texts)


FINISH = '{"finish":"stop"}'
DONE = "[DONE]"


def stream(*steps: str | bytes | Action, headers: Headers = ()) -> Reply:
    """A stream of frames and actions."""
    return Reply.sse(*steps, headers=headers)


def hello(headers: Headers = ()) -> Reply:
    """A stream that says "Hello" in two pieces and ends."""
    return stream(*words("Hel", "lo"), FINISH, DONE, headers=headers)


def whole(text: str = "Hello", headers: Headers = ()) -> Reply:
    """A whole body."""
    return Reply.json({"text": text, "finish": "stop"}, headers=headers)


def names(events: Sequence[object]) -> list[str]:
    """The classes of the events."""
    return [type(event).__name__ for event in events]


HELLO = ["ResponseStart", "TextStart", "TextDelta", "TextDelta", "TextEnd", "ResponseEnd"]
