"""The switch that keeps calls on this machine."""

from collections.abc import Generator
from contextlib import contextmanager

from llmcore.errors import ConfigError
from llmcore.transport import guard


@contextmanager
def forbid_network(*, allow: tuple[str, ...] = ()) -> Generator[None]:
    """Within it, a call of any client to a host that is not loopback raises `ConfigError` before any I/O.

    That holds in every thread and event loop, and with an HTTP client of one's own (a mocked one, too). `allow` names
    hosts that may be called all the same; of several such blocks that overlap, each has to allow a call. The host is
    that of the request's URL, also behind a proxy. For a whole run: LLMCORE_FORBID_NETWORK=1, or
    `pytest -p llmcore.testing.plugin`.
    """
    token = guard.forbid(frozenset(_host(host) for host in allow))
    try:
        yield
    finally:
        guard.lift(token)


def _host(name: str) -> str:
    bare = name.lower().strip("[]").rstrip(".")
    if not bare or set(bare) & set("/@ *") or bare.count(":") == 1:
        raise ConfigError(f"allow= names hosts, such as 'api.example.com', without scheme, port or star; not {name!r}")
    return bare
