"""The error tree: one class for each thing that a caller can do about it.

    LLMError                        unknown           fatal
    ├── AuthError                   auth              refused by the provider or before any I/O: mend the key
    ├── RateLimitError              rate_limit        wait `retry_after` seconds
    ├── QuotaError                  quota             credit or a daily quota is spent
    ├── OverloadedError             overloaded        the provider is down or busy: try again
    ├── TransportError              transport         lost on the way
    │   └── StreamTruncatedError                      the stream ended before its terminal evidence
    ├── RequestTimeoutError         timeout           one of the four clocks, or the provider's own
    ├── ContextLengthError          context_length    shorten the conversation
    ├── InvalidRequestError         bad_request       mend the request
    ├── ConfigError                 config            mend the declaration, the option or the client's use
    ├── CapabilityError             capability        refused before sending: the route cannot carry it
    ├── ContentFilterError          content_filter    the prompt was refused
    ├── BudgetExceededError         budget            stopped by policy
    ├── CallCancelledError          cancelled         stopped by the caller (sync clients)
    └── ProtocolError               protocol          bytes that no provider should send

Everything a program needs is in fields; messages are for people. Errors pickle, hold no response object, and never
hold a credential: a cause is chained only where none can be in it.
"""

from typing import TYPE_CHECKING, ClassVar, Literal, Self, TypedDict, Unpack

if TYPE_CHECKING:
    from llmcore.http import HttpHead
    from llmcore.schema.message import Message
    from llmcore.schema.response import AttemptRecord, RequestSent

Severity = Literal["warn", "error", "fatal"]
Kind = Literal[
    "unknown",
    "auth",
    "rate_limit",
    "quota",
    "overloaded",
    "transport",
    "timeout",
    "context_length",
    "bad_request",
    "config",
    "capability",
    "content_filter",
    "budget",
    "cancelled",
    "protocol",
]


class ErrorFields(TypedDict, total=False):
    """The fields of every `LLMError`, as keywords."""

    retryable: bool
    provider_code: str | None
    status: int | None
    provider: str | None
    model: str | None
    request_id: str | None
    retry_after: float | None
    request_sent: "RequestSent"
    partial: "Message | None"
    attempts: "tuple[AttemptRecord, ...]"
    body_excerpt: str | None
    failed_generation: str | None


class LLMError(Exception):
    """Base of all errors of this library.

    `kind`, `severity`, `code` are the class's; `retryable` is its default unless the provider's code says otherwise.
    `status` is the HTTP status received (200 for an error inside a stream); `retry_after` is in seconds; `partial` is
    the message as far as it came; `request_sent` says whether the provider may have seen the request;
    `failed_generation` is what the model wrote, where the provider refused that.

    `http` is the head of the reply, where there was one: a diagnostic, which no pickle carries.
    """

    kind: ClassVar[Kind] = "unknown"
    severity: ClassVar[Severity] = "fatal"
    code: ClassVar[str] = "LLM_UNKNOWN"
    retryable: bool = False
    provider_code: str | None
    status: int | None
    provider: str | None
    model: str | None
    request_id: str | None
    retry_after: float | None
    request_sent: "RequestSent"
    partial: "Message | None"
    attempts: "tuple[AttemptRecord, ...]"
    body_excerpt: str | None
    failed_generation: str | None
    http: "HttpHead | None"

    def __init__(self, message: str, **fields: Unpack[ErrorFields]) -> None:
        super().__init__(message)
        self.message = message
        self.retryable = fields.get("retryable", type(self).retryable)
        self.provider_code = fields.get("provider_code")
        self.status = fields.get("status")
        self.provider = fields.get("provider")
        self.model = fields.get("model")
        self.request_id = fields.get("request_id")
        self.retry_after = fields.get("retry_after")
        self.request_sent = fields.get("request_sent", "no")
        self.partial = fields.get("partial")
        self.attempts = fields.get("attempts", ())
        self.body_excerpt = fields.get("body_excerpt")
        self.failed_generation = fields.get("failed_generation")
        self.http = None

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, {**self.__dict__, "http": None})

    def with_fields(self, **fields: Unpack[ErrorFields]) -> Self:
        """This error, with those of the fields that it did not have yet. For layers that know more as it passes."""
        for name, value in fields.items():
            if getattr(self, name) in (None, (), "no"):
                setattr(self, name, value)
        return self


