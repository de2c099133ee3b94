"""`llmcore ask`, in this process: what is asked, what comes out where, and the exit status."""

import base64
import json
import logging
import sys

import chat_replies as chat
import msgspec
import pytest
from terminals import KEY

from llmcore import lifecycle
from llmcore.cassette import Close, Reply, Reset
from llmcore.cli.views import Lines
from llmcore.events import ErrorEvent, Event, OpaqueEvent, ResponseEnd, ResponseStart, SerializedEvent, TextDelta
from llmcore.schema import Opaque, Response

USED = "used: 12 tokens in, 9 tokens out\n"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
SCHEMA = '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}'
DECODER = msgspec.json.Decoder(SerializedEvent)


def asked(server):
    """The body of the one request."""
    (request,) = server.requests
    return request.json()


def content(server):
    """What the user says in it."""
    return asked(server)["messages"][-1]["content"]


# -- out


def test_the_answer_is_on_stdout_and_the_rest_on_stderr(ask, serve):
    server = serve(chat.stream(*chat.thinks("let me ", "think"), *chat.says("Hel", "lo"), *chat.ends()))
    assert ask(server, "Hi") == (0, "Hello\n", f"reasoning: let me think\n{USED}")
    assert server.requests[0].header("authorization") == f"Bearer {KEY}"
    assert asked(server)["stream"] is True


def test_a_text_that_ends_its_line_gets_no_other(ask, serve):
    assert ask(serve(chat.answer("one\n", "two\n")), "Hi").out == "one\ntwo\n"


def test_reasoning_between_texts_leaves_the_answer_as_it_is(ask, serve):
    steps = (*chat.says("one "), *chat.thinks("hm"), *chat.says("two"), *chat.thinks("so"), *chat.ends())
    ran = ask(serve(chat.stream(*steps)), "Hi")
    assert ran.out == "one two\n"
    assert ran.err == f"reasoning: hm\nreasoning: so\n{USED}"


def test_quiet_leaves_the_answer_alone(ask, serve):
    server = serve(chat.stream(*chat.thinks("hm"), *chat.says("Hello"), *chat.ends()))
    assert ask(server, "-q", "Hi") == (0, "Hello\n", "")


def test_as_a_whole(ask, serve):
    server = serve(chat.whole("Hello", reasoning_content="hm"))
    assert ask(server, "--no-stream", "Hi") == (0, "Hello\n", f"reasoning: hm\n{USED}")
    assert "stream" not in asked(server)


def test_usage_that_is_not_told_is_not_invented(ask, serve):
    server = serve(chat.stream(*chat.says("Hello"), *chat.ends(usage=None)))
    assert ask(server, "Hi").err == "used: not told by the provider\n"


