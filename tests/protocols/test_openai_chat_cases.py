"""OpenAI Chat: what broke other clients (the numbered hard cases), and odd frames of every kind."""

import json
import logging
from typing import Any

import pytest

from llmcore.errors import (
    AuthError,
    ContentFilterError,
    InvalidRequestError,
    LLMError,
    OverloadedError,
    ProtocolError,
    QuotaError,
    RateLimitError,
)
from llmcore.protocol import Frame
from llmcore.protocols.openai_chat import OPENAI_CHAT

A, FINISH = {"content": "a"}, "stop"


def test_row_01_two_calls_without_an_index_in_one_delta(chat: Any) -> None:
    calls = [{"id": f"c{n}", "function": {"name": "f", "arguments": f'{{"n":{n}}}'}} for n in (1, 2)]
    response = chat.deltas({"tool_calls": calls}, finish="tool_calls").response
    assert [(call.wire_id, call.input) for call in response.tool_calls] == [("c1", {"n": 1}), ("c2", {"n": 2})]


@pytest.mark.parametrize("blank", [None, "", " "])
def test_row_02_blank_ids_and_a_constant_index(chat: Any, blank: str | None) -> None:
    deltas = [
        {"tool_calls": [{"index": 0, "id": blank, "function": {"name": name, "arguments": arguments}}]}
        for name, arguments in (("f", ""), (None, '{"a"'), ("", ":1}"), ("g", "{}"))
    ]
    response = chat.deltas(*deltas, finish="tool_calls").response
    assert [(call.name, call.input, call.wire_id) for call in response.tool_calls] == [
        ("f", {"a": 1}, None),
        ("g", {}, None),
    ]
    assert len({call.id for call in response.tool_calls}) == 2


def test_row_03_one_id_for_two_calls_gives_two_ids_of_ours(chat: Any) -> None:
    calls = [{"index": n, "id": "same", "function": {"name": "f", "arguments": f'{{"n":{n}}}'}} for n in (0, 1)]
    response = chat.deltas({"tool_calls": calls}, finish="tool_calls").response
    assert [call.id for call in response.tool_calls] == ["tu_0", "tu_1"]
    assert [call.wire_id for call in response.tool_calls] == ["same", "same"]


@pytest.mark.parametrize("arguments", [None, "", "  "])
def test_row_05_a_tool_without_arguments(chat: Any, arguments: str | None) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": arguments}}
    for read in (
        chat.deltas({"tool_calls": [call]}, finish="tool_calls"),
        chat.message({"tool_calls": [call]}, "tool_calls"),
    ):
        (found,) = read.response.tool_calls
        assert (found.arguments, found.input, found.error) == ("{}", {}, None)


def test_row_06_a_blank_fragment_with_the_finish_reason_is_no_second_call(chat: Any) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}
    last = chat.chunk({"tool_calls": [{"index": 0, "function": {"arguments": ""}}]}, "tool_calls")
    read = chat.frames([chat.chunk({"tool_calls": [call]}), last, last, "[DONE]"])
    assert len(read.response.tool_calls) == 1


def test_row_07_snapshots(chat: Any) -> None:
    calls = [{"index": n, "id": f"t{n}", "function": {"name": "f", "arguments": "{}"}} for n in range(3)]
    read = chat.deltas(*[{"tool_calls": calls[: n + 1]} for n in range(3)], finish="tool_calls")
    assert [call.wire_id for call in read.response.tool_calls] == ["t0", "t1", "t2"]


def test_row_08_other_choices_are_left_out_with_a_warning(chat: Any) -> None:
    def choice(index: int, text: str, finish: str | None = None) -> dict[str, Any]:
        return {"index": index, "delta": {"content": text}, "finish_reason": finish}

    frames = [{"choices": [choice(index, text)]} for index, text in ((0, "a"), (1, "x"), (0, "b"), (2, "y"))]
    streamed = chat.frames([*frames, {"choices": [choice(0, "", "stop"), choice(1, "", "length")]}, "[DONE]"])
    whole = chat.whole({"choices": [{"message": {"content": text}, "finish_reason": "stop"} for text in ("ab", "xy")]})
    for read in (streamed, whole):
        assert read.response.text == "ab"
        assert read.response.stop_reason == "stop"
        assert [warning.subject for warning in read.response.warnings] == ["choices"]


