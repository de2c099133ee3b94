"""Canonical JSON: the vectors of RFC 8785, what it decides beyond them, and that spelling never changes a digest."""

import json
import re
import struct
from decimal import Decimal

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from llmcore.errors import InvalidRequestError
from llmcore.http import Timeout
from llmcore.schema import (
    Generation,
    HttpExtras,
    Json,
    Message,
    Opaque,
    Request,
    Text,
    ToolCall,
    ToolChoice,
    ToolDefinition,
    canonical,
    digest,
)
from llmcore.schema.canonical import number, scrub, whole_escapes

# RFC 8785, appendix B: the bits of a double, and its text.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}
ES_NUMBER = re.compile(r"-?(0|[1-9]\d{0,20}|(0|[1-9]\d*)\.\d*[1-9]|[1-9](\.\d*[1-9])?e[+-][1-9]\d*)\Z")

TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
EXACT = st.integers(-(2**53), 2**53)
VALUES = st.recursive(
    st.none() | st.booleans() | EXACT | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_rfc_8785_numbers(bits: str, text: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(value).decode() == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_has_not_are_refused(value: float) -> None:
    for holder in (value, [1, {"a": value}], Json(value=value)):
        with pytest.raises(InvalidRequestError, match="has no JSON"):
            canonical(holder)


def test_rfc_8785_sample() -> None:
    text = r"""{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"""
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        r'"string":"€$\u000f\nA' + "'" + r'B\"\\\\\"/"}'
    )
    assert canonical(json.loads(text)).decode() == expected


def test_rfc_8785_order_of_keys_is_that_of_utf16() -> None:
    keys = {"\u20ac": 5, "\r": 1, "\ufb33": 7, "1": 2, "\U0001f600": 6, "\u0080": 3, "\u00f6": 4}
    assert list(json.loads(canonical(keys)).values()) == [1, 2, 3, 4, 5, 6, 7]


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=200)
@example(1e21)
@example(123456789012345680000.0)
@example(1e-6)
@example(1e-7)
@example(1.5e300)
@example(-0.0)
def test_a_number_reads_back_and_has_the_form_of_ecmascript(value: float) -> None:
    text = number(value)
    assert float(text) == value
    assert ES_NUMBER.match(text)
    assert len(text.replace("-", "").strip("0").replace(".", "").partition("e")[0].strip("0")) <= 17


@given(st.integers())
@settings(max_examples=100)
@example(2**53 + 1)
def test_an_integer_keeps_all_its_digits(value: int) -> None:
    assert canonical(value).decode() == str(value)


def test_two_ids_beyond_doubles_have_two_digests() -> None:
    assert digest({"id": 2**53}) != digest({"id": 2**53 + 1})


@given(VALUES)
@settings(max_examples=200)
def test_canonical_json_reads_back_as_the_same_value(value: object) -> None:
    text = canonical(value)
    # A double beyond 2**53 is written in the digits of an integer, which Python reads as an exact one.
    assert (
        json.loads(text, parse_int=lambda digits: int(digits) if abs(int(digits)) <= 2**53 else float(digits)) == value
    )
    assert canonical(json.loads(text)) == text
    assert canonical(msgspec.Raw(text)) == text


def respelled(value: object, draw: st.DataObject) -> object:
    """The same value with keys in another order and numbers in another spelling."""
    if isinstance(value, dict):
        names = draw.draw(st.permutations(list(value)))
        return {name: respelled(value[name], draw) for name in names}
    if isinstance(value, list):
        return tuple(respelled(item, draw) for item in value)
    if isinstance(value, int) and not isinstance(value, bool):
        return draw.draw(st.sampled_from([value, float(value)]))
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        return int(value)
    return value


@given(VALUES, st.data())
@settings(max_examples=200)
def test_order_of_keys_and_spelling_of_numbers_never_change_the_digest(value: object, data: st.DataObject) -> None:
    assert digest(respelled(value, data)) == digest(value)