def test_usage_says_what_was_cached_and_thought(ask, serve):
    usage = {
        **chat.USAGE,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    server = serve(chat.stream(*chat.says("Hello"), *chat.ends(usage=usage)))
    assert ask(server, "Hi").err == "used: 12 tokens in (8 of them cached), 9 tokens out (5 of them reasoning)\n"


def test_into_a_pipe_the_text_goes_as_it_came(ask, serve):
    text = "bell \a, colour \x1b[31m, line\r\n, wide 漢字 \u202e"
    assert ask(serve(chat.answer(text)), "Hi").out == text + "\n"


def test_half_a_surrogate_pair_ends_nothing(ask, serve):
    half = chat.frame(content="a\ud800b")
    assert ask(serve(chat.stream(half, *chat.ends())), "Hi")[:2] == (0, "a\ufffdb\n")
    assert ask(serve(chat.stream(half, *chat.ends())), "--json", "Hi").status == 0


def test_what_stdout_cannot_encode_is_escaped(ask, serve, capsysbinary):
    server = serve(chat.answer("café"))
    sys.stdout.reconfigure(encoding="ascii")
    try:
        assert ask(server, "Hi").out == "caf\\xe9\n"
    finally:
        sys.stdout.reconfigure(encoding="utf-8")


# -- answers that are none


@pytest.mark.parametrize("way", [(), ("--no-stream",)])
@pytest.mark.parametrize(
    ("finish", "note"),
    [
        ("length", "the answer is not whole: it reached the limit of tokens"),
        ("content_filter", "the answer is not whole: the provider's filter stopped it"),
    ],
)
def test_an_answer_that_is_cut_short_says_so(ask, serve, finish, note, way):
    server = serve(chat.whole("Hel", finish=finish) if way else chat.answer("Hel", finish=finish))
    assert ask(server, *way, "Hi") == (6, "Hel\n", f"llmcore: {note}\n{USED}")


@pytest.mark.parametrize("way", [(), ("--no-stream",)])
def test_a_refusal_is_no_answer(ask, serve, way):
    frames = (chat.frame(refusal="I can"), chat.frame(refusal="not."), *chat.ends())
    server = serve(chat.whole(None, refusal="I cannot.") if way else chat.stream(*frames))
    assert ask(server, *way, "Hi") == (6, "", f"refused: I cannot.\n{USED}")


def test_a_call_of_a_tool_is_no_answer(ask, serve):
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
    server = serve(chat.stream(chat.frame(tool_calls=[call]), *chat.ends("tool_calls")))
    status, out, err = ask(server, "Hi")
    assert (status, out) == (6, "")
    assert err.splitlines()[:2] == [
        'llmcore: tool call: look {"at": 1}',
        "llmcore: the answer is not whole: the model asks for a tool, and there is none here",
    ]


# -- failures


FAILURES = {
    "no such model": (chat.refusal(404, "No such model."), 2),
    "bad request": (chat.refusal(400, "Bad value."), 2),
    "too long": (chat.refusal(400, "Too long.", code="context_length_exceeded"), 2),
    "bad key": (chat.refusal(401, "Incorrect API key.", code="invalid_api_key"), 3),
    "spent": (chat.refusal(429, "You exceeded your quota.", code="insufficient_quota"), 4),
    "busy": (chat.refusal(429, "Slow down.", code="rate_limit_exceeded"), 4),
    "down": (chat.refusal(503, "Overloaded."), 5),
    "filtered": (chat.refusal(400, "The prompt was filtered.", code="content_filter"), 6),
    "a web page": (Reply.text("<html>Sign in</html>"), 1),
    "nonsense": (chat.stream("{nonsense"), 1),
    "cut before anything": (Reply.sse(Close()), 5),
    "reset": (Reply(framing="raw", actions=(Reset(),)), 5),
}


@pytest.mark.parametrize("case", FAILURES)
def test_the_kind_of_failure_is_the_exit_status(ask, serve, case):
    reply, status = FAILURES[case]
    ran = ask(serve(reply), "Hi")
    assert (ran.status, ran.out) == (status, "")
    (line,) = ran.err.splitlines()
    assert line.startswith("llmcore: ")


@pytest.mark.parametrize("case", FAILURES)
def test_a_failure_is_the_last_line_of_json(ask, serve, case):
    reply, status = FAILURES[case]
    ran = ask(serve(reply), "--json", "Hi")
    assert ran.status == status
    error = DECODER.decode(ran.out.splitlines()[-1])
    assert isinstance(error, ErrorEvent)
    assert ran.err.startswith(f"llmcore: {error.message}")


def test_a_stream_that_is_cut_keeps_what_came(ask, serve):
    ran = ask(serve(chat.stream(*chat.says("Hel"), Close())), "Hi")
    assert (ran.status, ran.out) == (5, "Hel\n")
    assert ran.err.startswith("llmcore: the stream ended without a finish reason")


def test_what_a_failed_call_used_is_said_where_it_is_known(ask, serve):
    ran = ask(serve(chat.stream(*chat.says("Hel"), chat.frame(usage=chat.USAGE), Close())), "Hi")
    assert (ran.status, ran.out) == (5, "Hel\n")
    assert ran.err.startswith(USED)


def test_an_error_says_what_helps(ask, serve):
    headers = (("retry-after", "2"), ("x-request-id", "req_1"))
    ran = ask(serve(chat.refusal(429, "Slow down.", code="rate_limit_exceeded", headers=headers)), "Hi")
    assert ran.err == "llmcore: Slow down. (try again in 2 s) (request req_1)\n"


def test_a_provider_that_repeats_the_key_does_not_get_it_printed(ask, serve):
    ran = ask(serve(chat.refusal(401, f"Incorrect API key: {KEY}.")), "Hi")
    assert ran.status == 3
    assert "<redacted>" in ran.err


def test_control_characters_of_an_error_are_escaped(ask, serve):
    ran = ask(serve(chat.refusal(400, "No \x1b]52;c;aGk=\x07 here.")), "Hi")
    assert "\\x1b]52;c;aGk=\\x07" in ran.err


def test_out_of_reach(run):
    ran = run("ask", "-m", "openai/chat:m", "--base-url", "http://127.0.0.1:9/v1", "Hi")
    assert (ran.status, ran.out) == (5, "")


def test_without_a_key_nothing_is_sent(ask, serve, monkeypatch):
    server = serve()
    monkeypatch.delenv("OPENAI_API_KEY")
    ran = ask(server, "Hi")
    assert ran.status == 3
    assert "OPENAI_API_KEY" in ran.err
    assert server.requests == ()


# -- json


def test_each_line_of_json_is_an_event(ask, serve):
    server = serve(chat.stream(*chat.thinks("hm"), *chat.says("Hel", "lo"), *chat.ends()))
    ran = ask(server, "--json", "Hi")
    events = [DECODER.decode(line) for line in ran.out.splitlines()]
    assert (ran.status, ran.err) == (0, "")
    assert lifecycle.violations(events) == []
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Hello"
    assert isinstance(events[-1], ResponseEnd)
    assert events[-1].usage.output_tokens == 9


def test_a_stream_that_is_cut_ends_with_an_error_in_json(ask, serve):
    ran = ask(serve(chat.stream(*chat.says("Hel"), Close())), "--json", "Hi")
    *events, last = [DECODER.decode(line) for line in ran.out.splitlines()]
    assert [type(event) for event in events[:1]] == [ResponseStart]
    assert lifecycle.violations([event for event in events if isinstance(event, Event)]) == [
        "the stream has no ResponseEnd"
    ]
    assert isinstance(last, ErrorEvent)
    assert (last.error_class, last.kind, last.retryable) == ("StreamTruncatedError", "transport", True)


def test_a_whole_answer_is_one_line_of_json(ask, serve):
    ran = ask(serve(chat.whole("Hello")), "--json", "--no-stream", "Hi")
    (line,) = ran.out.splitlines()
    response = msgspec.json.decode(line, type=Response)
    assert (response.text, response.usage.output_tokens, ran.err) == ("Hello", 9, "")


def test_wrong_use_is_an_error_in_json_too(run):
    ran = run("ask", "--json", "-m", "opanai:m", "Hi")
    (line,) = ran.out.splitlines()
    error = DECODER.decode(line)
    assert (ran.status, error.error_class, error.kind) == (2, "ConfigError", "config")


def test_a_line_of_json_is_unicode(capsysbinary):
    Lines(sys.stdout).event(TextDelta(id="b0", text="a\ud800b"))
    assert DECODER.decode(capsysbinary.readouterr().out) == TextDelta(id="b0", text="a\ufffdb")


def test_what_a_provider_lays_out_over_lines_is_one_line(capsysbinary):
    Lines(sys.stdout).event(OpaqueEvent(part=Opaque(kind="x", data=msgspec.Raw(b'{\n  "a": 1\n}'))))
    (line,) = capsysbinary.readouterr().out.splitlines()
    assert json.loads(line)["part"]["data"] == {"a": 1}


# -- what is asked


@pytest.mark.parametrize(
    ("arguments", "stdin", "text"),
    [
        (["Hi"], b"", "Hi"),
        (["Hi"], b"\n", "Hi"),
        (["Sum up:"], b"one\ntwo\n", "Sum up:\n\none\ntwo"),
        ([], b"from the pipe\r\n", "from the pipe"),
        (["-"], "wörds".encode(), "wörds"),
        (["--", "-1 + 2?"], b"", "-1 + 2?"),
    ],
)
def test_the_prompt_comes_from_the_argument_and_stdin(ask, serve, arguments, stdin, text):
    server = serve(chat.answer("Hello"))
    assert ask(server, *arguments, stdin=stdin).status == 0
    assert content(server) == text


def test_every_argument_reaches_the_request(ask, serve):
    server = serve(chat.answer("Hello"))
    arguments = ["-s", "Be brief.", "--max-tokens", "50", "--effort", "low"]
    options = ["-o", "service_tier=flex", "-o", 'verbosity="low"']
    assert ask(server, *arguments, *options, "Hi") == (0, "Hello\n", USED)
    body = asked(server)
    assert [message["role"] for message in body["messages"]] == ["developer", "user"]
    assert body["messages"][0]["content"] == "Be brief."
    assert (body["max_completion_tokens"], body["reasoning_effort"]) == (50, "low")
    assert (body["service_tier"], body["verbosity"]) == ("flex", "low")


def test_the_model_is_named_by_the_argument_or_the_environment(run, serve, monkeypatch):
    server = serve(chat.answer("Hello"), chat.answer("Hello"))
    monkeypatch.setenv("LLMCORE_MODEL", "openai/chat:from-the-environment")
    assert run("ask", "--base-url", server.url, "Hi").status == 0
    assert run("ask", "--base-url", server.url, "-m", "openai/chat:from-the-argument", "Hi").status == 0
    assert [request.json()["model"] for request in server.requests] == ["from-the-environment", "from-the-argument"]


def test_a_file_goes_before_the_prompt(ask, serve, tmp_path):
    server = serve(chat.answer("Hello"))
    picture = tmp_path / "dot.png"
    picture.write_bytes(PNG)
    far = "https://example.com/cat.jpg?size=1"
    assert ask(server, "-f", str(picture), "-f", far, "What is this?").status == 0
    near, away, text = content(server)
    assert near["image_url"]["url"] == "data:image/png;base64," + base64.b64encode(PNG).decode()
    assert away["image_url"]["url"] == far
    assert text["text"] == "What is this?"


def test_a_file_needs_no_prompt(ask, serve, tmp_path):
    server = serve(chat.answer("Hello"))
    (tmp_path / "dot.png").write_bytes(PNG)
    assert ask(server, "-f", str(tmp_path / "dot.png")).status == 0
    assert [part["type"] for part in content(server)] == ["image_url"]


def test_the_type_of_a_file_may_be_given(ask, serve, tmp_path):
    server = serve(chat.answer("Hello"))
    (tmp_path / "picture").write_bytes(PNG)
    files = ["-f", f"{tmp_path / 'picture'};type=image/png", "-f", "https://example.com/200;type=image/*"]
    assert ask(server, *files, "Hi").status == 0
    assert [part["type"] for part in content(server)] == ["image_url", "image_url", "text"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "nothing to ask"),
        (["-f", "no-such.png", "Hi"], "--file: 'no-such.png': No such file"),
        (["-f", "https://example.com/200", "Hi"], "does not tell its media type; add it, as in ';type=image/png'"),
        (["-f", "https://example.com/x;type=stuff", "Hi"], "is not a bare type/subtype"),
        (["-o", "loud", "Hi"], "--option takes NAME=VALUE, not 'loud'"),
        (["-o", "service_teir=flex", "Hi"], "service_tier"),
        (["--schema", "no-such.json", "Hi"], "--schema: 'no-such.json': No such file"),
        (["--schema", "{", "Hi"], "--schema is no JSON object"),
        (["--schema", '{"type": "objekt"}', "Hi"], "--schema is no JSON Schema: $.type: 'objekt'"),
        (["--timeout", "0", "Hi"], "more than 0"),
    ],
)
def test_wrong_use_is_named_and_nothing_is_sent(ask, serve, arguments, words):
    server = serve()
    ran = ask(server, *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.startswith("llmcore: ")
    assert server.requests == ()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--max-tokens", "0"], "argument --max-tokens: invalid number of tokens value: '0'"),
        (["--max-tokens", "many"], "argument --max-tokens: invalid number of tokens value: 'many'"),
        (["--temperature", "warm"], "argument --temperature: invalid float value: 'warm'"),
        (["two", "prompts"], "unrecognized arguments: prompts"),
    ],
)
def test_arguments_of_a_wrong_kind(ask, serve, arguments, words):
    ran = ask(serve(), *arguments)
    assert ran.status == 2
    assert words in ran.err


