"""Our bodies against the parameter types of the `openai` SDK: every key known, every value of its type, to the end."""

from collections.abc import Iterable
from typing import Any, Literal, NotRequired, Optional, Required, Union

import msgspec
import pytest
from histories import requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from typed import problems
from typing_extensions import TypedDict

from llmcore import registry
from llmcore.errors import LLMError
from llmcore.protocols.openai_chat import AudioOutput, ChatBody, Options
from llmcore.schema.message import Message, MessageMetadata
from llmcore.schema.parts import Json, Media, Origin, Reasoning, Text, ToolCall
from llmcore.schema.request import (
    CacheOptions,
    Generation,
    JsonFormat,
    ReasoningOptions,
    Request,
    ToolChoice,
    ToolDefinition,
)

TYPES: dict[bool, Any] = {False: CompletionCreateParamsNonStreaming, True: CompletionCreateParamsStreaming}
MODELS = ("gpt-4o", "gpt-4o-audio-preview", "gpt-3.5-turbo", "gpt-5-mini", "gpt-5-chat-latest", "o3", "o1-mini")


def body_of(request: Request, name: str, *, stream: bool) -> dict[str, Any] | None:
    """The body as it is sent, `None` where the model cannot be asked so."""
    model = registry.resolve(f"openai/chat:{name}")
    try:
        return msgspec.json.decode(msgspec.json.encode(model.route.protocol.lower(request, model, stream).body))
    except LLMError:
        return None


# -- the checker itself


class Inner(TypedDict, total=False):
    kind: Required[Literal["a", "b"]]
    size: int


class Base(TypedDict):
    name: str
    maybe: NotRequired[Optional[float]]  # noqa: UP045  # as SDKs write it


class Outer(Base, total=False):
    items: Iterable[Union[Inner, str]]  # noqa: UP007  # as SDKs write it
    table: dict[str, int]
    flag: bool
    anything: object


RIGHT: dict[str, object] = {
    "name": "n",
    "maybe": 1,
    "items": [{"kind": "a", "size": 1}, "text", {"kind": "b"}],
    "table": {"x": 1},
    "flag": False,
    "anything": [None],
}


def test_a_right_value_has_no_problems() -> None:
    assert problems(RIGHT, Outer) == []
    assert problems({"name": "n"}, Outer) == []


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"name": None}, "$.name"),
        ({"maybe": "1"}, "$.maybe"),
        ({"maybe": True}, "$.maybe"),
        ({"items": "text"}, "$.items"),
        ({"items": [{"kind": "a"}, 7]}, "$.items[1]"),
        ({"items": [{"kind": "c"}]}, "$.items[0].kind"),
        ({"items": [{"size": 1}]}, "$.items[0]"),
        ({"items": ["x"] * 9 + [{"kind": "a", "more": 1}]}, "$.items[9]"),
        ({"table": {"x": 1.5}}, "$.table.x"),
        ({"flag": 0}, "$.flag"),
        ({"unknown": 1}, "$"),
    ],
)
def test_one_wrong_thing_anywhere_is_one_problem(change: dict[str, object], place: str) -> None:
    (problem,) = problems({**RIGHT, **change}, Outer)
    assert problem.startswith(f"{place}: ")


def test_a_missing_key_is_a_problem_also_of_a_base() -> None:
    assert problems({"items": []}, Outer) == ["$: 'name' is missing"]


def test_a_type_that_the_checker_does_not_know_never_passes() -> None:
    with pytest.raises(TypeError, match="no rule"):
        problems({"x": 1}, set[int])


# -- planted wrong bodies

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
PLAIN: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def test_the_plainest_body_is_right_in_both_ways_of_asking() -> None:
    assert problems(PLAIN, TYPES[False]) == []
    assert problems({**PLAIN, "stream": True}, TYPES[True]) == []


@pytest.mark.parametrize(
    "change",
    [
        {"unknown_key": 1},
        {"model": None},
        {"messages": None},
        {"messages": "Hi"},
        {"messages": [{"role": "nobody", "content": "Hi"}]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "https://x"}]}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "txt", "text": "b"}]}]},
        {"messages": [{"role": "user", "content": "Hi"}] * 20 + [{"role": "tool", "content": "x"}]},
        {"messages": [{"role": "assistant", "tool_calls": [CALL, {**CALL, "type": "functions"}]}]},
        {"messages": [{"role": "assistant", "tool_calls": [{**CALL, "function": {"name": "f", "arguments": {}}}]}]},
        {"messages": [{"role": "assistant", "content": "x", "reasoning_content": "thought"}]},
        {"tools": [{"type": "function", "function": {"description": "no name"}}]},
        {"tools": [{"type": "function", "function": {"name": "f", "strict": "yes"}}]},
        {"tools": [{"name": "f"}]},
        {"tool_choice": "any"},
        {"tool_choice": {"type": "function", "name": "f"}},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}},
        {"response_format": {"type": "json"}},
        {"temperature": "0.5"},
        {"max_completion_tokens": 1.5},
        {"seed": True},
        {"stop": [1]},
        {"stream": True},
        {"stream_options": {"include_usages": True}},
        {"reasoning_effort": 3},
        {"modalities": ["text", "video"]},
        {"audio": {"voice": "alloy"}},
        {"metadata": {"a": 1}},
    ],
    ids=repr,
)
def test_a_planted_wrong_body_fails(change: dict[str, Any]) -> None:
    assert problems({**PLAIN, **change}, TYPES[False])


@pytest.mark.parametrize("key", ["model", "messages", "stream"])
def test_a_body_without_what_it_must_have_fails(key: str) -> None:
    body = {**PLAIN, "stream": True}
    del body[key]
    assert problems(body, TYPES[True])


