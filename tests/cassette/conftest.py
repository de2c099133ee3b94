"""A certificate for loopback, and raw bytes to a server: what the tests of the replay server share."""

import socket
import ssl
from collections.abc import Callable

import pytest
import trustme

Talk = Callable[[str, bytes], bytes]


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """A certificate authority of the test's own."""
    return trustme.CA()


@pytest.fixture(scope="session")
def server_tls(authority: trustme.CA) -> ssl.SSLContext:
    """The server's side of TLS on 127.0.0.1."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


@pytest.fixture(scope="session")
def client_tls(authority: trustme.CA) -> ssl.SSLContext:
    """The side of a client that trusts the authority."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


@pytest.fixture
def talk() -> Talk:
    """Sends bytes to a server's URL and gives all that comes back until the server closes."""

    def run(url: str, data: bytes) -> bytes:
        host, _, port = url.partition("//")[2].partition(":")
        with socket.create_connection((host, int(port)), timeout=10) as sock:
            sock.sendall(data)
            return b"".join(iter(lambda: sock.recv(65536), b""))

    return run
