"""OpenAI Chat: tools, settings and options to fields of the body."""

import itertools
import json
from typing import Any

import msgspec
import pytest

from llmcore import registry
from llmcore.client import Client
from llmcore.errors import CapabilityError, ConfigError, InvalidRequestError
from llmcore.protocols.openai_chat import AudioOutput, Options, Quirks
from llmcore.route import Defaults
from llmcore.schema.message import Message
from llmcore.schema.parts import Media, Origin, Text
from llmcore.schema.request import (
    CacheOptions,
    Generation,
    HostedTool,
    JsonFormat,
    ReasoningOptions,
    Request,
    ToolChoice,
    ToolDefinition,
)

F = ToolDefinition(
    name="f", description="does f", parameters={"type": "object", "properties": {"a": {"type": "integer"}}}
)
HELLO = Message.user("hello")


def ask(*messages: Message, **fields: Any) -> Request:
    return Request(messages=messages or (HELLO,), **fields)


# -- tools


def test_tools(chat: Any) -> None:
    body = chat.body(ask(tools=(F, ToolDefinition(name="g", strict=True))))
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "f",
                "description": "does f",
                "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
            },
        },
        {
            "type": "function",
            "function": {"name": "g", "parameters": {"type": "object", "properties": {}}, "strict": True},
        },
    ]


CHOICES = {
    "auto": (ToolChoice(mode="auto"), "auto"),
    "none": (ToolChoice(mode="none"), "none"),
    "required": (ToolChoice(mode="required"), "required"),
    "named": (ToolChoice.named("f"), {"type": "function", "function": {"name": "f"}}),
}


@pytest.mark.parametrize(("mode", "parallel"), list(itertools.product(CHOICES, [None, True, False])))
def test_row_104_choice_and_parallel_are_what_was_said(chat: Any, mode: str, parallel: bool | None) -> None:
    choice, word = CHOICES[mode]
    body = chat.body(ask(tools=(F,), tool_choice=msgspec.structs.replace(choice, parallel=parallel)))
    assert body["tool_choice"] == word
    assert body.get("parallel_tool_calls") is parallel


def test_no_choice_is_no_field(chat: Any) -> None:
    assert "tool_choice" not in chat.body(ask(tools=(F,)))
    assert "tools" not in chat.body(ask())


def test_the_word_for_some_tool_is_route_data(chat: Any) -> None:
    sent = ask(tools=(F,), tool_choice=ToolChoice(mode="required"))
    assert chat.body(sent, chat.model(required_word="any"))["tool_choice"] == "any"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"tools": (ToolDefinition(name="a.b"),)}, r"tools\[0\].*'a\.b'.*letters"),
        ({"tools": (ToolDefinition(name="x" * 65),)}, "64"),
        ({"tools": (ToolDefinition(name=""),)}, "letters"),
        ({"tools": (F, F)}, "another tool 'f'"),
        ({"tools": (F,), "tool_choice": ToolChoice.named("h")}, "'h'"),
        ({"tool_choice": ToolChoice.named("f")}, "'f'"),
        ({"tool_choice": ToolChoice(mode="required")}, "no tools"),
        ({"response_format": JsonFormat(schema={}, name="a b")}, "'a b'"),
        ({"output_modalities": ("text", "audio")}, "voice"),
    ],
)
def test_row_86_what_no_route_takes_is_refused_naming_the_rule(chat: Any, fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidRequestError, match=words):
        chat.lowered(ask(**fields))


def test_a_choice_without_tools_is_left_out_with_a_warning(chat: Any) -> None:
    sent = ask(tool_choice=ToolChoice(mode="none"))
    assert "tool_choice" not in chat.body(sent)
    assert [warning.subject for warning in chat.lowered(sent).warnings] == ["tool_choice"]


def test_hosted_tools_go_where_the_route_runs_them_and_are_refused_elsewhere(chat: Any) -> None:
    sent = ask(tools=(HostedTool(kind="vendor:web_search", config={"max_uses": 1}),))
    model = chat.model(hosted_tools=("vendor:*",))
    assert chat.body(sent, model)["tools"] == [{"type": "vendor:web_search", "max_uses": 1}]
    with pytest.raises(InvalidRequestError, match="`kind` says the type"):
        chat.lowered(ask(tools=(HostedTool(kind="vendor:web_search", config={"type": "function"}),)), model)
    with pytest.raises(CapabilityError, match=r"'vendor:web_search'.*known are none"):
        chat.lowered(sent)


# -- settings


