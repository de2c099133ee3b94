"""Rows of those who serve the models that they make, declared from their documentation."""

from typing import Final

from llmcore import auth
from llmcore.protocols.openai_chat import Quirks
from llmcore.providers._row import MAX_TOKENS, TOP_K, documented, route, without
from llmcore.route import Defaults, ModelRule, Provider
from llmcore.schema.request import HttpExtras

__all__ = ["GLM", "MAKERS"]

GLM: Final = Quirks(
    max_tokens_field="max_tokens",
    knobs=without(
        "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "parallel_tool_calls", "prompt_cache_key"
    ),
    stop_limit=1,
    reasoning_control="switch",  # zai--zai-reasoning-effort sent both fields
    # zai--zai-preserved-thinking-round-trip took reasoning_content back, of a turn without calls too. Whether the model
    # sees it is another field of the switch, `clear_thinking`: https://docs.z.ai/guides/capabilities/thinking-mode
    reasoning_replay="always",
    media={"audio": None, "document": None, "video": "video_url"},
    structured_output="json_object",
)
"""The format of GLM's maker, which it serves in China as `zhipu` and elsewhere as `zai`."""

_QWEN: Final = Quirks(
    max_tokens_field="max_tokens",
    knobs={"top_k": "top_k"},
    media={"document": None, "video": "video_url"},
)

# https://platform.kimi.ai/docs/api/chat: fields that no model has, and those that models from k2.5 on do not have
_MOONSHOT: Final = without("seed", "logprobs", "top_logprobs", "parallel_tool_calls")
_KIMI: Final = _MOONSHOT | without("temperature", "top_p", "presence_penalty", "frequency_penalty")
_KIMI_REPLAY: Final[dict[str, object]] = {
    # "thinking is enabled but reasoning_content is missing in assistant tool call message":
    # https://platform.kimi.ai/docs/guide/use-thinking-models
    "reasoning_replay": "tool_turns",
    "reasoning_blank": True,
}
_MOONSHOT_QUIRKS: Final = Quirks(
    knobs=_MOONSHOT, stop_limit=5, media={"audio": None, "document": None, "video": "video_url"}
)
_MOONSHOT_RULES: Final = (
    ModelRule[Quirks](match="kimi-k2-thinking*", quirks=_KIMI_REPLAY),
    # `thinking: {type}` and no effort: https://platform.kimi.ai/docs/api/chat
    ModelRule[Quirks](match="kimi-k2.[5-9]*", quirks={**_KIMI_REPLAY, "knobs": _KIMI, "reasoning_control": "switch"}),
    # Always thinks; the effort is low, high or max: https://platform.kimi.ai/docs/guide/kimi-k3-quickstart
    ModelRule[Quirks](
        match="kimi-k3*",
        quirks={
            **_KIMI_REPLAY,
            "knobs": _KIMI,
            "efforts": {"none": "low", "minimal": "low", "medium": "high", "xhigh": "max"},
        },
    ),
)

