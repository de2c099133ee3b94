"""Conversations and requests as a program may hold them: histories that any provider could have made, in any mixture.

Every call has its result, and a result says which call it is of. Nothing here uses a protocol's code.
"""

from typing import Any

import msgspec
from chat_answers import NAMES, SPOKEN, TEXTS, VALUES, objects
from hypothesis import strategies as st

from llmcore.schema.message import Message, MessageMetadata
from llmcore.schema.parts import Json, Media, Opaque, Origin, Reasoning, Text, ToolCall, ToolResult
from llmcore.schema.request import (
    CacheOptions,
    Generation,
    JsonFormat,
    ReasoningOptions,
    Request,
    ResponseFormat,
    TextFormat,
    ToolChoice,
    ToolDefinition,
)

WORDS = st.sampled_from(["Hello", "Grüße 😀", "a\u2028b", "What is this?"]) | TEXTS.filter(str.strip)
ELSEWHERE = Origin(provider="elsewhere", protocol="another", model="m")
ORIGINS = st.sampled_from(
    [
        None,
        Origin(provider="openai", protocol="openai-chat", model="m"),
        Origin(provider="mistral", protocol="openai-chat", model="m"),
        Origin(provider="openrouter", protocol="openai-chat", model="m"),
        ELSEWHERE,
    ]
)
WIRE_IDS = st.sampled_from(
    # None, what providers send, what no rule allows, and ids that we have given to other calls.
    [
        None,
        "call_1",
        "call_2",
        "AbCdEf123",
        "toolu_01",
        "with a blank",
        "ünïcode",
        "x" * 60,
        "tu_0_1",
        "tu_1_0",
        "tu_1_1",
    ]
)
SCHEMAS: tuple[dict[str, Any], ...] = (
    {"type": "object", "properties": {}},
    {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Grüße"}, "days": {"type": ["integer", "null"]}},
        "required": ["city"],
        "additionalProperties": False,
    },
    {"type": "object", "properties": {"list": {"type": "array", "items": {"enum": ["a", 1, None]}}}},
)
PNG = b"\x89PNG\r\n\x1a\n"


@st.composite
def media(draw: st.DrawFn, kinds: tuple[str, ...]) -> Media:
    """A small part of one of the media types, inline or by URL."""
    kind = draw(st.sampled_from(kinds))
    if kind.startswith("image/") and draw(st.booleans()):
        return Media.from_url(f"https://example.com/{draw(st.integers(0, 3))}.png", kind)
    detail = draw(st.sampled_from([None, "low", "high", "auto"])) if kind.startswith("image/") else None
    return Media.from_bytes(PNG + draw(st.binary(max_size=4)), kind, detail=detail)


@st.composite
def user(draw: st.DrawFn, kinds: tuple[str, ...]) -> Message:
    parts = WORDS | media(kinds) if kinds else WORDS
    return Message.user(*draw(st.lists(parts, min_size=1, max_size=2)))


@st.composite
def said(draw: st.DrawFn, number: int) -> tuple[Message, tuple[ToolCall, ...]]:
    """A turn of the assistant's, made by one provider, and its calls. The ids of calls hold `number`."""
    origin, parts = draw(ORIGINS), list[Any]()
    if draw(st.booleans()):
        field = draw(st.sampled_from(["reasoning", "reasoning_content", "thinking", None]))
        metadata = None if field is None else {"field": field}
        parts.append(Reasoning(text=draw(SPOKEN), provider_metadata=metadata, origin=origin if metadata else None))
    parts += [Text(text=text) for text in draw(st.lists(SPOKEN, max_size=2))]
    if draw(st.integers(0, 9)) == 0:
        parts.append(Text(text=draw(WORDS), refusal=True))
    if draw(st.integers(0, 9)) == 0:
        parts.append(Opaque(kind="odd", data=msgspec.Raw(b'{"type":"odd"}'), origin=ELSEWHERE))
    calls = [
        ToolCall(
            id=draw(st.sampled_from([f"tu_{number}_{place}", f"call {number} of {place}: ünïcode"])),
            name=draw(NAMES),
            arguments=draw(objects()),
            wire_id=draw(WIRE_IDS),
            origin=origin,
        )
        for place in range(draw(st.integers(0, 3)))
    ]
    if not any(isinstance(part, Text) and part.text.strip() for part in parts) and not calls:
        parts.append(Text(text=draw(WORDS)))
    metadata = MessageMetadata(provider=None if origin is None else origin.provider)
    return Message.assistant(*parts, *calls, metadata=metadata), tuple(calls)


