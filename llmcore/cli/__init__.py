"""The command line, `llmcore` or `python -m llmcore`. Every command is a small module here with `configure` (its
arguments) and `run`; what a command needs is imported when it runs.

An error of ours is one line on stderr, and its kind decides the exit status (`EXIT`).
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

from llmcore._version import __version__
from llmcore.cli import conformance, demo, providers
from llmcore.errors import Kind, LLMError

COMMANDS: Final = {"demo": demo, "providers": providers, "conformance": conformance}

FAILED: Final = 1
WRONG_USE: Final = 2
INTERRUPTED: Final = 130

EXIT: Final[dict[Kind, int]] = {
    "config": WRONG_USE,
    "bad_request": WRONG_USE,
    "context_length": WRONG_USE,
    "capability": WRONG_USE,
    "auth": 3,
    "quota": 4,
    "rate_limit": 4,
    "budget": 4,
    "overloaded": 5,
    "transport": 5,
    "timeout": 5,
    "cancelled": INTERRUPTED,
}
"""Exit status by the error's kind; any other kind is 1."""

_EPILOG: Final = (
    "exit status: 0 done; 1 something failed; 2 wrong use or configuration; 3 no usable API key; "
    "4 a limit, quota or budget; 5 the provider is down or out of reach; 130 interrupted"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command that `argv` (default: the program's arguments) names and gives its exit status."""
    try:
        arguments = _parser().parse_args(argv)
        if arguments.command is None:
            _parser().print_help(sys.stderr)
            return WRONG_USE
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except LLMError as error:
        print(f"llmcore: {' '.join(error.message.split())}", file=sys.stderr)
        return EXIT.get(error.kind, FAILED)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output has left: the interpreter must not fail at its last flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except SystemExit as leave:  # argparse, after --help, --version or wrong arguments
        return leave.code if isinstance(leave.code, int) else 0
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="llmcore",
        description="Talk to large language models over each provider's own HTTP protocol.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"llmcore {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or "").partition("\n")[0]
        command = commands.add_parser(name, help=summary, description=summary)
        module.configure(command)
        command.set_defaults(run=module.run)
    return parser
