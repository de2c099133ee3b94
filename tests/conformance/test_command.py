"""`llmcore conformance` end to end: a folder written by hand, served over a real socket, read by the public client."""

import json
import os
from pathlib import Path

import pytest

from llmcore.cli import main

ROW_KEYS = [
    "id", "index", "mode", "text", "refusal", "reasoning", "tool_calls", "hosted", "stop_reason", "raw_stop_reason",
    "usage", "error", "warnings", "lifecycle", "verdict", "difference", "route", "note", "replay",
]  # fmt: skip


@pytest.fixture
def run(folder, capsys):
    """Runs the command on the folder: exit status, lines of stdout, lines of stderr."""

    def run(*arguments):
        status = main(["conformance", str(folder.path), *arguments])
        captured = capsys.readouterr()
        return status, captured.out.splitlines(), captured.err.splitlines()

    return run


@pytest.fixture
def rows(run):
    def rows(*arguments):
        status, out, _ = run("--json", *arguments)
        return status, [json.loads(line) for line in out]

    return rows


def whole(folder, wire, slug="whole", text="Hi", **fields):
    reply = wire.chat({"content": "Hi"}, usage=wire.usage)
    entry = wire.expectation(text=text, stop_reason_native="stop", usage_native=wire.usage)
    folder.case(slug, folder.reply(reply), expect=[entry], **fields)


