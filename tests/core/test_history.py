"""Histories: what can be sent, and that whatever an interruption leaves can be mended into it."""

import copy
from collections.abc import Sequence
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from llmcore.errors import InvalidRequestError
from llmcore.fields import FIELDS
from llmcore.history import NOT_RUN, UNAVAILABLE, problems, repair, validate
from llmcore.schema import (
    CacheOptions,
    Generation,
    HostedTool,
    HttpExtras,
    Json,
    JsonFormat,
    Media,
    Message,
    MessageMetadata,
    MessageStatus,
    Opaque,
    Part,
    Reasoning,
    ReasoningOptions,
    Request,
    RequestTool,
    ResponseFormat,
    ResultPart,
    Text,
    TextFormat,
    ToolCall,
    ToolChoice,
    ToolDefinition,
    ToolResult,
)
from llmcore.sendable import TEXTS

PNG = Media.from_bytes(b"\x89PNG", "image/png")
OPAQUE = Opaque(kind="k", data=msgspec.Raw(b"{}"))
USER = Message.user("hi")
LONE = "\ud83d"


def call(id: str, name: str = "f", error: str | None = None, hosted: bool = False) -> ToolCall:
    return ToolCall(id=id, name=name, error=error, provider_executed=hosted)


def hosted(id: str) -> ToolResult:
    return ToolResult(tool_call_id=id, content=(Text(text="found"),), provider_executed=True)


def with_status(message: Message, status: MessageStatus) -> Message:
    return msgspec.structs.replace(message, metadata=MessageMetadata(status=status))


def kinds(history: Sequence[Message]) -> list[str]:
    return [one.kind for one in repair(history).repairs]


# ---- valid histories

VALID: dict[str, Sequence[Message]] = {
    "nothing": [],
    "one prompt": [USER],
    "media alone": [Message.user(PNG)],
    "blank text beside media": [Message.user(" ", PNG)],
    "system only, and empty": [Message.system()],
    "a late system message": [USER, Message.assistant("a"), Message.system("b"), USER],
    "a turn with a call": [USER, Message.assistant("a", call("1")), Message.tool("1", "r"), Message.assistant("b")],
    "blank text beside a call": [USER, Message.assistant("\n\n", call("1")), Message.tool("1")],
    "results in any order": [
        *(USER, Message.assistant(call("1"), call("2"), call("3"))),
        *(Message.tool("3", "c"), Message.tool("1", PNG), Message.tool("2", Json(value=None), is_error=True)),
    ],
    "a call whose arguments do not parse, answered": [Message.assistant(call("1", error="e")), Message.tool("1", "no")],
    "a provider's own call without result": [USER, Message.assistant(call("1", hosted=True), "a")],
    "a provider's own call with result": [USER, Message.assistant(call("1", hosted=True), hosted("1"), "a")],
    "its result in a later message": [Message.assistant(call("1", hosted=True)), USER, Message.assistant(hosted("1"))],
    "both kinds of calls": [
        Message.assistant(call("1", hosted=True), call("2"), hosted("1")),
        Message.tool("2", "r"),
    ],
    "opaque alone": [USER, Message.assistant(OPAQUE), USER],
    "reasoning alone": [USER, Message.assistant(Reasoning(text="hm")), USER],
    "a signature without text": [USER, Message.assistant(Reasoning(signature="s")), USER],
    "blank text with a provider's state": [Message.assistant(Text(text="", provider_metadata={"signature": "s"}))],
    "what was cut and still says something": [USER, with_status(Message.assistant("ha"), "partial"), USER],
    "two messages of one id": [Message.user("a", id="1"), Message.user("a", id="1")],
    "consecutive turns of one role": [USER, USER, Message.assistant("a"), Message.assistant("b")],
}


@pytest.mark.parametrize("name", VALID)
def test_a_valid_history_is_sendable_and_repair_leaves_it_alone(name: str) -> None:
    history = VALID[name]
    assert list(problems(history)) == []
    validate(history)
    validate(Request(messages=tuple(history), system="s"))
    repaired = repair(history)
    assert repaired.repairs == ()
    assert len(repaired.messages) == len(history)
    assert all(ours is theirs for ours, theirs in zip(repaired.messages, history, strict=True))


