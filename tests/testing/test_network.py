"""The switch that keeps calls on this machine: every client, every thread, before any I/O."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import anyio
import httpx
import pytest

import llmcore
from llmcore import AsyncClient, Client, ConfigError, Secret, TransportError
from llmcore.auth import none
from llmcore.framing import SSE
from llmcore.protocols.openai_chat import OPENAI_CHAT
from llmcore.route import Model, Route, post
from llmcore.testing import ScriptedModel, forbid_network
from llmcore.transport import guard


def at(base_url: str) -> Model:
    route = Route(
        id="test/chat",
        protocol=OPENAI_CHAT,
        base_url=base_url,
        endpoint=post("/chat/completions"),
        auth=none(),
        framing=SSE,
    )
    return route.model("m")


AWAY = at("https://llm.example.com/v1")


def mocked(request: httpx.Request) -> httpx.Response:
    raise AssertionError(f"a request went out to {request.url}")


def generate(model: Model) -> None:
    llmcore.generate(model, "Hi")


def stream(model: Model) -> None:
    with Client() as client, client.stream(model, "Hi"):
        raise AssertionError("the stream was opened")


def own_http(model: Model) -> None:
    with httpx.Client(transport=httpx.MockTransport(mocked)) as http, Client(http=http) as client:
        client.generate(model, "Hi")


async def _generate(model: Model) -> None:
    async with AsyncClient() as client:
        await client.generate(model, "Hi")


async def _own_http(model: Model) -> None:
    async with httpx.AsyncClient(transport=httpx.MockTransport(mocked)) as http, AsyncClient(http=http) as client:
        await client.generate(model, "Hi")


def in_a_thread(model: Model) -> None:
    caught = list[BaseException]()

    def call() -> None:
        try:
            generate(model)
        except ConfigError as problem:
            caught.append(problem)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    raise caught[0]


WAYS: dict[str, Callable[[Model], None]] = {
    "generate": generate,
    "stream": stream,
    "http= of one's own": own_http,
    "another thread": in_a_thread,
    "asyncio": lambda model: anyio.run(_generate, model, backend="asyncio"),
    "trio": lambda model: anyio.run(_generate, model, backend="trio"),
    "asyncio, http= of one's own": lambda model: anyio.run(_own_http, model, backend="asyncio"),
}
ways = pytest.mark.parametrize("call", WAYS.values(), ids=WAYS)


@pytest.fixture(autouse=True)
def open_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch as it is without one, whatever the run of these tests has thrown."""
    monkeypatch.delenv(guard.VARIABLE, raising=False)
    monkeypatch.setattr(guard, "_active", {})


@pytest.fixture
def no_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    """No name may be looked up: the refusal comes before any I/O."""

    def looked_up(*address: object, **_: object) -> object:
        raise AssertionError(f"{address[0]} was looked up")

    monkeypatch.setattr("socket.getaddrinfo", looked_up)


@ways
def test_a_call_that_would_leave_this_machine_is_refused(call: Callable[[Model], None], no_lookup: None) -> None:
    with forbid_network(), pytest.raises(ConfigError, match=r"this one goes to 'llm\.example\.com'") as caught:
        call(AWAY)
    assert caught.value.request_sent == "no"
    assert caught.value.provider == "test"


@ways
def test_the_environment_refuses_for_the_whole_process(
    call: Callable[[Model], None], no_lookup: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMCORE_FORBID_NETWORK", "1")
    with pytest.raises(ConfigError, match="LLMCORE_FORBID_NETWORK=1 forbids network calls"):
        call(AWAY)


def test_a_named_provider_is_refused(no_lookup: None) -> None:
    model = llmcore.model("openai/chat:gpt-5-mini", api_key="any")
    with forbid_network(), pytest.raises(ConfigError, match=r"api\.openai\.com"):
        generate(model)


def test_no_key_is_in_what_is_said() -> None:
    model = AWAY.route.model("m", api_key=Secret("canary-key-0123456789"), base_url="https://x.example.com/?k=canary")
    with forbid_network(), pytest.raises(ConfigError) as caught:
        generate(model)
    assert "canary" not in str(caught.value)


def test_calls_on_this_machine_pass() -> None:
    with forbid_network(), ScriptedModel(["Hello"]) as scripted:
        assert llmcore.generate(scripted.model(), "Hi").text == "Hello"


def test_allowed_hosts_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    with forbid_network(allow=("LLM.example.com.", "other.example.com")):
        guard.check("https://llm.example.com:8443/v1")
        with pytest.raises(ConfigError):
            guard.check("https://not.llm.example.com/v1")
        with forbid_network(allow=("other.example.com",)):
            guard.check("https://other.example.com/v1")
            with pytest.raises(ConfigError):
                guard.check("https://llm.example.com/v1")
        guard.check("https://llm.example.com/v1")
        monkeypatch.setenv(guard.VARIABLE, "1")
        with pytest.raises(ConfigError):
            guard.check("https://llm.example.com/v1")


def test_an_allowed_call_goes_out() -> None:
    with forbid_network(allow=("llm.example.com",)), pytest.raises(AssertionError, match="a request went out"):
        own_http(AWAY)


def test_blocks_that_overlap_end_one_by_one() -> None:
    first, second = forbid_network(), forbid_network()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    with pytest.raises(ConfigError):
        guard.check(AWAY.base_url)
    second.__exit__(None, None, None)
    guard.check(AWAY.base_url)


def test_the_switch_is_back_after_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), forbid_network():
        raise ZeroDivisionError
    guard.check(AWAY.base_url)


