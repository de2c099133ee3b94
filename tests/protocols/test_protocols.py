"""What holds for every protocol: its tables fit its structs, and no field of a request is lost silently."""

import importlib
import pkgutil
from collections.abc import Callable
from types import ModuleType
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

import llmcore.protocols
from llmcore.auth import none
from llmcore.errors import LLMError
from llmcore.framing import SSE
from llmcore.protocol import Protocol
from llmcore.route import Route, post
from llmcore.schema.message import Message
from llmcore.schema.parts import (
    Citation,
    Json,
    Media,
    Opaque,
    Origin,
    Part,
    Reasoning,
    ResultPart,
    Text,
    TokenLogprob,
    ToolCall,
    ToolResult,
    UrlSource,
)
from llmcore.schema.request import (
    CacheOptions,
    Generation,
    HostedTool,
    HttpExtras,
    JsonFormat,
    ReasoningOptions,
    Request,
    ToolChoice,
    ToolDefinition,
)

MODULES = [
    importlib.import_module(f"llmcore.protocols.{found.name}")
    for found in pkgutil.iter_modules(llmcore.protocols.__path__)
]

DISCRIMINATES: dict[str, str] = {"openai_chat": "Delta"}
"""The struct whose fields (or the union whose tags) the handlers of a protocol are keyed by."""


