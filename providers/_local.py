"""Rows of servers of one's own, at the place where each listens by itself; elsewhere with `base_url=`. A key is sent
where one is given or set: most ask for none."""

from typing import Final

from llmcore import auth
from llmcore.protocols.openai_chat import Quirks
from llmcore.providers._row import MAX_TOKENS, TOP_K, documented
from llmcore.route import Provider

__all__ = ["LOCAL"]

# No variable: the key of a service must not go to whatever listens on this machine.
_ANY_KEY: Final = auth.bearer(optional=True)

LOCAL: Final[tuple[Provider, ...]] = (
    documented(
        "docker",
        "http://localhost:12434/engines/v1",
        docs="https://docs.docker.com/ai/model-runner/api-reference/",
        auth=_ANY_KEY,
        quirks=MAX_TOKENS,
    ),
    documented(
        "litellm",
        "http://localhost:4000/v1",
        docs="https://docs.litellm.ai/docs/providers/litellm_proxy",
        auth=auth.bearer("LITELLM_PROXY_API_KEY", optional=True),
    ),
    documented(
        "llamacpp",
        "http://localhost:8080/v1",
        docs="https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
        auth=_ANY_KEY,
        quirks=Quirks(max_tokens_field="max_tokens", knobs={"top_k": "top_k"}, media={"document": None}),
    ),
    documented(
        "llamafile",
        "http://localhost:8080/v1",
        docs="https://github.com/mozilla-ai/llamafile/blob/main/README.md",
        auth=_ANY_KEY,
        quirks=MAX_TOKENS,
    ),
    documented(
        "lmstudio",
        "http://localhost:1234/v1",
        docs="https://lmstudio.ai/docs/developer/openai-compat/chat-completions",
        auth=auth.bearer("LM_API_TOKEN", optional=True),
        quirks=Quirks(max_tokens_field="max_tokens", knobs={"top_k": "top_k"}, media={"audio": None, "document": None}),
    ),
    documented(
        "localai",
        "http://localhost:8080/v1",
        docs="https://localai.io/features/text-generation/",
        auth=_ANY_KEY,
        quirks=TOP_K,
    ),
    documented(
        "sglang",
        "http://localhost:30000/v1",
        docs="https://docs.sglang.io/docs/basic_usage/openai_api_completions",
        auth=_ANY_KEY,
        quirks=TOP_K,
    ),
    documented(
        "vllm",
        "http://localhost:8000/v1",
        docs="https://docs.vllm.ai/en/stable/serving/openai_compatible_server/",
        auth=auth.bearer("VLLM_API_KEY", optional=True),
        quirks=Quirks(
            knobs={"top_k": "top_k"},
            # https://docs.vllm.ai/en/stable/features/multimodal_inputs/
            media={"document": None, "video": "video_url"},
        ),
    ),
)
"""By their ids."""