@pytest.mark.parametrize(
    ("control", "reasoning", "fields", "lost"),
    [
        ("effort", ReasoningOptions(effort="high"), {"reasoning_effort": "high"}, []),
        ("effort", ReasoningOptions(effort="none"), {"reasoning_effort": "none"}, []),
        (
            "effort",
            ReasoningOptions(budget_tokens=9, summary="auto"),
            {},
            ["reasoning.budget_tokens", "reasoning.summary"],
        ),
        ("effort", ReasoningOptions(effort="max"), {"reasoning_effort": "high"}, ["reasoning.effort"]),
        ("object", ReasoningOptions(effort="low"), {"reasoning": {"effort": "low"}}, []),
        ("object", ReasoningOptions(budget_tokens=9), {"reasoning": {"max_tokens": 9}}, []),
        ("switch", ReasoningOptions(effort="none"), {"thinking": {"type": "disabled"}}, []),
        ("switch", ReasoningOptions(effort="low"), {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}, []),
        ("switch", ReasoningOptions(), {"thinking": {"type": "enabled"}}, []),
    ],
)
def test_row_29_effort_goes_where_the_route_has_it(
    chat: Any, control: str, reasoning: ReasoningOptions, fields: dict[str, Any], lost: list[str]
) -> None:
    model, sent = chat.model(reasoning_control=control, efforts={"max": "high"}), ask(reasoning=reasoning)
    body = chat.body(sent, model)
    assert {key: body[key] for key in ("reasoning_effort", "reasoning", "thinking") if key in body} == fields
    assert [warning.subject for warning in chat.lowered(sent, model).warnings] == lost


SETTINGS = Generation(
    max_tokens=5,
    temperature=0.5,
    top_p=0.9,
    stop=("a", "b"),
    seed=3,
    presence_penalty=0.1,
    frequency_penalty=-0.1,
    top_logprobs=2,
)


def test_settings_go_under_their_documented_names(chat: Any) -> None:
    body = chat.body(ask(generation=SETTINGS))
    assert {key: value for key, value in body.items() if key not in ("model", "messages")} == {
        "max_completion_tokens": 5,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["a", "b"],
        "seed": 3,
        "presence_penalty": 0.1,
        "frequency_penalty": -0.1,
        "logprobs": True,
        "top_logprobs": 2,
    }


