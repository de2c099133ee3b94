"""Answers that a service of OpenAI's Chat could intend, whatever the wire.

An `Answer` is what is meant. A `Dialect` says which evidence the fragments of its tool calls carry; `DIALECTS` are all
of which the calls can be told apart at all. (`chat_wires` puts answers into bytes.) Nothing here uses the protocol's
code.
"""

import json
from typing import Any, Literal

import msgspec
from hypothesis import strategies as st

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
        if any(not call.broken for call in self.calls) and STOPS.get((self.finish or "stop").lower()) == "stop":
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


AS_DOCUMENTED = Dialect()
"""The dialect of OpenAI's own: an index for each call, id and name with its first fragment."""


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
def documented_answers(
    draw: st.DrawFn, finishes: tuple[str, ...] = ("stop", "length", "tool_calls", "content_filter")
) -> Answer:
    """An answer as OpenAI itself could give it."""
    answer = draw(answers(AS_DOCUMENTED, finishes=finishes))
    calls = tuple(msgspec.structs.replace(call, wire_id=f"call_{n}") for n, call in enumerate(answer.calls))
    return msgspec.structs.replace(answer, reasoning="", calls=calls)
