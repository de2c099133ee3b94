"""`check_protocol` passes what keeps the contract and tells what does not: for each rule a protocol that breaks it."""

import json
from typing import Any

import msgspec
import pytest
import tiny

from llmcore.errors import LLMError, OverloadedError, ProtocolError, StreamTruncatedError
from llmcore.events import Event, ResponseEnd, ResponseStart, TextDelta, TextEnd, TextStart
from llmcore.protocol import Frame, Protocol
from llmcore.protocols.openai_chat import OPENAI_CHAT
from llmcore.testing import Sample, ScriptedModel, check_protocol
from llmcore.testing.protocols import check_splits, check_truncation
from llmcore.testing.turns import steps_of

HELLO = b'data: {"text":"Hel"}\n\n: ping\n\ndata: {"text":"lo"}\n\ndata: {"finish":"stop"}\n\ndata: [DONE]\n\n'
BODY = b'{"text":"Hello","finish":"stop"}'
BUSY = b'data: {"text":"Hel"}\n\ndata: {"error":"busy"}\n\n'
SAMPLES = [Sample(stream=HELLO, body=BODY), Sample(stream=BUSY, error=OverloadedError)]


def framed(*values: object) -> bytes:
    return b"".join([b"data: %b\n\n" % json.dumps(value).encode() for value in values]) + b"data: [DONE]\n\n"