def _rebuild(cls: type[LLMError], message: str, state: dict[str, object]) -> LLMError:
    error = cls.__new__(cls, message)
    error.args = (message,)
    error.__dict__.update(state)
    return error


class AuthError(LLMError):
    """401, 403, or no usable key. Never retried blindly."""

    kind = "auth"
    code = "LLM_AUTH_ERROR"


class RateLimitError(LLMError):
    """429 for too many requests or tokens in a short time: wait `retry_after` seconds, where it is known."""

    kind = "rate_limit"
    severity = "error"
    code = "LLM_RATE_LIMIT"
    retryable = True


class QuotaError(LLMError):
    """The account's credit or its daily quota is spent: waiting a minute does not help."""

    kind = "quota"
    code = "LLM_QUOTA"


class OverloadedError(LLMError):
    """5xx, 529, 409, 425 or an overload event: the provider cannot serve this now."""

    kind = "overloaded"
    severity = "error"
    code = "LLM_UNAVAILABLE"
    retryable = True


class TransportError(LLMError):
    """The connection failed: DNS, refused, TLS, reset, a broken proxy."""

    kind = "transport"
    severity = "error"
    code = "LLM_UNAVAILABLE"
    retryable = True


class StreamTruncatedError(TransportError):
    """The bytes ended without terminal evidence. `partial` is the message as far as it came."""


class RequestTimeoutError(LLMError):
    """A clock ran out: `which` is `connect`, `first_event`, `idle`, `total`, `pool` or `write` (ours), or `provider`
    (its own 408). `elapsed` and `budget` are seconds, where they are known."""

    kind = "timeout"
    severity = "error"
    code = "LLM_TIMEOUT"
    retryable = True

    def __init__(
        self,
        message: str,
        *,
        which: str = "provider",
        elapsed: float | None = None,
        budget: float | None = None,
        **fields: Unpack[ErrorFields],
    ) -> None:
        super().__init__(message, **fields)
        self.which = which
        self.elapsed = elapsed
        self.budget = budget


class ContextLengthError(LLMError):
    """The conversation is longer than the model takes. `limit` and `used` are tokens, where the provider says."""

    kind = "context_length"
    severity = "error"
    code = "LLM_CONTEXT_LENGTH"

    def __init__(
        self, message: str, *, limit: int | None = None, used: int | None = None, **fields: Unpack[ErrorFields]
    ) -> None:
        super().__init__(message, **fields)
        self.limit = limit
        self.used = used


class InvalidRequestError(LLMError):
    """A request that the provider, or we, will not take as it is; `param` is the field at fault, where it is known."""

    kind = "bad_request"
    severity = "error"
    code = "LLM_INVALID_REQUEST"

    def __init__(self, message: str, *, param: str | None = None, **fields: Unpack[ErrorFields]) -> None:
        super().__init__(message, **fields)
        self.param = param


class ConfigError(LLMError):
    """An unknown provider, a bad declaration, an unknown option or quirk (with the nearest name), a closed client."""

    kind = "config"
    code = "LLM_CONFIG"


class CapabilityError(LLMError):
    """Refused before any I/O: the route cannot carry something of the user's own. `subject` names it, `message_index`
    and `part_index` place it."""

    kind = "capability"
    severity = "error"
    code = "LLM_CAPABILITY"

    def __init__(
        self,
        message: str,
        *,
        subject: str | None = None,
        message_index: int | None = None,
        part_index: int | None = None,
        **fields: Unpack[ErrorFields],
    ) -> None:
        super().__init__(message, **fields)
        self.subject = subject
        self.message_index = message_index
        self.part_index = part_index


class ContentFilterError(LLMError):
    """The provider refused the prompt. (An answer that was cut ends with the stop reason and raises nothing.)"""

    kind = "content_filter"
    severity = "error"
    code = "LLM_CONTENT_FILTER"


class BudgetExceededError(LLMError):
    """A budget of time or money did not allow the call, or ran out while it streamed."""

    kind = "budget"
    severity = "warn"
    code = "LLM_BUDGET_EXCEEDED"


class CallCancelledError(LLMError):
    """The caller cancelled a sync call. (In async code it is the event loop's own exception.)"""

    kind = "cancelled"
    severity = "warn"
    code = "LLM_CANCELLED"


class ProtocolError(LLMError):
    """Bytes that no provider should send, or a known event out of order. `body_excerpt` shows them."""

    kind = "protocol"
    severity = "error"
    code = "LLM_PROTOCOL"