def streamed(folder, wire, slug="streamed", **fields):
    interaction = folder.stream(
        wire.chunk({"role": "assistant", "content": ""}),
        wire.chunk({"content": "Zürich, "}),
        wire.chunk({"content": "said the 🦜"}),
        wire.chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x"'}}]}),
        wire.chunk({"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]}),
        wire.chunk({}, "tool_calls"),
        {**wire.chunk({}), "choices": [], "usage": wire.usage},
    )
    entry = wire.expectation(
        text="Zürich, said the 🦜",
        tool_calls=[{"name": "f", "id": "a", "arguments": {"x": 1}}],
        stop_reason_native="tool_calls",
        usage_native=wire.usage,
    )
    folder.case(slug, interaction, expect=[entry], tags=["stream"], **fields)


def test_cases_that_pass(folder, wire, run):
    whole(folder, wire)
    streamed(folder, wire)
    status, out, err = run("--seed", "7")
    assert out == [
        "seed 7",
        "verdict     replay        case",
        "pass        -             openai-chat/streamed  stream split bytes",
        "pass        -             openai-chat/whole  whole",
        "cases 2, passed 2, documented 0, failed 0 (rows 4, replayed 0; listed, not counted: 0; not replayed: 0)",
    ]
    assert (status, err) == (0, [])


def test_a_row_is_the_public_format(folder, wire, rows):
    streamed(folder, wire)
    status, found = rows()
    assert status == 0
    assert [row["mode"] for row in found] == ["stream", "split", "bytes"]
    for row in found:
        assert list(row) == ROW_KEYS
        usage = row.pop("usage")
        assert {name: usage[name] for name in ("input_tokens", "cache_read_tokens", "output_tokens")} == {
            "input_tokens": 3,
            "cache_read_tokens": 4,
            "output_tokens": 3,
        }
        assert usage["cache_write_tokens"] is None
        assert usage["cache_write_1h_tokens"] is None
        assert usage["reasoning_tokens"] is None
        assert row == {
            "id": "openai-chat/streamed",
            "index": 0,
            "mode": row["mode"],
            "text": "Zürich, said the 🦜",
            "refusal": None,
            "reasoning": "",
            "tool_calls": [{"name": "f", "id": "a", "arguments": {"x": 1}}],
            "hosted": [],
            "stop_reason": "tool_use",
            "raw_stop_reason": "tool_calls",
            "error": None,
            "warnings": [],
            "lifecycle": [],
            "verdict": "pass",
            "difference": None,
            "route": "openai/chat",
            "note": None,
            "replay": None,
        }


def test_with_json_stdout_holds_rows_only_and_the_rest_goes_to_stderr(folder, wire, run):
    whole(folder, wire)
    folder.case("embed", folder.reply({}, operation="embed"))
    status, out, err = run("--json", "--seed", "7")
    assert (status, len(out)) == (0, 1)
    assert err == [
        "seed 7",
        "listed      openai-chat/embed  interaction 0, embed: the client has no method for embed",
        "cases 1, passed 1, documented 0, failed 0 (rows 1, replayed 0; listed, not counted: 1; not replayed: 0)",
    ]


def test_a_difference_fails_the_run_and_is_shown(folder, wire, run, rows):
    whole(folder, wire)
    whole(folder, wire, slug="wrong", text="Ho")
    status, out, _ = run()
    assert status == 1
    assert out[3:] == [
        "fail        -             openai-chat/wrong  whole",
        "              0 whole: text: expected 'Ho', got 'Hi'",
        "cases 2, passed 1, documented 0, failed 1 (rows 2, replayed 0; listed, not counted: 0; not replayed: 0)",
    ]
    status, (_, wrong) = rows()
    assert (status, wrong["verdict"], wrong["text"]) == (1, "fail", "Hi")
    assert wrong["difference"] == "text: expected 'Ho', got 'Hi'"


def test_a_documented_difference_is_no_failure_and_its_row_says_what_the_library_gave(folder, wire, run, rows):
    zero = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    interaction = folder.stream(
        wire.chunk({"content": "Hi"}),
        wire.chunk({}, "stop", usage={"prompt_tokens": 45, "completion_tokens": 2, "total_tokens": 47}),
        {**wire.chunk({}, "stop"), "usage": zero},
    )
    entry = wire.expectation(text="Hi", stop_reason_native="stop", usage_native=zero)
    folder.case("zero", interaction, expect=[entry])
    status, out, _ = run()
    assert status == 0
    assert out[2].startswith("documented  -             openai-chat/zero")
    assert out[-1] == (
        "cases 1, passed 0, documented 1, failed 0 "
        "(rows 3, replayed 0, zero-usage-after-real 1; listed, not counted: 0; not replayed: 0)"
    )
    status, found = rows()
    assert {(row["verdict"], row["usage"]["input_tokens"], row["usage"]["output_tokens"]) for row in found} == {
        ("documented", 45, 2)
    }
    assert all(row["difference"].endswith("[zero-usage-after-real]") for row in found)


def test_an_error_reply_is_compared_by_its_class(folder, wire, rows):
    error = {"error": {"message": "no such model", "type": "invalid_request_error", "code": "model_not_found"}}
    entry = wire.expectation(error={"type": "invalid_request_error", "code": "model_not_found", "status": 404})
    folder.case("right", folder.reply(error, status=404), expect=[entry])
    entry = wire.expectation(error={"type": "rate_limit_error", "status": 429})
    folder.case("wrong", folder.reply(error, status=404), expect=[entry])
    status, (right, wrong) = rows()
    assert status == 1
    assert right["verdict"] == "pass"
    assert right["error"] == {
        "class": "InvalidRequestError", "kind": "bad_request", "status": 404, "code": "LLM_INVALID_REQUEST",
    }  # fmt: skip
    assert wrong["difference"] == "error: expected '[\"RateLimitError\",429]', got '[\"InvalidRequestError\",404]'"


def test_a_stream_that_is_cut_never_passes_for_a_whole_one(folder, wire, rows):
    interaction = folder.stream(wire.chunk({"content": "half of "}), done=False)
    folder.case("cut", interaction, expect=[wire.expectation(text="half of ")])
    status, found = rows()
    assert status == 1
    assert {row["error"]["class"] for row in found} == {"StreamTruncatedError"}
    assert {row["text"] for row in found} == {"half of "}


def test_a_case_without_expectation_is_compared_with_its_body(folder, wire, rows):
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    folder.case("bare", folder.reply(wire.chat({"content": None, "tool_calls": [call]}, "tool_calls")))
    folder.case("junk", folder.reply("pong"), expect=[wire.expectation(oracle_failed="not JSON")])
    status, (bare, junk) = rows()
    assert status == 0
    assert bare["tool_calls"] == [{"name": "f", "id": "a", "arguments": {}}]
    assert junk["error"]["class"] == "ProtocolError"


def test_an_alias_leads_to_our_provider(folder, wire, rows):
    whole(folder, wire, provider="huggingface-together")
    status, (row,) = rows()
    assert (status, row["route"], row["note"]) == (0, "huggingface/together", None)


def test_a_stranger_runs_on_the_generic_route_and_its_row_says_so(folder, wire, rows, run):
    whole(folder, wire, provider="stranger")
    status, (row,) = rows()
    note = "generic route openai-compatible/chat: no provider stranger here"
    assert (status, row["route"], row["note"]) == (0, "openai-compatible/chat", note)
    assert f"              {note}" in run()[1]


def test_other_operations_are_listed_and_not_counted(folder, wire, run):
    whole(folder, wire)
    folder.case("count", folder.reply({"input_tokens": 1}, operation="count-tokens"), tags=["count-tokens"])
    status, out, _ = run()
    assert status == 0
    listed = "listed      openai-chat/count  interaction 0, count-tokens: the client has no method for count-tokens"
    assert out[2] == listed
    assert out[-1].endswith("failed 0 (rows 1, replayed 0; listed, not counted: 1; not replayed: 0)")


def test_a_protocol_that_nothing_speaks_is_listed(folder, wire, run):
    whole(folder, wire)
    folder.case("flags", folder.reply({}), protocol="semaphore", provider="admiralty")
    status, out, _ = run()
    assert status == 0
    assert out[3] == "listed      semaphore/flags  interaction 0, generate: nothing here speaks semaphore"


def test_a_run_that_runs_nothing_is_no_success(folder, run):
    folder.case("count", folder.reply({}, operation="count-tokens"))
    status, _, err = run()
    assert status == 2
    assert err == ["llmcore: nothing was run: every interaction is only listed"]


def test_filters_that_leave_nothing_are_refused(folder, wire, run):
    whole(folder, wire)
    status, _, err = run("--protocol", "openai-chat", "--tag", "moon")
    assert status == 2
    assert err[0].endswith("matches --protocol openai-chat --tag moon")


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (("--provider", "groq"), {"openai-chat/groq"}),
        (("--tag", "stream"), {"openai-chat/streamed"}),
        (("--protocol", "openai-chat"), {"openai-chat/groq", "openai-chat/streamed"}),
    ],
)
def test_filters(folder, wire, rows, arguments, left):
    whole(folder, wire, slug="groq", provider="groq")
    streamed(folder, wire)
    assert {row["id"] for row in rows(*arguments)[1]} == left


