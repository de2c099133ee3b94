"""Server-sent events: any bytes and any split, against the words of WHATWG and against httpx-sse."""

import json
import os
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Self

import pytest
from httpx_sse._decoders import SSEDecoder as TheirEvents
from httpx_sse._decoders import SSELineDecoder as TheirLines
from hypothesis import example, given, settings
from hypothesis import strategies as st

from llmcore.errors import ProtocolError
from llmcore.framing import SSE, sse
from llmcore.framing.sse import MAX_EVENT, SSEDecoder
from llmcore.protocol import Frame

BOM = b"\xef\xbb\xbf"

# What makes parsers of event streams stumble, put together at random.
TOKENS = st.sampled_from(
    [
        *(
            b"data: ",
            b"data:",
            b"data:  ",
            b"data",
            b"Data: ",
            b" data: ",
            b"datas: ",
            b"event: ",
            b"event:",
            b"event",
            b"id: 7",
        ),
        *(b"id", b"retry: 10", b"retry", b"foo: bar", b":", b": ping", b" ", b"\n", b"\n", b"\n\n", b"\r", b"\r\n"),
        *(b"\r\n\r\n", b"\n\r", BOM, b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xc2\x85", b"\x0b", b"\x0c", b"\x1c", b"\x1e"),
        *(b"\xff", b"\xe2", b"\x80", b"\xf0\x9f\x98\x80", b"\x00", b"{", b"}", b"[DONE]", b'"', b"\\", b"x", b"delta"),
        *(b"data: x\n\n", b"data: {}\n\n", b"event: delta\ndata: x\n\n", b"data: x\r\n\r\n", b"data: x\r\r"),
    ]
)
STREAMS = st.lists(TOKENS, max_size=24).map(b"".join) | st.binary(max_size=40)


@st.composite
def split_streams(draw: st.DrawFn) -> list[bytes]:
    """A stream in pieces: cut anywhere, some of them empty."""
    stream = draw(STREAMS)
    cuts = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    return [stream[start:end] for start, end in pairwise([0, *cuts, len(stream)])]


def read(pieces: Iterable[bytes], limit: int = MAX_EVENT) -> tuple[list[Frame], list[Frame] | None]:
    """The frames of `feed` and of `flush`; `None` for the latter where an error was raised."""
    decoder, frames = SSEDecoder(limit), list[Frame]()
    try:
        for piece in pieces:
            frames += decoder.feed(piece)
        return frames, decoder.flush()
    except ProtocolError:
        return frames, None


def whatwg(stream: bytes) -> list[tuple[str, str]]:
    """Event types and data, from the words of the standard (9.2.6), slowly.

    The stream is decoded as UTF-8, which takes one BOM away; lines end with CRLF, LF or CR; what follows the last end
    of a line is no line, and an event that no empty line follows is discarded.
    """
    text = stream.decode("utf-8", "replace").removeprefix("\ufeff")
    events, data, event_type = list[tuple[str, str]](), "", ""
    for line in re.split("\r\n|\n|\r", text)[:-1]:
        if line == "":
            if data != "":
                events.append((event_type, data.removesuffix("\n")))
            data, event_type = "", ""
            continue
        if line.startswith(":"):
            continue
        field, value = line, ""
        if ":" in line:
            field, value = line[: line.index(":")], line[line.index(":") + 1 :]
            value = value.removeprefix(" ")
        if field == "event":
            event_type = value
        elif field == "data":
            data += value + "\n"
    return events


def as_text(frames: Sequence[Frame]) -> list[tuple[str, str]]:
    return [(frame.name, frame.data.decode("utf-8", "replace")) for frame in frames]


# ---- the rules


@given(split_streams())
@settings(max_examples=200, deadline=None)
@example([b"data: a\r", b"\n\r", b"\n"])
@example([BOM[:1], BOM[1:], b"data: a\n\n"])
@example([b"data: a\n\n", BOM + b"data: b\n\n"])  # a BOM in the middle is part of a field's name
@example([b"data: a\n\n", b"data: \r\n\r\n", b"data: b\r\r\n\r\n"])
@example([b"data: a\n\n", b"event: x\ndata: b\n\n", b"event: y\r\ndata: c\n\n", b"event: z"])
@example([b"x\n\n", b"data: a\n\r\n"])
@example([b"\n", b"data:  a\n\n", b"event:  e\ndata:  b\n\n"])
@example([b"\n", b"data: a\n", b"data: b\n\n", b"event: e\n", b"data: c\n\n", b"da", b"data: d\n\n"])
def test_any_bytes_and_any_split_follow_the_standard(pieces: list[bytes]) -> None:
    stream = b"".join(pieces)
    whole, rest = read([stream])
    assert as_text(whole) == whatwg(stream)
    assert read(pieces) == (whole, rest)
    assert read(re.findall(b"[^\n]*\n|[^\n]+", stream)) == (whole, rest)
    assert read([stream[i : i + 1] for i in range(len(stream))]) == (whole, rest)
    assert all(frame.kind == "event" for frame in whole)


def test_the_framing_that_routes_name_uses_this_decoder() -> None:
    framer = SSE.start()
    assert framer.feed(b"event: a\ndata: b\n\n") == [Frame(b"b", "a")]
    assert framer.flush() == []
    assert SSE.accept == "text/event-stream"


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_every_line_ending_and_size_of_read(end: bytes, size: int) -> None:
    stream = BOM + end.join([b": hello", b"event: e", b"data: 1", b"data: 2", b"", b"data:3", b"id: 9", b"", b""])
    pieces = [stream[i : i + size] for i in range(0, len(stream), size)]
    assert read(pieces) == ([Frame(b"1\n2", "e"), Frame(b"3")], [])


def test_a_carriage_return_at_the_edge_of_a_read_dispatches_at_once() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b"data: a\r\n\r") == [Frame(b"a")]  # the LF that may follow belongs to this end of line
    assert decoder.feed(b"") == []
    assert decoder.feed(b"\ndata: b\r\r") == [Frame(b"b")]


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"])
def test_hard_case_12_what_str_splitlines_splits_is_data(char: str) -> None:
    payload = f'{{"t":"a{char}b"}}'
    assert len(payload.splitlines()) == 2
    stream = f"data: {payload}\n\ndata: after\n\n".encode()
    expected = [Frame(payload.encode()), Frame(b"after")]
    assert read([stream]) == (expected, [])
    assert read([stream[i : i + 1] for i in range(len(stream))]) == (expected, [])


