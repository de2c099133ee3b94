"""Reading what was stored: unknown fields and parts of a newer version, and clear errors for the rest."""

import logging

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmcore.errors import InvalidRequestError
from llmcore.events import OpaqueEvent, SerializedEvent, ToolResultEvent
from llmcore.schema import (
    Json,
    Message,
    MessageMetadata,
    Opaque,
    Reasoning,
    Request,
    Text,
    ToolCall,
    ToolResult,
    canonical,
    decode,
)


class Stored(msgspec.Struct):
    """What a store of one's own may look like."""

    session_id: str
    message: Message
    others: dict[str, list[Message]] = {}
    note: Message | None = None


def parts(*texts: str, role: str = "assistant") -> bytes:
    return f'{{"role":"{role}","content":[{",".join(texts)}]}}'.encode()


def test_what_canonical_writes_is_read_back() -> None:
    message = Message(
        role="assistant",
        content=(
            Reasoning(text="hm", signature="s"),
            Text(text="é\u2028"),
            ToolCall(id="a", name="f", arguments='{"x": 1.0}'),
        ),
        metadata=MessageMetadata(model="m", provider_metadata={"a": [1, None]}),
        critical=True,
    )
    assert decode(canonical(message), Message) == message
    assert decode(canonical(message).decode(), Message) == message
    request = Request(system="s", messages=(Message.user("hi"), message))
    assert decode(canonical(request), Request) == request


def test_unknown_fields_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    data = b'{"role":"user","content":[{"type":"text","text":"a","mood":{"x":[1]}}],"colour":"red"}'
    assert decode(data, Message) == Message.user("a")
    assert caplog.records == []


def test_an_unknown_part_becomes_opaque_byte_for_byte_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    strange = '{ "type":"hologram",\n "depth": 1.0, "b":"\\u00e9", "a":"é" }'
    with caplog.at_level(logging.DEBUG, "llmcore"):
        message = decode(parts('{"type":"text","text":"a"}', strange, strange, '{"type":"smell"}'), Message)
    text, first, second, third = message.content
    assert text == Text(text="a")
    assert isinstance(first, Opaque)
    assert (first.kind, bytes(first.data)) == ("hologram", strange.encode())
    assert second == first
    assert isinstance(third, Opaque)
    assert bytes(third.data) == b'{"type":"smell"}'
    (record,) = caplog.records
    assert (record.levelno, record.name) == (logging.WARNING, "llmcore")
    assert "3 parts of unknown type" in record.getMessage()
    assert record.getMessage().count("hologram") == 1


def test_unknown_parts_are_found_wherever_messages_stand(caplog: pytest.LogCaptureFixture) -> None:
    new = '{"type":"new","n":1}'
    result = f'{{"type":"tool_result","tool_call_id":"a","content":[{new},{{"type":"json","value":1}}]}}'
    message = decode(parts(result, role="tool"), Message)
    assert isinstance(message.content[0], ToolResult)
    inner = message.content[0].content
    assert isinstance(inner[0], Opaque)
    assert inner[1] == Json(value=1)

    text = parts(new).decode()
    request = decode(f'{{"messages":[{text}]}}'.encode(), Request)
    stored = decode(f'{{"session_id":"s","message":{text},"others":{{"k":[{text}]}},"note":{text}}}'.encode(), Stored)
    listed = decode(f"[{text}]".encode(), list[Message])
    for found in (request.messages[0], stored.message, stored.others["k"][0], stored.note, listed[0]):
        assert found is not None
        assert isinstance(found.content[0], Opaque)
        assert bytes(found.content[0].data) == new.encode()
    assert len(caplog.records) == 4  # one for each reading that met some


