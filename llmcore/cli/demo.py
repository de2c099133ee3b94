"""Show a streamed conversation with a tool call, replayed from loopback: no key, no network."""

import argparse
import sys


def configure(parser: argparse.ArgumentParser) -> None:
    """The demo has no arguments."""
    parser.epilog = "The conversation is read over a real socket by the same client that talks to a provider."


def run(arguments: argparse.Namespace) -> int:  # noqa: ARG001  # every command is given its arguments
    """Runs the demo and gives its exit status."""
    from llmcore import demo

    return demo.run(sys.stdout)