# ---- values of wrong types, from callers who ask no type checker


def problem_of(history: Any) -> tuple[str, str]:
    """Where the first problem is, and the whole sentence."""
    with pytest.raises(InvalidRequestError) as caught:
        validate(history)
    return str(caught.value.param), caught.value.message


def odd(value: object) -> Any:
    return value


ODD_PARTS: dict[str, tuple[Message, str, str]] = {
    "a dict as a result": (
        Message.tool("1", odd({"degrees": 21})),
        "a dict is no part of the result of a tool",
        "wrap it in Json(value=...)",
    ),
    "a number as a result": (Message.tool("1", odd(21)), "an int is no part", "wrap it in Json"),
    "None as a result": (Message.tool("1", odd(None)), "a NoneType is no part", "wrap it in Json"),
    "a result inside a result": (
        Message.tool("1", odd(ToolResult(tool_call_id="1"))),
        "a tool_result is no part of the result of a tool",
        "Message.tool(...)",
    ),
    "a result whose content is one text": (
        Message(role="tool", content=(ToolResult(tool_call_id="1", content=odd("text")),)),
        "the content of its result is a str",
        "Message.tool(call, ...)",
    ),
    "text that is no str in a result": (
        Message.tool("1", Text(text=odd(7))),
        "`text` of its text part is an int",
        "pass a str",
    ),
    "a result whose id is none": (
        Message(role="tool", content=(ToolResult(tool_call_id=odd(1)),)),
        "`tool_call_id` of its tool_result part is an int",
        "pass a str",
    ),
    "text that is no str": (Message.user(Text(text=odd(None))), "`text` of its text part is a NoneType", "pass a str"),
    "a dict in a prompt": (Message.user(odd({"a": 1})), "a dict is no part of a user message", "llmcore.schema"),
    "arguments as a dict": (
        Message.assistant(ToolCall(id="2", name="f", arguments=odd({"a": 1}))),
        "`arguments` of its tool_call part is a dict",
        "pass a str",
    ),
    "a call without a name": (
        Message.assistant(ToolCall(id="2", name=odd(None))),
        "`name` of its tool_call part is a NoneType",
        "pass a str",
    ),
    "reasoning that is no text": (Message.assistant(Reasoning(text=odd(1))), "`text` of its reasoning", "pass a str"),
    "an opaque block of a dict": (
        Message.assistant(Opaque(kind="k", data=odd({"a": 1}))),
        "`data` of its opaque part is a dict",
        "msgspec.Raw(json_bytes)",
    ),
}


@pytest.mark.parametrize("name", ODD_PARTS)
def test_a_part_of_a_wrong_type_is_refused_naming_message_part_and_remedy(name: str) -> None:
    message, what, remedy = ODD_PARTS[name]
    where, sentence = problem_of(Request(messages=(USER, Message.assistant(call("1")), message)))
    assert where == "messages[2].content[0]"
    assert sentence.startswith(f"{where}: ")
    assert what in sentence
    assert remedy in sentence
    with pytest.raises(InvalidRequestError):
        repair([USER, Message.assistant(call("1")), message])


def test_metadata_of_a_message_that_is_a_dict_is_refused() -> None:
    message = msgspec.structs.replace(Message.assistant("a"), metadata=odd({"provider": "p"}))
    assert problem_of([message]) == (
        "messages[0]",
        "messages[0]: its metadata is a dict, not a MessageMetadata; make it with MessageMetadata(...)",
    )