def test_row_16_a_call_that_was_cut_is_never_one_to_run(chat: Any) -> None:
    for arguments in ('{"a":', ""):
        call = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": arguments}}
        response = chat.deltas({"tool_calls": [call]}, finish="length").response
        assert response.stop_reason == "length"
        assert response.tool_calls[0].error is not None


@pytest.mark.parametrize(
    "noise",
    [
        b"",
        b" ",
        b"ping",
        b"PING",
        b": OPENROUTER PROCESSING",
        b": keepalive",
        b"heartbeat",
        b"null",
        b'""',
        b"{}",
        b'{"type": "ping"}',
    ],
)
def test_row_17_keep_alive_frames_change_nothing(chat: Any, noise: bytes) -> None:
    frames = [chat.chunk(A), chat.chunk({"content": "b"}), chat.chunk({}, FINISH), "[DONE]"]
    noisy = [noise, *[item for frame in frames[:-1] for item in (frame, noise)], frames[-1]]
    assert chat.frames(noisy).events == chat.frames(frames).events


@pytest.mark.parametrize("bad", [b"<html>", b"data", b'{"choices": [', b"[1, 2]", b'"text"', b"5"])
def test_row_17_any_other_frame_that_is_none_is_an_error_that_shows_it(chat: Any, bad: bytes) -> None:
    read = chat.frames([chat.chunk(A), bad])
    assert isinstance(read.error, ProtocolError)
    assert read.error.body_excerpt == bad.decode()
    assert read.message.text == "a"


def test_row_18_unknown_names_fields_and_frames_change_nothing(chat: Any) -> None:
    frames = [chat.chunk({**A, "channel": "analysis", "new": {"x": [1]}}, obfuscation="abc"), chat.chunk({}, FINISH)]
    named = [
        Frame(data=json.dumps(frames[0]).encode(), name="chunk"),
        {"object": "usage.report", "x": 1},
        frames[1],
        "[DONE]",
    ]
    plain = [chat.chunk(A), chat.chunk({}, FINISH), "[DONE]"]
    assert chat.frames(named).events == chat.frames(plain).events


UNKNOWN: list[Any] = [
    {"object": "usage.report", "secret": "sk-not-to-be-seen"},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "future", "secret": "sk-not-to-be-seen"}},
    {"type": "status", "message": "still thinking: sk-not-to-be-seen"},
    {"message": "sk-not-to-be-seen", "code": 200},
    {"detail": "sk-not-to-be-seen"},
    Frame(data=b'{"step": "sk-not-to-be-seen"}', name="progress"),
]


@pytest.mark.parametrize("unknown", UNKNOWN)
@pytest.mark.parametrize("place", range(5))
def test_row_18_an_unknown_frame_at_any_place_is_skipped_with_a_debug_record(
    chat: Any, caplog: pytest.LogCaptureFixture, unknown: Any, place: int
) -> None:
    call = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}]}
    frames = [chat.chunk({"reasoning": "h"}), chat.chunk(A), chat.chunk(call), chat.chunk({}, FINISH), "[DONE]"]
    plain = chat.frames(frames).events
    with caplog.at_level(logging.DEBUG, logger="llmcore"):
        caplog.clear()
        assert chat.frames([*frames[:place], unknown, *frames[place:]]).events == plain
        (record,) = caplog.records
    assert record.levelname == "DEBUG"
    keys = unknown if isinstance(unknown, dict) else {"step": 1}
    assert all(repr(key) in record.getMessage() for key in keys)
    assert "sk-not" not in record.getMessage()


def test_row_17_a_keep_alive_leaves_a_debug_record_and_a_known_frame_none(
    chat: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="llmcore"):
        chat.frames([chat.chunk(A), b": sk-not-to-be-seen", chat.chunk({}, FINISH), "[DONE]"])
    (record,) = caplog.records
    assert record.getMessage() == "openai-chat: a frame of 19 bytes was skipped; its keys: none"


