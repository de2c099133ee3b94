"""Documented differences: where the library is right, by the bytes, and its oracle is not.

A rule is narrow. It speaks of one protocol and one field, holds only where `when` finds its condition on the wire, and
does not excuse: it says (`right`) what that field must be instead, from the wire, and a row that has anything else
fails. No rule knows the name of a case, a provider or a model.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from llmcore.conformance.expect import Expected, is_object
from llmcore.conformance.readers import Document
from llmcore.schema.base import JSONObject

Documents = list[Document]
"""The JSON objects of a reply in order: those of its events, or its whole body."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A documented difference. `right` gives the value of `field` in `Expected` that stands in the oracle's place."""

    id: str
    protocol: str
    field: str
    when: Callable[[Documents], bool]
    right: Callable[[Documents, Expected], object]
    reason: str
    evidence: str


def _usages(documents: Documents) -> list[JSONObject]:
    return [usage for document in documents if is_object(usage := document.get("usage"))]


def _is_zero(value: object) -> bool:
    if is_object(value):
        return all(_is_zero(item) for item in value.values())
    return value in (0, None)


def _zero_after_real(documents: Documents) -> bool:
    usages = _usages(documents)
    return len(usages) > 1 and _is_zero(usages[-1]) and not all(_is_zero(usage) for usage in usages)


def _last_real(documents: Documents, _: Expected) -> JSONObject:
    return [usage for usage in _usages(documents) if not _is_zero(usage)][-1]


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        id="zero-usage-after-real",
        protocol="openai-chat",
        field="usage",
        when=_zero_after_real,
        right=_last_real,
        reason="a last usage of nothing but zeros follows the real one; the oracle takes the last, we keep the real",
        evidence="Cloudflare Workers AI ends its text streams with a second final chunk whose usage is 0/0",
    ),
)
"""All documented differences."""
