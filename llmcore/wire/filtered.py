"""An answer that a content filter has stopped, where a service sends it as an error."""

from collections.abc import Iterable
from typing import Final

import msgspec

from llmcore.errors import LLMError
from llmcore.events import Event
from llmcore.fold import Fold
from llmcore.media import MediaSink
from llmcore.protocol import Headers
from llmcore.schema.base import excerpt
from llmcore.schema.parts import ToolCall
from llmcore.wire.decode import excerpt_of
from llmcore.wire.errors import from_reply
from llmcore.wire.values import at, mapping

MAX_NAMED: Final = 10
"""Categories that the sentence of the error names."""


def from_filtered(
    status: int, headers: Headers, body: bytes, events: Iterable[Event], sink: MediaSink, *, provider: str, model: str
) -> LLMError:
    """The error of a reply whose body is an answer, read into `events`, that a filter has stopped.

    `partial` is the answer without its calls, its `provider_metadata` with the verdict of each category
    (`content_filter_results`); the message names the categories that stopped it, `body_excerpt` shows the body.
    """
    fold = Fold(sink)
    fold.add(events)
    answer, details = fold.message("error"), fold.response().stop_details or {}
    categories = mapping(details.get("content_filter_results"))
    named = [excerpt(name) for name, verdict in categories.items() if at(verdict, "filtered") is True]
    why = f": {', '.join(named[:MAX_NAMED])}" if named else ""
    words = {"code": "content_filter", "message": f"the answer was stopped by a content filter{why}"}
    error = from_reply(status, headers, msgspec.json.encode({"error": words}), provider=provider, model=model)
    error.body_excerpt = excerpt_of(body)
    assert answer.metadata is not None
    noted = {**(answer.metadata.provider_metadata or {}), **details}
    metadata = msgspec.structs.replace(answer.metadata, provider_metadata=noted or None)
    said = tuple([part for part in answer.content if not isinstance(part, ToolCall)])
    return error.with_fields(partial=msgspec.structs.replace(answer, content=said, metadata=metadata))
