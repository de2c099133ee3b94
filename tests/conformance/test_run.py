"""The runner: what it does beyond comparing."""

import msgspec
import pytest

from llmcore import registry
from llmcore.conformance.corpus import load
from llmcore.conformance.run import Reading, Runner, _problems
from llmcore.errors import ConfigError
from llmcore.events import ResponseEnd, ResponseStart, TextDelta, TextEnd, TextStart
from llmcore.framing import SSE, Framing
from llmcore.framing.sse import SSEDecoder
from llmcore.protocol import Frame
from llmcore.route import Provider
from llmcore.schema import Message, Response


class ChunkCounter:
    """A broken framer: it makes a frame of its own of every chunk, so that the cuts can be seen."""

    def __init__(self):
        self._inner = SSEDecoder()

    def feed(self, data):
        extra = b'{"id":"c1","choices":[{"index":0,"delta":{"content":"+"},"finish_reason":null}]}'
        return [*self._inner.feed(data), Frame(data=extra)][:1]

    def flush(self):
        return [Frame(data=b"[DONE]")]


def providers(framing=SSE, protocol=None):
    """A registry of one: our OpenAI route, one part of it changed."""
    route = registry.provider("openai").api("chat")
    changed = msgspec.structs.replace(route, framing=framing, protocol=protocol or route.protocol)
    return {"openai": Provider(id="openai", docs="", evidence="documented", route=changed)}


def outcome(path, **changed):
    with Runner(1, providers(**changed)) as runner:
        return runner.run(load(path))


@pytest.fixture
def hello(folder, wire):
    return folder.case("a", folder.stream(wire.chunk({"content": "Hello"}), wire.chunk({}, "stop")))


def test_modes_that_do_not_give_the_same_are_a_violation(hello):
    framing = Framing(id="broken", accept="text/event-stream", start=ChunkCounter)
    stream, split, by_byte = outcome(hello, framing=framing).rows
    assert stream.lifecycle == ()
    for row in (split, by_byte):
        assert row.verdict == "fail"
        assert "not the same events and response as in mode stream" in row.lifecycle


def test_a_protocol_that_breaks_the_lifecycle_fails(folder, wire):
    path = folder.case("a", folder.reply(wire.chat({"content": "Hello"})))
    chat = registry.provider("openai").api("chat").protocol

    def endless(body, model, mint, sink, out):
        chat.parse(body, model, mint, sink, out)
        out.append(out[-1])

    (row,) = outcome(path, protocol=msgspec.structs.replace(chat, parse=endless)).rows
    assert row.verdict == "fail"
    assert row.error is not None
    assert row.error.class_ == "ProtocolError"


def test_an_error_that_is_none_of_the_librarys_ends_the_run_and_says_where(hello):
    def broken(state, frame, out):
        raise ZeroDivisionError

    chat = registry.provider("openai").api("chat").protocol
    with pytest.raises(ZeroDivisionError) as caught:
        outcome(hello, protocol=msgspec.structs.replace(chat, step=broken))
    assert caught.value.__notes__ == ["in openai-chat/a, interaction 0"]


def test_a_whole_body_in_answer_to_a_stream_is_read_all_the_same(folder, wire):
    reply = folder.reply(wire.chat({"content": "Hello"}), stream=True, headers={"content-type": "application/json"})
    rows = outcome(folder.case("a", reply)).rows
    assert {(row.verdict, row.text) for row in rows} == {("pass", "Hello")}


def test_a_response_that_is_not_the_join_of_its_deltas_is_a_violation():
    events = [
        ResponseStart(provider="openai"),
        TextStart(id="b0"),
        TextDelta(id="b0", text="Hello"),
        TextEnd(id="b0"),
        TextStart(id="b1", refusal=True),
        TextDelta(id="b1", text="no"),
        TextEnd(id="b1"),
        ResponseEnd(stop_reason="stop"),
    ]
    for text, found in [("Hello", 0), ("Hello, you", 1)]:
        message = Message.assistant(text)
        response = Response(provider="openai", message=message, stop_reason="stop")
        assert len(_problems(Reading(events=events, response=response))) == found


def test_a_protocol_without_a_reader_needs_expectations(folder):
    path = folder.case("a", folder.reply({}), protocol="semaphore")
    chat = registry.provider("openai").api("chat").protocol
    with pytest.raises(ConfigError, match="no reader of semaphore bodies"):
        outcome(path, protocol=msgspec.structs.replace(chat, id="semaphore"))


def test_a_hosted_call_has_the_wires_type_of_it(folder, wire):
    run = {"index": 0, "type": "search", "arguments": '{"query": "x"}', "output": "found"}
    path = folder.case("a", folder.reply(wire.chat({"content": "Hello", "executed_tools": [run]})))
    with Runner(1) as runner:
        (row,) = runner.run(load(path)).rows
    assert [(call.type, call.name) for call in row.hosted] == [("search", "search")]
    assert row.verdict == "pass"


def test_arguments_that_do_not_parse_are_none(folder, wire):
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": '}}
    path = folder.case("a", folder.reply(wire.chat({"content": None, "tool_calls": [call]}, "tool_calls")))
    (row,) = outcome(path).rows
    assert [(each.name, each.id, each.arguments) for each in row.tool_calls] == [("f", "a", None)]
    assert row.verdict == "pass"
