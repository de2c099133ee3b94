"""The wires of OpenAI's Chat: an answer that is meant, put into bytes in any manner of which services have been seen.

`render_stream` puts an answer into frames in any order that its dialect allows, `render_body` into a whole body.
"""

import json
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal

import msgspec
from chat_answers import DIALECTS, Answer, Called, Dialect, answers
from hypothesis import strategies as st
from readings import Wire

Delta = dict[str, Any]
OWNER = "the call that is meant"
"""A key that fragments carry until they are sent."""


class Manner(msgspec.Struct, frozen=True, kw_only=True):
    """How a service sends: all that is not the answer. `plain` is what OpenAI itself does."""

    order: Literal["fields", "any"] = "fields"
    """Reasoning, text, refusal, calls one after the other; or in any order (each in its own)."""
    bundle: bool = False
    """Whether neighbouring fields, and fragments of several calls, may share a delta."""
    usage: Literal["own", "last", "x_groq", "growing", "zero_after"] = "own"
    done: bool = True
    finish: Literal["own", "with_last", "repeated", "blank_first"] = "own"
    azure: bool = False
    other_choice: bool = False
    echo: bool = False
    """A last fragment with blank arguments beside or behind the finish reason (HARD_CASES 6)."""
    noise: tuple[bytes, ...] = ()
    """Lines or frames between the chunks that say nothing."""
    line_end: bytes = b"\n"
    blank: bytes = b" "
    ascii: bool = False
    compact: bool = False
    cuts: int = 4
    """At the most so many cuts in each text."""
    tidy: bool = False
    """Whether calls come one after the other, counted from 0, as OpenAI sends them."""


KEEP_ALIVES = (
    b": OPENROUTER PROCESSING\n\n",
    b":\n\n",
    b"data: : keepalive\n\n",
    b"data: : OPENROUTER PROCESSING\n\n",
    b"data:\n\n",
    b"data: ping\n\n",
    b"event: keepalive\n\n",
    b"event: ping\ndata:\n\n",
    b"id: 7\n\n",
    b": ping\nid: 8\n\n",
    b"retry: 10\n\n",
    b'data: ""\n\n',
)
"""Frames and lines that say nothing (HARD_CASES 17)."""


# -- tool calls


def split(text: str, chance: random.Random, most: int, *, whole: bool = False) -> list[str]:
    """`text` in pieces, none empty. Unless `whole`, a piece may end inside a character: with half a surrogate pair."""
    code = "utf-32-le" if whole else "utf-16-le"
    units, width = text.encode(code, "surrogatepass"), 4 if whole else 2
    size = len(units) // width
    places = sorted({chance.randint(1, size - 1) for _ in range(chance.randint(0, most))} if size > 1 else ())
    ends = [0, *places, size]
    return [units[width * a : width * b].decode(code, "surrogatepass") for a, b in pairwise(ends)]


def fragments(call: Called, place: int, dialect: Dialect, chance: random.Random, *, cuts: int) -> list[Delta]:
    """The fragments of one call in their order, as items of `tool_calls`."""
    pieces = split(call.arguments, chance, cuts, whole=dialect.snapshot) if call.arguments else []
    pieces = unambiguous(pieces) if dialect.name == "each" and not dialect.snapshot else pieces
    needed = 1 + (dialect.id == "late" or dialect.name == "late")
    pieces = [""] * max(needed - len(pieces), chance.randint(0, 1)) + pieces
    out, so_far = list[Delta](), ""
    for number, piece in enumerate(pieces):
        so_far += piece
        function: Delta = {"arguments": so_far if dialect.snapshot else piece}
        if not piece and not dialect.snapshot and chance.random() < 0.3:
            function["arguments"] = None
        if said(dialect.name, number):
            function["name"] = call.name
        elif dialect.name == "blank":
            function["name"] = ""
        item: Delta = {OWNER: call, "function": function}
        if number == 0 or chance.random() < 0.2:
            item["type"] = "function"
        if dialect.index == "own" or (dialect.index == "late" and number):
            item["index"] = place
        elif dialect.index == "zero":
            item["index"] = 0
        if call.wire_id is not None and said("each" if dialect.id == "shared" else dialect.id, number):
            item["id"] = call.wire_id
        elif dialect.id == "blank":
            item["id"] = chance.choice(["", "  ", None])
        out.append(item)
    return out


