"""Proxies from the environment: read by us, so that no value of a variable breaks a call with somebody else's error."""

import importlib.util
import logging

import pytest
import tiny
from loopback import Serve, Way, call

from llmcore.client import Client
from llmcore.errors import ConfigError
from llmcore.transport.proxies import LOOPBACK, Named, from_environment

PROXY = "http://proxy.example.com:3128"


@pytest.mark.parametrize(
    ("environ", "by_scheme"),
    [
        ({}, {}),
        ({"HTTPS_PROXY": PROXY}, {"https": Named("HTTPS_PROXY", PROXY)}),
        ({"https_proxy": PROXY, "HTTPS_PROXY": "http://other"}, {"https": Named("https_proxy", PROXY)}),
        ({"ALL_PROXY": "proxy.example.com:3128"}, {"all": Named("ALL_PROXY", PROXY)}),
        ({"HTTP_PROXY": "  "}, {}),
        # httpoxy: a CGI program's HTTP_PROXY is a header of the request
        ({"HTTP_PROXY": PROXY, "REQUEST_METHOD": "GET"}, {}),
        ({"http_proxy": PROXY, "REQUEST_METHOD": "GET"}, {"http": Named("http_proxy", PROXY)}),
        ({"ALL_PROXY": PROXY, "NO_PROXY": "*"}, {}),
    ],
)
def test_which_proxies(environ: dict[str, str], by_scheme: dict[str, Named]) -> None:
    assert from_environment(environ).by_scheme == by_scheme


@pytest.mark.parametrize(
    ("entry", "direct"),
    [
        ("localhost", ("all://*localhost",)),
        ("example.com", ("all://*example.com",)),
        (".example.com", ("all://*example.com",)),
        ("*.example.com", ("all://*example.com",)),
        ("example.com:8080", ("all://*example.com:8080",)),
        ("10.0.0.1", ("all://10.0.0.1",)),
        ("10.0.0.1:80", ("all://10.0.0.1:80",)),
        ("::1", ("all://[::1]",)),
        ("[::1]", ("all://[::1]",)),
        ("[::1]:8080", ("all://[::1]:8080",)),
        ("fe80::1", ("all://[fe80::1]",)),
        ("http://example.com", ("http://example.com",)),
        ("10.0.0.0/8", ()),
        ("fd00::/8", ()),
        (" , ,", ()),
        (".", ()),
        ("a.com, b.com ,a.com", ("all://*a.com", "all://*b.com")),
    ],
)
def test_which_hosts_need_none(entry: str, direct: tuple[str, ...]) -> None:
    assert from_environment({"ALL_PROXY": PROXY, "NO_PROXY": entry}).direct == (
        *LOOPBACK,
        *(each for each in direct if each not in LOOPBACK),
    )


NO_PROXY = [
    "localhost",
    "localhost,[::1]",
    "::1",
    "[::1]:8080",
    "10.0.0.0/8,fd00::/8",
    "*",
    "*.example.com,.corp",
    "example.com:notaport",
    "exa mple.com",
    "http://",
    "://",
    "\u2603.example.com",
    "a" * 300,
    "[",
    "]",
    "%zz",
    ",,,",
]


@pytest.mark.parametrize("no_proxy", NO_PROXY)
@pytest.mark.parametrize("all_proxy", ["", "http://127.0.0.1:1"])
def test_no_value_of_no_proxy_breaks_a_call(
    monkeypatch: pytest.MonkeyPatch, serve: Serve, no_proxy: str, all_proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", all_proxy)
    monkeypatch.setenv("NO_PROXY", no_proxy)
    server = serve(tiny.whole())
    with Client() as client:
        assert client.generate(tiny.model(server.url), "Hi").text == "Hello"


def test_an_entry_that_is_left_out_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="llmcore")
    from_environment({"ALL_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8"})
    assert "10.0.0.0/8" in caplog.text


