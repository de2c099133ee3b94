"""OpenAI Chat: frames and bodies to canonical events."""

import base64
import json
from decimal import Decimal
from typing import Any

import pytest

from llmcore import events as e
from llmcore.errors import ProtocolError, StreamTruncatedError
from llmcore.schema.parts import Citation, Media, Opaque, Reasoning, Text, TokenLogprob, ToolCall, ToolResult
from llmcore.schema.usage import ModalityTokens, Unit
from llmcore.wire.tags import ThinkingTags


def function(name: str | None = None, arguments: str | None = None, **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **more}


def fold_of(read: Any) -> tuple[Any, ...]:
    """The parts without what is minted."""
    return tuple(part for part in read.response.message.content)


# -- the sequence of events


def test_text(chat: Any) -> None:
    read = chat.deltas({"role": "assistant", "content": ""}, {"content": "Hel"}, {"content": "lo"})
    assert read.events == [
        e.ResponseStart(provider="test", id="x", model="m-1"),
        e.TextStart(id="b0"),
        e.TextDelta(id="b0", text="Hel"),
        e.TextDelta(id="b0", text="lo"),
        e.TextEnd(id="b0"),
        e.ResponseEnd(stop_reason="stop", raw_stop_reason="stop"),
    ]


def test_a_block_ends_as_soon_as_another_kind_comes_and_calls_flow_at_once(chat: Any) -> None:
    read = chat.deltas(
        {"reasoning_content": "hm"},
        {"content": "see"},
        {"tool_calls": [function("f", "", index=0, id="c1")]},
        {"tool_calls": [function(None, "{}", index=0)]},
        {"content": "!"},
        finish="tool_calls",
    )
    assert read.kinds == [
        "response_start",
        *("reasoning_start", "reasoning_delta", "reasoning_end"),
        *("text_start", "text_delta", "text_end"),
        *("tool_call_start", "tool_call_delta"),
        *("text_start", "text_delta", "text_end"),
        "tool_call_end",
        "response_end",
    ]
    response = read.response
    assert response.text == "see!"
    assert response.stop_reason == "tool_use"
    (call,) = response.tool_calls
    assert (call.id, call.wire_id, call.arguments) == ("tu_0", "c1", "{}")
    assert call.origin is not None
    assert call.origin.provider == "test"


def test_a_refusal_is_a_block_of_its_own_and_no_text(chat: Any) -> None:
    read = chat.deltas({"refusal": "I "}, {"refusal": "won't"})
    assert (read.response.text, read.response.refusal) == ("", "I won't")
    assert chat.message({"content": None, "refusal": "I won't"}).response.refusal == "I won't"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_reasoning_in_each_field_remembers_its_field(chat: Any, field: str) -> None:
    read = chat.deltas({field: "a"}, {field: "a"}, {"content": "b"})
    reasoning = read.response.message.content[0]
    assert isinstance(reasoning, Reasoning)
    assert reasoning.text == "aa"
    assert reasoning.provider_metadata == {"field": field}
    assert reasoning.origin is not None


def test_the_same_reasoning_in_two_fields_is_read_once(chat: Any) -> None:
    item = {"type": "reasoning.text", "text": "hm", "index": 0}
    deltas = [
        {"reasoning": "hm", "reasoning_details": [item]},
        {"reasoning": "hm", "reasoning_details": [item]},
        {"reasoning": "x", "reasoning_content": "x"},
    ]
    assert chat.deltas(*deltas).response.reasoning == "hmhmx"


