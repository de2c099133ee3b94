"""OpenAI Chat: canonical messages to those of the wire."""

import itertools
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmcore.capabilities import Capabilities
from llmcore.errors import CapabilityError, InvalidRequestError
from llmcore.protocols.openai_chat import Quirks
from llmcore.schema.message import Message, MessageMetadata
from llmcore.schema.parts import Citation, HandleSource, Json, Media, Opaque, Origin, Reasoning, Text, ToolCall
from llmcore.schema.request import (
    Generation,
    JsonFormat,
    Request,
    ToolDefinition,
)
from llmcore.wire.ids import IdRule

OWN = Origin(provider="test", protocol="openai-chat", model="m")
FOREIGN = Origin(provider="other", protocol="openai-chat", model="m")
PNG = Media.from_bytes(b"png", "image/png")
PNG_URL = "data:image/png;base64,cG5n"
F = ToolDefinition(
    name="f", description="does f", parameters={"type": "object", "properties": {"a": {"type": "integer"}}}
)
G = ToolDefinition(name="g")
HELLO = Message.user("hello")


def own_call(number: int = 1, name: str = "f", arguments: str = '{"a":1}', **more: Any) -> ToolCall:
    return ToolCall(id=f"tu_{number}", name=name, arguments=arguments, wire_id=f"call_{number}", origin=OWN, **more)


def ask(*messages: Message, **fields: Any) -> Request:
    return Request(messages=messages or (HELLO,), **fields)


# -- messages


CALL = own_call()
MESSAGES: list[tuple[str, Request, list[dict[str, Any]]]] = [
    ("a text", ask(HELLO), [{"role": "user", "content": "hello"}]),
    (
        "instructions first, the request's before those of the list",
        ask(Message.system("two"), HELLO, system="one"),
        [
            {"role": "system", "content": "one"},
            {"role": "system", "content": "two"},
            {"role": "user", "content": "hello"},
        ],
    ),
    (
        "row 91: parts of the instructions are kept apart, and a later one keeps its place",
        ask(HELLO, Message.assistant("hi"), Message.system("late"), system=(Text(text="a"), Text(text="b"))),
        [
            {"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": "hi"},
            {"role": "system", "content": "late"},
        ],
    ),
    (
        "text and image",
        ask(Message.user("look", PNG, Media.from_url("https://x/y.jpg", detail="low"))),
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "look"},
                    {"type": "image_url", "image_url": {"url": PNG_URL}},
                    {"type": "image_url", "image_url": {"url": "https://x/y.jpg", "detail": "low"}},
                ],
            }
        ],
    ),
    (
        "sound and documents",
        ask(
            Message.user(
                Media.from_bytes(b"w", "audio/x-wav"),
                Media.from_bytes(b"p", "application/pdf", name="a.pdf"),
                Media.from_bytes(b"p", "application/pdf"),
                Media.from_file("test", "file-1", "application/pdf"),
            )
        ),
        [
            {
                "role": "user",
                "content": [
                    {"type": "input_audio", "input_audio": {"data": "dw==", "format": "wav"}},
                    {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,cA=="}},
                    {
                        "type": "file",
                        "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,cA=="},
                    },
                    {"type": "file", "file": {"file_id": "file-1"}},
                ],
            }
        ],
    ),
    (
        "a call and its result",
        ask(HELLO, Message.assistant("let me see", CALL), Message.tool(CALL, "7")),
        [
            {"role": "user", "content": "hello"},
            {
                "role": "assistant",
                "content": "let me see",
                "tool_calls": [{"type": "function", "id": "call_1", "function": {"name": "f", "arguments": '{"a":1}'}}],
            },
            {"role": "tool", "content": "7", "tool_call_id": "call_1"},
        ],
    ),
    (
        "the pieces of an answer are one answer",
        ask(HELLO, Message.assistant("one ", "two"), HELLO),
        [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": "one two"},
            {"role": "user", "content": "hello"},
        ],
    ),
    (
        "results of every kind",
        ask(
            HELLO,
            Message.assistant(CALL),
            Message.tool(
                CALL,
                "text",
                Json(value={"k": [1, None]}),
                Opaque(kind="x", data=msgspec.Raw(b'{"o":1}')),
                is_error=True,
            ),
        ),
        [
            {"role": "user", "content": "hello"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"type": "function", "id": "call_1", "function": {"name": "f", "arguments": '{"a":1}'}}],
            },
            {"role": "tool", "content": 'Error: text\n{"k":[1,null]}\n{"o":1}', "tool_call_id": "call_1"},
        ],
    ),
]


