"""The rendered look of an answer on a terminal: Markdown, by rich (the extra `llmcore[cli]`).

A finished block (a paragraph, a list, a table) is printed once and stays. The block under way is shown below it, drawn
anew as it grows, and no taller than the terminal: what scrolls away cannot be taken back. Everything of the text is
visible: addresses are written out, and HTML, images and reference definitions stand as they came, where rich would
leave them away.
"""

import threading
from contextlib import suppress
from typing import Final, NamedTuple, TextIO

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment

from llmcore.cli.terminal import printable

_FRAMES: Final = 12
"""Drawings of the block under way, at most, in a second."""
_CODE: Final = "ansi_dark"
"""The terminal's own colours, which suit its background."""
_PARSER: Final = (
    MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable(["image", "reference"])
)


def markdown(text: str) -> Markdown:
    """`text` as Markdown of which nothing is left away."""
    rendered = Markdown("", code_theme=_CODE, hyperlinks=False)
    rendered.parsed = _PARSER.parse(text)
    return rendered


def finished(text: str) -> int:
    """How many characters of `text` are blocks that no further text can change: all but the last block of its
    complete lines."""
    complete = text[: text.rfind("\n") + 1]
    starts = [token.map[0] for token in _PARSER.parse(complete) if token.level == 0 and token.map is not None]
    if not starts:
        return 0
    return sum(len(line) + 1 for line in complete.split("\n")[: max(starts)])


class _Blocks:
    """A text as Markdown, with one empty line before it where it stands `below` other blocks. Of a text that `grows`
    only the last lines, no more than the terminal has."""

    def __init__(self, text: str = "", *, below: bool = False, grows: bool = False) -> None:
        self.text = text
        self.below = below
        self._grows = grows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(markdown(self.text), options, pad=False)
        while lines and not any(segment.text for segment in lines[0]):  # rich puts one before a list that comes first
            del lines[0]
        if self.below and lines:
            lines.insert(0, [])
        for line in lines[-max(1, console.height - 2) :] if self._grows else lines:
            yield from line
            yield Segment.line()


class Rendered:
    """Text as rendered Markdown. `open` is never so: what is printed are whole lines.

    One lock is held round everything that writes to the terminal: the block under way is drawn by a thread, so that a
    model that pauses leaves nothing unseen and a burst of pieces is not drawn piece by piece.
    """

    def __init__(self, out: TextIO) -> None:
        self.open = False
        self._console = Console(file=out, highlight=False)
        self._growing = _Blocks(grows=True)
        self._changed = False
        self._lock = threading.Lock()
        self._drawing: _Drawing | None = None

    def write(self, text: str) -> None:
        """Shows the piece, and prints the blocks that it finishes."""
        growing = self._growing
        with self._lock:
            pending = growing.text + printable(text)
            done = finished(pending) if "\n" in text else 0
            growing.text = pending[done:]
            self._print(pending[:done])
            self._changed = True
        if self._drawing is None and growing.text.strip():
            self._draw()

    def pause(self) -> None:
        """Takes the block under way off the terminal; the next piece shows it again."""
        drawing, self._drawing = self._drawing, None
        if drawing is not None:
            drawing.over.set()
            drawing.thread.join()
            drawing.live.stop()

    def end(self) -> None:
        """Prints what is left."""
        self.pause()
        text, self._growing.text = self._growing.text, ""
        self._print(text)

    def _print(self, text: str) -> None:
        if text.strip():
            below, self._growing.below = self._growing.below, True
            self._console.print(_Blocks(text, below=below), end="")

    def _draw(self) -> None:
        """Begins to draw the block under way."""
        live = Live(
            self._growing,
            console=self._console,
            auto_refresh=False,  # its thread is not locked against ours
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        over = threading.Event()

        def frames() -> None:
            while not over.wait(1 / _FRAMES):
                with self._lock, suppress(OSError):  # the terminal is gone: the next piece says so
                    if self._changed:
                        self._changed = False
                        live.refresh()

        self._drawing = _Drawing(live, over, threading.Thread(target=frames, name="llmcore-draws", daemon=True))
        live.start()
        self._drawing.thread.start()


class _Drawing(NamedTuple):
    """What draws the block under way, until it is `over`."""

    live: Live
    over: threading.Event
    thread: threading.Thread