BAD = {
    "ftp": ("ftp://proxy.example.com", "ALL_PROXY"),
    "no port": ("http://proxy.example.com:port", "HTTP_PROXY"),
    "port too high": ("http://proxy.example.com:99999999", "http_proxy"),
    "open bracket": ("http://[::1", "ALL_PROXY"),
    "control character": ("http://proxy\x01.example.com", "HTTP_PROXY"),
    "no host": ("http://", "HTTP_PROXY"),
    "password": ("http://user:canary-password@[oops", "ALL_PROXY"),
}


@pytest.mark.parametrize(("value", "variable"), list(BAD.values()), ids=list(BAD))
def test_a_proxy_that_is_none_names_its_variable(
    way: Way, monkeypatch: pytest.MonkeyPatch, serve: Serve, value: str, variable: str
) -> None:
    monkeypatch.setenv(variable, value)
    server = serve(tiny.whole())
    error = call(way, tiny.model(server.url), whole=True).failure
    assert isinstance(error, ConfigError)
    assert variable in error.message
    assert "canary-password" not in repr(error)


@pytest.mark.skipif(importlib.util.find_spec("socksio") is not None, reason="the package for SOCKS is here")
@pytest.mark.parametrize("value", ["socks5://127.0.0.1:1080", "socks5h://127.0.0.1:1080"])
def test_socks_without_its_package(way: Way, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("ALL_PROXY", value)
    error = call(way, tiny.model("http://api.example.invalid"), whole=True).failure
    assert isinstance(error, ConfigError)
    assert "ALL_PROXY" in error.message
    assert "socksio" in error.message


def test_a_proxy_is_used(way: Way, monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    server = serve(tiny.hello())
    monkeypatch.setenv("HTTP_PROXY", server.url.replace("http://", "http://user:word@"))
    assert call(way, tiny.model("http://api.example.invalid/v1")).text == "Hello"
    request = server.requests[0]
    assert request.path == "http://api.example.invalid/v1/chat"
    assert request.header("proxy-authorization") == "Basic dXNlcjp3b3Jk"


HOST = "api.example.invalid"
"""A name that does not exist: who asks for it without the proxy gets no answer."""


@pytest.mark.parametrize(
    ("no_proxy", "direct"),
    [
        ("", False),
        ("other.invalid", False),
        ("invalid", True),
        (".example.invalid", True),
        ("*.example.invalid", True),
        ("api.example.invalid", True),
        ("i.example.invalid", False),
        ("api.example.invalid:8080", False),
        ("*", True),
        ("10.0.0.0/8", False),
        ("http://api.example.invalid", True),
        ("https://api.example.invalid", False),
    ],
)
def test_which_calls_go_direct(monkeypatch: pytest.MonkeyPatch, serve: Serve, no_proxy: str, direct: bool) -> None:
    server = serve(tiny.whole())
    monkeypatch.setenv("ALL_PROXY", server.url)
    monkeypatch.setenv("NO_PROXY", no_proxy)
    outcome = call("sync", tiny.model(f"http://{HOST}/v1"), whole=True)
    assert [request.path for request in server.requests] == ([] if direct else [f"http://{HOST}/v1/chat"])
    assert (outcome.error is not None) is direct


def test_loopback_needs_none(way: Way, monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    server = serve(tiny.whole())
    assert call(way, tiny.model(server.url), whole=True).error is None


def test_a_proxy_that_does_not_answer(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    error = call(way, tiny.model("https://api.example.invalid"), whole=True).failure
    assert (error.kind, error.request_sent) == ("transport", "no")


def test_a_proxy_that_refuses_the_tunnel(way: Way, monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    from llmcore.cassette import Reply

    server = serve(Reply(status=407))
    monkeypatch.setenv("HTTPS_PROXY", server.url)
    error = call(way, tiny.model("https://api.example.invalid"), whole=True).failure
    assert (error.kind, error.request_sent) == ("transport", "no")
    assert server.requests[0].path == "api.example.invalid:443"
    assert server.requests[0].header("authorization") is None