F = ToolDefinition(name="f")
ODD_FIELDS: dict[str, tuple[dict[str, Any], str, str]] = {
    "parameters that are a text": (
        {"tools": (F, ToolDefinition(name="g", parameters=odd("{}")))},
        "tools[1].parameters",
        "a str stands where a dict belongs",
    ),
    "parameters without JSON": (
        {"tools": (F, ToolDefinition(name="g", parameters={"type": object()}))},
        "tools[1].parameters",
        "no JSON",
    ),
    "a schema that is a class": (
        {"response_format": JsonFormat(schema=odd(dict))},
        "response_format.schema",
        "a type stands where a dict (or None) belongs",
    ),
    "a schema without JSON": (
        {"response_format": JsonFormat(schema={"a": odd(print)})},
        "response_format.schema",
        "no JSON",
    ),
    "a name as a tool": ({"tools": ["f"]}, "tools[0]", "make it with ToolDefinition(...) or HostedTool(...)"),
    "one tool alone": ({"tools": F}, "tools", "a ToolDefinition stands where a tuple belongs"),
    "a word as the choice": ({"tool_choice": "auto"}, "tool_choice", "make it with ToolChoice(...)"),
    "a dict as generation": ({"generation": {"seed": 1}}, "generation", "make it with Generation(...)"),
    "a number as system": ({"system": 7}, "system", "an int stands where a str or tuple belongs"),
    "texts as system": ({"system": ("a",)}, "system[0]", "make it with Text(...)"),
    "a system text of bytes": ({"system": (Text(text=odd(b"")),)}, "system[0].text", "a bytes stands where a str"),
    "a word as temperature": (
        {"generation": Generation(temperature=odd("hot"))},
        "generation.temperature",
        "int or float",
    ),
    "true as a count": (
        {"generation": Generation(max_tokens=True)},
        "generation.max_tokens",
        "a bool stands where an int",
    ),
    "a fraction as a count": ({"generation": Generation(seed=odd(0.5))}, "generation.seed", "a float stands"),
    "one stop as a text": (
        {"generation": Generation(stop=odd("END"))},
        "generation.stop",
        "a str stands where a tuple",
    ),
    "a stop that is no text": ({"generation": Generation(stop=odd((1,)))}, "generation.stop[0]", "where a str belongs"),
    "a name of a tool": ({"tools": (ToolDefinition(name=odd(None)),)}, "tools[0].name", "where a str belongs"),
    "one modality as a text": ({"output_modalities": "audio"}, "output_modalities", "where a tuple belongs"),
    "an effort in numbers": ({"reasoning": ReasoningOptions(effort=odd(3))}, "reasoning.effort", "a str (or None)"),
    "a header in numbers": (
        {"http": HttpExtras(headers=odd({"x-a": 1}))},
        "http.headers['x-a']",
        "where a str belongs",
    ),
    "options that are no dict": ({"provider_options": ["a"]}, "provider_options", "where a dict belongs"),
    "options without JSON": ({"provider_options": {"p": {"a": object()}}}, "provider_options", "no JSON"),
    "messages that are one": ({"messages": "hi"}, "messages", "where a tuple belongs"),
}


@pytest.mark.parametrize("name", ODD_FIELDS)
def test_a_field_of_a_wrong_type_is_refused_by_its_name(name: str) -> None:
    fields, place, words = ODD_FIELDS[name]
    where, sentence = problem_of(Request(**{"messages": (USER,), **fields}))
    assert where == place
    assert sentence.startswith(f"{place}: ")
    assert words in sentence


def test_the_types_of_fields_are_said_of_every_field_of_a_request() -> None:
    for kind, fields in FIELDS.items():
        assert tuple(fields) == kind.__struct_fields__, kind
    assert {*get_args(RequestTool), *get_args(ResponseFormat)} <= set(FIELDS)
    assert set(TEXTS) == {*get_args(Part), *get_args(ResultPart)}
    for kind, names in TEXTS.items():
        texts = {field.name for field in msgspec.structs.fields(kind) if field.type is str}
        assert set(names) == (set() if kind is Media else texts)


@pytest.mark.parametrize(
    "request_",
    [
        Request(messages=odd([USER]), tools=odd([F]), system=odd([Text(text="s")])),
        Request(messages=(USER,), generation=Generation(temperature=1, top_p=0.5, stop=odd(["a"]), logprobs=True)),
        Request(messages=(USER,), provider_options={"p": CacheOptions(key="any struct")}, metadata={"a": "b"}),
        Request(
            messages=(USER,), tools=(HostedTool(kind="k"),), tool_choice=ToolChoice(), response_format=TextFormat()
        ),
    ],
)
def test_fields_of_right_types_are_taken_lists_too(request_: Request) -> None:
    assert list(problems(request_)) == []


