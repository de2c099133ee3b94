"""OpenAI Chat Completions, and the many services that speak it.

Wire: https://platform.openai.com/docs/api-reference/chat (as the types of openai-python 3.54.0 state it, read
2026-11-22), and recorded traffic of some fifteen services. Covered: text, refusals, reasoning in every field that
carries it, tool calls (function, custom, legacy `function_call`, tools that the service ran), citations, audio, images,
log probabilities, usage and reported cost. Not covered: more than one choice (the first is read, others are left out
with a warning), stored completions.

A stream is chunks of `choices[].delta`, a `finish_reason`, a chunk of usage, then `[DONE]`; a whole body is the same
with `message` in the place of `delta`, and goes through the same handlers. Either a finish reason or `[DONE]` is
terminal evidence. A text or reasoning block lasts until another kind of content comes, a tool call until the finish
reason: its fragments may come in any order.
"""

import itertools
from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from llmcore.errors import ConfigError, InvalidRequestError, LLMError, ProtocolError, StreamTruncatedError
from llmcore.events import (
    Event,
    OpaqueEvent,
    ResponseEnd,
    ResponseStart,
    UsageUpdate,
)
from llmcore.media import MediaSink
from llmcore.protocol import Frame, Headers, Lowered, Mint, Protocol
from llmcore.route import Model, unknown
from llmcore.schema.base import JSONObject
from llmcore.schema.parts import (
    Modality,
    Opaque,
    Origin,
)
from llmcore.schema.request import CacheOptions, JsonFormat, Request
from llmcore.schema.response import CallWarning, StopReason
from llmcore.schema.usage import Cost
from llmcore.wire.arguments import written
from llmcore.wire.blocks import Blocks
from llmcore.wire.calls import Calls
from llmcore.wire.chat_messages import Draft, lower_messages
from llmcore.wire.chat_parts import ChatMessage, ChosenTool, FunctionTool, MediaShape, ObjectFormat, SchemaFormat
from llmcore.wire.chat_tools import wire_choice, wire_format, wire_tools
from llmcore.wire.citations import citation
from llmcore.wire.decode import REJECTED, excerpt_of, loads, log_skipped, salvage
from llmcore.wire.errors import from_reply, from_stream
from llmcore.wire.filtered import from_filtered
from llmcore.wire.hosted import HostedCalls
from llmcore.wire.ids import CallIds, IdRule
from llmcore.wire.logprobs import WireLogprobs, token_logprobs
from llmcore.wire.lowering import Losses, options_of
from llmcore.wire.marks import Marks
from llmcore.wire.media import from_base64, image_type
from llmcore.wire.produced import Sound, image, inline_image
from llmcore.wire.reports import is_bare_error, report_of, report_of_bytes
from llmcore.wire.tags import ThinkingTags
from llmcore.wire.texts import scrub, scrubbed
from llmcore.wire.thoughts import Thoughts
from llmcore.wire.usage import Counts, Meter
from llmcore.wire.values import at, is_object, sequence
from llmcore.wire.values import text as text_of

# -- 1. Public model input: quirks and options

Knob = Literal[
    "temperature",
    "top_p",
    "top_k",
    "stop",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "logprobs",
    "top_logprobs",
    "parallel_tool_calls",
    "prompt_cache_key",
]

KNOBS: Final[dict[Knob, str | None]] = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": None,
    "stop": "stop",
    "seed": "seed",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "logprobs": "logprobs",
    "top_logprobs": "top_logprobs",
    "parallel_tool_calls": "parallel_tool_calls",
    "prompt_cache_key": "prompt_cache_key",
}
"""The field of the body that carries each knob, `None` where the documented wire has none."""