def test_row_18_the_record_of_a_frame_is_bounded(chat: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="llmcore"):
        chat.frames([{"k" * 10_000 + str(number): 1 for number in range(500)}], end=False)
    assert len(caplog.records[0].getMessage()) < 2500


# -- errors in any shape at any place (rows 54, 55, 62)


BARE_ERRORS: list[tuple[object, type[LLMError], bool]] = [
    ({"message": "no", "code": 500}, OverloadedError, True),
    ({"message": "no", "code": "rate_limit_exceeded"}, RateLimitError, True),
    ({"message": "no", "status": 503}, OverloadedError, True),
    ({"message": "no", "type": "overloaded_error"}, OverloadedError, True),
    ({"detail": "no", "status_code": 401}, AuthError, False),
    ({"detail": "no", "type": "invalid_argument"}, InvalidRequestError, False),
    ({"detail": [{"msg": "no"}], "code": "422"}, LLMError, False),
    ({"msg": "the balance is used up", "code": "insufficient_balance"}, QuotaError, False),
    ({"message": "no", "code": 1301}, LLMError, False),
]


@pytest.mark.parametrize(("frame", "kind", "retryable"), BARE_ERRORS)
@pytest.mark.parametrize("before", [0, 1])
def test_row_54_an_error_without_a_wrapper_in_a_stream(
    chat: Any, frame: object, kind: type[LLMError], retryable: bool, before: int
) -> None:
    read = chat.frames([*[chat.chunk(A)] * before, frame, chat.chunk({}, FINISH), "[DONE]"])
    assert isinstance(read.error, kind)
    assert (read.error.retryable, read.error.status) == (retryable, 200)
    assert read.error.body_excerpt
    assert read.message.text == "a" * before
    assert isinstance(chat.whole(frame).error, kind)


GENERATIONS = [
    '{"name": "f", "parameters": {"a": ',
    '<tool_call>{"name": "f"}</tool_call>',
    "<function=f>{}</function>",
    "I would call f.",
    "ünï 😀\n\u2028" * 1000,
]


@pytest.mark.parametrize("written", GENERATIONS)
@pytest.mark.parametrize("code", ["tool_use_failed", "json_validate_failed"])
def test_row_62_what_the_model_wrote_and_the_service_refused_can_be_read_and_tried_again(
    chat: Any, written: str, code: str
) -> None:
    words = {"message": "no", "type": "invalid_request_error", "code": code, "failed_generation": written}
    body = json.dumps({"error": words}).encode()
    streamed, whole = chat.frames([chat.chunk(A), {"error": words}]), chat.whole({"error": words})
    for error in (OPENAI_CHAT.error(400, (), body, chat.model()), streamed.error, whole.error):
        assert type(error) is InvalidRequestError
        assert (error.retryable, error.provider_code) == (True, code)
        assert error.failed_generation == written
    assert all(not part.type.startswith("tool") for part in streamed.message.content)


@pytest.mark.parametrize(
    ("written", "kept"),
    [("x" * 100_000, "x" * 65_536), ({"name": "f"}, '{"name": "f"}'), ("", None), (None, None), ("\ud83d", "\ufffd")],
)
def test_row_62_it_is_bounded_and_always_text(chat: Any, written: object, kept: str | None) -> None:
    words = {"message": "no", "code": "tool_use_failed", "failed_generation": written}
    error = OPENAI_CHAT.error(400, (), json.dumps({"error": words}).encode(), chat.model())
    assert error.failed_generation == kept


