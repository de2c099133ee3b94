"""Rows that were declared from documentation: where each departs from OpenAI's format, and that no other does."""

from collections.abc import Callable
from typing import Any

import pytest

import llmcore
from llmcore import CapabilityError, Message, registry
from llmcore.providers._gateways import GATEWAYS
from llmcore.providers._hosts import HOSTS
from llmcore.providers._local import LOCAL
from llmcore.providers._makers import MAKERS
from llmcore.route import Provider
from llmcore.schema import JsonFormat, Media, Reasoning, ReasoningOptions, Text, ToolCall, ToolChoice, ToolDefinition

Body = Callable[..., dict[str, Any]]

ROWS = (*MAKERS, *HOSTS, *GATEWAYS, *LOCAL)
TOOL = ToolDefinition(name="weather", parameters={"type": "object", "properties": {"city": {"type": "string"}}})
PDF = Media.from_bytes(b"%PDF-1.4 a small one", "application/pdf", name="a.pdf")
PNG = Media.from_bytes(b"\x89PNG\r\n\x1a\n small", "image/png")
WAV = Media.from_bytes(b"RIFF\x24\x00\x00\x00WAVEfmt ", "audio/wav")
VIDEO = Media.from_url("https://example.com/a.mp4", "video/mp4")

KNOBS: dict[str, Any] = {
    "temperature": 0.5,
    "top_p": 0.9,
    "top_k": 40,
    "seed": 7,
    "presence_penalty": 0.1,
    "frequency_penalty": 0.2,
    "top_logprobs": 2,
}

WITHOUT: dict[str, set[str]] = {
    "cohere/compatibility:m": set(),
    "minimax:MiniMax-M3": {"presence_penalty", "frequency_penalty"},
    "moonshot:moonshot-v1-8k": {"seed", "top_logprobs"},
    "moonshot:kimi-k2-thinking": {"seed", "top_logprobs"},
    "moonshot:kimi-k2.6": {*KNOBS} - {"top_k"},
    "moonshot/china:kimi-k2.5": {*KNOBS} - {"top_k"},
    "moonshot:kimi-k3": {*KNOBS} - {"top_k"},
    "scaleway:m": {"frequency_penalty", "top_logprobs"},
    "xai:grok-3": set(),
    "xai:grok-3-mini": {"presence_penalty", "frequency_penalty"},
    "xai:grok-4.3": {"presence_penalty", "frequency_penalty"},
    "xai:grok-4.20-non-reasoning": set(),
    "zhipu:glm-4.7": {"presence_penalty", "frequency_penalty", "top_logprobs"},
}
"""Models of services that document fewer knobs, with those that they lack beside `top_k`."""

TOP_K = {
    *("alibaba", "baichuan", "baseten", "databricks", "deepinfra", "featherless", "fireworks", "friendli", "novita"),
    *("siliconflow", "venice", "llamacpp", "lmstudio", "localai", "sglang", "vllm"),
}
"""Services that document `top_k`."""


def default_api(row: Provider) -> str:
    return row.id if row.route is not None else f"{row.id}/{next(iter(row.apis))}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_knobs_are_sent_that_the_service_documents_and_others_warned_of(row: Provider, body: Body) -> None:
    name = next((name for name in WITHOUT if name.startswith(f"{default_api(row)}:")), f"{default_api(row)}:m")
    lacking = WITHOUT.get(name, set()) | (set() if row.id in TOP_K else {"top_k"})
    lowered = body(name, **KNOBS)
    assert {knob for knob in KNOBS if knob not in lowered} == lacking
    assert bool(lowered["warned"]) == bool(lacking)


@pytest.mark.parametrize("name", WITHOUT)
def test_models_lack_the_knobs_that_their_service_says(name: str, body: Body) -> None:
    lowered = body(name, **KNOBS)
    assert {knob for knob in KNOBS if knob not in lowered} == WITHOUT[name] | {"top_k"}


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("moonshot:kimi-k2.6", 5),
        ("zhipu:glm-4.7", 1),
        ("xai:grok-3", 4),
        ("xai:grok-4", 0),
        ("xai:grok-4-fast-non-reasoning", 4),
    ],
)
def test_stop_sequences_are_kept_as_far_as_they_are_taken(name: str, kept: int, body: Body) -> None:
    lowered = body(name, stop=("a", "b", "c", "d", "e", "f"))
    assert len(lowered.get("stop", ())) == kept
    assert lowered["warned"]


