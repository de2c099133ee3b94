"""`llmcore prepare`: what `ask` would send, shown and not sent."""

import itertools
import json
import re
import shlex

import chat_replies as chat
import pytest

QUESTION = ["-s", "Be brief.", "--max-tokens", "50", "It's 5 o'clock in `Lisbon` & $HOME"]


@pytest.fixture
def prepare(run):
    """`prepare(*arguments)`, for a model of OpenAI's."""
    return lambda *arguments, **more: run("prepare", "-m", "openai/chat:gpt-5-mini", *arguments, **more)


def words(command):
    """The command as a shell reads it, its lines joined."""
    return shlex.split(command.replace("\\\n", " "))


def after(option, command):
    """What follows each such option."""
    return [value for name, value in itertools.pairwise(command) if name == option]


@pytest.mark.parametrize("way", [[], ["--no-stream"]])
def test_it_is_what_ask_sends(prepare, ask, serve, way):
    server = serve(chat.whole("Hello") if way else chat.answer("Hello"))
    ran = prepare(*way, "--base-url", f"{server.url}/v1", *QUESTION)
    assert (ran.status, ran.err, server.requests) == (0, "", ())
    assert ask(server, *way, *QUESTION).status == 0
    (sent,) = server.requests
    command = words(ran.out)
    assert command[:4] == ["curl", "-X", "POST", server.url + sent.path]
    assert after("--data-raw", command) == [sent.body.decode()]
    shown = dict(header.split(": ", 1) for header in after("-H", command))
    assert shown.pop("authorization") == "Bearer $OPENAI_API_KEY"
    assert shown == {name: sent.header(name) for name in shown}


def test_without_a_key_it_shows_its_variable(prepare, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ran = prepare("Hi")
    assert ran.status == 0
    assert 'authorization: Bearer $OPENAI_API_KEY"' in ran.out


def test_json(prepare):
    ran = prepare("--json", "--no-stream", *QUESTION)
    (line,) = ran.out.splitlines()
    record = json.loads(line)
    assert record["url"] == "https://api.openai.com/v1/chat/completions"
    assert ["authorization", "Bearer $OPENAI_API_KEY"] in record["headers"]
    assert (record["method"], record["model"]) == ("POST", "openai/chat:gpt-5-mini")
    assert record["body"]["messages"][-1]["content"] == QUESTION[-1]
    assert record["estimated_input_tokens"] > 0


def test_a_prompt_from_stdin(prepare):
    assert json.loads(prepare("--json", stdin=b"Hi\n").out)["body"]["messages"][-1]["content"] == "Hi"


def test_what_would_be_lost_is_said(prepare):
    ran = prepare("--temperature", "0.5", "Hi")
    assert (ran.status, "temperature" in ran.out) == (0, False)
    assert re.fullmatch(r"llmcore: warning: temperature: .*: left out\n", ran.err)
    (lost,) = json.loads(prepare("--json", "--temperature", "0.5", "Hi").out)["warnings"]
    assert lost["subject"] == "temperature"


def test_what_would_be_refused_is(prepare):
    ran = prepare("-o", "service_teir=flex", "Hi")
    assert (ran.status, ran.out) == (2, "")
    assert "service_tier" in ran.err
