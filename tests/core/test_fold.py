"""The fold: events in, a message and a response out."""

from collections.abc import Iterable
from itertools import pairwise
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmcore import events as e
from llmcore.fold import HANDLERS, Fold
from llmcore.lifecycle import violations
from llmcore.media import MediaSink
from llmcore.schema import (
    CallWarning,
    Citation,
    Cost,
    HandleSource,
    Media,
    MessageStatus,
    Opaque,
    Origin,
    Reasoning,
    Text,
    TokenLogprob,
    ToolCall,
    ToolResult,
    Usage,
)

ORIGIN = Origin(provider="p", protocol="q", model="m")
LOWERED = CallWarning(subject="seed", reason="not taken", protocol="q")
READ = CallWarning(subject="usage", reason="odd", protocol="q", phase="read")
OPAQUE = Opaque(kind="k", data=msgspec.Raw(b"[1, 2]"), origin=ORIGIN)
RESULT = ToolResult(tool_call_id="tu_1", name="web", content=(Text(text="found"),), provider_executed=True)
SINK = MediaSink()
HANDLE = SINK.put(b"\x89PNG", "image/png")

EVENTS: list[e.Event] = [
    e.ResponseStart(provider="p", id="r1", model="served", request_id="req", warnings=(LOWERED,)),
    e.ReasoningStart(id="b0"),
    e.ReasoningDelta(id="b0", text="hm"),
    e.TextStart(id="b1"),
    e.ToolCallStart(id="tu_0", name="f"),
    e.TextDelta(id="b1", text="Hel"),
    e.ToolCallDelta(id="tu_0", text='{"x":'),
    e.ReasoningDelta(id="b0", text="m"),
    e.UsageUpdate(usage=Usage(input_tokens=1)),
    e.ReasoningEnd(id="b0", signature="sig", redacted="red", provider_metadata={"a": 1}, origin=ORIGIN),
    e.TextDelta(id="b1", text="lo"),
    e.OpaqueEvent(part=OPAQUE),
    e.MediaStart(id="b2", media_type="image/png"),
    e.MediaDelta(id="b2", progress=0.5, preview=HANDLE),
    e.ToolCallDelta(id="tu_0", text="1}"),
    e.ToolCallEnd(id="tu_0", arguments='{"x": 1}', wire_id="call_9", provider_metadata={"b": 2}, origin=ORIGIN),
    e.MediaEnd(id="b2", media=Media(media_type="image/png", source=HandleSource(handle=HANDLE), name="n")),
    e.ToolResultEvent(id="tu_1", name="web", result=RESULT, provider_executed=True),
    e.TextEnd(
        id="b1",
        citations=(Citation(url="u"),),
        logprobs=(TokenLogprob(token="Hello", logprob=-1.0),),
        provider_metadata={"c": 3},
        origin=ORIGIN,
    ),
    e.TextStart(id="b3", refusal=True),
    e.TextDelta(id="b3", text="no"),
    e.TextEnd(id="b3"),
    e.ResponseEnd(
        stop_reason="tool_use",
        raw_stop_reason="tool_calls",
        stop_details={"d": 4},
        usage=Usage(input_tokens=1, output_tokens=2),
        cost=Cost(micro_cents=5),
        warnings=(READ,),
        provider_metadata={"container": "c"},
    ),
]


def folded(events: Iterable[e.Event], sink: MediaSink | None = None) -> Fold:
    fold = Fold(sink)
    fold.add(events)
    return fold


def test_there_is_a_handler_for_every_event() -> None:
    assert set(HANDLERS) == set(get_args(e.Event))
    assert violations(EVENTS) == []


def test_parts_stand_in_the_order_in_which_they_opened() -> None:
    response = folded(EVENTS, SINK).response()
    assert response.message.content == (
        Reasoning(text="hmm", signature="sig", redacted="red", provider_metadata={"a": 1}, origin=ORIGIN),
        Text(
            text="Hello",
            citations=(Citation(url="u"),),
            logprobs=(TokenLogprob(token="Hello", logprob=-1.0),),
            provider_metadata={"c": 3},
            origin=ORIGIN,
        ),
        # The final snapshot wins over the deltas, and an id that came late over none.
        ToolCall(
            id="tu_0",
            name="f",
            arguments='{"x": 1}',
            wire_id="call_9",
            provider_metadata={"b": 2},
            origin=ORIGIN,
        ),
        OPAQUE,
        Media.from_bytes(b"\x89PNG", "image/png", name="n"),
        RESULT,
        Text(text="no", refusal=True),
    )
    assert (response.text, response.refusal, response.reasoning) == ("Hello", "no", "hmm")


