"""A scripted model: what is given is what a client gives, by every way of calling; nothing in between is replaced."""

import threading
from collections.abc import Callable

import anyio
import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import llmcore
from llmcore import (
    AsyncClient,
    Capabilities,
    CapabilityError,
    Client,
    ConfigError,
    ContextLengthError,
    Generation,
    LLMError,
    Message,
    OverloadedError,
    ProtocolError,
    RateLimitError,
    Reasoning,
    Request,
    RequestTimeoutError,
    Response,
    StreamTruncatedError,
    Text,
    ToolCall,
    ToolDefinition,
    TransportError,
    Usage,
)
from llmcore.cassette import Close, Hold, Reset, Send
from llmcore.events import (
    Event,
    MediaStart,
    ResponseEnd,
    ResponseStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCallDelta,
)
from llmcore.fold import Fold
from llmcore.lifecycle import violations
from llmcore.route import Defaults
from llmcore.schema import Json, Media, Opaque, Origin, ToolResult
from llmcore.testing import ScriptedModel, unfold
from llmcore.testing.strategies import responses

HELLO: list[Event] = [
    ResponseStart(provider="acme", id="r1", model="m-1"),
    TextStart(id="b0"),
    TextDelta(id="b0", text="Hel"),
    TextDelta(id="b0", text="lo"),
    TextEnd(id="b0"),
    ResponseEnd(stop_reason="stop", raw_stop_reason="end_turn", usage=Usage(input_tokens=3, output_tokens=2)),
]
CALL = Message.assistant("Let me look.", ToolCall(id="c1", name="weather", arguments='{"city": "Lisbon"}'))


def whole(model, prompt, **client) -> Response:
    with Client(**client) as calls:
        return calls.generate(model, prompt)


def assembled(model, prompt) -> Response:
    return whole(model, prompt, generate="stream")


def streamed(model, prompt) -> Response:
    with Client() as client, client.stream(model, prompt) as stream:
        for _ in stream:
            continue
        return stream.response


def one_off(model, prompt) -> Response:
    return llmcore.generate(model, prompt)


def own_http(model, prompt) -> Response:
    with httpx.Client(trust_env=False) as http:
        return whole(model, prompt, http=http)


async def _awaited(model, prompt) -> Response:
    async with AsyncClient() as client:
        return await client.generate(model, prompt)


async def _streamed(model, prompt) -> Response:
    async with AsyncClient() as client, client.stream(model, prompt) as stream:
        async for _ in stream:
            continue
        return stream.response


WAYS: dict[str, Callable[..., Response]] = {
    "generate": whole,
    "generate from a stream": assembled,
    "stream": streamed,
    "one-off": one_off,
    "http= of one's own": own_http,
    "asyncio": lambda *given: anyio.run(_awaited, *given, backend="asyncio"),
    "asyncio stream": lambda *given: anyio.run(_streamed, *given, backend="asyncio"),
    "trio": lambda *given: anyio.run(_awaited, *given, backend="trio"),
    "trio stream": lambda *given: anyio.run(_streamed, *given, backend="trio"),
}
ways = pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS)


@ways
def test_a_turn_of_any_kind_is_answered_by_any_way_of_asking(ask: Callable[..., Response]) -> None:
    given = Response(
        provider="acme", model="m-1", message=CALL, stop_reason="tool_use", usage=Usage(input_tokens=1, output_tokens=2)
    )
    turns = ["Hello", CALL, given, HELLO, lambda request: f"You said: {request.messages[-1].text}"]
    with ScriptedModel(turns) as scripted:
        assert ask(scripted.model(), "Hi").text == "Hello"
        called = ask(scripted.model(), "Hi")
        assert called.message.content == CALL.content
        assert called.stop_reason == "tool_use"
        answered = ask(scripted.model(), "Hi")
        assert (answered.message.content, answered.usage, answered.model) == (CALL.content, given.usage, "m-1")
        read = ask(scripted.model(), "Hi")
        assert (read.text, read.id, read.provider, read.raw_stop_reason) == ("Hello", "r1", "acme", "end_turn")
        assert ask(scripted.model(), "Anyone?").text == "You said: Anyone?"
        assert [request.messages[0].text for request in scripted.requests] == ["Hi"] * 4 + ["Anyone?"]