def test_bytes_that_are_no_utf8_are_passed_on_as_they_are() -> None:
    assert read([b"event: \xff\ndata: \xff\xfe\n\n"]) == ([Frame(b"\xff\xfe", "\ufffd")], [])


def test_hard_case_17_keep_alives_are_frames_only_where_the_standard_says_so() -> None:
    stream = (
        b'data: {"n":1}\n\n'
        b": OPENROUTER PROCESSING\n\n"  # a comment: no frame
        b"event: keepalive\n\n"  # no data: no frame
        b"id: 4\n: ping\n\n"
        b"retry: 100\n\n"
        b"data: : keepalive\n\n"  # data all the same: whoever reads the data skips it
        b"data:\n\n"
        b"data: ping\n\n"
        b'data: ""\n\n'
        b'data: {"n":2}\n\n'
    )
    frames, rest = read([stream])
    assert [frame.data for frame in frames] == [b'{"n":1}', b": keepalive", b"", b"ping", b'""', b'{"n":2}']
    assert {frame.name for frame in frames} == {""}
    assert rest == []


def test_the_name_of_an_event_without_data_does_not_reach_the_next() -> None:
    assert read([b"event: a\n\ndata: x\n\n", b"event: b\n", b"\n", b"data: y\n\n"])[0] == [Frame(b"x"), Frame(b"y")]


# ---- the end of the bytes


OBJECTS = st.recursive(
    st.none() | st.integers(-9, 9) | st.text('ab"\\{}[]é\u2028', max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("k}]", max_size=2), inner, max_size=2),
    max_leaves=6,
)


@given(st.lists(st.tuples(st.sampled_from(["", "delta"]), st.dictionaries(st.text("ab", max_size=2), OBJECTS))))
@settings(max_examples=100, deadline=None)
def test_a_stream_cut_anywhere_gives_a_prefix_of_its_frames(events: list[tuple[str, object]]) -> None:
    """So that truncation is never a broken frame and never another answer."""
    named = [f"event: {name}\n" if name else "" for name, _ in events]
    texts = [json.dumps(value, ensure_ascii=bool(index % 2)) for index, (_, value) in enumerate(events)]
    stream = "".join(f"{name}data: {text}\n\n" for name, text in zip(named, texts, strict=True)).encode()
    stream += b"data: [DONE]\n\n"
    whole = read([stream])[0]
    assert len(whole) == len(events) + 1
    for end in range(len(stream) + 1):
        frames, rest = read([stream[:end]])
        assert rest is not None
        given_ = frames + rest
        assert given_ == whole[: len(given_)]
        assert len(rest) <= 1


@pytest.mark.parametrize("end", ["", "\n", "\r", "\r\n", "\nevent: ne", "\n: comm", "\nid"])
@pytest.mark.parametrize("last", ["[DONE]", '{"a":{"b":"}"}}', ' {"a":"\\""} ', "[1]", '{"n":NaN}', '{"s":"\\ud83d"}'])
def test_flush_gives_an_event_that_lacks_only_its_blank_line(last: str, end: str) -> None:
    frames, rest = read([f"event: e\ndata: {last}{end}".encode()])
    assert frames == []
    assert rest == [Frame(last.encode(), "e")]


