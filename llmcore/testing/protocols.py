"""One call that property-tests a protocol: `check_protocol`."""

from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest
from typing import Any, Final

import msgspec
from hypothesis import strategies as st

from llmcore.auth import none
from llmcore.errors import LLMError, StreamTruncatedError
from llmcore.events import Event
from llmcore.framing import SSE, Framing
from llmcore.ids import counter
from llmcore.media import MediaSink
from llmcore.protocol import Frame, Protocol
from llmcore.route import Model, Route, post
from llmcore.schema.message import Message
from llmcore.schema.parts import Part, ToolCall, ToolResult
from llmcore.testing.drawing import TIMES, calls_in, drawn
from llmcore.testing.reading import Reading, frames_of, read_body, read_frames, read_stream
from llmcore.testing.strategies import changed_bytes, changed_frames, changed_json, splits, truncations, wire_events

EVERY_BYTE: Final = 2000
"""Bytes of a sample up to which it is truncated at every byte; a longer one at so many places, its last bytes among
them."""
SMALL: Final = 50
"""How often a frame is repeated to see work grow: `SMALL` times, and `TIMES` as often."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """A stream of the wire, framed. `body` is the whole body that says the same; `error` the class of the error that
    the stream ends in, where it should."""

    stream: bytes
    body: bytes | None = None
    error: type[LLMError] | None = None


def check_protocol(
    subject: Protocol[Any, Any] | Route[Any, Any] | Model[Any],
    *,
    streams: Iterable[bytes | Sample],
    bodies: Iterable[bytes] = (),
    framing: Framing = SSE,
    wire: Any = None,
    examples: int = 50,
) -> None:
    """Holds a protocol to what must be true of every one. Raises `AssertionError` saying what is not; any exception of
    the protocol's that is no `LLMError` comes through as it is.

    `streams` are samples of the wire, `bodies` whole bodies besides those of the samples; `framing` is for a bare
    protocol, a route and a model have theirs. `wire` is the type of the wire's events (a `msgspec` struct or union), if
    frames should be made from it, too. `examples` is how many cases hypothesis draws for each of the properties:

    - a sample gives events in the order that `llmcore.lifecycle` states, its response or its error, and the same
      however its bytes are cut; two streams read side by side do not meddle;
    - cut off at any byte, it gives a beginning of its events and a `StreamTruncatedError`; it passes for finished only
      where content, calls and stop reason are those of the whole: where the evidence of its end had come;
    - a stream and the whole body that says the same give equal content, stop reason and usage; no beginning of a body
      passes for one;
    - odd, lost, doubled, cut and shuffled frames, changed bytes and any other bytes, as a stream, a body or an error's
      body, give events in order or an `LLMError`, and nothing else;
    - the number of calls of functions is linear in the number of frames. (What one call copies is not seen.)
    """
    model = _model(subject, framing)
    samples = [each if isinstance(each, Sample) else Sample(stream=each) for each in streams]
    if not samples:
        raise ValueError("check_protocol needs at least one stream")
    whole = [*bodies, *[sample.body for sample in samples if sample.body is not None]]
    readings = [_check_sample(model, sample, examples) for sample in samples]
    for sample, reading in zip(samples, readings, strict=True):
        check_truncation(model, sample.stream, reading, examples)
        if sample.body is not None:
            check_equal(reading, read_body(model, sample.body))
        check_growth(model, sample.stream)
    _check_side_by_side(model, samples, readings)
    for body in whole:
        check_body(model, body, examples)
    check_accidents(model, [sample.stream for sample in samples], whole, examples)
    if wire is not None:
        check_wire_events(model, wire, examples)


def _model(subject: Protocol[Any, Any] | Route[Any, Any] | Model[Any], framing: Framing) -> Model[Any]:
    if isinstance(subject, Model):
        return subject
    if isinstance(subject, Route):
        return subject.model("m", base_url="https://api.example.com")
    route: Route[Any, Any] = Route(
        id="test/api",
        protocol=subject,
        base_url="https://api.example.com",
        endpoint=post("/answers"),
        auth=none(),
        framing=framing,
    )
    return route.model("m")


# -- a sample, and its cuts


def _check_sample(model: Model[Any], sample: Sample, examples: int) -> Reading:
    reading = check_splits(model, sample.stream, examples)
    if sample.error is None:
        assert reading.error is None, f"a sample ends in {reading.error!r}: {_shown(sample.stream)}"
    else:
        assert isinstance(reading.error, sample.error), f"a sample ends in {reading!r}, not in {sample.error.__name__}"
    return reading


def check_splits(model: Model[Any], stream: bytes, examples: int) -> Reading:
    """The same bytes give the same reading however they are cut: as one, byte by byte, anywhere. Gives that reading."""
    whole = read_stream(model, [stream])
    assert whole.problems == [], f"{whole.problems}: {_shown(stream)}"

    def same(pieces: list[bytes]) -> None:
        other = read_stream(model, pieces)
        assert other.same_as(whole), f"cut into {[len(piece) for piece in pieces]} bytes: {other!r}, whole: {whole!r}"

    same([stream[place : place + 1] for place in range(len(stream))])
    drawn(examples, splits(stream), same)
    return whole


def check_truncation(model: Model[Any], stream: bytes, whole: Reading, examples: int) -> None:
    """Cut off at any byte, a stream gives a beginning of its events, and no success before the evidence of its end."""

    def holds(part: bytes) -> None:
        _check_cut(read_stream(model, [part]), whole, f"cut at byte {len(part)} of {len(stream)}")

    step = -(-len(stream) // EVERY_BYTE)
    for place in [*range(0, len(stream), step), *range(max(0, len(stream) - 200), len(stream))]:
        holds(stream[:place])
    if step > 1:
        drawn(examples, truncations(stream), holds)


def _check_cut(cut: Reading, whole: Reading, where: str) -> None:
    assert cut.problems == [], f"{where}: {cut.problems}"
    if cut.error is None:
        done, full = cut.response, whole.response
        assert done is not None
        assert full is not None, f"{where}: a success, where the whole stream is an error: {whole.error!r}"
        assert _content(done.message) == _content(full.message), f"{where}: a success without all of the content"
        assert (done.stop_reason, done.raw_stop_reason) == (full.stop_reason, full.raw_stop_reason), (
            f"{where}: a success before the evidence of the end: the stop reason is {done.raw_stop_reason!r}, "
            f"of the whole {full.raw_stop_reason!r}"
        )
        return
    same_error = type(cut.error) is type(whole.error) and str(cut.error) == str(whole.error)
    assert isinstance(cut.error, StreamTruncatedError) or same_error, f"{where}: {cut.error!r}, no StreamTruncatedError"
    assert cut.events == whole.events[: len(cut.events)], f"{where}: events that the whole stream does not begin with"


def _check_side_by_side(model: Model[Any], samples: Sequence[Sample], readings: Sequence[Reading]) -> None:
    """Two streams of one protocol read in turn, frame by frame, are as each is alone."""
    protocol = model.route.protocol
    one, other = samples[0], samples[-1]
    outs = (list[Event](), list[Event]())
    states = [protocol.start(model, counter(), MediaSink()) for _ in outs]
    failed = [False, False]
    for pair in zip_longest(frames_of(model, one.stream), frames_of(model, other.stream)):
        for at, frame in enumerate(pair):
            if frame is None or failed[at]:
                continue
            try:
                protocol.step(states[at], frame, outs[at])
            except LLMError:
                failed[at] = True
    for out, reading in zip(outs, (readings[0], readings[-1]), strict=True):
        assert out == reading.events[: len(out)], "two streams read side by side meddle: state is shared between them"


# -- whole bodies


def check_body(model: Model[Any], body: bytes, examples: int) -> None:
    """A body gives a response, in order; no beginning of it does."""
    reading = read_body(model, body)
    assert reading.problems == [], f"{reading.problems}: {_shown(body)}"
    assert reading.error is None, f"a body ends in {reading.error!r}: {_shown(body)}"

    def refused(part: bytes) -> None:
        assert read_body(model, part).error is not None, f"{len(part)} of {len(body)} bytes of a body pass for it"

    bare = body.rstrip()
    drawn(examples, truncations(bare), refused)
    for size in {0, 1, len(bare) // 2, len(bare) - 1}:
        refused(bare[:size])


def check_equal(streamed: Reading, whole: Reading) -> None:
    """A stream and a whole body say the same, ids left out."""
    assert whole.response is not None, f"the body of a sample ends in {whole!r}"
    assert streamed.response is not None
    one, other = streamed.response, whole.response
    pairs = {
        "content": (_content(one.message), _content(other.message)),
        "stop_reason": (one.stop_reason, other.stop_reason),
        "raw_stop_reason": (one.raw_stop_reason, other.raw_stop_reason),
        "usage": (
            msgspec.structs.replace(one.usage, native=None),
            msgspec.structs.replace(other.usage, native=None),
        ),
    }
    for name, (left, right) in pairs.items():
        assert left == right, f"{name}: streamed {left!r}, whole {right!r}"


def _content(message: Message) -> list[Part]:
    """The parts, their ids replaced by their number."""
    ids = dict[str, str]()
    out = list[Part]()
    for part in message.content:
        match part:
            case ToolCall():
                ids[part.id] = f"call {len(ids)}"
                out.append(msgspec.structs.replace(part, id=ids[part.id]))
            case ToolResult():
                named = ids.get(part.tool_call_id, part.tool_call_id)
                out.append(msgspec.structs.replace(part, tool_call_id=named))
            case _:
                out.append(part)
    return out


# -- accidents


def check_accidents(model: Model[Any], streams: Sequence[bytes], bodies: Sequence[bytes], examples: int) -> None:
    """Whatever comes: events in order, or an error of ours. Any other exception comes through."""

    def bytes_hold(data: bytes) -> None:
        check_splits(model, data, 1)
        body_holds(data)
        reading = read_frames(model, [Frame(data)])
        assert reading.problems == [], f"{reading.problems}: {_shown(data)}"

    def body_holds(data: bytes) -> None:
        reading = read_body(model, data)
        assert reading.problems == [], f"{reading.problems}: {_shown(data)}"

    drawn(examples, st.binary(max_size=100) | st.text(max_size=40).map(str.encode), bytes_hold)
    drawn(examples, st.sampled_from(streams).flatmap(changed_bytes), bytes_hold)
    frames = [frames_of(model, stream) for stream in streams]
    drawn(examples, st.sampled_from(frames).flatmap(changed_frames), lambda case: _frames_hold(model, case))
    if bodies:
        drawn(examples, st.sampled_from(bodies).flatmap(changed_bytes), body_holds)
        values = [value for body in bodies if (value := _json(body)) is not None]
        if values:
            odd = st.sampled_from(values).flatmap(changed_json).map(_dumped)
            drawn(examples, odd, body_holds)
    statuses = st.integers(300, 599)
    texts = st.binary(max_size=60) | st.sampled_from([*streams, *bodies, b"", b"<html>", b"{}", b'{"error":null}'])
    drawn(examples, st.tuples(statuses, texts), lambda case: _error_holds(model, *case))


def check_wire_events(model: Model[Any], wire: Any, examples: int) -> None:
    """Frames made from the type of the wire's events, in any order, some with odd values: events in order, or an
    error of ours."""
    events = wire_events(wire)
    odd = events.flatmap(changed_json)
    frames = st.lists((events | odd).map(lambda value: Frame(_dumped(value), _name(value))), max_size=6)
    drawn(examples, frames, lambda case: _frames_hold(model, case))


def _frames_hold(model: Model[Any], frames: Sequence[Frame]) -> None:
    reading = read_frames(model, frames)
    assert reading.problems == [], f"{reading.problems}: {[_shown(frame.data) for frame in frames]}"


def _error_holds(model: Model[Any], status: int, body: bytes) -> None:
    error = model.route.protocol.error(status, (("content-type", "application/json"),), body, model)
    assert isinstance(error, LLMError), f"error() gives {type(error).__name__} for {status} and {_shown(body)}"  # pyright: ignore[reportUnnecessaryIsInstance]  # a stranger's function


def _json(body: bytes) -> object:
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _dumped(value: object) -> bytes:
    import json  # msgspec does not write a lone surrogate, which a wire can carry as an escape

    return json.dumps(value).encode()


def _name(value: object) -> str:
    """The name that a framing would give: the tag, where there is one."""
    tag: object = value.get("type") if isinstance(value, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # JSON
    return tag if isinstance(tag, str) else ""


# -- growth


def check_growth(model: Model[Any], stream: bytes) -> None:
    """The calls of functions are linear in the number of frames: each frame of the stream that may stand several times
    is repeated, and what comes on top for eight times as many is at most eight times as much."""
    frames = frames_of(model, stream)
    seen = set[bytes]()
    for place, frame in enumerate(frames):
        if frame.data in seen or len(seen) >= 12:
            continue
        seen.add(frame.data)
        counts = [_work(model, frames, place, times) for times in (1, 1 + SMALL, 1 + SMALL * TIMES)]
        if None in counts:
            continue
        one, small, large = [count for count in counts if count is not None]
        allowed = (small - one) * TIMES * 1.1 + 100
        assert large - one <= allowed, (
            f"work grows faster than the number of frames: {small - one} calls for {SMALL} more frames, "
            f"{large - one} for {SMALL * TIMES} more, of {_shown(frame.data)}"
        )


def _work(model: Model[Any], frames: Sequence[Frame], place: int, times: int) -> int | None:
    """The calls of functions while the stream is read with one frame repeated; `None` where it may not be repeated."""
    repeated = chain(frames[:place], [frames[place]] * times, frames[place + 1 :])
    protocol, out = model.route.protocol, list[Event]()
    state = protocol.start(model, counter(), MediaSink())

    def read() -> None:
        for frame in repeated:
            protocol.step(state, frame, out)

    try:
        return calls_in(read)
    except LLMError:
        return None


def _shown(data: bytes) -> str:
    return repr(data) if len(data) <= 200 else f"{data[:200]!r}… ({len(data)} bytes)"
