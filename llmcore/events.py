"""The event vocabulary: what every protocol yields, whatever it reads.

A block opens with its `*Start`, grows by `*Delta`s and closes with its `*End`, all under one id (`b0, b1, …` for
blocks, the call's own id for tool calls). An `*End` carries everything of its part that no delta carried, so that a
fold needs nothing but the events. `llmcore.lifecycle` states the order as a table.
"""

from typing import ClassVar, Literal, TypeAlias

from llmcore.schema.base import Data, JSONObject
from llmcore.schema.parts import Citation, Media, Opaque, Origin, TokenLogprob, ToolResult
from llmcore.schema.response import CallWarning, StopReason
from llmcore.schema.usage import Cost, Usage


class ResponseStart(Data, frozen=True, kw_only=True, tag_field="type", tag="response_start"):
    """First, once. `warnings` are those of lowering; `model` is the one that serves, where the wire says."""

    type: ClassVar[Literal["response_start"]] = "response_start"
    provider: str
    id: str | None = None
    model: str | None = None
    request_id: str | None = None
    warnings: tuple[CallWarning, ...] = ()


class TextStart(Data, frozen=True, kw_only=True, tag_field="type", tag="text_start", gc=False):
    type: ClassVar[Literal["text_start"]] = "text_start"
    id: str
    refusal: bool = False


class TextDelta(Data, frozen=True, kw_only=True, tag_field="type", tag="text_delta", gc=False):
    type: ClassVar[Literal["text_delta"]] = "text_delta"
    id: str
    text: str


