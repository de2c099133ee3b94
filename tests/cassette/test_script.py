"""Replies as data: how recordings become scripts, and what the constructors make."""

import gzip
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.cassette import (
    Action,
    Burst,
    Hold,
    Interaction,
    Pause,
    Received,
    RecordedRequest,
    RecordedResponse,
    Reply,
    Send,
    replay,
)
from llmcore.cassette.connection import _ACTS
from llmcore.cassette.script import Split, cut
from llmcore.errors import ConfigError


def recorded(*chunks: tuple[int, str], kind: str = "text/event-stream", **headers: str) -> Interaction:
    response = RecordedResponse(status=200, headers={"content-type": kind, **headers}, chunks=chunks)
    return Interaction(request=RecordedRequest(method="POST", url="http://h/p"), response=response)


STREAM = recorded((0, "data: 1\n\n"), (0, ""), (30, "data: 2\n"), (50, "\n"))
BODY = b"data: 1\n\ndata: 2\n\n"


@pytest.mark.parametrize(
    ("split", "actions"),
    [
        ("recorded", (Send(b"data: 1\n\n"), Send(b"data: 2\n"), Send(b"\n"))),
        ("whole", (Send(BODY),)),
        ("bytes", (Burst(tuple(bytes([byte]) for byte in BODY)),)),
    ],
)
def test_a_recorded_body_is_cut_as_asked(split: Split, actions: tuple[Send | Burst, ...]) -> None:
    reply = replay(STREAM, split=split)
    assert reply.actions == actions
    assert reply.chunked()
    assert reply.recorded is STREAM


def test_random_cuts_depend_on_the_seed_alone() -> None:
    replies = [replay(STREAM, split="random", seed=seed).actions for seed in (1, 1, 2)]
    assert replies[0] == replies[1] != replies[2]
    (burst,) = replies[0]
    assert isinstance(burst, Burst)
    assert b"".join(burst.pieces) == BODY
    assert len(burst.pieces) > 1


@given(data=st.binary(max_size=5000), seed=st.integers())
def test_cuts_lose_nothing_and_are_never_empty(data: bytes, seed: int) -> None:
    pieces = cut(data, seed)
    assert b"".join(pieces) == data
    assert all(pieces)


def test_recorded_times_become_pauses_between_the_chunks() -> None:
    reply = replay(STREAM, pace=0.5)
    assert reply.actions == (
        Send(b"data: 1\n\n"),
        Pause(0.015),
        Send(b"data: 2\n"),
        Pause(0.01),
        Send(b"\n"),
    )


def test_times_go_with_the_recorded_chunks_only() -> None:
    with pytest.raises(ConfigError, match="pace= goes with split='recorded'"):
        replay(STREAM, split="bytes", pace=1.0)


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(ConfigError, match="recorded, whole, bytes or random, not 'half'"):
        replay(STREAM, split="half")  # type: ignore[arg-type]


def test_headers_of_the_connection_are_not_replayed() -> None:
    interaction = recorded((0, "x"), **{"Transfer-Encoding": "chunked", "content-length": "9", "x-request-id": "r"})
    assert replay(interaction).headers == (("content-type", "text/event-stream"), ("x-request-id", "r"))


@pytest.mark.parametrize(
    ("reply", "chunked"),
    [
        (Reply.json({}), False),
        (Reply(), False),
        (Reply.sse("a"), True),
        (replay(recorded((0, "{}"), kind="application/json")), False),
        (replay(recorded((0, "{"), (1, "}"), kind="application/json")), True),
        (replay(recorded((0, "{}"), kind="Application/X-NDJSON; charset=utf-8")), True),
        (Reply(framing="length", actions=(Send(b"a"), Send(b"b"))), False),
        (Reply(framing="close", actions=(Burst((b"a",)),)), False),
        (Reply(framing="chunked"), True),
    ],
)
def test_a_whole_body_has_a_length_and_a_stream_has_chunks(reply: Reply, chunked: bool) -> None:
    assert reply.chunked() is chunked


def test_constructors() -> None:
    assert Reply.json({"a": 1}, status=404) == Reply(
        status=404, headers=(("content-type", "application/json"),), actions=(Send(b'{"a":1}'),)
    )
    packed = gzip.compress(b"{}")
    assert Reply.json(packed, headers=(("content-encoding", "gzip"),)).actions == (Send(packed),)
    assert Reply.text("<h1>Bad Gateway</h1>", status=502).headers == (("content-type", "text/html; charset=utf-8"),)
    assert Reply.sse("a\nb", b": ping\n\n", Hold()).actions == (
        Send(b"data: a\ndata: b\n\n"),
        Send(b": ping\n\n"),
        Hold(),
    )


def test_a_received_request_shows_no_header_and_no_value_of_its_query() -> None:
    headers = (("authorization", "Bearer canary"), ("x", "1"))
    request = Received(method="POST", path="/v1?key=canary", headers=headers, body=b'{"a":1}', connection=3)
    assert repr(request) == "Received(POST /v1?key=…, 7 bytes, connection 3)"
    assert request.header("Authorization") == "Bearer canary"
    assert request.header("none") is None
    assert request.json() == {"a": 1}


def test_every_action_has_its_handler() -> None:
    assert set(_ACTS) == set(get_args(Action))
