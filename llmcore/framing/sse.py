"""Server-sent events: bytes to frames, by the rules of WHATWG, on bytes.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream

Lines end with LF, CR or CRLF and with nothing else: U+2028, U+0085, vertical tab and their like are data. UTF-8 is
decoded only in an event's name (a line break is one byte, wherever a chunk was cut). One BOM at the start is left out,
and so are comments. The `data` lines of an event are joined by LF; an event without any is no frame, one whose data are
empty is. `id` and `retry` are ignored: nobody reconnects to an answer.

One departure. WHATWG drops what stands after the last blank line; servers exist whose last line is `data: [DONE]` with
no blank line behind it, or no line break. `flush` gives such an event when nothing can be missing from it: its
data begin with a bracket and all brackets are closed, `[DONE]` being such data. A prefix of an object or array never
passes, so an event that was cut gives no frame: the stream then ends without terminal evidence and is known to be
truncated, where half an object would have looked like a provider's mistake.

Work is linear. A line that is not complete waits in one buffer, in which nobody searches again; a byte is copied a
fixed number of times. The buffer and the data of an event are bounded by `MAX_EVENT`.
"""

import re
from typing import Final

from llmcore.errors import ProtocolError
from llmcore.protocol import Frame

MAX_EVENT: Final = 64 * 1024 * 1024
"""Bytes of one line and of the data of one event: more than any image that comes inside an event, and a bound on what
a server can make us hold."""

_BOM: Final = b"\xef\xbb\xbf"
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


class SSEDecoder:
    """The state of one event stream. `feed` gives the frames whose blank line is in the bytes, `flush` the one that
    lacks nothing else.

    Both raise `ProtocolError` for a line, or the data of an event, of more than `limit` bytes. Frames that stand before
    it in the same bytes are given first, and the error is raised by the next call.
    """

    __slots__ = ("_after_cr", "_at_start", "_data", "_error", "_idle", "_limit", "_name", "_tail")

    def __init__(self, limit: int = MAX_EVENT) -> None:
        self._limit = limit
        self._reset()

    def _reset(self) -> None:
        self._idle = False  # between two events, with nothing held: the next bytes may be one whole frame
        self._at_start = True
        self._after_cr = False  # the last byte was a CR: an LF that comes next belongs to it
        self._tail = bytearray()  # the line that is not complete
        self._name = ""  # of the event that is not complete
        self._data: bytes | bytearray | None = None  # of that event: one line, or several in a bytearray
        self._error: ProtocolError | None = None

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that `data` completes, in order; none to many."""
        # One whole frame, as most reads are: `data: …` or `event: …` and `data: …`, then the blank line.
        size = len(data)
        if self._idle and size <= self._limit:
            name, start, end = "", 6, data.find(b"\n")
            if data.startswith(b"event: "):
                name, start, end = data[7:end].decode("utf-8", "replace"), end + 7, data.find(b"\n", end + 1)
            if data.startswith(b"data: ", start - 6):
                if end == size - 2 and data.endswith(b"\n") and b"\r" not in data:
                    return [Frame(data[start:end], name)]
                if end == size - 3 and data.endswith(b"\r\n\r\n") and data.find(b"\r") == size - 4:
                    return [Frame(data[start : end - 1], name)]
        if self._error is not None:
            raise self._error
        out = list[Frame]()
        lines = self._split(data)
        if lines:
            self._lines(lines, out)
        self._idle = not (
            self._tail or self._data is not None or self._name or self._after_cr or self._at_start or self._error
        )
        if self._error is not None and not out:
            raise self._error
        return out

    def flush(self) -> list[Frame]:
        """The event that the end of the bytes parted from its blank line, if nothing else is missing from it. The
        decoder is as new after that."""
        if self._error is not None:
            raise self._error
        last = bytes(self._tail)
        if self._at_start:
            last = last.removeprefix(_BOM)
        out = list[Frame]()
        if last.startswith(b"data:"):  # any other field may have lost the end of its value
            self._lines(self._bounded([last]), out)
        if self._error is not None:
            raise self._error
        if self._data is not None and _closed(self._data):
            out.append(Frame(bytes(self._data), self._name))
        self._reset()
        return out

    def _split(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their ends. What is left waits in the tail."""
        if self._after_cr and data:
            self._after_cr = False
            data = data.removeprefix(b"\n")
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        # Only what is held and what comes now can make something too long: most reads need no look at each line.
        near = len(self._tail) + len(self._data or b"") + len(data) > self._limit
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines and self._tail:
            self._tail += lines[0]
            lines[0] = bytes(self._tail)
            self._tail = bytearray()
        if lines and self._at_start:
            self._at_start = False
            lines[0] = lines[0].removeprefix(_BOM)
        if near:
            lines = self._bounded(lines)
        if rest:
            self._tail += rest
        if near and len(self._tail) - (self._at_start and _BOM.startswith(self._tail[:3])) * 3 > self._limit:
            self._fail("a line")
        return lines

    def _lines(self, lines: list[bytes], out: list[Frame]) -> None:
        """Takes whole lines and appends the frames that they complete to `out`."""
        name, data = self._name, self._data
        for line in lines:
            if line.startswith(b"data: "):
                value = line[6:]
            elif not line:
                if data is not None:
                    out.append(Frame(bytes(data), name))
                    data = None
                name = ""
                continue
            elif line.startswith(b"event: "):
                name = line[7:].decode("utf-8", "replace")
                continue
            else:
                field, _, value = line.partition(b":")  # no blank behind the colon, or a field that is ignored
                if field == b"event":
                    name = value.decode("utf-8", "replace")
                if field != b"data":
                    continue  # a comment, the name, `id`, `retry`, or a field that nobody defined
            if data is None:
                data = value
            else:
                data = data if isinstance(data, bytearray) else bytearray(data)
                data += b"\n"
                data += value
        self._name, self._data = name, data

    def _bounded(self, lines: list[bytes]) -> list[bytes]:
        """`lines` up to the first that is too long or makes its event too long; that one sets the error."""
        size = -1 if self._data is None else len(self._data)  # the LF between two lines is data
        for index, line in enumerate(lines):
            if line.startswith(b"data:"):
                size += 1 + len(line[5:].removeprefix(b" "))
            elif line == b"data":
                size += 1
            elif not line:
                size = -1
            if max(len(line), size) > self._limit:
                self._fail("a line" if len(line) > self._limit else "an event")
                return lines[:index]
        return lines

    def _fail(self, what: str) -> None:
        if self._error is None:
            self._error = ProtocolError(f"server-sent events: {what} of more than {self._limit} bytes")
        self._tail.clear()


def _closed(data: bytes | bytearray) -> bool:
    """Whether `data` begins with a bracket and every bracket in it, strings left out, is closed. True for no proper
    prefix of a JSON object or array."""
    if not data.lstrip().startswith((b"{", b"[")):
        return False
    bare = _STRING.sub(b"", data)
    opened, closed = bare.count(b"{") + bare.count(b"["), bare.count(b"}") + bare.count(b"]")
    return opened == closed and b'"' not in bare
