"""Comparing a row with what is expected, and looking a difference up among the documented ones."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from llmcore.conformance.expect import Expected, usage_problems
from llmcore.conformance.report import Row, Verdict
from llmcore.conformance.rules import RULES, Documents, Rule
from llmcore.schema.base import excerpt


class Judgement(msgspec.Struct, frozen=True):
    """The verdict on a row, what was not as expected (one sentence for each field), and the rules that explain it."""

    verdict: Verdict
    difference: str | None = None
    rules: tuple[str, ...] = ()


def judge(
    protocol: str, expected: Expected, row: Row, documents: Documents | None, rules: tuple[Rule, ...] = RULES
) -> Judgement:
    """Compares `row` with `expected`. `documents` are those of the reply; without any no rule can hold."""
    found = differences(protocol, expected, row)
    if not found:
        return Judgement("pass")
    used = [
        rule
        for rule in rules
        if rule.protocol == protocol and rule.field in found and documents and rule.when(documents)
    ]
    for rule in used:
        assert documents is not None
        expected = msgspec.structs.replace(expected, **{rule.field: rule.right(documents, expected)})
    rest = differences(protocol, expected, row)
    if rest:
        return Judgement("fail", "; ".join(rest.values()))
    names = tuple(rule.id for rule in used)
    return Judgement("documented", f"{'; '.join(found.values())} [{', '.join(names)}]", names)


def differences(protocol: str, expected: Expected, row: Row) -> dict[str, str]:
    """What is not as expected, by field of `Expected`, as sentences; `lifecycle` is one more field. Empty when all is
    as it must be."""
    found = {field: _unequal(field, *values(expected, row)) for field, values in _FIELDS.items()}
    if expected.refusal is not msgspec.UNSET:
        found["refusal"] = _unequal("refusal", expected.refusal, row.refusal)
    if expected.error is None or expected.usage is not None:
        found["usage"] = "; ".join(usage_problems(protocol, row.usage, expected.usage)) or None
    found["lifecycle"] = "; ".join(row.lifecycle) or None
    return {field: sentence for field, sentence in found.items() if sentence is not None}


def _unequal(field: str, expected: object, actual: object) -> str | None:
    if expected == actual:
        return None
    return f"{field}: expected {excerpt(_shown(expected), 200)}, got {excerpt(_shown(actual), 200)}"


def _shown(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


Values = Callable[[Expected, Row], tuple[Any, Any]]

_FIELDS: Final[dict[str, Values]] = {
    "text": lambda expected, row: (expected.text, row.text),
    "reasoning": lambda expected, row: (expected.reasoning, row.reasoning),
    "tool_calls": lambda expected, row: (
        [[call.name, call.id, call.arguments] for call in expected.tool_calls],
        [[call.name, call.id, call.arguments] for call in row.tool_calls],
    ),
    "hosted": lambda expected, row: (
        [[call.type, call.name] for call in expected.hosted],
        [[call.type, call.name] for call in row.hosted],
    ),
    "raw_stop_reason": lambda expected, row: (expected.raw_stop_reason, row.raw_stop_reason),
    "error": lambda expected, row: (
        None if expected.error is None else [expected.error.name, expected.error.status],
        None if row.error is None else [row.error.class_, row.error.status],
    ),
}
"""The fields that are compared as they are: the expected value and the row's, in the same shape."""
