"""What a script is made of: turns, each of them in the end a list of events, and what happens between them.

A text, a message or a response is unfolded into the events that a provider would have sent for it: `unfold` is the
inverse of the fold. A turn that is given as events is played to the letter, mistakes included.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias, cast

import msgspec

from llmcore.cassette.script import Burst, Close, Hold, Pause, Repeat, Reset, Send, Wait
from llmcore.errors import ConfigError, LLMError
from llmcore.events import (
    Event,
    MediaEnd,
    MediaStart,
    OpaqueEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    ResponseEnd,
    ResponseStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolResultEvent,
)
from llmcore.schema.message import Message
from llmcore.schema.parts import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from llmcore.schema.request import Request
from llmcore.schema.response import Response
from llmcore.schema.usage import Usage

Mishap: TypeAlias = Close | Reset | Hold | Pause | Wait
"""What a connection can do between two events: end early, break, stay silent (see `llmcore.cassette`)."""

Played: TypeAlias = Event | LLMError | Mishap
"""One step of a turn."""

Answer: TypeAlias = str | Message | Response | LLMError | Sequence[Event | LLMError | Mishap]
"""What a model answers: a text, a message, a whole response, an error, or each event."""

Responder: TypeAlias = Callable[[Request], Answer]
"""A plain function that gives the answer to a request."""

Turn: TypeAlias = Answer | Responder
"""An answer, or a function that gives it."""


class Steps(msgspec.Struct, frozen=True):
    """An answer ready to be played."""

    steps: tuple[Played, ...]


_WORDS: Final = re.compile(r"\s*\S+\s*|\s+")


def steps_of(answer: object, provider: str, model: str) -> Steps:
    """The steps that an answer is played in. Raises `ConfigError` for what is no answer."""
    match answer:
        case str():
            return Steps(unfold(_response(Message.assistant(answer), provider, model)))
        case Message():
            return Steps(unfold(_response(answer, provider, model)))
        case Response():
            return Steps(unfold(answer))
        case LLMError():
            return Steps((answer,))
        case list() | tuple():
            return Steps(tuple([_step(step) for step in cast("Sequence[object]", answer)]))
        case _:
            raise ConfigError(
                f"a turn of a script is a text, a Message, a Response, an error or events, not {_kind(answer)}"
            )


def _step(step: object) -> Played:
    if isinstance(step, Event | LLMError | Mishap):
        return step
    if isinstance(step, Send | Burst | Repeat):
        raise ConfigError(
            f"{_kind(step)} writes bytes, and a script is made of events; for a wire of your own use ReplayServer"
        )
    raise ConfigError(f"a turn that is given as a list is made of events, errors and mishaps, not {_kind(step)}")


def _kind(value: object) -> str:
    return f"a class ({value.__name__})" if isinstance(value, type) else type(value).__name__


def _response(message: Message, provider: str, model: str) -> Response:
    """A response that says `message`, and no more than is known."""
    if message.role != "assistant":
        raise ConfigError(f"a model answers with an assistant message, not with one of role {message.role!r}")
    usage = message.metadata.usage if message.metadata is not None else None
    word = "tool_use" if message.tool_calls else "stop"
    return Response(
        provider=provider,
        model=model,
        message=message,
        stop_reason=word,
        raw_stop_reason=word,
        usage=usage if usage is not None else Usage(),
    )


def unfold(response: Response) -> tuple[Event, ...]:
    """The events whose fold is `response`: text word by word, arguments in two pieces, blocks in their order.

    What a fold does not know is left out: attempts, timing, rate limits, cache hints, and the metadata of the message
    beyond those of the response.
    """
    out: list[Event] = [
        ResponseStart(id=response.id, model=response.model, provider=response.provider, request_id=response.request_id)
    ]
    for number, part in enumerate(response.message.content):
        out += _UNFOLD[type(part)](part, f"b{number}")
    metadata = response.message.metadata
    end = ResponseEnd(
        stop_reason=response.stop_reason,
        raw_stop_reason=response.raw_stop_reason,
        stop_details=response.stop_details,
        usage=response.usage,
        cost=response.cost,
        warnings=response.warnings,
        provider_metadata=metadata.provider_metadata if metadata is not None else None,
    )
    return (*out, end)


def _text(part: Text, block: str) -> Iterable[Event]:
    yield TextStart(id=block, refusal=part.refusal)
    for word in _WORDS.findall(part.text):
        yield TextDelta(id=block, text=word)
    yield TextEnd(
        id=block,
        citations=part.citations,
        logprobs=part.logprobs,
        provider_metadata=part.provider_metadata,
        origin=part.origin,
    )


def _reasoning(part: Reasoning, block: str) -> Iterable[Event]:
    yield ReasoningStart(id=block)
    for word in _WORDS.findall(part.text):
        yield ReasoningDelta(id=block, text=word)
    yield ReasoningEnd(
        id=block,
        signature=part.signature,
        redacted=part.redacted,
        provider_metadata=part.provider_metadata,
        origin=part.origin,
    )


def _tool_call(part: ToolCall, _: str) -> Iterable[Event]:
    yield ToolCallStart(id=part.id, name=part.name, wire_id=part.wire_id, provider_executed=part.provider_executed)
    half = len(part.arguments) // 2
    for piece in (part.arguments[:half], part.arguments[half:]):
        if piece:
            yield ToolCallDelta(id=part.id, text=piece)
    yield ToolCallEnd(
        id=part.id,
        arguments=part.arguments,
        error=part.error,
        wire_id=part.wire_id,
        provider_metadata=part.provider_metadata,
        origin=part.origin,
    )


def _tool_result(part: ToolResult, _: str) -> Iterable[Event]:
    yield ToolResultEvent(id=part.tool_call_id, name=part.name, result=part, provider_executed=part.provider_executed)


def _media(part: Media, block: str) -> Iterable[Event]:
    yield MediaStart(id=block, media_type=part.media_type)
    yield MediaEnd(id=block, media=part)


def _opaque(part: Opaque, _: str) -> Iterable[Event]:
    yield OpaqueEvent(part=part)


_UNFOLD: Final[dict[type[Part], Callable[[Any, str], Iterable[Event]]]] = {
    Text: _text,
    Reasoning: _reasoning,
    ToolCall: _tool_call,
    ToolResult: _tool_result,
    Media: _media,
    Opaque: _opaque,
}
