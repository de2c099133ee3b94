"""What an error means: HARD_CASES rows 54-58, 62, 64, 74 as tables."""

# ruff: noqa: E501  # a wording stands on one line, so that it can be searched for

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmcore.errors import (
    AuthError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    LLMError,
    OverloadedError,
    QuotaError,
    RateLimitError,
    RequestTimeoutError,
)
from llmcore.wire.errors import CODES, from_reply, from_stream
from llmcore.wire.reports import report_of, report_of_bytes


def reply(status: int, body: object, **headers: str) -> LLMError:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return from_reply(status, pairs, data, provider="p", model="m")


def openai(message: str, code: str | None = None, kind: str | None = "invalid_request_error") -> dict[str, object]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


CONTEXT = [
    (
        "This model's maximum context length is 4097 tokens. However, your messages resulted in 4105 tokens. Please reduce the length of the messages.",
        4097,
        4105,
    ),
    (
        "This model's maximum context length is 2048 tokens. However, you requested 2100 tokens (1100 in the messages, 1000 in the completion).",
        2048,
        2100,
    ),
    (
        "This endpoint's maximum context length is 8192 tokens. However, you requested about 10000 tokens (9000 of text input, 1000 in the output).",
        8192,
        10000,
    ),
    (
        "This model's maximum context length is 32768 tokens. However, your request has 40000 input tokens.",
        32768,
        40000,
    ),
    ("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096, 5000),
    ("The input (13000 tokens) is longer than the model's context length (8192 tokens).", 8192, 13000),
    (
        "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of 140000 tokens",
        131072,
        140000,
    ),
    ("Input length (9000) exceeds model's maximum context length (8192).", 8192, 9000),
    ("prompt is too long: 210000 tokens > 200000 maximum", 200000, 210000),
    (
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
        200000,
        190000,
    ),
    ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1048576, 1200000),
    (
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        32768,
        40000,
    ),
    ("Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192", 8192, 9000),
    ("This model's maximum prompt length is 131072 but the request contains 140000 tokens.", 131072, 140000),
    ("prompt token count of 140000 exceeds the limit of 128000", 128000, 140000),
    (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8000 `inputs` tokens and 512 `max_new_tokens`",
        8193,
        8000,
    ),
    ("the request exceeds the available context size (4096 tokens), try increasing it", 4096, None),
    ("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096, 5000),
    (
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
        4096,
        5000,
    ),
    (
        "The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (8192).",
        8192,
        9000,
    ),
    ("Invalid request: Your request exceeded model token limit: 8192", 8192, None),
    ("too many tokens: the total number of tokens in the prompt exceeds the limit of 4081", 4081, None),
    ("Range of input length should be [1, 129024]", 129024, None),
    ("Request body too large for gpt-4o model. Max size: 8000 tokens.", 8000, None),
    ("The prompt is too long: 140000, model maximum context length: 131071", 131071, 140000),
    ("Input is too long for requested model.", None, None),
    ("the input length exceeds the context length", None, None),
    ("invalid params, context window exceeds limit (2013)", None, None),
    ("Prompt exceeds max length", None, None),
    ("Please reduce the length of the messages or completion.", None, None),
]


@pytest.mark.parametrize(("message", "limit", "used"), CONTEXT, ids=range(len(CONTEXT)))
def test_row_57_wordings_of_a_context_that_is_too_long(message: str, limit: int | None, used: int | None) -> None:
    error = reply(400, openai(message))
    assert isinstance(error, ContextLengthError)
    assert (error.limit, error.used) == (limit, used)


NOT_CONTEXT = [
    (400, "max_tokens is too large: 100000. This model supports at most 16384 completion tokens", InvalidRequestError),
    (
        400,
        "string too long. Expected a string with maximum length 64, but got a string with length 70 instead.",
        InvalidRequestError,
    ),
    (
        400,
        "Invalid 'messages': array too long. Expected an array with maximum length 2048, but got 3000.",
        InvalidRequestError,
    ),
    (400, "image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes", InvalidRequestError),
    (400, "Too many files: 25 exceeds the limit of 20", InvalidRequestError),
    (413, "Request Entity Too Large", InvalidRequestError),
    (429, "Too many requests", RateLimitError),
    (429, "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000.", RateLimitError),
    (400, "Unsupported parameter: 'safety_identifier' is not supported with this model.", InvalidRequestError),
    (400, "Invalid value for safety_settings: content_filter is no such category", InvalidRequestError),
]


@pytest.mark.parametrize(("status", "message", "kind"), NOT_CONTEXT)
def test_row_57_wordings_that_only_sound_like_it(status: int, message: str, kind: type[LLMError]) -> None:
    assert type(reply(status, openai(message))) is kind


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, InvalidRequestError, False),
        (401, AuthError, False),
        (402, QuotaError, False),
        (403, AuthError, False),
        (404, InvalidRequestError, False),
        (408, RequestTimeoutError, True),
        (409, OverloadedError, True),
        (413, InvalidRequestError, False),
        (415, InvalidRequestError, False),
        (418, InvalidRequestError, False),
        (422, InvalidRequestError, False),
        (425, OverloadedError, True),
        (429, RateLimitError, True),
        (500, OverloadedError, True),
        (502, OverloadedError, True),
        (503, OverloadedError, True),
        (504, OverloadedError, True),
        (520, OverloadedError, True),
        (529, OverloadedError, True),
        (302, LLMError, False),
    ],
)
def test_statuses(status: int, kind: type[LLMError], retryable: bool) -> None:
    for body in (b"", b"no JSON", b'{"error": {"message": "no"}}'):
        error = reply(status, body)
        assert type(error) is kind
        assert (error.status, error.retryable) == (status, retryable)


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        # code before type before status
        (429, openai("You exceeded your current quota", "insufficient_quota", "insufficient_quota"), QuotaError, False),
        (400, openai("no", "context_length_exceeded"), ContextLengthError, False),
        (500, openai("no", "invalid_api_key"), AuthError, False),
        (400, openai("no", None, "server_error"), OverloadedError, True),
        (400, openai("no", "unknown_word", "authentication_error"), AuthError, False),
        (429, openai("Rate limit reached for requests", "rate_limit_exceeded", "requests"), RateLimitError, True),
        # row 62: what the service's own check refused may pass next time
        (400, openai("Tool call validation failed", "tool_use_failed"), InvalidRequestError, True),
        (400, openai("no", "model_not_found"), InvalidRequestError, False),
        # row 60: a prompt that is refused
        (
            400,
            {
                "error": {
                    "code": "content_filter",
                    "message": "The response was filtered",
                    "innererror": {"code": "ResponsibleAIPolicyViolation"},
                }
            },
            ContentFilterError,
            False,
        ),
        (400, openai("Your request was rejected as a result of our safety system."), ContentFilterError, False),
        (403, {"error": {"code": 403, "message": "flagged by moderation"}}, AuthError, False),
        # statuses inside bodies
        (200, {"error": {"code": 502, "message": "Bad gateway"}}, OverloadedError, True),
        (200, {"error": {"code": "429", "message": "slow"}}, RateLimitError, True),
        (400, {"error": {"message": "no", "status_code": 503}}, OverloadedError, True),
        # Google's words, also through a wrapper in an array
        (429, [{"error": {"code": 429, "message": "no", "status": "RESOURCE_EXHAUSTED"}}], RateLimitError, True),
        (400, {"error": {"code": 400, "message": "API key not valid", "status": "UNAUTHENTICATED"}}, AuthError, False),
        (503, {"error": {"code": 503, "message": "no", "status": "UNAVAILABLE"}}, OverloadedError, True),
        (504, {"error": {"code": 504, "message": "no", "status": "DEADLINE_EXCEEDED"}}, RequestTimeoutError, True),
        # no status that says anything: words
        (200, openai("The server had an error while processing your request.", None, None), OverloadedError, True),
        (200, openai("Rate limit exceeded", None, None), RateLimitError, True),
        (200, openai("Incorrect API key provided", None, None), AuthError, False),
        (200, openai("upstream request timed out", None, None), RequestTimeoutError, True),
        (200, openai("Insufficient credits", None, None), QuotaError, False),
        (200, openai("odd", None, None), LLMError, False),
    ],
)
def test_code_then_type_then_status_then_words(
    status: int, body: object, kind: type[LLMError], retryable: bool
) -> None:
    error = reply(status, body)
    assert type(error) is kind
    assert error.retryable is retryable


