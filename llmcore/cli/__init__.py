"""The command line, `llmcore` or `python -m llmcore`. Every command is a small module here with `configure` (its
arguments) and `run`; what a command needs is imported when it runs.

An error of ours is one line on stderr, and its kind decides the exit status (`EXIT`).
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from llmcore._version import __version__
from llmcore.cli import ask, conformance, demo, prepare, providers
from llmcore.cli.ask import NOT_WHOLE
from llmcore.cli.signals import Terminated
from llmcore.cli.terminal import say
from llmcore.errors import Kind, LLMError

COMMANDS: Final = {
    "ask": ask,
    "prepare": prepare,
    "providers": providers,
    "demo": demo,
    "conformance": conformance,
}

FAILED: Final = 1
WRONG_USE: Final = 2
INTERRUPTED: Final = 130
TERMINATED: Final = 143

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
    "content_filter": NOT_WHOLE,
    "cancelled": INTERRUPTED,
}
"""Exit status by the error's kind; any other kind is 1."""

_EPILOG: Final = (
    "exit status: 0 done; 1 something failed; 2 wrong use or configuration; 3 no usable API key; "
    "4 a limit, quota or budget; 5 the provider is down or out of reach; 6 the answer is refused, cut short, or not of "
    "its schema; 130 interrupted; 143 terminated"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command that `argv` (default: the program's arguments) names and gives its exit status."""
    _with_streams()
    try:
        arguments = _parser().parse_args(argv)
        if arguments.command is None:
            _parser().print_help(sys.stderr)
            return WRONG_USE
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except LLMError as error:
        say(_sentence(error))
        return EXIT.get(error.kind, FAILED)
    except KeyboardInterrupt as how:
        _let_go()
        return TERMINATED if isinstance(how, Terminated) else INTERRUPTED
    except BrokenPipeError:  # whoever read our output has left
        _let_go()
        return FAILED
    except OSError as problem:  # a full disk under stdout, say: what is a call's own is an `LLMError`
        say(f"{problem.strerror or problem}{f': {problem.filename}' if problem.filename else ''}")
        _let_go()
        return FAILED
    except SystemExit as leave:  # argparse, after --help, --version or wrong arguments
        return leave.code if isinstance(leave.code, int) else 0
    return status


def _with_streams() -> None:
    """Gives a program that was started with stdout or stderr closed (a daemon, `>&-`) somewhere to write to."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  # open as long as we run


def _sentence(error: LLMError) -> str:
    """What the error says, and what helps: when to try again, and the name under which the provider knows the call."""
    wait = "" if error.retry_after is None else f" (try again in {error.retry_after:g} s)"
    name = "" if error.request_id is None else f" (request {error.request_id})"
    return f"{error.message}{wait}{name}"


def _let_go() -> None:
    """Leaves a stdout that takes nothing more, so that the interpreter neither fails nor waits at its last flush."""
    with suppress(io.UnsupportedOperation):  # no file, but something of the caller's own
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
