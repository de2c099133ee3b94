"""One call that property-tests a framing: `check_framing`."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from hypothesis import strategies as st

from llmcore.errors import ProtocolError
from llmcore.framing import Framing
from llmcore.protocol import Frame
from llmcore.testing.drawing import TIMES, calls_in, drawn
from llmcore.testing.strategies import changed_bytes, json_values, splits

SMALL: Final = 100

json_frames: Final[st.SearchStrategy[Frame]] = st.builds(
    Frame,
    st.dictionaries(st.text('ab"\\{}\n\u2028é', max_size=4), json_values(4), max_size=3).map(msgspec.json.encode),
    st.sampled_from(["", "delta", "message_stop"]),
)
"""Frames as most wires have them: a JSON object, with a name or without."""


def check_framing(
    framing: Framing,
    encode: Callable[[Frame], bytes],
    *,
    frames: st.SearchStrategy[Frame] = json_frames,
    examples: int = 100,
) -> None:
    """Holds a framing to what must be true of every one. Raises `AssertionError` saying what is not; any exception of
    the framing's that is no `ProtocolError` comes through as it is.

    `encode` writes a frame as a server would; `frames` are those that it can write. `examples` is how many cases
    hypothesis draws for each of the properties:

    - what `encode` wrote is read back, frame by frame, however the bytes are cut;
    - a stream that is cut off gives its first frames and no other;
    - changed bytes and any other bytes give frames or a `ProtocolError`, the same however they are cut;
    - two streams read side by side do not meddle;
    - the number of calls of functions is linear in the number of bytes, fed one by one. (What one call copies is not
      seen.)
    """
    lists = st.lists(frames, max_size=4)

    def read_back(case: tuple[list[Frame], st.DataObject]) -> None:
        written, data = case
        stream = b"".join([encode(frame) for frame in written])
        for pieces in ([stream], _bytes(stream), data.draw(splits(stream))):
            seen, error = _read(framing, pieces)
            assert error is None, f"{stream!r} in {len(pieces)} pieces: {error!r}"
            assert seen == written, f"{stream!r} in {len(pieces)} pieces: {seen}, written was {written}"
        for size in range(len(stream)):
            seen, error = _read(framing, [stream[:size]])
            assert seen == written[: len(seen)], f"cut at byte {size} of {stream!r}: {seen}, of {written}"

    def same(case: tuple[bytes, st.DataObject]) -> None:
        stream, data = case
        whole = _read(framing, [stream])
        for pieces in (_bytes(stream), data.draw(splits(stream))):
            other = _read(framing, pieces)
            assert other[0] == whole[0], (
                f"{stream!r} in {[len(p) for p in pieces]} bytes: {other[0]}, whole: {whole[0]}"
            )
            assert str(other[1]) == str(whole[1]), f"{stream!r}: {other[1]!r}, whole: {whole[1]!r}"

    drawn(examples, st.tuples(lists, st.data()), read_back)
    streams = lists.map(lambda written: b"".join([encode(frame) for frame in written]))
    drawn(examples, st.tuples(st.binary(max_size=60) | streams.flatmap(changed_bytes), st.data()), same)
    drawn(examples, st.tuples(lists, lists), lambda case: _side_by_side(framing, encode, *case))
    drawn(3, frames, lambda frame: _growth(framing, encode(frame)))


def _read(framing: Framing, pieces: Sequence[bytes]) -> tuple[list[Frame], ProtocolError | None]:
    """The frames before the error, and the error."""
    framer, out = framing.start(), list[Frame]()
    try:
        for piece in pieces:
            out += framer.feed(piece)
        out += framer.flush()
    except ProtocolError as problem:
        return out, problem
    return out, None


def _bytes(stream: bytes) -> list[bytes]:
    return [stream[place : place + 1] for place in range(len(stream))]


def _side_by_side(framing: Framing, encode: Callable[[Frame], bytes], one: list[Frame], other: list[Frame]) -> None:
    framers = (framing.start(), framing.start())
    outs = (list[Frame](), list[Frame]())
    streams = [b"".join([encode(frame) for frame in frames]) for frames in (one, other)]
    for place in range(max(map(len, streams))):
        for framer, out, stream in zip(framers, outs, streams, strict=True):
            out.extend(framer.feed(stream[place : place + 1]))
    for framer, out, frames in zip(framers, outs, (one, other), strict=True):
        out.extend(framer.flush())
        assert out == frames, "two streams read side by side meddle: state is shared between them"


def _growth(framing: Framing, frame: bytes) -> None:
    small, large = [_work(framing, frame * times) for times in (SMALL, SMALL * TIMES)]
    assert large <= small * TIMES * 1.1 + 100, (
        f"work grows faster than the number of bytes: {small} calls for {SMALL} frames, {large} for {SMALL * TIMES}"
    )


def _work(framing: Framing, stream: bytes) -> int:
    framer = framing.start()

    def read() -> None:
        for place in range(len(stream)):
            framer.feed(stream[place : place + 1])
        framer.flush()

    return calls_in(read)