def test_row_27_reasoning_details_are_gathered_item_by_item(chat: Any) -> None:
    read = chat.deltas(
        {
            "reasoning_details": [
                {"type": "reasoning.summary", "summary": "su", "id": "rs_1", "index": 0, "format": "f"}
            ]
        },
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "m", "id": None, "index": 0}]},
        {"reasoning_details": [{"type": "reasoning.text", "text": "te", "index": 1}]},
        {"reasoning_details": [{"type": "reasoning.text", "text": "xt", "signature": "S", "index": 1}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "A==", "id": "rs_2", "index": 2}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "B==", "id": "rs_3", "index": 2}]},
        {"content": "hi"},
    )
    reasoning = read.response.message.content[0]
    assert isinstance(reasoning, Reasoning)
    assert reasoning.text == "sumtext"
    assert reasoning.provider_metadata == {
        "field": "reasoning_details",
        "reasoning_details": [
            {"type": "reasoning.summary", "summary": "sum", "id": "rs_1", "index": 0, "format": "f"},
            {"type": "reasoning.text", "text": "text", "index": 1, "signature": "S"},
            {"type": "reasoning.encrypted", "data": "A==", "id": "rs_2", "index": 2},
            {"type": "reasoning.encrypted", "data": "B==", "id": "rs_3", "index": 2},
        ],
    }


def test_encrypted_reasoning_alone_survives_in_a_block_without_text(chat: Any) -> None:
    item = {"type": "reasoning.encrypted", "data": "A==", "id": "rs_1", "index": 0}
    for read in (
        chat.deltas({"content": "hi", "reasoning": None, "reasoning_details": [item]}),
        chat.message({"content": "hi", "reasoning_details": [item]}),
    ):
        text, reasoning = read.response.message.content
        assert text.text == "hi"
        assert (reasoning.text, reasoning.provider_metadata["reasoning_details"]) == ("", [item])


def test_content_as_a_list_of_parts(chat: Any) -> None:
    content = [
        {
            "type": "thinking",
            "thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}],
            "closed": True,
        },
        {"type": "text", "text": "see"},
        {"type": "reference", "reference_ids": [1]},
    ]
    read = chat.message({"content": content, "tool_calls": None})
    reasoning, text, opaque = read.response.message.content
    assert (reasoning.text, reasoning.provider_metadata) == ("hm", {"field": "thinking"})
    assert text.text == "see"
    assert isinstance(opaque, Opaque)
    assert (opaque.kind, bytes(opaque.data)) == ("reference", b'{"type":"reference","reference_ids":[1]}')
    others = [{"type": "refusal", "refusal": "no"}, {"type": "image_url", "image_url": "data:image/png;base64,cG5n"}]
    refused, image = chat.message({"content": [*others, {"type": "text", "text": None}]}).response.message.content
    assert (refused.text, refused.refusal, image.bytes()) == ("no", True, b"png")
    streamed = chat.deltas({"content": content[:1]}, {"content": content[:1]}, {"content": "see"})
    assert (streamed.response.reasoning, streamed.response.text) == ("hmhm", "see")


def test_row_30_thoughts_between_tags_where_the_route_says_so(chat: Any) -> None:
    deltas = [{"content": piece} for piece in ("<thi", "nk>h", "m</think", ">see <think>")]
    tagged = chat.deltas(*deltas, model=chat.model(thinking_tags=ThinkingTags())).response
    assert (tagged.reasoning, tagged.text) == ("hm", "see <think>")
    plain = chat.deltas(*deltas).response
    assert (plain.reasoning, plain.text) == ("", "<think>hm</think>see <think>")


def test_citations_go_with_their_text(chat: Any) -> None:
    native = {
        "type": "url_citation",
        "url_citation": {"url": "https://x", "title": "X", "content": "q", "start_index": 1, "end_index": 4},
    }
    expected = Citation(url="https://x", title="X", quote="q", start=1, end=4, native=native)
    file = {"type": "file", "file": {"name": "a.pdf", "hash": "h"}}
    for read in (
        chat.deltas({"content": "", "annotations": [native]}, {"content": "text"}),
        chat.deltas({"content": "text"}, {"content": "", "annotations": [native]}),
        chat.message({"content": "text", "annotations": [native]}),
    ):
        (text,) = read.response.message.content
        assert text.citations == (expected,)
    (text,) = chat.message({"content": "t", "annotations": [file]}).response.message.content
    assert text.citations == (Citation(title="a.pdf", native=file),)
    late = chat.deltas({"annotations": [native]})
    assert late.response.message.metadata.provider_metadata == {"annotations": [native]}


