"""The order of events, as a table, and a checker that anyone can run over a stream of them.

`RULES` has one row for each event that a protocol can yield: the phase in which it may come, the phase after it, and
what it does to a block (opens, grows, closes one of its family). A missing row, another phase or another block *is* the
violation. Beyond the rows one thing holds: when the response ends, no block is open; and no id is used twice.

      before ──ResponseStart──▶ during ──ResponseEnd──▶ after
                                 │  ▲
                                 └──┘ blocks: *Start ▸ *Delta… ▸ *End, interleaved as the wire has them
"""

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from llmcore import events as e
from llmcore.errors import ProtocolError

Phase = Literal["before", "during", "after"]
Family = Literal["text", "reasoning", "tool_call", "media"]
Effect = Literal["open", "grow", "close"]


class Rule(NamedTuple):
    """One row: when the event may come, what comes after it, and its effect on the block of its `id`."""

    phase: Phase
    then: Phase
    effect: Effect | None = None
    family: Family | None = None


RULES: Final[dict[type[e.Event], Rule]] = {
    e.ResponseStart: Rule("before", "during"),
    e.TextStart: Rule("during", "during", "open", "text"),
    e.TextDelta: Rule("during", "during", "grow", "text"),
    e.TextEnd: Rule("during", "during", "close", "text"),
    e.ReasoningStart: Rule("during", "during", "open", "reasoning"),
    e.ReasoningDelta: Rule("during", "during", "grow", "reasoning"),
    e.ReasoningEnd: Rule("during", "during", "close", "reasoning"),
    e.ToolCallStart: Rule("during", "during", "open", "tool_call"),
    e.ToolCallDelta: Rule("during", "during", "grow", "tool_call"),
    e.ToolCallEnd: Rule("during", "during", "close", "tool_call"),
    e.ToolResultEvent: Rule("during", "during"),
    e.MediaStart: Rule("during", "during", "open", "media"),
    e.MediaDelta: Rule("during", "during", "grow", "media"),
    e.MediaEnd: Rule("during", "during", "close", "media"),
    e.OpaqueEvent: Rule("during", "during"),
    e.UsageUpdate: Rule("during", "during"),
    e.ResponseEnd: Rule("during", "after"),
}

_GROWS: Final = {kind: rule.family for kind, rule in RULES.items() if rule.effect == "grow"}


class Lifecycle:
    """Checks one stream of events. Cheap enough to be always on: a delta costs two look-ups."""

    __slots__ = ("_open", "_used", "phase")

    def __init__(self) -> None:
        self.phase: Phase = "before"
        self._open: dict[str, Family] = {}
        self._used: set[str] = set()

    def check(self, events: Iterable[e.Event]) -> None:
        """Takes the next events. Raises `ProtocolError` at the first that may not come now."""
        grows, opened = _GROWS, self._open
        for event in events:
            family = grows.get(type(event))
            # A delta of an open block of its family: nine events in ten. Blocks are open only `during`.
            if family is not None and opened.get(event.id) is family:  # type: ignore[union-attr]  # grows: only deltas
                continue
            problem = self._step(event)
            if problem is not None:
                raise ProtocolError(f"event out of order: {problem}")

    def _step(self, event: e.Event) -> str | None:
        kind = type(event)
        rule = RULES.get(kind)
        if rule is None:
            return f"{kind.__name__} is not an event of a response"
        if rule.phase != self.phase:
            return f"{kind.__name__} {_WHEN[self.phase]}"
        self.phase = rule.then
        if rule.family is not None:
            return self._block(rule, kind.__name__, event.id)  # type: ignore[union-attr]  # every row with a family
        if rule.then == "after" and self._open:
            return f"{kind.__name__} while {', '.join(sorted(self._open))} is open"
        return None

    def _block(self, rule: Rule, name: str, block: str) -> str | None:
        assert rule.family is not None
        if rule.effect == "open":
            if block in self._used:
                return f"{name} uses the id {block!r} again"
            self._used.add(block)
            self._open[block] = rule.family
            return None
        if self._open.get(block) != rule.family:
            return f"{name} for {block!r}, which is no open {rule.family} block"
        if rule.effect == "close":
            del self._open[block]
        return None


_WHEN: Final[dict[Phase, str]] = {
    "before": "before the response has started",
    "during": "after the response has started",
    "after": "after the response has ended",
}


def violations(events: Iterable[e.Event]) -> list[str]:
    """Everything that is out of order in a finished stream, as sentences; empty when it keeps the rules.

    Unlike `Lifecycle.check` it goes on after a violation, and a stream that does not end counts as one.
    """
    lifecycle, found = Lifecycle(), list[str]()
    for event in events:
        try:
            lifecycle.check((event,))
        except ProtocolError as problem:
            found.append(problem.message)
    if lifecycle.phase != "after":
        found.append("the stream has no ResponseEnd")
    return found