class Quirks(msgspec.Struct, frozen=True, kw_only=True):
    """How a service departs from the documented format. Every default is that format."""

    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    """The field that limits the answer."""
    system_role: Literal["system", "developer"] = "system"
    """The role under which instructions go."""
    stream_usage: Literal["request", "always"] = "request"
    """Whether usage of a stream must be asked for with `stream_options`, or comes unasked."""
    knobs: dict[Knob, str | None] = {}
    """Laid upon `KNOBS`: knobs that have another field here, or none (then they are left out with a warning)."""
    stop_limit: int | None = 4
    """How many stop sequences are taken; the rest is left out with a warning."""
    reasoning_control: Literal["effort", "object", "switch"] = "effort"
    """Where the effort goes: `reasoning_effort`; `reasoning: {effort, max_tokens}`; or `thinking: {type: enabled |
    disabled}` with `reasoning_effort` beside it."""
    efforts: dict[str, str] = {}
    """Effort words that the service does not know, with the nearest that it does (a warning says so)."""
    reasoning_field: Literal["reasoning_content", "reasoning", "reasoning_details", "thinking"] = "reasoning_content"
    """Where reasoning is replayed that does not remember its field; `thinking` is a part of the content."""
    reasoning_replay: Literal["never", "tool_turns", "always"] = "never"
    """Which of the service's own reasoning goes back to it: none, that of the turns with tool calls, or all."""
    reasoning_blank: bool = False
    """Whether a message that would carry reasoning, and has none, must carry an empty text."""
    thinking_tags: ThinkingTags | None = None
    """Tags in the text that enclose thoughts, where the service does not take them out itself."""
    media: dict[Modality, MediaShape | None] = {}
    """Laid upon `MEDIA`: modalities that go in another kind of content part here, or not at all (then refused)."""
    text_content: Literal["parts", "string"] = "parts"
    """How several text parts go: as a list, or joined to one string (one alone always goes as a string)."""
    empty_content: Literal["null", "empty", "omit"] = "null"
    """The content of a message that has tool calls and no text."""
    trailing_assistant: Literal["plain", "prefix"] = "plain"
    """Whether a last message of the assistant must be marked `prefix: true`."""
    user_after_results: Literal["direct", "answered"] = "direct"
    """Whether a user's message may stand right behind tool results, or a short answer must stand between them."""
    cache_breakpoints: int = 0
    """How many `cache_control` marks are taken (cache hints beyond are left out, the first ones first)."""
    tool_ids: IdRule = IdRule()
    """What is taken for the id of a tool call."""
    required_word: Literal["required", "any"] = "required"
    """The word of `tool_choice` for "some tool"."""
    hosted_tools: tuple[str, ...] = ()
    """The `type`s (globs) of tools that the service runs itself and takes in `tools`."""
    structured_output: Literal["json_schema", "json_object"] = "json_schema"
    """Whether an answer can be held to a schema, or only to JSON."""

    def __post_init__(self) -> None:
        for knob, field in self.knobs.items():
            if knob not in KNOBS:
                raise ConfigError(f"quirk knobs: {unknown('knob', knob, tuple(KNOBS))}")
            if field is not None and field not in ChatBody.__struct_fields__:
                raise ConfigError(f"quirk knobs[{knob!r}]: {unknown('field', field, ChatBody.__struct_fields__)}")


class AudioOutput(msgspec.Struct, frozen=True, kw_only=True):
    """How an answer is spoken: a voice's name (or `{"id": …}` of one's own) and the format of the sound."""

    voice: str | JSONObject
    format: Literal["wav", "mp3", "flac", "opus", "pcm16", "aac"]


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What this protocol has and the request has no field for. `provider_options={"openai-chat": Options(…)}`, or the
    same as plain JSON. Unset is not sent."""

    audio: AudioOutput | None = None
    prediction: JSONObject | None = None
    verbosity: str | None = None
    service_tier: str | None = None
    store: bool | None = None
    metadata: dict[str, str] | None = None
    user: str | None = None
    safety_identifier: str | None = None
    logit_bias: dict[str, int] | None = None
    prompt_cache_options: JSONObject | None = None
    prompt_cache_retention: str | None = None
    web_search_options: JSONObject | None = None
    moderation: JSONObject | None = None
    include_obfuscation: bool | None = None
    """Of streams: whether frames are padded to one size (they are unless this is false)."""


# -- 2. Body structs


class ReasoningObject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    effort: str | UnsetType = UNSET
    max_tokens: int | UnsetType = UNSET


class ThinkingSwitch(msgspec.Struct, frozen=True):
    type: Literal["enabled", "disabled"]


class StreamOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    include_usage: bool | UnsetType = UNSET
    include_obfuscation: bool | UnsetType = UNSET


class ChatBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The body of `POST /chat/completions`. Fields are written in this order; unset ones are not."""

    model: str
    messages: tuple[ChatMessage, ...]
    tools: tuple[FunctionTool | JSONObject, ...] | UnsetType = UNSET
    tool_choice: str | ChosenTool | UnsetType = UNSET
    parallel_tool_calls: bool | UnsetType = UNSET
    response_format: SchemaFormat | ObjectFormat | UnsetType = UNSET
    modalities: tuple[str, ...] | UnsetType = UNSET
    audio: AudioOutput | UnsetType = UNSET
    max_completion_tokens: int | UnsetType = UNSET
    max_tokens: int | UnsetType = UNSET
    temperature: float | UnsetType = UNSET
    top_p: float | UnsetType = UNSET
    top_k: int | UnsetType = UNSET
    stop: tuple[str, ...] | UnsetType = UNSET
    seed: int | UnsetType = UNSET
    random_seed: int | UnsetType = UNSET
    presence_penalty: float | UnsetType = UNSET
    frequency_penalty: float | UnsetType = UNSET
    logit_bias: dict[str, int] | UnsetType = UNSET
    logprobs: bool | UnsetType = UNSET
    top_logprobs: int | UnsetType = UNSET
    reasoning_effort: str | UnsetType = UNSET
    reasoning: ReasoningObject | UnsetType = UNSET
    thinking: ThinkingSwitch | UnsetType = UNSET
    prediction: JSONObject | UnsetType = UNSET
    verbosity: str | UnsetType = UNSET
    web_search_options: JSONObject | UnsetType = UNSET
    moderation: JSONObject | UnsetType = UNSET
    service_tier: str | UnsetType = UNSET
    prompt_cache_key: str | UnsetType = UNSET
    prompt_cache_options: JSONObject | UnsetType = UNSET
    prompt_cache_retention: str | UnsetType = UNSET
    store: bool | UnsetType = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    user: str | UnsetType = UNSET
    safety_identifier: str | UnsetType = UNSET
    stream: bool = False
    stream_options: StreamOptions | UnsetType = UNSET


