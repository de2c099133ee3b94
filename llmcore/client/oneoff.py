"""One-off calls, as in httpx: a client for the call, closed after it. For more than one call keep a `Client`."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Unpack

from llmcore.client.prompt import Prompt
from llmcore.client.settings import CallFields
from llmcore.client.settings import resolve as _resolve
from llmcore.client.sync import Client, Stream
from llmcore.route import Model
from llmcore.schema.response import Response
from llmcore.secret import KeySource


def model(name: str, *, api_key: KeySource | None = None, base_url: str | None = None) -> Model[Any]:
    """The model `provider[/api]:model`, with a key and a place of one's own where they are given."""
    return _resolve(name, api_key=api_key, base_url=base_url)


def generate(model: str | Model[Any], prompt: Prompt, **fields: Unpack[CallFields]) -> Response:
    """The model's whole answer; see `Client.generate`."""
    with Client() as client:
        return client.generate(model, prompt, **fields)


@contextmanager
def stream(model: str | Model[Any], prompt: Prompt, **fields: Unpack[CallFields]) -> Generator[Stream, None, None]:
    """The model's answer as it comes; see `Client.stream`."""
    with Client() as client, client.stream(model, prompt, **fields) as streamed:
        yield streamed
