"""What a declaration in a file may not do by itself: take a known id, take another's key to another host, or send a key
that anybody on the way can read. `override = true` in the provider's table lifts all three.
"""

import ipaddress
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from llmcore.auth import NoAuth
from llmcore.declarations.document import Declaration, Place, Problem
from llmcore.route import Provider, Route

__all__ = ["loopback", "problems"]

RESERVED: Final[dict[str, tuple[str, str]]] = {
    "ANTHROPIC_API_KEY": ("anthropic", "api.anthropic.com"),
    "GEMINI_API_KEY": ("google", "generativelanguage.googleapis.com"),
    "GOOGLE_API_KEY": ("google", "generativelanguage.googleapis.com"),
    "AWS_SECRET_ACCESS_KEY": ("amazon-bedrock", ""),
    "AWS_SESSION_TOKEN": ("amazon-bedrock", ""),
    "AWS_BEARER_TOKEN_BEDROCK": ("amazon-bedrock", ""),
}
"""Keys that people hold of providers which are not declared here yet: variable, owner, host (`""`: none that a file may
name)."""

_REMEDY = "override = true in its table allows it"


def problems(
    declaration: Declaration, provider: Provider, taken: str | None, others: Iterable[Provider]
) -> Iterator[Problem]:
    """All that `provider` may not do, as its declaration does not override. `taken` says who else declares its id, if
    anyone does; `others` are the other providers that there are, whose keys are theirs."""
    tell = declaration.document.problem
    if taken is not None:
        what = f"provider {provider.id} is declared already, by {taken}; take another id ({_REMEDY})"
        yield tell(declaration.place, what)
    holders = _holders(others)
    for place, route in _routes(declaration, provider):
        host = _host(route.base_url)
        for variable in route.auth.env:
            owners = holders.get(variable, {})
            if owners and not any(_is_at(host, home) for homes in owners.values() for home in homes):
                where = f"{host} is none of its hosts" if host else "this route has no host of its own"
                what = f"{variable} is the key of {' and '.join(owners)}, and {where}; name another variable"
                yield tell((*place, "auth"), f"{what} ({_REMEDY})")
        for name, variable in route.variables.items():
            owners = holders.get(variable, {})
            if owners:
                what = f"{variable} is the key of {' and '.join(owners)}, which does not go into a URL ({_REMEDY})"
                yield tell((*place, "variables", name), what)
        clear = urlsplit(route.base_url.strip()).scheme == "http" and not loopback(host)
        if clear and not isinstance(route.auth, NoAuth):
            what = 'over http anybody on the way can read the key: use https, or auth = "none"'
            yield tell((*place, "base_url"), f"{what} ({_REMEDY})")


def loopback(host: str) -> bool:
    """Whether `host` is this machine itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _routes(declaration: Declaration, provider: Provider) -> Iterator[tuple[Place, Route[Any, Any]]]:
    if provider.route is not None:
        yield (*declaration.place, "route"), provider.route
    for api, route in provider.apis.items():
        yield (*declaration.place, "apis", api), route


def _holders(others: Iterable[Provider]) -> dict[str, dict[str, set[str]]]:
    """The hosts of each key variable, by the provider whose key it is."""
    found = {variable: {owner: {home}} for variable, (owner, home) in RESERVED.items()}
    for other in others:
        for route in other.routes().values():
            for variable in route.auth.env:
                found.setdefault(variable, {}).setdefault(other.id, set()).add(_host(route.base_url))
    return found


def _host(base_url: str) -> str:
    """The host of a URL, its variables as `{}`; blank without one."""
    return re.sub(r"\{[^{}]*\}", "{}", urlsplit(base_url.strip()).hostname or "")


def _is_at(host: str, home: str) -> bool:
    """Whether `host` is `home`, or one of those that `home` stands for by a variable in one of its labels."""
    if not host or not home.replace("{}", "").strip("."):
        return False  # a host that is nothing but a variable is any host
    if host == home:
        return True
    pattern = r"[a-z0-9_-]+".join(map(re.escape, home.split("{}")))
    return "{}" in home and "{}" not in host and re.fullmatch(pattern, host) is not None
