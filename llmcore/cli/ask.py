"""Ask a model: the answer on stdout as it comes, reasoning and usage on stderr."""

import argparse
import os
import sys
from typing import TYPE_CHECKING, Final

from llmcore.cli import question
from llmcore.cli.signals import Terminated, interruptible
from llmcore.cli.terminal import is_terminal, say, warnings_said
from llmcore.errors import CallCancelledError, LLMError

if TYPE_CHECKING:
    from llmcore.cli.views import View, Writer
    from llmcore.events import ErrorEvent, Event
    from llmcore.schema import Response, Usage

NOT_WHOLE: Final = 6
"""The status of an answer that is cut short, refused, or not what `--schema` asks for."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `llmcore ask`."""
    question.configure(parser)
    parser.add_argument("--json", action="store_true", help="one line of JSON for each event, on stdout")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, help="the longest that all of it may take")
    parser.add_argument("-q", "--quiet", action="store_true", help="neither reasoning nor usage on stderr")
    parser.add_argument(
        "--plain", action="store_true", help="text as it comes, also on a terminal (the extra llmcore[cli] renders it)"
    )
    parser.epilog = (
        "The key is taken from the provider's variable (llmcore providers). Ctrl-C closes the stream and says what was "
        "used. With --json a line is an event as in llmcore.events, the last one an ErrorEvent where it failed; with "
        "--no-stream the only line is the response."
    )


def run(arguments: argparse.Namespace) -> int:
    """Asks, shows the answer and gives the exit status."""
    view, meter = _view(arguments), Meter()
    with interruptible(), warnings_said():
        try:
            response, schema = _ask(arguments, view, meter)
        except LLMError as error:
            view.failed(_event(error), meter.usage)
            raise
        except KeyboardInterrupt as how:
            word = "terminated" if isinstance(how, Terminated) else "interrupted"
            view.interrupted(_event(CallCancelledError(f"{word}; {meter}")))
            raise
        view.ended(response)
        return _status(response, schema)


def _ask(arguments: argparse.Namespace, view: "View", meter: "Meter") -> "tuple[Response, dict[str, object] | None]":
    from llmcore.client import Client

    model, request, schema = question.question(arguments, sys.stdin)
    with Client(timeout=arguments.timeout) as client:
        meter.asked = True
        if arguments.no_stream:
            response = client.generate(model, request)
            view.whole(response)
            return response, schema
        with client.stream(model, request) as stream:
            for event in stream:
                meter.add(event)
                view.event(event)
        return stream.response, schema


def _status(response: "Response", schema: dict[str, object] | None) -> int:
    from llmcore.cli.views import SHORT

    if response.stop_reason in SHORT or response.refusal is not None:
        return NOT_WHOLE
    if schema is not None:
        from llmcore.cli.fit import misfit

        if (reason := misfit(response.text, schema)) is not None:
            say(f"the answer does not fit the schema: {reason}")
            return NOT_WHOLE
    return 0


class Meter:
    """What is known, at any moment, of what a call has used."""

    def __init__(self) -> None:
        self.asked = False
        self.usage: Usage | None = None
        self._characters = 0

    def add(self, event: "Event") -> None:
        """Takes the next event."""
        self.usage = getattr(event, "usage", self.usage)
        self._characters += len(getattr(event, "text", ""))

    def __str__(self) -> str:
        """For whoever ended the call early."""
        from llmcore.cli.views import tokens

        if not self.asked:
            return "nothing was sent"
        told = "" if self.usage is None else tokens(self.usage)
        came = f"{self._characters} characters had come" if self._characters else "nothing had come"
        return f"the connection is closed; used so far: {told or 'unknown, the provider had not told'} ({came})"


def _event(error: LLMError) -> "ErrorEvent":
    from llmcore.cli.views import error_event

    return error_event(error)


def _view(arguments: argparse.Namespace) -> "View":
    from llmcore.cli.views import Lines, Screen

    if arguments.json:
        return Lines(sys.stdout)
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace")  # what the stream's encoding lacks is shown, and ends nothing
    return Screen(_writer(arguments), sys.stdout, sys.stderr, quiet=arguments.quiet)


def _writer(arguments: argparse.Namespace) -> "Writer":
    """The rendered look on a terminal that has one, for text that may be Markdown, where it is installed."""
    from llmcore.cli.views import Plain

    dumb = os.environ.get("TERM", "") in ("dumb", "unknown")
    if not (arguments.plain or arguments.schema or dumb) and is_terminal(sys.stdout):
        try:
            from llmcore.cli.rendered import Rendered
        except ModuleNotFoundError as missing:
            if missing.name not in ("rich", "markdown_it"):
                raise
        else:
            return Rendered(sys.stdout)
    return Plain(sys.stdout)
