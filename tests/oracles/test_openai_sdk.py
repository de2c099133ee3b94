"""The same bytes through the `openai` SDK and through our public client, over a real socket: both say the same.

The SDK is an oracle for what OpenAI itself sends. What other services do differently (HARD_CASES areas 1 and 2) it does
not claim to read; the last tests hold where we differ on purpose.
"""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import openai
import pytest
from chat_answers import AS_DOCUMENTED, Answer, documented_answers
from chat_wires import SEEDS, Manner, render_body, render_stream
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk

import llmcore
from llmcore import errors
from llmcore.cassette import Interaction, RecordedRequest, ReplayServer, Reply
from llmcore.conformance.corpus import Case, Filter, Recorded, cases
from llmcore.conformance.place import place
from llmcore.errors import LLMError
from llmcore.route import Model
from llmcore.schema.response import Response
from llmcore.secret import Secret

PROMPT: Any = [{"role": "user", "content": "Hi"}]
EXAMPLES = settings(max_examples=100, deadline=None)
COMMENTS = (b": ping\n\n", b":\n\n", b": OPENROUTER PROCESSING\n\n")


class Seen(msgspec.Struct, frozen=True):
    """What one of the two made of a reply. Calls are (name, arguments as parsed or as they came, id); usage is
    (prompt, completion, cached, reasoning) tokens."""

    text: str
    refusal: str
    calls: tuple[tuple[str, object, str | None], ...]
    finish: str | None
    usage: tuple[int | None, ...] | None


@pytest.fixture(scope="module")
def server() -> Iterator[ReplayServer]:
    with ReplayServer() as server:
        yield server


@pytest.fixture(scope="module")
def sdk(server: ReplayServer) -> Iterator[openai.OpenAI]:
    http = httpx2.Client(trust_env=False)
    with openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0, http_client=http) as client:
        yield client


@pytest.fixture(scope="module")
def client() -> Iterator[llmcore.Client]:
    with llmcore.Client(timeout=60) as client:
        yield client


@pytest.fixture(scope="module")
def model(server: ReplayServer) -> Model[Any]:
    return llmcore.model("openai/chat:gpt-4o", api_key="k", base_url=f"{server.url}/v1")


# -- what each makes of a reply


def parsed(arguments: object) -> object:
    """Arguments as JSON: none or blank ones as an empty object, what is not JSON as it came."""
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    try:
        return json.loads(arguments, strict=False) if arguments.strip() else {}
    except ValueError:
        return arguments


def whole_characters(text: Any) -> Any:
    """A text with the halves of characters joined: the SDK leaves them as they came."""
    if not isinstance(text, str):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def text_of(content: Any) -> str:
    """The text of a content, which some services send as a list of parts."""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if part.get("type") == "text")
    return content or ""


def counts(usage: Any) -> tuple[int | None, ...] | None:
    """The counts of a native record."""
    if usage is None:
        return None
    record = usage if isinstance(usage, dict) else usage.to_dict()
    read, thought = record.get("prompt_tokens_details") or {}, record.get("completion_tokens_details") or {}
    cached = (read.get("cached_tokens"), record.get("cached_tokens"), record.get("num_cached_tokens"))
    cached = (*cached, record.get("prompt_cache_hit_tokens"))
    known = [count for count in cached if count is not None]
    return (
        record.get("prompt_tokens"),
        record.get("completion_tokens"),
        next(filter(None, known), known[0] if known else None),
        thought.get("reasoning_tokens"),
    )


def whole_seen(completion: ChatCompletion) -> Seen:
    """What the SDK makes of a whole body."""
    choice = completion.choices[0]
    calls = list[tuple[str, object, str | None]]()
    for call in choice.message.tool_calls or ():
        if call.type == "custom":
            calls.append((call.custom.name, call.custom.input, call.id))
        else:
            calls.append((call.function.name, parsed(whole_characters(call.function.arguments)), call.id))
    return Seen(
        text=whole_characters(text_of(choice.message.content)),
        refusal=whole_characters(choice.message.refusal or ""),
        calls=tuple(calls),
        finish=choice.finish_reason,
        usage=counts(completion.usage),
    )


def chunks_seen(chunks: list[ChatCompletionChunk]) -> Seen:
    """What the SDK's chunks add up to, put together in the plainest way."""
    text, refusal, finish, usage = "", "", None, None
    calls = dict[int, list[Any]]()
    for chunk in chunks:
        found = counts(chunk.usage or ((chunk.model_extra or {}).get("x_groq") or {}).get("usage"))
        usage = found if found is not None and (usage is None or any(found)) else usage
        for choice in [choice for choice in chunk.choices or () if choice.index == 0]:
            text += text_of(choice.delta.content)
            refusal += choice.delta.refusal or ""
            finish = choice.finish_reason or finish
            for piece in choice.delta.tool_calls or ():
                call = calls.setdefault(piece.index, ["", "", None])
                call[0] = call[0] or (piece.function.name if piece.function else None) or ""
                call[1] += (piece.function.arguments if piece.function else None) or ""
                call[2] = call[2] or piece.id
    made = tuple((name, parsed(whole_characters(arguments)), id) for name, arguments, id in calls.values())
    return Seen(whole_characters(text), whole_characters(refusal), made, finish, usage)