def test_logprobs_go_with_their_text(chat: Any) -> None:
    token = {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": [{"token": "b", "logprob": -1}]}
    expected = TokenLogprob(token="a", logprob=-0.5, bytes=(97,), top=(TokenLogprob(token="b", logprob=-1.0),))
    chunk = chat.chunk({"content": "a"})
    chunk["choices"][0]["logprobs"] = {"content": [token], "refusal": None}
    read = chat.frames([chunk, chunk, chat.chunk({}, "stop"), "[DONE]"])
    assert read.response.message.content == (Text(text="aa", logprobs=(expected, expected)),)
    body = chat.completion({"content": "a"})
    body["choices"][0]["logprobs"] = {"content": [token]}
    assert chat.whole(body).response.message.content == (Text(text="a", logprobs=(expected,)),)
    body["choices"][0]["logprobs"] = {"content": None, "refusal": None}
    assert chat.whole(body).response.message.content == (Text(text="a"),)


def test_spoken_answers(chat: Any) -> None:
    sound = b"RIFF" + bytes(range(20))
    text = base64.b64encode(sound).decode()
    read = chat.deltas(
        {"audio": {"id": "audio_1", "transcript": "Hel"}},
        {"audio": {"data": text[:7]}},
        {"audio": {"data": text[7:18], "transcript": "l"}},
        {"audio": {"data": text[18:], "transcript": "o"}},
        {"audio": {"expires_at": 17}},
    )
    assert [kind for kind in read.kinds if kind.startswith("media")] == ["media_start", "media_delta", "media_end"]
    whole = chat.message(
        {"content": None, "audio": {"id": "audio_1", "data": text, "transcript": "Hello", "expires_at": 17}}
    )
    for found in (read, whole):
        (media,) = found.response.message.content
        assert isinstance(media, Media)
        assert (media.media_type, media.bytes(), media.transcript) == ("audio/wav", sound, "Hello")
        assert media.provider_metadata == {"audio": {"id": "audio_1", "expires_at": 17}}
        assert found.response.stop_reason == "stop"


def test_a_sound_of_nothing_is_no_sound(chat: Any) -> None:
    read = chat.message({"content": "hi", "audio": {"data": "", "expires_at": 0, "id": "", "transcript": ""}})
    assert read.response.message.content == (Text(text="hi"),)


@pytest.mark.parametrize("data", ["a!", "A", "a!b="])
def test_a_broken_sound_is_a_protocol_error(chat: Any, data: str) -> None:
    assert isinstance(chat.deltas({"audio": {"data": data}}).error, ProtocolError)


def test_images(chat: Any) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}}
    linked = {"type": "image_url", "image_url": {"url": "https://x/y"}}
    for read in (
        chat.message({"content": "", "images": [image, linked]}),
        chat.deltas({"images": [image]}, {"images": [linked]}),
    ):
        first, second = read.response.message.content
        assert (first.media_type, first.bytes()) == ("image/png", b"png")
        assert second.source.url == "https://x/y"
    assert isinstance(
        chat.message({"images": [{"image_url": {"url": "data:image/png;base64,!"}}]}).error, ProtocolError
    )


def test_images_with_their_bytes_in_a_field(chat: Any) -> None:
    jpeg = base64.b64encode(b"\xff\xd8\xff\xe0").decode()
    items = [{"b64_json": "cG5n"}, {"type": "image", "b64_json": jpeg}]
    parts = [{"type": "image_url", "b64_json": "cG5n"}, {"type": "image_url", "b64_json": jpeg}]
    for read in (chat.message({"images": items}), chat.deltas({"images": items}), chat.message({"content": parts})):
        first, second = read.response.message.content
        assert (first.media_type, first.bytes()) == ("image/png", b"png")
        assert (second.media_type, second.bytes()) == ("image/jpeg", b"\xff\xd8\xff\xe0")