# -- Thinking


@pytest.mark.parametrize(
    ("name", "effort", "sent"),
    [
        ("inception:mercury-2", "none", {"reasoning_effort": "instant"}),
        ("inception:mercury-2", "xhigh", {"reasoning_effort": "high"}),
        ("io-net:m", "minimal", {"reasoning_effort": "low"}),
        ("nebius:m", "none", {"reasoning_effort": "low"}),
        ("nebius:m", "medium", {"reasoning_effort": "medium"}),
        ("moonshot:kimi-k2.6", "none", {"thinking": {"type": "disabled"}}),
        ("moonshot:kimi-k3", "medium", {"reasoning_effort": "high"}),
        ("moonshot:kimi-k3", "max", {"reasoning_effort": "max"}),
        ("xiaomi:mimo-v2.5", "none", {"thinking": {"type": "disabled"}}),
        ("vercel:openai/gpt-5-mini", "none", {"reasoning": {"effort": "none"}}),
        ("vultr:glm-5.2", "high", {"reasoning": {"effort": "high"}}),
        ("zhipu:glm-5.2", "high", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ("fireworks:m", "high", {"reasoning_effort": "high"}),
        ("xai:grok-4.3", "none", {"reasoning_effort": "none"}),
    ],
)
def test_an_effort_goes_where_and_as_the_service_takes_it(
    name: str, effort: str, sent: dict[str, Any], body: Body
) -> None:
    lowered = body(name, reasoning=ReasoningOptions(effort=effort))
    assert {key: lowered[key] for key in ("reasoning_effort", "reasoning", "thinking") if key in lowered} == sent


def thought(**metadata: Any) -> list[Message]:
    """A turn with thoughts and a call, and its result."""
    thinking = Reasoning(text="Rome, so…", provider_metadata=metadata)
    said = Message.assistant(thinking, ToolCall(id="call_1", name="weather"))
    return [Message.user("Weather?"), said, Message.tool("call_1", "sunny")]


@pytest.mark.parametrize("name", ["moonshot:kimi-k2.6", "moonshot:kimi-k3", "moonshot:kimi-k2-thinking", "zhipu:glm-5"])
def test_thoughts_go_back_with_the_calls_that_they_led_to(name: str, body: Body) -> None:
    assert body(name, thought(), tools=[TOOL])["messages"][1]["reasoning_content"] == "Rome, so…"


@pytest.mark.parametrize(
    ("name", "field"),
    [("zai:glm-4.7", "reasoning_content"), ("zhipu:glm-4.7", "reasoning_content"), ("ollama:gpt-oss:20b", "reasoning")],
)
def test_thoughts_go_back_without_calls_too(name: str, field: str, body: Body) -> None:
    said = Message.assistant(Reasoning(text="Well…"), Text(text="Because."))
    for history in (thought(), [Message.user("Why?"), said, Message.user("And why that?")]):
        assert body(name, history, tools=[TOOL])["messages"][1][field] in ("Rome, so…", "Well…")


@pytest.mark.parametrize(("name", "blank"), [("moonshot:kimi-k2.6", True), ("moonshot:moonshot-v1-8k", False)])
def test_kimi_gets_a_blank_thought_where_there_was_none(name: str, blank: bool, body: Body) -> None:
    said = Message.assistant(ToolCall(id="call_1", name="weather"))
    message = body(name, [Message.user("Weather?"), said, Message.tool("call_1", "sunny")], tools=[TOOL])["messages"][1]
    assert message.get("reasoning_content") == ("" if blank else None)


@pytest.mark.parametrize("name", ["minimax:MiniMax-M3", "vercel:anthropic/claude-sonnet-4.5"])
def test_items_of_reasoning_go_back_unchanged(name: str, body: Body) -> None:
    details = [{"type": "reasoning.text", "id": "r_1", "index": 0, "text": "Rome, so…"}]
    message = body(name, thought(reasoning_details=details), tools=[TOOL])["messages"][1]
    assert message["reasoning_details"] == details
    assert "<think>" not in str(message)


@pytest.mark.parametrize("name", ["fireworks:m", "nvidia:m", "vllm:m", "xai:grok-4", "requesty:m"])
def test_thoughts_stay_here_where_nobody_asks_for_them(name: str, body: Body) -> None:
    message = body(name, thought(), tools=[TOOL])["messages"][1]
    assert not {"reasoning", "reasoning_content", "reasoning_details"} & set(message)


def test_what_goes_along_with_every_call_can_be_changed(client: llmcore.Client) -> None:
    extras = llmcore.HttpExtras(body={"reasoning_split": False})
    prepared = client.prepare("minimax:m", "Hi", http=extras)
    assert b'"reasoning_split":false' in prepared.content


# -- Content and answers


@pytest.mark.parametrize(
    ("name", "media", "kind"),
    [
        ("alibaba:qwen3-vl-plus", VIDEO, "video_url"),
        ("alibaba/china:qwen3-omni-flash", WAV, "input_audio"),
        ("moonshot:kimi-k2.6", VIDEO, "video_url"),
        ("minimax:MiniMax-M3", VIDEO, "video_url"),
        ("volcengine:doubao-seed-1-8", VIDEO, "video_url"),
        ("zhipu:glm-4.6v", VIDEO, "video_url"),
        ("vllm:m", VIDEO, "video_url"),
        ("vllm:m", WAV, "input_audio"),
        ("llamacpp:m", WAV, "input_audio"),
        ("lmstudio:m", PNG, "image_url"),
        ("xai:grok-4", PNG, "image_url"),
    ],
    ids=lambda value: value.modality if isinstance(value, Media) else value,
)
def test_media_go_in_the_services_own_kind_of_part(name: str, media: Media, kind: str, body: Body) -> None:
    lowered = body(name, [Message.user("Look:", media)])
    assert [part["type"] for part in lowered["messages"][0]["content"]] == ["text", kind]


@pytest.mark.parametrize(
    ("name", "media"),
    [
        ("ai21:jamba-large", PNG),
        ("alibaba:qwen3-vl-plus", PDF),
        ("moonshot:kimi-k2.6", WAV),
        ("minimax:MiniMax-M3", PDF),
        ("vllm:m", PDF),
        ("lmstudio:m", WAV),
        ("llamacpp:m", PDF),
        ("fireworks:m", VIDEO),
    ],
    ids=lambda value: value.modality if isinstance(value, Media) else value,
)
def test_media_that_the_service_does_not_take_are_refused(name: str, media: Media, client: llmcore.Client) -> None:
    with pytest.raises(CapabilityError):
        client.prepare(name, [Message.user("Look:", media)])


@pytest.mark.parametrize("name", ["ai21:jamba-large", "zhipu:glm-4.7"])
def test_an_answer_is_held_to_json_where_schemas_are_not_taken(name: str, body: Body) -> None:
    with pytest.raises(CapabilityError, match="holds an answer to JSON, not to a schema"):
        body(name, response_format=JsonFormat(schema={"type": "object", "properties": {}}, name="place"))
    assert body(name, response_format=JsonFormat())["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize("name", ["moonshot:kimi-k3", "zhipu:glm-4.7"])
def test_parallel_calls_cannot_be_switched_off_everywhere(name: str, body: Body) -> None:
    lowered = body(name, tools=[TOOL], tool_choice=ToolChoice(parallel=False))
    assert "parallel_tool_calls" not in lowered
    assert lowered["warned"]


# -- Places


@pytest.mark.parametrize("row", LOCAL, ids=lambda row: row.id)
def test_a_server_of_ones_own_may_be_elsewhere(row: Provider, client: llmcore.Client) -> None:
    model = registry.resolve(f"{row.id}:m", base_url="http://192.0.2.7:9000/v1")
    assert client.prepare(model, "Hi").url == "http://192.0.2.7:9000/v1/chat/completions"


def test_a_workspace_is_a_host_without_a_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABRICKS_SERVER_HOSTNAME", "adb-1.2.azuredatabricks.net")
    assert registry.resolve("databricks:m").base_url == "https://adb-1.2.azuredatabricks.net/serving-endpoints"
    monkeypatch.setenv("DATABRICKS_SERVER_HOSTNAME", "https://adb-1.2.azuredatabricks.net")
    with pytest.raises(llmcore.ConfigError, match="DATABRICKS_SERVER_HOSTNAME is the workspace alone"):
        registry.resolve("databricks:m")