@st.composite
def result(draw: st.DrawFn, call: ToolCall, kinds: tuple[str, ...]) -> Message:
    """The result of a call; its text begins with the call's id."""
    parts: list[Any] = [Text(text=f"{call.id} gave")]
    parts += draw(st.lists(st.builds(Json, value=VALUES) | st.builds(Text, text=SPOKEN), max_size=1))
    if kinds and draw(st.integers(0, 3)) == 0:
        parts.append(draw(media(kinds)))
    return Message.tool(call, *parts, is_error=draw(st.integers(0, 5)) == 0)


@st.composite
def histories(draw: st.DrawFn, kinds: tuple[str, ...] = ("image/png",), turns: int = 4) -> tuple[Message, ...]:
    """A conversation that ends with the user or with results; media of the media types `kinds` in it."""
    messages = [Message.system(draw(WORDS))] if draw(st.booleans()) else []
    messages.append(draw(user(kinds)))
    for number in range(draw(st.integers(0, turns))):
        message, calls = draw(said(number))
        messages.append(message)
        messages += [draw(result(call, kinds)) for call in calls]
        if draw(st.integers(0, 9)) == 0:
            messages.append(Message.system(draw(WORDS)))
        if not calls or draw(st.booleans()):
            messages.append(draw(user(kinds)))
    return tuple(messages)


@st.composite
def tools(draw: st.DrawFn) -> tuple[ToolDefinition, ...]:
    names = draw(st.lists(NAMES, unique=True, max_size=3))
    return tuple(
        ToolDefinition(
            name=name,
            description=draw(st.sampled_from(["", "What it does: Grüße"])),
            parameters=draw(st.sampled_from(SCHEMAS)),
            strict=draw(st.sampled_from([None, True, False])),
        )
        for name in names
    )


@st.composite
def generations(draw: st.DrawFn) -> Generation:
    def maybe(values: st.SearchStrategy[Any]) -> Any:
        return draw(st.none() | values)

    return Generation(
        max_tokens=maybe(st.integers(1, 10**5)),
        temperature=maybe(st.sampled_from([0.0, 0.5, 1, 2.0])),
        top_p=maybe(st.sampled_from([0.1, 1.0])),
        top_k=maybe(st.integers(1, 50)),
        stop=tuple(draw(st.lists(WORDS, max_size=6))),
        seed=maybe(st.integers(0, 2**31)),
        presence_penalty=maybe(st.sampled_from([-1.0, 0.5])),
        frequency_penalty=maybe(st.sampled_from([-1.0, 0.5])),
        logprobs=maybe(st.booleans()),
        top_logprobs=maybe(st.integers(0, 20)),
    )


@st.composite
def requests(draw: st.DrawFn, kinds: tuple[str, ...] = ("image/png",)) -> Request:
    """A request with any of the fields that every provider has some word for."""
    offered = draw(tools())
    choice = st.builds(
        ToolChoice, mode=st.sampled_from(["auto", "none"]), parallel=st.sampled_from([None, True, False])
    )
    if offered:
        choice = choice | st.just(ToolChoice(mode="required")) | st.just(ToolChoice.named(offered[0].name))
    formats: st.SearchStrategy[ResponseFormat | None] = st.sampled_from(
        [
            *(None, TextFormat(), JsonFormat(), JsonFormat(schema=SCHEMAS[1], name="answer", strict=True)),
            JsonFormat(schema=SCHEMAS[2], description="Grüße"),
        ]
    )
    efforts = st.sampled_from([None, "none", "minimal", "low", "medium", "high", "xhigh"])
    return Request(
        system=draw(st.just("") | WORDS),
        messages=draw(histories(kinds)),
        tools=offered,
        tool_choice=draw(st.none() | choice),
        generation=draw(generations()),
        reasoning=draw(st.none() | st.builds(ReasoningOptions, effort=efforts)),
        response_format=draw(formats),
        cache=draw(st.none() | st.just(CacheOptions(key="conversation"))),
    )


def results_of(messages: tuple[Message, ...]) -> list[ToolResult]:
    """All results of tools in their order."""
    return [part for message in messages for part in message.content if isinstance(part, ToolResult)]
