"""`check_framing` passes what keeps the contract and tells what does not."""

import struct
from collections.abc import Callable
from typing import ClassVar

import pytest
from hypothesis import strategies as st

from llmcore.errors import ProtocolError
from llmcore.framing import SSE, Framing
from llmcore.framing.sse import SSEDecoder
from llmcore.protocol import Frame
from llmcore.testing import check_framing


def sse(frame: Frame) -> bytes:
    name = b"event: %b\n" % frame.name.encode() if frame.name else b""
    return name + b"data: %b\n\n" % frame.data


def line(frame: Frame) -> bytes:
    return frame.data + b"\n"


def sized(frame: Frame) -> bytes:
    return struct.pack(">H", len(frame.data)) + frame.data


class Lines:
    """JSON lines."""

    def __init__(self) -> None:
        self.tail = b""

    def feed(self, data: bytes) -> list[Frame]:
        *lines, self.tail = (self.tail + data).split(b"\n")
        return [Frame(line) for line in lines]

    def flush(self) -> list[Frame]:
        return []


class Sized:
    """Frames behind their size; 4096 bytes at most."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.error: ProtocolError | None = None

    def feed(self, data: bytes) -> list[Frame]:
        if self.error is not None:
            raise self.error
        self.data += data
        out = list[Frame]()
        while len(self.data) >= 2:
            (size,) = struct.unpack_from(">H", self.data)
            if size > 4096:
                self.error = ProtocolError("a frame of more than 4096 bytes")
                if out:
                    return out
                raise self.error
            if len(self.data) < 2 + size:
                break
            out.append(Frame(bytes(self.data[2 : 2 + size])))
            del self.data[: 2 + size]
        return out

    def flush(self) -> list[Frame]:
        if self.error is not None:
            raise self.error
        return []


NAMELESS = st.builds(Frame, st.sampled_from([b"{}", b'{"a":1}', b'{"b":"\xc3\xa9"}']))

NAMED_ASCII = st.builds(Frame, st.just(b'{"a":1}'), st.sampled_from(["", "x"]))


def framing(start: Callable[[], object]) -> Framing:
    return Framing(id="test", accept="text/plain", start=start)  # type: ignore[arg-type]  # some are broken


def test_server_sent_events_pass() -> None:
    check_framing(SSE, sse)
    check_framing(SSE, lambda frame: b": ping\r\n" + sse(frame).replace(b"\n", b"\r\n"), examples=30)


def test_other_framings_pass() -> None:
    check_framing(framing(Lines), line, frames=NAMELESS)
    check_framing(framing(Sized), sized, frames=NAMELESS)


class NoBuffer(Lines):
    """Takes each read for whole lines."""

    def feed(self, data: bytes) -> list[Frame]:
        return [Frame(line) for line in data.split(b"\n") if line]


class HalfLines(Lines):
    """Gives what is left at the end, whatever it is."""

    def flush(self) -> list[Frame]:
        return [Frame(self.tail)] if self.tail else []


class Shared(Lines):
    """One buffer for all streams."""

    buffers: ClassVar[list[bytes]] = [b""]

    def __init__(self) -> None:
        self.buffers[0] = b""

    def feed(self, data: bytes) -> list[Frame]:
        *lines, self.buffers[0] = (self.buffers[0] + data).split(b"\n")
        return [Frame(line) for line in lines]


class Decoding(Lines):
    """Decodes what comes as UTF-8, wherever it was cut."""

    def feed(self, data: bytes) -> list[Frame]:
        data.decode()
        return super().feed(data)


class Quadratic(Lines):
    """Looks at all lines again for each."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Frame] = []

    def feed(self, data: bytes) -> list[Frame]:
        new = super().feed(data)
        self.seen += new
        for frame in self.seen:
            len(frame.data)
        return new


class LateError(SSEDecoder):
    """An error whose words depend on how the bytes were cut."""

    def feed(self, data: bytes) -> list[Frame]:
        if not data.isascii():
            raise ProtocolError(f"odd bytes among {len(data)}")
        return super().feed(data)


@pytest.mark.parametrize(
    ("start", "kind", "words"),
    [
        (NoBuffer, AssertionError, "pieces"),
        (HalfLines, AssertionError, "cut at byte"),
        (Shared, AssertionError, "meddle"),
        (Decoding, UnicodeDecodeError, ""),
        (Quadratic, AssertionError, "work grows faster"),
    ],
)
def test_a_broken_framing_is_told(start: Callable[[], object], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words or None):
        check_framing(framing(start), line, frames=NAMELESS)


def test_an_error_that_depends_on_the_cuts_is_told() -> None:
    with pytest.raises(AssertionError, match="whole: "):
        check_framing(framing(LateError), sse, frames=NAMED_ASCII)
