"""The order of events: generated responses keep it, and no accident to their structure goes unnoticed."""

from collections.abc import Callable
from itertools import count
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmcore import events as e
from llmcore.errors import ProtocolError
from llmcore.lifecycle import RULES, Lifecycle, violations
from llmcore.schema import HandleSource, Media, Opaque, Origin, ToolResult, Usage

MEDIA = Media(media_type="image/png", source=HandleSource(handle="media://sha256-" + "0" * 64))
START = e.ResponseStart(provider="p")
END = e.ResponseEnd(stop_reason="stop")

BLOCKS: dict[str, tuple[Callable[[str], e.Event], Callable[[str], e.Event], Callable[[str], e.Event]]] = {
    "text": (lambda b: e.TextStart(id=b), lambda b: e.TextDelta(id=b, text="x"), lambda b: e.TextEnd(id=b)),
    "reasoning": (
        lambda b: e.ReasoningStart(id=b),
        lambda b: e.ReasoningDelta(id=b, text="x"),
        lambda b: e.ReasoningEnd(id=b, signature="s"),
    ),
    "tool_call": (
        lambda b: e.ToolCallStart(id=b, name="f"),
        lambda b: e.ToolCallDelta(id=b, text="{}"),
        lambda b: e.ToolCallEnd(id=b, arguments="{}"),
    ),
    "media": (
        lambda b: e.MediaStart(id=b, media_type="image/png"),
        lambda b: e.MediaDelta(id=b, progress=0.5),
        lambda b: e.MediaEnd(id=b, media=MEDIA),
    ),
}
LOOSE: list[e.Event] = [
    e.UsageUpdate(usage=Usage(input_tokens=1)),
    e.OpaqueEvent(part=Opaque(kind="k", data=msgspec.Raw(b"{}"), origin=Origin(provider="p", protocol="q", model="m"))),
    e.ToolResultEvent(id="tu_9", name="f", result=ToolResult(tool_call_id="tu_9"), provider_executed=True),
]


@st.composite
def responses(draw: st.DrawFn) -> list[e.Event]:
    """The events of a response: blocks of every family, interleaved at will."""
    names = count()
    waiting: list[list[e.Event]] = []
    for family in draw(st.lists(st.sampled_from(sorted(BLOCKS)), max_size=5)):
        start, delta, end = BLOCKS[family]
        id = f"b{next(names)}"
        waiting.append([start(id), *[delta(id)] * draw(st.integers(0, 3)), end(id)])
    waiting += [[event] for event in draw(st.lists(st.sampled_from(LOOSE), max_size=2))]
    out: list[e.Event] = [START]
    while waiting:
        chosen = draw(st.integers(0, len(waiting) - 1))
        out.append(waiting[chosen].pop(0))
        if not waiting[chosen]:
            del waiting[chosen]
    return [*out, END]


STRUCTURE = tuple(kind for kind, rule in RULES.items() if rule.effect in ("open", "close") or rule.phase != rule.then)
SENTENCES: list[tuple[list[e.Event], str]] = [
    ([], "the stream has no ResponseEnd"),
    ([START], "the stream has no ResponseEnd"),
    ([END], "ResponseEnd before the response has started"),
    ([e.TextStart(id="b0"), START, END], "TextStart before the response has started"),
    ([START, START, END], "ResponseStart after the response has started"),
    ([START, END, END], "ResponseEnd after the response has ended"),
    ([START, END, LOOSE[0]], "UsageUpdate after the response has ended"),
    ([START, e.TextStart(id="b0"), END], "ResponseEnd while b0 is open"),
    ([START, e.TextDelta(id="b0", text="x"), END], "TextDelta for 'b0', which is no open text block"),
    ([START, e.TextEnd(id="b0"), END], "TextEnd for 'b0', which is no open text block"),
    (
        [START, e.TextStart(id="b0"), e.ReasoningDelta(id="b0", text="x"), e.TextEnd(id="b0"), END],
        "ReasoningDelta for 'b0', which is no open reasoning block",
    ),
    (
        [START, e.TextStart(id="b0"), e.ToolCallEnd(id="b0", arguments="{}"), e.TextEnd(id="b0"), END],
        "ToolCallEnd for 'b0', which is no open tool_call block",
    ),
    (
        [START, e.TextStart(id="b0"), e.TextEnd(id="b0"), e.TextDelta(id="b0", text="x"), END],
        "TextDelta for 'b0', which is no open text block",
    ),
    (
        [START, e.TextStart(id="b0"), e.TextEnd(id="b0"), e.ReasoningStart(id="b0"), e.ReasoningEnd(id="b0"), END],
        "ReasoningStart uses the id 'b0' again",
    ),
    ([START, e.StepStart(step=0), END], "StepStart is not an event of a response"),  # type: ignore[list-item]
]