def test_an_inline_image_without_a_type_of_its_own_is_known_by_its_bytes(chat: Any) -> None:
    url = "data:;base64," + base64.b64encode(b"GIF89a").decode()
    (media,) = chat.message({"images": [{"image_url": {"url": url}}]}).response.message.content
    assert (media.media_type, media.bytes()) == ("image/gif", b"GIF89a")


ODD_CONTENT = [
    {"images": [{"type": "image_url", "image_url": {"file_id": "f1"}}]},
    {"images": [{"b64_json": "not base64!"}]},
    {"images": [{"b64_json": 7}]},
    {"content": [{"type": "text", "text": {"value": "a"}}]},
    {"content": [{"type": "text", "text": 7}]},
    {"content": [{"type": "refusal", "refusal": ["no"]}]},
    {"content": [{"type": "thinking", "thinking": 7}]},
    {"content": [{"type": "thinking", "thinking": [{"type": "reference", "reference_ids": [1]}]}]},
    {"content": [{"type": "future", "x": 1}]},
    {"content": [{"x": 1}]},
]


@pytest.mark.parametrize("odd", ODD_CONTENT)
def test_row_18_content_that_is_not_as_documented_is_kept_whole(chat: Any, odd: dict[str, Any]) -> None:
    (item,) = next(iter(odd.values()))
    for read in (
        chat.message({"content": "a", **odd} if "images" in odd else odd),
        chat.deltas(odd),
    ):
        part = read.response.message.content[-1]
        assert isinstance(part, Opaque)
        assert part.kind == item.get("type", "unknown")
        assert json.loads(bytes(part.data)) == item
        assert part.origin is not None


@pytest.mark.parametrize("part", [{"type": "text", "text": None}, {"type": "text", "text": ""}, {"type": "text"}])
def test_a_part_without_content_is_nothing_that_could_be_lost(chat: Any, part: dict[str, Any]) -> None:
    response = chat.message({"content": [part, {"type": "text", "text": "a"}]}).response
    assert response.message.content == (Text(text="a"),)


