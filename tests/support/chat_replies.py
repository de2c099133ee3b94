"""Replies of a service of OpenAI's Chat, written short: frames of a stream, whole bodies and refusals."""

import json
from typing import Any

from llmcore.cassette import Action, Reply

SERVED = "gpt-5-mini-2025-08-07"
USAGE = {"prompt_tokens": 12, "completion_tokens": 9, "total_tokens": 21}


def frame(*, finish: str | None = None, usage: dict[str, int] | None = None, **delta: Any) -> str:
    """The data of one frame: `delta`'s fields, or a usage."""
    choices = [] if usage is not None and not delta else [{"index": 0, "delta": delta, "finish_reason": finish}]
    envelope = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1760000000, "model": SERVED}
    return json.dumps({**envelope, "choices": choices, **({} if usage is None else {"usage": usage})})


def says(*texts: str) -> tuple[str, ...]:
    """Frames that carry the texts."""
    return tuple(frame(content=text) for text in texts)


def thinks(*texts: str) -> tuple[str, ...]:
    """Frames that carry reasoning."""
    return tuple(frame(reasoning_content=text) for text in texts)


def ends(finish: str = "stop", usage: dict[str, int] | None = USAGE) -> tuple[str, ...]:
    """The frames that end a stream."""
    return (frame(finish=finish), *((frame(usage=usage),) if usage is not None else ()), "[DONE]")


def stream(*steps: str | bytes | Action, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    """A stream of frames and actions."""
    return Reply.sse(*steps, headers=headers)


def answer(*texts: str, finish: str = "stop") -> Reply:
    """A stream that says the texts and ends."""
    return stream(*says(*texts), *ends(finish))


def whole(text: str | None, *, finish: str = "stop", **message: Any) -> Reply:
    """A whole body."""
    choices = [{"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}]
    return Reply.json(
        {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": SERVED, "choices": choices}
        | {"usage": USAGE}
    )


def refusal(status: int, message: str, *, code: str | None = None, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    """An HTTP error in OpenAI's form."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return Reply.json({"error": error}, status=status, headers=headers)