MAKERS: Final[tuple[Provider, ...]] = (
    documented(
        "ai21",
        "https://api.ai21.com/studio/v1",
        "AI21_API_KEY",
        docs="https://docs.ai21.com/reference/jamba-1-6-api-ref",
        quirks=Quirks(
            max_tokens_field="max_tokens",
            media={"image": None, "audio": None, "document": None},
            structured_output="json_object",
        ),
    ),
    documented(
        "alibaba",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",  # Singapore: a key is of one region
        "DASHSCOPE_API_KEY",
        docs="https://www.alibabacloud.com/help/en/model-studio/compatibility-of-openai-with-dashscope",
        quirks=_QWEN,
        apis={
            "china": route(
                "alibaba/china",
                "https://dashscope.aliyuncs.com/compatible-mode/v1",
                auth.bearer("DASHSCOPE_API_KEY"),
                quirks=_QWEN,
            )
        },
    ),
    documented(
        "baichuan",
        "https://api.baichuan-ai.com/v1",
        "BAICHUAN_API_KEY",
        docs="https://platform.baichuan-ai.com/docs/api",
        quirks=TOP_K,
    ),
    # Its own protocol is another: this is the door to those who speak OpenAI's.
    Provider(
        id="cohere",
        docs="https://docs.cohere.com/docs/compatibility-api",
        evidence="documented",
        apis={
            "compatibility": route(
                "cohere/compatibility",
                "https://api.cohere.ai/compatibility/v1",
                auth.bearer("COHERE_API_KEY", "CO_API_KEY"),
                quirks=MAX_TOKENS,
            )
        },
    ),
    documented(
        "inception",
        "https://api.inceptionlabs.ai/v1",
        "INCEPTION_API_KEY",
        docs="https://docs.inceptionlabs.ai/api-reference/chat/create-a-chat-completion",
        quirks=Quirks(
            max_tokens_field="max_tokens",
            # https://docs.inceptionlabs.ai/capabilities/reasoning-efforts: instant, low, medium, high
            efforts={"none": "instant", "minimal": "instant", "xhigh": "high", "max": "high"},
        ),
    ),
    documented(
        "meta",
        "https://api.llama.com/compat/v1",
        "LLAMA_API_KEY",
        docs="https://llama.developer.meta.com/docs/features/compatibility",
    ),
    documented(
        "minimax",
        "https://api.minimax.io/v1",
        "MINIMAX_API_KEY",
        docs="https://platform.minimax.io/docs/api-reference/text-openai-api",
        # Thoughts apart from the text, in reasoning_details; they must go back whole. (Else: in the text, in tags.)
        defaults=Defaults(http=HttpExtras(body={"reasoning_split": True})),
        quirks=Quirks(
            knobs=without("presence_penalty", "frequency_penalty"),  # they "will be ignored"
            reasoning_field="reasoning_details",
            reasoning_replay="always",
            media={"audio": None, "document": None, "video": "video_url"},
        ),
    ),
    documented(
        "moonshot",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        docs="https://platform.kimi.ai/docs/api/chat",
        quirks=_MOONSHOT_QUIRKS,
        rules=_MOONSHOT_RULES,
        apis={
            "china": route(
                "moonshot/china",  # a key is of one of the two
                "https://api.moonshot.cn/v1",
                auth.bearer("MOONSHOT_API_KEY"),
                quirks=_MOONSHOT_QUIRKS,
                rules=_MOONSHOT_RULES,
            )
        },
    ),
    documented(
        "perplexity",
        "https://api.perplexity.ai",
        "PERPLEXITY_API_KEY",
        docs="https://docs.perplexity.ai/docs/sonar/openai-compatibility",
        quirks=MAX_TOKENS,
    ),
    documented(
        "stepfun",
        "https://api.stepfun.com/v1",
        "STEPFUN_API_KEY",
        docs="https://platform.stepfun.com/docs/zh/api-reference/chat/chat-completion-create",
        quirks=MAX_TOKENS,
    ),
    documented(
        "tencent",
        "https://api.hunyuan.cloud.tencent.com/v1",
        "HUNYUAN_API_KEY",
        docs="https://cloud.tencent.com/document/product/1729/111007",
        quirks=MAX_TOKENS,
    ),
    documented(
        "upstage",
        "https://api.upstage.ai/v1",
        "UPSTAGE_API_KEY",
        docs="https://console.upstage.ai/api/chat",
        quirks=MAX_TOKENS,
    ),
    documented(
        "volcengine",
        "https://ark.cn-beijing.volces.com/api/v3",
        "ARK_API_KEY",
        docs="https://www.volcengine.com/docs/82379/1298459",
        quirks=Quirks(max_tokens_field="max_tokens", media={"audio": None, "document": None, "video": "video_url"}),
    ),
    documented(
        "xai",
        "https://api.x.ai/v1",
        "XAI_API_KEY",
        docs="https://docs.x.ai/docs/api-reference",
        rules=(
            # https://docs.x.ai/docs/guides/reasoning: "not supported by reasoning models"
            *(
                ModelRule[Quirks](
                    match=match, quirks={"knobs": without("presence_penalty", "frequency_penalty", "stop")}
                )
                for match in ("grok-3-mini*", "grok-4*", "grok-code*")
            ),
            ModelRule[Quirks](match="*-non-reasoning*", quirks={"knobs": {}}),
        ),
    ),
    documented(
        "xiaomi",
        "https://api.xiaomimimo.com/v1",
        "MIMO_API_KEY",
        "XIAOMI_API_KEY",
        docs="https://platform.xiaomimimo.com/static/docs/api/chat/openai-api.md",
        quirks=Quirks(reasoning_control="switch"),
    ),
    documented(
        "zhipu",
        "https://open.bigmodel.cn/api/paas/v4",
        "ZHIPUAI_API_KEY",
        "ZHIPU_API_KEY",
        docs="https://docs.bigmodel.cn/cn/guide/develop/openai/introduction",
        quirks=GLM,
    ),
)
"""By their ids."""
