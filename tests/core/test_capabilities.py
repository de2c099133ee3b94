"""What a request needs of a model, and what is refused: only what is known to be lacking."""

import pytest

from llmcore.capabilities import Capabilities, Need, refused, required_capabilities
from llmcore.schema import (
    Generation,
    HostedTool,
    Json,
    JsonFormat,
    Media,
    Message,
    ReasoningOptions,
    Request,
    Text,
    TextFormat,
    ToolChoice,
    ToolDefinition,
)

PNG = Media.from_bytes(b"", "image/png")
WAV = Media.from_bytes(b"", "audio/wav")
TOOL = ToolDefinition(name="f")

NEEDS: list[tuple[Request, list[tuple[str, str | None, bool]]]] = [
    (Request(messages=(Message.user("hi"),)), []),
    (Request(system="s"), [("system_prompt", None, True)]),
    (Request(system=(Text(text="s"),)), [("system_prompt", None, True)]),
    (Request(messages=(Message.user("a"), Message.system("s"))), [("system_prompt", None, True)]),
    (
        Request(messages=(Message.user("a", PNG, WAV), Message.tool("1", "a", PNG, Json(value=1)))),
        [("media_input", "image", True), ("media_input", "audio", True), ("media_input", "image", True)],
    ),
    (Request(messages=(Message.assistant(PNG),)), []),
    (Request(tools=(TOOL, TOOL)), [("tools", None, True)]),
    (Request(tools=(HostedTool(kind="web"),)), []),
    (Request(tool_choice=ToolChoice(parallel=True)), [("parallel_tool_calls", None, False)]),
    (Request(tool_choice=ToolChoice(parallel=False)), []),
    (Request(response_format=JsonFormat()), [("structured_output", None, True)]),
    (Request(response_format=TextFormat()), []),
    (Request(reasoning=ReasoningOptions(effort="low")), [("reasoning", None, False)]),
    (Request(reasoning=ReasoningOptions(budget_tokens=5)), [("reasoning", None, False)]),
    (Request(reasoning=ReasoningOptions(effort="none")), []),
    (Request(output_modalities=("text", "audio")), [("output_combinations", "audio+text", True)]),
    (Request(generation=Generation(seed=1)), []),
]


@pytest.mark.parametrize(("request_", "needs"), NEEDS)
def test_the_needs_of_a_request(request_: Request, needs: list[tuple[str, str | None, bool]]) -> None:
    found = required_capabilities(request_)
    assert [(need.capability, need.value, need.critical) for need in found] == needs
    assert all(need.what for need in found)
    assert {need.capability for need in found} <= set(Capabilities.__struct_fields__)


def test_needs_say_where_they_stand() -> None:
    request = Request(messages=(Message.user("a"), Message.user("b", PNG), Message.tool("1", PNG)))
    assert [(need.message_index, need.part_index) for need in required_capabilities(request)] == [(1, 1), (2, 0)]


def test_a_stream_needs_streaming() -> None:
    assert [need.capability for need in required_capabilities(Request(), stream=True)] == ["streaming"]


FLAGS = [name for name in Capabilities.__struct_fields__ if "bool" in str(Capabilities.__annotations__[name])]


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize(("known", "is_refused"), [(True, False), (None, False), (False, True)])
def test_only_what_is_known_to_be_lacking_is_refused(name: str, known: bool | None, is_refused: bool) -> None:
    assert refused(Capabilities(**{name: known}), Need(capability=name, what=name)) is is_refused


@pytest.mark.parametrize(
    ("known", "is_refused"), [(None, False), ((), True), (("image",), True), (("image", "audio"), False)]
)
def test_media_are_refused_by_modality(known: tuple[str, ...] | None, is_refused: bool) -> None:
    need = Need(capability="media_input", what="audio input", value="audio")
    assert refused(Capabilities(media_input=known), need) is is_refused  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("known", "is_refused"),
    [
        (None, False),
        ((), True),
        ((("text",),), True),
        ((("text",), ("audio", "text")), False),
        ((("text", "audio"),), False),
        ((("text", "audio", "image"),), True),
    ],
)
def test_output_is_refused_by_combination(known: tuple[tuple[str, ...], ...] | None, is_refused: bool) -> None:
    (need,) = required_capabilities(Request(output_modalities=("text", "audio")))
    assert refused(Capabilities(output_combinations=known), need) is is_refused  # type: ignore[arg-type]
