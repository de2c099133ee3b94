"""Servers, and llmcore's command line run in this process."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from loopback import no_proxies, serve
from terminals import KEY

from llmcore.cassette import ReplayServer
from llmcore.cli import main

__all__ = ["no_proxies", "serve"]

MODEL = "openai/chat:gpt-5-mini"


class Ran(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Callable[..., Ran]:
    """`run(*arguments, stdin=b"") -> Ran`: the command line, in this process."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("LLMCORE_MODEL", raising=False)

    def go(*arguments: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsysbinary.readouterr()
        status = main(arguments)
        out, err = capsysbinary.readouterr()
        assert KEY.encode() not in out + err
        return Ran(status, out.decode(), err.decode())

    return go


@pytest.fixture
def ask(run: Callable[..., Ran]) -> Callable[..., Ran]:
    """`ask(server, *arguments, stdin=b"") -> Ran`: `llmcore ask` of a model that `server` serves."""

    def go(server: ReplayServer, *arguments: str, stdin: bytes = b"") -> Ran:
        return run("ask", "-m", MODEL, "--base-url", f"{server.url}/v1", *arguments, stdin=stdin)

    return go
