"""What must come out of a recorded reply, said by tables that use nothing of the protocols' code.

`Expected` is made of an oracle's entry, or by a small independent reader of the body (`readers`) where there is none.
`EQUATIONS` ties the canonical usage to the native numbers; `error_class` says which class an error must be: the one
that its code gives, else its type, else its status.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeGuard

import msgspec

from llmcore.conformance.corpus import Call, Hosted, Oracle, OracleError
from llmcore.schema.base import JSONObject


class ExpectedError(msgspec.Struct, frozen=True):
    """The error that a reply stands for: the name of its class, and the HTTP status received."""

    name: str
    status: int | None


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What must come out of one reply. `refusal` is compared only where the source of the expectation speaks of it
    (an oracle that has no word on refusals says nothing about them)."""

    text: str = ""
    reasoning: str = ""
    refusal: str | msgspec.UnsetType | None = msgspec.UNSET
    tool_calls: tuple[Call, ...] = ()
    hosted: tuple[Hosted, ...] = ()
    raw_stop_reason: str | None = None
    usage: JSONObject | None = None
    error: ExpectedError | None = None


def from_oracle(oracle: Oracle) -> Expected:
    """The expectation that an oracle's entry states."""
    return Expected(
        text=oracle.text or "",
        reasoning=oracle.reasoning or "",
        refusal=msgspec.UNSET if oracle.refusal is None else oracle.refusal,
        tool_calls=oracle.tool_calls,
        hosted=oracle.hosted_tool_calls,
        raw_stop_reason=oracle.stop_reason_native,
        usage=oracle.usage_native,
        error=None if oracle.error is None else ExpectedError(error_class(oracle.error), oracle.error.status),
    )


class Equation(msgspec.Struct, frozen=True):
    """The sum of canonical counts equals a native number: the first of `native` (paths with dots) that is there.
    Where none is, none of the counts may be reported."""

    counts: tuple[str, ...]
    native: tuple[str, ...]

    def __str__(self) -> str:
        return f"{' + '.join(self.counts)} = {' | '.join(self.native) or 'nothing'}"

    def problem(self, usage: Mapping[str, object], native: JSONObject) -> str | None:
        """What does not hold, as a sentence; `None` where the equation holds."""
        right = next((value for path in self.native if (value := at(native, path)) is not None), None)
        known = [value for name in self.counts if isinstance(value := usage.get(name), int)]
        left = sum(known) if known else None
        return None if left == right else f"{self}: {left} is not {right}"


EQUATIONS: Final[dict[str, tuple[Equation, ...]]] = {
    # https://platform.openai.com/docs/api-reference/chat/object: prompt_tokens include what was read from the cache,
    # and (OpenRouter) what was written to it. The spellings of the cached part are those of the recordings: OpenAI,
    # DeepSeek, Together, Mistral.
    "openai-chat": (
        Equation(("input_tokens", "cache_read_tokens", "cache_write_tokens"), ("prompt_tokens",)),
        Equation(("output_tokens",), ("completion_tokens",)),
        Equation(
            ("cache_read_tokens",),
            (
                "prompt_tokens_details.cached_tokens",
                "prompt_cache_hit_tokens",
                "cached_tokens",
                "num_cached_tokens",
            ),
        ),
        Equation(("cache_write_tokens",), ("prompt_tokens_details.cache_write_tokens",)),
        Equation(("cache_write_1h_tokens",), ()),
        Equation(("reasoning_tokens",), ("completion_tokens_details.reasoning_tokens",)),
    ),
}
"""The equations between canonical usage and native numbers, by protocol."""


def usage_problems(protocol: str, usage: Mapping[str, object] | None, native: JSONObject | None) -> list[str]:
    """Everything in `usage` (canonical counts by name) that does not follow from the `native` record."""
    equations = EQUATIONS.get(protocol)
    if equations is None:
        return [f"no equations are written for {protocol}"]
    problems = [equation.problem(usage or {}, native or {}) for equation in equations]
    return [problem for problem in problems if problem is not None]


def at(record: JSONObject, path: str) -> object:
    """The value at `path` (names joined by dots) in nested objects; `None` where one is missing."""
    value: object = record
    for name in path.split("."):
        value = value.get(name) if is_object(value) else None
    return value


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a decoded JSON value is an object."""
    return isinstance(value, dict)


ERROR_CODES: Final[dict[str, str]] = {
    "billing_hard_limit_reached": "QuotaError",
    "content_filter": "ContentFilterError",
    "content_policy_violation": "ContentFilterError",
    "context_length_exceeded": "ContextLengthError",
    "decimal_below_min_value": "InvalidRequestError",
    "insufficient_quota": "QuotaError",
    "invalid_api_key": "AuthError",
    "invalid_value": "InvalidRequestError",
    "model_not_found": "InvalidRequestError",
    "rate_limit_exceeded": "RateLimitError",
    "server_error": "OverloadedError",
    "string_above_max_length": "InvalidRequestError",
    "tool_use_failed": "InvalidRequestError",
    "unsupported_file": "InvalidRequestError",
    "unsupported_parameter": "InvalidRequestError",
    "unsupported_value": "InvalidRequestError",
}
"""Error class by the vendor's code: those of the recordings, and those that vendors document."""

ERROR_TYPES: Final[dict[str, str]] = {
    "INVALID_ARGUMENT": "InvalidRequestError",
    "NOT_FOUND": "InvalidRequestError",
    "PERMISSION_DENIED": "AuthError",
    "RESOURCE_EXHAUSTED": "RateLimitError",
    "UNAUTHENTICATED": "AuthError",
    "UNAVAILABLE": "OverloadedError",
    "api_error": "OverloadedError",
    "authentication_error": "AuthError",
    "insufficient_quota": "QuotaError",
    "invalid_request_error": "InvalidRequestError",
    "not_found_error": "InvalidRequestError",
    "overloaded_error": "OverloadedError",
    "permission_error": "AuthError",
    "rate_limit_error": "RateLimitError",
    "request_too_large": "InvalidRequestError",
    "server_error": "OverloadedError",
    "timeout_error": "RequestTimeoutError",
}
"""Error class by the vendor's type of error."""

ERROR_STATUS: Final[dict[int, str]] = {
    401: "AuthError",
    402: "QuotaError",
    403: "AuthError",
    408: "RequestTimeoutError",
    409: "OverloadedError",
    425: "OverloadedError",
    429: "RateLimitError",
}
"""Error class by HTTP status; any other 4xx is `InvalidRequestError`, any 5xx `OverloadedError`."""


def error_class(error: OracleError) -> str:
    """The name of the class that the error's code gives, else its type, else its status. A number in the place of the
    code or the type is a status."""
    for word, table in ((error.code, ERROR_CODES), (error.type, ERROR_TYPES)):
        name = _of_status(word) if isinstance(word, int) else table.get(word or "")
        if name is not None:
            return name
    return _of_status(error.status) or "LLMError"


def _of_status(status: int | None) -> str | None:
    if status is None or not 400 <= status < 600:
        return None
    return ERROR_STATUS.get(status, "InvalidRequestError" if status < 500 else "OverloadedError")
