"""Documented differences: where the library is right, by the bytes, and its oracle is not.

A rule is narrow. It speaks of one protocol and one field, holds only where `when` finds its condition on the wire, and
does not excuse: it says (`right`) what that field must be instead, from the wire, and a row that has anything else
fails. No rule knows the name of a case, a provider or a model.

A `Rewrite` is the same for replays: the recording's client did not give a reply back as it came, and `right` says what
the turn is without that. Its condition is the rewriting itself, seen in the reply and in the turn.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

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


Turn = list[Document]
"""A recorded turn of the model's, in all its items."""


class Rewrite(msgspec.Struct, frozen=True, kw_only=True):
    """A documented rewriting of a turn. `right` gives the turn as the reply, whose documents it is given, has it."""

    id: str
    protocol: str
    when: Callable[[Documents, Turn], bool]
    right: Callable[[Documents, Turn], Turn]
    reason: str
    evidence: str


THOUGHTS: Final = ("reasoning_content", "reasoning")
"""Fields of a Chat message that carry thoughts."""
OPEN, CLOSE = "<think>", "</think>"


def _said(documents: Documents, field: str) -> str:
    """The text of `field` over a whole Chat reply, of its first choice."""
    return "".join(text for choice in _choices(documents) if isinstance(text := _message(choice).get(field), str))


def _choices(documents: Documents) -> Iterator[Any]:
    return (choice for document in documents for choice in (document.get("choices") or ())[:1])


def _message(choice: Any) -> Document:
    return choice.get("message") or choice.get("delta") or {}


def _thoughts(documents: Documents) -> dict[str, str]:
    """The thoughts of a Chat reply under the field that they came in; empty without any."""
    return {field: text for field in THOUGHTS if (text := _said(documents, field))}


def _written(turn: Turn) -> str | None:
    """The text of a turn that has no thoughts in a field of their own; `None` for any other."""
    content = turn[0].get("content") or ""
    own = len(turn) == 1 and isinstance(content, str) and not any(turn[0].get(field) for field in THOUGHTS)
    return content if own else None


def _split(text: str) -> tuple[str, str]:
    """The thoughts between tags that a text begins with, and the rest, both without white space at their ends."""
    head, closed, tail = text.partition(CLOSE)
    begins = closed and head.lstrip().startswith(OPEN)
    return (head.strip().removeprefix(OPEN).strip(), tail.strip()) if begins else ("", text.strip())


def _has_tags_rewritten(documents: Documents, turn: Turn) -> bool:
    said, written = _said(documents, "content"), _written(turn)
    if written is None or written == said:
        return False
    (thoughts, text), (again, rest) = _split(said), _split(written)
    return bool(thoughts) and text == rest and again in ("", thoughts)


def _with_text(documents: Documents, turn: Turn) -> Turn:
    return [turn[0] | {"content": _said(documents, "content")}]


def _has_thoughts_in_text(documents: Documents, turn: Turn) -> bool:
    thoughts, written = _thoughts(documents), _written(turn)
    if len(thoughts) != 1 or written is None:
        return False
    return _split(written) == (*[text.strip() for text in thoughts.values()], _said(documents, "content").strip())


def _lacks_thoughts(documents: Documents, turn: Turn) -> bool:
    calls = bool(turn[0].get("tool_calls"))
    return len(_thoughts(documents)) == 1 and calls and _written(turn) == _said(documents, "content")


def _with_thoughts(documents: Documents, turn: Turn) -> Turn:
    return [turn[0] | {"content": _said(documents, "content")} | _thoughts(documents)]


REWRITES: Final[tuple[Rewrite, ...]] = (
    Rewrite(
        id="tagged-thoughts-rewritten",
        protocol="openai-chat",
        when=_has_tags_rewritten,
        right=_with_text,
        reason="thoughts that came between tags in the text were cut from it, or put back with other white space; "
        "where the service itself does not part them from the text, we give the text back as it came",
        evidence="two replies of DeepSeek R1 models begin with <think>; the next requests have only what follows the "
        "thoughts (Groq), or the same thoughts after one more line end (Together)",
    ),
    Rewrite(
        id="thoughts-put-into-text",
        protocol="openai-chat",
        when=_has_thoughts_in_text,
        right=_with_thoughts,
        reason="thoughts that came in a field of their own were written into the text, between tags; we give them back "
        "in their field",
        evidence="two tool calls of gpt-oss on Groq came with `reasoning`; its API has that field in messages of the "
        "assistant, too (ChatCompletionAssistantMessageParam of https://github.com/groq/groq-python)",
    ),
    Rewrite(
        id="thoughts-left-out",
        protocol="openai-chat",
        when=_lacks_thoughts,
        right=_with_thoughts,
        reason="the thoughts before a tool call, which came in a field of their own, were not given back; we give them "
        "back where the service takes them",
        evidence="an earlier recording of the same conversation with gpt-oss on Groq has nothing in their place",
    ),
)
"""All documented rewritings."""
