"""The names of `llmcore` itself: all there, none loaded before its use; and the calls that need no client."""

import importlib
import inspect
import subprocess
import sys
import typing

import pytest
import tiny
from loopback import Serve

import llmcore
from llmcore.cassette import Hold
from llmcore.client import Client
from llmcore.errors import ConfigError


@pytest.mark.parametrize("name", llmcore.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(llmcore, name) is getattr(importlib.import_module("llmcore"), name)
    assert name in dir(llmcore)


def test_every_name_is_known_to_type_checkers_too() -> None:
    """The lazy table and the imports under TYPE_CHECKING name the same."""
    source = inspect.getsource(llmcore)
    block = source[source.index("if TYPE_CHECKING:") : source.index("__all__")]
    for name in llmcore.__all__:
        if name != "__version__":
            assert name in block.replace(",", " ").split(), name


def test_a_name_that_is_none() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = llmcore.nothing  # type: ignore[attr-defined]


def test_star_import_gives_all() -> None:
    space: dict[str, object] = {}
    exec("from llmcore import *", space)
    assert set(llmcore.__all__) <= space.keys()


@pytest.mark.parametrize(
    ("code", "unloaded"),
    [
        ("import llmcore", ["httpx", "anyio", "msgspec", "llmcore.client", "llmcore.errors"]),
        ("import llmcore; llmcore.Client()", ["httpx", "anyio", "httpcore", "jsonschema", "llmcore.transport.http"]),
        ("import llmcore; llmcore.AsyncClient()", ["httpx", "httpcore", "aiohttp", "jsonschema"]),
    ],
)
def test_nothing_is_loaded_before_its_use(code: str, unloaded: list[str]) -> None:
    script = f"{code}; import sys; print([name for name in {unloaded!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_generate_and_stream_without_a_client(serve: Serve) -> None:
    server = serve(tiny.whole(), tiny.hello(), tiny.stream(*tiny.words("a"), Hold()))
    model = tiny.model(server.url)
    assert llmcore.generate(model, "Hi", max_tokens=3).text == "Hello"
    with llmcore.stream(model, "Hi") as stream:
        assert "".join(stream.text_deltas()) == "Hello"
    assert stream.response.text == "Hello"
    with llmcore.stream(model, "Hi") as stream:
        next(iter(stream))
    assert server.wait_closed()  # each call closed what it opened
    assert server.requests[0].json() == {"model": "t1", "prompt": "Hi", "max_tokens": 3}


def test_one_offs_take_what_a_client_takes() -> None:
    assert typing.get_type_hints(llmcore.generate) == typing.get_type_hints(Client.generate)
    for name in ("generate", "stream"):
        ours = list(inspect.signature(getattr(llmcore, name)).parameters.values())
        theirs = list(inspect.signature(getattr(Client, name)).parameters.values())[1:]
        assert ours == theirs
    ours = list(inspect.signature(llmcore.model).parameters.values())
    assert ours == list(inspect.signature(Client.model).parameters.values())[1:]


def test_model_by_name() -> None:
    model = llmcore.model("openai/chat:gpt-5-mini", api_key="k-canary-123", base_url="http://127.0.0.1:1/v1")
    assert model.id == "openai/chat:gpt-5-mini"
    assert model.base_url == "http://127.0.0.1:1/v1"
    assert "canary" not in repr(model)
    with pytest.raises(ConfigError, match="openai"):
        llmcore.model("opnai:x")
