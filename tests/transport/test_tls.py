"""Certificates: a company's own authority is refused with the remedy, and taken where the environment names it."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import tiny
from loopback import Way, call

from llmcore.cassette import ReplayServer
from llmcore.errors import ConfigError, TransportError
from llmcore.transport.http import ssl_context


@pytest.fixture(autouse=True)
def context_made_anew() -> Iterator[None]:
    ssl_context.cache_clear()
    yield
    ssl_context.cache_clear()


@pytest.fixture
def server(server_tls: ssl.SSLContext) -> Iterator[ReplayServer]:
    with ReplayServer([tiny.whole()], tls=server_tls) as server:
        yield server


def test_a_private_authority_is_refused_with_the_remedy(way: Way, server: ReplayServer) -> None:
    error = call(way, tiny.model(server.url), whole=True).failure
    assert type(error) is TransportError
    assert (error.request_sent, error.retryable, error.status) == ("no", False, None)
    assert "SSL_CERT_FILE" in error.message
    assert isinstance(error.__cause__, ssl.SSLCertVerificationError)
    assert server.requests == ()


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_the_environment_names_the_authority(
    way: Way, server: ReplayServer, monkeypatch: pytest.MonkeyPatch, authority_file: Path, variable: str
) -> None:
    monkeypatch.setenv(variable, str(authority_file))
    assert call(way, tiny.model(server.url), whole=True).error is None
    assert server.requests[0].json() == {"model": "t1", "prompt": "Hi"}  # none of it is in the body


def test_a_folder_of_authorities(
    server: ReplayServer, monkeypatch: pytest.MonkeyPatch, authority_file: Path, tmp_path: Path
) -> None:
    """OpenSSL finds a certificate in a folder by the hash of its name; an empty folder has none."""
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    assert isinstance(call("sync", tiny.model(server.url), whole=True).error, TransportError)


@pytest.mark.parametrize("content", [None, b"no certificate"])
@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_a_file_that_is_none_names_its_variable(
    way: Way, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None, variable: str
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv(variable, str(path))
    error = call(way, tiny.model("https://127.0.0.1:1"), whole=True).failure
    assert isinstance(error, ConfigError)
    assert variable in error.message


def test_a_client_with_a_context_of_its_own(server: ReplayServer, authority_file: Path) -> None:
    context = ssl.create_default_context(cafile=str(authority_file))
    with httpx.Client(verify=context, trust_env=False) as http:
        assert call("sync", tiny.model(server.url), whole=True, http=http).error is None


def test_a_certificate_for_another_host(
    way: Way, server: ReplayServer, monkeypatch: pytest.MonkeyPatch, authority_file: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority_file))
    error = call(way, tiny.model(server.url.replace("127.0.0.1", "localhost")), whole=True).failure
    assert type(error) is TransportError
    assert "not trusted" in error.message


def test_one_context_for_all() -> None:
    assert ssl_context() is ssl_context()