@ways
@pytest.mark.parametrize("before", [[], HELLO[:3]], ids=["at once", "after some events"])
def test_an_error_is_raised_as_it_was_given(ask: Callable[..., Response], before: list[Event]) -> None:
    given = ContextLengthError("too long", limit=10, used=12, provider_code="E7")
    with ScriptedModel([[*before, given], given]) as scripted:
        for _ in range(2):
            with pytest.raises(ContextLengthError) as caught:
                ask(scripted.model(), "Hi")
            error = caught.value
            assert error is not given
            assert (error.message, error.limit, error.used, error.provider_code) == ("too long", 10, 12, "E7")
            assert (error.provider, error.model, error.request_sent) == ("scripted", "script", "yes")
            assert len(error.attempts) == 1
    assert given.attempts == ()


def test_a_stream_gives_the_events_that_were_given() -> None:
    with ScriptedModel([HELLO]) as scripted, Client() as client, client.stream(scripted.model(), "Hi") as stream:
        assert list(stream) == HELLO


def test_an_error_among_events_comes_in_its_place_and_keeps_what_had_come() -> None:
    with ScriptedModel([[*HELLO[:3], OverloadedError("gone")]]) as scripted, Client() as client:
        seen = list[Event]()
        with client.stream(scripted.model(), "Hi") as stream, pytest.raises(OverloadedError) as caught:
            seen.extend(stream)
        assert caught.value.partial is not None
        assert caught.value.partial.text == "Hel"
        assert caught.value.status == 200


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RateLimitError("slow down", retry_after=2.0), 429),
        (OverloadedError("busy", status=529), 529),
        (llmcore.AuthError("who?"), 401),
        (TransportError("lost"), 500),
    ],
)
def test_an_error_has_a_status(error: LLMError, status: int) -> None:
    with ScriptedModel([error]) as scripted, pytest.raises(type(error)) as caught:
        one_off(scripted.model(), "Hi")
    assert caught.value.status == status
    assert caught.value.retry_after == error.retry_after


@pytest.mark.parametrize("ask", [whole, streamed], ids=["whole", "stream"])
@pytest.mark.parametrize("mishap", [Close(), Reset()], ids=str)
def test_a_connection_that_breaks(ask: Callable[..., Response], mishap: Close | Reset) -> None:
    with ScriptedModel([[*HELLO[:3], mishap]]) as scripted, pytest.raises(TransportError):
        ask(scripted.model(), "Hi")


def test_silence_runs_into_the_clock() -> None:
    with ScriptedModel([[*HELLO[:3], Hold()]]) as scripted, Client(timeout=0.05) as client:
        with client.stream(scripted.model(), "Hi") as stream, pytest.raises(RequestTimeoutError) as caught:
            list(stream)
        assert caught.value.which == "total"


def test_events_are_played_to_the_letter() -> None:
    with ScriptedModel([HELLO[:-1], [*HELLO[:2], *HELLO[1:]], []]) as scripted:
        with pytest.raises(StreamTruncatedError):
            streamed(scripted.model(), "Hi")
        with pytest.raises(ProtocolError, match="uses the id 'b0' again"):
            streamed(scripted.model(), "Hi")
        with pytest.raises(StreamTruncatedError):
            whole(scripted.model(), "Hi")


def test_what_was_asked_is_what_arrived() -> None:
    request = Request(
        system="Be brief.",
        messages=(
            Message.user("Look.", Media.from_bytes(b"\x89PNG", "image/png")),
            Message.assistant(Reasoning(text="Hm.", signature="s=="), ToolCall(id="c1", name="weather")),
            Message.tool("c1", "21 degrees", Json(value={"degrees": [21, 2.5, None]})),
        ),
        tools=(
            ToolDefinition(name="weather", parameters={"type": "object", "properties": {"city": {"type": "string"}}}),
        ),
        generation=Generation(temperature=0.5, stop=("\n",)),
        provider_options={"scripted": {"any": ["thing"]}},
        metadata={"session_id": "s1"},
    )
    with ScriptedModel(["Done", "Done"]) as scripted, Client(strict=True) as client:
        assert client.check(scripted.model(), request).ok
        prepared = client.prepare(scripted.model(), request)
        assert client.generate(scripted.model("other"), request).warnings == ()
        with client.stream(scripted.model(), request) as stream:
            list(stream)
        assert scripted.requests == (request, request)
        assert [body["model"] for body in (r.json() for r in scripted.received)] == ["other", "script"]
        assert prepared.body.request == request
        assert prepared.warnings == ()


