"""Answers that are meant, through any wire that could carry them: what is read is what was meant (HARD_CASES 1-7, 12,
14, 17, 20), streamed as whole, and work is linear."""

import random
import sys
from collections.abc import Callable

import pytest
from chat_answers import AS_DOCUMENTED, DIALECTS, Answer, Called, Dialect, answers, objects
from chat_wires import SEEDS, Manner, dumped, manners, render_body, render_stream, split, streams
from hypothesis import given, settings
from hypothesis import strategies as st
from readings import Reading, Subject, Wire, check_splits

from llmcore.auth import none
from llmcore.framing import SSE
from llmcore.protocols.openai_chat import OPENAI_CHAT
from llmcore.route import Route, post
from llmcore.schema.parts import Reasoning, Text, ToolCall
from llmcore.schema.usage import Usage
from llmcore.wire.arguments import is_object
from llmcore.wire.calls import Call

EXAMPLES = settings(max_examples=150, deadline=None)


ROUTE = Route(
    id="test/chat",
    protocol=OPENAI_CHAT,
    base_url="https://api.example.com/v1",
    endpoint=post("/chat/completions"),
    auth=none(),
    framing=SSE,
)
CHAT = Subject(ROUTE.model("m"))


def check_meant(answer: Answer, reading: Reading) -> None:
    """What was read is what was meant."""
    response = reading.done
    assert reading.problems() == []
    assert response.text == answer.text
    assert (response.refusal or "") == answer.refusal
    assert response.reasoning == answer.reasoning
    assert [seen(call) for call in response.tool_calls] == [meant(call) for call in answer.calls]
    assert len({call.id for call in response.tool_calls}) == len(answer.calls)
    assert [call.error is not None for call in response.tool_calls] == [call.broken for call in answer.calls]
    assert response.raw_stop_reason == answer.finish
    assert response.stop_reason == answer.stop_reason
    check_usage(answer.usage, response.usage)


def seen(call: ToolCall) -> tuple[str, str, str | None]:
    return call.name, call.arguments, call.wire_id


def meant(call: Called) -> tuple[str, str, str | None]:
    arguments = call.arguments if call.arguments.strip() else "{}"
    return call.name, arguments, None if call.wire_id is None else str(call.wire_id)


def check_usage(native: dict[str, object] | None, usage: Usage) -> None:
    if native is None:
        assert usage == Usage()
        return
    read = native.get("prompt_tokens_details")
    cached = read["cached_tokens"] if isinstance(read, dict) else None
    thought = native.get("completion_tokens_details")
    assert (usage.input_tokens or 0) + (usage.cache_read_tokens or 0) == native["prompt_tokens"]
    assert usage.cache_read_tokens == cached
    assert usage.output_tokens == native["completion_tokens"]
    assert usage.reasoning_tokens == (thought["reasoning_tokens"] if isinstance(thought, dict) else None)


@given(streams(), SEEDS)
@EXAMPLES
def test_what_is_read_is_what_was_meant_however_the_bytes_are_cut(
    stream: tuple[Answer, Dialect, Wire], seed: int
) -> None:
    answer, _, wire = stream
    check_meant(answer, check_splits(CHAT, wire.data, random.Random(seed)))


@pytest.mark.parametrize("dialect", DIALECTS, ids=str)
@given(st.data())
@settings(max_examples=8, deadline=None)
def test_rows_1_to_4_and_7_calls_are_those_that_were_meant_in_every_dialect(
    dialect: Dialect, data: st.DataObject
) -> None:
    answer, wire = render_stream(
        data.draw(answers(dialect)), dialect, data.draw(manners()), random.Random(data.draw(SEEDS))
    )
    check_meant(answer, CHAT.stream([wire.data]))


def shape(reading: Reading) -> list[object]:
    """The content in its order, without ids."""
    out = list[object]()
    for part in reading.done.message.content:
        match part:
            case Text() | Reasoning():
                out.append((type(part), part.text, getattr(part, "refusal", None), part.provider_metadata))
            case ToolCall():
                out.append((part.name, part.arguments, part.wire_id, part.error, part.provider_metadata, part.origin))
            case _:
                out.append(part)
    return out


