"""HTTP as plain data: what is sent and what answers. No client is imported here."""

from typing import Final

import msgspec

from llmcore.protocol import Headers
from llmcore.schema.base import Data
from llmcore.schema.response import RateLimit


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request, whole. Auth works on this, last, over the final bytes; what is here is what is sent."""

    method: str
    url: str
    headers: Headers
    body: bytes = b""

    def with_header(self, name: str, value: str) -> "HttpRequest":
        """This request with the header set, replacing any of that name."""
        kept = tuple([pair for pair in self.headers if pair[0].lower() != name.lower()])
        return msgspec.structs.replace(self, headers=(*kept, (name, value)))

    def __repr__(self) -> str:
        return f"HttpRequest({self.method}, <{len(self.headers)} headers, {len(self.body)} bytes>)"


class HttpHead(msgspec.Struct, frozen=True, kw_only=True):
    """The head of a reply: status and headers as received."""

    status: int
    headers: Headers = ()

    def header(self, name: str) -> str | None:
        """The first header of that name, in any case; `None` without one."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


class Timeout(Data, frozen=True, kw_only=True):
    """The four clocks of a call, in seconds; `None` is no limit.

    `connect`: until the connection stands (TLS included). `first_event`: from sending until the first event that
    carries content (for a whole body: until the reply is there). `idle`: between two events after that; keep-alives
    do not reset it. `total`: for the whole call.
    """

    connect: float | None = 10.0
    first_event: float | None = 600.0
    idle: float | None = 600.0
    total: float | None = None


REQUEST_ID_HEADERS: Final = (
    "x-request-id",
    "request-id",
    "x-amzn-requestid",
    "x-goog-request-id",
    "apim-request-id",
    "cf-ray",
)


def request_id(head: HttpHead) -> str | None:
    """The provider's id of the request, from the header that it uses."""
    return next((value for name in REQUEST_ID_HEADERS if (value := head.header(name))), None)


def rate_limit(head: HttpHead) -> RateLimit | None:
    """The limits that the reply's `x-ratelimit-*` headers state, `None` without any.

    Source: https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers
    """
    found = {field: head.header(name) for field, name in _RATE_LIMIT_HEADERS.items()}
    if not any(found.values()):
        return None
    return RateLimit(
        limit_requests=_count(found["limit_requests"]),
        remaining_requests=_count(found["remaining_requests"]),
        reset_requests=duration(found["reset_requests"]),
        limit_tokens=_count(found["limit_tokens"]),
        remaining_tokens=_count(found["remaining_tokens"]),
        reset_tokens=duration(found["reset_tokens"]),
    )


_RATE_LIMIT_HEADERS: Final = {
    "limit_requests": "x-ratelimit-limit-requests",
    "remaining_requests": "x-ratelimit-remaining-requests",
    "reset_requests": "x-ratelimit-reset-requests",
    "limit_tokens": "x-ratelimit-limit-tokens",
    "remaining_tokens": "x-ratelimit-remaining-tokens",
    "reset_tokens": "x-ratelimit-reset-tokens",
}
_LONGEST: Final = 24
"""Characters of a number that is taken: Python refuses to read an integer of thousands of digits."""
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def _count(value: str | None) -> int | None:
    return int(value) if value is not None and len(value) <= _LONGEST and value.strip().isdecimal() else None


def duration(value: str | None) -> float | None:
    """Seconds of a duration such as `6m0s`, `250ms`, `1.5s` or plain `2`; `None` for anything else."""
    total, number, rest = 0.0, "", (value or "").strip()
    if not rest or len(rest) > _LONGEST:
        return None
    position = 0
    while position < len(rest):
        char = rest[position]
        if char.isdecimal() or char == ".":
            number += char
            position += 1
            continue
        unit = "ms" if rest.startswith("ms", position) else char
        if unit not in _UNITS or not _is_number(number):
            return None
        total += float(number) * _UNITS[unit]
        number = ""
        position += len(unit)
    if number:
        return total + float(number) if _is_number(number) else None
    return total


def _is_number(text: str) -> bool:
    return text.count(".") <= 1 and text.replace(".", "").isdecimal()