def said(when: str, number: int) -> bool:
    """Whether the fragment of that number carries what comes `when`."""
    return when == "each" or number == (1 if when == "late" else 0)


def unambiguous(pieces: list[str]) -> list[str]:
    """The pieces, but none that begins with all before it: under a repeated name that is a snapshot, not a piece."""
    out = list[str]()
    for piece in pieces:
        if out and (so_far := "".join(out)) and piece.startswith(so_far):
            out[-1] += piece
        else:
            out.append(piece)
    return out


def merged(queues: list[list[Any]], chance: random.Random) -> list[Any]:
    """The items of all queues in one list, each queue in its own order."""
    queues, out = [list(queue) for queue in queues if queue], []
    while queues:
        queue = chance.choice(queues)
        out.append(queue.pop(0))
        queues = [each for each in queues if each]
    return out


def call_deltas(answer: Answer, dialect: Dialect, manner: Manner, chance: random.Random) -> list[Delta]:
    """The deltas of all calls. Fragments of several calls go in one delta where each says whose it is."""
    count = len(answer.calls)
    places = list(range(count)) if manner.tidy or dialect.index != "own" else indices(count, chance)
    queues = [
        fragments(call, place, dialect, chance, cuts=manner.cuts)
        for call, place in zip(answer.calls, places, strict=True)
    ]
    if manner.tidy or not dialect.interleaves or chance.random() < 0.4:
        return [{"tool_calls": [item]} for queue in queues for item in queue]
    if not manner.bundle:
        return [{"tool_calls": [item]} for item in merged(queues, chance)]
    deltas = list[Delta]()
    while queues := [queue for queue in queues if queue]:
        chosen = sorted(chance.sample(range(len(queues)), chance.randint(1, len(queues))))
        deltas.append({"tool_calls": [queues[place].pop(0) for place in chosen]})
    return deltas


def indices(count: int, chance: random.Random) -> list[int]:
    """Indices of calls: mostly from 0, sometimes with gaps or falling."""
    if chance.random() < 0.7:
        return list(range(count))
    return chance.sample(range(12), count)


def released(deltas: list[Delta]) -> tuple[Called, ...]:
    """Takes the owners out of the fragments; gives the calls in the order in which their names came."""
    order = dict[int, Called]()
    for delta in deltas:
        for item in delta.get("tool_calls", ()):
            call = item.pop(OWNER)
            if item["function"].get("name"):
                order.setdefault(id(call), call)
    return tuple(order.values())


# -- everything else