ERRORS = [
    ({"error": {"message": "no", "code": 429}}, RateLimitError, True),
    ({"error": {"message": "no", "type": "server_error", "code": None}}, OverloadedError, True),
    ({"error": {"message": "no", "code": "insufficient_quota"}, "choices": None}, QuotaError, False),
    (
        {"error": {"message": "no", "code": 502}, "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]},
        OverloadedError,
        True,
    ),
    ({"error": "invalid api key"}, AuthError, False),
    ({"object": "error", "message": "no", "type": "BadRequestError", "code": 400}, InvalidRequestError, False),
    ({"type": "error", "error": {"type": "overloaded_error", "message": "no"}}, OverloadedError, True),
    ([{"error": {"code": 503, "message": "no", "status": "UNAVAILABLE"}}], OverloadedError, True),
    (
        {"choices": [{"index": 0, "error": {"code": 502, "message": "no"}, "finish_reason": "error"}]},
        OverloadedError,
        True,
    ),
    ({"x_groq": {"error": {"message": "over capacity", "code": "service_unavailable"}}}, OverloadedError, True),
    (
        {
            "error": {
                "message": "Tool call validation failed",
                "type": "invalid_request_error",
                "code": "tool_use_failed",
                "failed_generation": "{}",
                "status_code": 400,
            }
        },
        InvalidRequestError,
        True,
    ),
]


@pytest.mark.parametrize(("frame", "kind", "retryable"), ERRORS)
@pytest.mark.parametrize(
    "before", [[], [{"content": "a"}], [{"tool_calls": [{"index": 0, "function": {"name": "f"}}]}]]
)
def test_row_54_an_error_in_a_stream(
    chat: Any, before: list[Any], frame: object, kind: type[LLMError], retryable: bool
) -> None:
    read = chat.frames([*[chat.chunk(delta) for delta in before], frame, chat.chunk({}, FINISH), "[DONE]"])
    assert type(read.error) is kind
    assert (read.error.retryable, read.error.status, read.error.provider, read.error.model) == (
        retryable,
        200,
        "test",
        "m",
    )
    assert read.error.body_excerpt
    assert read.message.text == ("a" if before == [{"content": "a"}] else "")
    assert "response_end" not in read.kinds


@pytest.mark.parametrize(("body", "kind", "retryable"), ERRORS)
def test_row_55_an_error_in_a_whole_body_with_status_200(
    chat: Any, body: object, kind: type[LLMError], retryable: bool
) -> None:
    read = chat.whole(body)
    assert type(read.error) is kind
    assert (read.error.retryable, read.error.status) == (retryable, 200)


@pytest.mark.parametrize("kind", ["event", "error"])
def test_row_54_an_error_that_its_frame_names(chat: Any, kind: Any) -> None:
    name = "error" if kind == "event" else ""
    for data, found in (
        (b'{"message": "no", "code": "rate_limit_exceeded"}', RateLimitError),
        (b"server overloaded", OverloadedError),
        (b"", LLMError),
    ):
        read = chat.frames([chat.chunk(A), Frame(data=data, name=name, kind=kind)])
        assert type(read.error) is found


def test_row_55_an_error_in_a_choice_beside_its_text(chat: Any) -> None:
    choice = {"index": 0, "delta": {"content": "a"}, "error": {"code": 502, "message": "no"}}
    read = chat.frames([{"choices": [choice]}])
    assert isinstance(read.error, OverloadedError)
    assert read.message.text == "a"


def test_frames_without_an_index_are_of_the_one_choice_there_is(chat: Any) -> None:
    frames = [{"choices": [{"index": index, "delta": A}]} for index in (None, 0, None)]
    assert chat.frames([*frames, chat.chunk({}, FINISH)]).response.text == "aaa"


@pytest.mark.parametrize("body", [{"id": "x"}, {"choices": None}, {"choices": None, "error": None}, {}])
def test_row_55_neither_choices_nor_error_may_be_tried_again(chat: Any, body: object) -> None:
    read = chat.whole(body)
    assert isinstance(read.error, ProtocolError)
    assert read.error.retryable


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"method=POST pathname=/", b"[]", b"null", b'{"choices": {}}', b"\xff"]
)
def test_row_56_a_200_that_is_no_answer(chat: Any, body: bytes) -> None:
    read = chat.whole(body)
    assert isinstance(read.error, ProtocolError)
    assert read.events == []


def test_row_60_a_filtered_prompt_and_a_filtered_answer(chat: Any) -> None:
    model = chat.model()
    prompt = (
        b'{"error": {"code": "content_filter", "message": "filtered", "innererror": {"content_filter_result": {}}}}'
    )
    assert isinstance(OPENAI_CHAT.error(400, (), prompt, model), ContentFilterError)
    answer = json.dumps(chat.completion({"content": ""}, "content_filter")).encode()
    assert isinstance(OPENAI_CHAT.error(400, (), answer, model), ContentFilterError)
    assert chat.message({"content": "a"}, "content_filter").response.stop_reason == "content_filter"


