"""OpenRouter: many vendors' models behind one key, named `vendor/model[:variant]`.

What only OpenRouter has (routing preferences, fallback models, plugins, presets) goes through the request's door to
the body, as in `http=HttpExtras(body={"provider": {"order": ["groq"]}})`.
"""

from typing import Final

from llmcore import auth
from llmcore.capabilities import Capabilities
from llmcore.framing import SSE
from llmcore.protocols.openai_chat import OPENAI_CHAT, Quirks
from llmcore.route import Provider, Route, post

__all__ = ["PROVIDER"]

PROVIDER: Final = Provider(
    id="openrouter",
    docs="https://openrouter.ai/docs/api-reference/chat-completion",
    evidence="recorded",
    route=Route(
        id="openrouter/chat",
        protocol=OPENAI_CHAT,
        base_url="https://openrouter.ai/api/v1",
        endpoint=post("/chat/completions"),
        auth=auth.bearer("OPENROUTER_API_KEY"),
        framing=SSE,
        capabilities=Capabilities(tools=True, streaming=True, streaming_tool_calls=True),
        quirks=Quirks(
            stream_usage="always",  # "include_usage: deprecated, this field has no effect"
            knobs={"top_k": "top_k"},
            # https://openrouter.ai/docs/use-cases/reasoning-tokens: reasoning: {effort | max_tokens}; what came in
            # reasoning_details goes back unchanged (openrouter--openrouter-preserve-reasoning-block)
            reasoning_control="object",
            reasoning_field="reasoning_details",
            reasoning_replay="always",
            media={"video": "video_url"},  # openrouter--openrouter-video-url-public-api
            # https://openrouter.ai/docs/features/prompt-caching: Anthropic's limit of marks, the lowest there is;
            # openrouter--cache--openrouter-limit-cache-points-e2e
            cache_breakpoints=4,
            # openrouter--openrouter-web-search-annotations, openrouter--openrouter-advisor-tool
            hosted_tools=("openrouter:*",),
        ),
    ),
)
