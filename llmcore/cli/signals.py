"""Ctrl-C and `kill`: both end a command in order, once. A second one ends it at once."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived. Handled wherever Ctrl-C is."""


_ORDINARY: Final = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
"""The handlers that are replaced. Another one is somebody's own (a shell's, for a job that it keeps from Ctrl-C)."""
_RAISED: Final = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: Terminated}


@contextmanager
def interruptible() -> Generator[None, None, None]:
    """Within, in the main thread, SIGINT raises `KeyboardInterrupt` and SIGTERM raises `Terminated`; after the first
    of them both have the system's own effect."""
    ours = threading.current_thread() is threading.main_thread()
    replaced = [number for number, usual in _ORDINARY.items() if ours and signal.getsignal(number) == usual]

    def once(number: int, _: FrameType | None) -> Any:
        for each in replaced:
            signal.signal(each, signal.SIG_DFL)
        raise _RAISED[signal.Signals(number)]

    try:
        for number in replaced:
            signal.signal(number, once)
        yield
    finally:
        for number in replaced:
            signal.signal(number, _ORDINARY[number])
