"""Lowering of tools, tool choice and response format for wires in the shape of OpenAI's Chat."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from msgspec import UNSET

from llmcore.errors import InvalidRequestError
from llmcore.schema.base import JSONObject, excerpt
from llmcore.schema.request import HostedTool, JsonFormat, RequestTool, ToolChoice, ToolDefinition
from llmcore.wire.chat_parts import (
    ChosenName,
    ChosenTool,
    FunctionSpec,
    FunctionTool,
    ObjectFormat,
    SchemaFormat,
    SchemaSpec,
)
from llmcore.wire.lowering import Losses, checked_name
from llmcore.wire.texts import scrub, scrubbed
from llmcore.wire.values import mapping


def wire_tools(
    tools: Iterable[RequestTool], hosted: tuple[str, ...], losses: Losses
) -> tuple[FunctionTool | JSONObject, ...]:
    """The tools in their order; `hosted` are the kinds (globs) that the service runs itself.

    Raises `CapabilityError` for a hosted tool of another kind, `InvalidRequestError` for an illegal or repeated name.
    """
    names, lowered = set[str](), list[FunctionTool | JSONObject]()
    for position, tool in enumerate(tools):
        if isinstance(tool, HostedTool):
            if not any(fnmatchcase(tool.kind, known) for known in hosted):
                losses.refuse(f"runs no tool {excerpt(tool.kind)}; known are {', '.join(hosted) or 'none'}", "tools")
            if "type" in tool.config:
                raise InvalidRequestError(f"tools[{position}]: `kind` says the type, not `config`", param="tools")
            lowered.append({"type": tool.kind, **mapping(scrubbed(tool.config))})
            continue
        if checked_name(tool.name, f"tools[{position}]") in names:
            raise InvalidRequestError(f"tools[{position}]: there is another tool {tool.name!r}", param="tools")
        names.add(tool.name)
        lowered.append(FunctionTool(wire_function(tool)))
    return tuple(lowered)


def wire_function(tool: ToolDefinition) -> FunctionSpec:
    return FunctionSpec(
        name=tool.name,
        description=scrub(tool.description) if tool.description else UNSET,
        parameters=mapping(scrubbed(tool.parameters)),
        strict=UNSET if tool.strict is None else tool.strict,
    )


def wire_choice(
    choice: ToolChoice, tools: tuple[RequestTool, ...], required_word: str, losses: Losses
) -> str | ChosenTool | None:
    """The choice as the wire has it; `None`, with a warning, where there is nothing to choose from.

    Raises `InvalidRequestError` for a tool that is not there.
    """
    if choice.mode == "named":
        names = [tool.name for tool in tools if isinstance(tool, ToolDefinition)]
        if choice.name is None or choice.name not in names:
            raise InvalidRequestError(f"tool_choice names {choice.name!r}, which is not in tools", param="tool_choice")
        return ChosenTool(ChosenName(choice.name))
    if tools:
        return required_word if choice.mode == "required" else choice.mode
    if choice.mode == "required":
        raise InvalidRequestError("tool_choice is required and there are no tools", param="tool_choice")
    losses.knob("tool_choice", "there are no tools to choose from: left out")
    return None


def wire_format(shape: JsonFormat, schemas: bool, losses: Losses) -> SchemaFormat | ObjectFormat:
    """The format of an answer in JSON. Raises `CapabilityError` for a schema where the service takes no `schemas`."""
    if shape.schema is None:
        for field in ("description", "strict"):
            if getattr(shape, field) is not None:
                losses.knob(f"response_format.{field}", "it goes with a schema, and there is none: left out")
        return ObjectFormat()
    if not schemas:
        remedy = "ask for JsonFormat() and describe the schema in the prompt"
        losses.refuse(f"holds an answer to JSON, not to a schema; {remedy}", "response_format")
    spec = SchemaSpec(
        name=checked_name(shape.name, "response_format"),
        description=UNSET if shape.description is None else scrub(shape.description),
        schema=mapping(scrubbed(shape.schema)),
        strict=UNSET if shape.strict is None else shape.strict,
    )
    return SchemaFormat(spec)
