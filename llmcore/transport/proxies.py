"""Proxies from the environment, read by ourselves: a bad `NO_PROXY` entry must not break every call."""

import ipaddress
import logging
import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from llmcore.errors import ConfigError
from llmcore.url import redact_query

_log = logging.getLogger("llmcore")

LOOPBACK: Final = ("all://localhost", "all://127.0.0.1", "all://[::1]")
"""The hosts that never need a proxy: a server on this machine is out of reach from any other (Go's rule, too)."""
PROXY_SCHEMES: Final = ("http", "https", "socks5", "socks5h")


class Named(NamedTuple):
    """A proxy, and the variable that names it."""

    variable: str
    url: str


class Proxies(NamedTuple):
    """The proxy of each scheme (`http`, `https`, `all`), and httpx's patterns for the hosts that need none."""

    by_scheme: dict[str, Named]
    direct: tuple[str, ...]


def from_environment(environ: Mapping[str, str] = os.environ) -> Proxies:
    """The proxies that `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` (either case) name.

    Loopback goes direct. Raises `ConfigError` naming the variable whose value is no proxy URL. An entry of `NO_PROXY`
    that no pattern can express (an address block) is left out with a log record.
    """
    by_scheme = dict[str, Named]()
    for scheme in ("http", "https", "all"):
        name = f"{scheme}_proxy"
        # A CGI program's HTTP_PROXY is the request's `Proxy` header (httpoxy): only the lower-case name counts there.
        names = (name,) if scheme == "http" and "REQUEST_METHOD" in environ else (name, name.upper())
        for variable in names:
            value = environ.get(variable, "").strip()
            if value:
                by_scheme[scheme] = Named(variable, _proxy_url(variable, value))
                break
    entries = (environ.get("no_proxy") or environ.get("NO_PROXY") or "").split(",")
    hosts = [host for entry in entries if (host := entry.strip())]
    if "*" in hosts:
        return Proxies({}, ())
    patterns = [pattern for host in hosts if (pattern := _pattern(host)) is not None]
    return Proxies(by_scheme, tuple(dict.fromkeys([*LOOPBACK, *patterns])) if by_scheme else ())


def _proxy_url(variable: str, value: str) -> str:
    url = value if "://" in value else f"http://{value}"
    scheme = url.partition("://")[0].lower()
    if scheme not in PROXY_SCHEMES:
        raise ConfigError(f"{variable} is no proxy URL: the scheme {scheme!r} is none of {', '.join(PROXY_SCHEMES)}")
    if scheme.startswith("socks") and find_spec("socksio") is None:
        raise ConfigError(
            f"{variable} names a SOCKS proxy, which needs the package `socksio` (pip install 'httpx[socks]')"
        )
    try:
        parts = urlsplit(url)
        complete = bool(parts.hostname) and parts.port != 0
    except ValueError:  # its words repeat the URL, which may hold a password
        complete = False
    if not complete:
        raise no_proxy(variable)
    return url


def no_proxy(variable: str) -> ConfigError:
    """The error of a variable whose value is no proxy URL; it does not repeat the value."""
    return ConfigError(f"{variable} is no proxy URL, as in http://proxy.example.com:3128")


def _pattern(host: str) -> str | None:
    """httpx's mount pattern for one entry of `NO_PROXY`, `None` where there is none. A name stands for itself and for
    all below it, with or without a dot or a star before it."""
    if "://" in host:
        return host
    if "/" in host:
        ignored(host)
        return None
    name, colon, port = host.rpartition(":")
    if not (name and port.isdecimal()) or (":" in name and not name.endswith("]")):  # no port, or a bare IPv6 address
        name, colon, port = host, "", ""
    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        name = name.removeprefix("*").lstrip(".")
        return f"all://*{name}{colon}{port}" if name else None
    return f"all://[{address}]{colon}{port}" if address.version == 6 else f"all://{address}{colon}{port}"


def ignored(entry: str) -> None:
    """Says that an entry of `NO_PROXY` is left out."""
    _log.warning("NO_PROXY entry %r is left out: it is neither a host nor an address", redact_query(entry))
