"""Auth: the key into the final request, from where it is, and never shown."""

from typing import TypeVar

import pytest

from llmcore.auth import Auth, bearer, custom, header, none, query
from llmcore.errors import AuthError, ConfigError
from llmcore.flow import Flow, Invoke
from llmcore.http import HttpRequest
from llmcore.secret import Secret, redact

T = TypeVar("T")
KEY = "sk-0123456789"
REQUEST = HttpRequest(
    method="POST", url="https://h/v1?a=1", headers=(("content-type", "application/json"),), body=b"{}"
)


def run(flow: Flow[T]) -> T:
    """Carries a flow out that only calls functions."""
    answer: object = None
    while True:
        try:
            operation = flow.send(answer)
        except StopIteration as done:
            return done.value
        assert isinstance(operation, Invoke)
        answer = operation.function()


def signed(auth: Auth, credential: Secret | None = None) -> tuple[HttpRequest, list[str]]:
    used = list[str]()
    return run(auth.flow(REQUEST, credential, used)), used


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EXAMPLE_KEY", "OTHER_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_bearer() -> None:
    request, used = signed(bearer("EXAMPLE_KEY"), Secret(KEY))
    assert request.headers == (*REQUEST.headers, ("authorization", f"Bearer {KEY}"))
    assert (request.url, request.body, used) == (REQUEST.url, b"{}", [KEY])
    assert REQUEST.headers == (("content-type", "application/json"),)


def test_a_header_of_any_name_and_prefix() -> None:
    assert signed(header("x-api-key"), Secret(KEY))[0].headers[-1] == ("x-api-key", KEY)
    assert signed(header("api-key", prefix="Key "), Secret(KEY))[0].headers[-1] == ("api-key", f"Key {KEY}")


def test_the_key_in_the_query_is_encoded_and_joins_the_others() -> None:
    request, used = signed(query("key"), Secret("a+b/c==d"))
    assert request.url == "https://h/v1?a=1&key=a%2Bb%2Fc%3D%3Dd"
    assert set(used) == {"a+b/c==d", "a%2Bb%2Fc%3D%3Dd"}  # as it is, and as a URL in an error would show it


def test_none_changes_nothing() -> None:
    assert signed(none(), Secret(KEY)) == (REQUEST, [])


def test_the_argument_is_stronger_than_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_KEY", "from-environment")
    auth = bearer("EXAMPLE_KEY", "OTHER_KEY")
    assert signed(auth)[1] == ["from-environment"]
    assert signed(auth, Secret(KEY))[1] == [KEY]
    monkeypatch.setenv("EXAMPLE_KEY", "the-first")
    assert signed(auth)[1] == ["the-first"]


@pytest.mark.parametrize("auth", [bearer("EXAMPLE_KEY", "OTHER_KEY"), query("key", "EXAMPLE_KEY", "OTHER_KEY")])
def test_a_missing_key_names_the_argument_and_the_variables(auth: Auth) -> None:
    with pytest.raises(AuthError, match=r"^no API key: pass api_key=, or set EXAMPLE_KEY or OTHER_KEY$"):
        signed(auth)


def test_a_missing_key_where_there_is_no_variable() -> None:
    with pytest.raises(AuthError, match=r"^no API key: pass api_key= \(this provider has no variable for it\)$"):
        signed(bearer())


@pytest.mark.parametrize("auth", [bearer("EXAMPLE_KEY", optional=True), query("key", "EXAMPLE_KEY", optional=True)])
def test_a_key_that_is_optional_may_be_missing(auth: Auth) -> None:
    assert signed(auth) == (REQUEST, [])
    assert set(signed(auth, Secret(KEY))[1]) == {KEY}


@pytest.mark.parametrize("value", ["", " ", f"{KEY}\n{KEY}", f"{KEY}é"])
def test_hard_case_116_a_bad_key_is_refused_before_any_request_and_not_repeated(value: str) -> None:
    for auth in (bearer("EXAMPLE_KEY"), bearer("EXAMPLE_KEY", optional=True), query("key")):
        with pytest.raises(AuthError) as caught:
            signed(auth, Secret(value, "api_key"))
        assert "api_key" in str(caught.value)
        assert KEY not in str(caught.value) + repr(caught.value)


def test_a_function_gives_the_key_at_every_call() -> None:
    keys = iter(["first-key", " second-key\n"])
    secret = Secret(lambda: next(keys))
    assert [signed(bearer(), secret)[1], signed(bearer(), secret)[1]] == [["first-key"], ["second-key"]]


def test_a_function_that_gives_something_else_is_an_error() -> None:
    with pytest.raises(AuthError, match="api_key gave int, not the key's text"):
        signed(bearer(), Secret(lambda: 7))  # type: ignore[arg-type,return-value]


def test_a_function_of_one_s_own_signs_the_final_request() -> None:
    def sign(request: HttpRequest) -> HttpRequest:
        assert request is REQUEST
        return request.with_header("x-signature", "sig-0123456789")

    request, used = signed(custom(sign), Secret(KEY))
    assert request.headers[-1] == ("x-signature", "sig-0123456789")
    assert set(used) == {"sig-0123456789"}  # what it added is taken for a secret


def test_what_a_function_of_one_s_own_added_comes_back_in_no_text() -> None:
    def sign(request: HttpRequest) -> HttpRequest:
        there = HttpRequest(method="POST", url=f"{request.url}&sig=tok%2B9876543210", headers=request.headers)
        return there.with_header("authorization", f"Bearer {KEY}")

    _, used = signed(custom(sign))
    text = f"Illegal header value b'Bearer {KEY}', {KEY}, https://h/v1?a=1&sig=tok%2B9876543210, tok+9876543210"
    shown = redact(text, used)
    assert KEY not in shown
    assert "9876543210" not in shown
    assert "application/json" not in used


def test_a_function_of_one_s_own_that_returns_no_request_is_an_error() -> None:
    with pytest.raises(ConfigError, match="returns the HttpRequest to send, not NoneType"):
        signed(custom(lambda _: None))  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    ("auth", "shown"),
    [
        (bearer("EXAMPLE_KEY"), "Bearer $EXAMPLE_KEY"),
        (bearer(), "Bearer $API_KEY"),
        (header("x-api-key", "EXAMPLE_KEY"), "$EXAMPLE_KEY"),
        (query("key", "EXAMPLE_KEY"), "https://h/v1?a=1&key=$EXAMPLE_KEY"),
        (custom(lambda request: request), "<auth function>"),
    ],
)
def test_a_request_is_shown_with_the_name_where_the_key_goes(
    auth: Auth, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAMPLE_KEY", KEY)
    request = auth.shown(REQUEST)
    assert shown in (request.url, request.headers[-1][1])
    assert KEY not in str(request.headers) + request.url


def test_no_key_is_shown_where_none_goes() -> None:
    assert none().shown(REQUEST) is REQUEST
    bare = HttpRequest(method="GET", url="https://h/m", headers=())
    assert query("key").shown(bare).url == "https://h/m?key=$API_KEY"
