"""What must hold for reading over every protocol. One joins with a row in `SUBJECTS`: how it is read, and what."""

import json
import random
from typing import Any

import msgspec
import pytest
from chat_answers import AS_DOCUMENTED, answers
from chat_wires import SEEDS, render_body, short_streams, streams
from hypothesis import given, settings
from hypothesis import strategies as st
from readings import (
    Subject,
    Wire,
    check_any_bytes,
    check_cut_body,
    check_payloads,
    check_splits,
    check_truncation,
    mutated,
)

from llmcore.auth import none
from llmcore.framing import SSE
from llmcore.protocols.openai_chat import OPENAI_CHAT
from llmcore.route import Route, post


class Row(msgspec.Struct, frozen=True):
    """How a protocol is read; streams that end as they should, short ones, and whole bodies; words of its wire."""

    subject: Subject
    streams: st.SearchStrategy[Wire]
    short: st.SearchStrategy[Wire]
    bodies: st.SearchStrategy[bytes]
    words: tuple[str, ...]


def subject(protocol: Any, path: str) -> Subject:
    route = Route(
        id="test/api",
        protocol=protocol,
        base_url="https://api.example.com/v1",
        endpoint=post(path),
        auth=none(),
        framing=SSE,
    )
    return Subject(route.model("m"))


SUBJECTS: dict[str, Row] = {
    "openai-chat": Row(
        subject=subject(OPENAI_CHAT, "/chat/completions"),
        streams=streams().map(lambda stream: stream[2]),
        short=short_streams(),
        bodies=answers(AS_DOCUMENTED).map(render_body),
        words=(
            *("choices", "delta", "message", "content", "tool_calls", "function", "arguments", "index", "id", "type"),
            *("finish_reason", "usage", "error", "stop", "text", "thinking", "reasoning_details", "executed_tools"),
        ),
    ),
}

rows = pytest.mark.parametrize("protocol", SUBJECTS)


@rows
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_row_14_a_stream_cut_at_any_byte_is_no_success_without_proof_of_its_end(
    protocol: str, data: st.DataObject
) -> None:
    row = SUBJECTS[protocol]
    check_truncation(row.subject, data.draw(row.short))


@rows
@given(st.data())
@settings(max_examples=150, deadline=None)
def test_row_14_a_long_stream_cut_anywhere_is_no_success_without_proof_of_its_end(
    protocol: str, data: st.DataObject
) -> None:
    row = SUBJECTS[protocol]
    wire, chance = data.draw(row.streams), random.Random(data.draw(SEEDS))
    near = [place for edge in (wire.proof, wire.proved) for place in (edge - 1, edge) if place < len(wire.data)]
    check_truncation(row.subject, wire, [*near, *(chance.randrange(len(wire.data)) for _ in range(12))])


@rows
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_no_beginning_of_a_whole_body_passes_for_it(protocol: str, data: st.DataObject) -> None:
    row = SUBJECTS[protocol]
    body, chance = data.draw(row.bodies), random.Random(data.draw(SEEDS))
    check_cut_body(row.subject, body, [0, 1, len(body) - 1, *(chance.randrange(len(body)) for _ in range(30))])


@rows
@given(st.binary(max_size=200) | st.text(max_size=60).map(str.encode))
@settings(max_examples=150, deadline=None)
def test_any_bytes_give_events_in_order_or_an_error_of_ours(protocol: str, data: bytes) -> None:
    row = SUBJECTS[protocol]
    check_any_bytes(row.subject, data)


@rows
@given(st.data(), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_changed_bytes_give_events_in_order_or_an_error_of_ours_however_they_are_cut(
    protocol: str, data: st.DataObject, changes: list[tuple[int, int]]
) -> None:
    row = SUBJECTS[protocol]
    changed = bytearray(data.draw(row.short).data)
    for place, value in changes:
        changed[place % len(changed)] = value
    check_splits(row.subject, bytes(changed), random.Random(data.draw(SEEDS)))


ODD: tuple[object, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    *("", "x", " ", "\ud800", "NaN"),
    [],
    [None],
    {},
    {"x": 1},
    [[]],
)


@rows
@given(st.data())
@settings(max_examples=200, deadline=None)
def test_frames_with_odd_values_give_events_in_order_or_an_error_of_ours(protocol: str, data: st.DataObject) -> None:
    row = SUBJECTS[protocol]
    wire, chance = data.draw(row.streams), random.Random(data.draw(SEEDS))
    junk = [*ODD, *row.words, dict(zip(row.words, ODD, strict=False))]
    check_payloads(row.subject, [changed(payload, chance, junk) for payload in wire.payloads])


@rows
@given(st.data())
@settings(max_examples=150, deadline=None)
def test_bodies_with_odd_values_give_events_in_order_or_an_error_of_ours(protocol: str, data: st.DataObject) -> None:
    row = SUBJECTS[protocol]
    body, chance = data.draw(row.bodies), random.Random(data.draw(SEEDS))
    for _ in range(5):
        assert row.subject.whole(changed(body, chance, [*ODD, *row.words], 1.0)).problems() == []


def changed(payload: bytes, chance: random.Random, junk: list[object], odds: float = 0.3) -> bytes:
    """A payload with an odd value in it now and then."""
    if chance.random() > odds or not payload.startswith(b"{"):
        return payload
    return json.dumps(mutated(json.loads(payload), chance, junk)).encode()


@rows
@given(st.data())
@settings(max_examples=100, deadline=None)
def test_frames_lost_doubled_or_out_of_order_give_events_in_order_or_an_error_of_ours(
    protocol: str, data: st.DataObject
) -> None:
    row = SUBJECTS[protocol]
    wire, chance = data.draw(row.streams), random.Random(data.draw(SEEDS))
    payloads = list(wire.payloads)
    check_payloads(row.subject, chance.choices(payloads, k=len(payloads) + 2))
    chance.shuffle(payloads)
    check_payloads(row.subject, payloads)
    check_payloads(row.subject, [payload[: chance.randint(0, len(payload))] for payload in payloads])
