"""A request: everything asked of a model but which model. Pure data with a canonical digest."""

from typing import ClassVar, Literal, TypeAlias

import msgspec

from llmcore.schema.base import CacheHint, Data, JSONObject
from llmcore.schema.message import Message
from llmcore.schema.parts import Modality, Text

SideEffects = Literal["none", "read", "write", "execute", "network"]


class ToolDefinition(Data, frozen=True, kw_only=True, tag_field="type", tag="function"):
    """A tool that the client runs. `parameters` is the JSON Schema of its arguments (an object).

    `strict` asks the provider to hold the arguments to the schema; unset leaves its default. `side_effects` and
    `requires_workspace` are for whoever runs the tool; they are not sent.
    """

    type: ClassVar[Literal["function"]] = "function"
    name: str
    description: str = ""
    parameters: JSONObject = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})
    strict: bool | None = None
    side_effects: SideEffects | None = None
    requires_workspace: bool = False


class HostedTool(Data, frozen=True, kw_only=True, tag_field="type", tag="hosted"):
    """A tool that the provider runs: `kind` is the provider's own type word, `config` its other settings as JSON."""

    type: ClassVar[Literal["hosted"]] = "hosted"
    kind: str
    config: JSONObject = {}


RequestTool: TypeAlias = ToolDefinition | HostedTool


class ToolChoice(Data, frozen=True, kw_only=True):
    """Which tools the model may or must call. `parallel` says whether it may make several calls in one turn; unset
    leaves the provider's default."""

    mode: Literal["auto", "none", "required", "named"] = "auto"
    name: str | None = None
    parallel: bool | None = None

    @classmethod
    def named(cls, name: str, *, parallel: bool | None = None) -> "ToolChoice":
        """The model must call the tool `name`."""
        return cls(mode="named", name=name, parallel=parallel)


class Generation(Data, frozen=True, kw_only=True):
    """Sampling and length. Every field unset is not sent; `stop` sequences end the answer and are not part of it;
    `top_logprobs` implies `logprobs`."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None


class ReasoningOptions(Data, frozen=True, kw_only=True):
    """How much the model should think. `effort` is an open set of words (`none`, `minimal`, `low`, `medium`, `high`,
    …); `budget_tokens` a number of tokens where the provider takes one; `summary` how the thoughts should be shown
    (`auto`, `concise`, `detailed`)."""

    effort: str | None = None
    budget_tokens: int | None = None
    summary: str | None = None


class TextFormat(Data, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Plain text: the default."""

    type: ClassVar[Literal["text"]] = "text"


class JsonFormat(Data, frozen=True, kw_only=True, tag_field="type", tag="json"):
    """JSON, of `schema` where one is given. `strict` asks the provider to enforce the schema."""

    type: ClassVar[Literal["json"]] = "json"
    schema: JSONObject | None = None
    name: str = "response"
    description: str | None = None
    strict: bool | None = None


ResponseFormat: TypeAlias = TextFormat | JsonFormat


class CacheOptions(Data, frozen=True, kw_only=True):
    """Prompt caching for the whole request: `auto` lets the protocol place the breakpoints, `off` asks for none.
    `key` groups requests that share a prefix."""

    mode: Literal["auto", "off"] = "auto"
    ttl: CacheHint | None = None
    key: str | None = None


class HttpExtras(Data, frozen=True, kw_only=True):
    """The one door to what llmcore does not model: extra headers, query parameters and top-level body fields.
    What lowering set in this call is refused, never overwritten."""

    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    body: JSONObject = {}

    def __repr__(self) -> str:
        """The names alone: keys of gateways travel this way."""
        return f"HttpExtras(headers={sorted(self.headers)}, query={sorted(self.query)}, body={sorted(self.body)})"


class Request(Data, frozen=True, kw_only=True):
    """One request to a model, which is named beside it.

    `system` stands before all system messages of the list. `provider_options` are keyed by provider id, else protocol
    id: plain JSON or the protocol's `Options` struct. `metadata` is the caller's own (correlation and audit); it is
    kept in records and never sent.
    """

    system: str | tuple[Text, ...] = ()
    messages: tuple[Message, ...] = ()
    tools: tuple[RequestTool, ...] = ()
    tool_choice: ToolChoice | None = None
    generation: Generation = Generation()
    reasoning: ReasoningOptions | None = None
    response_format: ResponseFormat | None = None
    output_modalities: tuple[Modality, ...] = ()
    cache: CacheOptions | None = None
    provider_options: dict[str, object] = {}
    http: HttpExtras = msgspec.field(default_factory=HttpExtras)  # it holds dicts: one of its own each time
    metadata: dict[str, str] = {}

    @property
    def system_parts(self) -> tuple[Text, ...]:
        """`system` as text parts, whichever way it was given."""
        if isinstance(self.system, str):
            return (Text(text=self.system),) if self.system else ()
        return self.system
