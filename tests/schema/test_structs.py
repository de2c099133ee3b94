"""What holds for every canonical struct and event: frozen, keyword-only, tagged, written without its defaults, and
carried whole by JSON, copies and pickles, without its diagnostics."""

import copy
import inspect
import json
import pickle
from decimal import Decimal
from typing import get_args

import msgspec
import pytest

from llmcore import capabilities, events, history, http, route, schema, sendable
from llmcore.capabilities import Capabilities, Need
from llmcore.history import Repair, Repaired
from llmcore.http import Timeout
from llmcore.route import Defaults
from llmcore.schema import (
    AttemptRecord,
    Base64Source,
    CacheOptions,
    CallWarning,
    Citation,
    Cost,
    FileSource,
    Generation,
    HandleSource,
    HostedTool,
    HttpExtras,
    Json,
    JsonFormat,
    Media,
    MediaLimits,
    Message,
    MessageMetadata,
    ModalityTokens,
    Opaque,
    Origin,
    RateLimit,
    Reasoning,
    ReasoningOptions,
    Request,
    Response,
    Text,
    TextFormat,
    Timing,
    TokenLogprob,
    ToolCall,
    ToolChoice,
    ToolDefinition,
    ToolResult,
    Unit,
    UrlSource,
    Usage,
    canonical,
    decode,
    digest,
)
from llmcore.schema.base import Data, Diagnosed, attach
from llmcore.sendable import Problem

HANDLE = "media://sha256-" + "0" * 64
ORIGIN = Origin(provider="p", protocol="q", model="m")
USAGE = Usage(
    input_tokens=1,
    cache_read_tokens=2,
    output_tokens=3,
    by_modality=(ModalityTokens(direction="input", modality="image", tokens=1, cached=0),),
    units=(Unit(kind="web_search", direction="output", count=2.0),),
    estimated=True,
    native={"a": [1]},
)
COST = Cost(micro_cents=12, pricing_version="1", tier="flex", complete=True, reported=Decimal("0.10"))
WARNING = CallWarning(subject="seed", reason="not taken", protocol="q", phase="read", message_index=0, part_index=1)
OPAQUE = Opaque(kind="k", data=msgspec.Raw(b'{"a" : 1}'), origin=ORIGIN)
TEXT = Text(
    text="hi",
    citations=(Citation(url="u", title="t", quote="q", start=0, end=2, native={"n": None}),),
    refusal=True,
    logprobs=(TokenLogprob(token="hi", logprob=-0.5, bytes=(104, 105), top=(TokenLogprob(token="ho", logprob=-2.0),)),),
    cache="5m",
    provider_metadata={"id": "x"},
    origin=ORIGIN,
)
CALL = ToolCall(id="a", name="f", arguments='{"x":1}', wire_id="w", error="e", provider_executed=True, origin=ORIGIN)
RESULT = ToolResult(
    tool_call_id="a", name="f", content=(TEXT, Json(value={"x": [None, 1]}), OPAQUE), is_error=True, cache="1h"
)
MEDIA = Media.from_bytes(b"\x00\x01", "image/png", name="n.png", detail="low", cache="5m", transcript="t")
METADATA = MessageMetadata(
    model="m", provider="p", status="partial", usage=USAGE, cost=COST, routing={"a": 1}, provider_metadata={"b": {}}
)
MESSAGE = Message.assistant(
    TEXT,
    Reasoning(text="r", signature="s", redacted="x"),
    CALL,
    MEDIA,
    OPAQUE,
    id="1",
    critical=True,
    metadata=METADATA,
)
ATTEMPT = AttemptRecord(
    model="m", provider="p", outcome="failed", status=500, request_sent="yes", usage=USAGE, cost=COST
)
RESPONSE = Response(
    id="1",
    model="m",
    provider="p",
    message=MESSAGE,
    stop_reason="length",
    raw_stop_reason="max",
    stop_details={"a": 1},
    usage=USAGE,
    cost=COST,
    warnings=(WARNING,),
    attempts=(ATTEMPT,),
    timing=Timing(first_event=0.5, total=1.0),
    request_id="r",
    rate_limit=RateLimit(limit_requests=1, reset_tokens=0.5),
)
DEFINITION = ToolDefinition(
    name="f", description="d", parameters={"type": "object"}, strict=True, side_effects="read", requires_workspace=True
)
REQUEST = Request(
    system=(TEXT,),
    messages=(Message.user("hi", MEDIA), MESSAGE, Message.tool(CALL, "done", Json(value=1))),
    tools=(DEFINITION, HostedTool(kind="web", config={"a": 1})),
    tool_choice=ToolChoice.named("f", parallel=False),
    generation=Generation(max_tokens=1, temperature=0.5, stop=("x",), seed=3, logprobs=True),
    reasoning=ReasoningOptions(effort="low", budget_tokens=5, summary="auto"),
    response_format=JsonFormat(schema={"type": "object"}, name="n", strict=True),
    output_modalities=("text", "image"),
    cache=CacheOptions(mode="off", ttl="1h", key="k"),
    provider_options={"p": {"a": 1}},
    http=HttpExtras(headers={"x-a": "1"}, query={"q": "2"}, body={"b": [1]}),
    metadata={"m": "1"},
)

