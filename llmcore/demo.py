"""The demo: a conversation with a tool call, streamed over a real socket from a recording that comes with llmcore.

No key, no network but loopback. The client is the one that talks to providers; only the base URL is the server's.
"""

import math
from collections.abc import Callable
from typing import Any, Final, TextIO

from llmcore import events as e
from llmcore.cassette import Cassette, ReplayServer, bundled
from llmcore.client import Client
from llmcore.client.oneoff import model
from llmcore.events import Event
from llmcore.schema import Message, ToolDefinition, Usage

CASSETTE: Final = "tool-call"
QUESTION: Final = "How far is it from Berlin to Lisbon as the crow flies?"
PACE: Final = 0.5
"""The recorded times are halved."""

DISTANCE: Final = ToolDefinition(
    name="distance_km",
    description="Great-circle distance between two cities, in kilometres.",
    parameters={
        "type": "object",
        "properties": {"origin": {"type": "string"}, "destination": {"type": "string"}},
        "required": ["origin", "destination"],
        "additionalProperties": False,
    },
)

# Degrees north and east.
CITIES: Final = {"Berlin": (52.5200, 13.4050), "Lisbon": (38.7223, -9.1393)}
EARTH_RADIUS_KM: Final = 6371.0088


def distance_km(origin: str, destination: str) -> str:
    """The tool: the distance between two of `CITIES` on a sphere, as text (`2312 km`)."""
    (lat1, lon1), (lat2, lon2) = (map(math.radians, CITIES[city]) for city in (origin, destination))
    arc = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return f"{2 * EARTH_RADIUS_KM * math.asin(math.sqrt(arc)):.0f} km"


TOOLS: Final[dict[str, Callable[..., str]]] = {DISTANCE.name: distance_km}


def run(out: TextIO) -> int:
    """Runs the demo, writing to `out` as events come; gives the exit status. Raises the `LLMError` of a call that
    fails."""
    cassette = bundled(CASSETTE)
    _introduce(cassette, out)
    # Matched, not in order: the recorded answers come only if our requests are the recorded ones, byte for meaning.
    with (
        ReplayServer(cassette.interactions, order="match", pace=PACE) as server,
        Client() as client,
    ):
        gpt = model(f"openai/chat:{cassette.model}", api_key="no-key-needed", base_url=f"{server.url}/v1")
        messages = [Message.user(QUESTION)]
        _line(out, "user", QUESTION)
        while True:
            out.write("\n")
            with client.stream(gpt, messages, tools=(DISTANCE,)) as stream:
                for event in stream:
                    _show(event, out)
            response = stream.response
            messages.append(response.message)
            if not response.tool_calls:
                break
            for call in response.tool_calls:
                result = TOOLS[call.name](**_arguments(call.input))
                _line(out, "tool result", f"{result} (computed here)")
                messages.append(Message.tool(call, result))
    out.write(f"\nThe answers were a recording, source: {cassette.source}. {_SOURCES[cassette.source]}\n")
    return 0


_SOURCES: Final = {
    "live": "It was made with the provider's service.",
    "local-server": "It was made with a model server of one's own.",
    "synthetic": "It was written by hand in the provider's format; no model took part.",
}


def _introduce(cassette: Cassette, out: TextIO) -> None:
    out.write(f"llmcore demo: {cassette.name}, from openai/chat:{cassette.model}, replayed on loopback\n\n")


def _arguments(value: object) -> dict[str, Any]:
    assert isinstance(value, dict)
    return value  # pyright: ignore[reportUnknownVariableType]  # JSON, checked by the tool's own parameters


def _line(out: TextIO, label: str, text: str) -> None:
    out.write(f"{label:<13}{text}\n")


def _show(event: Event, out: TextIO) -> None:
    """Writes the event: a whole line, or the next piece of the line that its block has begun."""
    shown = SHOWN.get(type(event))
    if shown is not None:
        out.write(shown(event))
        out.flush()


SHOWN: Final[dict[type[Event], Callable[[Any], str]]] = {
    e.ResponseStart: lambda event: f"{'start':<13}{event.model}\n",
    e.TextStart: lambda _: f"{'text':<13}",
    e.TextDelta: lambda event: event.text,
    e.TextEnd: lambda _: "\n",
    e.ReasoningStart: lambda _: f"{'reasoning':<13}",
    e.ReasoningDelta: lambda event: event.text,
    e.ReasoningEnd: lambda _: "\n",
    e.ToolCallStart: lambda event: f"{'tool call':<13}{event.name} ",
    e.ToolCallDelta: lambda event: event.text,
    e.ToolCallEnd: lambda _: "\n",
    e.UsageUpdate: lambda event: f"{'usage':<13}{_tokens(event.usage)}\n",
    e.ResponseEnd: lambda event: f"{'end':<13}{event.stop_reason}\n",
}


def _tokens(usage: Usage) -> str:
    thinking = f" ({usage.reasoning_tokens} of them reasoning)" if usage.reasoning_tokens else ""
    return f"{usage.total_input_tokens} tokens in, {usage.output_tokens} out{thinking}"