def name_of(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def protocol_of(module: ModuleType) -> Protocol[Any, Any]:
    (found,) = [value for value in vars(module).values() if isinstance(value, Protocol)]
    return found


@pytest.fixture(params=MODULES, ids=name_of)
def module(request: pytest.FixtureRequest) -> ModuleType:
    return request.param


@pytest.fixture
def model(module: ModuleType) -> Any:
    protocol = protocol_of(module)
    route = Route(
        id="test/api", protocol=protocol, base_url="https://h/v1", endpoint=post("/x"), auth=none(), framing=SSE
    )
    return route.model("m")


def wire_types(module: ModuleType) -> dict[str, Any]:
    """Key of the handlers' table to the type that it stands for."""
    wire = getattr(module, DISCRIMINATES[name_of(module)])
    if isinstance(wire, type) and issubclass(wire, msgspec.Struct):
        hints = get_type_hints(wire)
        return {name: hints[name] for name in wire.__struct_fields__}
    return {member.__struct_config__.tag: member for member in get_args(wire)}


def test_the_handlers_are_keyed_by_what_the_wire_discriminates_by(module: ModuleType) -> None:
    assert set(module.HANDLERS) == set(wire_types(module))


def test_each_handler_takes_what_its_key_stands_for(module: ModuleType) -> None:
    for key, kind in wire_types(module).items():
        takes = list(get_type_hints(module.HANDLERS[key]).values())[1]
        without_none = tuple(arm for arm in get_args(kind) if arm is not type(None)) or (kind,)
        assert set(get_args(takes) if get_args(takes) and len(without_none) > 1 else (takes,)) == set(without_none), key


def test_quirks_and_options_are_frozen_with_defaults(module: ModuleType) -> None:
    protocol = protocol_of(module)
    for struct in (protocol.quirks(), protocol.options()):
        assert struct.__struct_config__.frozen
    for kind in (protocol.quirks, protocol.options):
        assert all(not field.required for field in msgspec.structs.fields(kind))


TOOL = ToolDefinition(name="known_tool", description="a tool")
BASE = Request(messages=(Message.user("hello"),))
CALL = ToolCall(id="tu_1", name="known_tool", arguments='{"marker": 1}')

SETTINGS: dict[str, Request] = {
    "system": Request(system="marker", messages=BASE.messages),
    "messages": Request(messages=(*BASE.messages, Message.assistant("marker"), Message.user("again"))),
    "tools": Request(messages=BASE.messages, tools=(TOOL,)),
    "tool_choice": Request(messages=BASE.messages, tools=(TOOL,), tool_choice=ToolChoice.named("known_tool")),
    "generation": Request(messages=BASE.messages, generation=Generation(temperature=0.25)),
    "reasoning": Request(messages=BASE.messages, reasoning=ReasoningOptions(effort="high")),
    "response_format": Request(messages=BASE.messages, response_format=JsonFormat()),
    "output_modalities": Request(messages=BASE.messages, output_modalities=("image",)),
    "cache": Request(messages=BASE.messages, cache=CacheOptions(key="marker")),
    "provider_options": Request(messages=BASE.messages, provider_options={"test": {"no_such_option": 1}}),
    "http": Request(messages=BASE.messages, http=HttpExtras(body={"marker": 1})),
    "metadata": Request(messages=BASE.messages, metadata={"marker": "1"}),
}
ELSEWHERE = {"http", "metadata"}
"""Laid on by the client, and the caller's own: no protocol sends them."""

GENERATION: dict[str, Any] = {
    "max_tokens": 77,
    "temperature": 0.25,
    "top_p": 0.5,
    "top_k": 7,
    "stop": ("marker",),
    "seed": 7,
    "presence_penalty": 0.5,
    "frequency_penalty": 0.5,
    "logprobs": True,
    "top_logprobs": 3,
}
NESTED: dict[str, tuple[type[msgspec.Struct], Callable[[Any], Request], dict[str, Any]]] = {
    "generation": (Generation, lambda value: Request(messages=BASE.messages, generation=value), GENERATION),
    "reasoning": (
        ReasoningOptions,
        lambda value: Request(messages=BASE.messages, reasoning=value),
        {"effort": "high", "budget_tokens": 99, "summary": "auto"},
    ),
    "cache": (
        CacheOptions,
        lambda value: Request(messages=BASE.messages, cache=value),
        {"mode": "off", "ttl": "1h", "key": "marker"},
    ),
    "tool_choice": (
        ToolChoice,
        lambda value: Request(messages=BASE.messages, tools=(TOOL,), tool_choice=value),
        {"mode": "none", "name": None, "parallel": False},
    ),
    "response_format": (
        JsonFormat,
        lambda value: Request(messages=BASE.messages, response_format=value),
        {"schema": {"type": "object"}, "name": "marker", "description": "marker", "strict": True},
    ),
}
ALONE = {("tool_choice", "name"), ("response_format", "name")}
"""Fields that say nothing without another one."""


def outcome(model: Any, request: Request) -> tuple[bytes, int]:
    """The bytes of the body and the number of warnings; an error counts as a warning."""
    try:
        lowered = model.route.protocol.lower(request, model, False)
    except LLMError:
        return b"", 1
    return msgspec.json.encode(lowered.body), len(lowered.warnings)


def test_the_tables_of_this_test_have_every_field() -> None:
    assert set(SETTINGS) == set(Request.__struct_fields__)
    for kind, _, values in NESTED.values():
        assert set(values) == set(kind.__struct_fields__)


@pytest.mark.parametrize("field", SETTINGS)
def test_row_88_every_field_of_a_request_is_sent_warned_of_or_refused(model: Any, field: str) -> None:
    base = Request(messages=BASE.messages, tools=(TOOL,)) if field == "tool_choice" else BASE
    plain, _ = outcome(model, base)
    body, losses = outcome(model, SETTINGS[field])
    if field in ELSEWHERE:
        assert (body, losses) == (plain, 0)
    else:
        assert body != plain or losses


@pytest.mark.parametrize(
    ("struct", "field"),
    [(struct, field) for struct, (_, _, values) in NESTED.items() for field in values if (struct, field) not in ALONE],
)
def test_row_88_every_setting_in_a_field_is_sent_warned_of_or_refused(model: Any, struct: str, field: str) -> None:
    kind, request, values = NESTED[struct]
    plain, before = outcome(model, request(kind()))
    body, losses = outcome(model, request(kind(**{field: values[field]})))
    assert body != plain or losses > before


PARTS: dict[str, tuple[Message, ...]] = {
    "user text": (Message.user("marker"),),
    "user image": (Message.user(Media.from_bytes(b"marker", "image/png")),),
    "user audio": (Message.user(Media.from_bytes(b"marker", "audio/wav")),),
    "user document": (Message.user(Media.from_bytes(b"marker", "application/pdf")),),
    "user video": (Message.user(Media.from_bytes(b"marker", "video/mp4")),),
    "assistant text": (Message.user("hello"), Message.assistant("marker"), Message.user("x")),
    "refusal": (Message.user("hello"), Message.assistant(Text(text="marker", refusal=True)), Message.user("x")),
    "reasoning": (Message.user("hello"), Message.assistant(Reasoning(text="marker"), "y"), Message.user("x")),
    "call": (Message.user("hello"), Message.assistant(CALL), Message.tool(CALL, "z")),
    "result": (Message.user("hello"), Message.assistant(CALL), Message.tool(CALL, "marker")),
    "json result": (Message.user("hello"), Message.assistant(CALL), Message.tool(CALL, Json(value="marker"))),
    "image result": (
        Message.user("hello"),
        Message.assistant(CALL),
        Message.tool(CALL, Media.from_bytes(b"marker", "image/png")),
    ),
    "opaque result": (
        Message.user("hello"),
        Message.assistant(CALL),
        Message.tool(CALL, Opaque(kind="k", data=msgspec.Raw(b'"marker"'))),
    ),
    "opaque": (
        Message.user("hello"),
        Message.assistant(Opaque(kind="k", data=msgspec.Raw(b"{}")), "y"),
        Message.user("x"),
    ),
    "assistant media": (
        Message.user("hello"),
        Message.assistant(Media.from_bytes(b"marker", "image/png"), "y"),
        Message.user("x"),
    ),
    "hosted": (
        Message.user("hello"),
        Message.assistant(
            ToolCall(
                id="tu_9",
                name="search",
                provider_executed=True,
                origin=Origin(provider="q", protocol="other", model="m"),
            ),
            ToolResult(tool_call_id="tu_9", content=(Text(text="found"),), provider_executed=True),
            "y",
        ),
        Message.user("x"),
    ),
}
MARKERS = (b"marker", b"bWFya2Vy")


@pytest.mark.parametrize("part", PARTS)
def test_row_103_every_part_is_sent_warned_of_or_refused(model: Any, part: str) -> None:
    body, losses = outcome(model, Request(messages=PARTS[part], tools=(TOOL,)))
    assert any(marker in body for marker in MARKERS) or losses


@pytest.mark.parametrize("part", PARTS)
def test_a_critical_message_is_never_lost(model: Any, part: str) -> None:
    messages = tuple(msgspec.structs.replace(message, critical=True) for message in PARTS[part])
    try:
        lowered = model.route.protocol.lower(Request(messages=messages, tools=(TOOL,)), model, False)
    except LLMError:
        return
    assert not [warning for warning in lowered.warnings if warning.message_index is not None]


@pytest.mark.parametrize("part", PARTS)
def test_lowering_changes_nothing_that_it_is_given(model: Any, part: str) -> None:
    request = Request(messages=PARTS[part], tools=(TOOL, HostedTool(kind="k", config={"a": [1]})))
    before = msgspec.json.encode(request)
    outcome(model, request)
    outcome(model, msgspec.structs.replace(request, tools=(TOOL,)))
    assert msgspec.json.encode(request) == before


# -- the fields of parts, one by one


HOME = Origin(provider="test", protocol="openai-chat", model="m")
FIELD_VALUES: dict[type[Any], dict[str, Any]] = {
    Text: {
        "text": "marker",
        "citations": (Citation(url="marker"),),
        "refusal": True,
        "logprobs": (TokenLogprob(token="marker", logprob=-1.0),),
        "cache": "5m",
        "provider_metadata": {"marker": 1},
        "origin": HOME,
    },
    Reasoning: {
        "text": "marker",
        "signature": "marker",
        "redacted": "marker",
        "cache": "5m",
        "provider_metadata": {"marker": 1},
        "origin": HOME,
    },
    ToolCall: {
        "id": "marker",
        "name": "marker",
        "arguments": '{"marker": 1}',
        "wire_id": "marker",
        "error": "marker",
        "provider_executed": True,
        "cache": "5m",
        "provider_metadata": {"type": "custom"},
        "origin": HOME,
    },
    ToolResult: {
        "tool_call_id": "marker",
        "name": "marker",
        "content": (Text(text="marker"),),
        "is_error": True,
        "provider_executed": True,
        "cache": "5m",
        "provider_metadata": {"marker": 1},
        "origin": HOME,
    },
    Media: {
        "media_type": "image/webp",
        "source": UrlSource(url="https://example.com/marker"),
        "name": "marker",
        "transcript": "marker",
        "detail": "low",
        "cache": "5m",
        "provider_metadata": {"marker": 1},
        "origin": HOME,
    },
    Json: {"value": "marker", "cache": "5m"},
    Opaque: {"kind": "marker", "data": msgspec.Raw(b'"marker"'), "cache": "5m", "origin": HOME},
}
EVIDENCE = {"origin", "provider_metadata"}
"""What decides whether and how a part may be replayed (and is read by the protocol that wrote it alone)."""
SILENT: dict[type[Any], set[str]] = {
    Text: {"refusal", "logprobs"},  # no user refuses; an observation of the sampling
    Reasoning: {"signature", "redacted"},  # of other protocols, whose reasoning is left out with a warning
    ToolCall: {"id", "wire_id"},  # the wire's id is derived from them; a test of its own
    ToolResult: {"tool_call_id", "name", "provider_executed"},  # they are the call's; validated before
    Opaque: {"kind"},  # it stands in the data
}
"""Fields that say nothing to the wire by themselves, with the reason."""
PLAIN: dict[type[Any], Any] = {
    Text: Text(text="x"),
    Reasoning: Reasoning(text="x"),
    ToolCall: ToolCall(id="tu_2", name="f"),
    ToolResult: ToolResult(tool_call_id=CALL.id, content=(Text(text="x"),)),
    Media: Media.from_bytes(b"x", "image/png"),
    Json: Json(value="x"),
    Opaque: Opaque(kind="x", data=msgspec.Raw(b'"x"')),
}


def around(part: Any, place: str) -> Request:
    """A request with the part where a program may have put it."""
    hello, again = Message.user("hello"), Message.user("again")
    match place, part:
        case "user", _:
            messages = (Message.user(part),)
        case "system", _:
            messages = (Message.system(part), hello)
        case "result", _:
            messages = (hello, Message.assistant(CALL), Message.tool(CALL, part))
        case _, ToolResult():
            messages = (hello, Message.assistant(CALL), Message(role="tool", content=(part,)))
        case _, ToolCall():
            messages = (hello, Message.assistant(part), Message.tool(part, "z"))
        case _:
            messages = (hello, Message.assistant(part, "y"), again)
    return Request(messages=messages, tools=(TOOL,))


FIELD_CASES = [
    (kind, field, place)
    for kind, values in FIELD_VALUES.items()
    for field in values
    for place in {
        Text: ("user", "system", "assistant", "result"),
        Media: ("user", "assistant", "result"),
        Json: ("result",),
        Opaque: ("assistant", "result"),
    }.get(kind, ("own",))
    if field not in EVIDENCE | SILENT.get(kind, set())
]


def test_the_table_of_parts_has_every_field() -> None:
    assert set(FIELD_VALUES) == {*get_args(Part), *get_args(ResultPart)}
    for kind, values in FIELD_VALUES.items():
        assert set(values) == set(kind.__struct_fields__)
        assert SILENT.get(kind, set()) <= set(values)


LEFT_OUT = {(Reasoning, "own"), (Media, "assistant"), (Opaque, "assistant")}
"""Parts of nobody's that history carries along: where they are left out whole, one warning speaks of all of it."""


@pytest.mark.parametrize(("kind", "field", "place"), FIELD_CASES)
def test_row_103_every_field_of_a_part_is_sent_warned_of_or_refused(
    model: Any, kind: type[Any], field: str, place: str
) -> None:
    base = PLAIN[kind]
    plain, before = outcome(model, around(base, place))
    part = msgspec.structs.replace(base, **{field: FIELD_VALUES[kind][field]})
    body, losses = outcome(model, around(part, place))
    assert body != plain or losses > before or (before and (kind, place) in LEFT_OUT)


@pytest.mark.parametrize("media_type", ["image/png", "audio/wav", "application/pdf", "video/mp4"])
@pytest.mark.parametrize("field", ["name", "detail", "transcript"])
def test_row_103_every_hint_on_media_of_every_kind_is_sent_warned_of_or_refused(
    model: Any, media_type: str, field: str
) -> None:
    base = Media.from_bytes(b"x", media_type)
    plain, before = outcome(model, around(base, "user"))
    body, losses = outcome(model, around(msgspec.structs.replace(base, **{field: "marker"}), "user"))
    assert body != plain or losses > before or not plain  # refused whatever it says
