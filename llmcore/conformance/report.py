"""The public form of a conformance result: one row for each interaction and mode, and the summary.

`llmcore conformance --json` prints rows as JSON, one a line; keys may be added, never changed. What a row says of the
reply is what the library gave, before any documented difference is taken into account; only `verdict` and `difference`,
its own and those of `replay`, know of those.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from llmcore.schema.base import JSONObject
from llmcore.schema.response import StopReason

Mode = Literal["whole", "stream", "split", "bytes"]
Verdict = Literal["pass", "fail", "documented"]
ReplayVerdict = Literal["pass", "fail", "documented", "not_compared"]


class RowCall(msgspec.Struct, frozen=True):
    """A call that the client must run. `id` is the wire's; `arguments` is parsed, `None` where it does not parse."""

    name: str
    id: str | None
    arguments: object


class RowHosted(msgspec.Struct, frozen=True):
    """A call that the provider ran itself."""

    type: str
    name: str | None


class RowError(msgspec.Struct, frozen=True, rename={"class_": "class"}):
    """The error that was raised: its class, and three of its fields."""

    class_: str
    kind: str
    status: int | None
    code: str


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a reply that was sent back: the turn that we write of it, beside the turn that a later recorded
    request carries in its place.

    `request` is the index of the interaction with that request. `difference` is what was not the same, or why nothing
    could be compared; a `not_compared` turn has not passed.
    """

    verdict: ReplayVerdict
    request: int | None = None
    difference: str | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What the library made of one interaction in one mode.

    `whole` is a whole body read by `generate`; the others are streams read by `stream`: as recorded, cut at random, and
    byte by byte. With an error, the answer's fields hold what had come before it. `usage` holds all counts by their
    canonical names, `lifecycle` the violations, `difference` what was not as expected. `route` is where it ran, `note`
    says why where that is not the provider's own. `verdict` and `difference` speak of the reading alone; `replay` of
    the way back, `None` where no request comes after this reply.
    """

    id: str
    index: int
    mode: Mode
    text: str
    refusal: str | None
    reasoning: str
    tool_calls: tuple[RowCall, ...]
    hosted: tuple[RowHosted, ...]
    stop_reason: StopReason | None
    raw_stop_reason: str | None
    usage: JSONObject | None
    error: RowError | None
    warnings: tuple[JSONObject, ...]
    lifecycle: tuple[str, ...]
    verdict: Verdict = "pass"
    difference: str | None = None
    route: str
    note: str | None = None
    replay: Replay | None = None


class Listed(msgspec.Struct, frozen=True):
    """An interaction that was not run and is not counted, and why."""

    id: str
    index: int
    operation: str
    reason: str


class Summary:
    """Counts of a run. A case passes when all of its rows and replays do; it fails when one does; else it is
    documented. `replayed` counts the turns that were compared, `unreplayed` those that could not be."""

    def __init__(self) -> None:
        self.cases = self.rows = self.passed = self.documented = self.failed = self.listed = 0
        self.replayed = self.unreplayed = 0
        self.rules = Counter[str]()

    def add(self, rows: Sequence[Row], rules: Iterable[str], listed: Sequence[Listed]) -> None:
        """Takes what became of one case: its rows, the documented rules that they needed (each counts once a case),
        and what was only listed. A case with no row is not counted."""
        self.listed += len(listed)
        if not rows:
            return
        verdict = worst(rows)
        self.cases += 1
        self.rows += len(rows)
        self.passed += verdict == "pass"
        self.documented += verdict == "documented"
        self.failed += verdict == "fail"
        self.rules.update(set(rules))
        turns = {row.index: row.replay.verdict != "not_compared" for row in rows if row.replay is not None}
        self.replayed += sum(turns.values())
        self.unreplayed += len(turns) - sum(turns.values())

    def line(self) -> str:
        """The summary as one line, with the count of each rule."""
        counts = f"cases {self.cases}, passed {self.passed}, documented {self.documented}, failed {self.failed}"
        rules = "".join(f", {rule} {count}" for rule, count in sorted(self.rules.items()))
        left = f"listed, not counted: {self.listed}; not replayed: {self.unreplayed}"
        return f"{counts} (rows {self.rows}, replayed {self.replayed}{rules}; {left})"


def worst(rows: Iterable[Row]) -> Verdict:
    """The verdict over several rows and their replays. A turn that was not compared has no say."""
    found = {verdict for row in rows for verdict in (row.verdict, row.replay and row.replay.verdict)}
    return "fail" if "fail" in found else "documented" if "documented" in found else "pass"


def worst_replay(rows: Iterable[Row]) -> ReplayVerdict | None:
    """The verdict over the replays of several rows; `None` where there are none."""
    found = {row.replay.verdict for row in rows if row.replay is not None}
    ranks: tuple[ReplayVerdict, ...] = ("fail", "documented", "pass", "not_compared")
    return next((verdict for verdict in ranks if verdict in found), None)
