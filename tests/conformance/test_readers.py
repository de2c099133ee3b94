"""The independent readers of bodies."""

import pytest

from llmcore.cassette.format import RecordedResponse
from llmcore.conformance.readers import documents, read_chat


def response(interaction):
    reply = interaction["response"]
    return RecordedResponse(status=reply["status"], headers=reply["headers"], chunks=((0, reply["body"]),))


def calls(expected):
    return [(call.name, call.id, call.arguments) for call in expected.tool_calls]


def test_documents_of_a_stream_survive_every_line_end_and_comment(folder):
    body = ': hello\r\n\r\ndata: {"a":1}\r\n\r\ndata: {"b":\ndata: 2}\n\nevent: x\rdata:{"c":3}\r\rdata: [DONE]\n\n'
    assert documents(response(folder.reply(body, stream=True))) == [{"a": 1}, {"b": 2}, {"c": 3}]


@pytest.mark.parametrize(("body", "found"), [("pong", None), ("[1]", None), ('{"a":1}', [{"a": 1}]), ("", None)])
def test_documents_of_a_whole_body(folder, body, found):
    assert documents(response(folder.reply(body))) == found


def test_a_whole_chat_reply(folder, wire):
    message = {
        "content": "Hi",
        "reasoning_content": "hm",
        "refusal": None,
        "tool_calls": [
            {"id": "a", "function": {"name": "f", "arguments": '{"x": 1}'}},
            {"id": "b", "function": {"name": "g", "arguments": ""}},
            {"id": "c", "type": "custom", "custom": {"name": "h", "input": "not JSON"}},
        ],
        "executed_tools": [{"index": 0, "type": "search"}],
    }
    read = read_chat(response(folder.reply(wire.chat(message, "tool_calls", usage=wire.usage))))
    assert (read.text, read.reasoning, read.refusal, read.error) == ("Hi", "hm", None, None)
    assert calls(read) == [("f", "a", {"x": 1}), ("g", "b", {}), ("h", "c", None)]
    assert [(run.type, run.name) for run in read.hosted] == [("search", "search")]
    assert (read.raw_stop_reason, read.usage) == ("tool_calls", wire.usage)


def test_content_as_a_list_of_parts(folder, wire):
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hi"}]
    read = read_chat(response(folder.reply(wire.chat({"content": parts}))))
    assert (read.text, read.reasoning) == ("Hi", "hm")


def test_a_chat_stream_with_interleaved_calls_and_late_usage(folder, wire):
    def call(index, **fields):
        return {"tool_calls": [{"index": index, **fields}]}

    interaction = folder.stream(
        wire.chunk({"role": "assistant", "content": "Hi "}),
        wire.chunk({"content": "there", "reasoning": "hm"}),
        wire.chunk(call(0, id="a", function={"name": "f", "arguments": ""})),
        wire.chunk(call(1, id="b", function={"name": "g", "arguments": '{"y"'})),
        wire.chunk(call(0, function={"arguments": "{}"})),
        wire.chunk(call(1, function={"arguments": ": 2}"})),
        wire.chunk({}, "tool_calls"),
        {"choices": [], "x_groq": {"usage": wire.usage}},
    )
    read = read_chat(response(interaction))
    assert (read.text, read.reasoning, read.raw_stop_reason) == ("Hi there", "hm", "tool_calls")
    assert calls(read) == [("f", "a", {}), ("g", "b", {"y": 2})]
    assert read.usage == wire.usage


def test_only_the_first_choice_counts(folder, wire):
    reply = wire.chat({"content": "first"})
    reply["choices"].append({"index": 1, "message": {"content": "second"}, "finish_reason": "length"})
    assert (read_chat(response(folder.reply(reply))).text, reply["choices"][0]["finish_reason"]) == ("first", "stop")


@pytest.mark.parametrize(
    ("body", "status", "name"),
    [
        ({"error": {"code": "model_not_found", "type": "invalid_request_error"}}, 404, "InvalidRequestError"),
        ({"error": "too fast"}, 429, "RateLimitError"),
        ({"message": "Unauthorized"}, 401, "AuthError"),
        ("<html>bad gateway</html>", 502, "OverloadedError"),
        ({"error": {"code": 429}}, 200, "RateLimitError"),
        ({"error": {"status_code": 503}}, 200, "OverloadedError"),
        ("pong", 200, "ProtocolError"),
        ({"hello": "world"}, 200, "ProtocolError"),
    ],
)
def test_errors_at_any_place(folder, body, status, name):
    read = read_chat(response(folder.reply(body, status=status)))
    assert read.error is not None
    assert (read.error.name, read.error.status) == (name, status)


def test_an_error_in_a_stream_voids_its_calls(folder, wire):
    interaction = folder.stream(
        wire.chunk({"reasoning": "hm", "tool_calls": [{"index": 0, "id": "a", "function": {"name": "f"}}]}),
        {"error": {"type": "overloaded_error"}},
        done=False,
    )
    read = read_chat(response(interaction))
    assert read.error is not None
    assert (read.error.name, read.error.status, read.reasoning, read.tool_calls) == ("OverloadedError", 200, "hm", ())