def chunk(delta: object, finish: str | None = None) -> dict[str, object]:
    return {"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":'}}
MORE = {"index": 0, "function": {"arguments": '"Lisbon"}'}}
WHOLE = {**CALL, "function": {"name": "weather", "arguments": '{"city":"Lisbon"}'}}
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
CHAT = Sample(
    stream=framed(
        chunk({"role": "assistant", "content": "Hel"}),
        chunk({"content": "lo \U0001f600"}),
        chunk({"tool_calls": [CALL]}),
        chunk({"tool_calls": [MORE]}),
        chunk({}, "tool_calls"),
        {"id": "x", "model": "m", "choices": [], "usage": USAGE},
    ),
    body=json.dumps(
        {
            "id": "x",
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": "Hello \U0001f600", "tool_calls": [WHOLE]},
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": USAGE,
        }
    ).encode(),
)

# -- what passes


def test_a_protocol_that_keeps_the_contract_passes() -> None:
    check_protocol(tiny.TINY, streams=SAMPLES, bodies=[BODY], wire=tiny.Wire)


def test_openai_chat_passes_as_protocol_route_and_model() -> None:
    check_protocol(OPENAI_CHAT, streams=[CHAT])
    route = tiny.route("http://127.0.0.1:9/v1")
    check_protocol(route, streams=[HELLO], examples=5)
    check_protocol(route.model("m"), streams=[HELLO], examples=5)


def test_the_wire_of_a_scripted_model_passes() -> None:
    steps = steps_of("Hello, you.", "acme", "m").steps
    events = [msgspec.json.encode(step) for step in steps]
    stream = b"".join([b"data: %b\n\n" % event for event in events])
    with ScriptedModel([]) as scripted:
        check_protocol(
            scripted.model(),
            streams=[Sample(stream=stream, body=b'{"events":[%b]}' % b",".join(events))],
            wire=ResponseStart | TextStart | TextDelta | TextEnd | ResponseEnd,
        )


def test_a_long_stream_is_cut_at_many_places_and_its_end() -> None:
    long = framed(*[{"text": "word " * 20}] * 60, {"finish": "stop"})
    check_protocol(tiny.TINY, streams=[long], examples=5)


# -- what does not


def broken(**functions: object) -> Protocol[Any, Any]:
    return msgspec.structs.replace(tiny.TINY, **functions)


def ends_anyhow(state: tiny.State, out: list[Event]) -> None:
    if not state.started:
        raise StreamTruncatedError("nothing came")
    tiny.end(state, out)


def ends_with_what_was_open(state: tiny.State, out: list[Event]) -> None:
    """The end is taken for proved as soon as there is all of this text."""
    state.finish = state.finish or ("stop" if state.opened else "")
    tiny.finish(state, out)


def wrong_error(state: tiny.State, out: list[Event]) -> None:
    if not state.finish:
        raise OverloadedError("the stream ended")
    tiny.end(state, out)


def late_usage(state: tiny.State, frame: Frame, out: list[Event]) -> None:
    if state.ended:
        out.append(TextStart(id="b9"))
        return
    tiny.step(state, frame, out)


def no_start(state: tiny.State, frame: Frame, out: list[Event]) -> None:
    state.started = True
    tiny.step(state, frame, out)


def raw_decoding(state: tiny.State, frame: Frame, out: list[Event]) -> None:
    if frame.data.strip() not in (b"", b"[DONE]"):
        json.loads(frame.data)
    tiny.step(state, frame, out)


def trusts_types(state: tiny.State, frame: Frame, out: list[Event]) -> None:
    if frame.data.startswith(b"{"):
        try:
            value = json.loads(frame.data)
        except ValueError:
            raise ProtocolError("no JSON") from None
        _ = value.get("text", "") + ""
    tiny.step(state, frame, out)


def looks_at_all_before(state: tiny.State, frame: Frame, out: list[Event]) -> None:
    tiny.step(state, frame, out)
    for event in out:
        len(event.type)


SHARED = tiny.State("test")


def remembers(model: Any, mint: object, sink: object) -> tiny.State:
    return SHARED


class Cell:
    """A place outside the state."""

    text = ""


def meddles(state: tiny.State, frame: Frame, out: list[Event]) -> None:
    """Keeps the last text of any stream, and resets it at each start."""
    before = len(out)
    tiny.step(state, frame, out)
    if isinstance(out[before : before + 1][0] if len(out) > before else None, ResponseStart):
        Cell.text = ""
    for place in range(before, len(out)):
        event = out[place]
        if isinstance(event, TextDelta):
            Cell.text += event.text
            out[place] = TextDelta(id=event.id, text=f"{event.text}{len(Cell.text)}")


def parse_without_reason(body: bytes, model: Any, mint: object, sink: object, out: list[Event]) -> None:
    tiny.parse(body, model, mint, sink, out)
    out[-1] = ResponseEnd(stop_reason="unknown")


def parse_without_text(body: bytes, model: Any, mint: object, sink: object, out: list[Event]) -> None:
    tiny.parse(body.replace(b"Hello", b"Hell"), model, mint, sink, out)


def parse_any_beginning(body: bytes, model: Any, mint: object, sink: object, out: list[Event]) -> None:
    try:
        tiny.parse(body, model, mint, sink, out)
    except ProtocolError:
        out[:] = [ResponseStart(provider="test"), ResponseEnd(stop_reason="stop")]


def error_of_json(status: int, headers: object, body: bytes, model: Any) -> LLMError:
    return OverloadedError(json.loads(body)["error"])


def error_of_none(status: int, headers: object, body: bytes, model: Any) -> Any:
    return None


BROKEN: dict[str, tuple[dict[str, object], Any, str]] = {
    "the end of the bytes is taken for the end": ({"finish": ends_anyhow}, AssertionError, "a success"),
    "open text is taken for proof": ({"finish": ends_with_what_was_open}, AssertionError, "without all of the content"),
    "a cut is another error": ({"finish": wrong_error}, AssertionError, "no StreamTruncatedError"),
    "events out of order": ({"step": no_start}, AssertionError, "before the response has started"),
    "a foreign exception": ({"step": raw_decoding}, ValueError, ""),
    "an odd type": ({"step": trusts_types}, (TypeError, AttributeError), ""),
    "quadratic work": ({"step": looks_at_all_before}, AssertionError, "work grows faster"),
    "a state for all": ({"start": remembers}, AssertionError, ""),
    "state outside the state": ({"step": meddles}, AssertionError, ""),
    "a body without its reason": ({"parse": parse_without_reason}, AssertionError, "stop_reason: streamed 'stop'"),
    "a body without its text": ({"parse": parse_without_text}, AssertionError, "content: streamed"),
    "a beginning of a body": ({"parse": parse_any_beginning}, AssertionError, "bytes of a body pass for it"),
    "an error's body that is no JSON": ({"error": error_of_json}, Exception, ""),
    "an error that is none": ({"error": error_of_none}, AssertionError, "gives NoneType"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_protocol_is_told(fault: str) -> None:
    functions, kind, words = BROKEN[fault]
    with pytest.raises(kind, match=words or None):
        check_protocol(broken(**functions), streams=[Sample(stream=HELLO, body=BODY)], examples=100)


def test_events_behind_the_end_are_told() -> None:
    with pytest.raises(AssertionError, match="after the response has ended"):
        check_protocol(broken(step=late_usage), streams=[HELLO + b'data: {"usage":1}\n\n'])


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        (Sample(stream=HELLO[:-20]), "a sample ends in StreamTruncatedError"),
        (Sample(stream=BUSY), "a sample ends in OverloadedError"),
        (Sample(stream=HELLO, error=OverloadedError), "not in OverloadedError"),
        (Sample(stream=HELLO, body=b"{}"), "the body of a sample ends in"),
    ],
)
def test_a_sample_that_is_none_is_told(sample: Sample, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_protocol(tiny.TINY, streams=[sample], examples=5)


def test_nothing_to_check_is_no_success() -> None:
    with pytest.raises(ValueError, match="at least one stream"):
        check_protocol(tiny.TINY, streams=[])


def test_a_body_that_is_none_is_told() -> None:
    with pytest.raises(AssertionError, match="a body ends in"):
        check_protocol(tiny.TINY, streams=[HELLO], bodies=[b'{"text":"x"}'], examples=5)


def test_success_at_a_cut_of_a_stream_that_fails_is_told() -> None:
    model = tiny.model("http://127.0.0.1:9/v1")
    failing = b'data: {"text":"Hi"}\n\ndata: {"finish":"stop"}\n\ndata: {"error":"busy"}\n\n'
    whole = check_splits(model, failing, 5)
    with pytest.raises(AssertionError, match="where the whole stream is an error"):
        check_truncation(model, failing, whole, 5)