def typed(value: object) -> object:
    """`value` with booleans told apart from numbers, which Python's `==` does not do."""
    if isinstance(value, dict):
        return {name: typed(item) for name, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    return (type(value).__name__, value) if isinstance(value, bool) else value


@given(VALUES, VALUES)
@settings(max_examples=100)
@example(True, 1)
@example({"a": None}, {})
@example([0.0], [-0.0])
@example("1", 1)
def test_two_values_have_two_digests(one: object, other: object) -> None:
    assert (digest(one) == digest(other)) is (typed(one) == typed(other))


def test_digest_is_sha256_in_hexadecimal() -> None:
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert re.fullmatch("[0-9a-f]{64}", digest(Request()))


# ---- structs and other values


def test_a_struct_is_written_without_its_defaults() -> None:
    assert canonical(Message.user("hi")) == b'{"content":[{"text":"hi","type":"text"}],"role":"user"}'
    assert canonical(Request()) == b"{}"


def test_other_values_are_written_as_msgspec_writes_them() -> None:
    assert canonical((1, 2)) == canonical([1, 2]) == b"[1,2]"
    assert canonical(b"abc") == b'"YWJj"'
    assert canonical(Decimal("1.50")) == b'"1.50"'
    assert canonical({2: "a", 10: "b"}) == b'{"10":"b","2":"a"}'
    assert canonical({"b", "a", "c"}) == b'["a","b","c"]'
    assert canonical([True, False, None, {}, []]) == b"[true,false,null,{},[]]"


def test_a_field_that_equals_its_default_is_not_written_however_it_was_made() -> None:
    parameters = {"properties": {}, "type": "object"}
    spelled = Request(
        messages=[],  # type: ignore[arg-type]
        generation=Generation(temperature=None, stop=()),
        provider_options={},
        http=HttpExtras(headers={}),
        tools=(ToolDefinition(name="f", description="".join([]), parameters=parameters),),
    )
    assert canonical(spelled) == canonical(Request(tools=(ToolDefinition(name="f"),)))
    assert canonical(spelled) == b'{"tools":[{"name":"f","type":"function"}]}'
    assert canonical(Timeout(connect=10)) == canonical(Timeout()) == b"{}"
    assert canonical(Timeout(connect=None)) == b'{"connect":null}'
    assert canonical(ToolChoice(mode="".join(["au", "to"]))) == b"{}"  # type: ignore[arg-type]


class Plain(msgspec.Struct, rename="camel", tag="p"):
    """A Struct of another kind: renamed fields, defaults written, fields that may be unset."""

    b_field: int = 1
    a_field: int | msgspec.UnsetType = msgspec.UNSET
    c_field: "Plain | None" = None


class Row(msgspec.Struct, array_like=True):
    x: int
    y: str = "z"


def test_structs_of_others_are_written_as_msgspec_writes_them() -> None:
    for value in (Plain(), Plain(a_field=2, c_field=Plain()), Row(1), [Row(2, "a")], {"k": Row(3)}):
        assert json.loads(canonical(value)) == json.loads(msgspec.json.encode(value))
    assert canonical(Plain(a_field=3)) == b'{"aField":3,"bField":1,"cField":null,"type":"p"}'


def test_json_that_is_kept_as_text_counts_by_its_value() -> None:
    one = Opaque(kind="k", data=msgspec.Raw(b'{"b": 1.0, "a": "\\u00e9"}'))
    other = Opaque(kind="k", data=msgspec.Raw('{"a":"é","b":1}'.encode()))
    assert digest(one) == digest(other)
    assert canonical(one) == '{"data":{"a":"é","b":1},"kind":"k","type":"opaque"}'.encode()


@pytest.mark.parametrize("text", [b"", b"{", b"NaN", b"\xff", b'{"a":1}x'])
def test_text_that_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidRequestError, match="does not parse"):
        canonical(Opaque(kind="k", data=msgspec.Raw(text)))


def test_what_has_no_json_is_refused() -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    for value, said in ((object(), "object"), ({"a": {None: 1}}, "keys"), (nested, "too deeply"), (print, "function")):
        with pytest.raises(InvalidRequestError, match=said):
            canonical(value)


def test_canonical_changes_nothing_that_it_is_given() -> None:
    call = ToolCall(id="a", name="f", provider_metadata={"b": [2.0], "a": 1})
    canonical(Request(messages=(Message.assistant(call),)))
    assert call.provider_metadata == {"b": [2.0], "a": 1}
    assert list(call.provider_metadata) == ["b", "a"]


# ---- surrogates


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        (chr(0xD83D), "\ufffd"),
        ("a\ud83db", "a\ufffdb"),
        (chr(0xDE00), "\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ud83d\ud83d\ude00\ude00", "\ufffd\U0001f600\ufffd"),
        ("\U0001f600é", "\U0001f600é"),
    ],
)
def test_hard_case_87_lone_surrogates_are_replaced_and_pairs_joined(text: str, valid: str) -> None:
    assert scrub(text) == valid
    assert canonical({text: text}) == json.dumps({valid: valid}, ensure_ascii=False, separators=(",", ":")).encode()
    assert canonical(Text(text=text)) == canonical(Text(text=valid))


@given(st.text(st.characters(), max_size=8))
@settings(max_examples=100)
def test_scrubbed_text_is_unicode_and_valid_text_is_not_changed(text: str) -> None:
    scrubbed = scrub(text)
    scrubbed.encode()
    assert scrub(scrubbed) == scrubbed
    if not re.search("[\ud800-\udfff]", text):
        assert scrubbed is text


def test_keys_that_surrogates_alone_told_apart_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="two keys"):
        canonical({chr(0xD800): 1, chr(0xD801): 2})
    with pytest.raises(InvalidRequestError, match="two keys"):
        canonical({1: 1, "1": 2})


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (rb'"\ud83d"', rb'"\ufffd"'),
        (rb'"\uD83D\uDE00"', rb'"\uD83D\uDE00"'),
        (rb'"\ud83d\ud83d\ude00\ude00"', rb'"\ufffd\ud83d\ude00\ufffd"'),
        (rb'"\\ud83d"', rb'"\\ud83d"'),
        (rb'"\\\ud83d\n"', rb'"\\\ufffd\n"'),
        (b'{"a" : "\\u00e9 \xc3\xa9"}', b'{"a" : "\\u00e9 \xc3\xa9"}'),
    ],
)
def test_escapes_in_json_text_are_made_whole_and_nothing_else_is_touched(text: bytes, whole: bytes) -> None:
    assert whole_escapes(text) == whole
    assert msgspec.json.decode(whole_escapes(text)) == msgspec.json.decode(whole)
    assert canonical(msgspec.Raw(text)) == canonical(msgspec.Raw(whole))
