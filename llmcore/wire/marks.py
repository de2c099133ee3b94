"""Cache hints: which of a request's hints become marks on a wire that takes only so many."""

from collections.abc import Iterable
from typing import Final

from llmcore.schema.base import CacheHint
from llmcore.schema.parts import Part, ResultPart, ToolResult
from llmcore.schema.request import Request
from llmcore.wire.lowering import Losses


class Marks:
    """Gives out the marks of one request, in its order. Where there are more hints than marks the last ones win: they
    end the longest prefixes."""

    __slots__ = ("_limit", "_lost", "_off", "_skip", "auto")

    def __init__(self, request: Request, limit: int) -> None:
        options = request.cache
        self._limit: Final = limit
        self._off: Final = options is not None and options.mode == "off"
        hinted = sum(1 for part in _parts(request) if part.cache is not None)
        self._skip = max(hinted - limit, 0)
        self._lost = 0
        asked = options is not None and not self._off and limit > 0 and hinted == 0
        self.auto: CacheHint | None = (options.ttl or "5m") if asked and options is not None else None
        """How long what the protocol marks by itself should live; `None` where it places no marks of its own."""

    def take(self, hint: CacheHint | None, *, carries: bool = True) -> CacheHint | None:
        """The hint of one part, `None` where it gets no mark. `carries` says whether the wire can mark this part."""
        if hint is None:
            return None
        if self._skip or self._off or not self._limit or not carries:
            self._skip = max(self._skip - 1, 0)
            self._lost += 1
            return None
        return hint

    def report(self, losses: Losses) -> None:
        """One warning for all hints that were left out."""
        if self._lost:
            rule = "cache.mode is off" if self._off else f"at most {self._limit} marks are taken, on text and media"
            losses.knob("cache", f"{self._lost} cache hints left out: {rule if self._limit else 'none are taken here'}")


def _parts(request: Request) -> Iterable[Part | ResultPart]:
    yield from request.system_parts
    for message in request.messages:
        for part in message.content:
            yield part
            if isinstance(part, ToolResult):
                yield from part.content