SCHEMA: list[Data] = [
    *(
        ORIGIN,
        USAGE,
        COST,
        WARNING,
        OPAQUE,
        TEXT,
        CALL,
        RESULT,
        MEDIA,
        METADATA,
        MESSAGE,
        ATTEMPT,
        RESPONSE,
        DEFINITION,
    ),
    *(REQUEST, REQUEST.generation, REQUEST.http, USAGE.by_modality[0], USAGE.units[0], TEXT.citations[0]),
    *(
        TEXT.logprobs[0],
        Reasoning(text="r", cache="1h"),
        Json(value={"a": 1.5}),
        MEDIA.source,
        UrlSource(url="https://h"),
    ),
    *(HandleSource(handle=HANDLE), FileSource(provider="p", ref="r"), HostedTool(kind="web"), ToolChoice(mode="none")),
    *(ReasoningOptions(effort="low"), TextFormat(), JsonFormat(schema={}), CacheOptions(), RESPONSE.timing),
    RateLimit(remaining_tokens=1),
]
EVENTS: list[Data] = [
    events.ResponseStart(provider="p", id="1", model="m", request_id="r", warnings=(WARNING,)),
    events.TextStart(id="b0", refusal=True),
    events.TextDelta(id="b0", text="x"),
    events.TextEnd(
        id="b0", citations=TEXT.citations, logprobs=TEXT.logprobs, provider_metadata={"a": 1}, origin=ORIGIN
    ),
    events.ReasoningStart(id="b1"),
    events.ReasoningDelta(id="b1", text="x"),
    events.ReasoningEnd(id="b1", signature="s", redacted="r", provider_metadata={"a": 1}, origin=ORIGIN),
    events.ToolCallStart(id="tu_0", name="f", wire_id="w", provider_executed=True),
    events.ToolCallDelta(id="tu_0", text="{}"),
    events.ToolCallEnd(id="tu_0", arguments="{}", error="e", wire_id="w", provider_metadata={"a": 1}, origin=ORIGIN),
    events.ToolResultEvent(id="tu_0", name="f", result=RESULT, provider_executed=True),
    events.MediaStart(id="b2", media_type="image/png"),
    events.MediaDelta(id="b2", progress=0.5, preview=HANDLE),
    events.MediaEnd(id="b2", media=Media(media_type="image/png", source=HandleSource(handle=HANDLE))),
    events.OpaqueEvent(part=OPAQUE),
    events.UsageUpdate(usage=USAGE),
    events.ResponseEnd(stop_reason="pause", raw_stop_reason="p", usage=USAGE, cost=COST, warnings=(WARNING,)),
    events.StepStart(step=1),
    events.StepEnd(step=1, stop_reason="tool_use", usage=USAGE),
    events.ToolErrorEvent(id="tu_0", name="f", reason="timeout", message="m"),
    events.Restart(reason="r"),
    events.ErrorEvent(error_class="RateLimitError", kind="rate_limit", code="LLM_RATE_LIMIT", message="m", status=429),
]
OTHERS: list[Data] = [
    Capabilities(tools=True, media_input=("image",), output_combinations=(("text",),)),
    Need(capability="tools", what="tools"),
    Timeout(total=None, idle=1.0),
    Defaults(generation=Generation(seed=1)),
    MediaLimits(image=1024, parts=2),
    Problem(message_index=0, what="w", remedy="r"),
    Repair(kind="moved", message_index=1, reason="r"),
    Repaired(messages=(MESSAGE,)),
]
EXAMPLES = SCHEMA + EVENTS + OTHERS
every_example = pytest.mark.parametrize("value", EXAMPLES, ids=lambda value: type(value).__name__)