QUOTAS = [
    (
        {"error": {"message": "You exceeded your current quota, please check your plan", "code": "insufficient_quota"}},
        QuotaError,
    ),
    ({"error": {"message": "Quota exceeded. Please try again in 12s"}}, RateLimitError),
    ({"error": {"message": "Quota exceeded: tokens per minute"}}, RateLimitError),
    ({"error": {"message": "Rate limit exceeded: free-models-per-day. Add 10 credits"}}, QuotaError),
    ({"error": {"message": "Rate limit exceeded: limit_rpm/model"}}, RateLimitError),
    ({"error": {"message": "Your credit balance is too low"}}, QuotaError),
    (
        {
            "error": {
                "message": "Rate limit reached on tokens per day (TPD): Limit 100000",
                "type": "tokens",
                "code": "rate_limit_exceeded",
            }
        },
        QuotaError,
    ),
    (
        {
            "error": {
                "message": "Rate limit reached on tokens per minute (TPM)",
                "type": "tokens",
                "code": "rate_limit_exceeded",
            }
        },
        RateLimitError,
    ),
    (
        {
            "error": {
                "code": 429,
                "message": "You exceeded your current quota",
                "status": "RESOURCE_EXHAUSTED",
                "details": [
                    {
                        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                        "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}],
                    },
                    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "30s"},
                ],
            }
        },
        QuotaError,
    ),
    (
        {
            "error": {
                "code": 429,
                "message": "You exceeded your current quota",
                "status": "RESOURCE_EXHAUSTED",
                "details": [
                    {
                        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                        "violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel"}],
                    },
                    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "45.837906927s"},
                ],
            }
        },
        RateLimitError,
    ),
    (
        {
            "error": {
                "code": 429,
                "message": "Provider returned error",
                "metadata": {"raw": "model is temporarily rate-limited upstream", "provider_name": "X"},
            }
        },
        RateLimitError,
    ),
    ({"message": "Requests rate limit exceeded"}, RateLimitError),
    ({}, RateLimitError),
]