@given(answers(AS_DOCUMENTED), manners(order="fields"), SEEDS, st.booleans())
@EXAMPLES
def test_row_9_a_stream_and_a_whole_body_of_the_same_content_are_equal(
    answer: Answer, manner: Manner, seed: int, ascii: bool
) -> None:
    answer, wire = render_stream(answer, AS_DOCUMENTED, manner, random.Random(seed))
    streamed, whole = CHAT.stream([wire.data]), CHAT.whole(render_body(answer, ascii=ascii))
    check_meant(answer, whole)
    assert shape(streamed) == shape(whole)
    one, other = streamed.done, whole.done
    assert (one.stop_reason, one.raw_stop_reason) == (other.stop_reason, other.raw_stop_reason)
    assert counts(one.usage) == counts(other.usage)


def counts(usage: Usage) -> dict[str, object]:
    return {name: getattr(usage, name) for name in Usage.__struct_fields__ if name != "native"}


@given(st.lists(objects() | st.text(st.sampled_from('{}[]"\\ a:,1'), max_size=4), max_size=3), SEEDS)
@EXAMPLES
def test_a_call_is_complete_when_its_text_so_far_is_an_object(texts: list[str], seed: int) -> None:
    call = Call(id="tu_0")
    for piece in split("".join(texts), random.Random(seed), 8):
        call.append(piece)
        so_far = "".join(call.pieces)
        assert call.complete() == (piece.rstrip().endswith("}") and is_object(so_far))
        assert call.complete() == call.complete()


# -- work is linear


def fragment(index: int, text: str, **more: object) -> dict[str, object]:
    return {"tool_calls": [{"index": index, "function": {"arguments": text, **more}}]}


def started(count: int) -> list[dict[str, object]]:
    return [{"tool_calls": [{"index": at, "id": f"c{at}", "function": {"name": "f"}}]} for at in range(count)]


LONG: dict[str, Callable[[int], list[dict[str, object]]]] = {
    "text": lambda n: [{"content": "word "}] * n,
    "half characters": lambda n: [{"content": "\ud83d"}, {"content": "\ude00"}] * (n // 2),
    "refusal": lambda n: [{"refusal": "word "}] * n,
    "reasoning": lambda n: [{"reasoning_content": "word "}] * n,
    "reasoning details": lambda n: [{"reasoning_details": [{"type": "reasoning.text", "text": "w"}]}] * n,
    "arguments": lambda n: [*started(1), *[fragment(0, "[1],")] * n],
    "arguments of four calls": lambda n: [*started(4), *[fragment(at % 4, "[1],") for at in range(n)]],
    "arguments under a repeated name": lambda n: [
        *(*started(1), fragment(0, '{"a":[1')),
        *[fragment(0, ",1", name="f")] * n,
    ],
    "objects in arguments": lambda n: [*started(1), fragment(0, '{"a":['), *[fragment(0, ',{"b":1}')] * n],
    "objects in arguments under a repeated name": lambda n: [
        *(*started(1), fragment(0, '{"a":[')),
        *[fragment(0, ',{"b":1}', name="f")] * n,
    ],
    "arguments with half characters": lambda n: [
        *started(1),
        *[fragment(0, "\ud83d"), fragment(0, "\ude00")] * (n // 2),
    ],
    "calls": started,
    "calls in one delta": lambda n: [{"tool_calls": [item for each in started(n) for item in each["tool_calls"]]}],
    "blocks": lambda n: [{"content": "a"}, {"reasoning": "b"}] * (n // 2),
}
MANY_BLOCKS = ("calls", "calls in one delta", "blocks")


def work(deltas: list[dict[str, object]]) -> tuple[int, int, int]:
    """The calls of functions, the joins of texts among them, and the events, in reading a stream of these deltas."""
    payloads = [
        *(dumped({"choices": [{"index": 0, "delta": delta}]}, ascii=False) for delta in deltas),
        b'{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
        b"[DONE]",
    ]
    calls = joins = 0

    def count(_frame: object, event: str, function: object) -> None:
        nonlocal calls, joins
        calls += event in ("call", "c_call")
        joins += event == "c_call" and getattr(function, "__name__", "") == "join"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        reading = CHAT.frames(payloads)
    finally:
        sys.setprofile(before)
    assert reading.error is None
    return calls, joins, len(reading.events)


@pytest.mark.parametrize("kind", LONG)
def test_work_is_linear_in_the_number_of_fragments(kind: str) -> None:
    small, large = 500, 8000
    calls, joins, events = work(LONG[kind](small))
    more_calls, more_joins, more_events = work(LONG[kind](large))
    times = large / small
    assert events >= small / 2 or kind == "calls in one delta"
    assert more_calls <= calls * times
    assert more_events <= events * times
    # A text that grows is joined once, when its block ends, not at every piece.
    assert more_joins <= (joins * times if kind in MANY_BLOCKS else joins)
