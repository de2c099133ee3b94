"""Answers that a service of OpenAI's Chat could intend, and the wires that it could send them in.

An `Answer` is what is meant. A `Dialect` says which evidence the fragments of its tool calls carry; `DIALECTS` are all
of which the calls can be told apart at all. `render_stream` puts an answer into frames in any order that its
dialect allows, `render_body` into a whole body. Nothing here uses the protocol's code.
"""

import json
import random
from itertools import pairwise
from typing import Any, Literal

import msgspec
from hypothesis import strategies as st
from readings import Wire

# -- what is meant


class Called(msgspec.Struct, frozen=True):
    """A call as it is meant. `arguments` is the text on the wire, `broken` says that it is no JSON object."""

    name: str
    arguments: str
    wire_id: str | int | None = None
    broken: bool = False


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What one answer means. `field` is where its reasoning stands; `usage` the native record; `finish` the last
    finish reason that is not blank (`None` for none at all: then `[DONE]` ends the stream)."""

    text: str = ""
    refusal: str = ""
    reasoning: str = ""
    field: str = "reasoning_content"
    calls: tuple[Called, ...] = ()
    usage: dict[str, Any] | None = None
    finish: str | None = "stop"

    @property
    def stop_reason(self) -> str:
        """The canonical stop reason, from a table of this module's own."""
        if any(not call.broken for call in self.calls) and (self.finish or "stop").lower() == "stop":
            return "tool_use"
        return STOPS.get((self.finish or "").lower(), "unknown")