@pytest.mark.parametrize(("body", "kind"), QUOTAS, ids=range(len(QUOTAS)))
def test_row_58_a_spent_quota_is_no_rate_limit_whatever_words_it_uses(body: object, kind: type[LLMError]) -> None:
    assert type(reply(429, body)) is kind


def test_row_74_the_delay_of_a_wrapper_is_read_from_its_details() -> None:
    error = reply(429, QUOTAS[9][0])
    assert error.retry_after == 45.837906927
    assert reply(429, openai("Please try again in 1.5s")).retry_after == 1.5
    assert reply(429, openai("no"), retry_after="7").retry_after == 7.0


@pytest.mark.parametrize(
    ("body", "message", "code", "kind"),
    [
        ({"error": {"message": "m", "type": "t", "code": "c", "param": "p"}}, "m", "c", "t"),
        ({"error": "text"}, "text", None, None),
        ({"error": "text", "type": "t"}, "text", None, "t"),
        ({"error": ["one", "two"]}, "one", None, None),
        ({"error": [{"message": "m"}]}, "m", None, None),
        ({"error": {"error": {"message": "m", "code": 5}}}, "m", "5", None),
        ([{"error": {"message": "m"}}], "m", None, None),
        ({"errors": [{"message": "m", "code": 7003}], "success": False}, "m", "7003", None),
        ({"object": "error", "message": "m", "type": "BadRequestError", "code": 400}, "m", None, "BadRequestError"),
        ({"message": "m", "request_id": "r"}, "m", None, None),
        ({"detail": "m"}, "m", None, None),
        ({"detail": [{"loc": ["body"], "msg": "m"}]}, '[{"loc": ["body"], "msg": "m"}]', None, None),
        ({"Message": "m", "__type": "Throttling"}, "m", None, "Throttling"),
        ("text", "text", None, None),
        ({"error": {"message": "m", "metadata": {"raw": "upstream"}}}, "m / upstream", None, None),
        ({"error": {"message": None, "code": None, "type": None}}, "", None, None),
    ],
)
def test_row_55_shapes_of_error_bodies(body: object, message: str, code: str | None, kind: str | None) -> None:
    report = report_of_bytes(json.dumps(body).encode())
    assert report is not None
    assert (report.message, report.code, report.type) == (message, code, kind)


