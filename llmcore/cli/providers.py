"""List the providers and their routes, as they are declared."""

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from llmcore.route import Provider, Route

COLUMNS: Final = ("provider", "api", "protocol", "base url", "key", "evidence", "docs")


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `llmcore providers`."""
    parser.add_argument("--json", action="store_true", help="one JSON object a line, one for each route")
    parser.add_argument(
        "--check",
        metavar="FILE",
        help="only what this route file declares (or the *.toml of this folder), or what is wrong with it",
    )
    parser.epilog = (
        "A model is named provider:model, or provider/api:model where a route other than the first (*) is meant. "
        "evidence: 'recorded' where bytes of the provider stand behind the declaration, 'documented' where only its "
        "documentation does."
    )


def run(arguments: argparse.Namespace) -> int:
    """Prints the table and gives the exit status: of a file with problems that of a wrong configuration."""
    from llmcore import registry
    from llmcore.cli import WRONG_USE

    if arguments.check is None:
        show(registry.providers(), sys.stdout, json=arguments.json)
        return 0
    declared = registry.check_routes(arguments.check)
    if declared.providers:
        show(declared.providers, sys.stdout, json=arguments.json)
    for problem in sorted(declared.problems, key=lambda problem: (problem.document.file, problem.line or 0)):
        print(problem, file=sys.stderr)
    return WRONG_USE if declared.problems else 0


def show(providers: "tuple[Provider, ...]", out: TextIO, *, json: bool) -> None:
    """Prints one line for each route of `providers` to `out`: a table, or JSON."""
    import msgspec

    records = [record for provider in providers for record in _records(provider)]
    if json:
        for record in records:
            print(msgspec.json.encode(record).decode(), file=out)
        return
    rows = [COLUMNS, *map(_cells, records)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(), file=out)


def _records(provider: "Provider") -> Iterator[dict[str, Any]]:
    """What is declared of each route; of a provider without any, one record."""
    routes: dict[str, Route[Any, Any] | None] = {**provider.routes()} or {"": None}
    for api, route in routes.items():
        yield {
            "id": provider.id,
            "api": api or None,
            "default": route is not None and route is provider.route,
            "protocol": None if route is None else route.protocol.id,
            "base_url": None if route is None else route.base_url,
            "variables": {} if route is None else route.variables,
            "key_variables": () if route is None else route.auth.env,
            "key_optional": route is None or route.auth.optional,
            "evidence": provider.evidence,
            "docs": provider.docs,
        }


def _cells(record: dict[str, Any]) -> tuple[str, ...]:
    """The record as the table's columns. A key that may be missing stands in brackets."""
    key = " | ".join(record["key_variables"])
    return (
        record["id"],
        f"{record['api'] or '-'}{'*' if record['default'] else ''}",
        record["protocol"] or "-",
        record["base_url"] or "-",
        (f"[{key}]" if record["key_optional"] else key) if key else "-",
        record["evidence"],
        record["docs"],
    )
