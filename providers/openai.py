"""OpenAI. So far over Chat Completions (`openai/chat`); `openai` alone will mean its Responses API."""

from typing import Final

from llmcore import auth
from llmcore.capabilities import Capabilities
from llmcore.framing import SSE
from llmcore.protocols.openai_chat import OPENAI_CHAT, Knob, Quirks
from llmcore.route import ModelRule, Provider, Route, post

__all__ = ["PROVIDER", "RULES"]

_NO_SAMPLING: Final[dict[Knob, None]] = dict.fromkeys(
    ("temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs")
)
"""What models that always think refuse ("Unsupported parameter", or a value other than the default)."""

_UNKNOWN: Final = Capabilities()
_SPOKEN: Final = Capabilities(output_combinations=(("text",), ("audio", "text")))


def _rules(*matches: str, capabilities: Capabilities = _UNKNOWN, **quirks: object) -> tuple[ModelRule[Quirks], ...]:
    """The same rule for several globs."""
    return tuple([ModelRule(match=match, capabilities=capabilities, quirks=quirks) for match in matches])


RULES: Final = (
    # Models that do not think refuse reasoning_effort.
    *_rules("gpt-3.5*", "gpt-4*", "chatgpt-4o*", capabilities=Capabilities(reasoning=False)),
    # https://platform.openai.com/docs/guides/structured-outputs: before gpt-4o there is JSON mode alone
    *_rules("gpt-3.5*", "gpt-4-turbo*", structured_output="json_object"),
    # https://platform.openai.com/docs/guides/audio
    *_rules("gpt-4o*-audio*", "gpt-audio*", capabilities=_SPOKEN),
    # https://platform.openai.com/docs/guides/reasoning: from o1 on instructions go as developer messages
    *_rules(
        "o[1-9]*",
        capabilities=Capabilities(reasoning=True),
        system_role="developer",
        knobs={**_NO_SAMPLING, "parallel_tool_calls": None},
    ),
    # `stop` in the API reference: "not supported with latest reasoning models o3 and o4-mini"
    *_rules("o3", "o3-20*", "o4-mini*", knobs={**_NO_SAMPLING, "parallel_tool_calls": None, "stop": None}),
    # openai--openai-o1-mini-system-role-system, openai--openai-o1-mini-system-role-developer: neither role is taken
    *_rules("o1-mini*", capabilities=Capabilities(system_prompt=False)),
    *_rules("gpt-5*", capabilities=Capabilities(reasoning=True), system_role="developer"),
    # From gpt-5.1 on sampling is taken while the effort is "none", which is the default: it is sent, OpenAI decides.
    *_rules("gpt-5", "gpt-5-[!c]*", knobs={**_NO_SAMPLING, "stop": None}),
    # gpt-5-chat-latest does not think.
    *_rules("gpt-5-chat*", capabilities=Capabilities(reasoning=False), system_role="system"),
)
"""What is true of some of OpenAI's models, wherever they are served."""

PROVIDER: Final = Provider(
    id="openai",
    docs="https://platform.openai.com/docs/api-reference/chat",
    evidence="recorded",
    apis={
        "chat": Route(
            id="openai/chat",
            protocol=OPENAI_CHAT,
            base_url="https://api.openai.com/v1",
            endpoint=post("/chat/completions"),
            auth=auth.bearer("OPENAI_API_KEY"),
            framing=SSE,
            capabilities=Capabilities(
                tools=True, parallel_tool_calls=True, streaming=True, streaming_tool_calls=True, structured_output=True
            ),
            rules=RULES,
        )
    },
)
