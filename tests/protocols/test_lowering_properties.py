"""What must hold for lowering on every route that there is: nothing is changed, nothing is left to chance, a longer
history only adds to the body, and calls and results keep to each other (HARD_CASES area 8)."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from histories import histories, requests, results_of
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from llmcore import registry
from llmcore.errors import LLMError
from llmcore.protocols.openai_chat import OPENAI_CHAT
from llmcore.route import Model
from llmcore.schema import digest
from llmcore.schema.message import Message
from llmcore.schema.parts import Media, Origin, ToolCall
from llmcore.schema.request import Request

BASE_URL = "https://api.example.com/v1"
OPENAI = Origin(provider="openai", protocol="openai-chat", model="m")


def models() -> dict[str, Model[Any]]:
    """A model on each route, and one for each rule of a route."""
    found = dict[str, Model[Any]]()
    for provider in registry.providers():
        for route in provider.routes().values():
            for name in ("m", *(rule.match.replace("*", "1") for rule in route.rules if "[" not in rule.match)):
                model = route.model(name, base_url=BASE_URL)
                found[model.id] = model
    return found


MODELS = models()
CHAT = {id: model for id, model in MODELS.items() if model.route.protocol is OPENAI_CHAT}
BODIES = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])


def lowered(request: Request, model: Model[Any], *, stream: bool = False) -> bytes | None:
    """The bytes of the body, `None` where the route cannot carry the request."""
    try:
        body = model.route.protocol.lower(request, model, stream).body
    except LLMError:
        return None
    return msgspec.json.encode(body)


def messages_of(request: Request, model: Model[Any]) -> list[dict[str, Any]] | None:
    body = lowered(request, model)
    return None if body is None else msgspec.json.decode(body)["messages"]


@given(requests(), st.sampled_from(list(MODELS)), st.booleans())
@BODIES
def test_lowering_changes_nothing_and_gives_the_same_bytes_again(request: Request, model: str, stream: bool) -> None:
    before, encoded = digest(request), msgspec.json.encode(request)
    first = lowered(request, MODELS[model], stream=stream)
    assert lowered(request, MODELS[model], stream=stream) == first
    assert (digest(request), msgspec.json.encode(request)) == (before, encoded)
    stored = lowered(msgspec.json.decode(encoded, type=Request), MODELS[model], stream=stream)
    assert (stored and json.loads(stored)) == (first and json.loads(first))  # a stored 1 may come back as 1.0


@given(histories(), st.sampled_from(list(CHAT)), st.data())
@BODIES
def test_a_history_is_lowered_to_a_beginning_of_what_a_longer_one_is(
    history: tuple[Message, ...], model: str, data: st.DataObject
) -> None:
    quirks: Any = CHAT[model].quirks
    places = [
        place
        for place in range(1, len(history))
        # Between two results what goes behind them is not there yet; a last answer may be marked as such.
        if history[place].role != "tool"
        and not (history[place - 1].role == "assistant" and quirks.trailing_assistant == "prefix")
    ]
    whole = messages_of(Request(messages=history), CHAT[model])
    if not places or whole is None:
        return
    part = messages_of(Request(messages=history[: data.draw(st.sampled_from(places))]), CHAT[model])
    assert part is not None
    assert whole[: len(part)] == part


CLASH = (ToolCall(id="tu_0", name="f", wire_id="tu_1", origin=OPENAI), ToolCall(id="tu_1", name="f"))
"""The id that one provider gave to the first call is the one that we gave to the second."""
IMAGE = Media.from_bytes(b"x", "image/png")
CLASHING = (
    *(Message.user("Hi"), Message.assistant(*CLASH)),
    *(Message.tool(call, f"{call.id} gave", IMAGE) for call in CLASH),
)


@given(histories(), st.sampled_from(list(CHAT)))
@example(CLASHING, "openai/chat:m")
@example(CLASHING, "mistral/chat:m")
@BODIES
def test_row_3_ids_are_unique_legal_and_the_same_in_call_and_result(history: tuple[Message, ...], model: str) -> None:
    target = CHAT[model]
    messages = messages_of(Request(messages=history), target)
    if messages is None:
        return
    calls = [part for message in history for part in message.content if isinstance(part, ToolCall)]
    ids = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    assert len(ids) == len(calls) == len(set(ids))
    own = {call.wire_id for call in calls if call.origin is not None and call.origin.provider == target.provider}
    rule = target.quirks.tool_ids
    assert [id for id in ids if not rule.allows(id) and id not in own] == []
    wire_id = {call.id: id for call, id in zip(calls, ids, strict=True)}
    answered = [(message["tool_call_id"], message["content"]) for message in messages if message["role"] == "tool"]
    for (answer, content), result in zip(answered, results_of(history), strict=True):
        assert answer == wire_id[result.tool_call_id]
        assert f"{result.tool_call_id} gave" in content


@given(histories(), st.sampled_from(list(CHAT)))
@example(CLASHING, "openai/chat:m")
@BODIES
def test_each_result_stands_behind_its_call_with_only_results_between(history: tuple[Message, ...], model: str) -> None:
    """Rows 78-80: no user message between a call and its results, every call answered once."""
    messages = messages_of(Request(messages=history), CHAT[model])
    waiting = set[str]()
    for message in messages or ():
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting
            waiting = {call["id"] for call in message.get("tool_calls", ())}
    assert not waiting


SCRIPT = """
import hashlib, sys
sys.path[:0] = {path!r}
import msgspec
from llmcore import registry
from llmcore.errors import LLMError
from llmcore.schema.request import Request

digest = hashlib.sha256()
for line in sys.stdin.buffer:
    name, data = msgspec.json.decode(line)
    model = registry.resolve(name, base_url={base_url!r})
    request = msgspec.json.decode(data, type=Request)
    for stream in (False, True):
        try:
            digest.update(msgspec.json.encode(model.route.protocol.lower(request, model, stream).body))
        except LLMError as error:
            digest.update(str(error).encode())
print(digest.hexdigest())
"""


@given(st.lists(st.tuples(st.sampled_from(list(CHAT)), requests()), min_size=12, max_size=12))
@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck))
def test_bodies_do_not_depend_on_the_order_of_hashes(pairs: list[tuple[str, Request]]) -> None:
    lines = b"\n".join(msgspec.json.encode([name, msgspec.json.encode(request).decode()]) for name, request in pairs)
    script = SCRIPT.format(path=[entry or str(Path.cwd()) for entry in sys.path], base_url=BASE_URL)
    digests = set[bytes]()
    for seed in ("0", "1", "12345"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            input=lines,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        digests.add(done.stdout)
    assert len(digests) == 1


def test_the_table_of_models_has_every_route_and_its_rules() -> None:
    assert {model.route.id for model in CHAT.values()} >= {"openai/chat", "mistral/chat", "deepseek/chat"}
    assert len({msgspec.json.encode(model.quirks) for model in CHAT.values()}) > 8


@pytest.mark.parametrize("model", CHAT)
def test_every_route_carries_a_plain_conversation_with_a_call(model: str) -> None:
    call = ToolCall(id="tu_0", name="f", arguments='{"a": 1}')
    history = (Message.user("hello"), Message.assistant(call), Message.tool(call, "done"))
    assert messages_of(Request(messages=history), CHAT[model]) is not None