# -- 3. Event structs


class FunctionFragment(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: str | JSONObject | None = None


class CustomFragment(msgspec.Struct, gc=False):
    name: str | None = None
    input: str | None = None


class CallFragment(msgspec.Struct, gc=False):
    index: int | None = None
    id: str | int | None = None
    type: str | None = None
    function: FunctionFragment | None = None
    custom: CustomFragment | None = None


class AudioFragment(msgspec.Struct, gc=False):
    id: str | None = None
    data: str | None = None
    transcript: str | None = None
    expires_at: int | None = None


class Delta(msgspec.Struct, gc=False):
    """A `delta` of a stream, or the `message` of a whole body. The order of the fields is that of their handling."""

    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None
    reasoning_details: list[JSONObject] | None = None
    executed_tools: list[JSONObject] | None = None
    content: str | list[JSONObject] | None = None
    annotations: list[JSONObject] | None = None
    refusal: str | None = None
    audio: AudioFragment | None = None
    images: list[JSONObject] | None = None
    tool_calls: list[CallFragment] | None = None
    function_call: FunctionFragment | None = None


class Choice(msgspec.Struct, gc=False):
    index: int | None = None
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None
    logprobs: WireLogprobs | None = None
    native_finish_reason: str | None = None
    stop_reason: str | int | None = None
    content_filter_results: JSONObject | None = None
    usage: JSONObject | None = None
    error: object = None


class GroqExtras(msgspec.Struct, gc=False):
    usage: JSONObject | None = None
    error: object = None


class Chunk(msgspec.Struct, gc=False):
    """A frame of a stream, or a whole body. Unknown fields are ignored."""

    choices: list[Choice] | None = None
    id: str | int | None = None
    model: str | None = None
    usage: JSONObject | None = None
    error: object = None
    x_groq: GroqExtras | None = None
    object: str | None = None
    provider: str | None = None
    service_tier: str | None = None
    system_fingerprint: str | None = None
    prompt_filter_results: list[JSONObject] | None = None
    moderation: JSONObject | None = None


# -- 4. Parser state

PROTOCOL: Final = "openai-chat"

STOP_REASONS: Final[dict[str, StopReason]] = {
    **dict.fromkeys(("stop", "eos", "end_turn", "stop_sequence"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "model_length", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("tool_calls", "function_call", "tool_use"), "tool_use"),
    **dict.fromkeys(("content_filter", "sensitive"), "content_filter"),
    **dict.fromkeys(("error", "network_error", "insufficient_system_resource", "abort"), "error"),
}
"""Finish reasons in lower case. One that is not here is `unknown`; the raw word is always kept."""

CUT: Final[frozenset[StopReason]] = frozenset({"length", "content_filter", "error"})
"""Stop reasons after which the last call may lack arguments."""

USAGE: Final = Counts(
    buckets={
        "input": (("prompt_tokens",),),
        "output": (("completion_tokens",),),
        "cache_read": (
            ("prompt_tokens_details", "cached_tokens"),
            ("cached_tokens",),
            ("num_cached_tokens",),
            ("prompt_cache_hit_tokens",),
        ),
        "cache_write": (("prompt_tokens_details", "cache_write_tokens"), ("cache_creation_input_tokens",)),
        "reasoning": (("completion_tokens_details", "reasoning_tokens"),),
    },
    inclusive=True,
    modalities={
        ("input", "audio"): ("prompt_tokens_details", "audio_tokens"),
        ("input", "image"): ("prompt_tokens_details", "image_tokens"),
        ("input", "video"): ("prompt_tokens_details", "video_tokens"),
        ("output", "audio"): ("completion_tokens_details", "audio_tokens"),
        ("output", "image"): ("completion_tokens_details", "image_tokens"),
    },
    units={"web_search": ("output", ("server_tool_use_details", "web_search_requests"))},
)

NEEDED: Final = frozenset(
    {"choices", "choices.delta", "choices.message", "tool_calls.function", "tool_calls.custom"}
    | {f"{holder}.{name}" for holder in ("delta", "message") for name in ("content", "refusal", "tool_calls")}
    | {f"{holder}.function_call" for holder in ("delta", "message")}
    | {f"{holder}.{name}" for holder in ("function", "function_call") for name in ("name", "arguments")}
    | {"custom.name", "custom.input"}
)
"""Fields of a frame that carry content: an odd value there is an error, elsewhere it is left out with a warning."""

KEEP_ALIVE: Final = frozenset({b"", b'""', b"ping", b"keepalive", b"keep-alive", b"heartbeat", b"null"})
"""Data of frames that say nothing (seen beside proper comments; all that begins with `:` is one, too)."""


class State(msgspec.Struct):
    """One response as far as it has been read."""

    model: Model[ChatBody]
    mint: Mint
    sink: MediaSink
    origin: Origin
    blocks: Blocks
    calls: Calls
    meter: Meter
    thoughts: Thoughts
    hosted: HostedCalls
    started: bool = False
    ended: bool = False
    choice: int | None = None
    sound: Sound | None = None
    finish: str | None = None
    has_calls: bool = False
    has_deltas: bool = False
    has_others: bool = False
    stop_details: JSONObject = {}
    metadata: JSONObject = {}
    warnings: dict[str, CallWarning] = {}

    def warn(self, subject: str, reason: str) -> None:
        """One warning for each subject."""
        if subject not in self.warnings:
            self.warnings[subject] = CallWarning(subject=subject, reason=reason, protocol=PROTOCOL, phase="read")


# -- 5. Request lowering


class Body(msgspec.Struct, frozen=True):
    """What the lowering of one request shares, and the fields that it has set."""

    request: Request
    model: Model["ChatBody"]
    quirks: Quirks
    losses: Losses
    fields: dict[str, Any]


def lower(request: Request, model: Model[ChatBody], stream: bool) -> Lowered[ChatBody]:
    """The body of a request. Raises `CapabilityError` for content that the route cannot carry, `InvalidRequestError`
    for what no route can, `ConfigError` for options that do not exist."""
    quirks = model.quirks
    assert isinstance(quirks, Quirks)
    losses = Losses(model)
    marks = Marks(request, quirks.cache_breakpoints)
    messages = lower_messages(Draft(request, model, quirks, losses, marks, CallIds(quirks.tool_ids), [], []))
    body = Body(request, model, quirks, losses, {"model": model.name, "messages": messages})
    lower_tools(body)
    lower_generation(body)
    lower_reasoning(body)
    lower_output(body)
    lower_options(body)
    fields = body.fields
    marks.report(losses)
    padded = fields.pop("include_obfuscation", UNSET)
    if stream:
        fields["stream"] = True
        options = StreamOptions(True if quirks.stream_usage == "request" else UNSET, padded)
        if options != StreamOptions():
            fields["stream_options"] = options
    return Lowered(ChatBody(**fields), tuple(losses.warnings))


def lower_tools(body: Body) -> None:
    request, quirks = body.request, body.quirks
    if request.tools:
        body.fields["tools"] = wire_tools(request.tools, quirks.hosted_tools, body.losses)
    choice = request.tool_choice
    if choice is None:
        return
    chosen = wire_choice(choice, request.tools, quirks.required_word, body.losses)
    if chosen is not None:
        body.fields["tool_choice"] = chosen
        if choice.parallel is not None:
            set_knob(body, "parallel_tool_calls", choice.parallel)


def set_knob(body: Body, knob: Knob, value: object) -> None:
    """Sets the field that carries a knob here, or warns that none does."""
    field = body.quirks.knobs.get(knob, KNOBS[knob])
    if field is None:
        body.losses.knob(knob, f"{body.model.id} does not take {knob}: left out")
    else:
        body.fields[field] = value


def lower_generation(body: Body) -> None:
    generation, quirks = body.request.generation, body.quirks
    if generation.max_tokens is not None:
        body.fields[quirks.max_tokens_field] = generation.max_tokens
    for knob in SAMPLING:
        value = getattr(generation, knob)
        if value is not None:
            set_knob(body, knob, value)
    if generation.top_logprobs is not None and generation.logprobs is None:
        set_knob(body, "logprobs", True)
    stops = tuple([scrub(stop) for stop in generation.stop if stop])
    if len(stops) < len(generation.stop):
        body.losses.knob("stop", "an empty stop sequence is left out")
    if quirks.stop_limit is not None and len(stops) > quirks.stop_limit:
        body.losses.knob("stop", f"at most {quirks.stop_limit} stop sequences are taken: the others are left out")
        stops = stops[: quirks.stop_limit]
    if stops:
        set_knob(body, "stop", stops)
    if body.request.cache is not None:
        lower_cache(body, body.request.cache)


SAMPLING: Final[tuple[Knob, ...]] = (
    *("temperature", "top_p", "top_k", "seed", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs"),
)


def lower_cache(body: Body, cache: CacheOptions) -> None:
    if cache.key is not None:
        set_knob(body, "prompt_cache_key", scrub(cache.key))
    if not body.quirks.cache_breakpoints:
        if cache.ttl is not None:
            body.losses.knob("cache.ttl", "the service keeps its cache as it likes: left out")
        if cache.mode == "off":
            body.losses.knob("cache.mode", "the service caches by itself and cannot be asked not to")


def lower_reasoning(body: Body) -> None:
    reasoning, quirks, losses = body.request.reasoning, body.quirks, body.losses
    if reasoning is None:
        return
    effort = reasoning.effort
    if effort is not None and effort in quirks.efforts:
        losses.knob("reasoning.effort", f"{effort!r} is not known here and goes as {quirks.efforts[effort]!r}")
        effort = quirks.efforts[effort]
    budget = reasoning.budget_tokens
    if quirks.reasoning_control == "object":
        if effort is not None or budget is not None:
            body.fields["reasoning"] = ReasoningObject(
                effort=UNSET if effort is None else effort, max_tokens=UNSET if budget is None else budget
            )
    else:
        if quirks.reasoning_control == "switch":
            body.fields["thinking"] = ThinkingSwitch("disabled" if effort == "none" else "enabled")
        if effort is not None and not (effort == "none" and "thinking" in body.fields):
            body.fields["reasoning_effort"] = effort
        if budget is not None:
            losses.knob("reasoning.budget_tokens", "the wire takes an effort, not a number of tokens: left out")
    if reasoning.summary is not None:
        losses.knob("reasoning.summary", "the wire has no choice of how thoughts are shown: left out")


def lower_output(body: Body) -> None:
    shape = body.request.response_format
    if isinstance(shape, JsonFormat):
        schemas = body.quirks.structured_output == "json_schema"
        body.fields["response_format"] = wire_format(shape, schemas, body.losses)
    wanted = body.request.output_modalities
    for modality in wanted:
        if modality not in ("text", "audio", "image"):
            body.losses.refuse(f"gives no {modality}", "output_modalities")
    if wanted:
        body.fields["modalities"] = wanted


def lower_options(body: Body) -> None:
    options = options_of(body.request, body.model, Options)
    for name in options.__struct_fields__:
        value = getattr(options, name)
        if value is not None:
            body.fields[name] = scrubbed(value) if is_object(value) else value
    if "audio" in body.request.output_modalities and options.audio is None:
        raise InvalidRequestError(
            "output_modalities has audio: say which voice and format, "
            f"provider_options={{{PROTOCOL!r}: {{'audio': {{'voice': …, 'format': …}}}}}}",
            param="output_modalities",
        )


# -- 6. Event handlers


def on_reasoning_content(state: State, text: str, out: list[Event]) -> None:
    state.thoughts.think("reasoning_content", text, out)


def on_reasoning(state: State, text: str, out: list[Event]) -> None:
    state.thoughts.think("reasoning", text, out)


def on_reasoning_text(state: State, text: str, out: list[Event]) -> None:
    state.thoughts.think("reasoning_text", text, out)


def on_reasoning_details(state: State, details: list[JSONObject], out: list[Event]) -> None:
    state.thoughts.details(details, out)


def on_executed_tools(state: State, tools: list[JSONObject], out: list[Event]) -> None:
    if tools:
        state.blocks.close(out)
        state.has_others = True
    for position, tool in enumerate(tools):
        state.hosted.take(position, tool, out)


def on_content(state: State, content: str | list[JSONObject], out: list[Event]) -> None:
    if isinstance(content, str):
        if content:
            state.thoughts.say(content, out)
        return
    for part in content:
        kind = part.get("type")
        handler = CONTENT_PARTS.get(kind) if isinstance(kind, str) else None
        if handler is None or not handler(state, part, out):
            keep_whole(state, part, out)


def keep_whole(state: State, part: JSONObject, out: list[Event]) -> None:
    """Content that has no canonical shape, or not the documented one."""
    state.blocks.close(out)
    state.has_others = True
    data = msgspec.Raw(msgspec.json.encode(scrubbed(part)))
    out.append(OpaqueEvent(part=Opaque(kind=str(part.get("type") or "unknown"), data=data, origin=state.origin)))


def on_text_part(state: State, part: JSONObject, out: list[Event]) -> bool:
    text = part.get("text")
    if isinstance(text, str) and text:
        state.thoughts.say(text, out)
    return text is None or isinstance(text, str)


def on_thinking_part(state: State, part: JSONObject, out: list[Event]) -> bool:
    thinking = part.get("thinking")
    texts = [thinking] if isinstance(thinking, str) else [at(item, "text") for item in sequence(thinking)]
    said = [text for text in texts if isinstance(text, str)]
    if len(said) < len(texts) or (thinking and not texts):
        return False
    for text in said:
        state.thoughts.more("thinking", text, out)
    return True


def on_refusal_part(state: State, part: JSONObject, out: list[Event]) -> bool:
    refusal = part.get("refusal")
    on_refusal(state, text_of(refusal) or "", out)
    return refusal is None or isinstance(refusal, str)


def on_image_part(state: State, part: JSONObject, out: list[Event]) -> bool:
    on_images(state, [part], out)
    return True


CONTENT_PARTS: Final = dict[str, Callable[[State, JSONObject, list[Event]], bool]](
    {
        "text": on_text_part,
        "thinking": on_thinking_part,
        "refusal": on_refusal_part,
        "image_url": on_image_part,
    }
)
"""Parts of a content that comes as a list: each says whether it was as documented. Others are kept whole."""


def on_annotations(state: State, annotations: list[JSONObject], _out: list[Event]) -> None:
    """Sources of the text block that is open, else of the next one."""
    state.blocks.citations += [citation(annotation) for annotation in annotations]


def on_refusal(state: State, text: str, out: list[Event]) -> None:
    if text:
        state.blocks.refusal(text, out)


def on_audio(state: State, audio: AudioFragment, out: list[Event]) -> None:
    """A spoken answer: data and transcript in pieces. (Snowflake sends all of it empty: that is no sound.)"""
    if state.sound is None:
        if not (audio.data or audio.transcript):
            return
        state.blocks.close(out)
        state.sound = Sound(state.blocks.next_id())
    state.sound.wire_id = audio.id or state.sound.wire_id
    state.sound.expires_at = audio.expires_at or state.sound.expires_at
    if audio.transcript:
        state.sound.transcript(audio.transcript)
    if audio.data:
        state.sound.data(audio.data, out)


def on_images(state: State, images: list[JSONObject], out: list[Event]) -> None:
    """Images, by URL or with their bytes (`b64_json`)."""
    for item in images:
        reference = item.get("image_url")
        url = text_of(reference) or text_of(at(reference, "url"))
        inline = text_of(item.get("b64_json"))
        data = None if inline is None else from_base64(inline)
        if url is not None:
            state.blocks.close(out)
            image(state.blocks.next_id(), url, state.sink, out)
        elif data is not None:
            state.blocks.close(out)
            inline_image(state.blocks.next_id(), data, image_type(data), state.sink, out)
        else:
            keep_whole(state, item, out)


def on_tool_calls(state: State, fragments: list[CallFragment], out: list[Event]) -> None:
    if not fragments:
        return
    state.blocks.close(out)
    calls = state.calls
    calls.next_delta()
    behind = len(fragments)
    for fragment in fragments:
        function, wire_id = fragment.function, fragment.id
        name, text, custom = None, "", False
        if function is not None:
            name, arguments = function.name, function.arguments
            text = arguments if isinstance(arguments, str) else "" if arguments is None else written(arguments)
        if not name and fragment.custom is not None and fragment.custom.name:
            name, text, custom = fragment.custom.name, fragment.custom.input or "", True
        elif fragment.custom is not None and fragment.custom.input and not text:
            text = fragment.custom.input
        calls.fragment(
            out,
            index=fragment.index,
            wire_id=str(wire_id).strip() or None if wire_id is not None else None,
            name=name.strip() or None if name else None,
            text=text,
            custom=custom,
            behind=behind,
        )
        behind -= 1


def on_function_call(state: State, call: FunctionFragment, out: list[Event]) -> None:
    """The legacy form: one call, without an id."""
    if call.name or call.arguments:
        on_tool_calls(state, [CallFragment(function=call)], out)


HANDLERS: Final = dict[str, Callable[[State, Any, list[Event]], None]](
    {
        "reasoning_content": on_reasoning_content,
        "reasoning": on_reasoning,
        "reasoning_text": on_reasoning_text,
        "reasoning_details": on_reasoning_details,
        "executed_tools": on_executed_tools,
        "content": on_content,
        "annotations": on_annotations,
        "refusal": on_refusal,
        "audio": on_audio,
        "images": on_images,
        "tool_calls": on_tool_calls,
        "function_call": on_function_call,
    }
)
"""By field of the delta, in the order in which the fields of one delta are handled."""

_IN_ORDER: Final = tuple(HANDLERS[name] for name in Delta.__struct_fields__)
_decode: Final[Callable[[bytes], Chunk]] = msgspec.json.Decoder(Chunk, strict=False).decode
_fields: Final = msgspec.structs.astuple


def start(model: Model[ChatBody], mint: Mint, sink: MediaSink) -> State:
    quirks = model.quirks
    assert isinstance(quirks, Quirks)
    origin = Origin(provider=model.provider, protocol=PROTOCOL, model=model.name)
    blocks = Blocks(origin)
    return State(
        model=model,
        mint=mint,
        sink=sink,
        origin=origin,
        blocks=blocks,
        thoughts=Thoughts(blocks, quirks.thinking_tags),
        hosted=HostedCalls(mint, origin),
        calls=Calls(mint, origin),
        meter=Meter(USAGE),
    )


def step(state: State, frame: Frame, out: list[Event]) -> None:
    if state.ended:
        return
    data = frame.data
    if frame.name == "error" or frame.kind == "error":
        raise error_frame(state, data)
    try:
        chunk = _decode(data)
    except REJECTED:
        if data.strip() == b"[DONE]":
            end(state, out)
            return
        if data.strip().lower() in KEEP_ALIVE or data.lstrip().startswith(b":"):
            log_skipped(PROTOCOL, None, len(data))
            return
        chunk = odd_chunk(state, data)
    on_chunk(state, chunk, data, out)


def odd_chunk(state: State, data: bytes) -> Chunk:
    """A frame that is not as documented, without what is odd in it. From here on texts may have lone surrogates."""
    state.blocks.odd = state.calls.odd = True
    try:
        value = loads(data)
    except ValueError:
        value = None
    if not is_object(value) and report_of(value) is not None:
        raise error_frame(state, data)
    pruned = list[str]()
    chunk = salvage(data, Chunk, NEEDED, pruned)
    for field in pruned:
        state.warn(field, f"{field} is not of its documented type: ignored")
    return chunk


def error_frame(state: State, data: bytes) -> LLMError:
    try:
        value = loads(data)
    except ValueError:
        value = data.decode("utf-8", "replace")
    return from_stream(value, data, provider=state.model.provider, model=state.model.name)


def error_in(chunk: Chunk) -> object:
    """The error that a frame holds, beside choices or in their place."""
    return chunk.error or (chunk.x_groq.error if chunk.x_groq is not None else None)


def on_chunk(state: State, chunk: Chunk, data: bytes, out: list[Event]) -> None:
    if error_in(chunk):
        raise from_stream({"error": error_in(chunk)}, data, provider=state.model.provider, model=state.model.name)
    choices = chunk.choices
    if choices:
        if not state.started:
            begin(state, chunk, out)
        for position, choice in enumerate(choices):
            if position and choice.index is None:
                state.warn("choices", OTHER_CHOICES)
            else:
                on_choice(state, choice, data, out)
    elif choices is None and chunk.usage is None and chunk.x_groq is None:
        refuse_other(state, data)
    usage = chunk.usage if chunk.x_groq is None else (chunk.usage or chunk.x_groq.usage)
    if usage is not None and state.meter.take(usage):
        begin(state, chunk, out)
        out.append(UsageUpdate(usage=state.meter.usage))
    if not choices or usage is not None:
        note(state, chunk)


def refuse_other(state: State, data: bytes) -> None:
    """Raises the error that a frame without choices is, if it is one; other unknown frames are skipped."""
    value = loads(data)
    if report_of(value) is not None or is_bare_error(value):
        raise error_frame(state, data)
    log_skipped(PROTOCOL, value, len(data))


def begin(state: State, chunk: Chunk | None, out: list[Event]) -> None:
    if state.started:
        return
    state.started = True
    identity = chunk.id if chunk is not None else None
    out.append(
        ResponseStart(
            provider=state.model.provider,
            id=str(identity) if identity not in (None, "") else None,
            model=(chunk.model or None) if chunk is not None else None,
        )
    )
    if chunk is not None:
        note(state, chunk)


def note(state: State, chunk: Chunk) -> None:
    """Keeps what a frame says beside its content."""
    for name in NOTED:
        value = getattr(chunk, name)
        if value:
            state.metadata[name] = value


NOTED: Final = ("service_tier", "system_fingerprint", "provider", "prompt_filter_results", "moderation")


def on_choice(state: State, choice: Choice, data: bytes, out: list[Event]) -> None:
    if choice.index != state.choice and not is_first(state, choice):
        return
    delta = choice.delta
    if choice.message is not None and not state.has_deltas:
        delta = choice.message
    if choice.logprobs is not None:
        on_logprobs(state, choice.logprobs, delta)
    if delta is not None:
        state.has_deltas = True
        state.thoughts.next_delta()
        for handle, value in zip(_IN_ORDER, _fields(delta), strict=True):
            if value is not None:
                handle(state, value, out)
    if choice.usage is not None and state.meter.take(choice.usage):
        out.append(UsageUpdate(usage=state.meter.usage))
    if choice.content_filter_results:
        state.stop_details["content_filter_results"] = choice.content_filter_results
    if choice.finish_reason is not None or choice.error:
        on_finish(state, choice, data, out)


def is_first(state: State, choice: Choice) -> bool:
    """Whether this is the choice that is read: the first that comes. Others are left out with a warning."""
    if state.choice is None:
        state.choice = choice.index
        return True
    if choice.index is None:
        return True
    state.warn("choices", OTHER_CHOICES)
    return False


OTHER_CHOICES: Final = "the reply has more than one choice: all but the first are left out"


def on_logprobs(state: State, logprobs: WireLogprobs, delta: Delta | None) -> None:
    """Log probabilities of the text that comes with them, or that is open. There is no place for those of others
    (thoughts, calls)."""
    for kind, tokens in (("text", logprobs.content), ("refusal", logprobs.refusal)):
        said = delta is not None and (delta.content if kind == "text" else delta.refusal)
        if tokens and (said or state.blocks.kind == kind):
            state.blocks.logprobs += token_logprobs(tokens)
        elif tokens:
            state.warn("logprobs", "log probabilities of what is no text of the answer are left out")


def on_finish(state: State, choice: Choice, data: bytes, out: list[Event]) -> None:
    """The finish reason, which may come again (then the last one that is not blank counts)."""
    if choice.error:
        raise from_stream({"error": choice.error}, data, provider=state.model.provider, model=state.model.name)
    for name in ("native_finish_reason", "stop_reason"):
        value = getattr(choice, name)
        if value is not None and value != "":
            state.stop_details[name] = value
    reason = choice.finish_reason
    assert reason is not None
    if reason or state.finish is None:
        state.finish = reason
    if reason:
        close_all(state, out)


def close_all(state: State, out: list[Event]) -> None:
    """Ends every block and call that is open."""
    state.thoughts.end(out)
    state.blocks.end(out)
    if state.sound is not None:
        state.sound.end(state.sink, state.origin, out)
        state.sound = None
    cut = STOP_REASONS.get((state.finish or "").lower(), "unknown") in CUT
    if any(call.error is None for call in state.calls.end(out, cut=cut)):
        state.has_calls = True


def end(state: State, out: list[Event]) -> None:
    begin(state, None, out)
    close_all(state, out)
    state.ended = True
    if state.blocks.logprobs:
        state.warn("logprobs", "log probabilities of what is no text of the answer are left out")
    if state.blocks.citations:
        state.metadata["annotations"] = [citation.native for citation in state.blocks.citations]
    for problem in state.meter.problems:
        state.warn("usage", problem)
    if not (state.blocks.count or state.calls.count or state.has_others):
        state.warn("content", "the answer is empty")
    reported = state.meter.decimal("cost")
    out.append(
        ResponseEnd(
            stop_reason=stop_reason(state),
            raw_stop_reason=state.finish,
            stop_details=state.stop_details or None,
            usage=state.meter.usage,
            cost=None if reported is None else Cost(reported=reported),
            warnings=tuple(state.warnings.values()),
            provider_metadata=state.metadata or None,
        )
    )


def stop_reason(state: State) -> StopReason:
    """By table; but complete calls of the client's with `stop` in any word, nothing or a blank are calls to be run."""
    raw = (state.finish or "").strip().lower()
    reason = STOP_REASONS.get(raw, "unknown")
    return "tool_use" if state.has_calls and (not raw or reason == "stop") else reason


def finish(state: State, out: list[Event]) -> None:
    """Told that the bytes have ended. A finish reason is terminal evidence, also without `[DONE]`."""
    if state.ended:
        return
    if not state.finish:
        raise StreamTruncatedError("the stream ended without a finish reason and without [DONE]")
    end(state, out)


def parse(body: bytes, model: Model[ChatBody], mint: Mint, sink: MediaSink, out: list[Event]) -> None:
    """All events of a whole-body reply: one chunk whose `message` is the delta."""
    state = start(model, mint, sink)
    try:
        chunk = _decode(body)
    except REJECTED:
        chunk = odd_chunk(state, body)
    if chunk.choices is None and not error_in(chunk):
        report = report_of_bytes(body)
        if report is not None and report.message:
            raise error_frame(state, body)
        raise ProtocolError("the reply has no choices and no error", retryable=True, body_excerpt=excerpt_of(body))
    on_chunk(state, chunk, body, out)
    end(state, out)


def error(status: int, headers: Headers, body: bytes, model: Model[ChatBody]) -> LLMError:
    """The error of a reply that is no success. (Azure answers with 400 and a completion whose reason says that the
    answer was filtered: its text is `partial`, the categories are named.)"""
    if b'"choices"' in body and b'"content_filter"' in body and report_of_bytes(body) is None:
        return filtered(status, headers, body, model)
    return from_reply(status, headers, body, provider=model.provider, model=model.name)


def filtered(status: int, headers: Headers, body: bytes, model: Model[ChatBody]) -> LLMError:
    """The error of an answer that a content filter has stopped, with what there is of it."""
    events, sink, numbers = list[Event](), MediaSink(), itertools.count()
    try:
        parse(body, model, lambda: str(next(numbers)), sink, events)  # its calls are left out: no id is seen
    except LLMError:
        return from_reply(status, headers, body, provider=model.provider, model=model.name)
    return from_filtered(status, headers, body, events, sink, provider=model.provider, model=model.name)


# -- 7. The protocol

OPENAI_CHAT: Final = Protocol[Quirks, ChatBody](
    id=PROTOCOL,
    quirks=Quirks,
    options=Options,
    body=ChatBody,
    lower=lower,
    start=start,
    step=step,
    finish=finish,
    parse=parse,
    error=error,
)
