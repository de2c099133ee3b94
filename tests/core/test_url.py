"""Joining URLs: what the base has is kept, and what cannot be a base is refused without showing a secret."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmcore.errors import ConfigError
from llmcore.url import expand, join, redact_query, variables_in

CHAT = "/chat/completions"

# HARD_CASES 117: base, path, joined.
JOINED = [
    ("https://h", CHAT, "https://h/chat/completions"),
    ("https://h/", CHAT, "https://h/chat/completions"),
    ("https://h/v1", CHAT, "https://h/v1/chat/completions"),
    ("https://h/v1/", CHAT, "https://h/v1/chat/completions"),
    ("https://h/v1", "chat/completions", "https://h/v1/chat/completions"),
    ("https://h/v1//", "//chat", "https://h/v1/chat"),
    ("https://h?api-version=1", CHAT, "https://h/chat/completions?api-version=1"),
    ("https://h/?api-version=1", CHAT, "https://h/chat/completions?api-version=1"),
    ("https://h/v1?api-version=1", CHAT, "https://h/v1/chat/completions?api-version=1"),
    ("https://h/v1/?api-version=1&x=", CHAT, "https://h/v1/chat/completions?api-version=1&x="),
    ("https://h/v1?a=1", "/models?b=2", "https://h/v1/models?a=1&b=2"),
    ("https://h/openai/deployments/d%2Fe", CHAT, "https://h/openai/deployments/d%2Fe/chat/completions"),
    ("https://h/a%3Ab", "/m:generate?alt=sse", "https://h/a%3Ab/m:generate?alt=sse"),
    ("http://localhost:11434/v1", CHAT, "http://localhost:11434/v1/chat/completions"),
    ("http://[::1]:8080/v1", CHAT, "http://[::1]:8080/v1/chat/completions"),
    ("http://[2001:db8::1]", CHAT, "http://[2001:db8::1]/chat/completions"),
    ("https://h", "", "https://h/"),
    ("https://h/v1", "", "https://h/v1"),
    (" https://h/v1\n", CHAT, "https://h/v1/chat/completions"),
    ("HTTPS://Host.Example/v1", CHAT, "https://Host.Example/v1/chat/completions"),
]


@pytest.mark.parametrize(("base", "path", "joined"), JOINED)
def test_hard_case_117_joining(base: str, path: str, joined: str) -> None:
    assert join(base, path) == joined


def test_a_query_is_added_and_encoded() -> None:
    assert join("https://h/v1?a=1", "/m?b=2", [("key", "a+b/c&d=é"), ("x y", "")]) == (
        "https://h/v1/m?a=1&b=2&key=a%2Bb%2Fc%26d%3D%C3%A9&x%20y="
    )


@pytest.mark.parametrize(
    ("base", "said"),
    [
        ("", "a base URL is http"),
        ("h/v1", "a base URL is http"),
        ("//h/v1", "a base URL is http"),
        ("localhost:8080", "a base URL is http"),
        ("ftp://h", "a base URL is http"),
        ("file:///etc/passwd", "a base URL is http"),
        ("https://", "a base URL is http"),
        ("https:///v1", "a base URL is http"),
        ("https://ho st/v1", "a base URL is http"),
        ("https://{resource}.example/v1", "a base URL is http"),
        ("https://user:hunter22@h/v1", "credentials before its host"),
        ("https://user@h/v1", "credentials before its host"),
        ("https://h/v1#top", "#fragment"),
        ("https://h:port/v1", "does not parse"),
        ("https://h:99999/v1", "does not parse"),
        ("http://[::1/v1", "does not parse"),
    ],
)
def test_what_cannot_be_a_base_is_refused(base: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        join(base, CHAT)
    assert "hunter22" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "base", ["ftp://user:hunter22@h/v1", "user:hunter22@h", "ftp://h/?key=hunter22", "//u:hunter22@h"]
)
def test_a_refused_base_shows_no_secret(base: str) -> None:
    with pytest.raises(ConfigError) as caught:
        join(base)
    assert "hunter22" not in str(caught.value)


def test_a_refused_base_is_not_repeated_at_length() -> None:
    with pytest.raises(ConfigError) as caught:
        join("x" * 10_000)
    assert len(str(caught.value)) < 300


NAMES = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=4)


@given(
    st.lists(NAMES, max_size=3), st.lists(NAMES, max_size=3), st.dictionaries(NAMES, NAMES, max_size=2), st.booleans()
)
@settings(max_examples=100)
def test_joining_keeps_every_segment_and_every_pair(
    prefix: list[str], path: list[str], query: dict[str, str], slash: bool
) -> None:
    text = "&".join(f"{name}={value}" for name, value in query.items())
    base = "https://h" + "".join(f"/{one}" for one in prefix) + "/" * slash + (f"?{text}" if text else "")
    where, _, asked = join(base, "".join(f"/{one}" for one in path)).partition("?")
    assert where.removeprefix("https://h").strip("/").split("/") == ([*prefix, *path] or [""])
    assert asked == text


def test_expand() -> None:
    assert expand("/models/{model}:generate", {"model": "a/b c:é"}) == "/models/a%2Fb%20c%3A%C3%A9:generate"
    assert expand("/{a}/{b}", {"a": "{b}", "b": "x"}) == "/%7Bb%7D/x"
    assert expand("/plain", {"model": "m"}) == "/plain"


def test_variables_in() -> None:
    assert variables_in("https://{resource}.example/{project}/v1") == ("resource", "project")
    assert variables_in("https://h/v1") == ()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://h/v1", "https://h/v1"),
        ("https://h/v1?key=abc", "https://h/v1?key=…"),
        ("https://h/v1?key=abc=d&x&sig=%20", "https://h/v1?key=…&x=…&sig=…"),
        ("http://user:pass@proxy:3128", "http://…@proxy:3128"),
        ("user:pass@proxy", "…@proxy"),
        ("https://h/a@b?x=1", "https://h/a@b?x=…"),
        ("", ""),
    ],
)
def test_a_url_is_shown_without_values_and_credentials(url: str, shown: str) -> None:
    assert redact_query(url) == shown
