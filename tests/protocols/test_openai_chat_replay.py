"""What was read goes back as it came: a reply, made into the next request, for the provider that gave it."""

import json
import random
from typing import Any, Literal

import msgspec
from chat_answers import DIALECTS, Answer, Dialect, answers
from chat_wires import SEEDS, manners, render_stream, streams
from hypothesis import given, settings
from hypothesis import strategies as st
from readings import Subject, Wire

from llmcore.auth import none
from llmcore.framing import SSE
from llmcore.protocols.openai_chat import OPENAI_CHAT, ChatBody, Quirks
from llmcore.route import Model, Route, post
from llmcore.schema.message import Message
from llmcore.schema.request import Request
from llmcore.schema.response import Response
from llmcore.wire.ids import IdRule

EXAMPLES = settings(max_examples=150, deadline=None)
Replay = Literal["never", "tool_turns", "always"]


def model(provider: str = "test", **quirks: Any) -> Model[ChatBody]:
    route = Route(
        id=f"{provider}/chat",
        protocol=OPENAI_CHAT,
        base_url="https://api.example.com/v1",
        endpoint=post("/chat/completions"),
        auth=none(),
        framing=SSE,
        quirks=Quirks(**quirks),
    )
    return route.model("m")


def replayed(response: Response, target: Model[ChatBody]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The reply as the next request has it (empty where nothing of it goes), and the results behind it."""
    results = [Message.tool(call, f"result of {call.id}") for call in response.tool_calls]
    request = Request(messages=(Message.user("Hi"), response.message, *results))
    body = msgspec.json.decode(msgspec.json.encode(OPENAI_CHAT.lower(request, target, False).body))
    messages = body["messages"]
    replies = [message for message in messages if message["role"] == "assistant"]
    assert len(replies) <= 1
    return (replies[0] if replies else {}), [message for message in messages if message["role"] == "tool"]


def text_of(content: object) -> str:
    """The text of a content, whether it is a string or a list."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part["type"] == "text")
    return content if isinstance(content, str) else ""


def thought_of(message: dict[str, Any]) -> dict[str, str]:
    """The reasoning of a message, by the field that it stands in."""
    found = {name: message[name] for name in ("reasoning_content", "reasoning", "reasoning_text") if name in message}
    if "reasoning_details" in message:
        found["reasoning_details"] = "".join(item["text"] for item in message["reasoning_details"])
    if isinstance(message.get("content"), list):
        thoughts = [part["thinking"] for part in message["content"] if part["type"] == "thinking"]
        found["thinking"] = "".join(text_of(thought) for thought in thoughts)
    return found


@given(streams(), st.sampled_from(["never", "tool_turns", "always"]))
@EXAMPLES
def test_a_reply_goes_back_as_it_came(stream: tuple[Answer, Dialect, Wire], replay: Replay) -> None:
    answer, _, wire = stream
    target = model(reasoning_replay=replay)
    response = Subject(target).stream([wire.data]).done
    message, results = replayed(response, target)
    assert text_of(message.get("content")) == (answer.text if answer.text.strip() else "")
    assert message.get("refusal", "") == answer.refusal
    sent = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", ())]
    assert sent == [
        (call.name, "{}" if call.broken or not call.arguments.strip() else call.arguments) for call in answer.calls
    ]
    goes = answer.reasoning and (replay == "always" or (replay == "tool_turns" and answer.calls))
    assert thought_of(message) == ({answer.field: answer.reasoning} if goes else {})
    assert [result["tool_call_id"] for result in results] == [call["id"] for call in message.get("tool_calls", ())]


@given(st.sampled_from(DIALECTS), st.data())
@EXAMPLES
def test_row_3_calls_go_back_under_the_ids_that_came_and_no_id_goes_twice(
    dialect: Dialect, data: st.DataObject
) -> None:
    answer, wire = render_stream(
        data.draw(answers(dialect)), dialect, data.draw(manners()), random.Random(data.draw(SEEDS))
    )
    target = model()
    message, _ = replayed(Subject(target).stream([wire.data]).done, target)
    ids = [call["id"] for call in message.get("tool_calls", ())]
    came = [None if call.wire_id is None else str(call.wire_id) for call in answer.calls]
    assert len(ids) == len(set(ids)) == len(came)
    assert all(id == wire_id for id, wire_id in zip(ids, came, strict=True) if came.count(wire_id) == 1 and wire_id)
    for wire_id in {wire_id for wire_id in came if wire_id is not None}:
        assert ids[came.index(wire_id)] == wire_id  # the first of those that share an id keeps it


@given(streams())
@EXAMPLES
def test_a_reply_goes_to_another_provider_without_thoughts_under_ids_that_it_takes(
    stream: tuple[Answer, Dialect, Wire],
) -> None:
    answer, _, wire = stream
    rule = IdRule(characters="alphanumeric", length=9, exact=True)
    response = Subject(model()).stream([wire.data]).done
    message, results = replayed(response, model("other", reasoning_replay="always", tool_ids=rule))
    said = answer.text + answer.refusal
    assert sorted(text_of(message.get("content"))) == sorted(said if said.strip() else "")
    assert "refusal" not in message
    assert thought_of(message) == {}
    ids = [call["id"] for call in message.get("tool_calls", ())]
    assert all(rule.allows(id) for id in ids)
    assert [result["tool_call_id"] for result in results] == ids
    assert len(set(ids)) == len(answer.calls)
    arguments = [json.loads(call["function"]["arguments"]) for call in message.get("tool_calls", ())]
    meant = [{} if call.broken or not call.arguments.strip() else json.loads(call.arguments) for call in answer.calls]
    assert arguments == meant