def test_log_probabilities_stay_with_their_text_when_calls_follow_in_the_same_message(chat: Any) -> None:
    message = {"content": "a", "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]}
    body = chat.completion(message, "tool_calls")
    body["choices"][0]["logprobs"] = {"content": [{"token": "a", "logprob": -0.5}]}
    text = chat.whole(body).response.message.content[0]
    assert [found.token for found in text.logprobs] == ["a"]


@pytest.mark.parametrize(
    "delta", [{}, {"reasoning": "h"}, {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f"}}]}]
)
def test_log_probabilities_of_no_text_are_warned_of(chat: Any, delta: dict[str, Any]) -> None:
    frame = chat.chunk(delta)
    frame["choices"][0]["logprobs"] = {"content": [{"token": "h", "logprob": -0.5}]}
    read = chat.frames([frame, chat.chunk({"content": "a"}), chat.chunk({}, "stop"), "[DONE]"])
    assert [warning.subject for warning in read.response.warnings] == ["logprobs"]
    assert all(not part.logprobs for part in read.response.message.content if isinstance(part, Text))


def test_tools_that_the_service_ran(chat: Any) -> None:
    asked = {"index": 0, "type": "search", "arguments": '{"q":"x"}', "search_results": {"results": []}}
    ran = {**asked, "output": "found", "search_results": {"results": [{"url": "u"}]}}
    streamed = chat.deltas({"reasoning": "a"}, {"executed_tools": [asked]}, {"executed_tools": [ran]}, {"content": "b"})
    whole = chat.message({"content": "b", "reasoning": "a", "executed_tools": [ran]})
    for read in (streamed, whole):
        assert read.response.tool_calls == ()
        _, call, result, text = read.response.message.content
        assert isinstance(call, ToolCall)
        assert isinstance(result, ToolResult)
        assert (call.name, call.arguments, call.provider_executed) == ("search", '{"q":"x"}', True)
        assert (result.tool_call_id, result.content, result.provider_executed) == (call.id, (Text(text="found"),), True)
        assert result.provider_metadata == {"executed_tool": ran}
        assert text.text == "b"
        assert read.response.stop_reason == "stop"


def test_legacy_and_custom_calls(chat: Any) -> None:
    legacy = chat.deltas(
        {"function_call": {"name": "f", "arguments": ""}},
        {"function_call": {"arguments": "{}"}},
        finish="function_call",
    )
    (call,) = legacy.response.tool_calls
    assert (call.name, call.arguments, call.wire_id) == ("f", "{}", None)
    assert legacy.response.stop_reason == "tool_use"
    custom = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    (call,) = chat.message({"content": None, "tool_calls": [custom]}, "tool_calls").response.tool_calls
    assert (call.name, call.input, call.provider_metadata) == ("sql", "SELECT 1", {"type": "custom"})
    pieces = [{"index": 0, "custom": {"input": "SELECT"}}, {"index": 0, "custom": {"input": " 1"}}]
    first = {"index": 0, "id": "c1", "type": "custom", "custom": {"name": "sql", "input": ""}}
    (call,) = chat.deltas(*[{"tool_calls": [piece]} for piece in (first, *pieces)]).response.tool_calls
    assert call.input == "SELECT 1"
    blank = {"content": "hi", "function_call": {"name": "", "arguments": ""}, "tool_calls": None}
    assert chat.message(blank).response.message.content == (Text(text="hi"),)
    both = {
        "id": "c1",
        "type": "function",
        "custom": {"name": "", "input": ""},
        "function": {"name": "f", "arguments": "{}"},
    }
    (call,) = chat.message({"tool_calls": [both]}, "").response.tool_calls
    assert (call.name, call.input) == ("f", {})


def test_arguments_that_come_as_an_object(chat: Any) -> None:
    call = {"id": "c1", "function": {"name": "f", "arguments": {"a": [1, "é"]}}}
    for read in (
        chat.message({"tool_calls": [call]}, "tool_calls"),
        chat.deltas({"tool_calls": [call]}, finish="tool_calls"),
    ):
        assert [found.arguments for found in read.response.tool_calls] == ['{"a":[1,"é"]}']


# -- finish and the end


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("stop", "stop"),
        ("eos", "stop"),
        ("length", "length"),
        ("model_length", "length"),
        ("tool_calls", "tool_use"),
        ("function_call", "tool_use"),
        ("content_filter", "content_filter"),
        ("sensitive", "content_filter"),
        ("network_error", "error"),
        ("STOP", "stop"),
        ("invented_yesterday", "unknown"),
    ],
)
def test_row_59_finish_reasons_by_table_and_the_raw_word_kept(chat: Any, raw: str, reason: str) -> None:
    for read in (chat.deltas({"content": "a"}, finish=raw), chat.message({"content": "a"}, raw)):
        assert (read.response.stop_reason, read.response.raw_stop_reason) == (reason, raw)


CALL = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}]}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        *[(word, "tool_use") for word in ("stop", "STOP", "eos", "end_turn", "stop_sequence", "", None)],
        *[("length", "length"), ("content_filter", "content_filter"), ("invented_yesterday", "unknown")],
    ],
)
def test_complete_calls_with_a_reason_that_says_nothing_are_calls(chat: Any, raw: str | None, reason: str) -> None:
    assert chat.message(CALL, raw).response.stop_reason == reason
    assert chat.frames([chat.chunk(CALL), chat.chunk({}, raw), "[DONE]"]).response.stop_reason == reason


def test_calls_that_do_not_parse_are_no_calls_to_run(chat: Any) -> None:
    bad = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": '{"a":'}}]}
    response = chat.message(bad, "stop").response
    assert response.stop_reason == "stop"
    assert response.tool_calls[0].error is not None


def test_a_blank_reason_is_kept_and_is_unknown(chat: Any) -> None:
    response = chat.message({"content": "hi"}, "").response
    assert (response.stop_reason, response.raw_stop_reason) == ("unknown", "")


