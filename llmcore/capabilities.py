"""What a route or a model can carry, and what a request needs. `None` is unknown and is sent; only `False` refuses."""

from llmcore.schema.base import Data
from llmcore.schema.parts import Media, Modality
from llmcore.schema.request import JsonFormat, Request, ToolDefinition


class Capabilities(Data, frozen=True, kw_only=True):
    """Flags are `True` (code of ours exposes it and a recording or test shows it), `False` (refused before sending)
    or `None` (unknown: sent). `media_input` and `media_types` are the kinds known to be taken, `None` for unknown;
    `output_combinations` the closed set of modality sets that the model can answer in."""

    tools: bool | None = None
    parallel_tool_calls: bool | None = None
    streaming: bool | None = None
    streaming_tool_calls: bool | None = None
    reasoning: bool | None = None
    structured_output: bool | None = None
    system_prompt: bool | None = None
    system_in_list: bool | None = None
    prompt_cache: bool | None = None
    prefill: bool | None = None
    media_input: tuple[Modality, ...] | None = None
    media_types: tuple[str, ...] | None = None
    output_combinations: tuple[tuple[Modality, ...], ...] | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None


class Need(Data, frozen=True, kw_only=True):
    """One thing that a request needs of a model: `capability` is a field of `Capabilities`; `value` what of it (a
    modality), `message_index` and `part_index` where it stands; `critical` needs are content and refuse, others are
    knobs and warn."""

    capability: str
    what: str
    value: str | None = None
    message_index: int | None = None
    part_index: int | None = None
    critical: bool = True


def required_capabilities(request: Request, stream: bool = False) -> tuple[Need, ...]:
    """Everything that `request` needs, in the order of the request. `check`, `prepare` and the fallback chain share
    this one function."""
    needs = list[Need]()
    if stream:
        needs.append(Need(capability="streaming", what="a streamed answer"))
    if request.system_parts or any(message.role == "system" for message in request.messages):
        needs.append(Need(capability="system_prompt", what="a system prompt"))
    for index, message in enumerate(request.messages):
        for position, part in enumerate(message.content):
            inner = part.content if part.type == "tool_result" else (part,)
            needs += [
                Need(
                    capability="media_input",
                    what=f"{media.modality} input",
                    value=media.modality,
                    message_index=index,
                    part_index=position,
                )
                for media in inner
                if isinstance(media, Media) and message.role in ("user", "tool")
            ]
    if any(isinstance(tool, ToolDefinition) for tool in request.tools):
        needs.append(Need(capability="tools", what="tools"))
    if request.tool_choice is not None and request.tool_choice.parallel:
        needs.append(Need(capability="parallel_tool_calls", what="parallel tool calls", critical=False))
    if isinstance(request.response_format, JsonFormat):
        needs.append(Need(capability="structured_output", what="structured output"))
    if request.reasoning is not None and request.reasoning.effort != "none":
        needs.append(Need(capability="reasoning", what="reasoning options", critical=False))
    if request.output_modalities:
        wanted = "+".join(sorted(request.output_modalities))
        needs.append(Need(capability="output_combinations", what=f"output of {wanted}", value=wanted))
    return tuple(needs)


def refused(capabilities: Capabilities, need: Need) -> bool:
    """Whether the model is known to lack what is needed. Unknown is not refused."""
    known = getattr(capabilities, need.capability)
    if known is None:
        return False
    if need.capability == "output_combinations":
        return need.value not in {"+".join(sorted(combination)) for combination in known}
    return need.value not in known if isinstance(known, tuple) else not known