def test_row_60_of_a_filtered_answer_the_text_the_categories_and_the_bytes_are_kept(chat: Any) -> None:
    verdicts = {
        "hate": {"filtered": False, "severity": "safe"},
        "violence": {"filtered": True, "severity": "high"},
        "self_harm": {"filtered": True, "severity": "medium"},
    }
    call = {"id": "c1", "function": {"name": "f", "arguments": "{}"}}
    answer = chat.completion(
        {"content": "so far", "tool_calls": [call]}, "content_filter", prompt_filter_results=[{"prompt_index": 0}]
    )
    answer["choices"][0]["content_filter_results"] = verdicts
    body = json.dumps(answer).encode()
    error = OPENAI_CHAT.error(400, (("x-request-id", "r1"),), body, chat.model())
    assert type(error) is ContentFilterError
    assert (error.provider_code, error.status, error.request_id, error.retryable) == (
        "content_filter",
        400,
        "r1",
        False,
    )
    assert error.message == "the answer was stopped by a content filter: 'violence', 'self_harm'"
    assert error.body_excerpt is not None
    assert body.decode().startswith(error.body_excerpt[:80])
    assert error.partial is not None
    assert (error.partial.text, error.partial.tool_calls) == ("so far", ())
    assert error.partial.metadata is not None
    assert error.partial.metadata.status == "error"
    assert error.partial.metadata.provider_metadata == {
        "prompt_filter_results": [{"prompt_index": 0}],
        "content_filter_results": verdicts,
    }
    broken = OPENAI_CHAT.error(400, (), b'{"choices": 5, "x": "content_filter"}', chat.model())
    assert type(broken) is InvalidRequestError
    assert broken.partial is None


def test_errors_of_replies_go_through_the_tables(chat: Any) -> None:
    error = OPENAI_CHAT.error(429, (("Retry-After", "3"), ("x-request-id", "r1")), b"{}", chat.model())
    assert isinstance(error, RateLimitError)
    assert (error.retry_after, error.request_id, error.provider, error.model) == (3.0, "r1", "test", "m")


# -- unicode (row 97)


def test_row_97_an_escaped_pair_cut_between_two_frames(chat: Any) -> None:
    halves = (b"a", rb"\ud83d", rb"\ude00b")
    for field in (b"content", b"reasoning", b"refusal"):
        frames = [b'{"choices":[{"index":0,"delta":{"%s":"%s"}}]}' % (field, half) for half in halves]
        read = chat.frames([*frames, chat.chunk({}, FINISH), "[DONE]"])
        (part,) = read.response.message.content
        assert part.text == "a😀b"
        json.dumps(part.text).encode()


@pytest.mark.parametrize(
    ("halves", "text"),
    [
        ([b"a\\ud83d", b"b"], "a\ufffdb"),
        ([b"\\ude00a"], "\ufffda"),
        ([b"a\\ud83d"], "a\ufffd"),
        ([b"\\ud83d\\ude00"], "😀"),
    ],
)
def test_row_97_half_a_character_is_replaced(chat: Any, halves: list[bytes], text: str) -> None:
    frames = [b'{"choices":[{"index":0,"delta":{"content":"%s"}}]}' % half for half in halves]
    read = chat.frames([*frames, chat.chunk({}, FINISH), "[DONE]"])
    assert read.response.text == text


def test_row_97_arguments_are_joined_as_text_and_parsed_once(chat: Any) -> None:
    text = '{"a":"line\\nbreak \\ud83d\\ude00"}'
    for cut in range(len(text) + 1):
        pieces = [text[:cut], text[cut:]]
        deltas = [
            {
                "tool_calls": [
                    {
                        "index": 0,
                        "id": "c1" if not n else None,
                        "function": {"name": "f" if not n else None, "arguments": piece},
                    }
                ]
            }
            for n, piece in enumerate(pieces)
        ]
        (call,) = chat.deltas(*deltas, finish="tool_calls").response.tool_calls
        assert call.arguments == text
        assert call.input == {"a": "line\nbreak 😀"}