def test_preparing_and_checking_need_no_leave() -> None:
    with forbid_network(), Client() as client:
        assert client.check(AWAY, "Hi").ok
        assert client.prepare(AWAY, "Hi").url == "https://llm.example.com/v1/chat/completions"


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("localhost", True),
        ("api.localhost", True),
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("", False),
        ("localhost.example.com", False),
        ("127.0.0.1.example.com", False),
        ("10.0.0.1", False),
        ("0.0.0.0", False),
        ("::", False),
        ("::ffff:10.0.0.1", False),
        ("2130706433", False),
    ],
)
def test_what_this_machine_is(host: str, here: bool) -> None:
    assert guard.is_loopback(host) is here
    with forbid_network():
        url = f"http://[{host}]:8000/v1" if ":" in host else f"http://{host}:8000/v1"
        if here:
            guard.check(url)
        else:
            with pytest.raises(ConfigError):
                guard.check(url)


@pytest.mark.parametrize("host", ["", "https://llm.example.com", "llm.example.com:443", "*.example.com", "a b"])
def test_allow_takes_hosts(host: str) -> None:
    with pytest.raises(ConfigError, match="allow= names hosts"), forbid_network(allow=(host,)):
        raise AssertionError("entered")


@pytest.mark.parametrize("host", ["::1", "[2001:db8::1]", "llm.example.com"])
def test_allow_takes_addresses(host: str) -> None:
    with forbid_network(allow=(host,)):
        bare = host.strip("[]")
        guard.check(f"https://[{bare}]/v1" if ":" in bare else f"https://{bare}/v1")


@pytest.mark.parametrize(("value", "refused"), [("", False), ("0", False), ("1", True)])
def test_values_of_the_variable(value: str, refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(guard.VARIABLE, value)
    if not refused:
        guard.check(AWAY.base_url)
        return
    with pytest.raises(ConfigError):
        guard.check(AWAY.base_url)


def test_another_value_is_no_silent_yes_or_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(guard.VARIABLE, "yes")
    with pytest.raises(ConfigError, match=r"is 1 .* or 0, not 'yes'"):
        guard.check("http://localhost/")


# -- the plugin

PLUGGED = """
import pytest
import llmcore
from llmcore.transport import guard

def test_forbidden():
    with pytest.raises(llmcore.ConfigError):
        guard.check("https://llm.example.com/v1")

@pytest.mark.llm_network
def test_marked():
    guard.check("https://llm.example.com/v1")

@pytest.mark.llm_network("llm.example.com")
def test_marked_for_a_host():
    guard.check("https://llm.example.com/v1")
    with pytest.raises(llmcore.ConfigError):
        guard.check("https://other.example.com/v1")
"""


def test_the_plugin_switches_a_run(tmp_path: Path) -> None:
    (tmp_path / "test_plugged.py").write_text(PLUGGED, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(llmcore.__path__[0]).parent), "PYTHONDONTWRITEBYTECODE": "1"}
    options = ["-p", "llmcore.testing.plugin", "-p", "no:cacheprovider", "--strict-markers", "-W", "error", "-q"]
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_without_the_switch_a_call_goes_out() -> None:
    """The counterpart: nothing listens there, and the call finds out by itself."""
    with pytest.raises(TransportError):
        generate(at("http://127.0.0.1:9/v1"))
