"""What type checkers see of the errors: fields, not messages."""

from typing import assert_type

from llmcore import ContextLengthError, LLMError, Message, RateLimitError, RequestTimeoutError, TransportError
from llmcore.errors import Kind, Severity, StreamTruncatedError
from llmcore.schema import AttemptRecord


def fields(error: LLMError) -> None:
    assert_type(error.kind, Kind)
    assert_type(error.severity, Severity)
    assert_type(error.retryable, bool)
    assert_type(error.code, str)
    assert_type(error.status, int | None)
    assert_type(error.retry_after, float | None)
    assert_type(error.partial, Message | None)
    assert_type(error.attempts, tuple[AttemptRecord, ...])


def classes(error: LLMError) -> None:
    if isinstance(error, RequestTimeoutError):
        assert_type(error.which, str)
        assert_type(error.elapsed, float | None)
    elif isinstance(error, ContextLengthError):
        assert_type(error.limit, int | None)
    elif isinstance(error, RateLimitError):
        assert_type(error.with_fields(status=429), RateLimitError)
    transport: TransportError = StreamTruncatedError("gone")
    assert_type(transport.partial, Message | None)


def made() -> None:
    RateLimitError("slow down", retry_after=2.0, status=429)
    RateLimitError("slow down", retry_after="2")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    RateLimitError("slow down", after=2.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    RateLimitError()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
