"""llmcore as one of the peers of the benchmark, on httpx, or with `--variant aiohttp` as `AsyncClient(http="aiohttp")`.

Run by `bench/run.py`, with the folder of the peers' drivers on PYTHONPATH (`common`, `wire`).
"""

import functools
import json
import time
from typing import Any

import common

import llmcore
from llmcore.events import TextDelta, ToolCallDelta
from llmcore.schema import Message, Request, ToolCall, ToolDefinition

NAMES = {"chat": "openai/chat"}


def canonical(messages: int) -> Request:
    """The benchmark's neutral history and tools as one request."""
    said, calls = list[Message](), dict[str, ToolCall]()
    for kind, *rest in common.neutral(messages):
        match kind:
            case "user":
                said.append(Message.user(rest[0]))
            case "assistant":
                said.append(Message.assistant(rest[0]))
            case "call":
                call = ToolCall(id=rest[0], wire_id=rest[0], name=rest[1], arguments=json.dumps(rest[2]))
                calls[call.id] = call
                said.append(Message.assistant(call))
            case _:
                said.append(Message.tool(calls[rest[0]], rest[2]))
    tools = tuple(
        ToolDefinition(name=name, description=text, parameters=schema) for name, text, schema in common.tool_defs()
    )
    return Request(messages=tuple(said), tools=tools)


class P(common.Peer):
    name, protocols = "llmcore", ("chat",)

    async def open(self, proto: str) -> None:
        self.client = llmcore.AsyncClient(http=self.variant)

    @functools.cache  # noqa: B019  # one peer a process; a program makes its model once, too
    def model(self, proto: str, name: str) -> Any:
        return llmcore.model(f"{NAMES[proto]}:{name}", api_key="sk-x", base_url=self.base + "/v1")

    async def stream(self, proto: str, kind: str, model: str) -> tuple[str, int, float | None]:
        out, count, first = list[str](), 0, None
        wanted = TextDelta if kind == "text" else ToolCallDelta
        async with self.client.stream(self.model(proto, model), common.PROMPT) as stream:
            async for event in stream:
                count += 1
                if type(event) is wanted:
                    first = first or time.perf_counter()
                    out.append(event.text)
        return "".join(out), count, first

    def history(self, proto: str, n: int) -> Request:
        return canonical(n)

    async def complete(self, proto: str, model: str, history: Request | None = None) -> str:
        response = await self.client.generate(self.model(proto, model), history or common.PROMPT)
        return response.text

    async def close(self) -> None:
        await self.client.aclose()


if __name__ == "__main__":
    common.main(P)