def test_what_is_put_into_the_http_request_goes_along() -> None:
    with ScriptedModel(["Done"]) as scripted, Client() as client:
        extras = llmcore.HttpExtras(headers={"x-team": "a"}, body={"extra": 1})
        client.generate(scripted.model(), "Hi", http=extras)
        assert scripted.received[0].header("x-team") == "a"
        assert scripted.requests[0].http == extras


def test_capabilities_and_defaults_are_the_models() -> None:
    limits = Capabilities(tools=False)
    defaults = Defaults(generation=Generation(max_tokens=7))
    with ScriptedModel(["Hi"], capabilities=limits, defaults=defaults) as scripted:
        tool = ToolDefinition(name="weather")
        with pytest.raises(CapabilityError):
            llmcore.generate(scripted.model(), "Hi", tools=(tool,))
        llmcore.generate(scripted.model(), "Hi")
        assert scripted.requests[0].generation.max_tokens == 7


def test_made_media_comes_with_its_bytes() -> None:
    picture = Media.from_bytes(b"\x89PNG", "image/png")
    with ScriptedModel([Message.assistant("Here:", picture)] * 2) as scripted:
        for ask in (whole, streamed):
            assert ask(scripted.model(), "Draw.").message.content[1] == picture


@given(responses())
@settings(max_examples=60, deadline=None)
def test_unfold_is_the_inverse_of_the_fold(response: Response) -> None:
    fold = Fold()
    events = unfold(response)
    assert violations(events) == []
    fold.add(events)
    again = fold.response()
    assert again.message.content == response.message.content
    for name in ("id", "model", "provider", "stop_reason", "raw_stop_reason", "usage", "warnings", "request_id"):
        assert getattr(again, name) == getattr(response, name), name


@given(st.lists(responses(), min_size=1, max_size=3))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_responses_come_through_unchanged_whole_and_streamed(script: list[Response]) -> None:
    with ScriptedModel(script + script) as scripted, Client() as one, Client(generate="stream") as other:
        for client in (one, other):
            for response in script:
                answer = client.generate(scripted.model(), "Hi")
                assert answer.message.content == response.message.content
                assert (answer.stop_reason, answer.usage) == (response.stop_reason, response.usage)


def test_every_part_can_be_unfolded() -> None:
    import msgspec

    origin = Origin(provider="acme", protocol="script", model="m")
    parts = (
        Text(text=""),
        Text(text="No.", refusal=True, origin=origin, provider_metadata={"a": 1}),
        Reasoning(text="", redacted="x=="),
        ToolCall(id="c1", name="search", arguments="", wire_id="w1", provider_executed=True),
        ToolResult(tool_call_id="c1", name="search", content=(Text(text="found"),), provider_executed=True),
        ToolCall(id="c2", name="weather", arguments='{"a":', error="does not parse"),
        Opaque(kind="strange", data=msgspec.Raw(b'{"type":"strange"}'), origin=origin),
    )
    with ScriptedModel([Message.assistant(*parts)] * 2) as scripted:
        for ask in (whole, streamed):
            assert ask(scripted.model(), "Hi").message.content == parts


def test_a_long_text_comes_word_by_word() -> None:
    with ScriptedModel(["  one two\nthree "]) as scripted, Client() as client:
        with client.stream(scripted.model(), "Hi") as stream:
            assert list(stream.text_deltas()) == ["  one ", "two\n", "three "]
        kinds = [type(event) for event in unfold(stream.response)]
        assert ToolCallDelta not in kinds
        assert MediaStart not in kinds


# -- the end of the script


def test_turns_that_were_not_played_are_told() -> None:
    scripted = ScriptedModel(["a", "b", "c"])
    with pytest.raises(AssertionError, match="2 of 3 turns of the script were not played, from turn 1 on"), scripted:
        one_off(scripted.model(), "Hi")
    assert scripted.remaining == 2


def test_an_exception_inside_is_not_hidden_by_what_was_not_played() -> None:
    with pytest.raises(ZeroDivisionError), ScriptedModel(["a"]):
        raise ZeroDivisionError


@ways
def test_a_request_too_many_is_told_at_once_and_again_at_the_end(ask: Callable[..., Response]) -> None:
    scripted = ScriptedModel(["a"])
    with pytest.raises(AssertionError, match="1 requests found no turn"), scripted:
        too_many(ask, scripted, 2, "the script has 1 turns, and this is request 2")