# ---- what is refused: history, place, a word of what, a word of the remedy, the repairs that mend it

BROKEN: dict[str, tuple[Sequence[Message], str, str, list[str]]] = {
    "a call without result at the end": (
        [USER, Message.assistant("a", call("1"))],
        "messages[1].content[1]",
        "the call '1' has no result before messages[2]",
        ["answered"],
    ),
    "a call without result before a prompt": (
        [USER, Message.assistant(call("1")), USER],
        "messages[1].content[0]",
        "no result before messages[2]",
        ["answered"],
    ),
    "one of two calls without result": (
        [Message.assistant(call("1"), call("2")), Message.tool("2", "r"), USER],
        "messages[0].content[0]",
        "the call '1' has no result",
        ["answered"],
    ),
    "a result after something else": (
        [Message.assistant(call("1")), USER, Message.tool("1", "r")],
        "messages[0].content[0]",
        "no result before messages[1]",
        ["moved"],
    ),
    "a system message between call and result": (
        [Message.assistant(call("1")), Message.system("s"), Message.tool("1", "r")],
        "messages[0].content[0]",
        "no result before messages[1]",
        ["moved"],
    ),
    "a result of nothing": (
        [USER, Message.tool("9", "r"), USER],
        "messages[1].content[0]",
        "no call before has the id '9'",
        ["dropped_result"],
    ),
    "a result before its call": (
        [Message.tool("1", "r"), Message.assistant(call("1"))],
        "messages[0].content[0]",
        "no call before has the id '1'",
        ["dropped_result", "answered"],
    ),
    "a second result": (
        [Message.assistant(call("1")), Message.tool("1", "a"), Message.tool("1", "b")],
        "messages[2].content[0]",
        "the call '1' has a result already",
        ["dropped_result"],
    ),
    "a result of ours for a call of the provider's": (
        [Message.assistant(call("1", hosted=True)), Message.tool("1", "r")],
        "messages[1].content[0]",
        "does not stand directly behind",
        ["dropped_result"],
    ),
    "a result of the provider's for nothing": (
        [Message.assistant("a", hosted("1"))],
        "messages[0].content[1]",
        "no call before has the id '1'",
        ["dropped_result"],
    ),
    "a message of nothing but that": (
        [USER, Message.assistant(hosted("1"))],
        "messages[1].content[0]",
        "no call before",
        ["dropped_result", "dropped_message"],
    ),
    "two calls of one id in a turn": (
        [Message.assistant(call("1"), call("1")), Message.tool("1", "a"), Message.tool("1", "b")],
        "messages[0].content[1]",
        "the call id '1' was used before",
        ["renamed"],
    ),
    "one id in two turns": (
        [Message.assistant(call("1")), Message.tool("1", "a"), Message.assistant(call("1")), Message.tool("1", "b")],
        "messages[2].content[0]",
        "used before",
        ["renamed"],
    ),
    "two results in a message": (
        [
            Message.assistant(call("1"), call("2")),
            Message(role="tool", content=(ToolResult(tool_call_id="1"), ToolResult(tool_call_id="2")), id="m"),
        ],
        "messages[1]",
        "exactly one result, this has 2",
        ["split"],
    ),
    "a tool message without a result": (
        [USER, Message(role="tool", content=())],
        "messages[1]",
        "exactly one result, this has 0",
        ["dropped_message"],
    ),
    "an empty prompt": ([Message.user(), USER], "messages[0]", "says nothing", ["dropped_message"]),
    "a blank prompt": ([USER, Message.user(" \n\t")], "messages[1]", "says nothing", ["dropped_message"]),
    "a reply that came empty": ([USER, Message.assistant(), USER], "messages[1]", "says nothing", ["dropped_message"]),
    "a blank reply": ([Message.assistant("", " "), USER], "messages[0]", "says nothing", ["dropped_message"]),
    "empty reasoning": ([Message.assistant(Reasoning()), USER], "messages[0]", "says nothing", ["dropped_message"]),
    "an abandoned stream that brought nothing": (
        [USER, with_status(Message.assistant(), "cancelled"), USER],
        "messages[1]",
        "says nothing",
        ["dropped_message"],
    ),
    "a call that was cut": (
        [USER, with_status(Message.assistant("a", call("1", error="it ended early")), "partial"), USER],
        "messages[1].content[1]",
        "no result",
        ["dropped_call"],
    ),
    "a cut call alone": (
        [USER, with_status(Message.assistant(call("1", error="it ended early")), "error"), USER],
        "messages[1].content[0]",
        "no result",
        ["dropped_call", "dropped_message"],
    ),
    "a whole call before one that was cut": (
        [with_status(Message.assistant(call("1"), call("2", error="it ended early")), "partial")],
        "messages[0].content[0]",
        "no result",
        ["dropped_call", "answered"],
    ),
    "a lone surrogate": (
        [USER, Message.user("a", f"b{LONE}")],
        "messages[1].content[1]",
        "lone surrogate",
        ["scrubbed"],
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_history_is_refused_with_place_and_remedy_and_mended(name: str) -> None:
    history, place, what, repairs = BROKEN[name]
    before = copy.deepcopy(history)
    for refused in (history, Request(messages=tuple(history))):
        with pytest.raises(InvalidRequestError) as caught:
            validate(refused)
        assert caught.value.param == place
        assert str(caught.value).startswith(f"{place}: ")
        assert what in str(caught.value)
        assert str(caught.value).endswith("or let llmcore.history.repair mend it")
    repaired = repair(history)
    assert [one.kind for one in repaired.repairs] == repairs
    assert all(one.reason for one in repaired.repairs)
    validate(repaired.messages)
    assert repair(repaired.messages).repairs == ()
    assert repair(history) == repaired
    assert history == before


BEYOND: dict[str, tuple[Sequence[object], str, str]] = {
    "a dict": (
        [{"role": "user", "content": "hi"}],
        "messages[0]",
        "a dict is not a Message; make it with Message.user",
    ),
    "an unknown role": ([Message(role="bot", content=())], "messages[0]", "'bot' is no role; use one of system, user"),  # type: ignore[arg-type]
    "content that is text": ([Message(role="user", content="hi")], "messages[0]", "the content is a str, not a tuple"),  # type: ignore[arg-type]
    "a part that is text": ([Message(role="user", content=("hi",))], "messages[0].content[0]", "a str is no part"),  # type: ignore[arg-type]
    "media of the system": ([Message(role="system", content=(PNG,))], "messages[0].content[0]", "put it into a user"),
    "a call of the user": ([Message(role="user", content=(call("1"),))], "messages[0].content[0]", "in assistant"),
    "thoughts of the user": (
        [USER, Message(role="user", content=(Reasoning(),))],
        "messages[1].content[0]",
        "reasoning",
    ),
    "an opaque prompt": ([Message(role="user", content=(Text(text="a"), OPAQUE))], "messages[0].content[1]", "opaque"),
    "JSON as a prompt": ([Message(role="user", content=(Json(value=1),))], "messages[0].content[0]", "send it as text"),  # type: ignore[arg-type]
    "a result of the user": (
        [Message(role="user", content=(ToolResult(tool_call_id="1"),))],
        "messages[0].content[0]",
        "a tool_result is no part of a user message; results of your tools go into Message.tool(...)",
    ),
    "our result in the assistant's": (
        [Message(role="assistant", content=(call("1"), ToolResult(tool_call_id="1")))],
        "messages[0].content[1]",
        "results of your tools go into Message.tool(...)",
    ),
    "a provider's result in a tool message": (
        [Message.assistant(call("1", hosted=True)), Message(role="tool", content=(hosted("1"),))],
        "messages[1].content[0]",
        "those that the provider made to the assistant",
    ),
    "text in a tool message": (
        [Message(role="tool", content=(Text(text="a"),))],
        "messages[0].content[0]",
        "no part of",
    ),
    "a value without JSON": (
        [Message.assistant(call("1")), Message.tool("1", Json(value={"a": object()}))],
        "messages[1].content[0]",
        "has no JSON",
    ),
}


@pytest.mark.parametrize("name", BEYOND)
def test_what_no_interruption_explains_is_refused_and_not_mended(name: str) -> None:
    history, place, what = BEYOND[name]
    for refuse in (validate, repair):
        with pytest.raises(InvalidRequestError) as caught:
            refuse(history)  # type: ignore[arg-type]
        assert caught.value.param == place
        assert what in str(caught.value)
        assert "history.repair" not in str(caught.value)


def test_a_request_says_something() -> None:
    with pytest.raises(InvalidRequestError, match="there is nothing to answer"):
        validate(Request())
    validate(Request(system="s"))


def test_surrogates_elsewhere_in_a_request_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="lone surrogate") as caught:
        validate(Request(system=f"s{LONE}", messages=(USER,)))
    assert caught.value.param == "system"
    assert "repair" not in str(caught.value)
    request = Request(messages=(USER, Message.user("a", id=LONE)))
    with pytest.raises(InvalidRequestError, match="lone surrogate") as caught:
        validate(request)
    assert caught.value.param == "messages[1]"


def test_all_problems_are_listed_in_order() -> None:
    history = [Message.assistant(call("1")), Message.user(), Message.tool("9", "r"), Message.user(LONE)]
    assert [(one.where, one.repairable) for one in problems(history)] == [
        ("messages[1]", True),
        ("messages[2].content[0]", True),
        ("messages[0].content[0]", True),
        ("messages[3].content[0]", True),
    ]


def test_no_message_repeats_a_long_value() -> None:
    history = [Message.assistant(call("x" * 5000)), Message.tool("y" * 5000, "r")]
    assert all(len(one.what) < 300 for one in problems(history))
    assert all(len(one.reason) < 300 for one in repair(history).repairs)


# ---- what comes out of repair


def test_hard_case_77_an_interrupted_run_can_go_on() -> None:
    first, second = call("tu_1", "search"), call("tu_2", "write")
    history = [USER, Message.assistant("on it", first, second), Message.tool(first, "found"), Message.user("go on")]
    repaired = repair(history)
    assert [message.role for message in repaired.messages] == ["user", "assistant", "tool", "tool", "user"]
    assert repaired.messages[2] is history[2]
    assert repaired.messages[3].content == (
        ToolResult(tool_call_id="tu_2", name="write", content=(Text(text=UNAVAILABLE),), is_error=True),
    )
    assert "may or may not have run" in UNAVAILABLE
    (done,) = repaired.repairs
    assert (done.kind, done.message_index, done.part_index) == ("answered", 1, 2)
    assert "write" in done.reason


def test_a_call_that_cannot_have_run_is_answered_so() -> None:
    repaired = repair([USER, Message.assistant(call("1", error="it ends early")), USER])
    assert repaired.messages[2].content == (
        ToolResult(tool_call_id="1", name="f", content=(Text(text=NOT_RUN),), is_error=True),
    )


def test_hard_case_79_results_stand_directly_behind_their_calls() -> None:
    history = [
        Message.assistant(call("1"), call("2"), call("3")),
        Message.tool("2", "two"),
        Message.user("wait"),
        Message.assistant(call("4")),
        Message.tool("1", "one"),
        Message.tool("4", "four"),
    ]
    repaired = repair(history).messages
    results = [
        part.tool_call_id for message in repaired[1:4] for part in message.content if isinstance(part, ToolResult)
    ]
    assert results == ["2", "1", "3"]  # as they stood, then what is missing
    assert [message.role for message in repaired[4:]] == ["user", "assistant", "tool"]
    assert repaired[6] is history[5]


def test_hard_case_3_results_stay_with_their_calls_when_an_id_is_used_twice() -> None:
    history = [
        Message.assistant(call("c", "a"), call("c", "b")),
        Message.tool("c", "of a"),
        Message.tool("c", "of b"),
        Message.assistant(call("c", "d"), call("c-2", "e")),
        Message.tool("c-2", "of e"),
        Message.tool("c", "of d"),
    ]
    repaired = repair(history)
    ids = [part.id for message in repaired.messages for part in message.tool_calls]
    assert ids == ["c", "c-3", "c-4", "c-2"]  # `c-2` is somebody's own
    texts = {
        part.tool_call_id: part.content[0].text
        for message in repaired.messages
        for part in message.content
        if isinstance(part, ToolResult) and isinstance(part.content[0], Text)
    }
    assert texts == {"c": "of a", "c-3": "of b", "c-4": "of d", "c-2": "of e"}


def test_a_lost_result_does_not_take_that_of_a_later_call_of_the_same_id() -> None:
    history = [Message.assistant(call("c", "a")), USER, Message.assistant(call("c", "b")), Message.tool("c", "of b")]
    repaired = repair(history).messages
    assert repaired[1].content == (
        ToolResult(tool_call_id="c", name="a", content=(Text(text=UNAVAILABLE),), is_error=True),
    )
    assert repaired[4].content == (ToolResult(tool_call_id="c-2", content=(Text(text="of b"),)),)


def test_results_that_share_a_message_are_parted() -> None:
    one, other = ToolResult(tool_call_id="1"), ToolResult(tool_call_id="2")
    both = Message(role="tool", content=(one, other), id="m", critical=True)
    repaired = repair([Message.assistant(call("1"), call("2")), both])
    assert [(message.id, message.content, message.critical) for message in repaired.messages[1:]] == [
        ("m", (one,), True),
        (None, (other,), True),
    ]


def test_hard_case_78_blank_text_goes_only_where_nothing_else_is_said() -> None:
    blank = Message.assistant("", call("1"))
    history = [USER, Message.assistant(" "), blank, Message.tool("1", " "), Message.system(" "), Message.user("")]
    repaired = repair(history)
    assert repaired.messages == (USER, blank, Message.tool("1", " "), Message.system(" "))
    assert [(one.kind, one.message_index) for one in repaired.repairs] == [
        ("dropped_message", 1),
        ("dropped_message", 5),
    ]


def test_hard_case_87_surrogates_are_replaced_wherever_they_stand() -> None:
    history = [
        Message.user(f"é{LONE}", id=f"i{LONE}"),
        Message.assistant(
            Text(text="a", provider_metadata={f"k{LONE}": [1, {"x": f"v{LONE}"}]}),
            ToolCall(id=f"1{LONE}", name="f", arguments=f'{{"a":"{LONE}"}}'),
        ),
        Message.tool(f"1{LONE}", Json(value=[f"{LONE}", None])),
        Message.user("\ud83d\ude00"),
    ]
    repaired = repair(history)
    assert [one.kind for one in repaired.repairs] == ["scrubbed"] * 4
    assert repaired.messages == (
        Message.user("é\ufffd", id="i\ufffd"),
        Message.assistant(
            Text(text="a", provider_metadata={"k\ufffd": [1, {"x": "v\ufffd"}]}),
            ToolCall(id="1\ufffd", name="f", arguments='{"a":"\ufffd"}'),
        ),
        Message.tool("1\ufffd", Json(value=["\ufffd", None])),
        Message.user("\U0001f600"),
    )
    assert "\ufffd".encode() in msgspec.json.encode(repaired)


def test_a_critical_message_loses_nothing() -> None:
    lost = Message.tool("9", "r", critical=True)
    with pytest.raises(InvalidRequestError, match="critical and may not lose it; mend it by hand") as caught:
        repair([USER, lost])
    assert caught.value.param == "messages[1].content[0]"
    assert kinds([USER, Message.user("", critical=True)]) == ["dropped_message"]


# ---- any interruption


PARTS = st.lists(
    st.sampled_from([Text(text="a"), Text(text=" "), Reasoning(text="r"), Reasoning(signature="s"), OPAQUE, PNG]),
    max_size=2,
)


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Valid histories: turns with up to three calls, of ours and of the provider's, results in any order."""
    out, number = list[Message](), 0
    for _ in range(draw(st.integers(1, 4))):
        out.append(Message.user(draw(st.sampled_from(["hi", "é"])), id=draw(st.sampled_from([None, "m"]))))
        for _ in range(draw(st.integers(0, 2))):
            content: list[Part] = [Text(text="so"), *draw(PARTS)]
            results = list[Message]()
            for _ in range(draw(st.integers(0, 3))):
                made = call(f"tu_{number}", draw(st.sampled_from(["f", "g"])), hosted=draw(st.booleans()))
                number += 1
                content.append(made)
                if not made.provider_executed:
                    results.append(Message.tool(made, f"result {made.id}"))
                elif draw(st.booleans()):
                    content.append(hosted(made.id))
            out += [Message(role="assistant", content=tuple(content)), *draw(st.permutations(results))]
    return out


def mutate(history: list[Message], draw: st.DrawFn) -> list[Message]:
    """One accident: something lost, doubled, swapped, blanked, renamed or broken off."""
    if not history:
        return history
    out = list(history)
    at = draw(st.integers(0, len(out) - 1))
    message = out[at]
    match draw(st.sampled_from(["cut", "lose", "double", "swap", "blank", "part", "id", "lone", "status", "merge"])):
        case "cut":
            del out[at:]
        case "lose":
            del out[at]
        case "double":
            out.insert(draw(st.integers(0, len(out))), message)
        case "swap":
            other = draw(st.integers(0, len(out) - 1))
            out[at], out[other] = out[other], out[at]
        case "blank":
            out[at] = msgspec.structs.replace(message, content=(Text(text=" "),) if message.role != "tool" else ())
        case "part":
            keep = draw(st.integers(0, len(message.content)))
            out[at] = msgspec.structs.replace(message, content=message.content[:keep])
        case "id":
            changed = [
                msgspec.structs.replace(part, id="tu_0") if isinstance(part, ToolCall) else part
                for part in message.content
            ]
            out[at] = msgspec.structs.replace(message, content=tuple(changed))
        case "lone":
            changed = [
                msgspec.structs.replace(part, text=f"a{LONE}") if isinstance(part, Text) else part
                for part in message.content
            ]
            out[at] = msgspec.structs.replace(message, content=tuple(changed))
        case "status":
            changed = [
                msgspec.structs.replace(part, error="cut") if isinstance(part, ToolCall) else part
                for part in message.content
            ]
            out[at] = with_status(msgspec.structs.replace(message, content=tuple(changed)), "partial")
        case _:
            nearby = out[at + 1] if at + 1 < len(out) else message
            if message.role == nearby.role == "tool" and nearby is not message:
                out[at : at + 2] = [msgspec.structs.replace(message, content=message.content + nearby.content)]
    return out


@st.composite
def accidents(draw: st.DrawFn) -> list[Message]:
    history = draw(histories())
    for _ in range(draw(st.integers(1, 4))):
        history = mutate(history, draw)
    return history


@given(histories())
@settings(max_examples=100, deadline=None)
def test_generated_histories_are_valid_and_left_alone(history: list[Message]) -> None:
    assert list(problems(history)) == []
    repaired = repair(history)
    assert repaired.repairs == ()
    assert all(ours is theirs for ours, theirs in zip(repaired.messages, history, strict=True))


@given(histories(), st.integers(0, 30))
@settings(max_examples=100, deadline=None)
def test_hard_case_77_a_history_cut_anywhere_can_be_mended(history: list[Message], end: int) -> None:
    repaired = repair(history[:end])
    validate(repaired.messages)
    assert {one.kind for one in repaired.repairs} <= {"answered"}
    kept = [message for message in repaired.messages if message in history]
    assert kept == history[:end]


@given(accidents())
@settings(max_examples=200, deadline=None)
@example(
    [Message.tool("1", "a"), Message.assistant(call("1"), call("1")), Message.tool("1", "b"), Message.tool("1", "b")]
)
def test_any_accident_is_mended_on_a_copy_once_and_for_all(history: list[Message]) -> None:
    before = copy.deepcopy(history)
    repaired = repair(history)
    assert list(problems(repaired.messages)) == []
    assert history == before
    assert repair(history) == repaired
    again = repair(repaired.messages)
    assert again.repairs == ()
    assert again.messages == repaired.messages
    assert (not repaired.repairs) is (not list(problems(history)))
    # Nothing of the user's is lost but what says nothing, and no answered call is.
    said = [message.text for message in repaired.messages if message.role == "user"]
    assert said == [m.text.replace(LONE, "\ufffd") for m in history if m.role == "user" and m.text.strip()]
    for one in repaired.repairs:
        assert 0 <= one.message_index < len(history)
