"""Thoughts between tags: splitting `<think>…</think>` out of a text that comes in pieces."""

from typing import Final, Literal

import msgspec

Piece = tuple[Literal["reasoning", "text"], str]


class ThinkingTags(msgspec.Struct, frozen=True, kw_only=True):
    """The tag pair that encloses thoughts at the start of an answer. `starts_open` is for templates that have written
    the opening tag into the prompt, so that only the closing one comes."""

    open: str = "<think>"
    close: str = "</think>"
    starts_open: bool = False


class TagSplitter:
    """Splits one answer. Tags count at its start only (white space may stand before): what comes later is text, also
    where it mentions a tag. A piece that may be the beginning of a tag is held back until the next one decides."""

    __slots__ = ("_held", "_phase", "_tags")

    def __init__(self, tags: ThinkingTags) -> None:
        self._tags: Final = tags
        self._phase: Literal["start", "thinking", "text"] = "start"
        self._held = ""

    def feed(self, text: str) -> list[Piece]:
        """The pieces that `text` completes, in order; none of them is empty."""
        out = list[Piece]()
        text, self._held = self._held + text, ""
        if self._phase == "start":
            text = self._begin(text)
        if self._phase == "thinking":
            text = self._think(text, out)
        if self._phase == "text" and text:
            out.append(("text", text))
        return out

    def flush(self) -> list[Piece]:
        """What was held back, now that the answer has ended."""
        held, self._held = self._held, ""
        if not held:
            return []
        thinking = self._phase == "thinking" or (self._phase == "start" and self._tags.starts_open)
        return [("reasoning" if thinking else "text", held)]

    def _begin(self, text: str) -> str:
        """Decides whether the answer begins with thoughts; gives what is left to split, or holds it back."""
        opener, stripped = self._tags.open, text.lstrip()
        if stripped.startswith(opener):
            self._phase = "thinking"
            return stripped[len(opener) :]
        if opener.startswith(stripped):
            self._held = text
            return ""
        self._phase = "thinking" if self._tags.starts_open else "text"
        return text

    def _think(self, text: str, out: list[Piece]) -> str:
        """Appends the thoughts in `text`; gives the text after the closing tag."""
        closer = self._tags.close
        thought, found, rest = text.partition(closer)
        if found:
            self._phase = "text"
        else:
            keep = _overlap(thought, closer)
            thought, self._held = thought[: len(thought) - keep], thought[len(thought) - keep :]
        if thought:
            out.append(("reasoning", thought))
        return rest


def _overlap(text: str, tag: str) -> int:
    """Length of the longest end of `text` that is a beginning of `tag` (and not the whole of it)."""
    for size in range(min(len(tag) - 1, len(text)), 0, -1):
        if text.endswith(tag[:size]):
            return size
    return 0