def structs_of(module: object) -> set[type]:
    found = {value for value in vars(module).values() if inspect.isclass(value) and issubclass(value, Data)}
    return found - {Data, Diagnosed}


def test_every_struct_has_an_example() -> None:
    modules = (schema, events, capabilities, http, route, sendable, history)
    assert set().union(*map(structs_of, modules)) == {type(value) for value in EXAMPLES}
    assert {type(value) for value in EVENTS} == set(get_args(events.SerializedEvent))


def test_the_package_names_everything_that_it_offers() -> None:
    assert sorted(schema.__all__) == sorted(set(schema.__all__))
    assert structs_of(schema) <= {getattr(schema, name) for name in schema.__all__}
    for name in schema.__all__:
        assert getattr(schema, name) is not None


@every_example
def test_it_is_frozen(value: Data) -> None:
    for name in value.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(value, name, None)
    with pytest.raises(AttributeError):
        value.nothing = 1  # type: ignore[attr-defined]


@every_example
def test_it_is_made_by_keyword_only(value: Data) -> None:
    fields = value.__struct_fields__
    assert type(value)(**{name: getattr(value, name) for name in fields}) == value
    if fields:
        with pytest.raises(TypeError, match="positional"):
            type(value)(*[getattr(value, name) for name in fields])


@every_example
def test_defaults_are_not_written(value: Data) -> None:
    defaults = {field.name for field in msgspec.structs.fields(value) if not field.required}
    required = {name: getattr(value, name) for name in value.__struct_fields__ if name not in defaults}
    bare = type(value)(**required)
    written = msgspec.to_builtins(bare, builtin_types=(msgspec.Raw,))
    tag = {"type"} if isinstance(getattr(type(value), "type", None), str) else set[str]()
    # msgspec writes a default that is made anew each time: `parameters` of a tool, `http`.
    assert set(written) - {"parameters", "http"} == set(required) | tag
    assert set(json.loads(canonical(bare))) == set(required) | tag


@every_example
def test_it_is_tagged_with_its_type(value: Data) -> None:
    config = type(value).__struct_config__
    if config.tag is None:
        assert "type" not in vars(type(value))
    else:
        assert config.tag_field == "type"
        assert type(value).type == config.tag  # type: ignore[attr-defined]
        assert "type" not in value.__struct_fields__


@every_example
def test_json_copies_and_pickles_give_an_equal_value(value: Data) -> None:
    assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value
    assert digest(decode(canonical(value), type(value))) == digest(value)
    for made in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert type(made) is type(value)
        assert made == value
        assert digest(made) == digest(value)


@pytest.mark.parametrize("value", EVENTS, ids=lambda value: type(value).__name__)
def test_an_event_is_read_back_by_its_tag(value: Data) -> None:
    assert msgspec.json.decode(msgspec.json.encode(value), type=events.SerializedEvent) == value


@pytest.mark.parametrize("value", [MESSAGE, METADATA, RESPONSE], ids=lambda value: type(value).__name__)
def test_diagnostics_are_carried_by_nothing(value: Diagnosed) -> None:
    plain = copy.copy(value)
    value = copy.copy(value)
    attach(value, raw={"secret": "sk-raw"})
    assert value == plain
    assert "sk-raw" not in repr(value)
    assert b"sk-raw" not in msgspec.json.encode(value)
    assert canonical(value) == canonical(plain)
    assert b"sk-raw" not in pickle.dumps(value)
    for made in (
        copy.copy(value),
        copy.deepcopy(value),
        msgspec.structs.replace(value),
        pickle.loads(pickle.dumps(value)),
    ):
        assert made.__dict__ == {}
    nested = Response(provider="p", message=value, stop_reason="stop") if isinstance(value, Message) else value
    assert b"sk-raw" not in pickle.dumps([nested])