def reasoning_deltas(answer: Answer, pieces: list[str]) -> list[Delta]:
    match answer.field:
        case "reasoning_details":
            return [{"reasoning_details": [{"type": "reasoning.text", "text": piece, "index": 0}]} for piece in pieces]
        case "thinking":
            return [
                {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": piece}]}]} for piece in pieces
            ]
        case field:
            return [{field: piece} for piece in pieces]


def deltas_of(answer: Answer, dialect: Dialect, manner: Manner, chance: random.Random) -> list[Delta]:
    def pieces(text: str) -> list[str]:
        # What comes in any order is not cut inside a character: the halves could have something else between them.
        return split(text, chance, manner.cuts, whole=manner.order == "any") if text else []

    queues = [
        reasoning_deltas(answer, pieces(answer.reasoning)),
        [{"content": piece} for piece in pieces(answer.text)],
        [{"refusal": piece} for piece in pieces(answer.refusal)],
        call_deltas(answer, dialect, manner, chance),
    ]
    out = merged(queues, chance) if manner.order == "any" else [delta for queue in queues for delta in queue]
    return bundled(out, chance) if manner.bundle else out


def bundled(deltas: list[Delta], chance: random.Random) -> list[Delta]:
    """The deltas, some of them joined with the next where their fields differ and stand in the order of handling."""
    order = (
        "reasoning_content",
        "reasoning",
        "reasoning_text",
        "reasoning_details",
        "content",
        "refusal",
        "tool_calls",
    )
    out = list[Delta]()
    for delta in deltas:
        if out and chance.random() < 0.4 and max(map(order.index, out[-1])) < min(map(order.index, delta)):
            out[-1] = {**out[-1], **delta}
        else:
            out.append(delta)
    return out


def chunks_of(answer: Answer, deltas: list[Delta], manner: Manner, chance: random.Random) -> tuple[list[Delta], int]:
    """The chunks of a stream, and the number of the first that proves its end (their count where none of them does)."""
    head = {} if manner.compact else {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 7, "model": "m"}

    def chunk(delta: Delta, finish: str | None = None, **more: object) -> Delta:
        choice: Delta = {"index": 0, "delta": delta}
        if finish is not None or not manner.compact:
            choice["finish_reason"] = finish
        return {**head, "choices": [choice], **more}

    chunks, ending, usage = opening(manner, head, chunk, chance), dict[str, Any](), answer.usage
    if manner.finish == "with_last" and deltas:
        deltas, ending = deltas[:-1], deltas[-1]
    elif manner.echo and (index := last_index(deltas)) is not None:
        ending = {"tool_calls": [{"index": index, "function": {"arguments": ""}}]}
    for number, delta in enumerate(deltas):
        growing = {"usage": grown(usage, number + 1, len(deltas) + 1)} if usage and manner.usage == "growing" else {}
        chunks.append(chunk(delta, **growing))
        if manner.other_choice and chance.random() < 0.3:
            chunks.append({**head, "choices": [{"index": 1, "delta": {"content": "another candidate"}}]})
    if manner.finish == "blank_first" and answer.finish:
        chunks.append(chunk({}, ""))
    chunks.append(chunk(ending, answer.finish, **beside(usage, manner)))
    proof = len(chunks) - 1
    if manner.finish == "repeated":
        chunks.append(chunk({"content": ""}, answer.finish))
    chunks += [{**head, "choices": [], "usage": record} for record in behind(usage, manner)]
    return chunks, proof if answer.finish else len(chunks)


def opening(manner: Manner, head: Delta, chunk: Callable[[Delta], Delta], chance: random.Random) -> list[Delta]:
    """The chunks before the first content."""
    chunks = [{**head, "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}] if manner.azure else []
    return chunks if manner.compact else [*chunks, chunk({"role": "assistant", "content": chance.choice(["", None])})]


def beside(usage: dict[str, Any] | None, manner: Manner) -> Delta:
    """Where usage stands in the chunk of the finish reason."""
    if usage is None or manner.usage == "own":
        return {}
    return {"x_groq": {"usage": usage}} if manner.usage == "x_groq" else {"usage": usage}


def behind(usage: dict[str, Any] | None, manner: Manner) -> list[dict[str, Any]]:
    """The records of usage that come in chunks of their own, last."""
    if usage is None or manner.usage not in ("own", "zero_after"):
        return []
    return [usage] if manner.usage == "own" else [{name: 0 for name, value in usage.items() if isinstance(value, int)}]


def last_index(deltas: list[Delta]) -> int | None:
    """The index of the last fragment, where it has one."""
    found = [item.get("index") for delta in deltas for item in delta.get("tool_calls", ())]
    return found[-1] if found else None


def grown(usage: dict[str, Any], step: int, steps: int) -> dict[str, Any]:
    """The record of usage as it stood at a step."""
    return {**usage, "completion_tokens": usage["completion_tokens"] * step // steps, "completion_tokens_details": None}


def dumped(value: object, *, ascii: bool) -> bytes:
    """JSON as services write it. Half characters can only be written as escapes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode() if not ascii else json.dumps(value).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def render_stream(answer: Answer, dialect: Dialect, manner: Manner, chance: random.Random) -> tuple[Answer, Wire]:
    """A stream that means the answer, and the answer with its calls in the order in which the stream has them."""
    deltas = deltas_of(answer, dialect, manner, chance)
    answer = msgspec.structs.replace(answer, calls=released(deltas))
    chunks, prover = chunks_of(answer, deltas, manner, chance)
    payloads = [dumped(chunk, ascii=manner.ascii) for chunk in chunks]
    if manner.done or not answer.finish:
        payloads.append(b"[DONE]")
    data, proof, proved = bytearray(), 0, 0
    for number, payload in enumerate(payloads):
        if manner.noise and chance.random() < 0.4:
            data += chance.choice(manner.noise).replace(b"\n", manner.line_end)
        data += b"data:" + manner.blank + payload
        proof = len(data) if number == prover else proof
        data += manner.line_end * 2
        proved = len(data) if number == prover else proved
    return answer, Wire(bytes(data), proof, proved, tuple(payloads))


def render_body(answer: Answer, *, ascii: bool = False) -> bytes:
    """A whole body that means the answer, its calls as documented."""
    message: Delta = {"role": "assistant", "content": answer.text or None}
    if answer.refusal:
        message["refusal"] = answer.refusal
    if answer.reasoning:
        for name, value in reasoning_deltas(answer, [answer.reasoning])[0].items():
            if name != "content":
                message[name] = value
            else:
                message[name] = [*value, {"type": "text", "text": answer.text}] if answer.text else value
    if answer.calls:
        message["tool_calls"] = [
            {"id": call.wire_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in answer.calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": answer.finish}
    return dumped(
        {"id": "chatcmpl-1", "object": "chat.completion", "created": 7, "model": "m", "choices": [choice]}
        | ({} if answer.usage is None else {"usage": answer.usage}),
        ascii=ascii,
    )


# -- strategies


@st.composite
def manners(draw: st.DrawFn, *, order: str | None = None) -> Manner:
    return Manner(
        order=order or draw(st.sampled_from(["fields", "any"])),
        bundle=draw(st.booleans()),
        usage=draw(st.sampled_from(["own", "last", "x_groq", "growing", "zero_after"])),
        done=draw(st.booleans()),
        finish=draw(st.sampled_from(["own", "with_last", "repeated", "blank_first"])),
        azure=draw(st.booleans()),
        other_choice=draw(st.booleans()),
        echo=draw(st.booleans()),
        noise=draw(st.sampled_from([(), KEEP_ALIVES])),
        line_end=draw(st.sampled_from([b"\n", b"\r\n", b"\r"])),
        blank=draw(st.sampled_from([b" ", b""])),
        ascii=draw(st.booleans()),
        compact=draw(st.booleans()),
    )


SEEDS = st.integers(0, 2**32 - 1)
"""Seeds of the small choices: where texts are cut, in which order fragments go."""


@st.composite
def streams(draw: st.DrawFn) -> tuple[Answer, Dialect, Wire]:
    """An answer in any manner and dialect."""
    dialect = draw(st.sampled_from(DIALECTS))
    manner, chance = draw(manners()), random.Random(draw(SEEDS))
    answer, wire = render_stream(draw(answers(dialect)), dialect, manner, chance)
    return answer, dialect, wire


@st.composite
def short_streams(draw: st.DrawFn) -> Wire:
    """A stream of few bytes: with every kind of content, cut at few places."""
    dialect = draw(st.sampled_from(DIALECTS))
    manner = msgspec.structs.replace(draw(manners()), compact=True, noise=(), cuts=1, azure=False, other_choice=False)
    long = draw(answers(dialect))
    answer = msgspec.structs.replace(
        long, text=long.text[:3], refusal=long.refusal[:2], reasoning=long.reasoning[:2], calls=long.calls[:2]
    )
    return render_stream(answer, dialect, manner, random.Random(draw(SEEDS)))[1]