@pytest.mark.parametrize("last", ["[DON", '{"a":{}', '{"a":"}', '{"a":"}\\"}', "12", "ping", ": x", "", "true", '"x"'])
@pytest.mark.parametrize("end", ["", "\n"])
def test_flush_drops_an_event_of_which_something_may_be_missing(last: str, end: str) -> None:
    assert read([f"data: {last}{end}".encode()]) == ([], [])


def test_flush_drops_a_field_that_was_cut() -> None:
    assert read([b"dat"]) == ([], [])
    assert read([BOM]) == ([], [])
    assert read([BOM + b"data: {}"]) == ([], [Frame(b"{}")])
    assert read([b"data: {}\ndata: {"]) == ([], [])
    assert read([b"data: [\ndata: ]"]) == ([], [Frame(b"[\n]")])


def test_a_decoder_is_as_new_after_flush() -> None:
    decoder = SSEDecoder()
    decoder.feed(b"event: x\ndata: cu")
    assert decoder.flush() == []
    assert decoder.feed(BOM + b"data: {}\n\n") == [Frame(b"{}")]


# ---- linear work


class Counter:
    def __init__(self) -> None:
        self.bytes = 0


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """Counts the bytes that pass through the buffer of the decoder."""
    counter = Counter()

    class CountedBuffer(bytearray):
        def __iadd__(self, other: bytes) -> Self:  # type: ignore[override]
            counter.bytes += len(other)
            return super().__iadd__(other)  # type: ignore[return-value]

        def __bytes__(self) -> bytes:
            counter.bytes += len(self)
            return bytes(memoryview(self))

        def find(self, *args: object) -> int:
            raise AssertionError("the buffer is searched again")

        split = __contains__ = __getitem__ = __iter__ = find  # type: ignore[assignment]

    monkeypatch.setattr(sse, "bytearray", CountedBuffer, raising=False)
    return counter


def counted(counter: Counter, data: bytes) -> bytes:
    """`data`, every search of which is counted."""

    class Counted(bytes):
        def __contains__(self, key: object) -> bool:
            counter.bytes += len(self)
            return super().__contains__(key)  # type: ignore[arg-type]

    for name in ("find", "split", "replace", "removeprefix"):

        def method(self: bytes, *args: object, _name: str = name) -> object:
            counter.bytes += len(self)
            return getattr(super(Counted, self), _name)(*args)  # type: ignore[misc]

        setattr(Counted, name, method)
    return Counted(data)


@pytest.mark.parametrize("size", [1, 64])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_hard_case_13_a_long_line_is_read_in_linear_work(work: Counter, size: int, end: bytes) -> None:
    totals = list[int]()
    for length in (4_000, 16_000):
        stream = b"data: " + b"x" * length + end + end
        decoder, frames, work.bytes = SSEDecoder(), list[Frame](), 0
        for start in range(0, len(stream), size):
            frames += decoder.feed(counted(work, stream[start : start + size]))
        assert [len(frame.data) for frame in frames] == [length]
        totals.append(work.bytes)
        assert work.bytes <= 8 * len(stream)
    assert totals[1] <= totals[0] * 4.1


def test_hard_case_13_many_events_in_one_read_are_read_in_linear_work(work: Counter) -> None:
    for count in (500, 5_000):
        stream = b"data: x\n\n" * count
        work.bytes = 0
        assert len(SSEDecoder().feed(counted(work, stream))) == count
        assert work.bytes <= 3 * len(stream)


def test_hard_case_13_an_event_of_many_lines_is_joined_in_linear_work(work: Counter) -> None:
    for count in (500, 5_000):
        decoder, work.bytes = SSEDecoder(), 0
        for _ in range(count):
            assert decoder.feed(counted(work, b"data: x\n")) == []
        assert decoder.feed(b"\n") == [Frame(b"\n".join([b"x"] * count))]
        assert work.bytes <= 6 * 8 * count


# ---- limits


@given(split_streams(), st.integers(1, 20))
@settings(max_examples=200, deadline=None)
def test_the_limit_does_not_depend_on_the_split(pieces: list[bytes], limit: int) -> None:
    stream = b"".join(pieces)
    whole = read([stream], limit)
    assert read(pieces, limit) == whole
    assert read([stream[i : i + 1] for i in range(len(stream))], limit) == whole
    assert read([b"\n", stream], limit) == whole or stream.startswith(BOM)
    unbounded = read([stream])
    assert whole[0] == unbounded[0][: len(whole[0])]
    assert whole[1] is None or whole == unbounded


