"""What would be sent, without sending it: the same bytes as a call sends, keys shown as variables."""

import json
import logging
import os
import shlex
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tiny
from loopback import Serve

from llmcore.auth import custom, header, none, query
from llmcore.capabilities import Capabilities
from llmcore.client import AsyncClient, Check, Client
from llmcore.errors import CapabilityError, ConfigError, InvalidRequestError, LLMError
from llmcore.route import Defaults, ModelRule
from llmcore.schema import (
    Generation,
    HttpExtras,
    JsonFormat,
    Message,
    ReasoningOptions,
    Request,
    Text,
    ToolChoice,
    ToolDefinition,
)

URL = "http://127.0.0.1:9/v1"


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as client:
        yield client


def test_prepared_is_what_a_call_sends(client: Client, serve: Serve) -> None:
    server = serve(tiny.whole(), tiny.hello())
    model = tiny.model(server.url + "/v1")
    for stream in (False, True):
        prepared = client.prepare(model, "Hi", stream=stream, max_tokens=5)
        if stream:
            with client.stream(model, "Hi", max_tokens=5) as streamed:
                list(streamed)
        else:
            client.generate(model, "Hi", max_tokens=5)
        sent = server.requests[-1]
        assert (prepared.method, prepared.url) == (sent.method, server.url + sent.path)
        assert prepared.content == sent.body == msgspec.json.encode(prepared.body)
        assert prepared.body == tiny.Body(model="t1", prompt="Hi", stream=stream, max_tokens=5)
        shown = {name: value.replace("$TINY_API_KEY", tiny.KEY) for name, value in prepared.headers}
        assert shown == {name: value for name, value in sent.headers if name not in ("host", "content-length")}
    assert client.prepare(model, "Hi").model == "tiny/chat:t1"
    assert 0 < client.prepare(model, "Hi").estimated_input_tokens < 20


def test_nothing_is_sent_and_no_key_is_needed(client: Client) -> None:
    prepared = client.prepare(tiny.model(URL, key=None), "Hi")
    assert ("authorization", "Bearer $TINY_API_KEY") in prepared.headers
    assert client._transport is None
    assert client.check(tiny.model(URL, key=None), "Hi").ok
    assert AsyncClient().prepare(tiny.model(URL, key=None), "Hi") == prepared


CURLS: dict[str, Any] = {
    "bearer": (None, {}),
    "header": (header("x-api-key", "TINY_API_KEY"), {}),
    "query": (query("key", "TINY_API_KEY"), {}),
    "query beside another": (query("key", "TINY_API_KEY"), {"query": {"a": "b c&d"}}),
    "none": (none(), {}),
    "function": (custom(lambda request: request), {}),
    "shell": (None, {"headers": {"x-a": "$(touch pwned) `touch pwned` $HOME \"q\" 'q' \\ !x ; * #"}}),
    "shell in the query": (None, {"query": {"a": "$(touch pwned)`touch pwned`"}}),
    "the variable itself": (None, {"headers": {"x-a": "$TINY_API_KEY$(touch pwned)"}}),
}


@pytest.mark.parametrize(("auth", "extras"), list(CURLS.values()), ids=list(CURLS))
def test_the_curl_command_runs_in_a_shell(client: Client, tmp_path: Path, auth: Any, extras: dict[str, Any]) -> None:
    """A `curl` of the test's own takes its arguments down; the shell fills in the key and nothing else."""
    fake = tmp_path / "curl"
    fake.write_text('#!/bin/sh\nfor argument in "$@"; do printf "%s\\0" "$argument"; done\n')
    fake.chmod(0o755)
    model = tiny.model(URL, auth=auth)
    prepared = client.prepare(model, 'It\'s "$HOME" `x` \\ é\n$(touch pwned)', http=HttpExtras(**extras))
    command = prepared.to_curl()
    assert shlex.split(command)[0] == "curl"
    environ = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "TINY_API_KEY": tiny.KEY, "HOME": "/elsewhere"}
    ran = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environ, capture_output=True, check=True)
    arguments = ran.stdout.decode().split("\0")[:-1]
    place = arguments.index("--data-raw")
    assert arguments[:2] == ["-X", "POST"]
    assert arguments[2] == prepared.url.replace("$TINY_API_KEY", tiny.KEY)
    assert arguments[place + 1].encode() == prepared.content
    headers = [argument for before, argument in pairwise(arguments) if before == "-H"]
    assert headers == [f"{name}: {value}".replace("$TINY_API_KEY", tiny.KEY) for name, value in prepared.headers]
    assert not (tmp_path / "pwned").exists()
    assert tiny.KEY not in command


# Extras


