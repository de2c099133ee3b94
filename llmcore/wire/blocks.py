"""Blocks of text, refusal and reasoning on wires that do not delimit them: one is open until another kind comes."""

from collections.abc import Callable
from typing import Final, Literal

from llmcore.events import Event, ReasoningDelta, ReasoningEnd, ReasoningStart, TextDelta, TextEnd, TextStart
from llmcore.schema.base import JSONObject
from llmcore.schema.parts import Citation, Origin, TokenLogprob
from llmcore.wire.texts import Joiner

Kind = Literal["text", "refusal", "reasoning"]


class Blocks:
    """The block that is open, and the ids of all.

    What a handler puts into `citations` and `logprobs` goes with the end of the next text; `seal` gives the metadata
    that a block of reasoning ends with. `odd` is set once a text had a lone surrogate in it: from then on half a
    character waits for the next piece of its kind, whatever comes between.
    """

    __slots__ = ("_joiners", "_origin", "citations", "count", "id", "kind", "logprobs", "odd", "seal")

    def __init__(self, origin: Origin) -> None:
        self._origin: Final = origin
        self.count = 0
        self._joiners: dict[Kind, Joiner] = {"text": Joiner(), "refusal": Joiner(), "reasoning": Joiner()}
        self.kind: Kind | None = None
        self.id = ""
        self.citations: list[Citation] = []
        self.logprobs: list[TokenLogprob] = []
        self.seal: Callable[[], JSONObject] = dict
        self.odd = False

    def next_id(self) -> str:
        """The id of a new block: `b0`, `b1`, … in order of opening."""
        number = self.count
        self.count = number + 1
        return f"b{number}"

    def text(self, text: str, out: list[Event]) -> None:
        """Takes a piece of text that is not empty."""
        if self.odd and not (text := self._joiners["text"].feed(text)):
            return
        if self.kind != "text":
            self.open("text", out)
        out.append(TextDelta(id=self.id, text=text))

    def refusal(self, text: str, out: list[Event]) -> None:
        """Takes a piece of a refusal that is not empty."""
        if self.odd and not (text := self._joiners["refusal"].feed(text)):
            return
        if self.kind != "refusal":
            self.open("refusal", out)
        out.append(TextDelta(id=self.id, text=text))

    def reasoning(self, text: str, out: list[Event]) -> None:
        """Takes a piece of reasoning that is not empty."""
        if self.odd and not (text := self._joiners["reasoning"].feed(text)):
            return
        if self.kind != "reasoning":
            self.open("reasoning", out)
        out.append(ReasoningDelta(id=self.id, text=text))

    def open(self, kind: Kind, out: list[Event]) -> None:
        """Opens a block, after the end of the one that is open."""
        self.close(out)
        self.kind = kind
        self.id = self.next_id()
        out.append(
            ReasoningStart(id=self.id) if kind == "reasoning" else TextStart(id=self.id, refusal=kind == "refusal")
        )

    def close(self, out: list[Event]) -> None:
        """Ends the block that is open, if one is."""
        if self.kind is None:
            return
        if self.kind == "reasoning":
            metadata = self.seal() or None
            origin = None if metadata is None else self._origin
            out.append(ReasoningEnd(id=self.id, provider_metadata=metadata, origin=origin))
        else:
            out.append(TextEnd(id=self.id, citations=tuple(self.citations), logprobs=tuple(self.logprobs)))
            self.citations, self.logprobs = [], []
        self.kind = None

    def end(self, out: list[Event]) -> None:
        """Ends the block that is open, when no more comes: half a character that waited is replaced."""
        for kind, joiner in self._joiners.items() if self.odd else ():
            rest = joiner.flush()
            if rest:
                DELTAS[kind](self, rest, out)
        self.close(out)


DELTAS: Final[dict[Kind, Callable[[Blocks, str, list[Event]], None]]] = {
    "text": Blocks.text,
    "refusal": Blocks.refusal,
    "reasoning": Blocks.reasoning,
}