class TextEnd(Data, frozen=True, kw_only=True, tag_field="type", tag="text_end"):
    type: ClassVar[Literal["text_end"]] = "text_end"
    id: str
    citations: tuple[Citation, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()
    provider_metadata: JSONObject | None = None
    origin: Origin | None = None


class ReasoningStart(Data, frozen=True, kw_only=True, tag_field="type", tag="reasoning_start", gc=False):
    type: ClassVar[Literal["reasoning_start"]] = "reasoning_start"
    id: str


class ReasoningDelta(Data, frozen=True, kw_only=True, tag_field="type", tag="reasoning_delta", gc=False):
    type: ClassVar[Literal["reasoning_delta"]] = "reasoning_delta"
    id: str
    text: str


class ReasoningEnd(Data, frozen=True, kw_only=True, tag_field="type", tag="reasoning_end"):
    type: ClassVar[Literal["reasoning_end"]] = "reasoning_end"
    id: str
    signature: str | None = None
    redacted: str | None = None
    provider_metadata: JSONObject | None = None
    origin: Origin | None = None


class ToolCallStart(Data, frozen=True, kw_only=True, tag_field="type", tag="tool_call_start", gc=False):
    """`id` is ours and the call's for good; `wire_id` is the provider's, where it has sent one by now."""

    type: ClassVar[Literal["tool_call_start"]] = "tool_call_start"
    id: str
    name: str
    wire_id: str | None = None
    provider_executed: bool = False


class ToolCallDelta(Data, frozen=True, kw_only=True, tag_field="type", tag="tool_call_delta", gc=False):
    type: ClassVar[Literal["tool_call_delta"]] = "tool_call_delta"
    id: str
    text: str


class ToolCallEnd(Data, frozen=True, kw_only=True, tag_field="type", tag="tool_call_end"):
    """`arguments` is the whole JSON text (`{}` when blank); `error` says why it does not parse; `wire_id` is the
    provider's id where it came after the start."""

    type: ClassVar[Literal["tool_call_end"]] = "tool_call_end"
    id: str
    arguments: str
    error: str | None = None
    wire_id: str | None = None
    provider_metadata: JSONObject | None = None
    origin: Origin | None = None

    @property
    def input(self) -> object:
        """The parsed arguments. Raises `InvalidRequestError` when they do not parse."""
        from llmcore.schema.parts import ToolCall

        return ToolCall(id=self.id, name="", arguments=self.arguments, error=self.error).input


class ToolResultEvent(Data, frozen=True, kw_only=True, tag_field="type", tag="tool_result"):
    """The result of a call: of a hosted tool (`provider_executed`), or of one that the tool loop ran."""

    type: ClassVar[Literal["tool_result"]] = "tool_result"
    id: str
    name: str
    result: ToolResult
    provider_executed: bool = False


class MediaStart(Data, frozen=True, kw_only=True, tag_field="type", tag="media_start", gc=False):
    type: ClassVar[Literal["media_start"]] = "media_start"
    id: str
    media_type: str


class MediaDelta(Data, frozen=True, kw_only=True, tag_field="type", tag="media_delta", gc=False):
    """`progress` runs from 0 to 1 where it is known; `preview` is a handle into the call's sink."""

    type: ClassVar[Literal["media_delta"]] = "media_delta"
    id: str
    progress: float | None = None
    preview: str | None = None


class MediaEnd(Data, frozen=True, kw_only=True, tag_field="type", tag="media_end"):
    """`media` names its bytes by handle; the response resolves it from the call's sink."""

    type: ClassVar[Literal["media_end"]] = "media_end"
    id: str
    media: Media


class OpaqueEvent(Data, frozen=True, kw_only=True, tag_field="type", tag="opaque"):
    """A block of the provider's with no canonical shape, whole."""

    type: ClassVar[Literal["opaque"]] = "opaque"
    part: Opaque


class UsageUpdate(Data, frozen=True, kw_only=True, tag_field="type", tag="usage"):
    """What has been used so far: a snapshot, never an increment."""

    type: ClassVar[Literal["usage"]] = "usage"
    usage: Usage


class ResponseEnd(Data, frozen=True, kw_only=True, tag_field="type", tag="response_end"):
    """Last, once. `warnings` are those of reading."""

    type: ClassVar[Literal["response_end"]] = "response_end"
    stop_reason: StopReason
    raw_stop_reason: str | None = None
    stop_details: JSONObject | None = None
    usage: Usage = Usage()
    cost: Cost | None = None
    warnings: tuple[CallWarning, ...] = ()
    provider_metadata: JSONObject | None = None


class StepStart(Data, frozen=True, kw_only=True, tag_field="type", tag="step_start", gc=False):
    """A step of the tool loop begins; steps count from 0."""

    type: ClassVar[Literal["step_start"]] = "step_start"
    step: int


class StepEnd(Data, frozen=True, kw_only=True, tag_field="type", tag="step_end"):
    type: ClassVar[Literal["step_end"]] = "step_end"
    step: int
    stop_reason: StopReason
    usage: Usage = Usage()


class ToolErrorEvent(Data, frozen=True, kw_only=True, tag_field="type", tag="tool_error", gc=False):
    """A call of the tool loop that went back to the model as an error. `reason` is a word (`unknown_tool`,
    `bad_arguments`, `timeout`, `failure`), `message` the sentence that the model is given."""

    type: ClassVar[Literal["tool_error"]] = "tool_error"
    id: str
    name: str
    reason: str
    message: str


class Restart(Data, frozen=True, kw_only=True, tag_field="type", tag="restart", gc=False):
    """Everything since the last `ResponseStart` is void: a policy starts the answer again."""

    type: ClassVar[Literal["restart"]] = "restart"
    reason: str


class ErrorEvent(Data, frozen=True, kw_only=True, tag_field="type", tag="error", gc=False):
    """An error, in a serialised stream only. In a program it is raised."""

    type: ClassVar[Literal["error"]] = "error"
    error_class: str
    kind: str
    code: str
    message: str
    status: int | None = None
    retryable: bool = False


Event: TypeAlias = (
    ResponseStart
    | TextStart
    | TextDelta
    | TextEnd
    | ReasoningStart
    | ReasoningDelta
    | ReasoningEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
    | ToolResultEvent
    | MediaStart
    | MediaDelta
    | MediaEnd
    | OpaqueEvent
    | UsageUpdate
    | ResponseEnd
)
"""What a protocol can yield."""

RunEvent: TypeAlias = Event | StepStart | StepEnd | ToolErrorEvent | Restart
"""What the tool loop and policy add."""

SerializedEvent: TypeAlias = RunEvent | ErrorEvent
"""What a serialised stream can hold."""