def ours_seen(response: Response) -> Seen:
    usage, calls = response.usage, list[tuple[str, object, str | None]]()
    for call in response.tool_calls:
        calls.append((call.name, parsed(call.arguments) if call.error else call.input, call.wire_id))
    entered = [usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens]
    known = [count for count in entered if count is not None]
    all_counts = (sum(known) if known else None, usage.output_tokens, usage.cache_read_tokens, usage.reasoning_tokens)
    return Seen(
        text=response.text,
        refusal=response.refusal or "",
        calls=tuple(calls),
        finish=response.raw_stop_reason,
        usage=all_counts if usage.native is not None else None,
    )


def our_stream(client: llmcore.Client, model: Model[Any]) -> Response:
    with client.stream(model, "Hi") as stream:
        for _ in stream:
            continue
        return stream.response


# -- generated replies

MANNERS = st.builds(
    Manner,
    order=st.sampled_from(["fields", "any"]),
    bundle=st.booleans(),
    usage=st.sampled_from(["own", "last"]),
    finish=st.sampled_from(["own", "with_last", "repeated"]),
    azure=st.booleans(),
    other_choice=st.booleans(),
    noise=st.sampled_from([(), COMMENTS]),
    line_end=st.sampled_from([b"\n", b"\r\n"]),
    blank=st.sampled_from([b" ", b""]),
    ascii=st.booleans(),
)


@given(documented_answers(), MANNERS, SEEDS)
@EXAMPLES
def test_streams_are_read_as_the_sdk_reads_them(
    server: ReplayServer,
    sdk: openai.OpenAI,
    client: llmcore.Client,
    model: Model[Any],
    answer: Answer,
    manner: Manner,
    seed: int,
) -> None:
    answer, wire = render_stream(answer, AS_DOCUMENTED, manner, random.Random(seed))
    server.load([Reply.sse(wire.data)] * 2)
    with sdk.chat.completions.create(model="gpt-4o", messages=PROMPT, stream=True) as chunks:
        theirs = chunks_seen(list(chunks))
    ours = ours_seen(our_stream(client, model))
    assert ours == theirs
    assert ours.text == answer.text


@given(documented_answers(("stop", "tool_calls")), MANNERS, SEEDS)
@EXAMPLES
def test_streams_are_put_together_as_the_sdk_puts_them_together(
    server: ReplayServer,
    sdk: openai.OpenAI,
    client: llmcore.Client,
    model: Model[Any],
    answer: Answer,
    manner: Manner,
    seed: int,
) -> None:
    """The SDK's own accumulator: it wants calls in order, usage last, and an end that is no limit and no filter."""
    tidy = msgspec.structs.replace(manner, tidy=True, usage="own")
    answer, wire = render_stream(answer, AS_DOCUMENTED, tidy, random.Random(seed))
    server.load([Reply.sse(wire.data)] * 2)
    with sdk.chat.completions.stream(model="gpt-4o", messages=PROMPT) as stream:
        theirs = whole_seen(stream.get_final_completion())
    assert ours_seen(our_stream(client, model)) == theirs


@given(documented_answers(), st.booleans())
@EXAMPLES
def test_whole_bodies_are_read_as_the_sdk_reads_them(
    server: ReplayServer, sdk: openai.OpenAI, client: llmcore.Client, model: Model[Any], answer: Answer, ascii: bool
) -> None:
    server.load([Reply.json(render_body(answer, ascii=ascii))] * 2)
    theirs = whole_seen(sdk.chat.completions.create(model="gpt-4o", messages=PROMPT))
    ours = ours_seen(client.generate(model, "Hi"))
    assert ours == theirs
    assert ours.text == answer.text


# -- recorded replies

CORPUS = os.environ.get("LLMCORE_CORPUS")
CASES = list(cases(Path(CORPUS), Filter(protocol="openai-chat"))) if CORPUS else []


def interaction(recorded: Recorded) -> Interaction:
    return Interaction(request=RecordedRequest(method="POST", url="http://h/"), response=recorded.response)


def their_reading(sdk: openai.OpenAI, recorded: Recorded) -> Seen | openai.APIError | None:
    """What the SDK makes of a recorded reply: its error, or `None` where what it gives is no completion."""
    try:
        if recorded.stream:
            with sdk.chat.completions.create(model="gpt-4o", messages=PROMPT, stream=True) as chunks:
                return chunks_seen(list(chunks))
        completion: Any = sdk.chat.completions.create(model="gpt-4o", messages=PROMPT)
    except openai.APIError as error:
        return error
    return whole_seen(completion) if isinstance(completion, ChatCompletion) and completion.choices else None


def our_reading(client: llmcore.Client, target: Model[Any], recorded: Recorded) -> Seen | LLMError:
    try:
        response = our_stream(client, target) if recorded.stream else client.generate(target, "Hi")
    except LLMError as error:
        return error
    return ours_seen(response)


