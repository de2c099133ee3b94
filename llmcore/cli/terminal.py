"""What every command writes on a terminal, or to whatever stands in its place: lines on stderr, and text from outside
made harmless.

What a provider sends is shown, never obeyed: on a terminal its control characters (which could move the cursor, set the
clipboard or hide text) stand as escapes. Into a pipe or a file text goes as it came.
"""

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final, TextIO

_CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))} | {
    ord("\n"): "\n",
    ord("\t"): "\t",
    ord("\r"): "",  # of a line's end; alone it would write over the line
}


def printable(text: str) -> str:
    """`text` with its control characters escaped, for a terminal."""
    return text.translate(_CONTROLS)


def is_terminal(stream: TextIO) -> bool:
    """Whether a person reads `stream`."""
    return not stream.closed and stream.isatty()


def say(message: str) -> None:
    """Writes `llmcore: message`, made one harmless line, to stderr, where somebody still reads it."""
    with suppress(BrokenPipeError):  # the exit status says it too
        print(f"llmcore: {printable(' '.join(message.split()))}", file=sys.stderr, flush=True)


def write_line(out: TextIO, line: bytes) -> None:
    """Writes the bytes and a line's end to `out` now, whatever its encoding is: JSON and commands are UTF-8."""
    out.flush()
    out.buffer.write(line + b"\n")
    out.buffer.flush()


class _Said(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(f"warning: {record.getMessage()}")


@contextmanager
def warnings_said() -> Generator[None, None, None]:
    """Within, what llmcore logs as a warning (what a request loses on its way) is a line on stderr."""
    logger, handler = logging.getLogger("llmcore"), _Said(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