def test_unknown_parts_in_stored_events() -> None:
    event = '{"type":"tool_result","id":"a","name":"f","result":{"tool_call_id":"a","content":[{"type":"new"}]}}'
    read = decode(event.encode(), ToolResultEvent)
    assert isinstance(read.result.content[0], Opaque)
    union = msgspec.json.decode(
        msgspec.json.encode(OpaqueEvent(part=Opaque(kind="k", data=msgspec.Raw(b"[1, 2]")))), type=SerializedEvent
    )
    assert isinstance(union, OpaqueEvent)
    assert bytes(union.part.data) == b"[1, 2]"


def test_free_json_that_looks_like_parts_stays_as_it_is() -> None:
    free = '{"content":[{"type":"new"}],"messages":[{"content":[{"type":"new"}]}]}'
    message = decode(
        parts(
            '{"type":"new"}',
            f'{{"type":"text","text":"a","provider_metadata":{free}}}',
            f'{{"type":"opaque","kind":"k","data":{free}}}',
            f'{{"type":"tool_result","tool_call_id":"a","content":[{{"type":"json","value":{free}}}]}}',
        ),
        Message,
    )
    plain = msgspec.json.decode(free.encode())
    _, text, opaque, result = message.content
    assert isinstance(text, Text)
    assert text.provider_metadata == plain
    assert isinstance(opaque, Opaque)
    assert bytes(opaque.data) == free.encode()
    assert isinstance(result, ToolResult)
    assert result.content == (Json(value=plain),)


def test_hard_case_87_escaped_lone_surrogates_are_read() -> None:
    opaque = r'{"type":"opaque","kind":"k","data":{"t":"\ud83d \ud83d\ude00 \\ud83d"}}'
    message = decode(parts(r'{"type":"text","text":"a\ud83d"}', opaque), Message)
    assert message.text == "a\ufffd"
    assert isinstance(message.content[1], Opaque)
    assert bytes(message.content[1].data) == rb'{"t":"\ufffd \ud83d\ude00 \\ud83d"}'


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "truncated"),
        (b"{", "truncated"),
        (b"\xff", "malformed"),
        (b'{"role":"user","content":[{"type":"text","text":"\xff"}]}', "utf-8"),
        (b"[]", "Expected `object`, got `array`"),
        (b'{"role":"bot","content":[]}', r"\$\.role"),
        (b'{"role":"user","content":[1]}', r"\$\.content\[0\]"),
        (b'{"role":"user","content":[{"text":"no type"}]}', r"missing required field `type` - at `\$\.content\[0\]`"),
        (b'{"role":"user","content":[{"type":7}]}', r"at `\$\.type`|at `\$\.content\[0\]`"),
        (b'{"role":"user","content":[{"type":"new"},{"type":"text"}]}', r"`text` - at `\$\.content\[1\]`"),
        (b'{"role":"user","content":[{"type":"text","text":5}]}', r"\$\.content\[0\]\.text"),
        (b"[" * 100_000, "got `array`|depth|recursion"),
        (b'{"role":"user","content":' + b"[" * 100_000, "depth|recursion|truncated|array"),
    ],
)
def test_what_does_not_fit_is_an_error_that_says_where(data: bytes, said: str) -> None:
    with pytest.raises(InvalidRequestError, match=said) as caught:
        decode(data, Message)
    assert "JSON of a Message" in str(caught.value)
    assert caught.value.__cause__ is None
    assert len(str(caught.value)) < 400


def test_an_error_does_not_repeat_a_long_value() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        decode(parts('{"type":"text","text":"a","cache":"' + "x" * 10_000 + '"}'), Message)
    assert len(str(caught.value)) < 400


def test_the_rules_of_media_hold_for_what_is_read() -> None:
    with pytest.raises(InvalidRequestError, match="bare type/subtype"):
        decode(parts('{"type":"media","media_type":"text","source":{"type":"url","url":"https://h"}}'), Message)


@given(st.binary(max_size=60) | st.text(max_size=60))
@settings(max_examples=200)
def test_any_bytes_give_a_message_or_an_error_of_ours(data: bytes | str) -> None:
    try:
        read = decode(data, Message)
    except InvalidRequestError:
        return
    assert isinstance(read, Message)
