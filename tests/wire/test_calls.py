"""Tool calls out of fragments: HARD_CASES rows 1-7, over all evidence that a wire may give or fail to give."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmcore.events import Event, ToolCallDelta, ToolCallEnd, ToolCallStart
from llmcore.ids import counter
from llmcore.lifecycle import Lifecycle
from llmcore.schema.parts import Origin
from llmcore.wire.calls import Calls

ORIGIN = Origin(provider="p", protocol="x", model="m")
Fragment = dict[str, Any]
Seen = list[tuple[str, str, str | None]]


def run(deltas: list[list[Fragment]], *, cut: bool = False) -> tuple[Seen, list[Event]]:
    calls, out = Calls(counter(), ORIGIN), list[Event]()
    for fragments in deltas:
        calls.next_delta()
        for position, fragment in enumerate(fragments):
            calls.fragment(out, behind=len(fragments) - position, **fragment)
    calls.end(out, cut=cut)
    starts = {event.id: event for event in out if isinstance(event, ToolCallStart)}
    ends = {event.id: event for event in out if isinstance(event, ToolCallEnd)}
    assert list(starts) == sorted(ends, key=list(starts).index)
    check_order(out)
    seen = [(start.name, ends[call].arguments, ends[call].wire_id or start.wire_id) for call, start in starts.items()]
    return seen, out


def check_order(events: list[Event]) -> None:
    from llmcore.events import ResponseEnd, ResponseStart

    Lifecycle().check([ResponseStart(provider="p"), *events, ResponseEnd(stop_reason="tool_use")])


def call(index: int | None, wire_id: str | None, name: str | None, text: str = "") -> Fragment:
    return {"index": index, "wire_id": wire_id, "name": name, "text": text}


TABLE: list[tuple[str, list[list[Fragment]], Seen]] = [
    (
        "as documented",
        [[call(0, "c1", "f")], [call(0, None, None, '{"a"')], [call(0, None, None, ":1}")], [call(1, "c2", "g")]],
        [("f", '{"a":1}', "c1"), ("g", "{}", "c2")],
    ),
    (
        "row 1: no index, one call",
        [[call(None, "c1", "f", '{"a"')], [call(None, None, None, ":1}")]],
        [("f", '{"a":1}', "c1")],
    ),
    (
        "row 1: no index, two calls in one delta",
        [[call(None, "c1", "f", '{"a":1}'), call(None, "c2", "f", '{"a":2}')]],
        [("f", '{"a":1}', "c1"), ("f", '{"a":2}', "c2")],
    ),
    (
        "row 1: no index and no id, two calls in one delta",
        [[call(None, None, "f", '{"a":1}'), call(None, None, "f", '{"a":1}')]],
        [("f", '{"a":1}', None), ("f", '{"a":1}', None)],
    ),
    (
        "row 1: no index first, then an explicit one",
        [
            [call(None, "c1", "f")],
            [call(0, None, None, '{"a":')],
            [call(0, None, None, "1}")],
            [call(1, "c2", "g", "{}")],
        ],
        [("f", '{"a":1}', "c1"), ("g", "{}", "c2")],
    ),
    (
        "row 1: two without index, then explicit ones",
        [
            [call(None, "c1", "f"), call(None, "c2", "g")],
            [call(0, None, None, '{"a":1}')],
            [call(1, None, None, '{"b":2}')],
        ],
        [("f", '{"a":1}', "c1"), ("g", '{"b":2}', "c2")],
    ),
    (
        "fragments of two calls in one delta without any evidence",
        [
            [call(None, None, "f"), call(None, None, "g")],
            [call(None, None, None, "{"), call(None, None, None, "{ ")],
            [call(None, None, None, "}"), call(None, None, None, "}")],
        ],
        [("f", "{}", None), ("g", "{ }", None)],
    ),
    (
        "row 2: index always 0, ids of their own",
        [
            [call(0, "c1", "f")],
            [call(0, None, None, '{"a":1}')],
            [call(0, "c2", "f")],
            [call(0, None, None, '{"a":2}')],
        ],
        [("f", '{"a":1}', "c1"), ("f", '{"a":2}', "c2")],
    ),
    (
        "row 2: index always 0, no ids, whole arguments",
        [[call(0, None, "f", '{"a":1}')], [call(0, None, "f", '{"a":2}')], [call(0, None, "g", "{}")]],
        [("f", '{"a":1}', None), ("f", '{"a":2}', None), ("g", "{}", None)],
    ),
    (
        "row 2: index always 0, no ids, arguments in pieces",
        [
            [call(0, None, "f")],
            [call(0, None, None, '{"a":')],
            [call(0, None, None, "1}")],
            [call(0, None, "f")],
            [call(0, None, None, '{"a":2}')],
        ],
        [("f", '{"a":1}', None), ("f", '{"a":2}', None)],
    ),
    (
        "row 2: name and id repeated with every fragment",
        [[call(0, "c1", "f", '{"a"')], [call(0, "c1", "f", ":1")], [call(0, "c1", "f", "}")]],
        [("f", '{"a":1}', "c1")],
    ),
    (
        "row 2: name repeated, no index, no id",
        [[call(None, None, "f", '{"a"')], [call(None, None, "f", ":1}")], [call(None, None, "f", '{"a":2}')]],
        [("f", '{"a":1}', None), ("f", '{"a":2}', None)],
    ),
    (
        "a new id with every fragment",
        [[call(0, "x1", "f", '{"a"')], [call(0, "x2", None, ":1")], [call(0, "x3", None, "}")]],
        [("f", '{"a":1}', "x1")],
    ),
    (
        "row 3: one id for parallel calls, indices of their own",
        [
            [call(0, "c1", "f")],
            [call(0, "c1", None, '{"a":1}')],
            [call(1, "c1", "f")],
            [call(1, "c1", None, '{"a":2}')],
        ],
        [("f", '{"a":1}', "c1"), ("f", '{"a":2}', "c1")],
    ),
    (
        "row 3: one id and one index for parallel calls",
        [[call(0, "c1", "f", '{"a":1}')], [call(0, "c1", "f")], [call(0, None, None, '{"a":2}')]],
        [("f", '{"a":1}', "c1"), ("f", '{"a":2}', "c1")],
    ),
    (
        "row 3: one id for two whole calls in one delta",
        [[call(0, "c1", "f", '{"a":1}'), call(1, "c1", "f", '{"a":2}')]],
        [("f", '{"a":1}', "c1"), ("f", '{"a":2}', "c1")],
    ),
    (
        "row 6: arguments complete, then a blank fragment",
        [[call(0, "c1", "f", '{"a":1}')], [call(0, None, None, "")]],
        [("f", '{"a":1}', "c1")],
    ),
    (
        "row 6: arguments complete, then the header once more",
        [[call(0, "c1", "f", '{"a":1}')], [call(0, "c1", "f", "")]],
        [("f", '{"a":1}', "c1")],
    ),
    (
        "row 7: snapshots that grow",
        [
            [call(0, "c1", "f", '{"a"')],
            [call(0, "c1", "f", '{"a":1}')],
            [call(0, "c1", "f", '{"a":1}'), call(1, "c2", "g", "{}")],
        ],
        [("f", '{"a":1}', "c1"), ("g", "{}", "c2")],
    ),
    (
        "row 7: snapshots by id under one index",
        [
            [call(0, "c1", "f", "{}")],
            [call(0, "c1", "f", "{}"), call(0, "c2", "g", "{}")],
            [call(0, "c1", "f", "{}"), call(0, "c2", "g", "{}")],
        ],
        [("f", "{}", "c1"), ("g", "{}", "c2")],
    ),
    ("id late", [[call(0, None, "f")], [call(0, None, None, "{}")], [call(0, "c1", None)]], [("f", "{}", "c1")]),
    (
        "name late",
        [[call(0, "c1", None)], [call(0, None, None, '{"a"')], [call(0, None, "f", ":1}")]],
        [("f", '{"a":1}', "c1")],
    ),
    (
        "interleaved",
        [
            [call(0, "c1", "f"), call(1, "c2", "g")],
            [call(1, None, None, '{"b"')],
            [call(0, None, None, '{"a"')],
            [call(1, None, None, ":2}")],
            [call(0, None, None, ":1}")],
        ],
        [("f", '{"a":1}', "c1"), ("g", '{"b":2}', "c2")],
    ),
    (
        "indices from 5",
        [[call(5, "c1", "f", "{}")], [call(7, "c2", "g", "{}")]],
        [("f", "{}", "c1"), ("g", "{}", "c2")],
    ),
    ("a blank entry", [[call(0, None, None, "")]], []),
]


@pytest.mark.parametrize(("deltas", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_rows_01_to_07_each_fragment_finds_its_call(deltas: list[list[Fragment]], expected: Seen) -> None:
    seen, _ = run(deltas)
    assert seen == expected


def test_row_04_every_fragment_event_has_the_id_of_its_call_and_deltas_flow_at_once() -> None:
    calls, out = Calls(counter(), ORIGIN), list[Event]()
    calls.fragment(out, index=0, wire_id="c1", name="f")
    assert [type(event) for event in out] == [ToolCallStart]
    calls.fragment(out, index=0, text='{"a":')
    calls.fragment(out, index=0, text="1}")
    deltas = [event for event in out if isinstance(event, ToolCallDelta)]
    assert [event.text for event in deltas] == ['{"a":', "1}"]
    assert {event.id for event in deltas} == {"tu_0"}


def test_the_start_waits_for_the_name_and_then_brings_what_came_before() -> None:
    calls, out = Calls(counter(), ORIGIN), list[Event]()
    calls.fragment(out, index=0, wire_id="c1", text='{"a"')
    assert out == []
    calls.fragment(out, index=0, name="f", text=":1}")
    assert out == [ToolCallStart(id="tu_0", name="f", wire_id="c1"), ToolCallDelta(id="tu_0", text='{"a":1}')]


def test_row_05_and_16_truncated_arguments_are_an_error_and_siblings_survive() -> None:
    deltas = [[call(0, "c1", "f", '{"a":1}')], [call(1, "c2", "g", '{"b":')]]
    seen, out = run(deltas, cut=True)
    ends = [event for event in out if isinstance(event, ToolCallEnd)]
    assert seen == [("f", '{"a":1}', "c1"), ("g", '{"b":', "c2")]
    assert ends[0].error is None
    assert ends[1].error is not None


def test_row_16_blank_arguments_of_an_answer_that_was_cut_are_an_error() -> None:
    _, out = run([[call(0, "c1", "f")]], cut=True)
    end = out[-1]
    assert isinstance(end, ToolCallEnd)
    assert end.arguments == "{}"
    assert end.error is not None


def test_a_call_without_a_name_is_an_error_not_a_guess() -> None:
    seen, out = run([[call(0, "c1", None, '{"a":1}')]])
    assert seen == [("", '{"a":1}', "c1")]
    end = out[-1]
    assert isinstance(end, ToolCallEnd)
    assert end.error == "the provider sent no name for this call"


def test_what_comes_after_the_end_and_says_nothing_new_is_ignored() -> None:
    calls, out = Calls(counter(), ORIGIN), list[Event]()
    calls.fragment(out, index=0, wire_id="c1", name="f", text="{}")
    calls.end(out)
    before = list(out)
    calls.fragment(out, index=0)
    calls.fragment(out, index=0, wire_id="c1", name="f", text="{}")
    calls.fragment(out, index=0, wire_id="c1", name="f")
    assert out == before
    assert calls.end(out) == []


def test_a_custom_call_is_a_text_and_its_json_is_a_string() -> None:
    calls, out = Calls(counter(), ORIGIN), list[Event]()
    calls.fragment(out, index=0, wire_id="c1", name="sql", text='SELECT "a"', custom=True)
    calls.fragment(out, index=0, text="\nFROM t")
    calls.end(out)
    end = out[-1]
    assert isinstance(end, ToolCallEnd)
    assert end.arguments == '"SELECT \\"a\\"\\nFROM t"'
    assert "".join(event.text for event in out if isinstance(event, ToolCallDelta)) == end.arguments
    assert end.input == 'SELECT "a"\nFROM t'
    assert end.provider_metadata == {"type": "custom"}


def test_surrogate_pairs_cut_between_fragments_are_joined() -> None:
    calls, out = Calls(counter(), ORIGIN), list[Event]()
    calls.odd = True
    for text in ('{"a":"', "\ud83d", "\ude00", '"}'):
        calls.fragment(out, index=0, wire_id="c1", name="f" if text == '{"a":"' else None, text=text)
    calls.end(out)
    end = out[-1]
    assert isinstance(end, ToolCallEnd)
    assert end.arguments == '{"a":"😀"}'
    assert "".join(event.text for event in out if isinstance(event, ToolCallDelta)) == end.arguments


ARGUMENTS = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers() | st.text(max_size=6), max_size=3)
SENT = st.lists(st.tuples(st.sampled_from(["f", "g"]), ARGUMENTS), min_size=1, max_size=4, unique_by=repr)


@st.composite
def wires(draw: st.DrawFn) -> tuple[list[tuple[str, str]], list[list[Fragment]]]:
    """Calls, and one way a wire may send them: with evidence that suffices to tell them apart."""
    import json

    sent = [(name, json.dumps(arguments, ensure_ascii=False)) for name, arguments in draw(SENT)]
    index = draw(st.sampled_from(["own", "absent", "zero"]))
    ids = draw(
        st.sampled_from(["own", "own each time"] if index != "own" else ["own", "own each time", "same", "absent"])
    )
    name_again = draw(st.booleans()) and ids != "same"
    queues = list[list[Fragment]]()
    for number, (name, text) in enumerate(sent):
        cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=4)))
        pieces = [text[i:j] for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        queue = list[Fragment]()
        for position, piece in enumerate(["", *pieces]):
            header = position == 0
            wire_id = {"own": f"c{number}" if header else None, "own each time": f"c{number}"}.get(ids)
            wire_id = "same" if ids == "same" and header else wire_id
            wire_index = {"own": number, "zero": 0}.get(index)
            queue.append(call(wire_index, wire_id, name if header or name_again else None, piece))
        queues.append(queue)
    can_interleave = (index == "own" and ids != "same") or ids == "own each time"
    deltas = list[list[Fragment]]()
    while any(queues):
        ready = [queue for queue in queues if queue]
        chosen = draw(st.sampled_from(ready)) if can_interleave else ready[0]
        deltas.append([chosen.pop(0)])
    return sent, deltas


@settings(max_examples=200, deadline=None)
@given(wires())
def test_calls_out_are_the_calls_sent(wire: tuple[list[tuple[str, str]], list[list[Fragment]]]) -> None:
    sent, deltas = wire
    seen, out = run(deltas)
    assert sorted((name, arguments) for name, arguments, _ in seen) == sorted(sent)
    assert all(event.error is None for event in out if isinstance(event, ToolCallEnd))


def test_fragments_are_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work counted, not timed: no header comes, so nothing that was said before is looked at again."""
    from llmcore.wire import calls as module

    looked, judge = list[int](), module.is_object

    def counted(text: str) -> bool:
        looked.append(len(text))
        return judge(text)

    monkeypatch.setattr(module, "is_object", counted)
    calls, out = Calls(counter(), ORIGIN), list[Event]()
    calls.fragment(out, index=0, wire_id="c1", name="f")
    for _ in range(8000):
        calls.fragment(out, index=0, text='{"a": {}}')
    assert looked == []
    assert len(out) == 8001
    calls.next_delta()
    calls.fragment(out, index=0, wire_id="c1", name="f", text='{"a": {}}')
    assert len(looked) == 1  # a header: now it is asked, once
