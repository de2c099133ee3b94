"""Reasoning as Chat-like services send it: in one of several fields, in two at once, in items, or between tags."""

from typing import Final

import msgspec

from llmcore.events import Event
from llmcore.schema.base import JSONObject
from llmcore.wire.blocks import Blocks
from llmcore.wire.tags import Piece, TagSplitter, ThinkingTags
from llmcore.wire.texts import scrub

GATHERED: Final = ("text", "summary")
"""Fields of an item that come in pieces; of others the latest value counts."""


class Item(msgspec.Struct):
    """One item of `reasoning_details`, its texts in pieces."""

    fields: JSONObject
    pieces: dict[str, list[str]]

    def take(self, fragment: JSONObject) -> None:
        for name, value in fragment.items():
            if name in GATHERED and isinstance(value, str):
                self.pieces.setdefault(name, []).append(value)
                value = ""  # noqa: PLW2901  # its place among the fields, in their order
            if value is not None or name not in self.fields:
                self.fields[name] = value

    def continued_by(self, fragment: JSONObject) -> bool:
        """Same type, same index and, where both have one, same id. Encrypted items come whole."""
        mine, ids = self.fields, (self.fields.get("id"), fragment.get("id"))
        same = mine.get("type") == fragment.get("type") and mine.get("index") == fragment.get("index")
        return same and (None in ids or ids[0] == ids[1]) and fragment.get("data") is None

    def whole(self) -> JSONObject:
        return {**self.fields, **{name: scrub("".join(pieces)) for name, pieces in self.pieces.items()}}


class Thoughts:
    """The reasoning of one response. Each block of it remembers the field that it came in, and the items that must go
    back as they are (`reasoning_details`): those that come when no block is open go with the next one, or alone."""

    __slots__ = ("_blocks", "_field", "_items", "_said", "_tags")

    def __init__(self, blocks: Blocks, tags: ThinkingTags | None) -> None:
        self._blocks: Final = blocks
        self._tags: Final = None if tags is None else TagSplitter(tags)
        self._field = ""
        self._said = ""
        self._items: list[Item] = []
        blocks.seal = self._sealed

    def next_delta(self) -> None:
        """Says that what follows is of a new delta."""
        self._said = ""

    def think(self, field: str, text: str, out: list[Event]) -> None:
        """Takes a piece. The same text in a second field of the same delta is the same reasoning."""
        if text and text != self._said:
            self._said = text
            self._field = self._field or field
            self._blocks.reasoning(text, out)

    def more(self, field: str, text: str, out: list[Event]) -> None:
        """Takes a piece that stands in a list, where the same text twice is twice the text."""
        self._said = ""
        self.think(field, text, out)

    def details(self, items: list[JSONObject], out: list[Event]) -> None:
        """Takes items of `reasoning_details`: their text where no other field of this delta had it, and themselves."""
        shown = bool(self._said)
        for item in items:
            text = item.get("text") or item.get("summary")
            if isinstance(text, str) and not shown:
                self.more("reasoning_details", text, out)
            if not self._items or not self._items[-1].continued_by(item):
                self._items.append(Item({}, {}))
            self._items[-1].take(item)

    def say(self, text: str, out: list[Event]) -> None:
        """Takes a piece of the answer's text, in which thoughts may stand between tags."""
        if self._tags is None:
            self._blocks.text(text, out)
            return
        self._split(self._tags.feed(text), out)

    def end(self, out: list[Event]) -> None:
        """Gives out what was held back, and the items that no block has taken, in a block without text."""
        if self._tags is not None:
            self._split(self._tags.flush(), out)
        if self._items and self._blocks.kind != "reasoning":
            self._blocks.open("reasoning", out)

    def _split(self, pieces: list[Piece], out: list[Event]) -> None:
        for kind, piece in pieces:
            if kind == "text":
                self._blocks.text(piece, out)
            else:
                self.more("thinking_tags", piece, out)

    def _sealed(self) -> JSONObject:
        field, self._field = self._field, ""
        items, self._items = self._items, []
        if not items:
            return {"field": field} if field else {}
        return {"field": "reasoning_details", "reasoning_details": [item.whole() for item in items]}
