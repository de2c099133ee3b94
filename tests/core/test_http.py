"""HTTP as data: headers, the id of a request, and what a provider says of its limits."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmcore.http import REQUEST_ID_HEADERS, HttpHead, HttpRequest, Timeout, duration, rate_limit, request_id
from llmcore.schema import RateLimit


def head(**headers: str) -> HttpHead:
    return HttpHead(status=200, headers=tuple((name.replace("_", "-"), value) for name, value in headers.items()))


def test_a_header_is_found_in_any_case_and_the_first_counts() -> None:
    reply = HttpHead(status=429, headers=(("Retry-After", "1"), ("retry-after", "2")))
    assert reply.header("RETRY-AFTER") == "1"
    assert reply.header("x") is None


def test_setting_a_header_replaces_all_of_its_name() -> None:
    request = HttpRequest(method="POST", url="https://h", headers=(("A", "1"), ("a", "2"), ("b", "3")), body=b"x")
    changed = request.with_header("a", "4")
    assert changed.headers == (("b", "3"), ("a", "4"))
    assert request.headers == (("A", "1"), ("a", "2"), ("b", "3"))
    assert (changed.method, changed.url, changed.body) == ("POST", "https://h", b"x")


def test_the_repr_of_a_request_shows_no_header_url_or_body() -> None:
    request = HttpRequest(
        method="POST", url="https://h?key=sk-url", headers=(("authorization", "Bearer sk-head"),), body=b"sk-body"
    )
    assert repr(request) == "HttpRequest(POST, <1 headers, 7 bytes>)"


@pytest.mark.parametrize("name", REQUEST_ID_HEADERS)
def test_the_id_of_a_request_comes_from_the_provider_s_own_header(name: str) -> None:
    assert request_id(HttpHead(status=200, headers=((name.title(), "r1"),))) == "r1"


def test_the_first_header_that_has_an_id_counts() -> None:
    assert request_id(head(cf_ray="ray", x_request_id="mine")) == "mine"
    assert request_id(head(x_request_id="", cf_ray="ray")) == "ray"
    assert request_id(head(date="now")) is None


def test_the_limits_that_headers_state() -> None:
    found = rate_limit(
        head(
            **{
                "x-ratelimit-limit-requests": "60",
                "x-ratelimit-remaining-requests": "59",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-limit-tokens": "150000",
                "x-ratelimit-remaining-tokens": "149984",
                "x-ratelimit-reset-tokens": "6m0s",
            }
        )
    )
    assert found == RateLimit(
        limit_requests=60,
        remaining_requests=59,
        reset_requests=1.0,
        limit_tokens=150000,
        remaining_tokens=149984,
        reset_tokens=360.0,
    )
    assert rate_limit(head(date="now")) is None


@pytest.mark.parametrize("value", ["", "many", "-1", "1.5", "1e3", "9" * 5000, "²"])
def test_a_count_that_is_none_is_unknown(value: str) -> None:
    found = rate_limit(head(x_ratelimit_limit_requests=value, x_ratelimit_limit_tokens="7"))
    assert found == RateLimit(limit_tokens=7)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2", 2.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("1.5s", 1.5),
        ("250ms", 0.25),
        ("6m0s", 360.0),
        ("1h2m3.5s", 3723.5),
        ("1d", 86400.0),
        (" 10s ", 10.0),
        ("1m500ms", 60.5),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    [None, "", " ", "s", "ms", ".", ".s", "1x", "1.2.3s", "-1", "+1", "1 s", "1s 2", "inf", "nan", "1e5", "9" * 400],
)
def test_what_is_no_duration_is_unknown(text: str | None) -> None:
    assert duration(text) is None


@given(st.text(alphabet="0123456789.smhd x-", max_size=12) | st.text(max_size=6))
@settings(max_examples=200)
def test_any_header_gives_seconds_or_nothing(text: str) -> None:
    seconds = duration(text)
    assert seconds is None or 0 <= seconds < float("inf")
    assert rate_limit(head(x_ratelimit_limit_requests=text, x_ratelimit_reset_tokens=text)) is None or text


def test_the_clocks_and_their_defaults() -> None:
    clocks = Timeout()
    assert (clocks.connect, clocks.first_event, clocks.idle, clocks.total) == (10.0, 600.0, 600.0, None)