def test_without_a_model_it_says_how_to_name_one(run):
    ran = run("ask", "Hi")
    assert (ran.status, ran.err) == (2, "llmcore: no model: name one with -m provider:model, or in LLMCORE_MODEL\n")


def test_a_prompt_that_is_no_text(ask, serve):
    """Bytes of an argument that are no UTF-8 come as halves of surrogate pairs."""
    ran = ask(serve(), "caf\udce9")
    assert ran.status == 2
    assert "lone surrogate" in ran.err


def test_stdin_that_is_no_text(ask, serve):
    ran = ask(serve(), "Hi", stdin=PNG)
    assert (ran.status, ran.err) == (
        2,
        "llmcore: stdin is not text in UTF-8; pass images and the like with --file\n",
    )


# -- schema


@pytest.mark.parametrize("way", [(), ("--no-stream",)])
@pytest.mark.parametrize("given", ["file", "inline"])
def test_an_answer_of_a_schema(ask, serve, tmp_path, way, given):
    schema = SCHEMA
    if given == "file":
        schema = str(tmp_path / "city.json")
        (tmp_path / "city.json").write_text(SCHEMA, encoding="utf-8")
    text = '{"city": "Lisbon"}'
    server = serve(chat.whole(text) if way else chat.answer(text[:5], text[5:]))
    assert ask(server, *way, "--schema", schema, "Where?") == (0, text + "\n", USED)
    sent = asked(server)["response_format"]
    assert (sent["type"], sent["json_schema"]["schema"]) == ("json_schema", json.loads(SCHEMA))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"town": "Lisbon"}', "$: 'city' is a required property"),
        ('{"city": 7}', "$.city: 7 is not of type 'string'"),
        ("Lisbon", "it is not JSON"),
    ],
)
def test_an_answer_that_does_not_fit_its_schema(ask, serve, text, reason):
    ran = ask(serve(chat.answer(text)), "--schema", SCHEMA, "Where?")
    assert (ran.status, ran.out) == (6, text + "\n")
    assert f"llmcore: the answer does not fit the schema: {reason}" in ran.err


