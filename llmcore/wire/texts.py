"""Unicode at the boundary: lone surrogates never leave us, and a pair that was cut between two pieces is joined."""

import re
from typing import Final

from llmcore.wire.values import is_object, is_series

REPLACEMENT: Final = "\ufffd"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def scrub(text: str) -> str:
    """`text` with surrogate pairs joined to their character and lone surrogates replaced by U+FFFD."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def low_half(high: str, character: str) -> str:
    """The low surrogate of a character that begins with the surrogate `high`; nothing for any other."""
    if character <= "\uffff":
        return ""
    code = ord(character) - 0x10000
    return chr(0xDC00 | code & 0x3FF) if chr(0xD800 | code >> 10) == high else ""


def scrubbed(value: object) -> object:
    """A copy of a JSON value with every text in it, keys too, scrubbed."""
    if isinstance(value, str):
        return scrub(value)
    if is_object(value):
        # A key of a program's own dict may be no text (msgspec writes a number as one).
        return {scrub(key) if type(key) is str else key: scrubbed(item) for key, item in value.items()}
    if is_series(value):
        return [scrubbed(part) for part in value]
    return value


class Joiner:
    """Joins the pieces of one text: a high surrogate at the end of a piece waits for the next one."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """The text that may go out now: whole characters only. May be empty."""
        text = self._held + text
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return scrub(text)

    def flush(self) -> str:
        """What was held back, now that no more comes: U+FFFD for half a character, else nothing."""
        held, self._held = self._held, ""
        return REPLACEMENT if held else ""
