"""A response: the model's message and all that is known about how it came."""

from typing import TYPE_CHECKING, Literal

from llmcore.schema.base import Data, Diagnosed, JSONObject
from llmcore.schema.message import Message
from llmcore.schema.parts import ToolCall
from llmcore.schema.usage import Cost, Usage

if TYPE_CHECKING:
    from llmcore.http import HttpHead

StopReason = Literal["stop", "length", "tool_use", "content_filter", "pause", "error", "unknown"]
RequestSent = Literal["no", "maybe", "yes"]


class CallWarning(Data, frozen=True, kw_only=True):
    """Something that was dropped, clamped or changed on the way to a provider (`phase` is `lower`), or that is odd in
    what came back (`read`).

    `subject` is what it is about (`generation.seed`, `reasoning`, `usage`), `reason` the sentence for a person;
    `message_index` and `part_index` place it in the request where it has a place.
    """

    subject: str
    reason: str
    protocol: str
    phase: Literal["lower", "read"] = "lower"
    message_index: int | None = None
    message_id: str | None = None
    part_index: int | None = None
    part_type: str | None = None


class RateLimit(Data, frozen=True, kw_only=True):
    """What the provider's headers say of its limits: requests and tokens, and seconds until each is whole again."""

    limit_requests: int | None = None
    remaining_requests: int | None = None
    reset_requests: float | None = None
    limit_tokens: int | None = None
    remaining_tokens: int | None = None
    reset_tokens: float | None = None


class Timing(Data, frozen=True, kw_only=True):
    """Seconds from the call: to the first event that carries content, and to the end."""

    first_event: float | None = None
    total: float | None = None


class AttemptRecord(Data, frozen=True, kw_only=True):
    """One HTTP attempt: what it was sent to and how it ended."""

    model: str
    provider: str
    outcome: Literal["succeeded", "failed", "cancelled", "skipped"]
    error_kind: str | None = None
    status: int | None = None
    request_id: str | None = None
    request_sent: RequestSent = "no"
    usage: Usage | None = None
    cost: Cost | None = None
    seconds: float | None = None


class Response(Diagnosed, frozen=True, kw_only=True):
    """A finished answer. `model` is the one that served it; `stop_details` is what the provider says beyond the
    reason; `raw` (an attribute, not a field) the provider's own reply where it was kept."""

    id: str | None = None
    model: str | None = None
    provider: str
    message: Message
    stop_reason: StopReason
    raw_stop_reason: str | None = None
    stop_details: JSONObject | None = None
    usage: Usage = Usage()
    cost: Cost | None = None
    warnings: tuple[CallWarning, ...] = ()
    attempts: tuple[AttemptRecord, ...] = ()
    timing: Timing = Timing()
    request_id: str | None = None
    rate_limit: RateLimit | None = None

    @property
    def text(self) -> str:
        """The answer's text, refusals left out."""
        return self.message.text

    @property
    def reasoning(self) -> str:
        """The text of the model's reasoning, as far as it is shown."""
        return self.message.reasoning

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that the client must run."""
        return self.message.tool_calls

    @property
    def refusal(self) -> str | None:
        """The text of a refusal, else `None`."""
        return self.message.refusal

    @property
    def http(self) -> "HttpHead | None":
        """The head of the provider's reply (status, headers); `None` on a response that was stored or copied."""
        return self.__dict__.get("http")

    @property
    def raw(self) -> object:
        """The provider's own reply: the bytes of a whole body, or the frames of a stream (with `keep_raw=True`);
        `None` where it was not kept."""
        return self.__dict__.get("raw")
