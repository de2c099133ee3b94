"""The fold: events in, a message and a response out. The same for a stream and for a whole body."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from llmcore import events as e
from llmcore.media import MediaSink
from llmcore.schema.message import Message, MessageMetadata, MessageStatus
from llmcore.schema.parts import Part, Reasoning, Text, ToolCall
from llmcore.schema.response import Response
from llmcore.schema.usage import Usage


class Fold:
    """Folds the events of one response. Linear: pieces wait in lists and are joined once, when their block ends."""

    __slots__ = ("end", "index", "parts", "pieces", "sink", "start", "starts", "usage")

    def __init__(self, sink: MediaSink | None = None) -> None:
        self.sink = sink if sink is not None else MediaSink()
        self.parts: list[Part | None] = []  # in order of opening; None while the block is open
        self.index: dict[str, int] = {}
        self.starts: dict[str, e.Event] = {}  # the blocks that are open
        self.pieces: dict[str, list[str]] = {}
        self.start: e.ResponseStart | None = None
        self.end: e.ResponseEnd | None = None
        self.usage: Usage = Usage()

    def add(self, events: Iterable[e.Event]) -> None:
        """Takes the next events, which are in the order that `lifecycle` states."""
        handlers = HANDLERS
        for event in events:
            handlers[type(event)](self, event)

    def message(self, status: MessageStatus = "complete") -> Message:
        """The message as far as it came. Open blocks are in it: a tool call among them carries an error."""
        parts = list(self.parts)
        for block, start in self.starts.items():
            parts[self.index[block]] = self._unfinished(block, start)
        metadata = MessageMetadata(
            model=self.start.model if self.start else None,
            provider=self.start.provider if self.start else None,
            status=status,
            usage=self.end.usage if self.end else self.usage,
            cost=self.end.cost if self.end else None,
            provider_metadata=self.end.provider_metadata if self.end else None,
        )
        return Message(role="assistant", content=tuple([p for p in parts if p is not None]), metadata=metadata)

    def response(self) -> Response:
        """The finished response. Call it only after the `ResponseEnd`."""
        assert self.start is not None
        assert self.end is not None
        return Response(
            id=self.start.id,
            model=self.start.model,
            provider=self.start.provider,
            message=self.message(),
            stop_reason=self.end.stop_reason,
            raw_stop_reason=self.end.raw_stop_reason,
            stop_details=self.end.stop_details,
            usage=self.end.usage,
            cost=self.end.cost,
            warnings=self.start.warnings + self.end.warnings,
            request_id=self.start.request_id,
        )

    def close(self, block: str, part: Part) -> None:
        """Ends an open block with its part."""
        del self.starts[block]
        del self.pieces[block]
        self.parts[self.index[block]] = part

    def _unfinished(self, block: str, start: e.Event) -> Part | None:
        text = "".join(self.pieces[block])
        match start:
            case e.TextStart():
                return Text(text=text, refusal=start.refusal)
            case e.ReasoningStart():
                return Reasoning(text=text)
            case e.ToolCallStart():
                return ToolCall(
                    id=start.id,
                    name=start.name,
                    arguments=text,
                    wire_id=start.wire_id,
                    provider_executed=start.provider_executed,
                    error="the stream ended before the call was complete",
                )
            case _:
                return None


def on_start(fold: Fold, event: Any) -> None:
    fold.index[event.id] = len(fold.parts)
    fold.parts.append(None)
    fold.starts[event.id] = event
    fold.pieces[event.id] = []


def on_delta(fold: Fold, event: Any) -> None:
    fold.pieces[event.id].append(event.text)


def on_response_start(fold: Fold, event: e.ResponseStart) -> None:
    fold.start = event


def on_text_end(fold: Fold, event: e.TextEnd) -> None:
    start = fold.starts[event.id]
    assert isinstance(start, e.TextStart)
    text = Text(
        text="".join(fold.pieces[event.id]),
        citations=event.citations,
        refusal=start.refusal,
        logprobs=event.logprobs,
        provider_metadata=event.provider_metadata,
        origin=event.origin,
    )
    fold.close(event.id, text)


def on_reasoning_end(fold: Fold, event: e.ReasoningEnd) -> None:
    reasoning = Reasoning(
        text="".join(fold.pieces[event.id]),
        signature=event.signature,
        redacted=event.redacted,
        provider_metadata=event.provider_metadata,
        origin=event.origin,
    )
    fold.close(event.id, reasoning)


def on_tool_call_end(fold: Fold, event: e.ToolCallEnd) -> None:
    start = fold.starts[event.id]
    assert isinstance(start, e.ToolCallStart)
    call = ToolCall(
        id=event.id,
        name=start.name,
        arguments=event.arguments,
        wire_id=event.wire_id or start.wire_id,
        error=event.error,
        provider_executed=start.provider_executed,
        provider_metadata=event.provider_metadata,
        origin=event.origin,
    )
    fold.close(event.id, call)


def on_media_delta(fold: Fold, event: e.MediaDelta) -> None:
    """A preview is for whoever watches: the message has the finished media."""


def on_media_end(fold: Fold, event: e.MediaEnd) -> None:
    fold.close(event.id, fold.sink.resolve(event.media))


def on_tool_result(fold: Fold, event: e.ToolResultEvent) -> None:
    fold.parts.append(event.result)


def on_opaque(fold: Fold, event: e.OpaqueEvent) -> None:
    fold.parts.append(event.part)


def on_usage(fold: Fold, event: e.UsageUpdate) -> None:
    fold.usage = event.usage


def on_response_end(fold: Fold, event: e.ResponseEnd) -> None:
    fold.end = event


HANDLERS: Final = dict[type[e.Event], Callable[[Fold, Any], None]](
    {
        e.ResponseStart: on_response_start,
        e.TextStart: on_start,
        e.TextDelta: on_delta,
        e.TextEnd: on_text_end,
        e.ReasoningStart: on_start,
        e.ReasoningDelta: on_delta,
        e.ReasoningEnd: on_reasoning_end,
        e.ToolCallStart: on_start,
        e.ToolCallDelta: on_delta,
        e.ToolCallEnd: on_tool_call_end,
        e.ToolResultEvent: on_tool_result,
        e.MediaStart: on_start,
        e.MediaDelta: on_media_delta,
        e.MediaEnd: on_media_end,
        e.OpaqueEvent: on_opaque,
        e.UsageUpdate: on_usage,
        e.ResponseEnd: on_response_end,
    }
)
