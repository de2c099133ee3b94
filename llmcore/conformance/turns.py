"""The turns of the assistant in recorded requests, by tables that use nothing of the protocols' code.

`DIALECTS` says, for each protocol, where a request's body has its conversation, which of its items the model said, and
what of the body bears on how a turn is written. `differences` compares two turns as JSON values; where several
spellings say the same nothing, `Silence` lists them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias, TypeGuard

import msgspec
from msgspec import UNSET

from llmcore.conformance.expect import at, is_object
from llmcore.conformance.readers import Document
from llmcore.schema.base import excerpt
from llmcore.schema.canonical import canonical
from llmcore.schema.request import ReasoningOptions, ToolDefinition

Kind = Literal["turn", "result", "other"]
"""What an item of a conversation is: of the model's, a result of a tool, or anything else (instructions, the user)."""

Item: TypeAlias = Document
"""One item of a conversation, as it stands in the body."""


class Silence(msgspec.Struct, frozen=True):
    """Spellings of nothing: `values` say the same at `path` (names joined by dots, list positions left out), and which
    of them a client writes is its habit. `UNSET` stands for no key at all; `beside` names a key that must be there,
    and not empty."""

    path: str
    values: tuple[object, ...]
    reason: str
    beside: str | None = None

    def covers(self, path: str, ours: object, theirs: object, around: Sequence[Document]) -> bool:
        """Whether both values are such spellings. `around` are the objects that hold them."""
        if path != self.path or (self.beside is not None and not all(holder.get(self.beside) for holder in around)):
            return False
        return all(any(same(value, one) for one in self.values) for value in (ours, theirs))


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """How a protocol's requests carry a conversation.

    `items` gives it item by item (`None` where the body has none), `kind` says what an item is, `options` gives the
    fields of `Request` that bear on how a turn is written.
    """

    items: Callable[[Document], list[Item] | None]
    kind: Callable[[Item], Kind]
    options: Callable[[Document], dict[str, Any]]
    silences: tuple[Silence, ...] = ()


class Group(msgspec.Struct, frozen=True):
    """Items of one kind that follow each other. One of kind `turn` is one turn of the model's, in all its items."""

    kind: Kind
    items: tuple[Item, ...]


def groups(dialect: Dialect, items: Sequence[Item]) -> list[Group]:
    """The conversation in groups, in order."""
    found = list[Group]()
    for item in items:
        kind = dialect.kind(item)
        if found and found[-1].kind == kind:
            found[-1] = Group(kind, (*found[-1].items, item))
        else:
            found.append(Group(kind, (item,)))
    return found


def turns(dialect: Dialect, body: object) -> list[tuple[Item, ...]]:
    """The model's turns in a request's body, each as its items."""
    items = dialect.items(body) if is_object(body) else None
    return [group.items for group in groups(dialect, items or ()) if group.kind == "turn"]


def same(one: object, other: object) -> bool:
    """Whether two JSON values are the same: `1` and `1.0` are, `1` and `true` are not. `UNSET` is no value."""
    if one is UNSET or other is UNSET:
        return one is other
    return canonical(one) == canonical(other)


def differences(ours: object, theirs: object, silences: Sequence[Silence] = ()) -> list[str]:
    """Where the value that we wrote is not the recorded one, a sentence for each place. Texts are compared letter by
    letter, whatever they hold."""
    return list(_differences(ours, theirs, silences, "", "", ()))


def _differences(
    ours: object, theirs: object, silences: Sequence[Silence], where: str, path: str, around: Sequence[Document]
) -> Iterator[str]:
    if same(ours, theirs) or any(silence.covers(path, ours, theirs, around) for silence in silences):
        return
    if is_object(ours) and is_object(theirs):
        dot = "." if where else ""
        for name in {**theirs, **ours}:
            both = ours.get(name, UNSET), theirs.get(name, UNSET)
            inner = f"{path}.{name}" if path else name
            yield from _differences(*both, silences, f"{where}{dot}{name}", inner, (ours, theirs))
    elif _is_list(ours) and _is_list(theirs) and len(ours) == len(theirs):
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _differences(one, other, silences, f"{where}[{index}]", path, ())
    else:
        left, right = _shown(theirs, ours)
        yield f"{where or 'the turn'}: recorded {left}, lowered {right}"


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


SHOWN: Final = 160
"""How much of a value a sentence shows, in characters."""


def _shown(*values: object) -> tuple[str, ...]:
    """The values for a sentence. Long texts that begin alike are shown from shortly before they part."""
    texts = ["nothing" if value is UNSET else msgspec.json.encode(value).decode() for value in values]
    apart = next((i for i, pair in enumerate(zip(*texts, strict=False)) if len(set(pair)) > 1), 0)
    start = max(0, apart - SHOWN // 4) if max(map(len, texts)) > SHOWN else 0
    return tuple(excerpt(f"…{text[start:]}" if start else text, SHOWN) for text in texts)


# -- OpenAI Chat


def _chat_items(body: Document) -> list[Item] | None:
    messages = body.get("messages")
    items = [item for item in messages if is_object(item)] if _is_list(messages) else []
    return items if _is_list(messages) and len(items) == len(messages) else None


CHAT_KINDS: Final[dict[str, Kind]] = {"assistant": "turn", "tool": "result"}
"""By the role of a message; every other is `other`."""


def _chat_kind(item: Item) -> Kind:
    return CHAT_KINDS.get(str(item.get("role")), "other")


def _chat_options(body: Document) -> dict[str, Any]:
    """Tools that the client runs, and how much is to be thought, in whichever of its fields the service takes that."""
    tools = tuple(
        ToolDefinition(
            name=function.get("name") or "",
            description=function.get("description") or "",
            parameters=function.get("parameters") or {"type": "object", "properties": {}},
        )
        for tool in body.get("tools") or ()
        if is_object(tool) and is_object(function := tool.get("function"))
    )
    effort, budget = body.get("reasoning_effort") or at(body, "reasoning.effort"), at(body, "reasoning.max_tokens")
    if at(body, "thinking.type") == "disabled":
        effort = "none"
    options: dict[str, Any] = {"tools": tools}
    if isinstance(effort, str) or isinstance(budget, int):
        options["reasoning"] = ReasoningOptions(
            effort=effort if isinstance(effort, str) else None,
            budget_tokens=budget if isinstance(budget, int) else None,
        )
    return options


CHAT_SILENCES: Final = (
    Silence(
        "content",
        (UNSET, None, "", []),
        "a message needs no content where it has calls, by the API reference; recorded clients leave it out, or write "
        "null, an empty text (on Groq) or an empty list (Mistral's client), and all of that was taken",
        beside="tool_calls",
    ),
    Silence("prefix", (UNSET, False), "Mistral's client writes the default of a field that only a last turn needs"),
    Silence("tool_calls.index", (UNSET, 0), "Mistral's client writes the default of a call's index"),
    Silence("tool_calls", (UNSET, None), "Hugging Face's client writes null for no calls"),
    Silence("name", (UNSET, None), "Hugging Face's client writes null for no name of the speaker"),
)

DIALECTS: Final[dict[str, Dialect]] = {
    "openai-chat": Dialect(items=_chat_items, kind=_chat_kind, options=_chat_options, silences=CHAT_SILENCES),
}
"""The dialect of each protocol. Turns of a protocol that is not here are not compared."""