STOPS = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filter",
    "eos": "stop",
}
FIELDS = ("reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "thinking")


# -- how calls are told apart


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence that fragments carry (HARD_CASES 1-4, 7).

    `index`: one for each call, the same for all, none, or none until the header is through. `id`: with the first
    fragment, with each, blank after the first, with the second, one id for all calls, none. `name`: with the first
    fragment, with each, blank after the first, with the second. `snapshot`: each fragment has all that came so far.
    """

    index: Literal["own", "zero", "absent", "late"] = "own"
    id: Literal["first", "each", "blank", "late", "shared", "absent"] = "first"
    name: Literal["first", "each", "blank", "late"] = "first"
    snapshot: bool = False

    @property
    def named(self) -> bool:
        """Whether a header has the name."""
        return self.name != "late"

    @property
    def marked(self) -> bool:
        """Whether a header has an id of the call's own."""
        return self.id in ("first", "each", "blank")

    @property
    def legal(self) -> bool:
        """Whether the calls can be told apart at all."""
        if self.snapshot:
            return self.name == "each" and (self.index == "own" or self.id == "each")
        if self.index == "late" and self.name == "each":
            return self.id == "each"  # else the first index looks like another call of that name
        if self.index == "own":
            return self.named or self.id != "shared"
        return self.named or self.marked

    @property
    def interleaves(self) -> bool:
        """Whether each fragment says whose it is."""
        return self.index == "own" or (self.id == "each" and self.named)

    @property
    def plain(self) -> bool:
        """Whether the end of a call shows only in its arguments: then they must be whole objects, no two the same."""
        return not (self.index == "own" or (self.marked and self.named))


DIALECTS = [
    dialect
    for index in ("own", "zero", "absent", "late")
    for id in ("first", "each", "blank", "late", "shared", "absent")
    for name in ("first", "each", "blank", "late")
    for snapshot in (False, True)
    if (dialect := Dialect(index=index, id=id, name=name, snapshot=snapshot)).legal
]

Delta = dict[str, Any]
OWNER = "the call that is meant"
"""A key that fragments carry until they are sent."""


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


def call_deltas(answer: Answer, dialect: Dialect, chance: random.Random, *, cuts: int, bundle: bool) -> list[Delta]:
    """The deltas of all calls. Fragments of several calls go in one delta where each says whose it is."""
    places = indices(len(answer.calls), chance) if dialect.index == "own" else list(range(len(answer.calls)))
    queues = [
        fragments(call, place, dialect, chance, cuts=cuts) for call, place in zip(answer.calls, places, strict=True)
    ]
    if not dialect.interleaves or chance.random() < 0.4:
        return [{"tool_calls": [item]} for queue in queues for item in queue]
    if not bundle:
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


# -- how the rest goes


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


def deltas_of(answer: Answer, dialect: Dialect, manner: Manner, chance: random.Random) -> list[Delta]:
    def pieces(text: str) -> list[str]:
        # What comes in any order is not cut inside a character: the halves could have something else between them.
        return split(text, chance, manner.cuts, whole=manner.order == "any") if text else []

    queues = [
        reasoning_deltas(answer, pieces(answer.reasoning)),
        [{"content": piece} for piece in pieces(answer.text)],
        [{"refusal": piece} for piece in pieces(answer.refusal)],
        call_deltas(answer, dialect, chance, cuts=manner.cuts, bundle=manner.bundle),
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
    """The chunks of a stream, and the number of the first that proves its end (their count where only `[DONE]` does)."""
    head = {} if manner.compact else {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 7, "model": "m"}
    chunks = list[Delta]()

    def chunk(delta: Delta, finish: str | None = None, **more: object) -> Delta:
        choice: Delta = {"index": 0, "delta": delta}
        if finish is not None or not manner.compact:
            choice["finish_reason"] = finish
        return {**head, "choices": [choice], **more}

    if manner.azure:
        chunks.append({**head, "choices": [], "prompt_filter_results": [{"prompt_index": 0}]})
    if not manner.compact:
        chunks.append(chunk({"role": "assistant", "content": chance.choice(["", None])}))
    ending: Delta = {}
    if manner.finish == "with_last" and deltas:
        deltas, ending = deltas[:-1], deltas[-1]
    elif manner.echo and (index := last_index(deltas)) is not None:
        ending = {"tool_calls": [{"index": index, "function": {"arguments": ""}}]}
    usage = answer.usage
    for number, delta in enumerate(deltas):
        growing = {"usage": grown(usage, number + 1, len(deltas) + 1)} if usage and manner.usage == "growing" else {}
        chunks.append(chunk(delta, **growing))
        if manner.other_choice and chance.random() < 0.3:
            chunks.append({**head, "choices": [{"index": 1, "delta": {"content": "another candidate"}}]})
    if manner.finish == "blank_first" and answer.finish:
        chunks.append(chunk({}, ""))
    last = {"usage": usage} if usage and manner.usage in ("last", "growing", "zero_after") else {}
    groq = {"x_groq": {"usage": usage}} if usage and manner.usage == "x_groq" else {}
    proof = len(chunks) if answer.finish else -1
    chunks.append(chunk(ending, answer.finish, **last, **groq))
    if manner.finish == "repeated":
        chunks.append(chunk({"content": ""}, answer.finish))
    if usage and manner.usage == "own":
        chunks.append({**head, "choices": [], "usage": usage})
    if usage and manner.usage == "zero_after":
        chunks.append({**head, "choices": [], "usage": dict.fromkeys(usage_counts(usage), 0)})
    return chunks, proof if proof >= 0 else len(chunks)


def last_index(deltas: list[Delta]) -> int | None:
    """The index of the last fragment, where it has one."""
    found = [item.get("index") for delta in deltas for item in delta.get("tool_calls", ())]
    return found[-1] if found else None


def usage_counts(usage: dict[str, Any]) -> list[str]:
    return [name for name, value in usage.items() if isinstance(value, int)]


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

TEXTS = st.text(
    st.sampled_from('ab {}[]"\\/:,\n\r\t<>\u2028\u2029\u0085\x0b\x1c\x7f\x00éß中😀👩‍🚀𝄞\ufeff\ufffd')
    | st.characters(exclude_categories=("Cs",)),
    max_size=12,
)
SPOKEN = st.one_of(st.just(""), st.sampled_from(["Hello", "Grüße 😀", "a\u2028b", "𝄞𝄞𝄞"]), TEXTS)
NAMES = st.sampled_from(["get_weather", "f", "g", "search-web"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=3)


@st.composite
def objects(draw: st.DrawFn) -> str:
    """An object as a model may write it."""
    value = draw(OBJECTS)
    style = draw(st.sampled_from([{}, {"separators": (",", ":")}, {"indent": 1}, {"ensure_ascii": False}]))
    return json.dumps(value, **style)


@st.composite
def calls(draw: st.DrawFn, dialect: Dialect, most: int = 4) -> tuple[Called, ...]:
    """Calls that can be told apart in the dialect."""
    texts = objects()
    if not dialect.plain:
        broken = st.sampled_from(['{"a":', '{"a": tru', "[1]", "7", "{]"])
        texts = texts | st.sampled_from(["", "{}", " ", "\n"]) | broken
    pairs = draw(st.lists(st.tuples(NAMES, texts), max_size=most, unique=dialect.plain))
    ids = draw(st.sampled_from(["call_", "chatcmpl-tool-", "", 0]))
    out = list[Called]()
    for number, (name, text) in enumerate(pairs):
        wire_id: str | int | None = ids + number + 1 if isinstance(ids, int) else f"{ids}{number + 1}"
        wire_id = {"absent": None, "shared": "call_1"}.get(dialect.id, wire_id)
        out.append(Called(name, text, wire_id, broken=is_broken(text)))
    return tuple(out)


def is_broken(text: str) -> bool:
    if not text.strip():
        return False
    try:
        return not isinstance(json.loads(text), dict)
    except ValueError:
        return True


@st.composite
def usages(draw: st.DrawFn) -> dict[str, Any] | None:
    """A native record whose parts fit their wholes."""
    if draw(st.booleans()):
        return None
    prompt, completion = draw(st.integers(1, 10**6)), draw(st.integers(1, 10**6))
    record: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": completion}
    record["total_tokens"] = prompt + completion
    if draw(st.booleans()):
        record["prompt_tokens_details"] = {"cached_tokens": draw(st.integers(0, prompt)), "audio_tokens": 0}
    if draw(st.booleans()):
        record["completion_tokens_details"] = {"reasoning_tokens": draw(st.integers(0, completion))}
    return record


@st.composite
def answers(
    draw: st.DrawFn, dialect: Dialect, *, finishes: tuple[str | None, ...] = (*STOPS, "STOP", "odd_word", None)
) -> Answer:
    meant = draw(calls(dialect))
    blank = any(not call.arguments.strip() for call in meant)
    allowed = [finish for finish in finishes if not (blank and finish in ("length", "content_filter"))]
    return Answer(
        text=draw(SPOKEN),
        refusal=draw(st.one_of(st.just(""), SPOKEN)),
        reasoning=draw(SPOKEN),
        field=draw(st.sampled_from(FIELDS)),
        calls=meant,
        usage=draw(usages()),
        finish=draw(st.sampled_from(allowed)),
    )


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


AS_DOCUMENTED = Dialect()
"""The dialect of OpenAI's own: an index for each call, id and name with its first fragment."""


@st.composite
def documented_answers(draw: st.DrawFn) -> Answer:
    """An answer as OpenAI itself could give it."""
    answer = draw(answers(AS_DOCUMENTED, finishes=("stop", "length", "tool_calls", "content_filter")))
    calls = tuple(msgspec.structs.replace(call, wire_id=f"call_{n}") for n, call in enumerate(answer.calls))
    return msgspec.structs.replace(answer, reasoning="", calls=calls)