@pytest.mark.parametrize(
    "value", [{}, {"choices": []}, {"type": "ping"}, {"error": None}, {"error": {}}, [], 5, None, "x"]
)
def test_what_is_no_error_is_none(value: object) -> None:
    assert report_of(value) is None


@pytest.mark.parametrize(
    ("status", "headers", "body", "words"),
    [
        (
            502,
            {"content_type": "text/html"},
            b"<html><head><title>502 Bad Gateway</title></head></html>",
            "a web page (502 Bad Gateway)",
        ),
        (504, {}, b"<!DOCTYPE html><html>", "a web page"),
        (500, {}, b"", "an empty body"),
        (500, {"content_type": "text/plain"}, b"oops", "text/plain"),
        (503, {}, b"\xff\xfe\x00", "no error object"),
        (502, {}, b"<html>" + b"x" * 10_000_000, "a web page"),
        (500, {}, b"null", "no error object"),
        (500, {}, b'{"unrelated": 1}', "no error object"),
    ],
)
def test_row_56_bodies_that_say_nothing_give_a_typed_error_all_the_same(
    status: int, headers: dict[str, str], body: bytes, words: str
) -> None:
    error = reply(status, body, **headers)
    assert isinstance(error, OverloadedError)
    assert words in error.message
    assert str(status) in error.message
    assert len(error.body_excerpt or "") <= 501
    assert (error.body_excerpt is None) == (body == b"")


def test_row_56_an_event_stream_with_an_error_in_it_is_read() -> None:
    body = b'event: error\ndata: {"error": {"message": "m", "code": "insufficient_quota"}}\n\ndata: [DONE]\n\n'
    error = reply(429, body)
    assert isinstance(error, QuotaError)
    assert error.message == "m"


def test_errors_carry_what_a_caller_acts_on() -> None:
    body = {"error": {"message": "no", "code": "unsupported_parameter", "param": "temperature"}}
    error = reply(400, body, x_request_id="req_1")
    assert isinstance(error, InvalidRequestError)
    assert (error.param, error.provider_code, error.request_id) == ("temperature", "unsupported_parameter", "req_1")
    assert (error.provider, error.model, error.request_sent) == ("p", "m", "yes")
    assert reply(429, {"error": {"code": 429, "message": "no"}}).provider_code == "429"


def test_row_54_an_error_in_a_stream_has_the_class_its_code_gives_and_status_200() -> None:
    frame = b'{"error": {"message": "Overloaded", "type": "overloaded_error"}}'
    error = from_stream(json.loads(frame), frame, provider="p", model="m")
    assert isinstance(error, OverloadedError)
    assert (error.status, error.retryable, error.request_sent) == (200, True, "yes")
    assert from_stream(None, b"", provider="p", model="m").message


def test_messages_are_bounded() -> None:
    error = reply(400, openai("x" * 100_000))
    assert len(error.message) < 1100


def test_codes_are_in_lower_case() -> None:
    assert all(code == code.lower() for code in CODES)
    assert type(reply(400, openai("no", "Invalid_API_Key"))) is AuthError


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["error", "message"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "error",
                    "errors",
                    "message",
                    "code",
                    "type",
                    "status",
                    "detail",
                    "details",
                    "metadata",
                    "raw",
                    "object",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200)
@given(JSON, st.sampled_from([400, 401, 429, 500]))
def test_any_json_gives_one_of_our_errors(value: object, status: int) -> None:
    body = json.dumps(value).encode()
    assert isinstance(reply(status, body), LLMError)
    assert isinstance(from_stream(value, body, provider="p", model="m"), LLMError)


@given(st.binary(max_size=60), st.sampled_from([400, 401, 429, 500]))
def test_any_bytes_give_one_of_our_errors(body: bytes, status: int) -> None:
    assert isinstance(reply(status, body), LLMError)