def test_extras_are_sent(serve: Serve, client: Client) -> None:
    server = serve(tiny.whole())
    extras = HttpExtras(headers={"X-Trace": "1"}, query={"v": "a b"}, body={"extra": {"deep": [1, None]}})
    client.generate(tiny.model(server.url + "/v1?x=1"), "Hi", http=extras)
    request = server.requests[0]
    assert request.header("x-trace") == "1"
    assert request.path == "/v1/chat?x=1&v=a%20b"
    assert request.json() == {"model": "t1", "prompt": "Hi", "extra": {"deep": [1, None]}}


@pytest.mark.parametrize(
    ("extras", "words"),
    [
        (HttpExtras(headers={"Authorization": "x"}), "headers.*Authorization"),
        (HttpExtras(headers={"content-type": "x"}), "headers.*content-type"),
        (HttpExtras(headers={"X-Tiny": "2"}), "headers.*X-Tiny"),
        (HttpExtras(headers={"x-a": "a\nb: c"}), "headers.*character"),
        (HttpExtras(headers={"x-a": "é"}), "headers.*character"),
        (HttpExtras(headers={"x a": "b"}), "headers.*character"),
        (HttpExtras(headers={"": "b"}), "headers.*character"),
        (HttpExtras(query={"x": "2"}), "query.*'x'"),
        (HttpExtras(query={"key": "2"}), "query.*'key'"),
        (HttpExtras(body={"prompt": "x"}), "body.*'prompt'"),
        (HttpExtras(body={"model": "x"}), "body.*'model'"),
    ],
)
def test_extras_that_are_refused(client: Client, extras: HttpExtras, words: str) -> None:
    auth = query("key") if "key" in extras.query else None
    with pytest.raises(ConfigError, match=f"http.{words}"):
        client.prepare(tiny.model(URL + "?x=1", auth=auth), "Hi", http=extras)


@pytest.mark.parametrize("value", [object(), "\ud800", float("nan"), {1: 2}.keys()])
def test_a_body_that_is_no_json_is_refused(client: Client, value: object) -> None:
    with pytest.raises(InvalidRequestError):
        client.prepare(tiny.model(URL), "Hi", http=HttpExtras(body={"a": value}))


def test_a_field_that_was_not_set_in_this_call_may_be(client: Client) -> None:
    prepared = client.prepare(tiny.model(URL), "Hi", http=HttpExtras(body={"max_tokens": 3}))
    assert json.loads(prepared.content)["max_tokens"] == 3


# Defaults: route < rule < request


def test_defaults_are_merged_field_by_field(client: Client) -> None:
    route = tiny.route(
        URL,
        defaults=Defaults(
            generation=Generation(max_tokens=10, temperature=0.1),
            provider_options={"tiny": {"tier": "route"}},
            http=HttpExtras(headers={"x-a": "route", "x-b": "route"}),
        ),
        rules=(
            ModelRule(match="t*", defaults=Defaults(generation=Generation(max_tokens=20))),
            ModelRule(match="t1", defaults=Defaults(http=HttpExtras(headers={"x-b": "rule"}))),
            ModelRule(match="other", defaults=Defaults(generation=Generation(max_tokens=99))),
        ),
    )
    model = route.model("t1")
    prepared = client.prepare(model, "Hi")
    assert prepared.body == tiny.Body(model="t1", prompt="Hi", max_tokens=20, temperature=0.1, tier="route")
    assert dict(prepared.headers)["x-a"] == "route"
    assert dict(prepared.headers)["x-b"] == "rule"
    prepared = client.prepare(
        model,
        "Hi",
        max_tokens=30,
        provider_options={"tiny": {"tier": "request"}, "other": {"a": 1}},
        http=HttpExtras(headers={"x-a": "request"}),
    )
    assert prepared.body == tiny.Body(model="t1", prompt="Hi", max_tokens=30, temperature=0.1, tier="request")
    assert (dict(prepared.headers)["x-a"], dict(prepared.headers)["x-b"]) == ("request", "rule")


def test_options_of_one_provider_are_merged_too(client: Client) -> None:
    from llmcore.client.prepare import with_defaults
    from llmcore.schema import Request

    model = tiny.route(URL, defaults=Defaults(provider_options={"tiny": {"tier": "a", "b": 1}})).model("t1")
    request = with_defaults(model, Request(provider_options={"tiny": {"b": 2}}))
    assert request.provider_options == {"tiny": {"tier": "a", "b": 2}}


# Capabilities, warnings, strict


def weak(**flags: Any) -> Any:
    return tiny.route(URL, capabilities=Capabilities(**flags)).model("t1")


