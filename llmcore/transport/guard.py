"""Whether a call may leave this machine: the switch that test runs throw (`llmcore.testing.forbid_network`).

The transport asks `check` for the URL of every request before any I/O of its own, whoever made the HTTP client. What is
forbidden is forbidden in the whole process, in all threads and event loops.
"""

import ipaddress
import os
import threading
from typing import Final
from urllib.parse import urlsplit

from llmcore.errors import ConfigError
from llmcore.schema.base import excerpt

VARIABLE: Final = "LLMCORE_FORBID_NETWORK"
"""`1` forbids for the whole process; unset, empty or `0` does not."""

_lock: Final = threading.Lock()
_active: dict[int, frozenset[str]] = {}  # replaced whole under the lock, so that `check` reads it without one
_count = 0


def forbid(allow: frozenset[str]) -> int:
    """Forbids all hosts but loopback and those of `allow` (lower case), until `lift`. Of several that forbid, each has
    to allow a call."""
    global _active, _count  # noqa: PLW0603  # the switch is the process's: threads do not share contexts
    with _lock:
        _count += 1
        _active = {**_active, _count: allow}
        return _count


def lift(token: int) -> None:
    """Takes back what `forbid` gave `token` for."""
    global _active  # noqa: PLW0603  # see above
    with _lock:
        _active = {number: allow for number, allow in _active.items() if number != token}


def check(url: str) -> None:
    """Raises `ConfigError` where the host of `url` may not be called."""
    active, variable = _active, os.environ.get(VARIABLE, "")
    if not active and variable in ("", "0"):
        return
    if variable not in ("", "0", "1"):
        raise ConfigError(f"{VARIABLE} is 1 (calls stay on this machine) or 0, not {excerpt(variable)}")
    host = (urlsplit(url).hostname or "").rstrip(".")
    if is_loopback(host):
        return
    if variable == "1":
        raise ConfigError(f"{VARIABLE}=1 forbids network calls, and this one goes to {excerpt(host)}")
    if not all(host in allow for allow in active.values()):
        raise ConfigError(
            f"forbid_network() forbids network calls, and this one goes to {excerpt(host)}; "
            "script the model, replay a recording, or allow the host"
        )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its name or address. (No name is looked up.)"""
    if host == "localhost" or host.endswith(".localhost"):  # RFC 6761, 6.3
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped if mapped is not None else address).is_loopback
