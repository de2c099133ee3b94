"""Reading error bodies: whatever shape a service gives its errors, one `Report`."""

import json
import re
from typing import Final

import msgspec

from llmcore.http import HttpHead
from llmcore.schema.base import JSONObject
from llmcore.wire.decode import loads
from llmcore.wire.texts import scrub
from llmcore.wire.values import at, is_array, is_object, mapping, sequence, text

MAX_MESSAGE: Final = 1000
MAX_GENERATION: Final = 64 * 1024
"""Characters that are kept of what the model wrote and the service refused."""
_MESSAGES: Final = ("message", "msg", "Message", "detail", "error_description")
_SIGNS: Final = frozenset({*_MESSAGES, "code", "type", "__type"})
_TITLE: Final = re.compile(rb"<title[^>]*>([^<]{1,200})</title>", re.IGNORECASE)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What an error body says, as far as it says it. `status` is the one inside the body, `words` all of its texts."""

    message: str = ""
    code: str | None = None
    type: str | None = None
    param: str | None = None
    status: int | None = None
    words: str = ""
    details: tuple[JSONObject, ...] = ()
    failed_generation: str | None = None


def report_of_bytes(body: bytes) -> Report | None:
    """What an error body says; `None` for one that is not JSON or says nothing."""
    if not body.strip():
        return None
    try:
        return report_of(loads(_payload(body)), certain=True)
    except ValueError:
        return None


def report_of(value: object, *, certain: bool = False) -> Report | None:
    """What an error value says, in any of the shapes that services use; `None` for a value that is no error.

    `certain` says that it is one, so that a bare text or `{"message": …}` counts. The shapes: `{"error": {…}}`,
    `{"error": "text", …}`, `{"errors": [{…}]}`, `{"object": "error", …}`, `{"detail": …}`, `{"message": …}`, an array
    of one of these, an error in an error.
    """
    while is_array(value) and value:
        value = value[0]
    if isinstance(value, str):
        return Report(message=_short(value), words=value) if certain and value.strip() else None
    outer = mapping(value)
    error = outer.get("error") or next(iter(sequence(outer.get("errors"))), None)
    if is_array(error):
        error = next(iter(error), None)
    if is_object(error) and error:
        return _report(error, outer)
    if text(error) is not None:
        return _report({**outer, "message": error}, outer)
    certain = certain or outer.get("object") == "error" or outer.get("type") == "error"
    return _report(outer, outer) if certain and _SIGNS & outer.keys() else None


def is_bare_error(value: object) -> bool:
    """Whether an object that no word calls an error is one all the same: it has a message, and beside it a status of
    4xx or 5xx, a code, or a type that speaks of an error. (A progress report with a message is none.)"""
    if not is_object(value) or _message(value) is None:
        return False
    if any(_status(value.get(name)) is not None for name in ("code", "status_code", "status")):
        return True
    code, kind = value.get("code"), value.get("type") or value.get("__type")
    if (isinstance(code, str) and code.strip().lower() not in _NO_ERROR) or (type(code) is int and code >= 300):
        return True
    return isinstance(kind, str) and bool(_ERROR_TYPE.search(kind))


_NO_ERROR: Final = frozenset({"", "0", "200", "ok", "success"})
_ERROR_TYPE: Final = re.compile(r"error|exception|invalid|overloaded|limit|timeout|unavailable", re.IGNORECASE)


def kind_of(head: HttpHead, body: bytes) -> str:
    """What a body is that says nothing we can read, for a sentence about it."""
    if not body.strip():
        return "an empty body"
    kind = (head.header("content-type") or "").partition(";")[0].strip().lower()
    start = body[:256].lstrip().lower()
    if kind in ("text/html", "application/xhtml+xml") or start.startswith((b"<!doctype", b"<html")):
        title = _TITLE.search(body[:4096])
        named = f" ({_short(title[1].decode('utf-8', 'replace'))})" if title else ""
        return f"a web page{named}, not an answer of the provider"
    return f"a body that is no error object (content-type {kind or 'not given'})"


def _report(inner: JSONObject, outer: JSONObject) -> Report:
    nested = inner.get("error")
    if is_object(nested) and nested:
        return _report(nested, outer)
    upstream = text(at(inner, "metadata", "raw"))  # what a gateway repeats of its own upstream's error
    message = " / ".join([part for part in (_message(inner), upstream) if part])
    status = next((found for value in _statuses(inner, outer) if (found := _status(value)) is not None), None)
    words = (inner.get("code"), inner.get("status"), at(inner, "innererror", "code"))
    return Report(
        message=_short(message),
        code=next((word for value in words if _status(value) is None and (word := _word(value))), None),
        type=_word(inner.get("type") or inner.get("__type")),
        param=_word(inner.get("param")),
        status=status,
        words=json.dumps(inner, ensure_ascii=False, default=str),
        details=tuple([mapping(item) for item in sequence(inner.get("details"))]),
        failed_generation=_generation(inner.get("failed_generation")),
    )


def _generation(value: object) -> str | None:
    """What the model wrote: nearly always a text, as JSON where it is a value."""
    if value is None or value == "":
        return None
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return scrub(written[:MAX_GENERATION])


def _statuses(inner: JSONObject, outer: JSONObject) -> tuple[object, ...]:
    found = tuple(inner.get(name) for name in ("code", "status_code", "status"))
    return (*found, outer.get("status_code"), outer.get("status"))


def _message(inner: JSONObject) -> str | None:
    for name in _MESSAGES:
        value = inner.get(name)
        if value:
            return text(value) or json.dumps(value, ensure_ascii=False, default=str)
    return None


def _word(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value).strip()[:200] or None


def _status(value: object) -> int | None:
    """An HTTP status of an error, also one in a text."""
    if isinstance(value, str) and value.isdecimal() and len(value) == 3:
        value = int(value)
    return value if isinstance(value, int) and 400 <= value <= 599 else None


def _short(message: str) -> str:
    message = " ".join(message.split())
    return message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}…"


def _payload(body: bytes) -> bytes:
    """The JSON of a body that is an event stream with an error in it; any other body as it is."""
    if not body.lstrip().startswith((b"data:", b"event:", b":")):
        return body
    lines = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
    return next((line for line in lines if line.startswith(b"{")), body)