# -- ours

ORIGIN = Origin(provider="openai", protocol="openai-chat", model="m")
OWN = MessageMetadata(provider="openai")
TOOL = ToolDefinition(name="f", description="does it", parameters={"type": "object", "properties": {}}, strict=True)
CALLS = (
    ToolCall(id="tu_1", name="f", arguments='{"a": 1}', wire_id="call_1", origin=ORIGIN),
    ToolCall(
        id="tu_2",
        name="f",
        arguments='"free text"',
        wire_id="call_2",
        provider_metadata={"type": "custom"},
        origin=ORIGIN,
    ),
    ToolCall(id="tu_3", name="from elsewhere!", arguments="{broken", error="the arguments are not JSON"),
)
USER = (Message.user("Hi"),)
OPTIONS = Options(
    prediction={"type": "content", "content": "expected"},
    verbosity="low",
    service_tier="flex",
    store=True,
    metadata={"a": "b"},
    user="u",
    safety_identifier="s",
    logit_bias={"50256": -100},
    prompt_cache_options={"mode": "explicit"},
    prompt_cache_retention="24h",
    moderation={"model": "omni-moderation-latest"},
    include_obfuscation=False,
    web_search_options={"search_context_size": "low", "user_location": {"type": "approximate", "approximate": {}}},
)

BODIES: dict[str, tuple[str, Request]] = {
    "text": ("gpt-4o", Request(system="Be brief.", messages=USER)),
    "developer": ("gpt-5-mini", Request(system=(Text(text="a"), Text(text="b")), messages=USER)),
    "media in": (
        "gpt-4o",
        Request(
            messages=(
                Message.user(
                    "Look:",
                    Media.from_bytes(b"x", "image/png", detail="low"),
                    Media.from_url("https://example.com/a.png", "image/png"),
                    Media.from_bytes(b"x", "application/pdf", name="a.pdf"),
                    Media.from_file("openai", "file-1", "application/pdf"),
                    Media.from_bytes(b"x", "audio/wav"),
                ),
            )
        ),
    ),
    "conversation": (
        "gpt-4o",
        Request(
            messages=(
                *USER,
                Message.assistant(Reasoning(text="hm"), "One moment.", *CALLS, metadata=OWN),
                Message.tool(CALLS[0], "done", Json(value={"a": [1, None]})),
                Message.tool(CALLS[1], Media.from_bytes(b"x", "image/png")),
                Message.tool(CALLS[2], "failed", is_error=True),
                Message.assistant(Text(text="I will not.", refusal=True), metadata=OWN),
                Message.system("Be kind."),
                Message.assistant(
                    Media(
                        media_type="audio/wav",
                        source=Media.from_bytes(b"x", "audio/wav").source,
                        provider_metadata={"audio": {"id": "audio_1"}},
                        origin=ORIGIN,
                    ),
                    metadata=OWN,
                ),
                Message.user("Go on."),
            )
        ),
    ),
    "a call without text": (
        "gpt-4o",
        Request(messages=(*USER, Message.assistant(CALLS[0]), Message.tool(CALLS[0], "x"))),
    ),
    "tools": ("gpt-4o", Request(messages=USER, tools=(TOOL,), tool_choice=ToolChoice.named("f", parallel=False))),
    "required": ("gpt-4o", Request(messages=USER, tools=(TOOL,), tool_choice=ToolChoice(mode="required"))),
    "knobs": (
        "gpt-4o",
        Request(
            messages=USER,
            generation=Generation(
                max_tokens=9,
                temperature=0.5,
                top_p=1,
                stop=("a", "b"),
                seed=7,
                presence_penalty=0.5,
                frequency_penalty=-0.5,
                logprobs=True,
                top_logprobs=3,
            ),
            cache=CacheOptions(key="k"),
        ),
    ),
    "reasoning": ("gpt-5-mini", Request(messages=USER, reasoning=ReasoningOptions(effort="minimal"))),
    "schema": (
        "gpt-4o",
        Request(
            messages=USER,
            response_format=JsonFormat(schema=TOOL.parameters, name="answer", description="it", strict=True),
        ),
    ),
    "json": ("gpt-4o", Request(messages=USER, response_format=JsonFormat())),
    "audio out": (
        "gpt-4o-audio-preview",
        Request(
            messages=USER,
            output_modalities=("text", "audio"),
            provider_options={"openai-chat": Options(audio=AudioOutput(voice="alloy", format="mp3"))},
        ),
    ),
    "options": ("gpt-4o", Request(messages=USER, provider_options={"openai-chat": OPTIONS})),
    "options as JSON": (
        "gpt-4o",
        Request(messages=USER, provider_options={"openai": msgspec.to_builtins(OPTIONS)}),
    ),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("name", BODIES)
def test_our_body_is_of_the_sdks_type(name: str, stream: bool) -> None:
    model, request = BODIES[name]
    body = body_of(request, model, stream=stream)
    assert body is not None
    assert problems(body, TYPES[stream]) == []


def test_the_table_sets_every_option_and_every_field_of_the_body_that_openai_has() -> None:
    sent = set[str]()
    for model, request in BODIES.values():
        sent |= set(body_of(request, model, stream=True) or {})
    others = {"max_tokens", "top_k", "random_seed", "reasoning", "thinking"}  # fields of other services
    assert set(ChatBody.__struct_fields__) - others - sent == set()


@given(requests(("image/png", "audio/wav", "application/pdf")), st.sampled_from(MODELS), st.booleans())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_body_of_ours_is_of_the_sdks_type(request: Request, model: str, stream: bool) -> None:
    body = body_of(request, model, stream=stream)
    if body is not None:
        assert problems(body, TYPES[stream]) == []