def test_a_line_longer_than_the_limit_is_a_protocol_error() -> None:
    assert read([b"data: 1234\n\n"], limit=10) == ([Frame(b"1234")], [])
    for pieces in ([b"data: 12345"], [b"data: 12345\n\n"], [b": comment 1"], [b"data: ", b"12345"]):
        decoder = SSEDecoder(limit=10)
        assert [decoder.feed(piece) for piece in pieces[:-1]] == [[]] * (len(pieces) - 1)
        with pytest.raises(ProtocolError, match="a line of more than 10 bytes"):
            decoder.feed(pieces[-1])


@pytest.mark.parametrize("event", [b"data: 12345\n\n", b"data: 12345\r\n\r\n", b"event: 123\ndata: 1234567\n\n"])
def test_the_limit_holds_for_an_event_that_comes_alone(event: bytes) -> None:
    decoder = SSEDecoder(limit=10)
    assert decoder.feed(b"data: a\n\n") == [Frame(b"a")]
    with pytest.raises(ProtocolError):
        decoder.feed(event)


def test_an_event_longer_than_the_limit_is_a_protocol_error() -> None:
    decoder = SSEDecoder(limit=10)
    assert decoder.feed(b"data:12345\n") == []
    with pytest.raises(ProtocolError, match="an event of more than 10 bytes") as caught:
        decoder.feed(b"data:12345\n")
    assert "12345" not in str(caught.value)
    assert SSEDecoder(limit=10).feed(b"data:12345\ndata:1234\n\n") == [Frame(b"12345\n1234")]


def test_frames_before_the_limit_come_first_and_the_error_stays() -> None:
    decoder = SSEDecoder(limit=10)
    assert decoder.feed(b"data: a\n\ndata: 123456789\n\ndata: b\n\n") == [Frame(b"a")]
    for _ in range(2):
        with pytest.raises(ProtocolError):
            decoder.feed(b"data: c\n\n")
    with pytest.raises(ProtocolError):
        decoder.flush()


def test_a_last_line_that_makes_the_event_too_long_is_an_error_at_flush() -> None:
    decoder = SSEDecoder(limit=10)
    decoder.feed(b"data:[1234\ndata:567]")
    assert decoder.flush() == [Frame(b"[1234\n567]")]
    decoder.feed(b"data:[1234\ndata:5678]")
    with pytest.raises(ProtocolError):
        decoder.flush()


# ---- the oracle


def httpx_sse(stream: bytes) -> list[tuple[str, str]]:
    """What httpx-sse makes of a whole stream, already decoded as it wants it."""
    lines, events = TheirLines(), TheirEvents()
    text = stream.decode("utf-8", "replace")
    found = [events.decode(line) for line in [*lines.decode(text), *lines.flush()]] if text else []
    return [(event.event, event.data) for event in found if event is not None]


@given(STREAMS.filter(lambda stream: not stream.startswith(BOM)))
@settings(max_examples=200, deadline=None)
def test_httpx_sse_agrees_on_every_event_with_data(stream: bytes) -> None:
    if stream.endswith((b"\n", b"\r")):  # its `flush` gives a line that has no end, an empty one too
        stream += b":"
    ours = [(name or "message", data) for name, data in as_text(read([stream])[0]) if data]
    assert ours == [event for event in httpx_sse(stream) if event[1]]


def test_httpx_sse_departs_from_the_standard_on_the_bom() -> None:
    stream = BOM + b"data: a\n\ndata: b\n\n"
    assert as_text(read([stream])[0]) == whatwg(stream) == [("", "a"), ("", "b")]
    assert httpx_sse(stream) == [("message", "b")]


def test_httpx_sse_departs_from_the_standard_on_events_without_data() -> None:
    stream = b"event: ping\n\nid: 1\n\ndata: a\n\n"
    assert as_text(read([stream])[0]) == whatwg(stream) == [("", "a")]
    assert httpx_sse(stream) == [("ping", ""), ("message", ""), ("message", "a")]


# ---- recorded bytes


@pytest.mark.corpus
def test_recorded_streams_are_read_the_same_in_every_split_and_as_the_oracle_reads_them() -> None:
    corpus = os.environ.get("LLMCORE_CORPUS")
    if not corpus:
        pytest.skip("LLMCORE_CORPUS names no recorded traffic")
    streams = 0
    for case in sorted(Path(corpus).glob("*/*.json")):
        if case.name.endswith(".expected.json"):
            continue
        for interaction in json.loads(case.read_bytes())["interactions"]:
            response = interaction["response"]
            if "event-stream" not in json.dumps(response["headers"]) or "body" not in response:
                continue
            stream = response["body"].encode()
            frames, rest = read([stream])
            assert read([stream[i : i + 1] for i in range(len(stream))]) == (frames, rest), case.name
            assert [(name or "message", data) for name, data in as_text(frames)] == httpx_sse(stream), case.name
            streams += 1
    assert streams > 0
