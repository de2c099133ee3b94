"""What the project's own tests share: the checkout, and programs run on loopback as if it were the internet."""

import os
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest
import trustme

from llmcore.cassette.script import Received, Reply
from llmcore.cassette.server import ReplayServer

ROOT = Path(__file__).resolve().parents[2]
HOSTS = ("api.openai.com", "api.groq.com", "openrouter.ai", "llm.example.com")


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder that holds `tests/`: the checkout, or where the suite was copied to."""
    return ROOT


@pytest.fixture(scope="session")
def checkout(root: Path) -> Path:
    """The checkout; skips where the suite runs without the sources beside it."""
    if not (root / "protocols").is_dir():
        pytest.skip("the sources are not beside the tests")
    return root


@pytest.fixture(scope="session")
def tracked(checkout: Path) -> list[str]:
    """The files of the checkout that git has or would take, relative; skips outside a git repository."""
    if not (checkout / ".git").exists():
        pytest.skip("not a git repository")
    command = ["git", "-C", str(checkout), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    return sorted(name for name in set(listing.split("\0")) if name and (checkout / name).is_file())


class Ran(NamedTuple):
    """How a program ended."""

    status: int
    out: str
    err: str


def run(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> Ran:
    """Runs this Python with `arguments`, in an environment of nothing but what is needed and `env`."""
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "SYSTEMROOT", "TMPDIR") if name in os.environ}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**keep, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=300,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def python() -> Callable[..., Ran]:
    """`python(*arguments, cwd=, env=) -> Ran`."""
    return run


@pytest.fixture(scope="session")
def importable() -> dict[str, str]:
    """The environment in which a program elsewhere imports the llmcore that is tested, installed or not."""
    import llmcore

    return {"PYTHONPATH": str(Path(llmcore.__path__[0]).parent)}


class _Tunnel(socketserver.ThreadingTCPServer):
    """A proxy whose `CONNECT` leads to one address, whatever host it names. `hosts` are those that it named."""

    daemon_threads = True

    def __init__(self, target: tuple[str, int]) -> None:
        super().__init__(("127.0.0.1", 0), _Connect)
        self.target = target
        self.hosts: list[str] = []


class _Connect(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Tunnel)
        request_line = self.rfile.readline().decode()
        while self.rfile.readline().strip():
            pass
        self.server.hosts.append(request_line.split()[1])
        with socket.create_connection(self.server.target) as far:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_pump, args=(far, self.connection))
            back.start()
            _pump(self.connection, far)
            back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):  # either end may go away at any time
        while data := source.recv(65536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


class Internet(NamedTuple):
    """A loopback stand-in for the providers: what it answered from, and what a program needs to reach it."""

    server: ReplayServer
    hosts: list[str]
    env: dict[str, str]


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    """A TLS context for the providers' names, and the file of the authority that vouches for it."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*HOSTS).configure_cert(context)
    pem = tmp_path_factory.mktemp("tls") / "ca.pem"
    authority.cert_pem.write_to_path(str(pem))
    return context, pem


@pytest.fixture
def internet(certificates: tuple[ssl.SSLContext, Path]) -> Callable[..., object]:
    """`with internet([reply, …]) as net`: a program with the environment `net.env` finds providers on loopback."""
    context, pem = certificates

    @contextmanager
    def serve(replies: list[Reply | Callable[[Received], Reply]]) -> Iterator[Internet]:
        with ReplayServer(replies, tls=context) as server:
            host, _, port = server.url.removeprefix("https://").partition(":")
            with _Tunnel((host, int(port))) as tunnel:
                thread = threading.Thread(target=tunnel.serve_forever, kwargs={"poll_interval": 0.01})
                thread.start()
                proxy = f"http://127.0.0.1:{tunnel.server_address[1]}"
                try:
                    yield Internet(server, tunnel.hosts, {"HTTPS_PROXY": proxy, "SSL_CERT_FILE": str(pem)})
                finally:
                    server.close()
                    tunnel.shutdown()
                    thread.join()

    return serve
