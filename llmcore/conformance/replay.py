"""Replay fidelity: a reply goes back as the recording's next request took it back.

In a case of several interactions the conversation goes on: a later request carries, behind everything that the request
of a reply held, the turn that its client made of that reply. The message that we make of the same reply is lowered in
the same place, under that request's own options, and the two turns are compared as JSON values: reasoning, signatures
and ids included, arguments letter by letter where the wire has them as text.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from llmcore.client import Client
from llmcore.conformance.corpus import Case, Recorded
from llmcore.conformance.readers import documents
from llmcore.conformance.report import Replay
from llmcore.conformance.rules import REWRITES, Rewrite
from llmcore.conformance.turns import DIALECTS, Dialect, Group, Item, Silence, differences, groups, turns
from llmcore.errors import LLMError
from llmcore.route import Model
from llmcore.schema.message import Message
from llmcore.schema.parts import ToolCall
from llmcore.schema.request import Request

SAID: Final = "Hello"
"""What stands for all in a conversation that is not known, or does not matter."""


class Sequel(msgspec.Struct, frozen=True):
    """Where the conversation goes on: the interaction whose request carries the turn, how many turns stand before it,
    the turn, and the conversation up to the turn behind it."""

    recorded: Recorded
    before: int
    turn: tuple[Item, ...]
    groups: tuple[Group, ...]


class Compared(msgspec.Struct, frozen=True):
    """A result, and the documented rewrites that it needed."""

    replay: Replay
    rules: tuple[str, ...] = ()


class Replays:
    """The replays of one case. Replies are told in their order, since a turn is lowered behind those before it."""

    def __init__(self, case: Case, client: Client, model_of: Callable[[Recorded], Model[Any]]) -> None:
        self._case = case
        self._client = client
        self._model_of = model_of
        self._dialect = DIALECTS.get(case.protocol)
        self._rewrites = [rule for rule in REWRITES if rule.protocol == case.protocol]
        self._turns = dict[int, list[Message | None]]()

    def compare(self, recorded: Recorded, message: Message | None, *, failed: bool) -> Compared | None:
        """What becomes of the reply `recorded`, read as `message` (`failed`: with an error) when it is sent back.
        `None` where nothing in the case comes after it."""
        if not any(each.operation == "generate" for each in self._case.interactions[recorded.index + 1 :]):
            return None
        dialect = self._dialect
        if dialect is None:
            return _not_compared(f"it is not known where requests of {self._case.protocol} have their turns")
        sequel = _sequel(dialect, recorded, self._case.interactions)
        if isinstance(sequel, str):
            return _not_compared("the reply is an error" if failed else sequel)
        before = self._turns.get(recorded.index, [])
        before = [*before, *[None] * (sequel.before - len(before))]
        usable = message if not failed and message is not None and message.content else None
        self._turns[sequel.recorded.index] = [*before, usable]
        if usable is None:
            return _not_compared("the reply is an error" if failed else "the reply is empty")
        found = self._lowered(dialect, sequel, [*before, usable])
        if isinstance(found, LLMError):
            sentence = f"not lowered: {type(found).__name__}: {found.message}"
            return Compared(Replay(verdict="fail", request=sequel.recorded.index, difference=sentence))
        return _judged(found, sequel, dialect.silences, recorded, self._rewrites)

    def _lowered(
        self, dialect: Dialect, sequel: Sequel, said: Sequence[Message | None]
    ) -> list[tuple[Item, ...]] | LLMError:
        """The turns of the conversation as we write them; the last is the one under test. Or why it cannot be sent."""
        body = sequel.recorded.body
        assert body is not None, "a sequel has a conversation"
        request = Request(messages=tuple(conversation(sequel.groups, said)), **dialect.options(body))
        try:
            ready = self._client.prepare(self._model_of(sequel.recorded), request, stream=sequel.recorded.stream)
        except LLMError as error:
            return error
        return turns(dialect, msgspec.json.decode(ready.content))


def _not_compared(reason: str) -> Compared:
    return Compared(Replay(verdict="not_compared", difference=reason))


def _sequel(dialect: Dialect, recorded: Recorded, interactions: Sequence[Recorded]) -> Sequel | str:
    """The first later request that goes on from the reply: all that the reply's own request had, then a turn. Or why
    there is none."""
    begun = _items(dialect, recorded)
    if begun is None:
        return "its request has no conversation to go on from"
    head = groups(dialect, begun)
    if head and head[-1].kind == "turn":
        return "it goes on from a turn that its own request began"
    for each in interactions[recorded.index + 1 :]:
        items = _items(dialect, each)
        if items is None or items[: len(begun)] != begun or len(items) == len(begun):
            continue
        tail = groups(dialect, items[len(begun) :])
        if tail[0].kind == "turn":
            if _rivals(dialect, recorded, interactions[: each.index]):
                return "the same was asked more than once, and it is not known which reply the conversation took"
            behind = [position for position, group in enumerate(tail) if position and group.kind == "turn"]
            shown = tail[: behind[0]] if behind else tail
            before = sum(group.kind == "turn" for group in head)
            return Sequel(each, before, tail[0].items, (*head, *shown))
    return "no later request goes on from it"


def _items(dialect: Dialect, recorded: Recorded) -> list[Item] | None:
    return None if recorded.body is None or recorded.operation != "generate" else dialect.items(recorded.body)


def _rivals(dialect: Dialect, recorded: Recorded, interactions: Sequence[Recorded]) -> bool:
    """Whether another of these interactions asked the same and was not refused."""
    return any(
        each.index != recorded.index
        and each.response.status < 400
        and _items(dialect, each) == _items(dialect, recorded)
        for each in interactions
    )


def conversation(shape: Sequence[Group], said: Sequence[Message | None]) -> list[Message]:
    """A history of the same shape: `said` are the model's turns in it (stand-ins for those that are not known), each
    call with a result, and a word in the place of all else."""
    history, known = list[Message](), iter(said)
    for position, group in enumerate(shape):
        if group.kind == "turn":
            answered = position + 1 < len(shape) and shape[position + 1].kind == "result"
            stand_in = ToolCall(id=f"stand_in_{position}", name="stand_in", arguments="{}") if answered else SAID
            turn = next(known) or Message.assistant(stand_in)
            history.append(turn)
            history += [Message.tool(call, SAID) for call in turn.tool_calls]
        elif group.kind == "other":
            history.append(Message.user(SAID))
    return history


def _judged(
    found: list[tuple[Item, ...]],
    sequel: Sequel,
    silences: Sequence[Silence],
    recorded: Recorded,
    rewrites: Sequence[Rewrite],
) -> Compared:
    """The last of the turns that we wrote beside the recorded one, as it is and with the rewrites taken back."""
    index, expected = sequel.recorded.index, list(sequel.turn)
    if len(found) != sequel.before + 1:
        sentence = f"turns: recorded {sequel.before + 1}, lowered {len(found)}"
        return Compared(Replay(verdict="fail", request=index, difference=sentence))
    ours = _unwrapped(found[-1])
    plain = differences(ours, _unwrapped(expected), silences)
    if not plain:
        return Compared(Replay(verdict="pass", request=index))
    said, used = documents(recorded.response), list[str]()
    for rule in rewrites:
        if said and rule.when(said, expected):
            expected = rule.right(said, expected)
            used.append(rule.id)
    rest = differences(ours, _unwrapped(expected), silences)
    if rest:
        return Compared(Replay(verdict="fail", request=index, difference="; ".join(rest)))
    sentence = f"{'; '.join(plain)} [{', '.join(used)}]"
    return Compared(Replay(verdict="documented", request=index, difference=sentence), tuple(used))


def _unwrapped(items: Sequence[Item]) -> object:
    """A turn of one item is shown as that item, so that sentences name its keys."""
    return items[0] if len(items) == 1 else list(items)