def test_list_says_what_would_run_where_and_runs_nothing(folder, wire, run):
    whole(folder, wire)
    streamed(folder, wire, provider="stranger")
    status, out, _ = run("--list")
    assert status == 0
    assert out == [
        "openai-chat/streamed  generic route openai-compatible/chat: no provider stranger here  stream",
        "openai-chat/whole  openai/chat  generate",
    ]
    status, out, _ = run("--list", "--json")
    first, second = (json.loads(line) for line in out)
    assert (first["route"], first["tags"]) == ("openai-compatible/chat", ["stream"])
    assert second["interactions"] == [
        {"index": 0, "operation": "generate", "stream": False, "model": "gpt-x", "not_run": None}
    ]


def conversation(folder, wire, *turn, slug="talk"):
    """A tool call, its result, and the answer; `turn` is what the second request has in the place of the call."""
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
    begun = [{"role": "user", "content": "Go"}]
    result = {"role": "tool", "tool_call_id": "a", "content": "done"}
    folder.case(
        slug,
        folder.reply(wire.chat({"content": None, "tool_calls": [call]}, "tool_calls"), asked={"messages": begun}),
        folder.reply(wire.chat({"content": "Done"}), asked={"messages": [*begun, *turn, result]}),
    )


def test_replays_are_a_column_a_key_and_a_count(folder, wire, run, rows):
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
    conversation(folder, wire, {"role": "assistant", "content": None, "tool_calls": [call]})
    conversation(folder, wire, slug="other")
    status, out, _ = run()
    assert status == 0
    assert out[1:] == [
        "verdict     replay        case",
        "pass        not compared  openai-chat/other  whole whole",
        "              0 whole, replay: not compared: no later request goes on from it",
        "pass        pass          openai-chat/talk  whole whole",
        "cases 2, passed 2, documented 0, failed 0 (rows 4, replayed 1; listed, not counted: 0; not replayed: 1)",
    ]
    _, found = rows()
    reason = "no later request goes on from it"
    assert [row["replay"] for row in found] == [
        {"verdict": "not_compared", "request": None, "difference": reason},
        None,
        {"verdict": "pass", "request": 1, "difference": None},
        None,
    ]


def test_a_replay_that_is_not_the_same_fails_the_run_and_is_shown(folder, wire, run, rows):
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}
    conversation(folder, wire, {"role": "assistant", "content": None, "tool_calls": [call]})
    status, out, _ = run()
    difference = r"""tool_calls[0].function.arguments: recorded '"{\\"x\\":1}"', lowered '"{\\"x\\": 1}"'"""
    assert status == 1
    assert out[2:] == [
        "fail        fail          openai-chat/talk  whole whole",
        f"              0 whole, replay in request 1: {difference}",
        "cases 1, passed 0, documented 0, failed 1 (rows 2, replayed 1; listed, not counted: 0; not replayed: 0)",
    ]
    status, (first, _) = rows()
    assert (status, first["verdict"]) == (1, "pass"), "the reading itself is right"
    assert first["replay"] == {"verdict": "fail", "request": 1, "difference": difference}


def test_a_seed_is_drawn_and_printed(folder, wire, run):
    streamed(folder, wire)
    seeds = {run()[1][0] for _ in range(3)}
    assert all(seed.startswith("seed ") and seed.split()[1].isdecimal() for seed in seeds)
    assert len(seeds) > 1


@pytest.mark.corpus
@pytest.mark.skipif("LLMCORE_CORPUS" not in os.environ, reason="LLMCORE_CORPUS names no recorded traffic")
def test_recorded_streams_of_openai_chat_pass(capsys):
    """A slice that is quick; the whole run is the command itself."""
    folder = Path(os.environ["LLMCORE_CORPUS"])
    status = main(["conformance", str(folder), "--protocol", "openai-chat", "--provider", "openrouter"])
    out = capsys.readouterr().out
    assert status == 0, out
    assert "failed 0" in out
    assert ", replayed 0" not in out