def test_row_14_a_sentinel_alone_ends_the_response_at_once_with_an_unknown_reason(chat: Any) -> None:
    read = chat.frames([chat.chunk({"content": "a"}), "[DONE]"], end=False)
    assert read.kinds[-1] == "response_end"
    assert (read.response.stop_reason, read.response.raw_stop_reason) == ("unknown", None)


def test_row_14_a_finish_reason_without_a_sentinel_ends_at_the_end_of_the_bytes(chat: Any) -> None:
    frames = [chat.chunk({"content": "a"}), chat.chunk({}, "stop")]
    assert "response_end" not in chat.frames(frames, end=False).kinds
    assert chat.frames(frames).response.stop_reason == "stop"


@pytest.mark.parametrize("frames", [[], [{"content": "a"}], [{"content": ""}], [CALL], [{"reasoning": "a"}]])
def test_row_14_no_terminal_evidence_is_a_truncated_stream(chat: Any, frames: list[Any]) -> None:
    read = chat.frames([chat.chunk(delta) for delta in frames])
    assert isinstance(read.error, StreamTruncatedError)
    assert read.error.retryable


def test_nothing_after_the_end_counts(chat: Any) -> None:
    done = [chat.chunk({"content": "a"}, "stop"), "[DONE]"]
    late = [chat.chunk({"content": "b"}), "not JSON", {"error": {"message": "late"}}]
    assert chat.frames([*done, *late]).events == chat.frames(done).events


def test_repeated_finish_chunks_are_harmless(chat: Any) -> None:
    finish = chat.chunk({"content": "", "role": "assistant"}, "tool_calls")
    read = chat.frames([chat.chunk(CALL), finish, finish, finish, "[DONE]"])
    assert read.kinds.count("tool_call_end") == 1
    assert read.response.stop_reason == "tool_use"


def test_an_empty_answer_is_said_to_be_one(chat: Any) -> None:
    for read in (chat.message({"content": None}, "stop"), chat.deltas({"content": ""}), chat.whole({"choices": []})):
        assert read.response.message.content == ()
        assert [warning.subject for warning in read.response.warnings] == ["content"]
    assert chat.whole({"choices": []}).response.stop_reason == "unknown"


# -- usage


def test_row_20_and_37_usage_wherever_it_stands(chat: Any) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    text, finish = chat.chunk({"content": "a"}), chat.chunk({}, "stop")
    alone = {"id": "x", "choices": [], "usage": usage}
    inside = {**finish, "choices": [{**finish["choices"][0], "usage": usage}]}
    streams = [
        [text, finish, alone],
        [text, inside],
        [text, inside, alone],
        [text, {**finish, "usage": usage}],
        [{**text, "usage": usage}, finish],
        [text, {**finish, "x_groq": {"usage": usage}}],
        [text, {**finish, "usage": usage, "x_groq": {"id": "r", "usage": usage}}],
        [{**text, "usage": {"prompt_tokens": 10, "completion_tokens": 1}}, {**finish, "usage": usage}],
        [text, finish, {"id": "x", "usage": usage}],
        [text, finish, alone, alone],
    ]
    for frames in streams:
        read = chat.frames([*frames, "[DONE]"])
        assert (read.response.usage.input_tokens, read.response.usage.output_tokens) == (10, 5)
        updates = [event for event in read.events if isinstance(event, e.UsageUpdate)]
        assert updates[-1].usage == read.response.usage
    assert chat.whole(chat.completion({"content": "a"}, usage=usage)).response.usage.total_tokens == 15


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 4}}, 4),
        ({"cached_tokens": 4}, 4),
        ({"num_cached_tokens": 4}, 4),
        ({"prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 6}, 4),
        ({"prompt_tokens_details": None}, None),
        ({}, None),
    ],
)
def test_row_31_cached_tokens_in_every_spelling(chat: Any, usage: dict[str, Any], read: int | None) -> None:
    found = chat.message({"content": "a"}, usage={"prompt_tokens": 10, "completion_tokens": 5, **usage}).response.usage
    assert (found.input_tokens, found.cache_read_tokens) == (10 - (read or 0), read)


