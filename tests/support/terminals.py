"""llmcore run as a user runs it: as a process, with pipes, or on a pseudo-terminal of its own."""

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import llmcore

PATIENCE = 20.0
"""Seconds after which something that should have happened has not; no test waits so long when all is well."""
KEY = "sk-canary-0123456789"
PLAIN_PYTHON = (sys.executable, "-W", "error", "-m", "llmcore")
"""The command, with every warning of Python an error."""


def environment(**more: str) -> dict[str, str]:
    """What a process needs, a key, and `more`."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "SYSTEMROOT", "TMPDIR") if name in os.environ}
    path = str(Path(llmcore.__path__[0]).parent)
    known = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8", "OPENAI_API_KEY": KEY}
    return {**kept, **known, "NO_COLOR": "1", **more}


class Piped:
    """A running command whose output goes into pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.out = Gathered(process.stdout)
        self.err = Gathered(process.stderr)

    def end(self) -> int:
        """Its status, when it and its output have ended."""
        status = self.process.wait(PATIENCE)
        self.out.end()
        self.err.end()
        return status


class Gathered:
    """What comes out of a file, as it comes."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._data = b""
        self._more = threading.Condition()
        self._thread = threading.Thread(target=self._gather, daemon=True)
        self._thread.start()

    def _gather(self) -> None:
        while True:
            try:
                data = os.read(self._file.fileno(), 65536)
            except OSError:  # of a terminal, when the last who has it open has gone
                data = b""
            if not data:
                return
            with self._more:
                self._data += data
                self._more.notify_all()

    @property
    def data(self) -> bytes:
        """All so far."""
        with self._more:
            return self._data

    @property
    def text(self) -> str:
        """All so far, as text."""
        return self.data.decode()

    def wait(self, text: str) -> bool:
        """Waits until `text` has come; `False` when it does not."""
        with self._more:
            return self._more.wait_for(lambda: text.encode() in self._data, PATIENCE)

    def end(self) -> None:
        """Waits for the end, and closes the file."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        self._file.close()


@contextmanager
def piped(
    *arguments: str, stdin: Any = subprocess.DEVNULL, command: tuple[str, ...] = PLAIN_PYTHON, **env: str
) -> Generator[Piped, None, None]:
    """Runs the command with pipes, its stdout gathered as it comes."""
    with started(*arguments, stdin=stdin, stdout=subprocess.PIPE, command=command, **env) as process:
        running = Piped(process)
        try:
            yield running
        finally:
            if process.poll() is None:
                process.kill()
            running.end()


@contextmanager
def started(
    *arguments: str, stdin: Any = subprocess.DEVNULL, stdout: Any, command: tuple[str, ...] = PLAIN_PYTHON, **env: str
) -> Generator[subprocess.Popen[bytes], None, None]:
    """Runs the command with that stdout, and a pipe for stderr; it does not outlive the block."""
    with subprocess.Popen(
        [*command, *arguments], stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, env=environment(**env)
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


class OnTerminal(NamedTuple):
    """A running command on a terminal: its process, what the terminal was sent, and its keyboard."""

    process: subprocess.Popen[bytes]
    shown: Gathered
    keyboard: Any

    def press(self, keys: bytes) -> None:
        """Types."""
        self.keyboard.write(keys)
        self.keyboard.flush()

    def end(self) -> int:
        """Its status, when it has ended and its terminal with it."""
        status = self.process.wait(PATIENCE)
        self.shown.end()
        return status

    @property
    def lines(self) -> list[str]:
        """What a person sees at last."""
        return screen(self.shown.text)


TAKES_TERMINAL = """
import fcntl, os, sys, termios
terminal = int(sys.argv[1])
fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
os.close(terminal)
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Makes the terminal its session's own, as a login does, and becomes the command. (What could be run between fork and
exec instead is deprecated where there are threads.)"""


@contextmanager
def on_terminal(
    *arguments: str,
    columns: int = 60,
    rows: int = 24,
    command: tuple[str, ...] = PLAIN_PYTHON,
    environ: Mapping[str, str] | None = None,
    **streams: Any,
) -> Generator[OnTerminal, None, None]:
    """Runs the command in a session of its own whose terminal is a new one. `stdin`, `stdout` and `stderr` are the
    terminal unless given."""
    near, far = os.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    files = {"stdin": far, "stdout": far, "stderr": far, **streams}
    env = environment(**{"TERM": "xterm", **(environ or {})})
    try:
        process = subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", TAKES_TERMINAL, str(far), *command, *arguments],
            env=env,
            start_new_session=True,
            pass_fds=(far,),
            **files,
        )
    finally:
        os.close(far)
    with process, os.fdopen(os.dup(near), "wb", buffering=0) as keyboard:
        running = OnTerminal(process, Gathered(os.fdopen(near, "rb", buffering=0)), keyboard)
        try:
            yield running
        finally:
            if process.poll() is None:
                process.kill()
            running.end()


_CONTROL = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)|(\x1b)")


def screen(sent: str) -> list[str]:
    """The lines that a terminal without end shows after `sent`: text, line ends, cursor up, erase line; colours and
    the cursor's look change none. Anything else is a failure. Spaces at the ends of lines are left away."""
    lines, row, column = [""], 0, 0
    for match in _CONTROL.finditer(sent):
        arguments, control, end, text, other = match.groups()
        assert other is None, f"an escape that is not known here, at {sent[match.start() : match.start() + 20]!r}"
        if text is not None:
            line = lines[row].ljust(column)
            lines[row] = line[:column] + text + line[column + len(text) :]
            column += len(text)
        elif end == "\r":
            column = 0
        elif end == "\n":
            row += 1
            if row == len(lines):
                lines.append("")
        elif control == "A":
            row = max(0, row - int(arguments or 1))
        elif control == "K":
            assert arguments == "2"
            lines[row] = ""
        else:
            assert control in "mhl", f"a control that is not known here: {arguments}{control}"
    return [line.rstrip() for line in lines]
