"""Read recorded replies of providers through the client and compare them with what official SDKs make of them."""

import argparse
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from llmcore.conformance.corpus import Case, Filter
    from llmcore.conformance.report import Listed, Replay
    from llmcore.conformance.run import Outcome

_SEEDS: Final = 1_000_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `llmcore conformance`."""
    parser.add_argument("folder", metavar="DIR", type=Path, help="a folder of recorded cases")
    parser.add_argument("--protocol", metavar="P", help="only cases of this protocol, such as openai-chat")
    parser.add_argument("--provider", metavar="P", help="only cases of this provider, by the recording's id")
    parser.add_argument("--tag", metavar="T", help="only cases with this tag, such as stream")
    parser.add_argument("--list", action="store_true", help="list the cases and where they would run; run nothing")
    parser.add_argument("--json", action="store_true", help="one JSON object a line for each interaction and mode")
    parser.add_argument("--seed", metavar="N", type=int, help="cut streams at the places that N gives (default: any)")
    parser.epilog = (
        "Whole bodies are read by generate (mode whole), streams by stream: as recorded (stream), cut at random "
        "(split), and byte by byte (bytes). A reply that a later recorded request takes back is lowered again and "
        "compared with the turn there (column replay). Exit status 1 when anything failed."
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs or lists the cases and gives the exit status: 0 when none failed."""
    from llmcore.conformance.corpus import Filter, cases

    wanted = Filter(arguments.protocol, arguments.provider, arguments.tag)
    found = list(cases(arguments.folder, wanted))
    if not found:
        raise _nothing(arguments.folder, wanted)
    if arguments.list:
        _list(found, sys.stdout, json=arguments.json)
        return 0
    seed: int = random.randrange(_SEEDS) if arguments.seed is None else arguments.seed  # noqa: S311  # no secret
    return _run(found, seed, json=arguments.json)


def _nothing(folder: Path, wanted: "Filter") -> Exception:
    from llmcore.errors import ConfigError
    from llmcore.schema.base import excerpt

    filters = [f"--{name} {value}" for name in wanted.__struct_fields__ if (value := getattr(wanted, name)) is not None]
    return ConfigError(f"no case of {excerpt(str(folder))} matches {' '.join(filters) or 'at all'}")


def _run(cases: "list[Case]", seed: int, *, json: bool) -> int:
    from llmcore.conformance.report import Summary
    from llmcore.conformance.run import Runner
    from llmcore.errors import ConfigError

    # With --json stdout holds rows and nothing else.
    notes = sys.stderr if json else sys.stdout
    notes.write(f"seed {seed}\n")
    if not json:
        notes.write(f"{'verdict':<10}  {'replay':<12}  case\n")
    summary = Summary()
    with Runner(seed) as runner:
        for case in cases:
            outcome = runner.run(case)
            summary.add(outcome.rows, outcome.rules, outcome.listed)
            (_print_json if json else _print_case)(outcome, sys.stdout)
            for listed in outcome.listed:
                notes.write(_listed(listed))
    notes.write(summary.line() + "\n")
    if not summary.cases:
        raise ConfigError("nothing was run: every interaction is only listed")
    return 1 if summary.failed else 0


def _print_json(outcome: "Outcome", out: TextIO) -> None:
    import msgspec

    for row in outcome.rows:
        print(msgspec.json.encode(row).decode(), file=out)


def _print_case(outcome: "Outcome", out: TextIO) -> None:
    """One line for the case; under it where it ran, if not on its own route, and every row and replay that did not
    simply pass."""
    from llmcore.conformance.report import worst, worst_replay

    if not outcome.rows:
        return
    replay = (worst_replay(outcome.rows) or "-").replace("_", " ")
    modes = " ".join(row.mode for row in outcome.rows)
    out.write(f"{worst(outcome.rows):<10}  {replay:<12}  {outcome.case.id}  {modes}\n")
    if (note := outcome.rows[0].note) is not None:
        out.write(f"{'':<10}    {note}\n")
    for row in outcome.rows:
        if row.difference is not None:
            out.write(f"{'':<10}    {row.index} {row.mode}: {row.difference}\n")
        if row.replay is not None and row.replay.difference is not None:
            out.write(f"{'':<10}    {row.index} {row.mode}, {_replay(row.replay)}\n")


def _replay(replay: "Replay") -> str:
    if replay.request is None:
        return f"replay: not compared: {replay.difference}"
    return f"replay in request {replay.request}: {replay.difference}"


def _listed(listed: "Listed") -> str:
    return f"{'listed':<10}  {listed.id}  interaction {listed.index}, {listed.operation}: {listed.reason}\n"


def _list(cases: "list[Case]", out: TextIO, *, json: bool) -> None:
    """One line for each case: where it would run, and its interactions."""
    import msgspec

    for case in cases:
        record = _record(case)
        if json:
            print(msgspec.json.encode(record).decode(), file=out)
            continue
        kinds = " ".join("stream" if each.stream else each.operation for each in case.interactions)
        where = record["note"] or record["route"] or f"nothing here speaks {case.protocol}"
        print(f"{case.id}  {where}  {kinds}", file=out)


def _record(case: "Case") -> dict[str, object]:
    from llmcore.conformance.place import place
    from llmcore.conformance.run import why_not

    where = place(case.provider, case.protocol)
    return {
        "id": case.id,
        "protocol": case.protocol,
        "provider": case.provider,
        "tags": case.tags,
        "route": None if where is None else where.route.id,
        "note": None if where is None else where.note,
        "interactions": [
            {
                "index": each.index,
                "operation": each.operation,
                "stream": each.stream,
                "model": each.model,
                "not_run": why_not(case, each, where),
            }
            for each in case.interactions
        ],
    }