def test_what_else_usage_says(chat: Any) -> None:
    usage = {
        "prompt_tokens": 20,
        "completion_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 3, "audio_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 4, "audio_tokens": 0},
        "cost": 0.00085,
        "server_tool_use_details": {"web_search_requests": 1},
    }
    response = chat.message({"content": "a"}, usage=usage).response
    found = response.usage
    assert (found.input_tokens, found.cache_read_tokens, found.cache_write_tokens) == (12, 5, 3)
    assert (found.output_tokens, found.reasoning_tokens) == (9, 4)
    assert found.by_modality == (ModalityTokens(direction="input", modality="audio", tokens=2),)
    assert found.units == (Unit(kind="web_search", direction="output", count=1),)
    assert found.native == usage
    assert response.cost is not None
    assert (response.cost.reported, response.cost.micro_cents) == (Decimal("0.00085"), None)
    assert chat.message({"content": "a"}).response.cost is None


def test_row_20_first_and_last_frames_without_choices(chat: Any) -> None:
    """Azure: filter results before anything, under a blank id; usage after everything."""
    filtered = {"choices": [], "id": "", "model": "", "object": "", "prompt_filter_results": [{"prompt_index": 0}]}
    usage = {"choices": [], "id": "x", "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
    finish = chat.chunk({}, "stop")
    finish["choices"][0]["content_filter_results"] = {"hate": {"filtered": False}}
    read = chat.frames([filtered, chat.chunk({"content": "a"}), finish, usage, "[DONE]"])
    assert read.events[0] == e.ResponseStart(provider="test", id="x", model="m-1")
    response = read.response
    assert response.message.metadata.provider_metadata == {"prompt_filter_results": [{"prompt_index": 0}]}
    assert response.stop_details == {"content_filter_results": {"hate": {"filtered": False}}}


def test_what_a_service_says_beside_its_answer_is_kept(chat: Any) -> None:
    body = chat.completion(
        {"content": "a"}, service_tier="flex", system_fingerprint="fp", provider="Up", moderation={"input": {}}
    )
    body["choices"][0]["native_finish_reason"] = "end_turn"
    response = chat.whole(body).response
    assert response.message.metadata.provider_metadata == {
        "service_tier": "flex",
        "system_fingerprint": "fp",
        "provider": "Up",
        "moderation": {"input": {}},
    }
    assert response.stop_details == {"native_finish_reason": "end_turn"}


# -- the same, whole and streamed


SAME: list[tuple[list[dict[str, Any]], dict[str, Any], str]] = [
    ([{"content": "a"}, {"content": "b"}], {"content": "ab"}, "stop"),
    ([{"reasoning": "h"}, {"reasoning": "m"}, {"content": "b"}], {"reasoning": "hm", "content": "b"}, "stop"),
    ([{"refusal": "n"}, {"refusal": "o"}], {"content": None, "refusal": "no"}, "stop"),
    (
        [
            {"content": "a"},
            {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]},
            {
                "tool_calls": [
                    {"index": 1, "id": "c2", "type": "function", "function": {"name": "g", "arguments": '{"a":1}'}}
                ]
            },
        ],
        {
            "content": "a",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"id": "c2", "type": "function", "function": {"name": "g", "arguments": '{"a":1}'}},
            ],
        },
        "tool_calls",
    ),
]


@pytest.mark.parametrize(("deltas", "message", "finish"), SAME)
def test_row_09_stream_and_whole_body_fold_to_the_same(
    chat: Any, deltas: list[dict[str, Any]], message: dict[str, Any], finish: str
) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    frames = [chat.chunk(delta) for delta in deltas]
    streamed = chat.frames([*frames, chat.chunk({}, finish), {"id": "x", "choices": [], "usage": usage}, "[DONE]"])
    assert streamed.response == chat.whole(chat.completion(message, finish, usage=usage)).response