def test_the_response_has_what_start_and_end_say() -> None:
    response = folded(EVENTS, SINK).response()
    assert (response.id, response.model, response.provider, response.request_id) == ("r1", "served", "p", "req")
    assert (response.stop_reason, response.raw_stop_reason, response.stop_details) == (
        "tool_use",
        "tool_calls",
        {"d": 4},
    )
    assert response.usage == Usage(input_tokens=1, output_tokens=2)
    assert response.cost == Cost(micro_cents=5)
    assert response.warnings == (LOWERED, READ)
    metadata = response.message.metadata
    assert metadata is not None
    assert (metadata.model, metadata.provider, metadata.status) == ("served", "p", "complete")
    assert (metadata.usage, metadata.cost) == (response.usage, response.cost)
    assert metadata.provider_metadata == {"container": "c"}


@given(st.lists(st.integers(0, len(EVENTS)), max_size=6))
@settings(max_examples=50)
def test_batches_do_not_matter(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(EVENTS)]
    fold = Fold(SINK)
    for start, end in pairwise(edges):
        fold.add(EVENTS[start:end])
    assert fold.response() == folded(EVENTS, SINK).response()


@pytest.mark.parametrize("status", ["partial", "cancelled", "error"])
@pytest.mark.parametrize("end", range(len(EVENTS)))
def test_a_stream_that_ended_early_gives_what_came(end: int, status: MessageStatus) -> None:
    came = EVENTS[:end]
    fold = folded(came, SINK)
    message = fold.message(status)
    assert message.metadata is not None
    assert message.metadata.status == status
    text = {event.id: "" for event in came if isinstance(event, e.TextStart | e.ReasoningStart)}
    for event in came:
        if isinstance(event, e.TextDelta | e.ReasoningDelta):
            text[event.id] += event.text
    assert [part.text for part in message.content if isinstance(part, Text | Reasoning)] == list(text.values())
    ended = any(isinstance(event, e.ToolCallEnd) for event in came)
    for part in message.content:
        if isinstance(part, ToolCall):
            assert (part.error is None) is ended
    assert any(isinstance(part, Media) for part in message.content) is any(isinstance(x, e.MediaEnd) for x in came)
    assert (message.metadata.usage == Usage(input_tokens=1)) is any(isinstance(x, e.UsageUpdate) for x in came)
    # What is asked for on the way changes nothing.
    fold.add(EVENTS[end:])
    assert fold.response() == folded(EVENTS, SINK).response()


def test_an_open_call_has_the_text_that_came_and_says_that_it_is_not_whole() -> None:
    (call,) = (
        folded(
            [
                e.ResponseStart(provider="p"),
                e.ToolCallStart(id="tu_0", name="f", wire_id="w", provider_executed=True),
                e.ToolCallDelta(id="tu_0", text='{"a":'),
            ]
        )
        .message("partial")
        .content
    )
    assert call == ToolCall(
        id="tu_0",
        name="f",
        arguments='{"a":',
        wire_id="w",
        provider_executed=True,
        error="the stream ended before the call was complete",
    )


def test_an_open_refusal_is_a_refusal() -> None:
    came = [e.ResponseStart(provider="p"), e.TextStart(id="b0", refusal=True), e.TextDelta(id="b0", text="I ca")]
    message = folded(came).message("partial")
    assert (message.text, message.refusal) == ("", "I ca")


def test_nothing_came_at_all() -> None:
    message = Fold().message("error")
    assert message.content == ()
    assert message.metadata is not None
    assert (message.metadata.model, message.metadata.status, message.metadata.usage) == (None, "error", Usage())


def test_media_of_another_sink_stay_named_by_their_handle() -> None:
    media = [part for part in folded(EVENTS).response().message.content if isinstance(part, Media)]
    assert [part.source for part in media] == [HandleSource(handle=HANDLE)]


def test_pieces_wait_in_lists_and_nothing_is_kept_when_a_block_has_ended() -> None:
    fold = folded([e.ResponseStart(provider="p"), e.TextStart(id="b0")])
    deltas = [e.TextDelta(id="b0", text="x")] * 1000
    fold.add(deltas)
    assert fold.pieces == {"b0": ["x"] * 1000}
    fold.add([e.TextEnd(id="b0")])
    assert (fold.pieces, fold.starts) == ({}, {})
    assert fold.parts == [Text(text="x" * 1000)]


def test_usage_is_a_snapshot_and_the_last_one_stands() -> None:
    fold = folded([e.ResponseStart(provider="p")])
    for tokens in (1, 5, 3):
        fold.add([e.UsageUpdate(usage=Usage(output_tokens=tokens))])
    message = fold.message("partial")
    assert message.metadata is not None
    assert message.metadata.usage == Usage(output_tokens=3)
