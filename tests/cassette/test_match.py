"""Which recording a request is, and what is said when it is none."""

import pytest

from llmcore.cassette import Received, RecordedRequest
from llmcore.cassette.match import miss_message, same_request

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "temperature": 1}
RECORDED = RecordedRequest(method="POST", url="https://api.example.com/v1/chat?alt=sse&v=2", body=BODY)


def a_request(
    body: bytes = b'{"model":"m","messages":[{"role":"user","content":"Hi"}],"temperature":1}',
    path: str = "/v1/chat?alt=sse&v=2",
    method: str = "POST",
) -> Received:
    return Received(method=method, path=path, headers=(), body=body, connection=0)


SAME = {
    "as recorded": a_request(),
    "other order and white space": a_request(
        b'{ "temperature": 1.0, "messages": [{"content": "\\u0048i", "role": "user"}], "model": "m" }'
    ),
    "query in another order": a_request(path="/v1/chat?v=2&alt=sse"),
    "a key in the query": a_request(path="/v1/chat?alt=sse&v=2&key=secret"),
}


@pytest.mark.parametrize("request_", SAME.values(), ids=SAME)
def test_the_same_request_in_other_words(request_: Received) -> None:
    assert same_request(RECORDED, request_)


OTHER = {
    "the method: POST": a_request(method="GET"),
    "the path: /v1/chat": a_request(path="/v1/chat?alt=json&v=2"),
    "body.messages[0].content: '\"Hi\"' recorded, '\"Hello\"' sent": a_request(
        b'{"model":"m","messages":[{"role":"user","content":"Hello"}],"temperature":1}'
    ),
    "the length of body.messages: 1 recorded, 0 sent": a_request(b'{"model":"m","messages":[],"temperature":1}'),
    "body.temperature, which is only in the recording": a_request(
        b'{"model":"m","messages":[{"role":"user","content":"Hi"}]}'
    ),
    "body.seed, which is only in the request": a_request(
        b'{"model":"m","messages":[{"role":"user","content":"Hi"}],"temperature":1,"seed":3}'
    ),
    'body: \'{"messages":[{"content":"Hi","role":"use\'… (73 characters) recorded, \'null\' sent': a_request(b""),
}


@pytest.mark.parametrize(("difference", "request_"), OTHER.items(), ids=OTHER)
def test_another_request_is_told_apart_and_the_difference_named(difference: str, request_: Received) -> None:
    assert not same_request(RECORDED, request_)
    message = miss_message(request_, [RECORDED], 0)
    assert message.endswith(f"the nearest recording differs in {difference}")


def test_true_is_not_one_and_text_is_compared_as_it_is() -> None:
    flag = RecordedRequest(method="POST", url="http://h/p", body={"n": 1})
    assert not same_request(flag, a_request(b'{"n":true}', "/p"))
    text = RecordedRequest(method="POST", url="http://h/p", body="a=1")
    assert same_request(text, a_request(b"a=1", "/p"))
    assert not same_request(text, a_request(b"a=2", "/p"))
    assert "which is not JSON" in miss_message(a_request(b"a=2", "/p"), [text], 0)


def test_the_nearest_is_of_the_same_place_before_the_same_body() -> None:
    elsewhere = RecordedRequest(method="POST", url="https://api.example.com/v2/other", body=BODY)
    near = RecordedRequest(method="POST", url="https://api.example.com/v1/chat?alt=sse&v=2", body={"model": "other"})
    assert "body.model" in miss_message(a_request(), [elsewhere, near], 0)


def test_a_message_repeats_no_credential_and_no_long_value() -> None:
    message = miss_message(a_request(b'{"model":"' + b"x" * 5000 + b'"}', "/v1/chat?key=canary"), [RECORDED], 0)
    assert "canary" not in message
    assert len(message) < 400


def test_a_script_that_is_used_up_says_so() -> None:
    assert miss_message(a_request(), [], 3) == "no reply for POST /v1/chat?alt=…&v=…: all 3 of the script are used"