def test_the_table_has_every_event_that_a_protocol_can_yield() -> None:
    assert set(RULES) == set(get_args(e.Event))
    for kind, rule in RULES.items():
        assert (rule.effect is None) is (rule.family is None)
        assert ("id" in kind.__struct_fields__) >= (rule.family is not None)
        assert kind.__name__.endswith({"open": "Start", "grow": "Delta", "close": "End"}.get(rule.effect or "", ""))


@given(responses())
@settings(max_examples=100, deadline=None)
def test_a_response_keeps_the_order_in_any_batches(events: list[e.Event]) -> None:
    assert violations(events) == []
    Lifecycle().check(events)
    one = Lifecycle()
    for event in events:
        one.check([event])
    assert one.phase == "after"


@given(responses(), st.data())
@settings(max_examples=200, deadline=None)
def test_no_accident_to_the_structure_goes_unnoticed(events: list[e.Event], data: st.DataObject) -> None:
    places = [index for index, event in enumerate(events) if isinstance(event, STRUCTURE)]
    at = data.draw(st.sampled_from(places))
    accident = data.draw(st.sampled_from(["drop", "double", "swap", "cut", "late", "early"]))
    broken = list(events)
    match accident:
        case "drop":
            del broken[at]
        case "double":
            broken.insert(at, broken[at])
        case "swap":
            mine = [index for index in places if getattr(events[index], "id", None) == getattr(events[at], "id", None)]
            first, last = mine[0], mine[-1]
            if type(events[first]) is e.ResponseStart:
                first, last = 0, len(events) - 1
            broken[first], broken[last] = broken[last], broken[first]
        case "cut":
            del broken[at:]
        case "late":
            broken.append(broken.pop(at)) if at < len(broken) - 1 else broken.append(START)
        case _:
            broken.insert(0, broken.pop(at)) if at > 0 else broken.insert(0, END)
    assert violations(broken)


@given(responses(), st.data())
@settings(max_examples=100, deadline=None)
def test_a_delta_outside_its_block_is_noticed(events: list[e.Event], data: st.DataObject) -> None:
    grown = [index for index, event in enumerate(events) if RULES[type(event)].effect == "grow"]
    if not grown:
        assert violations([START, BLOCKS["text"][1]("b0"), END])
        return
    delta = events.pop(data.draw(st.sampled_from(grown)))
    own = [index for index, event in enumerate(events) if getattr(event, "id", None) == delta.id]  # type: ignore[union-attr]
    before, after = range(own[0] + 1), range(own[-1] + 1, len(events) + 1)
    events.insert(data.draw(st.sampled_from([*before, *after])), delta)
    assert violations(events)


@pytest.mark.parametrize(("events", "sentence"), SENTENCES)
def test_violations_are_sentences(events: list[e.Event], sentence: str) -> None:
    assert any(found.endswith(sentence) for found in violations(events))


def test_all_violations_of_a_stream_are_listed() -> None:
    found = violations([e.TextEnd(id="b0"), START, e.TextStart(id="b1"), START])
    assert [sentence.removeprefix("event out of order: ") for sentence in found] == [
        "TextEnd before the response has started",
        "ResponseStart after the response has started",
        "the stream has no ResponseEnd",
    ]


def test_a_check_raises_at_the_first_violation() -> None:
    lifecycle = Lifecycle()
    with pytest.raises(ProtocolError, match="event out of order: TextStart uses the id 'b0' again"):
        lifecycle.check([START, e.TextStart(id="b0"), e.TextStart(id="b0"), END])
    assert lifecycle.phase == "during"
