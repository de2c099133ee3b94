"""The error tree: the table of the contract, and that errors travel without their diagnostics."""

import copy
import inspect
import pickle
import traceback
from typing import Any

import msgspec
import pytest

from llmcore import errors
from llmcore.errors import (
    AuthError,
    BudgetExceededError,
    CallCancelledError,
    CapabilityError,
    ConfigError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LLMError,
    OverloadedError,
    ProtocolError,
    QuotaError,
    RateLimitError,
    RequestTimeoutError,
    StreamTruncatedError,
    TransportError,
)
from llmcore.schema import AttemptRecord, Message

# class, kind, severity, code, retryable
TABLE = [
    (LLMError, "unknown", "fatal", "LLM_UNKNOWN", False),
    (AuthError, "auth", "fatal", "LLM_AUTH_ERROR", False),
    (RateLimitError, "rate_limit", "error", "LLM_RATE_LIMIT", True),
    (QuotaError, "quota", "fatal", "LLM_QUOTA", False),
    (OverloadedError, "overloaded", "error", "LLM_UNAVAILABLE", True),
    (TransportError, "transport", "error", "LLM_UNAVAILABLE", True),
    (StreamTruncatedError, "transport", "error", "LLM_UNAVAILABLE", True),
    (RequestTimeoutError, "timeout", "error", "LLM_TIMEOUT", True),
    (ContextLengthError, "context_length", "error", "LLM_CONTEXT_LENGTH", False),
    (InvalidRequestError, "bad_request", "error", "LLM_INVALID_REQUEST", False),
    (ConfigError, "config", "fatal", "LLM_CONFIG", False),
    (CapabilityError, "capability", "error", "LLM_CAPABILITY", False),
    (ContentFilterError, "content_filter", "error", "LLM_CONTENT_FILTER", False),
    (BudgetExceededError, "budget", "warn", "LLM_BUDGET_EXCEEDED", False),
    (CallCancelledError, "cancelled", "warn", "LLM_CANCELLED", False),
    (ProtocolError, "protocol", "error", "LLM_PROTOCOL", False),
]
CLASSES: list[type[LLMError]] = [row[0] for row in TABLE]
every_class = pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)

FIELDS: dict[str, Any] = {
    "retryable": True,
    "provider_code": "insufficient_quota",
    "status": 429,
    "provider": "p",
    "model": "m",
    "request_id": "r",
    "retry_after": 1.5,
    "request_sent": "yes",
    "partial": Message.assistant("as far as"),
    "attempts": (AttemptRecord(model="m", provider="p", outcome="failed"),),
    "body_excerpt": "<html>",
    "failed_generation": "<function=f>",
}
OWN: dict[type[LLMError], dict[str, Any]] = {
    RequestTimeoutError: {"which": "idle", "elapsed": 1.0, "budget": 0.5},
    ContextLengthError: {"limit": 10, "used": 12},
    InvalidRequestError: {"param": "messages[0]"},
    CapabilityError: {"subject": "media", "message_index": 1, "part_index": 2},
}


def full(kind: type[LLMError]) -> LLMError:
    return kind("what went wrong", **FIELDS, **OWN.get(kind, {}))


def test_the_table_has_every_class() -> None:
    found = {value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, LLMError)}
    assert found == set(CLASSES)


@pytest.mark.parametrize(("kind", "word", "severity", "code", "retryable"), TABLE, ids=lambda value: str(value))
def test_the_table(kind: type[LLMError], word: str, severity: str, code: str, retryable: bool) -> None:
    error = kind("m")
    assert (error.kind, error.severity, error.code, error.retryable) == (word, severity, code, retryable)
    assert isinstance(error, Exception)
    assert word in str(inspect.getdoc(errors))


def test_a_truncated_stream_is_a_transport_error_and_the_rest_are_siblings() -> None:
    for kind in CLASSES[1:]:
        assert kind.__bases__ == ((TransportError,) if kind is StreamTruncatedError else (LLMError,))


@every_class
def test_fields_default_to_unknown(kind: type[LLMError]) -> None:
    error = kind("m")
    for name in FIELDS:
        expected = {"retryable": kind.retryable, "request_sent": "no", "attempts": ()}.get(name)
        assert getattr(error, name) == expected
    assert set(vars(error)) == {"message", "http", *FIELDS, *OWN.get(kind, {})}
    assert str(error) == error.message == "m"


@every_class
def test_fields_are_what_was_given(kind: type[LLMError]) -> None:
    error = full(kind)
    for name, value in {**FIELDS, **OWN.get(kind, {})}.items():
        assert getattr(error, name) == value


@every_class
def test_an_error_pickles_and_copies_with_all_its_fields(kind: type[LLMError]) -> None:
    for error in (full(kind), kind("m")):
        for made in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
            assert type(made) is kind
            assert vars(made) == vars(error)
            assert (str(made), made.args) == (str(error), error.args)


class Refined(RateLimitError):
    """An error of somebody else's, with another constructor."""

    def __init__(self, code: int) -> None:
        super().__init__(f"code {code}", provider_code=str(code))
        self.code_number = code


def test_a_subclass_with_another_constructor_pickles() -> None:
    made = pickle.loads(pickle.dumps(Refined(7)))
    assert type(made) is Refined
    assert (made.code_number, made.provider_code, str(made)) == (7, "7", "code 7")


def raised(secret: str, *, chained: bool) -> LLMError:
    try:
        try:
            raise ValueError(f"Illegal header value {secret}")
        except ValueError as cause:
            if chained:
                raise AuthError("the key is bad") from cause
            raise AuthError("the key is bad") from None
    except AuthError as error:
        return error


def test_a_cause_does_not_travel() -> None:
    error = raised("sk-secret", chained=True)
    assert error.__cause__ is not None
    for made in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert (made.__cause__, made.__context__, made.__traceback__) == (None, None, None)
    assert b"sk-secret" not in pickle.dumps(error)


def test_a_suppressed_cause_is_not_printed() -> None:
    error = raised("sk-secret", chained=False)
    assert "sk-secret" not in "".join(traceback.format_exception(error))
    assert "sk-secret" not in repr(error)


def test_diagnostics_of_a_partial_message_do_not_travel() -> None:
    partial = Message.assistant("a")
    partial.__dict__["raw"] = "sk-secret"
    error = StreamTruncatedError("m", partial=partial)
    assert b"sk-secret" not in pickle.dumps(error)
    assert pickle.loads(pickle.dumps(error)).partial == partial


def test_with_fields_fills_what_is_not_known_yet() -> None:
    error = RateLimitError("m", status=429, request_sent="maybe", retryable=False)
    same = error.with_fields(
        status=500, provider="p", request_sent="yes", retryable=True, attempts=FIELDS["attempts"], retry_after=0.0
    )
    assert same is error
    assert (error.status, error.provider, error.request_sent, error.retryable) == (429, "p", "maybe", False)
    assert (error.attempts, error.retry_after) == (FIELDS["attempts"], 0.0)
    error.with_fields(attempts=(), provider="other", retry_after=9.0)
    assert (error.attempts, error.provider, error.retry_after) == (FIELDS["attempts"], "p", 0.0)
    assert RateLimitError("m").with_fields(request_sent="yes").request_sent == "yes"


def test_an_attempt_names_the_kind_of_its_error() -> None:
    record = AttemptRecord(model="m", provider="p", outcome="failed", error_kind=RateLimitError.kind)
    assert msgspec.to_builtins(record)["error_kind"] == "rate_limit"
