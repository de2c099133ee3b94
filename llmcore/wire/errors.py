"""What an error of a provider means: its class, from code, then type, then effective status, then words.

A body in any of the shapes that services use becomes a `Report`; tables of data turn that into one class of our tree.
Error bodies are never trusted: HTML, nothing, a megabyte or bytes that are no text give a typed error too.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from llmcore.errors import (
    AuthError,
    ContentFilterError,
    ContextLengthError,
    ErrorFields,
    InvalidRequestError,
    LLMError,
    OverloadedError,
    QuotaError,
    RateLimitError,
    RequestTimeoutError,
)
from llmcore.http import HttpHead, request_id
from llmcore.protocol import Headers
from llmcore.wire.decode import excerpt_of
from llmcore.wire.delays import of_details, retry_after
from llmcore.wire.reports import Report, kind_of, report_of, report_of_bytes
from llmcore.wire.wordings import CONTENT_FILTER, CONTEXT, OTHERS, PER_DAY, PER_MINUTE, QUOTA


class Verdict(NamedTuple):
    """An error class, and whether trying again may help where the class does not say so itself."""

    error: type[LLMError]
    retryable: bool | None = None


CODES: Final[Mapping[str, Verdict]] = {
    "invalid_api_key": Verdict(AuthError),
    "incorrect_api_key": Verdict(AuthError),
    "no_api_key": Verdict(AuthError),
    "invalid_authentication": Verdict(AuthError),
    "invalid_authentication_error": Verdict(AuthError),
    "account_deactivated": Verdict(AuthError),
    "unauthorized": Verdict(AuthError),
    "unauthenticated": Verdict(AuthError),
    "authentication_error": Verdict(AuthError),
    "permission_error": Verdict(AuthError),
    "permission_denied": Verdict(AuthError),
    "access_denied": Verdict(AuthError),
    "forbidden": Verdict(AuthError),
    "unsupported_country_region_territory": Verdict(AuthError),
    "insufficient_quota": Verdict(QuotaError),
    "quota_exceeded": Verdict(QuotaError),
    "billing_hard_limit_reached": Verdict(QuotaError),
    "billing_not_active": Verdict(QuotaError),
    "billing_error": Verdict(QuotaError),
    "insufficient_balance": Verdict(QuotaError),
    "insufficient_credits": Verdict(QuotaError),
    "insufficient_user_quota": Verdict(QuotaError),
    "payment_required": Verdict(QuotaError),
    "rate_limit_exceeded": Verdict(RateLimitError),
    "rate_limit_error": Verdict(RateLimitError),
    "rate_limited": Verdict(RateLimitError),
    "rate_limit_reached_error": Verdict(RateLimitError),
    "ratelimitreached": Verdict(RateLimitError),
    "too_many_requests": Verdict(RateLimitError),
    "requests": Verdict(RateLimitError),
    "tokens": Verdict(RateLimitError),
    "context_length_exceeded": Verdict(ContextLengthError),
    "model_context_window_exceeded": Verdict(ContextLengthError),
    "exceed_context_size_error": Verdict(ContextLengthError),
    "context_window_exceeded": Verdict(ContextLengthError),
    "tokens_limit_reached": Verdict(ContextLengthError),
    "content_filter": Verdict(ContentFilterError),
    "content_filter_error": Verdict(ContentFilterError),
    "content_policy_violation": Verdict(ContentFilterError),
    "responsibleaipolicyviolation": Verdict(ContentFilterError),
    "data_inspection_failed": Verdict(ContentFilterError),
    "moderation_blocked": Verdict(ContentFilterError),
    "server_error": Verdict(OverloadedError),
    "internal_server_error": Verdict(OverloadedError),
    "internal_error": Verdict(OverloadedError),
    "internal": Verdict(OverloadedError),
    "api_error": Verdict(OverloadedError),
    "overloaded": Verdict(OverloadedError),
    "overloaded_error": Verdict(OverloadedError),
    "engine_overloaded": Verdict(OverloadedError),
    "engine_overloaded_error": Verdict(OverloadedError),
    "service_unavailable": Verdict(OverloadedError),
    "service_unavailable_error": Verdict(OverloadedError),
    "unavailable": Verdict(OverloadedError),
    "slow_down": Verdict(OverloadedError),
    "model_overloaded": Verdict(OverloadedError),
    "timeout": Verdict(RequestTimeoutError),
    "timeout_error": Verdict(RequestTimeoutError),
    "request_timeout": Verdict(RequestTimeoutError),
    "deadline_exceeded": Verdict(RequestTimeoutError),
    # The model wrote a call or a JSON text that the service's own check refused: the next attempt may pass.
    "tool_use_failed": Verdict(InvalidRequestError, retryable=True),
    "json_validate_failed": Verdict(InvalidRequestError, retryable=True),
    "model_not_found": Verdict(InvalidRequestError),
    "not_found": Verdict(InvalidRequestError),
    "not_found_error": Verdict(InvalidRequestError),
    "invalid_argument": Verdict(InvalidRequestError),
    "unsupported_parameter": Verdict(InvalidRequestError),
    "unsupported_value": Verdict(InvalidRequestError),
    "invalid_value": Verdict(InvalidRequestError),
    "string_above_max_length": Verdict(InvalidRequestError),
    "array_above_max_length": Verdict(InvalidRequestError),
    "request_too_large": Verdict(InvalidRequestError),
    "failed_precondition": Verdict(InvalidRequestError),
}
"""By code or type, in lower case. Words that services put over everything (`invalid_request_error`, `bad_request`,
`error`, `resource_exhausted`) are not here: they leave the decision to status and words."""

STATUSES: Final[Mapping[int, Verdict]] = {
    401: Verdict(AuthError),
    402: Verdict(QuotaError),
    403: Verdict(AuthError),
    404: Verdict(InvalidRequestError),
    408: Verdict(RequestTimeoutError),
    409: Verdict(OverloadedError),
    425: Verdict(OverloadedError),
    429: Verdict(RateLimitError),
}
"""Statuses that decide by themselves. 429 may still be a quota; other 4xx are left to the words, 5xx are overload."""

EFFECTIVE: Final[Mapping[str, int]] = {"resource_exhausted": 429, "aborted": 409, "cancelled": 499}
"""Words that stand for a status where a service gives no number."""


def from_reply(
    status: int, headers: Headers, body: bytes, *, provider: str, model: str, fallback: str = "the provider refused"
) -> LLMError:
    """The error of a reply whose status is not a success, whatever its body is."""
    report = report_of_bytes(body)
    head = HttpHead(status=status, headers=headers)
    fields = ErrorFields(
        status=status,
        provider=provider,
        model=model,
        request_id=request_id(head),
        request_sent="yes",
        body_excerpt=excerpt_of(body) if body else None,
    )
    if report is None:
        words = excerpt_of(body)
        report = Report(message=f"{fallback} with HTTP {status} and {kind_of(head, body)}", words=words)
    return made(report, status, headers, fields)


def from_stream(value: object, body: bytes, *, provider: str, model: str, status: int = 200) -> LLMError:
    """The error that an error object inside a successful reply stands for; `body` is the frame it came in."""
    report = report_of(value, certain=True) or Report(message="the provider reports an error without saying which")
    fields = ErrorFields(
        status=status, provider=provider, model=model, request_sent="yes", body_excerpt=excerpt_of(body)
    )
    return made(report, None, (), fields)


def made(report: Report, status: int | None, headers: Headers, fields: ErrorFields) -> LLMError:
    """The error of the class that `report` and `status` (of the reply, where it says anything) mean."""
    verdict = classify(report, status)
    if verdict.retryable is not None:
        fields["retryable"] = verdict.retryable
    inside = None if report.status is None else str(report.status)
    fields["provider_code"] = report.code or report.type or inside
    fields["failed_generation"] = report.failed_generation
    fields["retry_after"] = retry_after(headers, report.details, report.words)
    message = report.message or "the provider reports an error"
    if issubclass(verdict.error, ContextLengthError):
        limit, used = context_numbers(report.words)
        return verdict.error(message, limit=limit, used=used, **fields)
    if issubclass(verdict.error, InvalidRequestError):
        return verdict.error(message, param=report.param, **fields)
    return verdict.error(message, **fields)


def classify(report: Report, status: int | None) -> Verdict:
    """The class of an error: from code, then type, then effective status, then words."""
    for word in (report.code, report.type):
        verdict = CODES.get(word.lower()) if word else None
        if verdict is not None:
            return _per_words(report) if verdict.error is RateLimitError else verdict
    effective = report.status or _status_of_words(report) or status
    if effective == 429:
        return _per_words(report)
    if effective in STATUSES:
        return STATUSES[effective]
    if effective is not None and effective >= 500:
        return Verdict(OverloadedError)
    by_words = _by_words(report.words)
    if by_words is not None:
        return by_words
    return Verdict(InvalidRequestError) if effective is not None and effective >= 400 else Verdict(LLMError)


def _per_words(report: Report) -> Verdict:
    """A rate limit or a quota that is spent: services use the words of one for the other, so the whole body decides."""
    words = report.words
    if PER_DAY.search(words):
        return Verdict(QuotaError)
    if PER_MINUTE.search(words) or of_details(report.details) is not None:
        return Verdict(RateLimitError)
    return Verdict(QuotaError) if QUOTA.search(words) else Verdict(RateLimitError)


def _by_words(words: str) -> Verdict | None:
    if any(pattern.search(words) for pattern in CONTEXT):
        return Verdict(ContextLengthError)
    if CONTENT_FILTER.search(words):
        return Verdict(ContentFilterError)
    if QUOTA.search(words):
        return Verdict(QuotaError)
    return next((Verdict(error) for pattern, error in OTHERS if pattern.search(words)), None)


def _status_of_words(report: Report) -> int | None:
    words = (report.code, report.type)
    return next((EFFECTIVE[word.lower()] for word in words if word and word.lower() in EFFECTIVE), None)


def context_numbers(words: str) -> tuple[int | None, int | None]:
    """The limit and the tokens used, where the wording tells them."""
    for pattern in CONTEXT:
        found = pattern.search(words)
        if found is not None:
            groups = found.groupdict()
            return _number(groups.get("limit")), _number(groups.get("used"))
    return None, None


def _number(text: str | None) -> int | None:
    return int(text.replace(",", "").replace("_", "")) if text else None
