"""Replies that go back: the turn that is lowered beside the one that the recorded request carries."""

import msgspec
import pytest

from llmcore import registry
from llmcore.capabilities import Capabilities
from llmcore.conformance.corpus import load
from llmcore.conformance.replay import conversation
from llmcore.conformance.rules import REWRITES
from llmcore.conformance.run import Runner
from llmcore.conformance.turns import DIALECTS, groups
from llmcore.history import validate
from llmcore.protocol import Lowered
from llmcore.route import Provider
from llmcore.schema import Message, ToolCall

GO = {"role": "user", "content": "Go"}
MORE = {"role": "user", "content": "More"}


def call(id="a", arguments='{"x": 1}', name="f"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def turn(content=None, **fields):
    return {"role": "assistant", "content": content, **fields}


def result(id="a"):
    return {"role": "tool", "tool_call_id": id, "content": "done"}


@pytest.fixture
def replays(folder, wire):
    """The replays of the rows of a case: each interaction is what was asked (messages, or a body) and what came."""

    def replays(*interactions, providers=None, **fields):
        recorded = []
        for asked, came in interactions:
            body = {"messages": asked} if isinstance(asked, list) else asked
            reply = came if "error" in came else wire.chat(came, "tool_calls" if came.get("tool_calls") else "stop")
            recorded.append(folder.reply(reply, asked=body, status=400 if "error" in came else 200))
        with Runner(1, providers) as runner:
            return [row.replay for row in runner.run(load(folder.case("a", *recorded, **fields))).rows]

    return replays


def only(replays):
    """The one replay of two interactions, whose second has nothing after it."""
    first, last = replays
    assert last is None
    return first


def changed(name, **parts):
    """A registry of one: the provider's route of this protocol, some parts of it changed."""
    route = msgspec.structs.replace(registry.provider(name).api("chat"), **parts)
    return {name: Provider(id=name, docs="", evidence="documented", route=route)}


DETAILS = [
    {"type": "reasoning.text", "text": "hm", "signature": "c2ln", "index": 0},
    {"type": "reasoning.encrypted", "data": "b3Bh", "id": "r1", "index": 1},
]
THOUGHT = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hi"}]


@pytest.mark.parametrize(
    ("provider", "came", "sent"),
    [
        ("openai", {"content": "Zürich 🦜"}, {}),
        ("openai", {"tool_calls": [call(), call("b", '{ "y":\n2 }', "g")]}, {}),
        ("openai", {"content": "Calling.", "tool_calls": [call(arguments="")]}, {"tool_calls": [call(arguments="{}")]}),
        ("openai", {"content": None, "refusal": "I will not."}, {"content": ""}),
        ("crusoe", {"reasoning": "hm\n", "tool_calls": [call()]}, {}),
        ("openrouter", {"content": "Hi", "reasoning_details": DETAILS}, {}),
        ("mistral", {"content": THOUGHT}, {}),
    ],
)
def test_a_reply_that_goes_back_as_it_came_passes(replays, provider, came, sent):
    sent = turn(**came | sent)
    behind = [result(item["id"]) for item in sent.get("tool_calls", ())] or [MORE]
    replay = only(replays(([GO], came), ([GO, sent, *behind], {"content": "Done"}), provider=provider))
    assert (replay.verdict, replay.request, replay.difference) == ("pass", 1, None)


@pytest.mark.parametrize(
    ("sent", "place"),
    [
        (turn(tool_calls=[call(arguments='{"x":1}')], reasoning="hm"), "tool_calls[0].function.arguments"),
        (turn(tool_calls=[call("b")], reasoning="hm"), "tool_calls[0].id"),
        (turn(tool_calls=[call(name="g")], reasoning="hm"), "tool_calls[0].function.name"),
        (turn(tool_calls=[call(), call("b")], reasoning="hm"), "tool_calls"),
        (turn("Hi", tool_calls=[call()], reasoning="hm"), "content"),
        (turn(tool_calls=[call()], reasoning="hmm"), "reasoning"),
        (turn(tool_calls=[call()], reasoning_content="hm"), "reasoning_content"),
        (turn(tool_calls=[call()], reasoning="hm", refusal="no"), "refusal"),
    ],
)
def test_whatever_is_not_as_the_recording_has_it_fails(replays, sent, place):
    came = {"content": None, "reasoning": "hm", "tool_calls": [call()]}
    replay = only(replays(([GO], came), ([GO, sent, result()], {"content": "Done"}), provider="crusoe"))
    assert (replay.verdict, replay.request) == ("fail", 1)
    assert replay.difference.startswith(f"{place}: recorded ")


def test_every_mode_of_a_stream_is_replayed(folder, wire):
    asked = {"messages": [GO]}
    streamed = folder.stream(wire.chunk({"content": "Zürich "}), wire.chunk({"content": "🦜"}, "stop"), asked=asked)
    after = folder.reply(wire.chat({"content": "Done"}), asked={"messages": [GO, turn("Zürich 🦜"), MORE]})
    with Runner(1) as runner:
        *three, last = runner.run(load(folder.case("a", streamed, after))).rows
    assert [row.mode for row in three] == ["stream", "split", "bytes"]
    assert [row.replay.verdict for row in three] == ["pass"] * 3
    assert last.replay is None


def test_a_lowering_that_loses_something_is_found(replays):
    chat = registry.provider("openai").api("chat").protocol

    def lossy(request, model, stream):
        body = chat.lower(request, model, stream).body
        kept = tuple(msgspec.structs.replace(message, tool_calls=msgspec.UNSET) for message in body.messages)
        return Lowered(msgspec.structs.replace(body, messages=kept))

    def silent(request, model, stream):
        body = chat.lower(request, model, stream).body
        kept = tuple(message for message in body.messages if message.role != "assistant")
        return Lowered(msgspec.structs.replace(body, messages=kept))

    came = {"content": "Calling.", "tool_calls": [call()]}
    for lower, found in [(lossy, "tool_calls: recorded "), (silent, "turns: recorded 1, lowered 0")]:
        providers = changed("openai", protocol=msgspec.structs.replace(chat, lower=lower))
        after = ([GO, turn(**came), result()], {"content": "Done"})
        replay = only(replays(([GO], came), after, providers=providers))
        assert replay.verdict == "fail"
        assert replay.difference.startswith(found)


def test_what_the_next_request_asks_for_counts(replays):
    """A route that takes no tools cannot send what this recording sent."""
    tool = {"type": "function", "function": {"name": "f"}}
    after = {"messages": [GO, turn("Hi"), MORE], "tools": [tool]}
    providers = changed("openai", capabilities=Capabilities(tools=False))
    replay = only(replays(([GO], {"content": "Hi"}), (after, {"content": "Done"}), providers=providers))
    assert (replay.verdict, replay.request) == ("fail", 1)
    assert replay.difference.startswith("not lowered: CapabilityError: ")


def test_a_turn_is_lowered_where_it_stood(replays):
    """Thoughts go back with a turn that follows a result, here, and not with one that follows the user."""
    first, second = {"content": None, "reasoning": "hm", "tool_calls": [call()]}, {"content": "Done", "reasoning": "so"}
    begun = [GO, turn(reasoning="hm", tool_calls=[call()]), result()]
    found = replays(
        ([GO], first),
        (begun, second),
        ([*begun, turn("Done", reasoning="so"), MORE], {"content": "Bye", "reasoning": "ah"}),
        ([*begun, turn("Done", reasoning="so"), MORE, turn("Bye"), MORE], {"content": "!"}),
        provider="crusoe",
    )
    assert [(replay.verdict, replay.request) for replay in found[:3]] == [("pass", 1), ("pass", 2), ("pass", 3)]


def test_turns_that_no_reply_of_the_case_has_are_stood_in_for(replays):
    old = [GO, turn(tool_calls=[call()]), result(), turn("Hm"), GO, turn(tool_calls=[call("b")]), result("b")]
    came = {"content": "Done", "reasoning": "so"}
    after = [*old, turn("Done", reasoning="so"), MORE]
    assert only(replays((old, came), (after, {"content": "!"}), provider="crusoe")).verdict == "pass"


def test_the_conversation_goes_on_in_the_first_later_request_that_holds_it(replays):
    """Two conversations at a time."""
    other = [{"role": "user", "content": "Else"}]
    found = replays(
        ([GO], {"content": "Hi"}),
        (other, {"content": "Ho"}),
        ([GO, turn("Hi"), MORE], {"content": "!"}),
        ([*other, turn("Ho"), MORE], {"content": "!"}),
    )
    assert [replay and (replay.verdict, replay.request) for replay in found] == [
        ("pass", 2), ("pass", 3), ("not_compared", None), None,
    ]  # fmt: skip


def test_of_several_replies_to_the_same_it_is_not_known_which_went_on(replays):
    first, second, third = replays(
        ([GO], {"content": "Hi"}), ([GO], {"content": "Hey"}), ([GO, turn("Hi"), MORE], {"content": "!"})
    )
    assert (first.verdict, second.verdict, third) == ("not_compared", "not_compared", None)
    assert first.difference == second.difference
    assert first.difference.startswith("the same was asked more than once")


def test_a_question_that_was_refused_and_asked_again_is_asked_once(replays):
    first, second, third = replays(
        ([GO], {"error": {"code": 429}}), ([GO], {"content": "Hi"}), ([GO, turn("Hi"), MORE], {"content": "!"})
    )
    assert (first.verdict, first.difference) == ("not_compared", "the reply is an error")
    assert (second.verdict, third) == ("pass", None)


@pytest.mark.parametrize(
    ("asked", "came", "after", "reason"),
    [
        ([GO], {"content": "Hi"}, [MORE, turn("Hi"), MORE], "no later request goes on from it"),
        ([GO, MORE], {"content": "Hi"}, [GO, turn("Hi"), MORE], "no later request goes on from it"),
        ([GO], {"content": "Hi"}, [GO, MORE], "no later request goes on from it"),
        ([GO], {"content": "Hi"}, [GO], "no later request goes on from it"),
        ([GO], {"content": "Hi"}, {"prompt": "Go"}, "no later request goes on from it"),
        ({"prompt": "Go"}, {"content": "Hi"}, [GO, turn("Hi"), MORE], "its request has no conversation to go on from"),
        ([GO, turn("H")], {"content": "i"}, [GO, turn("H"), turn("i"), MORE], "it goes on from a turn that"),
        ([GO], {"error": {"code": "tool_use_failed"}}, [GO, turn("Hi"), MORE], "the reply is an error"),
        ([GO], {"content": ""}, [GO, turn(""), MORE], "the reply is empty"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_has_not_passed_and_says_why(replays, asked, came, after, reason):
    replay = only(replays((asked, came), (after, {"content": "Done"})))
    assert (replay.verdict, replay.request) == ("not_compared", None)
    assert replay.difference.startswith(reason)


def test_an_error_in_the_middle_does_not_hide_the_turns_behind_it(replays):
    begun = [GO, turn("made up"), MORE]
    failed = ([GO], {"error": {"code": "tool_use_failed"}})
    first, second, third = replays(failed, (begun, {"content": "Hi"}), ([*begun, turn("Hi"), MORE], {"content": "!"}))
    assert (first.verdict, second.verdict, third) == ("not_compared", "pass", None)


def test_a_protocol_without_a_dialect_is_not_compared(folder, wire):
    chat = registry.provider("openai").api("chat").protocol
    providers = changed("openai", protocol=msgspec.structs.replace(chat, id="semaphore"))
    replies = [
        folder.reply(wire.chat({"content": "Hi"}), asked={"messages": messages})
        for messages in ([GO], [GO, turn("Hi"), MORE])
    ]
    entries = [wire.expectation(text="Hi", stop_reason_native="stop")] * 2
    path = folder.case("a", *replies, expect=entries, protocol="semaphore")
    with Runner(1, providers) as runner:
        first, last = runner.run(load(path)).rows
    assert first.replay.verdict == "not_compared"
    assert first.replay.difference == "it is not known where requests of semaphore have their turns"
    assert last.replay is None


def test_other_operations_are_no_sequels(folder, wire):
    later = folder.reply({}, operation="count-tokens", asked={"messages": [GO, turn("Hi"), MORE]})
    path = folder.case("a", folder.reply(wire.chat({"content": "Hi"}), asked={"messages": [GO]}), later)
    with Runner(1) as runner:
        (row,) = runner.run(load(path)).rows
    assert row.replay is None


def test_a_history_of_the_same_shape_can_be_sent():
    chat = DIALECTS["openai-chat"]
    shape = groups(chat, [GO, turn(tool_calls=[call()]), result(), turn("Hi"), MORE, turn("Bye")])
    said = [Message.assistant("What?", ToolCall(id="c", name="f", arguments="{}")), None, Message.assistant("Bye")]
    for turns in (said, [None, None, None]):
        history = conversation(shape, turns)
        validate(history)
        assert [message.role for message in history] == ["user", "assistant", "tool", "assistant", "user", "assistant"]


TAGGED = "<think>\nhm\n</think>\n\nHi"
MOVED = "<think>\nhm\n</think>"


@pytest.mark.parametrize(
    ("came", "sent", "rule"),
    [
        ({"content": TAGGED}, turn("\n\nHi"), "tagged-thoughts-rewritten"),
        ({"content": TAGGED}, turn("Hi"), "tagged-thoughts-rewritten"),
        ({"content": TAGGED}, turn("<think>\n\nhm</think>\nHi"), "tagged-thoughts-rewritten"),
        ({"content": TAGGED}, turn("Ho"), None),
        ({"content": TAGGED}, turn("<think>ho</think>Hi"), None),
        ({"content": TAGGED}, turn("Hi", reasoning="hm"), None),
        ({"content": "Hi"}, turn("<think>hm</think>Hi"), None),  # thoughts that nobody had
        (
            {"content": None, "reasoning": "hm", "tool_calls": [call()]},
            turn(MOVED, tool_calls=[call()]),
            "thoughts-put-into-text",
        ),
        (
            {"content": "Hi", "reasoning": "hm", "tool_calls": [call()]},
            turn(f"{MOVED}\nHi", tool_calls=[call()]),
            "thoughts-put-into-text",
        ),
        ({"content": "Hi", "reasoning": "hm", "tool_calls": [call()]}, turn(MOVED, tool_calls=[call()]), None),
        ({"content": None, "reasoning": "hm", "tool_calls": [call()]}, turn(MOVED, tool_calls=[call("b")]), None),
        ({"content": None, "reasoning": "ho", "tool_calls": [call()]}, turn(MOVED, tool_calls=[call()]), None),
        (
            {"content": None, "reasoning": "hm", "tool_calls": [call()]},
            turn("", tool_calls=[call()]),
            "thoughts-left-out",
        ),
        ({"content": "Hi", "reasoning": "hm", "tool_calls": [call()]}, turn(tool_calls=[call()]), None),
        ({"content": None, "reasoning": "hm", "tool_calls": [call()]}, turn(tool_calls=[call("b")]), None),
    ],
)
def test_a_rewriting_is_documented_where_it_is_seen_and_excuses_nothing_else(replays, came, sent, rule):
    """The crusoe route gives back the thoughts of turns with calls, in their field."""
    behind = [result(item["id"]) for item in sent.get("tool_calls", ())] or [MORE]
    replay = only(replays(([GO], came), ([GO, sent, *behind], {"content": "Done"}), provider="crusoe"))
    assert replay.verdict == ("fail" if rule is None else "documented")
    assert replay.difference.endswith(f"[{rule}]") is (rule is not None)


def test_a_rewriting_says_what_is_right_and_our_turn_must_be_that(replays):
    """The openai route gives no thoughts back: what the recording's client left out is the same, and needs no rule;
    what it put into the text is not what we say."""
    came = {"content": None, "reasoning": "hm", "tool_calls": [call()]}
    for sent, verdict in [(turn(tool_calls=[call()]), "pass"), (turn(MOVED, tool_calls=[call()]), "fail")]:
        assert only(replays(([GO], came), ([GO, sent, result()], {"content": "Done"}))).verdict == verdict


def test_the_rules_that_were_needed_are_counted_and_once_for_each_turn(folder, wire):
    asked = {"messages": [GO]}
    streamed = folder.stream(wire.chunk({"content": TAGGED}), wire.chunk({}, "stop"), asked=asked)
    after = folder.reply(wire.chat({"content": "Done"}), asked={"messages": [GO, turn("Hi"), MORE]})
    with Runner(1) as runner:
        outcome = runner.run(load(folder.case("a", streamed, after)))
    assert set(outcome.rules) == {"tagged-thoughts-rewritten"}
    assert [row.verdict for row in outcome.rows] == ["pass"] * 4, "the readings are right"


def test_the_rewritings_are_whole():
    assert len({rule.id for rule in REWRITES}) == len(REWRITES)
    for rule in REWRITES:
        assert rule.protocol in DIALECTS
        assert rule.reason
        assert rule.evidence
