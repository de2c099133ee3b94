"""Show what `ask` would send, as a curl command, with nothing sent and no key shown."""

import argparse
import sys
from typing import Final

from llmcore.cli import question
from llmcore.cli.terminal import warnings_said, write_line

_SHOWN: Final = ("model", "method", "url", "headers", "key", "warnings", "estimated_input_tokens")


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `llmcore prepare`."""
    question.configure(parser)
    parser.add_argument("--json", action="store_true", help="the request as one JSON object instead")
    parser.epilog = (
        "The key stands as the variable that it is taken from, for the shell to fill in; it need not be set here."
    )


def run(arguments: argparse.Namespace) -> int:
    """Prints the request and gives the exit status."""
    import msgspec

    from llmcore.client import Client

    asked = question.question(arguments, sys.stdin)
    with warnings_said(), Client() as client:
        prepared = client.prepare(asked.model, asked.request, stream=not arguments.no_stream)
    if arguments.json:
        record = {name: getattr(prepared, name) for name in _SHOWN}
        write_line(sys.stdout, msgspec.json.encode({**record, "body": msgspec.Raw(prepared.content)}))
    else:
        write_line(sys.stdout, prepared.to_curl().encode())
    return 0
