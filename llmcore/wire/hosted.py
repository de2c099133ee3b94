"""Tools that the service ran itself, told of after the fact: first with their arguments, then with what came out."""

from typing import Final

from llmcore.events import Event, ToolCallDelta, ToolCallEnd, ToolCallStart, ToolResultEvent
from llmcore.protocol import Mint
from llmcore.schema.base import JSONObject
from llmcore.schema.parts import Origin, Text, ToolResult
from llmcore.wire.arguments import settle
from llmcore.wire.values import at, text

OUTPUTS: Final = ("output", "search_results", "code_results", "browser_results")
"""Fields of `executed_tools` that say that a tool has run."""


class HostedCalls:
    """The hosted calls of one response, by their number. Each gives one call, and one result once it has run; what the
    service says of it stays whole in the result's `provider_metadata`."""

    __slots__ = ("_answered", "_ids", "_mint", "_origin")

    def __init__(self, mint: Mint, origin: Origin) -> None:
        self._mint: Final = mint
        self._origin: Final = origin
        self._ids: dict[int, str] = {}
        self._answered: set[int] = set()

    def take(self, position: int, tool: JSONObject, out: list[Event]) -> None:
        """Takes what one item of `executed_tools` says; `position` is its number where it has none of its own."""
        number = tool.get("index")
        index = number if isinstance(number, int) else position
        name = text(tool.get("type")) or "tool"
        call = self._ids.get(index)
        if call is None:
            call = self._ids[index] = self._mint()
            arguments, error = settle(text(tool.get("arguments")) or "")
            out.append(ToolCallStart(id=call, name=name, provider_executed=True))
            out.append(ToolCallDelta(id=call, text=arguments))
            out.append(ToolCallEnd(id=call, arguments=arguments, error=error, origin=self._origin))
        if index in self._answered or not any(text(tool.get(key)) or at(tool.get(key), "results") for key in OUTPUTS):
            return
        self._answered.add(index)
        output = text(tool.get("output"))
        result = ToolResult(
            tool_call_id=call,
            name=name,
            content=() if output is None else (Text(text=output),),
            provider_executed=True,
            provider_metadata={"executed_tool": tool},
            origin=self._origin,
        )
        out.append(ToolResultEvent(id=call, name=name, result=result, provider_executed=True))
