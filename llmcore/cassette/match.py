"""Whether a request is the recorded one, and what to say when none is."""

from typing import cast
from urllib.parse import parse_qsl, urlsplit

import msgspec

from llmcore.cassette.format import SECRET_QUERY, RecordedRequest
from llmcore.cassette.script import Received
from llmcore.schema.base import excerpt
from llmcore.schema.canonical import canonical
from llmcore.url import redact_query


def same_request(recorded: RecordedRequest, request: Received) -> bool:
    """Whether method, path, query (without credentials) and body are equal; JSON bodies by their canonical form."""
    return (
        recorded.method == request.method
        and _place(recorded.url) == _place(request.path)
        and _canonical(recorded.content) == _canonical(request.body)
    )


def miss_message(request: Received, unused: list[RecordedRequest], used: int) -> str:
    """Why nothing answers `request`: the nearest of the `unused` recordings and the first difference from it."""
    what = f"no reply for {request.method} {redact_query(request.path)}"
    if not unused:
        return f"{what}: all {used} of the script are used"
    nearest = max(unused, key=lambda recorded: _likeness(recorded, request))
    return f"{what}: the nearest recording differs in {_difference(nearest, request)}"


def _likeness(recorded: RecordedRequest, request: Received) -> tuple[bool, bool, int]:
    one, other = _fields(recorded.content), _fields(request.body)
    same = sum(key in other and other[key] == value for key, value in one.items())
    return recorded.method == request.method, _place(recorded.url) == _place(request.path), same


def _difference(recorded: RecordedRequest, request: Received) -> str:
    if recorded.method != request.method:
        return f"the method: {recorded.method}"
    if _place(recorded.url) != _place(request.path):
        return f"the path: {urlsplit(recorded.url).path}"
    found = _first_difference(_parsed(recorded.content), _parsed(request.body), "body")
    return found or "its body, which is not JSON"


def _first_difference(recorded: object, sent: object, where: str) -> str | None:
    if isinstance(recorded, dict) and isinstance(sent, dict):
        return _first_of_fields(cast("dict[str, object]", recorded), cast("dict[str, object]", sent), where)
    if isinstance(recorded, list) and isinstance(sent, list):
        return _first_of_items(cast("list[object]", recorded), cast("list[object]", sent), where)
    one, other = canonical(cast("object", recorded)).decode(), canonical(sent).decode()
    return None if one == other else f"{where}: {excerpt(one, 40)} recorded, {excerpt(other, 40)} sent"


def _first_of_fields(recorded: dict[str, object], sent: dict[str, object], where: str) -> str | None:
    for key in [*recorded, *(key for key in sent if key not in recorded)]:
        if key not in sent or key not in recorded:
            return f"{where}.{key}, which is only in the {'recording' if key in recorded else 'request'}"
        found = _first_difference(recorded[key], sent[key], f"{where}.{key}")
        if found:
            return found
    return None


def _first_of_items(recorded: list[object], sent: list[object], where: str) -> str | None:
    if len(recorded) != len(sent):
        return f"the length of {where}: {len(recorded)} recorded, {len(sent)} sent"
    pairs = enumerate(zip(recorded, sent, strict=True))
    return next((found for i, (one, other) in pairs if (found := _first_difference(one, other, f"{where}[{i}]"))), None)


def _fields(body: bytes) -> dict[str, object]:
    parsed = _parsed(body)
    return cast("dict[str, object]", parsed) if isinstance(parsed, dict) else {}


def _place(url: str) -> tuple[str, list[tuple[str, str]]]:
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    return parts.path or "/", sorted(pair for pair in query if pair[0].lower() not in SECRET_QUERY)


def _parsed(body: bytes) -> object:
    try:
        return msgspec.json.decode(body) if body else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _canonical(body: bytes) -> bytes:
    parsed = _parsed(body)
    return body if parsed is None else canonical(parsed)
