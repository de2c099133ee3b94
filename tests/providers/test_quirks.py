"""What each service's quirks do: to the body of a request, and to its own answers when they go back to it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

import llmcore
from llmcore import CapabilityError, ConfigError, Message, registry
from llmcore.fold import Fold
from llmcore.ids import counter
from llmcore.media import MediaSink
from llmcore.schema import (
    HostedTool,
    JsonFormat,
    Media,
    ReasoningOptions,
    Response,
    Text,
    ToolCall,
    ToolChoice,
    ToolDefinition,
)

Body = Callable[..., dict[str, Any]]

SCHEMA: dict[str, object] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolDefinition(name="weather", parameters=SCHEMA)
CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Rome"}'}}
PDF = Media.from_bytes(b"%PDF-1.4 a small one", "application/pdf", name="a.pdf")
PNG = Media.from_bytes(b"\x89PNG\r\n\x1a\n small", "image/png")
WAV = Media.from_bytes(b"RIFF\x24\x00\x00\x00WAVEfmt ", "audio/wav")
VIDEO = Media.from_url("https://example.com/a.mp4", "video/mp4")


def answer(name: str, finish: str = "stop", **message: Any) -> Response:
    """The answer that these fields of a `message` are read as, on the route of that model."""
    model = registry.resolve(name)
    wire = {
        "id": "c",
        "model": model.name,
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}],
    }
    sink, out = MediaSink(), list[Any]()
    model.route.protocol.parse(json.dumps(wire).encode(), model, counter(), sink, out)
    fold = Fold(sink)
    fold.add(out)
    return fold.response()


def after(name: str, *, call: bool = True, **message: Any) -> list[Message]:
    """A conversation in which the model of that name answered with these fields, and was answered."""
    if not call:
        return [Message.user("Why?"), answer(name, **message).message, Message.user("And why that?")]
    reply = answer(name, "tool_calls", tool_calls=[CALL], **message).message
    return [Message.user("Weather?"), reply, Message.tool(reply.tool_calls[0], "sunny")]


# -- Fields of the body


@pytest.mark.parametrize(
    ("name", "effort", "sent"),
    [
        ("openai/chat:gpt-5-mini", "minimal", {"reasoning_effort": "minimal"}),
        ("groq:openai/gpt-oss-120b", "high", {"reasoning_effort": "high"}),
        ("groq:openai/gpt-oss-120b", "minimal", {"reasoning_effort": "low"}),
        ("groq:openai/gpt-oss-120b", "xhigh", {"reasoning_effort": "high"}),
        ("groq:qwen/qwen3-32b", "high", {"reasoning_effort": "default"}),
        ("groq:qwen/qwen3-32b", "none", {"reasoning_effort": "none"}),
        ("cerebras:zai-glm-4.7", "none", {"reasoning_effort": "none"}),
        ("cerebras:gpt-oss-120b", "minimal", {"reasoning_effort": "low"}),
        ("mistral:mistral-small-latest", "high", {"reasoning_effort": "high"}),
        ("together:openai/gpt-oss-20b", "none", {"reasoning_effort": "low"}),
        ("openrouter:openai/gpt-5-mini", "none", {"reasoning": {"effort": "none"}}),
        ("openrouter:openai/gpt-5-mini", "high", {"reasoning": {"effort": "high"}}),
        ("zai:glm-5.2", "high", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ("zai:glm-5.2", "none", {"thinking": {"type": "disabled"}}),
        ("deepseek:deepseek-v4-pro", "xhigh", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
        ("deepseek:deepseek-v4-pro", "minimal", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
        ("deepseek:deepseek-v4-pro", "none", {"thinking": {"type": "disabled"}}),
    ],
)
def test_an_effort_goes_where_and_as_the_service_takes_it(
    name: str, effort: str, sent: dict[str, Any], body: Body
) -> None:
    lowered = body(name, reasoning=ReasoningOptions(effort=effort))
    assert {key: lowered[key] for key in ("reasoning_effort", "reasoning", "thinking") if key in lowered} == sent
    words = [value.get("effort") if isinstance(value, dict) else value for value in sent.values()]
    assert bool(lowered["warned"]) == (effort not in [*words, "none"] or words == ["low"])


def test_a_budget_of_thoughts_goes_to_openrouter(body: Body) -> None:
    lowered = body("openrouter:anthropic/claude-sonnet-4.5", reasoning=ReasoningOptions(budget_tokens=2000))
    assert lowered["reasoning"] == {"max_tokens": 2000}
    assert lowered["warned"] == []


KNOBS: dict[str, Any] = {
    "temperature": 0.5,
    "top_p": 0.9,
    "top_k": 40,
    "seed": 7,
    "presence_penalty": 0.1,
    "frequency_penalty": 0.2,
    "top_logprobs": 2,
}
FIELDS = (*KNOBS, "random_seed", "logprobs")


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("openai/chat:gpt-4o", {**KNOBS, "logprobs": True, "top_k": None}),
        ("groq:llama-3.3-70b-versatile", {"temperature": 0.5, "top_p": 0.9, "seed": 7}),
        (
            "mistral:mistral-large-latest",
            {**KNOBS, "logprobs": True, "seed": None, "random_seed": 7},
        ),
        ("cerebras:llama-3.3-70b", {**KNOBS, "logprobs": True, "top_k": None}),
        ("deepseek:deepseek-chat", {"temperature": 0.5, "top_p": 0.9, "logprobs": True, "top_logprobs": 2}),
        ("deepseek:deepseek-reasoner", {}),
        ("zai:glm-4.7", {"temperature": 0.5, "top_p": 0.9, "seed": 7}),
        ("together:m", {**KNOBS, "top_logprobs": None}),
        ("heroku:claude-4-sonnet", {"temperature": 0.5, "top_p": 0.9}),
        ("openrouter:m", {**KNOBS, "logprobs": True}),
        ("cloudflare:@cf/m", {**KNOBS, "logprobs": True}),
        ("cloudflare/gateway:workers-ai/@cf/m", {**KNOBS, "logprobs": True}),
        ("cloudflare/gateway:openai/gpt-4o", {**KNOBS, "logprobs": True, "top_k": None}),
    ],
)
def test_knobs_go_where_the_service_has_them(name: str, sent: dict[str, Any], body: Body) -> None:
    lowered = body(name, **KNOBS)
    expected = {key: value for key, value in sent.items() if value is not None}
    assert {key: lowered[key] for key in FIELDS if key in lowered} == expected
    missing = len(set(KNOBS) - set(expected) - ({"seed"} if "random_seed" in expected else set()))
    assert len(lowered["warned"]) >= missing
    assert bool(lowered["warned"]) == bool(missing)


@pytest.mark.parametrize(
    ("name", "kept"), [("openai/chat:gpt-4o", 4), ("zai:glm-4.7", 1), ("deepseek:deepseek-chat", 6), ("groq:m", 4)]
)
def test_stop_sequences_beyond_the_limit_are_left_out_with_a_warning(name: str, kept: int, body: Body) -> None:
    stops = ("a", "b", "c", "d", "e", "f")
    lowered = body(name, stop=stops)
    assert lowered["stop"] == list(stops[:kept])
    assert bool(lowered["warned"]) == (kept < len(stops))


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("mistral:m", "any"),
        ("groq:m", "required"),
        ("openai/chat:gpt-4o", "required"),
        ("huggingface/together:m", "required"),
    ],
)
def test_some_tool_is_asked_for_by_the_services_own_word(name: str, word: str, body: Body) -> None:
    assert body(name, tools=[WEATHER], tool_choice=ToolChoice(mode="required"))["tool_choice"] == word


@pytest.mark.parametrize("name", ["heroku:m", "huggingface:m", "ollama:m", "zai:m", "together:m", "openai/chat:o3"])
def test_parallel_calls_cannot_be_switched_off_everywhere(name: str, body: Body) -> None:
    lowered = body(name, tools=[WEATHER], tool_choice=ToolChoice(parallel=False))
    assert "parallel_tool_calls" not in lowered
    assert lowered["warned"]


@pytest.mark.parametrize("name", ["groq:openai/gpt-oss-120b", "crusoe:zai/GLM-5.2", "openai/chat:gpt-4o"])
def test_an_answer_is_held_to_a_schema(name: str, body: Body) -> None:
    lowered = body(name, response_format=JsonFormat(schema=SCHEMA, name="place"))
    assert lowered["response_format"] == {"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA}}


@pytest.mark.parametrize(
    "name",
    ["deepseek:deepseek-chat", "zai:glm-4.7", "openai/chat:gpt-3.5-turbo", "openai/chat:gpt-4-turbo-2024-04-09"],
)
def test_an_answer_is_held_to_json_where_schemas_are_not_taken(name: str, body: Body) -> None:
    with pytest.raises(CapabilityError, match="holds an answer to JSON, not to a schema"):
        body(name, response_format=JsonFormat(schema=SCHEMA, name="place"))
    assert body(name, response_format=JsonFormat())["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("openrouter:m", "openrouter:web_search"),
        ("groq:openai/gpt-oss-20b", "browser_search"),
        ("groq:openai/gpt-oss-20b", "code_interpreter"),
    ],
)
def test_tools_that_the_service_runs_are_declared_by_their_type(name: str, kind: str, body: Body) -> None:
    assert body(name, tools=[HostedTool(kind=kind)])["tools"] == [{"type": kind}]


@pytest.mark.parametrize("name", ["groq:m", "openai/chat:gpt-4o", "mistral:m"])
def test_a_tool_that_the_service_does_not_run_is_refused(name: str, client: llmcore.Client) -> None:
    with pytest.raises((CapabilityError, ConfigError), match="openrouter:web_search"):
        client.prepare(name, "Hi", tools=[HostedTool(kind="openrouter:web_search")])


# -- Content


@pytest.mark.parametrize(
    ("name", "media", "kind"),
    [
        ("openai/chat:gpt-4o", PNG, "image_url"),
        ("openai/chat:gpt-4o", PDF, "file"),
        ("openai/chat:gpt-4o-audio-preview", WAV, "input_audio"),
        ("groq:m", PNG, "image_url"),
        ("mistral:m", PNG, "image_url"),
        ("mistral:m", PDF, "document_url"),
        ("openrouter:m", VIDEO, "video_url"),
        ("openrouter:m", PDF, "file"),
        ("zai:glm-4.6v", PNG, "image_url"),
        ("zai:glm-4.6v", VIDEO, "video_url"),
        ("together:m", VIDEO, "video_url"),
        ("huggingface/nebius:m", PNG, "image_url"),
    ],
    ids=lambda value: value.modality if isinstance(value, Media) else value,
)
def test_media_go_in_the_services_own_kind_of_part(name: str, media: Media, kind: str, body: Body) -> None:
    lowered = body(name, [Message.user("Look:", media)])
    assert [part["type"] for part in lowered["messages"][0]["content"]] == ["text", kind]


@pytest.mark.parametrize(
    ("name", "media"),
    [
        ("deepseek:m", PNG),
        ("deepseek:m", PDF),
        ("groq:m", WAV),
        ("groq:m", PDF),
        ("mistral:m", WAV),
        ("cerebras:m", PDF),
        ("zai:m", PDF),
        ("ollama:m", WAV),
        ("huggingface:m", PDF),
        ("together:m", PDF),
        ("cloudflare:m", WAV),
        ("openai/chat:gpt-4o", VIDEO),
    ],
    ids=lambda value: value.modality if isinstance(value, Media) else value,
)
def test_media_that_the_service_does_not_take_are_refused_in_their_place(
    name: str, media: Media, client: llmcore.Client
) -> None:
    with pytest.raises(CapabilityError) as caught:
        client.prepare(name, [Message.user("Look:", media)])
    assert (caught.value.message_index, caught.value.part_index) == (0, 1)


@pytest.mark.parametrize(
    ("name", "joined"),
    [
        ("deepseek:deepseek-chat", True),
        ("cloudflare:@cf/m", True),
        ("cloudflare/gateway:workers-ai/@cf/m", True),
        ("cloudflare/gateway:openai/gpt-4o", False),
        ("openai/chat:gpt-4o", False),
    ],
)
def test_several_texts_are_joined_where_a_list_is_not_taken(name: str, joined: bool, body: Body) -> None:
    content = body(name, [Message.user("One.", "Two.")])["messages"][0]["content"]
    assert isinstance(content, str) == joined
    texts = content if joined else "".join(part["text"] for part in content)
    assert "One." in texts
    assert "Two." in texts


@pytest.mark.parametrize(
    ("name", "content"), [("openai/chat:gpt-4o", None), ("cloudflare:@cf/m", ""), ("snowflake:claude-sonnet-4-6", None)]
)
def test_a_message_of_calls_alone_has_the_content_that_the_service_takes(
    name: str, content: str | None, body: Body
) -> None:
    message = body(name, after(name, content=None), tools=[WEATHER])["messages"][1]
    assert message["content"] == content
    assert [call["id"] for call in message["tool_calls"]] == ["call_1"]


def test_mistral_marks_a_beginning_of_an_answer(body: Body) -> None:
    conversation = [Message.user("Count."), Message.assistant("One, two,")]
    assert body("mistral:m", conversation)["messages"][1] == {
        "role": "assistant",
        "content": "One, two,",
        "prefix": True,
    }
    assert "prefix" not in body("openai/chat:gpt-4o", conversation)["messages"][1]


@pytest.mark.parametrize("result", ["sunny", PNG], ids=["the user's next word", "media of a result"])
def test_mistral_wants_an_answer_between_results_and_the_user(body: Body, result: str | Media) -> None:
    said = [Message.user("Weather?"), Message.assistant(ToolCall(id="tu_1", name="weather"))]
    said.append(Message.tool("tu_1", result))
    conversation = said if isinstance(result, Media) else [*said, Message.user("And tomorrow?")]
    roles = [message["role"] for message in body("mistral:mistral-large-latest", conversation)["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert [message["role"] for message in body("groq:llama", conversation)["messages"]][2:] == ["tool", "user"]


def test_mistral_gets_ids_of_nine_letters_and_digits_the_same_on_every_turn(body: Body) -> None:
    history = [
        Message.user("Weather?"),
        Message.assistant(ToolCall(id="tu_1", name="weather"), ToolCall(id="tu_2", name="weather")),
        Message.tool("tu_1", "sunny"),
        Message.tool("tu_2", "rain"),
    ]
    first = body("mistral:m", history, tools=[WEATHER])["messages"]
    ids = [call["id"] for call in first[1]["tool_calls"]]
    assert len(set(ids)) == 2
    assert all(len(id) == 9 and id.isalnum() and id.isascii() for id in ids)
    assert [message["tool_call_id"] for message in first[2:]] == ids
    more = [*history, Message.assistant("Mixed."), Message.user("Thanks.")]
    assert body("mistral:m", more, tools=[WEATHER])["messages"][:4] == first


def test_cache_marks_go_to_openrouter_up_to_their_limit(body: Body) -> None:
    texts = [Text(text=f"Part {number}.", cache="5m") for number in range(6)]
    content = body("openrouter:anthropic/claude-sonnet-4.5", [Message.user(*texts)])["messages"][0]["content"]
    assert [number for number, part in enumerate(content) if "cache_control" in part] == [2, 3, 4, 5]


@pytest.mark.parametrize("name", ["openai/chat:gpt-4o", "groq:m"])
def test_cache_marks_go_nowhere_else(name: str, body: Body) -> None:
    lowered = body(name, [Message.user(Text(text="One.", cache="5m"), "Two.")])
    assert "cache_control" not in json.dumps(lowered["messages"])


# -- Thoughts


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("deepseek:deepseek-reasoner", "reasoning_content"),
        ("groq:openai/gpt-oss-120b", "reasoning"),
        ("crusoe:zai/GLM-5.2", "reasoning"),
        ("cerebras:zai-glm-4.7", "reasoning"),
    ],
)
def test_thoughts_go_back_with_the_calls_that_they_led_to(name: str, field: str, body: Body) -> None:
    message = body(name, after(name, content="", **{field: "Rome, so…"}), tools=[WEATHER])["messages"][1]
    assert message[field] == "Rome, so…"
    plain = body(name, after(name, call=False, content="Because.", **{field: "Well…"}))["messages"][1]
    assert plain == {"role": "assistant", "content": "Because."}


@pytest.mark.parametrize("name", ["groq:qwen/qwen3-32b", "together:m", "snowflake:m", "openai/chat:gpt-5-mini"])
def test_thoughts_stay_here_where_nobody_asks_for_them(name: str, body: Body) -> None:
    message = body(name, after(name, content="", reasoning="Rome, so…"), tools=[WEATHER])["messages"][1]
    assert not {"reasoning", "reasoning_content", "reasoning_details"} & set(message)


def test_deepseek_gets_a_blank_thought_where_there_was_none(body: Body) -> None:
    name = "deepseek:deepseek-v4-flash"
    assert body(name, after(name, content=""), tools=[WEATHER])["messages"][1]["reasoning_content"] == ""
    assert "reasoning_content" not in body(name, after(name, call=False, content="Because."))["messages"][1]


def test_mistral_gets_its_thoughts_back_as_parts_of_the_content(body: Body) -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Well…"}]}
    content = [thinking, {"type": "text", "text": "Because."}]
    read = answer("mistral:m", content=content)
    assert (read.reasoning, read.text) == ("Well…", "Because.")
    assert body("mistral:m", after("mistral:m", call=False, content=content))["messages"][1]["content"] == content


def test_openrouter_gets_its_reasoning_details_back_unchanged(body: Body) -> None:
    details = [
        {"type": "reasoning.summary", "summary": "Rome", "id": "rs_1", "format": "openai-responses-v1", "index": 0},
        {"type": "reasoning.encrypted", "data": "gAAA", "id": "rs_1", "format": "openai-responses-v1", "index": 1},
    ]
    name = "openrouter:openai/gpt-5-mini"
    for call in (True, False):
        history = after(name, call=call, content="Because.", reasoning="Rome", reasoning_details=details)
        message = body(name, history, tools=[WEATHER])["messages"][1]
        assert message["reasoning_details"] == details
        assert "reasoning" not in message
    assert answer(name, content="x", reasoning="Rome", reasoning_details=details).reasoning == "Rome"


def test_another_services_thoughts_go_nowhere(body: Body) -> None:
    history = after("deepseek:deepseek-reasoner", content="", reasoning_content="Rome, so…")
    message = body("openrouter:deepseek/deepseek-chat", history, tools=[WEATHER])["messages"][1]
    assert not {"reasoning", "reasoning_content", "reasoning_details"} & set(message)


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("together:deepseek-ai/DeepSeek-R1", True),
        ("together:meta-llama/Llama-3.3", False),
        ("groq:qwen/qwen3-32b", False),
    ],
)
def test_thoughts_between_tags_are_told_from_the_answer(name: str, split: bool) -> None:
    read = answer(name, content="<think>\nHm.\n</think>\n\nParis.")
    assert ("Hm." in read.reasoning, "<think>" in read.text) == (split, not split)
    assert read.text.endswith("Paris.")
