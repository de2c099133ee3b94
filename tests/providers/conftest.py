"""What the tests of the declarations share: names for the URLs that need some, and bodies as JSON."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import llmcore
from llmcore import registry

Body = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No keys, and `my-<name>` for each variable of a URL."""
    for provider in registry.providers():
        for route in provider.routes().values():
            for variable in route.auth.env:
                monkeypatch.delenv(variable, raising=False)
            for name, variable in route.variables.items():
                monkeypatch.setenv(variable, f"my-{name}")


@pytest.fixture
def client() -> Iterator[llmcore.Client]:
    with llmcore.Client() as client:
        yield client


@pytest.fixture
def body(client: llmcore.Client) -> Body:
    """Gives the JSON body of a call to a named model, with the subjects of its warnings under `warned`."""

    def body(name: str, prompt: Any = "Hi", *, stream: bool = False, **fields: Any) -> dict[str, Any]:
        prepared = client.prepare(name, prompt, stream=stream, **fields)
        return json.loads(prepared.content) | {"warned": [warning.subject for warning in prepared.warnings]}

    return body