@pytest.mark.parametrize(("sent", "expected"), [row[1:] for row in MESSAGES], ids=[row[0] for row in MESSAGES])
def test_messages(chat: Any, sent: Request, expected: list[dict[str, Any]]) -> None:
    lowered = chat.lowered(sent)
    assert chat.body(sent)["messages"] == expected
    assert lowered.warnings == ()


def test_row_80_media_of_results_follow_all_results_of_the_turn_in_one_message(chat: Any) -> None:
    one, two = own_call(1), own_call(2, "g", "{}")
    history = ask(
        HELLO,
        Message.assistant(one, two),
        Message.tool(one, "a cat", PNG),
        Message.tool(two, PNG, PNG),
        Message.user("and?"),
    )
    messages = chat.body(history)["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "user", "user"]
    assert messages[2]["content"].startswith("a cat")
    assert messages[3]["content"].strip()
    kinds = [part["type"] for part in messages[4]["content"]]
    assert kinds == ["text", "image_url", "text", "image_url", "image_url"]
    assert "call_2" in messages[4]["content"][2]["text"]
    assert messages[5]["content"] == "and?"


def test_media_of_a_result_name_the_tool_of_the_call_that_the_history_holds(chat: Any) -> None:
    call = own_call(7, "take_photo", "{}")
    messages = chat.body(ask(HELLO, Message.assistant(call), Message.tool(call.id, PNG)))["messages"]
    assert messages[3]["content"][0]["text"] == "[Media of the result of take_photo, call call_7]"


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_row_92_results_in_any_order_stand_together_behind_their_calls_and_before_what_follows(
    chat: Any, order: tuple[int, ...]
) -> None:
    calls = [own_call(number) for number in range(3)]
    results = [Message.tool(calls[number], f"result {number}", *([PNG] if number == 1 else [])) for number in order]
    messages = chat.body(ask(HELLO, Message.assistant(*calls), *results, Message.user("and?")))["messages"]
    assert [call["id"] for call in messages[1]["tool_calls"]] == ["call_0", "call_1", "call_2"]
    assert [message["role"] for message in messages[2:]] == ["tool", "tool", "tool", "user", "user"]
    answered = [(message["tool_call_id"], message["content"].partition("\n")[0]) for message in messages[2:5]]
    assert answered == [(f"call_{number}", f"result {number}") for number in order]
    assert [part["type"] for part in messages[5]["content"]] == ["text", "image_url"]
    assert "call_1" in messages[5]["content"][0]["text"]
    assert messages[6]["content"] == "and?"


def test_a_dict_with_keys_that_are_no_texts_goes_as_json_has_it(chat: Any) -> None:
    sent = ask(HELLO, Message.assistant(CALL), Message.tool(CALL, Json(value={1: {2: None}})))
    assert chat.body(sent)["messages"][2]["content"] == '{"1":{"2":null}}'


@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_row_78_blank_text_is_left_out_with_a_warning(chat: Any, blank: str) -> None:
    sent = ask(
        HELLO,
        Message.assistant(blank, own_call()),
        Message.tool(own_call(), blank),
        Message.user(blank, "x"),
        system=blank,
    )
    lowered, messages = chat.lowered(sent), chat.body(sent)["messages"]
    assert messages[0] == {"role": "user", "content": "hello"}
    assert messages[1]["content"] is None
    assert messages[3] == {"role": "user", "content": "x"}
    assert {warning.message_index for warning in lowered.warnings} >= {1, 3}


def test_a_request_that_says_nothing_is_refused(chat: Any) -> None:
    for sent in (Request(), ask(Message.user(" "))):
        with pytest.raises(InvalidRequestError, match="no message"):
            chat.lowered(sent)


@pytest.mark.parametrize(("word", "content"), [("null", {"content": None}), ("empty", {"content": ""}), ("omit", {})])
def test_row_95_content_of_a_message_with_calls_alone_is_route_data(
    chat: Any, word: str, content: dict[str, Any]
) -> None:
    sent = ask(HELLO, Message.assistant(CALL), Message.tool(CALL, "7"))
    message = chat.body(sent, chat.model(empty_content=word))["messages"][1]
    assert {key: value for key, value in message.items() if key == "content"} == content


def test_row_95_texts_go_as_one_string_where_the_service_wants_that(chat: Any) -> None:
    sent = ask(Message.user("one", "two"), system=(Text(text="a"), Text(text="b")))
    contents = [message["content"] for message in chat.body(sent, chat.model(text_content="string"))["messages"]]
    assert contents == ["a\n\nb", "one\n\ntwo"]
    mixed = chat.body(ask(Message.user("one", PNG)), chat.model(text_content="string"))["messages"][0]["content"]
    assert [part["type"] for part in mixed] == ["text", "image_url"]


def test_row_91_a_later_instruction_becomes_marked_text_where_the_route_takes_none(chat: Any) -> None:
    model = chat.model(capabilities=Capabilities(system_in_list=False))
    sent = ask(Message.system("first"), HELLO, Message.system("late"), HELLO)
    messages = chat.body(sent, model)["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "user", "user"]
    assert messages[2]["content"].endswith("late")
    (warning,) = chat.lowered(sent, model).warnings
    assert warning.message_index == 2


def test_instructions_go_under_the_role_of_the_route(chat: Any) -> None:
    assert chat.body(ask(system="a"), chat.model(system_role="developer"))["messages"][0]["role"] == "developer"


def test_a_last_message_of_the_assistant_is_marked_where_the_route_wants_that(chat: Any) -> None:
    sent = ask(HELLO, Message.assistant("Sure"))
    assert "prefix" not in chat.body(sent)["messages"][-1]
    assert chat.body(sent, chat.model(trailing_assistant="prefix"))["messages"][-1]["prefix"] is True
    assert "prefix" not in chat.body(ask(HELLO), chat.model(trailing_assistant="prefix"))["messages"][-1]


def test_a_refusal_goes_back_as_one_to_who_refused_and_as_text_to_others(chat: Any) -> None:
    refused = Message.assistant(Text(text="no", refusal=True), metadata=MessageMetadata(provider="test"))
    assert chat.body(ask(HELLO, refused, HELLO))["messages"][1] == {"role": "assistant", "content": "", "refusal": "no"}
    assert chat.body(ask(HELLO, refused, HELLO), chat.model("other"))["messages"][1]["content"] == "no"


def test_row_87_lone_surrogates_never_leave(chat: Any) -> None:
    half = "x\ud83d"
    call = own_call(arguments='{"a":"\ud83d"}')
    sent = ask(
        Message.user(half),
        Message.assistant(half, call),
        Message.tool(call, half, Json(value={half: half})),
        system=half,
        tools=(ToolDefinition(name="f", description=half, parameters={"type": "object", "title": half}),),
        generation=Generation(stop=(half,)),
        response_format=JsonFormat(schema={"title": half}, description=half),
        provider_options={"test": {"prediction": {"content": half}}},
    )
    assert "\ufffd" in json.dumps(chat.body(sent), ensure_ascii=False)


# -- media that the route cannot carry


@pytest.mark.parametrize(
    ("media", "words"),
    [
        (Media.from_bytes(b"v", "video/mp4"), "takes no video"),
        (Media.from_url("https://x/y.wav"), "Media.from_bytes"),
        (Media.from_url("https://x/y.pdf"), "Media.from_bytes"),
        (Media.from_bytes(b"x", "audio/basic"), "audio/wav"),
        (Media.from_file("other", "file-1", "application/pdf"), "uploaded to 'other'"),
        (Media.from_file("test", "file-1", "image/png"), "uploaded file"),
        (Media(media_type="image/png", source=HandleSource(handle="media://sha256-" + "0" * 64)), "handle"),
    ],
)
def test_row_103_what_cannot_go_is_refused_naming_message_part_and_remedy(chat: Any, media: Media, words: str) -> None:
    with pytest.raises(CapabilityError) as caught:
        chat.lowered(ask(HELLO, Message.user("look", media)))
    error = caught.value
    assert words in error.message
    assert error.message.startswith("messages[1].content[1]: test/chat:m")
    assert (error.message_index, error.part_index, error.subject) == (1, 1, "media")


def test_media_shapes_are_route_data(chat: Any) -> None:
    model = chat.model(media={"document": "document_url", "video": "video_url", "audio": None})
    sent = ask(
        Message.user(
            Media.from_url("https://x/y.pdf", name="y"),
            Media.from_url("https://x/y.mp4"),
            Media.from_bytes(b"p", "application/pdf"),
        )
    )
    assert chat.body(sent, model)["messages"][0]["content"] == [
        {"type": "document_url", "document_url": "https://x/y.pdf", "document_name": "y"},
        {"type": "video_url", "video_url": {"url": "https://x/y.mp4"}},
        {"type": "document_url", "document_url": "data:application/pdf;base64,cA=="},
    ]
    with pytest.raises(CapabilityError, match="an uploaded file is not taken"):
        chat.lowered(ask(Message.user(Media.from_file("test", "f", "application/pdf"))), model)
    with pytest.raises(CapabilityError, match="a video goes"):
        chat.lowered(ask(Message.user(Media.from_file("test", "f", "video/mp4"))), model)
    with pytest.raises(CapabilityError, match="takes no audio"):
        chat.lowered(ask(Message.user(Media.from_bytes(b"w", "audio/wav"))), model)
    by_url = chat.body(ask(Message.user(Media.from_url("https://x/y.pdf"))), chat.model(media={"document": "file_url"}))
    assert by_url["messages"][0]["content"][0]["file"] == {"filename": "document.pdf", "file_data": "https://x/y.pdf"}


# -- calls and ids


def test_row_98_ids_go_as_the_provider_sent_them_to_itself_and_derived_to_others(chat: Any) -> None:
    call = own_call()
    sent = ask(HELLO, Message.assistant(call), Message.tool(call, "7"))
    nine = chat.model("other", tool_ids=IdRule(characters="alphanumeric", length=9, exact=True))
    home, away = chat.body(sent)["messages"], chat.body(sent, nine)["messages"]
    assert home[1]["tool_calls"][0]["id"] == home[2]["tool_call_id"] == "call_1"
    derived = away[1]["tool_calls"][0]["id"]
    assert derived == away[2]["tool_call_id"]
    assert len(derived) == 9
    assert derived.isalnum()
    assert chat.body(sent, nine)["messages"] == away


def test_row_03_calls_that_came_with_one_id_go_out_with_two(chat: Any) -> None:
    one = own_call(1)
    two = msgspec.structs.replace(own_call(2), wire_id="call_1")
    messages = chat.body(ask(HELLO, Message.assistant(one, two), Message.tool(two, "2"), Message.tool(one, "1")))[
        "messages"
    ]
    ids = [call["id"] for call in messages[1]["tool_calls"]]
    assert len(set(ids)) == 2
    assert [message["tool_call_id"] for message in messages[2:]] == [ids[1], ids[0]]


@pytest.mark.parametrize("arguments", ['{"a":', "[1]", "null", '{"a": NaN}'])
def test_row_89_invalid_arguments_go_back_as_legal_json_with_a_warning(chat: Any, arguments: str) -> None:
    for error in (None, "not JSON"):
        call = own_call(arguments=arguments, error=error)
        sent = ask(HELLO, Message.assistant(call), Message.tool(call, "bad arguments", is_error=True))
        assert chat.body(sent)["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"
        assert [warning.subject for warning in chat.lowered(sent).warnings] == ["tool_call.arguments"]


def test_arguments_go_back_unchanged(chat: Any) -> None:
    text = '{ "b" : 1,\n "a": [1.0, "\\u00e9"] }'
    call = own_call(arguments=text)
    sent = ask(HELLO, Message.assistant(call), Message.tool(call, "7"))
    assert chat.body(sent)["messages"][1]["tool_calls"][0]["function"]["arguments"] == text


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (Message(role="user", content=(own_call(),)), "a user message holds no tool_call part"),
        (Message(role="tool", content=(Text(text="7"),)), "a tool message holds one result, not text"),
    ],
)
def test_a_part_in_a_message_that_may_not_hold_it_is_refused(chat: Any, message: Message, words: str) -> None:
    with pytest.raises(InvalidRequestError, match=rf"messages\[1\]\.content\[0\]: {words}"):
        chat.lowered(ask(HELLO, message))


def test_a_block_of_the_services_own_goes_back_to_it_in_its_place(chat: Any) -> None:
    block = Opaque(kind="reference", data=msgspec.Raw(b'{"type":"reference","ids":[1.0]}'), origin=OWN)
    sent = ask(HELLO, Message.assistant("a", block, "b"), HELLO)
    assert b'[{"type":"text","text":"a"},{"type":"reference","ids":[1.0]},{"type":"text","text":"b"}]' in (
        msgspec.json.encode(chat.lowered(sent).body)
    )
    away = chat.lowered(sent, chat.model("other"))
    assert [message.content for message in away.body.messages][1] == "ab"
    assert [warning.part_type for warning in away.warnings] == ["opaque"]


def test_a_result_without_its_call_is_refused(chat: Any) -> None:
    with pytest.raises(InvalidRequestError, match=r"messages\[1\].*'tu_9'"):
        chat.lowered(ask(HELLO, Message.tool("tu_9", "7")))


def test_a_foreign_name_that_is_illegal_here_is_made_legal_with_a_warning(chat: Any) -> None:
    call = ToolCall(id="tu_1", name="mcp.server/f", origin=FOREIGN)
    sent = ask(HELLO, Message.assistant(call), Message.tool(call, "7"))
    assert chat.body(sent)["messages"][1]["tool_calls"][0]["function"]["name"] == "mcp_server_f"
    assert [warning.subject for warning in chat.lowered(sent).warnings] == ["tool_call.name"]


def test_custom_calls_go_back_as_they_came_and_to_others_as_a_function(chat: Any) -> None:
    call = own_call(arguments='"SELECT 1"', provider_metadata={"type": "custom"})
    sent = ask(HELLO, Message.assistant(call), Message.tool(call, "1"))
    assert chat.body(sent)["messages"][1]["tool_calls"] == [
        {"type": "custom", "id": "call_1", "custom": {"name": "f", "input": "SELECT 1"}}
    ]
    away = chat.body(sent, chat.model("other"))["messages"][1]["tool_calls"][0]
    assert json.loads(away["function"]["arguments"]) == {"input": "SELECT 1"}


# -- reasoning


def thought(
    text: str = "hm", field: str | None = "reasoning_content", origin: Origin | None = OWN, **more: Any
) -> Reasoning:
    metadata = None if field is None else {"field": field, **more}
    return Reasoning(text=text, provider_metadata=metadata, origin=origin)


TURN = (HELLO, Message.assistant(thought(), CALL), Message.tool(CALL, "7"), Message.assistant(thought("so"), "it is 7"))


@pytest.mark.parametrize(
    ("policy", "sent"),
    [("never", [None, None]), ("tool_turns", ["hm", "so"]), ("always", ["hm", "so"])],
)
def test_row_25_reasoning_of_tool_turns_goes_back_by_route_policy(chat: Any, policy: str, sent: list[Any]) -> None:
    messages = chat.body(ask(*TURN, HELLO), chat.model(reasoning_replay=policy))["messages"]
    assert [m.get("reasoning_content") for m in messages if m["role"] == "assistant"] == sent


def test_row_25_reasoning_outside_of_tool_turns_goes_back_only_where_all_does(chat: Any) -> None:
    turn = ask(HELLO, Message.assistant(thought(), "hi"), HELLO)
    seen = {
        policy: chat.body(turn, chat.model(reasoning_replay=policy))["messages"][1].get("reasoning_content")
        for policy in ("never", "tool_turns", "always")
    }
    assert seen == {"never": None, "tool_turns": None, "always": "hm"}


def test_row_25_the_key_is_there_and_blank_where_the_service_demands_it(chat: Any) -> None:
    call = ToolCall(id="tu_1", name="f", origin=FOREIGN)
    sent = ask(
        HELLO,
        Message.assistant(call),
        Message.tool(call, "7"),
        Message.assistant("x"),
        HELLO,
        Message.assistant("y"),
        HELLO,
    )
    messages = chat.body(sent, chat.model(reasoning_replay="tool_turns", reasoning_blank=True))["messages"]
    assert [m.get("reasoning_content") for m in messages if m["role"] == "assistant"] == ["", "", None]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_reasoning_goes_back_under_the_field_that_it_came_in(chat: Any, field: str) -> None:
    sent = ask(HELLO, Message.assistant(thought(field=field), "hi"), HELLO)
    message = chat.body(sent, chat.model(reasoning_replay="always"))["messages"][1]
    assert message == {"role": "assistant", "content": "hi", field: "hm"}


@pytest.mark.parametrize(("quirk", "field"), [("reasoning", "reasoning"), ("reasoning_details", "reasoning")])
def test_reasoning_without_a_field_goes_under_the_routes(chat: Any, quirk: str, field: str) -> None:
    sent = ask(HELLO, Message.assistant(thought(field=None, origin=None), "hi"), HELLO)
    model = chat.model(reasoning_replay="always", reasoning_field=quirk)
    assert chat.body(sent, model)["messages"][1][field] == "hm"


def test_thinking_goes_back_as_a_part_of_the_content(chat: Any) -> None:
    sent = ask(HELLO, Message.assistant(thought(field="thinking"), "hi"), HELLO)
    message = chat.body(sent, chat.model(reasoning_replay="always", reasoning_field="thinking"))["messages"][1]
    assert message["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "hi"},
    ]


def test_row_27_reasoning_details_go_back_verbatim(chat: Any) -> None:
    details = [{"type": "reasoning.encrypted", "data": "A==", "id": "rs_1", "format": "f", "index": 0}]
    parts = thought("", "reasoning_details", reasoning_details=details), thought("s", "reasoning_details")
    sent = ask(HELLO, Message.assistant(*parts, "hi"), HELLO)
    message = chat.body(sent, chat.model(reasoning_replay="always"))["messages"][1]
    assert message == {"role": "assistant", "content": "hi", "reasoning_details": details}


def test_reasoning_alone_is_a_message(chat: Any) -> None:
    sent = ask(HELLO, Message.assistant(thought()), HELLO)
    assert chat.body(sent, chat.model(reasoning_replay="always"))["messages"][1] == {
        "role": "assistant",
        "content": "",
        "reasoning_content": "hm",
    }


@pytest.mark.parametrize("policy", ["never", "tool_turns", "always"])
def test_row_24_foreign_reasoning_never_goes_and_says_so(chat: Any, policy: str) -> None:
    sent = ask(HELLO, Message.assistant(thought(origin=FOREIGN), "hi"), HELLO)
    model = chat.model(reasoning_replay=policy)
    assert chat.body(sent, model)["messages"][1] == {"role": "assistant", "content": "hi"}
    (warning,) = chat.lowered(sent, model).warnings
    assert (warning.subject, warning.message_index, warning.part_index) == ("reasoning", 1, 0)
    with pytest.raises(CapabilityError, match="critical"):
        chat.lowered(ask(HELLO, msgspec.structs.replace(sent.messages[1], critical=True), HELLO), model)


# -- properties


TEXT = st.text(min_size=1, max_size=8).filter(str.strip)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """Valid histories: turns of a user, perhaps with calls and all their results."""
    messages, number = list[Message](), itertools.count()
    for _ in range(draw(st.integers(1, 4))):
        messages.append(Message.user(draw(TEXT)))
        for _ in range(draw(st.integers(0, 2))):
            calls = [
                ToolCall(
                    id=f"tu_{next(number)}",
                    name="f",
                    wire_id=draw(st.none() | st.just("w")),
                    origin=draw(st.none() | st.just(OWN)),
                )
                for _ in range(draw(st.integers(1, 3)))
            ]
            messages.append(Message.assistant(thought(draw(TEXT)), draw(TEXT), *calls))
            messages.extend([Message.tool(call, draw(TEXT), *([PNG] if draw(st.booleans()) else [])) for call in calls])
        messages.append(Message.assistant(draw(TEXT)))
    return tuple(messages)


@settings(max_examples=100, deadline=None)
@given(history=histories(), replay=st.sampled_from(["never", "tool_turns", "always"]), nine=st.booleans())
def test_row_94_an_appended_turn_is_a_pure_suffix(history: tuple[Message, ...], replay: str, nine: bool) -> None:
    from llmcore.protocols.openai_chat import OPENAI_CHAT

    rule = IdRule(characters="alphanumeric", length=9, exact=True) if nine else IdRule()
    model = _model(reasoning_replay=replay, tool_ids=rule)
    lengths = [end for end in range(1, len(history)) if history[end].role in ("user", "assistant")]
    whole = OPENAI_CHAT.lower(ask(*history), model, False).body.messages
    for end in lengths:
        part = OPENAI_CHAT.lower(ask(*history[:end]), model, False).body.messages
        assert whole[: len(part)] == part
        ids = [call.id for message in part if message.tool_calls for call in message.tool_calls]
        assert len(ids) == len(set(ids))


def _model(**quirks: Any) -> Any:
    from llmcore.auth import none
    from llmcore.framing import SSE
    from llmcore.protocols.openai_chat import OPENAI_CHAT
    from llmcore.route import Route, post

    route = Route(
        id="test/chat",
        protocol=OPENAI_CHAT,
        base_url="https://h/v1",
        endpoint=post("/x"),
        auth=none(),
        framing=SSE,
        quirks=Quirks(**quirks),
    )
    return route.model("m")


def test_row_94_bodies_are_the_same_bytes_each_time(chat: Any) -> None:
    sent = ask(*TURN, HELLO, system="s", tools=(F, G), generation=Generation(temperature=0.5, stop=("a",)))
    first = msgspec.json.encode(chat.lowered(sent).body)
    again = msgspec.json.decode(msgspec.json.encode(sent), type=Request)
    assert msgspec.json.encode(chat.lowered(again).body) == first


# -- hints and records that have no place


CITED = Text(text="x", citations=(Citation(url="u"),))
HINTS: list[tuple[str, Request, list[tuple[str, int, int]]]] = [
    (
        "detail of what is no image",
        ask(
            Message.user(
                Media.from_bytes(b"p", "application/pdf", detail="low"),
                Media.from_bytes(b"w", "audio/wav", detail="low"),
            )
        ),
        [("media.detail", 0, 0), ("media.detail", 0, 1)],
    ),
    (
        "names of images and sounds, and of a file that has one where it is",
        ask(
            Message.user(
                Media.from_bytes(b"p", "image/png", name="n"),
                Media.from_bytes(b"w", "audio/wav", name="n"),
                Media.from_file("test", "file-1", "application/pdf", name="n"),
                Media.from_bytes(b"p", "application/pdf", name="n"),
            )
        ),
        [("media.name", 0, 0), ("media.name", 0, 1), ("media.name", 0, 2)],
    ),
    (
        "the transcript of a sound",
        ask(Message.user("x", Media.from_bytes(b"w", "audio/wav", transcript="t"))),
        [("media.transcript", 0, 1)],
    ),
    (
        "sources",
        ask(Message.user(CITED), Message.assistant(CITED, CALL), Message.tool(CALL, CITED)),
        [("text.citations", 0, 0), ("text.citations", 1, 0), ("text.citations", 2, 0)],
    ),
    (
        "the name of an image in a result",
        ask(HELLO, Message.assistant(CALL), Message.tool(CALL, Media.from_bytes(b"p", "image/png", name="n"))),
        [("media.name", 2, 0)],
    ),
]


@pytest.mark.parametrize(("sent", "expected"), [row[1:] for row in HINTS], ids=[row[0] for row in HINTS])
def test_hints_without_a_place_are_warned_of_and_never_refuse_a_critical_message(
    chat: Any, sent: Request, expected: list[tuple[str, int, int]]
) -> None:
    critical = tuple(msgspec.structs.replace(message, critical=True) for message in sent.messages)
    for request in (sent, msgspec.structs.replace(sent, messages=critical)):
        warnings = chat.lowered(request).warnings
        assert [(warning.subject, warning.message_index, warning.part_index) for warning in warnings] == expected


def test_row_82_cache_hints_inside_results_and_on_parts_of_answers_are_counted(chat: Any) -> None:
    marked = msgspec.structs.replace(PNG, cache="5m")
    result = Message.tool(CALL, Text(text="x", cache="5m"), Json(value=1, cache="1h"), marked, marked)
    opaque = Opaque(kind="k", data=msgspec.Raw(b"{}"), cache="5m", origin=OWN)
    sent = ask(HELLO, Message.assistant(opaque, msgspec.structs.replace(CALL, cache="5m")), result)
    lowered = chat.lowered(sent, chat.model(cache_breakpoints=1))
    assert json.dumps(chat.body(sent, chat.model(cache_breakpoints=1))).count("cache_control") == 1
    assert [warning.reason.partition(":")[0] for warning in lowered.warnings] == ["5 cache hints left out"]


@pytest.mark.parametrize(
    ("policy", "reasoning", "lost"),
    [
        ("never", Reasoning(text="hm", origin=OWN), 0),
        ("never", Reasoning(text="hm", origin=FOREIGN), 1),
        ("never", Reasoning(text="hm"), 1),
        ("tool_turns", Reasoning(text="hm", origin=OWN), 0),
        ("tool_turns", Reasoning(text="hm", origin=FOREIGN), 1),
        ("always", Reasoning(text="hm", origin=OWN), 0),
        ("always", Reasoning(text="hm", origin=FOREIGN), 1),
    ],
)
def test_the_services_own_reasoning_that_it_does_not_want_back_is_no_loss(
    chat: Any, policy: str, reasoning: Reasoning, lost: int
) -> None:
    model = chat.model(reasoning_replay=policy)
    sent = ask(HELLO, Message.assistant(reasoning, "a"), HELLO)
    assert [warning.subject for warning in chat.lowered(sent, model).warnings] == ["reasoning"] * lost
    assert ("hm" in json.dumps(chat.body(sent, model))) is (policy == "always" and not lost)
    if policy != "always":
        critical = msgspec.structs.replace(sent.messages[1], critical=True)
        with pytest.raises(CapabilityError, match="critical"):
            chat.lowered(ask(HELLO, critical, HELLO), model)