def test_raw_is_what_hangs_beside_the_response() -> None:
    response = copy.copy(RESPONSE)
    assert response.raw is None
    attach(response, raw={"id": 1})
    assert response.raw == {"id": 1}


def test_mutable_defaults_are_not_shared() -> None:
    one, other = ToolDefinition(name="a"), ToolDefinition(name="b")
    one.parameters["x"] = 1
    assert other.parameters == {"type": "object", "properties": {}}
    left, right = Request(), Request()
    left.metadata["x"] = "1"
    left.http.headers["x"] = "1"
    Defaults().http.headers["x"] = "1"
    assert (right.metadata, right.http.headers, Request().http.headers) == ({}, {}, {})
    assert Defaults().http == HttpExtras()


# ---- what properties give


def test_the_texts_of_a_message() -> None:
    message = Message.assistant(
        Reasoning(text="th"), "a", Text(text="no", refusal=True), Reasoning(text="ink"), Text(text="b"), CALL,
        ToolCall(id="b", name="g"),
    )  # fmt: skip
    assert (message.text, message.refusal, message.reasoning) == ("ab", "no", "think")
    assert [call.id for call in message.tool_calls] == ["b"]
    assert Message.assistant("a").refusal is None
    response = Response(provider="p", message=message, stop_reason="tool_use")
    assert (response.text, response.refusal, response.reasoning) == ("ab", "no", "think")
    assert response.tool_calls == message.tool_calls


def test_a_result_names_its_call() -> None:
    by_call = Message.tool(ToolCall(id="tu_1", name="f"), "done", Json(value=1), is_error=True)
    assert by_call.content == (
        ToolResult(tool_call_id="tu_1", name="f", content=(Text(text="done"), Json(value=1)), is_error=True),
    )
    assert Message.tool("tu_1", "done", name="f").content == (
        ToolResult(tool_call_id="tu_1", name="f", content=(Text(text="done"),)),
    )


def test_the_system_of_a_request() -> None:
    assert Request(system="a").system_parts == (Text(text="a"),)
    assert Request(system=(Text(text="a"), Text(text="b"))).system_parts == (Text(text="a"), Text(text="b"))
    assert Request().system_parts == Request(system="").system_parts == ()


def test_the_totals_of_usage() -> None:
    usage = Usage(input_tokens=1, cache_read_tokens=2, cache_write_tokens=4, cache_write_1h_tokens=8, output_tokens=16)
    assert (usage.total_input_tokens, usage.total_tokens) == (15, 31)
    assert (Usage().total_input_tokens, Usage().total_tokens) == (None, None)
    assert (Usage(output_tokens=0).total_input_tokens, Usage(output_tokens=0).total_tokens) == (None, 0)


def test_micro_cents_are_dollars_exactly() -> None:
    assert Cost(micro_cents=123_456_789).usd == Decimal("1.23456789")
    assert str(Cost(micro_cents=1).usd) == "1E-8"
    assert Cost(reported=Decimal(1)).usd is None


# ---- what is never shown


def test_no_repr_shows_media_or_a_long_value() -> None:
    data = "A" * 4000
    media = Media(media_type="image/png", source=Base64Source(data=data))
    shown = repr(Request(messages=(Message.user(media), Message.assistant(OPAQUE))))
    assert "AAAA" not in shown
    assert "Base64Source(<4000 characters>)" in shown
    assert "Opaque(kind='k', <9 bytes>)" in shown
    assert len(repr(UrlSource(url="https://h/" + "a" * 4000))) < 200


def test_no_repr_shows_the_signature_of_a_url() -> None:
    source = UrlSource(url="https://h/a.png?X-Signature=abcdef&x=1")
    assert "abcdef" not in repr(Message.user(Media(media_type="image/png", source=source)))
    assert "https://h/a.png?X-Signature=…" in repr(source)