def test_a_reference_out_of_the_schema_is_not_followed(ask, serve):
    elsewhere = serve()
    schema = {"type": "object", "properties": {"city": {"$ref": f"{elsewhere.url}/city.json"}}}
    ran = ask(serve(chat.answer('{"city": "Lisbon"}')), "--schema", json.dumps(schema), "Where?")
    assert ran.status == 6
    assert "which is not in it" in ran.err
    assert elsewhere.connections == ()


# -- warnings


def test_what_is_lost_on_the_way_is_said_once(ask, serve):
    """An option that the route drops with a warning: stderr, not stdout, and the answer comes."""
    server = serve(chat.answer("Hello"))
    ran = ask(server, "--temperature", "0.5", "Hi")
    lost = "llmcore: warning: temperature: openai/chat:gpt-5-mini does not take temperature: left out\n"
    assert ran == (0, "Hello\n", lost + USED)
    assert "temperature" not in asked(server)


def test_what_is_odd_in_a_reply_is_said(ask, serve):
    usage = {**chat.USAGE, "completion_tokens_details": {"reasoning_tokens": 50}}
    ran = ask(serve(chat.stream(*chat.says("Hello"), *chat.ends(usage=usage))), "Hi")
    assert (ran.status, ran.out) == (0, "Hello\n")
    assert ran.err.startswith("llmcore: warning: usage")
    assert ran.err.count("warning") == 1


def test_the_log_is_left_as_it_was(ask, serve):
    before = list(logging.getLogger("llmcore").handlers)
    ask(serve(chat.answer("Hello")), "Hi")
    assert logging.getLogger("llmcore").handlers == before