def too_many(ask: Callable[..., Response], scripted: ScriptedModel, count: int, words: str) -> None:
    """Asks `count` times; the last is one too many."""
    for _ in range(count - 1):
        ask(scripted.model(), "Hi")
    with pytest.raises(AssertionError, match=words):
        ask(scripted.model(), "Hi")


def test_a_script_that_repeats() -> None:
    with ScriptedModel(["a", RateLimitError("slow")], repeat=True) as scripted, Client() as client:
        for _ in range(3):
            assert client.generate(scripted.model(), "Hi").text == "a"
            with pytest.raises(RateLimitError):
                client.generate(scripted.model(), "Hi")


def test_an_empty_script_answers_nothing() -> None:
    with ScriptedModel([]) as scripted, Client() as client:
        assert client.check(scripted.model(), "Hi").ok
    scripted = ScriptedModel([], repeat=True)
    with pytest.raises(AssertionError, match="found no turn"), scripted:
        too_many(one_off, scripted, 1, "0 turns")


# -- functions


@ways
def test_what_a_function_raises_comes_out_of_the_call(ask: Callable[..., Response]) -> None:
    def turn(request: Request) -> str:
        raise KeyError(request.messages[0].text)

    with ScriptedModel([turn]) as scripted, pytest.raises(KeyError, match="Hi"):
        ask(scripted.model(), "Hi")


def test_pytest_can_fail_inside_a_function() -> None:
    failing = ScriptedModel([lambda request: pytest.fail("not asked for")])
    with failing as scripted, pytest.raises(pytest.fail.Exception, match="not asked for"):
        llmcore.generate(scripted.model(), "Hi")


def test_a_function_may_give_any_answer_and_runs_once_for_its_turn() -> None:
    seen = list[Request]()

    def turn(request: Request) -> LLMError | list[Event] | Message:
        seen.append(request)
        return (OverloadedError("busy"), HELLO, CALL)[len(seen) - 1]

    with ScriptedModel([turn, turn, turn]) as scripted, Client() as client:
        with pytest.raises(OverloadedError):
            client.generate(scripted.model(), "Hi")
        assert client.generate(scripted.model(), "Hi").text == "Hello"
        assert client.generate(scripted.model(), "Hi").tool_calls[0].input == {"city": "Lisbon"}
    assert len(seen) == 3


def test_threads_share_a_script() -> None:
    answers = list[str]()
    with ScriptedModel([str(number) for number in range(24)]) as scripted, Client() as client:
        model = scripted.model()

        def ask() -> None:
            for _ in range(6):
                answers.append(client.generate(model, "Hi").text)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(answers, key=int) == [str(number) for number in range(24)]


# -- scripts that are none


async def later(request: Request) -> str:
    return "later"


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        ("Hello", r"give \[str\(…\)\]"),
        (Message.assistant("Hello"), r"give \[Message\(…\)\]"),
        ([7], "turn 0 of the script: .* not int"),
        (["a", None], "turn 1 of the script: .* not NoneType"),
        ([RateLimitError], r"a class \(RateLimitError\)"),
        ([Message.user("Hi")], "role 'user'"),
        ([["Hello"]], "not str"),
        ([[Send(b"x")]], "use ReplayServer"),
        ([later], "async"),
        ([{"text": "x"}], "not dict"),
    ],
)
def test_a_script_that_is_none_is_refused_when_it_is_made(turns: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ScriptedModel(turns)  # type: ignore[arg-type]  # what is wrong is the point


def test_what_a_function_gives_is_looked_at_too() -> None:
    with ScriptedModel([lambda request: 7]) as scripted, pytest.raises(ConfigError, match="not int"):
        llmcore.generate(scripted.model(), "Hi")


def test_a_script_has_to_be_entered() -> None:
    scripted = ScriptedModel(["a"])
    with pytest.raises(ConfigError, match="enter the script first"):
        scripted.model()
    assert repr(scripted) == "ScriptedModel(scripted:script, 0 of 1 turns played)"


def test_a_reply_that_is_none_of_the_scripts_is_told() -> None:
    with ScriptedModel([]) as scripted:
        model = scripted.model()
    error = model.route.protocol.error(502, (), b"<html>", model)
    assert isinstance(error, ProtocolError)
    assert error.body_excerpt == "<html>"
