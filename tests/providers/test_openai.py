"""What is known of OpenAI's models by their names: what they refuse is left out, or refused before it is sent."""

from collections.abc import Callable
from typing import Any

import pytest

import llmcore
from llmcore import CapabilityError, ReasoningOptions, registry
from llmcore.schema import Generation

Body = Callable[..., dict[str, Any]]

SAMPLING: dict[str, Any] = {"temperature": 0.2, "top_p": 0.9, "presence_penalty": 0.1, "frequency_penalty": 0.1}

THINKING = [
    "o1",
    "o1-2024-12-17",
    "o3",
    "o3-mini",
    "o3-2025-04-16",
    "o4-mini",
    "gpt-5",
    "gpt-5-mini",
    "gpt-5-2025-08-07",
]
SAMPLED = [
    "gpt-4o",
    "gpt-4.1-mini",
    "gpt-3.5-turbo",
    "chatgpt-4o-latest",
    "gpt-5-chat-latest",
    "gpt-5.1",
    "gpt-5.2-mini",
]


def sent(lowered: dict[str, Any], names: Any = SAMPLING) -> dict[str, Any]:
    return {name: lowered[name] for name in names if name in lowered}


@pytest.mark.parametrize("route", ["openai/chat", "azure", "azure/deployments"])
@pytest.mark.parametrize("name", THINKING)
def test_models_that_always_think_get_no_sampling(route: str, name: str, body: Body) -> None:
    lowered = body(f"{route}:{name}", **SAMPLING, top_logprobs=2)
    assert sent(lowered, [*SAMPLING, "logprobs", "top_logprobs"]) == {}
    assert len(lowered["warned"]) >= len(SAMPLING) + 1


@pytest.mark.parametrize("name", SAMPLED)
def test_other_models_get_it(name: str, body: Body) -> None:
    lowered = body(f"openai/chat:{name}", **SAMPLING)
    assert sent(lowered) == SAMPLING
    assert lowered["warned"] == []


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("o3", False),
        ("o4-mini-2025-04-16", False),
        ("gpt-5-nano", False),
        ("o3-mini", True),
        ("o1", True),
        ("gpt-4o", True),
    ],
)
def test_stop_goes_to_models_that_take_it(name: str, taken: bool, body: Body) -> None:
    lowered = body(f"openai/chat:{name}", stop=("END",))
    assert ("stop" in lowered) == taken
    assert bool(lowered["warned"]) != taken


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("o1", "developer"),
        ("o3-mini", "developer"),
        ("gpt-5.2", "developer"),
        ("gpt-5-chat-latest", "system"),
        ("gpt-4o", "system"),
    ],
)
def test_instructions_have_the_role_that_the_model_knows(name: str, role: str, body: Body) -> None:
    assert body(f"openai/chat:{name}", system="Be brief.")["messages"][0] == {"role": role, "content": "Be brief."}


def test_o1_mini_takes_no_instructions(client: llmcore.Client) -> None:
    with pytest.raises(CapabilityError, match="o1-mini-2024-09-12 does not take a system prompt"):
        client.prepare("openai/chat:o1-mini-2024-09-12", "Hi", system="Be brief.")


@pytest.mark.parametrize(
    ("name", "effort"),
    [("gpt-4o", None), ("gpt-4.1", None), ("gpt-5-chat-latest", None), ("gpt-5.1", "low"), ("o3", "low")],
)
def test_an_effort_goes_to_models_that_think(name: str, effort: str | None, body: Body) -> None:
    lowered = body(f"openai/chat:{name}", reasoning=ReasoningOptions(effort="low"))
    assert lowered.get("reasoning_effort") == effort
    assert lowered["warned"] == ([] if effort else ["reasoning"])


@pytest.mark.parametrize("name", ["gpt-4o-audio-preview", "gpt-4o-mini-audio-preview-2024-12-17", "gpt-audio-mini"])
def test_spoken_answers_come_from_models_that_speak(name: str, client: llmcore.Client) -> None:
    options = {"openai": {"audio": {"voice": "alloy", "format": "wav"}}}
    prepared = client.prepare(
        f"openai/chat:{name}", "Hi", output_modalities=("text", "audio"), provider_options=options
    )
    assert b'"modalities":["text","audio"]' in prepared.content
    with pytest.raises(CapabilityError, match="output of image"):
        client.prepare(f"openai/chat:{name}", "Hi", output_modalities=("image",))


def test_what_a_model_refuses_is_strictly_an_error_when_asked(client: llmcore.Client) -> None:
    with pytest.raises(CapabilityError, match="temperature"):
        client.prepare("openai/chat:gpt-5-mini", "Hi", temperature=0.0, strict=True)


def test_rules_hold_for_the_names_they_are_made_for_and_no_other() -> None:
    plain = registry.resolve("openai/chat:my-own-tune")
    assert plain.quirks == registry.provider("openai").api("chat").protocol.quirks()
    assert plain.capabilities == registry.provider("openai").api("chat").capabilities
    assert plain.defaults.generation == Generation()