# -- leniency (row 141)


def test_row_141_numbers_ids_and_nulls_in_odd_types(chat: Any) -> None:
    body = {
        "id": 12,
        "model": None,
        "choices": [
            {
                "index": "0",
                "message": {
                    "role": None,
                    "content": "a",
                    "tool_calls": [{"index": 0.0, "id": 7, "function": {"name": "f", "arguments": None}}],
                },
                "finish_reason": "tool_calls",
                "logprobs": "odd",
            }
        ],
        "usage": {"prompt_tokens": 12.0, "completion_tokens": "5", "prompt_tokens_details": {"cached_tokens": None}},
    }
    response = chat.whole(body).response
    assert (response.id, response.model, response.text) == ("12", None, "a")
    assert [(call.wire_id, call.name) for call in response.tool_calls] == [("7", "f")]
    assert (response.usage.input_tokens, response.usage.output_tokens) == (12, 5)
    assert [warning.subject for warning in response.warnings] == ["choices.logprobs"]


@pytest.mark.parametrize(
    "odd", [{"usage": []}, {"id": {}}, {"x_groq": 5}, {"service_tier": 3}, {"prompt_filter_results": {}}]
)
def test_row_141_what_we_can_do_without_never_fails_a_frame_that_carries_text(chat: Any, odd: dict[str, Any]) -> None:
    read = chat.frames(
        [{**chat.chunk(A), **odd}, {**chat.chunk({"content": "b"}), **odd}, chat.chunk({}, FINISH), "[DONE]"]
    )
    assert read.response.text == "ab"
    assert [warning.subject for warning in read.response.warnings] == list(odd)


LEAVES = [None, "odd", -1.5, True, [], {}, [None], {"x": None}]
BODY = {
    "id": "x",
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {
                "content": "text",
                "reasoning": "hm",
                "reasoning_details": [{"type": "reasoning.text", "text": "hm", "index": 0}],
                "refusal": None,
                "annotations": [{"type": "url_citation", "url_citation": {"url": "u", "title": "t", "start_index": 0}}],
                "audio": {"id": "a", "data": "UklGRg==", "transcript": "t", "expires_at": 1},
                "images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}}],
                "tool_calls": [
                    {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
                "executed_tools": [{"index": 0, "type": "search", "arguments": "{}", "output": "o"}],
                "function_call": None,
            },
            "finish_reason": "stop",
            "logprobs": {"content": [{"token": "t", "logprob": -0.1, "bytes": [1], "top_logprobs": []}]},
        }
    ],
    "usage": {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}, "cost": 0.1},
    "service_tier": "default",
    "x_groq": {"id": "r", "usage": None},
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [path, *[place for key, item in value.items() for place in places(item, (*path, key))]]
    if isinstance(value, list):
        return [path, *[place for index, item in enumerate(value) for place in places(item, (*path, index))]]
    return [path]


def mutated(path: tuple[Any, ...], value: object) -> dict[str, Any]:
    body = json.loads(json.dumps(BODY))
    holder = body
    for step in path[:-1]:
        holder = holder[step]
    if value is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return body


@pytest.mark.parametrize("path", [path for path in places(BODY) if path], ids=lambda path: ".".join(map(str, path)))
def test_row_141_each_value_replaced_by_another_type_gives_an_answer_or_one_of_our_errors(
    chat: Any, path: tuple[Any, ...]
) -> None:
    for value in (*LEAVES, ...):
        body = mutated(path, value)
        stream = json.loads(json.dumps(body))
        for choice in stream["choices"] if isinstance(stream.get("choices"), list) else []:
            if isinstance(choice, dict) and "message" in choice:
                choice["delta"] = choice.pop("message")
        for read in (chat.whole(body), chat.frames([stream, "[DONE]"])):
            assert read.error is not None or read.kinds[-1] == "response_end"
        if path[0] in ("id", "model", "usage", "service_tier", "x_groq") or "logprobs" in path:
            assert chat.whole(body).response.text == "text"