@pytest.mark.parametrize(
    ("flags", "fields", "subject"),
    [
        ({"tools": False}, {"tools": (ToolDefinition(name="add"),)}, "tools"),
        ({"system_prompt": False}, {"system": "Be brief."}, "system_prompt"),
        ({"structured_output": False}, {"response_format": JsonFormat()}, "structured_output"),
        ({"output_combinations": (("text",),)}, {"output_modalities": ("audio",)}, "output_combinations"),
    ],
)
def test_content_that_the_model_does_not_take_is_refused(
    client: Client, flags: dict[str, Any], fields: dict[str, Any], subject: str
) -> None:
    with pytest.raises(CapabilityError) as caught:
        client.prepare(weak(**flags), "Hi", **fields)
    assert (caught.value.subject, caught.value.provider, caught.value.model) == (subject, "tiny", "t1")
    check = client.check(weak(**flags), "Hi", **fields)
    assert not check.ok
    assert [type(error) for error in check.errors] == [CapabilityError]
    assert client.check(weak(), "Hi", **fields).ok  # what is not known is sent


def test_a_stream_that_the_model_does_not_give(client: Client) -> None:
    assert client.check(weak(streaming=False), "Hi").ok
    assert not client.check(weak(streaming=False), "Hi", stream=True).ok
    with pytest.raises(CapabilityError, match="streamed"):
        client.stream(weak(streaming=False), "Hi")


@pytest.mark.parametrize(
    ("flags", "fields", "subject"),
    [
        ({}, {"seed": 7}, "generation.seed"),
        ({"reasoning": False}, {"reasoning": ReasoningOptions(effort="low")}, "reasoning"),
        (
            {"parallel_tool_calls": False},
            {"tool_choice": ToolChoice(parallel=True), "tools": (ToolDefinition(name="add"),)},
            "parallel_tool_calls",
        ),
    ],
)
def test_a_knob_is_dropped_with_a_warning_and_strict_refuses_it(
    client: Client, caplog: pytest.LogCaptureFixture, flags: dict[str, Any], fields: dict[str, Any], subject: str
) -> None:
    caplog.set_level(logging.WARNING, logger="llmcore")
    prepared = client.prepare(weak(**flags), "Hi", metadata={"session_id": "s1"}, **fields)
    assert [warning.subject for warning in prepared.warnings] == [subject]
    [record] = caplog.records
    assert (record.levelname, record.session_id, record.protocol) == ("WARNING", "s1", "tiny")  # type: ignore[attr-defined]
    assert record.reason == prepared.warnings[0].reason  # type: ignore[attr-defined]
    check = client.check(weak(**flags), "Hi", **fields)
    assert check.ok
    assert [warning.subject for warning in check.warnings] == [subject]
    with pytest.raises(CapabilityError, match=f"strict: {subject}") as caught:
        client.prepare(weak(**flags), "Hi", strict=True, **fields)
    assert caught.value.subject == subject
    with Client(strict=True) as strict:
        assert not strict.check(weak(**flags), "Hi", **fields).ok
        assert strict.prepare(weak(**flags), "Hi", strict=False, **fields).warnings == prepared.warnings


def test_check_names_every_refusal(client: Client) -> None:
    model = weak(tools=False, system_prompt=False)
    check = client.check(model, "Hi", system="Be brief.", tools=(ToolDefinition(name="add"),))
    assert isinstance(check, Check)
    assert [getattr(error, "subject", None) for error in check.errors] == ["system_prompt", "tools"]
    assert all(isinstance(error, LLMError) for error in check.errors)


def test_check_finds_an_invalid_history(client: Client) -> None:
    check = client.check(weak(), [Message.tool("tu_1", [Text(text="lost")])])
    assert [type(error) for error in check.errors] == [InvalidRequestError]


def test_nothing_that_was_given_is_changed(client: Client) -> None:
    fields: dict[str, Any] = {"provider_options": {"tiny": {"tier": "a"}}, "metadata": {"a": "b"}}
    before = msgspec.json.encode(fields)
    route = tiny.route(URL, defaults=Defaults(provider_options={"tiny": {"more": 1}, "x": {"y": 1}}))
    client.prepare(route.model("t1"), "Hi", **fields)
    assert msgspec.json.encode(fields) == before
    assert route.defaults.provider_options == {"tiny": {"more": 1}, "x": {"y": 1}}


# Names of models


@pytest.mark.parametrize("name", ["t1", "nowhere:t1", "openai/chats:x", "", ":", "openai:", " openai:x", None, 7])
def test_a_name_that_is_none(client: Client, name: Any) -> None:
    with pytest.raises(ConfigError):
        client.prepare(name, "Hi")


@pytest.mark.parametrize("odd", [{"generation": {"seed": 1}}, {"tools": ["add"]}, {"system": 7}], ids=str)
def test_a_field_of_another_type_is_named_whatever_the_defaults(odd: dict[str, Any]) -> None:
    defaults = Defaults(generation=Generation(temperature=0.5))
    model = msgspec.structs.replace(tiny.model("http://127.0.0.1:9"), defaults=defaults)
    request = Request(messages=(Message.user("Hi"),), **odd)
    with Client() as client:
        with pytest.raises(InvalidRequestError, match=next(iter(odd))):
            client.generate(model, request)
        [error] = client.check(model, request).errors
    assert isinstance(error, InvalidRequestError)
