"""The command line as a whole: help, version, exit status, and what it loads."""

import subprocess
import sys

import pytest

from llmcore import cli, errors
from llmcore._version import __version__
from llmcore.cli import main
from llmcore.cli.signals import Terminated


def test_help_names_every_command_and_the_exit_status(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(command in out for command in cli.COMMANDS)
    assert "exit status: 0 done" in out


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_has_help(command, capsys):
    assert main([command, "--help"]) == 0
    assert f"usage: llmcore {command}" in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"llmcore {__version__}\n"


def test_without_a_command_it_shows_the_help_and_fails(capsys):
    assert main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "usage: llmcore" in captured.err


@pytest.mark.parametrize("argv", [["sing"], ["providers", "--loud"], ["conformance"]])
def test_wrong_arguments_are_status_2(argv, capsys):
    assert main(argv) == 2
    assert "usage: llmcore" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("raised", "status"),
    [
        (errors.ConfigError("no such thing"), 2),
        (errors.AuthError("no key"), 3),
        (errors.QuotaError("spent"), 4),
        (errors.TransportError("reset"), 5),
        (errors.RequestTimeoutError("late"), 5),
        (errors.ProtocolError("odd bytes"), 1),
        (errors.LLMError("anything"), 1),
        (errors.ContentFilterError("filtered"), 6),
        (errors.CallCancelledError("stopped"), 130),
        (KeyboardInterrupt(), 130),
        (Terminated(), 143),
        (OSError(28, "No space left on device"), 1),
    ],
)
def test_the_kind_of_an_error_decides_the_status(raised, status, capsys, monkeypatch):
    def fails(arguments):
        raise raised

    monkeypatch.setattr(cli.providers, "run", fails)
    assert main(["providers"]) == status
    assert "Traceback" not in capsys.readouterr().err


def test_an_error_is_one_line_on_stderr(capsys, monkeypatch):
    def fails(arguments):
        raise errors.ConfigError("first\n  second")

    monkeypatch.setattr(cli.providers, "run", fails)
    main(["providers"])
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "llmcore: first second\n")


def test_a_defect_is_not_dressed_up(monkeypatch):
    def fails(arguments):
        raise ZeroDivisionError

    monkeypatch.setattr(cli.providers, "run", fails)
    with pytest.raises(ZeroDivisionError):
        main(["providers"])


def test_demo(capsys):
    assert main(["demo"]) == 0
    assert "synthetic" in capsys.readouterr().out


def python(*arguments):
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_python_m_llmcore():
    ran = python("-m", "llmcore", "--version")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"llmcore {__version__}\n", "")


def test_it_loads_nothing_but_itself_until_a_command_runs():
    code = """
import sys
from llmcore.cli import main
from llmcore.cli.signals import Terminated
main(["--version"])
heavy = ("httpx", "anyio", "jsonschema", "llmcore.protocols", "llmcore.providers", "llmcore.client", "llmcore.registry")
print([name for name in heavy if name in sys.modules])
"""
    ran = python("-c", code)
    assert ran.stdout.splitlines()[-1] == "[]", ran.stderr


def test_a_reader_that_leaves_early_is_no_traceback():
    """`llmcore providers | head -0`: the pipe is broken when the table is written."""
    code = """
import os, sys
read, write = os.pipe()
os.close(read)
os.dup2(write, 1)
from llmcore.cli import main
from llmcore.cli.signals import Terminated
sys.exit(main(["providers"]))
"""
    ran = python("-c", code)
    assert (ran.returncode, ran.stderr) == (1, "")


@pytest.mark.parametrize("closed", [">&-", "2>&-"])
def test_a_program_without_stdout_or_stderr_does_its_work(closed: str) -> None:
    """A daemon is started so; what would have been written goes nowhere."""
    command = f'"{sys.executable}" -m llmcore providers {closed}'
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("openai" in done.stdout) == (closed == "2>&-")