def test_unset_is_not_sent(chat: Any) -> None:
    assert chat.body(ask()) == {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def test_row_81_one_field_for_the_most_tokens_never_both(chat: Any) -> None:
    sent = ask(generation=Generation(max_tokens=5))
    for field in ("max_tokens", "max_completion_tokens"):
        body = chat.body(sent, chat.model(max_tokens_field=field))
        assert {key for key in body if "max" in key} == {field}


def test_knobs_that_a_route_names_otherwise_or_lacks(chat: Any) -> None:
    model = chat.model(knobs={"seed": "random_seed", "top_k": "top_k", "presence_penalty": None, "temperature": None})
    sent = ask(generation=Generation(seed=3, top_k=7, presence_penalty=0.1, temperature=0.0))
    body = chat.body(sent, model)
    assert (body["random_seed"], body["top_k"]) == (3, 7)
    assert not {"seed", "presence_penalty", "temperature"} & set(body)
    assert [warning.subject for warning in chat.lowered(sent, model).warnings] == ["temperature", "presence_penalty"]
    assert [warning.subject for warning in chat.lowered(sent).warnings] == ["top_k"]


@pytest.mark.parametrize(
    ("stop", "limit", "sent", "warned"),
    [
        (("a", "b", "c", "d"), 4, ["a", "b", "c", "d"], 0),
        (("a", "b", "c", "d", "e"), 4, ["a", "b", "c", "d"], 1),
        (("a", "b"), 1, ["a"], 1),
        (("a",) * 9, None, ["a"] * 9, 0),
        (("",), 4, None, 1),
        (("", "a"), 4, ["a"], 1),
        (("\n",), 4, ["\n"], 0),
    ],
)
def test_row_90_stop_sequences_beyond_the_limit_are_left_out_with_a_warning(
    chat: Any, stop: tuple[str, ...], limit: int | None, sent: list[str] | None, warned: int
) -> None:
    request, model = ask(generation=Generation(stop=stop)), chat.model(stop_limit=limit)
    assert chat.body(request, model).get("stop") == sent
    assert len(chat.lowered(request, model).warnings) == warned


def test_structured_output(chat: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    full = JsonFormat(schema=schema, name="answer", description="d", strict=True)
    assert chat.body(ask(response_format=full))["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "description": "d", "schema": schema, "strict": True},
    }
    assert chat.body(ask(response_format=JsonFormat()))["response_format"] == {"type": "json_object"}
    only = chat.model(structured_output="json_object")
    assert chat.body(ask(response_format=JsonFormat()), only)["response_format"] == {"type": "json_object"}
    with pytest.raises(CapabilityError, match="not to a schema"):
        chat.lowered(ask(response_format=full), only)


def test_spoken_answers(chat: Any) -> None:
    audio = {"voice": "alloy", "format": "wav"}
    body = chat.body(ask(output_modalities=("text", "audio"), provider_options={"openai-chat": {"audio": audio}}))
    assert body["modalities"] == ["text", "audio"]
    assert body["audio"] == audio
    with pytest.raises(CapabilityError, match="gives no video"):
        chat.lowered(ask(output_modalities=("video",)))


def test_a_spoken_answer_goes_back_by_its_id_to_who_spoke_and_as_text_to_others(chat: Any) -> None:
    spoken = Media(
        media_type="audio/wav",
        source=Media.from_bytes(b"RIFF", "audio/wav").source,
        transcript="hello",
        provider_metadata={"audio": {"id": "audio_1"}},
        origin=Origin(provider="test", protocol="openai-chat", model="m"),
    )
    sent = ask(HELLO, Message.assistant(spoken), HELLO)
    assert chat.body(sent)["messages"][1] == {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}
    away = chat.model("other")
    assert chat.body(sent, away)["messages"][1]["content"] == "hello"
    assert len(chat.lowered(sent, away).warnings) == 1


def test_row_37_usage_of_a_stream_is_asked_for_where_it_must_be(chat: Any) -> None:
    assert chat.body(ask(), stream=True)["stream_options"] == {"include_usage": True}
    always = chat.body(ask(), chat.model(stream_usage="always"), stream=True)
    assert always["stream"] is True
    bare = ask(provider_options={"test": {"include_obfuscation": False}})
    assert chat.body(bare, stream=True)["stream_options"] == {"include_usage": True, "include_obfuscation": False}
    options = chat.body(bare, chat.model(stream_usage="always"), stream=True)["stream_options"]
    assert options == {"include_obfuscation": False}
    assert "stream_options" not in chat.body(bare)
    assert "stream_options" not in always
    assert not {"stream", "stream_options"} & set(chat.body(ask()))


# -- cache


def test_row_82_the_last_hints_become_marks_and_the_others_are_warned_of(chat: Any) -> None:
    parts = [Text(text=f"t{number}", cache="5m" if number else "1h") for number in range(6)]
    sent = ask(Message.user(*parts[2:]), system=tuple(parts[:2]))
    model = chat.model(cache_breakpoints=4)
    messages = chat.body(sent, model)["messages"]
    marks = [part.get("cache_control") for message in messages for part in message["content"]]
    assert marks == [None, None] + [{"type": "ephemeral", "ttl": "5m"}] * 4
    (warning,) = chat.lowered(sent, model).warnings
    assert "2 cache hints" in warning.reason
    (warning,) = chat.lowered(sent).warnings
    assert "6 cache hints" in warning.reason
    assert "cache_control" not in json.dumps(chat.body(sent))


def test_marks_of_our_own_where_the_request_asks_for_caching(chat: Any) -> None:
    sent = ask(HELLO, Message.assistant("hi"), Message.user("more"), system="rules", cache=CacheOptions(ttl="1h"))
    messages = chat.body(sent, chat.model(cache_breakpoints=4))["messages"]
    mark = {"type": "ephemeral", "ttl": "1h"}
    assert messages[0]["content"] == [{"type": "text", "text": "rules", "cache_control": mark}]
    assert messages[1]["content"] == "hello"
    assert messages[3]["content"] == [{"type": "text", "text": "more", "cache_control": mark}]


def test_cache_options_of_a_service_that_caches_by_itself(chat: Any) -> None:
    sent = ask(cache=CacheOptions(mode="off", ttl="1h", key="k"))
    assert chat.body(sent)["prompt_cache_key"] == "k"
    assert [warning.subject for warning in chat.lowered(sent).warnings] == ["cache.ttl", "cache.mode"]


# -- options


OPTIONS: dict[str, Any] = {
    "audio": {"voice": {"id": "v1"}, "format": "mp3"},
    "prediction": {"type": "content", "content": "x"},
    "verbosity": "low",
    "service_tier": "flex",
    "store": False,
    "metadata": {"k": "v"},
    "user": "u",
    "safety_identifier": "s",
    "logit_bias": {"50256": -100},
    "prompt_cache_options": {"mode": "explicit"},
    "prompt_cache_retention": "24h",
    "web_search_options": {"search_context_size": "low"},
    "moderation": {"model": "omni-moderation-latest"},
}


def test_every_option_goes_under_its_own_name(chat: Any) -> None:
    assert {*OPTIONS, "include_obfuscation"} == set(Options.__struct_fields__)
    for key in ("test", "openai-chat"):
        body = chat.body(ask(provider_options={key: OPTIONS}))
        assert {name: body[name] for name in OPTIONS} == OPTIONS
    typed = Options(verbosity="low", audio=AudioOutput(voice="alloy", format="wav"))
    assert chat.body(ask(provider_options={"openai-chat": typed}))["verbosity"] == "low"


def test_options_of_the_provider_are_laid_upon_those_of_the_protocol(chat: Any) -> None:
    options = {"test": {"user": "b"}, "openai-chat": {"user": "a", "store": True}, "elsewhere": {"nonsense": 1}}
    body = chat.body(ask(provider_options=options))
    assert (body["user"], body["store"]) == ("b", True)
    typed = {"openai-chat": Options(user="a", store=True), "test": Options(user="b")}
    body = chat.body(ask(provider_options=typed))
    assert (body["user"], body["store"]) == ("b", True)
    mixed = {"openai-chat": Options(user="a", store=True), "test": {"user": None, "verbosity": "low"}}
    body = chat.body(ask(provider_options=mixed))
    assert (body.get("user"), body["store"], body["verbosity"]) == (None, True, "low")
    with pytest.raises(ConfigError, match=r"provider_options\['openai-chat'\].*'user'"):
        chat.lowered(ask(provider_options={"openai-chat": {"usr": "a"}, "test": {"user": "b"}}))


def test_options_of_a_model_s_defaults_apply_beside_those_of_the_request(chat: Any) -> None:
    defaults = Defaults(provider_options={"openai-chat": {"store": True, "user": "d"}, "test": {"verbosity": "low"}})
    model = msgspec.structs.replace(chat.model(), defaults=defaults)
    with Client() as client:
        prepared = client.prepare(model, "hi", provider_options={"test": {"user": "r"}})
    assert (prepared.body.store, prepared.body.user, prepared.body.verbosity) == (True, "r", "low")


@pytest.mark.parametrize(
    ("id", "nearest"),
    [
        ("openia", "openai"),
        ("opena", "openai"),
        ("OpenAI", None),
        ("openai_chat", "openai-chat"),
        ("openai-caht", "openai-chat"),
    ],
)
def test_options_under_an_id_that_is_a_slip_of_ours_are_an_error_naming_it(
    chat: Any, id: str, nearest: str | None
) -> None:
    sent, model = ask(provider_options={id: {"user": "a"}}), chat.model("openai")
    if nearest is None:  # not like enough: it may be anyone's
        assert chat.lowered(sent, model).warnings == ()
        return
    with pytest.raises(ConfigError, match=f"provider_options.*{id}.*did you mean '{nearest}'"):
        chat.lowered(sent, model)


def test_no_two_ids_of_ours_are_so_near_that_one_s_options_would_be_a_slip_of_the_other(chat: Any) -> None:
    ids = {provider.id for provider in registry.providers()}
    ids |= {route.protocol.id for provider in registry.providers() for route in provider.routes().values()}
    every = {id: {"nonsense": 1} for id in ids - {"openai-chat"}}
    for id in ids - {"openai-chat"}:
        others = {key: value for key, value in every.items() if key != id}
        assert chat.lowered(ask(provider_options=others), chat.model(id)).warnings == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"verbosty": "low"}, "did you mean 'verbosity'"),
        ({"n": 2}, "unknown option 'n'"),
        ({"store": "yes"}, r"Expected `bool"),
        (7, "not int"),
    ],
)
def test_row_88_an_unknown_option_is_an_error_naming_the_nearest(chat: Any, options: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        chat.lowered(ask(provider_options={"openai-chat": options}))


@pytest.mark.parametrize("knobs", [{"sed": None}, {"seed": "no_such_field"}])
def test_quirks_with_names_that_do_not_exist_are_refused(knobs: dict[Any, Any]) -> None:
    with pytest.raises(ConfigError, match="quirk knobs"):
        Quirks(knobs=knobs)
