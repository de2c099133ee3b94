"""Joining a base URL and a path, keeping what the base has: its prefix, its query, its port.

Not httpx's `base_url` nor `urljoin`: both put a path behind the base's query, or drop its prefix.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote, urlsplit, urlunsplit

from llmcore.errors import ConfigError
from llmcore.schema.base import excerpt

_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")
_HOST: Final = re.compile(r"[^\s\x00-\x20\x7f\\^`{|}<>\"]+\Z")
_USERINFO: Final = re.compile(r"(?:(?<=//)|^)[^/?#]*@")


def join(base: str, path: str = "", query: Iterable[tuple[str, str]] = ()) -> str:
    """`base` with `path` appended and `query` added to its own. Percent-encoding is kept as it is.

    Raises `ConfigError` for a base that is not http(s), has no host, or has credentials or a fragment in it.
    """
    try:
        parts = urlsplit(base.strip())
        _ = parts.port
    except ValueError as problem:
        raise ConfigError(f"the base URL does not parse: {problem}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not _HOST.match(parts.hostname):
        raise ConfigError(f"a base URL is http(s)://host…, not {excerpt(redact_query(base))}")
    if "@" in parts.netloc:
        raise ConfigError("the base URL has credentials before its host; pass them as api_key or auth instead")
    if parts.fragment:
        raise ConfigError("the base URL has a #fragment; leave it away")
    sub, _, sub_query = path.partition("?")
    whole = parts.path.rstrip("/") + ("/" + sub.lstrip("/") if sub else "")
    pairs = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in query)
    queries = "&".join(part for part in (parts.query, sub_query, pairs) if part)
    return urlunsplit((parts.scheme, parts.netloc, whole or "/", queries, ""))


def expand(template: str, values: Mapping[str, str]) -> str:
    """`template` with each `{name}` replaced by its percent-encoded value."""
    for name, value in values.items():
        template = template.replace("{" + name + "}", quote(value, safe=""))
    return template


def variables_in(template: str) -> tuple[str, ...]:
    """The names that stand in braces in `template`, in order."""
    return tuple(_VARIABLE.findall(template))


def redact_query(url: str) -> str:
    """`url` without the values of its query and without a user and password: what we print of a URL."""
    before, mark, query = url.partition("?")
    before = _USERINFO.sub("…@", before)
    if not mark:
        return before
    return before + "?" + "&".join(pair.partition("=")[0] + "=…" for pair in query.split("&"))