@pytest.mark.corpus
@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_recorded_replies_are_read_as_the_sdk_reads_them(
    server: ReplayServer, sdk: openai.OpenAI, client: llmcore.Client, case: Case
) -> None:
    where = place(case.provider, case.protocol)
    assert where is not None
    # Thoughts between tags are text for the SDK.
    quirks = msgspec.structs.replace(where.route.quirks or where.route.protocol.quirks(), thinking_tags=None)
    route = msgspec.structs.replace(where.route, quirks=quirks, rules=())
    compared = 0
    for recorded in case.interactions:
        if recorded.operation != "generate" or recorded.oracle is None:
            continue
        server.load([interaction(recorded)] * 2)
        theirs = their_reading(sdk, recorded)
        ours = our_reading(client, route.model("m", api_key=Secret("k"), base_url=f"{server.url}/v1"), recorded)
        if isinstance(theirs, openai.APIError):
            assert isinstance(ours, LLMError)
            assert ours.status == getattr(theirs, "status_code", recorded.response.status)
        elif theirs is not None:
            assert ours == theirs
        compared += 1
    if not compared:
        pytest.skip("no reply in it that the SDK can read")


def test_the_corpus_has_the_cases_that_it_is_known_for() -> None:
    if not CORPUS:
        pytest.skip("LLMCORE_CORPUS names no folder of recorded traffic")
    assert len(CASES) > 200
    assert sum(recorded.stream for case in CASES for recorded in case.interactions) > 20


# -- errors

CLASSES: dict[type[openai.APIStatusError], tuple[type[LLMError], ...]] = {
    openai.BadRequestError: (errors.InvalidRequestError, errors.ContextLengthError, errors.ContentFilterError),
    openai.AuthenticationError: (errors.AuthError,),
    openai.PermissionDeniedError: (errors.AuthError,),
    openai.NotFoundError: (errors.InvalidRequestError,),
    openai.ConflictError: (errors.OverloadedError,),
    openai.UnprocessableEntityError: (errors.InvalidRequestError,),
    openai.RateLimitError: (errors.RateLimitError, errors.QuotaError),
    openai.InternalServerError: (errors.OverloadedError,),
}
"""What the SDK's classes by status are with us."""


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 429, 500, 502, 503, 529])
def test_errors_have_the_class_and_status_of_the_sdks(
    server: ReplayServer, sdk: openai.OpenAI, client: llmcore.Client, model: Model[Any], status: int, stream: bool
) -> None:
    body = {"error": {"message": "It did not work.", "type": None, "code": None, "param": "messages"}}
    server.load([Reply.json(body, status=status)] * 2)
    with pytest.raises(openai.APIStatusError) as theirs:
        sdk.chat.completions.create(model="gpt-4o", messages=PROMPT, stream=stream)
    with pytest.raises(LLMError) as ours:
        our_stream(client, model) if stream else client.generate(model, "Hi")
    assert ours.value.status == theirs.value.status_code == status
    assert type(ours.value) in CLASSES[type(theirs.value)]
    assert "It did not work." in str(ours.value)


def test_an_error_inside_a_stream_is_an_error_with_both(
    server: ReplayServer, sdk: openai.OpenAI, client: llmcore.Client, model: Model[Any]
) -> None:
    frame = '{"error": {"message": "The server had an error.", "type": "server_error", "code": null}}'
    server.load([Reply.sse('{"choices": [{"index": 0, "delta": {"content": "a"}}]}', frame)] * 2)
    with (
        pytest.raises(openai.APIError, match="The server had an error"),
        sdk.chat.completions.create(model="gpt-4o", messages=PROMPT, stream=True) as chunks,
    ):
        list(chunks)
    with pytest.raises(errors.OverloadedError, match="The server had an error"):
        our_stream(client, model)


# -- where we differ on purpose


def test_row_14_the_sdk_takes_a_stream_without_an_end_for_whole_and_we_do_not(
    server: ReplayServer, sdk: openai.OpenAI, client: llmcore.Client, model: Model[Any]
) -> None:
    server.load([Reply.sse('{"choices": [{"index": 0, "delta": {"content": "half"}}]}')] * 2)
    with sdk.chat.completions.create(model="gpt-4o", messages=PROMPT, stream=True) as chunks:
        assert chunks_seen(list(chunks)).text == "half"
    with pytest.raises(errors.StreamTruncatedError) as ours:
        our_stream(client, model)
    assert ours.value.partial is not None
    assert ours.value.partial.text == "half"


def test_row_17_the_sdk_breaks_off_at_a_keep_alive_that_is_no_json_and_we_do_not(
    server: ReplayServer, sdk: openai.OpenAI, client: llmcore.Client, model: Model[Any]
) -> None:
    text = '{"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]}'
    server.load([Reply.sse(": OPENROUTER PROCESSING", text, "[DONE]")] * 2)
    with (
        pytest.raises(json.JSONDecodeError),
        sdk.chat.completions.create(model="gpt-4o", messages=PROMPT, stream=True) as chunks,
    ):
        list(chunks)
    assert our_stream(client, model).text == "a"
