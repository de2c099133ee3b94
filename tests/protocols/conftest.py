"""What the tests of protocols share: a model on a route of its own, and reading without any I/O."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from llmcore.auth import none
from llmcore.capabilities import Capabilities
from llmcore.errors import LLMError
from llmcore.events import Event
from llmcore.fold import Fold
from llmcore.framing import SSE
from llmcore.ids import counter
from llmcore.lifecycle import Lifecycle
from llmcore.media import MediaSink
from llmcore.protocol import Frame, Lowered
from llmcore.protocols.openai_chat import OPENAI_CHAT, ChatBody, Quirks
from llmcore.route import Model, Route, post
from llmcore.schema.request import Request
from llmcore.schema.response import Response

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))  # what properties share
pytest.register_assert_rewrite("readings")


class Read:
    """What came out of a reading: the events, the error that ended it, and the response where there is one."""

    def __init__(self, events: list[Event], error: LLMError | None, sink: MediaSink) -> None:
        self.events = events
        self.error = error
        fold = Fold(sink)
        Lifecycle().check(events)
        fold.add(events)
        self.message = fold.message("complete" if error is None else "error")
        self._fold = fold

    @property
    def response(self) -> Response:
        if self.error is not None:
            raise self.error
        return self._fold.response()

    @property
    def kinds(self) -> list[str]:
        return [event.type for event in self.events]


class Chat:
    """OpenAI Chat on a route of its own."""

    def model(self, provider: str = "test", capabilities: Capabilities | None = None, **quirks: Any) -> Model[ChatBody]:
        route = Route(
            id=f"{provider}/chat",
            protocol=OPENAI_CHAT,
            base_url="https://api.example.com/v1",
            endpoint=post("/chat/completions"),
            auth=none(),
            framing=SSE,
            quirks=Quirks(**quirks),
            capabilities=capabilities or Capabilities(),
        )
        return route.model("m")

    def lowered(
        self, request: Request, model: Model[ChatBody] | None = None, *, stream: bool = False
    ) -> Lowered[ChatBody]:
        return OPENAI_CHAT.lower(request, model or self.model(), stream)

    def body(self, request: Request, model: Model[ChatBody] | None = None, *, stream: bool = False) -> Any:
        """The body as the wire has it."""
        return msgspec.json.decode(msgspec.json.encode(self.lowered(request, model, stream=stream).body))

    def frames(self, frames: Sequence[object], model: Model[ChatBody] | None = None, *, end: bool = True) -> Read:
        """Reads frames: dicts as JSON, texts and bytes as they are, `Frame`s as they are; then the end of the bytes."""
        sink, events, error = MediaSink(), list[Event](), None
        state = OPENAI_CHAT.start(model or self.model(), counter(), sink)
        try:
            for frame in frames:
                OPENAI_CHAT.step(state, self.frame(frame), events)
            if end:
                OPENAI_CHAT.finish(state, events)
        except LLMError as problem:
            error = problem
        return Read(events, error, sink)

    @staticmethod
    def frame(value: object) -> Frame:
        match value:
            case Frame():
                return value
            case bytes():
                return Frame(data=value)
            case str():
                return Frame(data=value.encode())
            case _:
                return Frame(data=json.dumps(value).encode())

    def deltas(self, *deltas: object, finish: str | None = "stop", model: Model[ChatBody] | None = None) -> Read:
        """Reads a stream of these deltas of the first choice, a finish reason and `[DONE]`."""
        frames: list[object] = [self.chunk(delta) for delta in deltas]
        frames.append(self.chunk({}, finish))
        return self.frames([*frames, "[DONE]"], model)

    @staticmethod
    def chunk(delta: object, finish: str | None = None, **more: object) -> dict[str, object]:
        return {"id": "x", "model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}

    def whole(self, body: object, model: Model[ChatBody] | None = None) -> Read:
        sink, events, error = MediaSink(), list[Event](), None
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            OPENAI_CHAT.parse(data, model or self.model(), counter(), sink, events)
        except LLMError as problem:
            error = problem
        return Read(events, error, sink)

    def message(self, message: object, finish: str | None = "stop", **more: object) -> Read:
        """Reads a whole body with this message."""
        return self.whole(self.completion(message, finish, **more))

    @staticmethod
    def completion(message: object, finish: str | None = "stop", **more: object) -> dict[str, object]:
        return {
            "id": "x",
            "model": "m-1",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            **more,
        }


@pytest.fixture
def chat() -> Chat:
    return Chat()


@pytest.fixture
def refused() -> Callable[[Callable[[], object]], LLMError]:
    """Gives the error that a function raises."""

    def caught(function: Callable[[], object]) -> LLMError:
        with pytest.raises(LLMError) as info:
            function()
        return info.value

    return caught
