"""Providers that are data only: services that speak OpenAI's Chat Completions with departures of their own.

A row says where a service is, whose key it takes, and in which quirks it departs from the documented format, each with
what shows it: a recorded case by its name, a page, or else the service's reference (`docs`). What a row does not say
is the documented format. `openai-compatible` is for any other service or server: it has no URL and asks for one.

Here stand the rows that have recorded traffic behind them, and the table of all. Those that have documentation alone
are in `_makers` (who serve the models that they make), `_hosts` (others' models), `_gateways` (others' services) and
`_local` (servers of one's own).
"""

from typing import Final

from llmcore import auth
from llmcore.capabilities import Capabilities
from llmcore.framing import SSE
from llmcore.protocols.openai_chat import OPENAI_CHAT, ChatBody, Quirks
from llmcore.providers._gateways import GATEWAYS
from llmcore.providers._hosts import HOSTS
from llmcore.providers._local import LOCAL
from llmcore.providers._makers import GLM, MAKERS
from llmcore.providers._row import CHAT, without
from llmcore.route import ModelRule, Provider, Route
from llmcore.wire.ids import IdRule
from llmcore.wire.tags import ThinkingTags

__all__ = ["COMPATIBLE"]

GENERIC: Final = Provider(
    id="openai-compatible",
    docs="https://platform.openai.com/docs/api-reference/chat",
    evidence="documented",
    route=Route(
        id="openai-compatible/chat",
        protocol=OPENAI_CHAT,
        base_url="",  # pass base_url=
        endpoint=CHAT,
        auth=auth.bearer(optional=True),  # no variable: another provider's key must not go to an unnamed host
        framing=SSE,
        # Servers that know only one of the two fields know the older one.
        quirks=Quirks(max_tokens_field="max_tokens", knobs={"top_k": "top_k"}),
    ),
)

GROQ: Final = Provider(
    id="groq",
    docs="https://console.groq.com/docs/openai",
    evidence="recorded",
    route=Route(
        id="groq/chat",
        protocol=OPENAI_CHAT,
        base_url="https://api.groq.com/openai/v1",
        endpoint=CHAT,
        auth=auth.bearer("GROQ_API_KEY"),
        framing=SSE,
        capabilities=Capabilities(tools=True, streaming=True, streaming_tool_calls=True),
        quirks=Quirks(
            stream_usage="always",  # in x_groq, unasked: groq--groq-model-web-search-tool-stream
            # https://console.groq.com/docs/api-reference: "not yet supported by any of our models", or not there
            knobs=without("presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "prompt_cache_key"),
            reasoning_field="reasoning",  # groq--groq-model-thinking-part
            media={"audio": None, "document": None},  # content parts are text and image_url
            # https://console.groq.com/docs/browser-search, https://console.groq.com/docs/code-execution
            hosted_tools=("browser_search", "code_interpreter"),
        ),
        rules=(
            # https://console.groq.com/docs/reasoning: low, medium, high;
            # thinking-wire-contract--reasoning-wire-contract-groq-gpt-oss-thinking-minimal-folds-to-low
            ModelRule(
                match="openai/gpt-oss-*",
                quirks={
                    "reasoning_replay": "tool_turns",
                    "efforts": {"none": "low", "minimal": "low", "xhigh": "high", "max": "high"},
                },
            ),
            # "none" and "default": thinking-wire-contract--reasoning-wire-contract-groq-qwen3-effort-setting
            ModelRule(
                match="qwen/qwen3-*",
                quirks={"efforts": dict.fromkeys(("minimal", "low", "medium", "high", "xhigh", "max"), "default")},
            ),
        ),
    ),
)

MISTRAL: Final = Provider(
    id="mistral",
    docs="https://docs.mistral.ai/api/",
    evidence="recorded",
    route=Route(
        id="mistral/chat",
        protocol=OPENAI_CHAT,
        base_url="https://api.mistral.ai/v1",
        endpoint=CHAT,
        auth=auth.bearer("MISTRAL_API_KEY"),
        framing=SSE,
        capabilities=Capabilities(tools=True),
        quirks=Quirks(
            max_tokens_field="max_tokens",
            stream_usage="always",  # the request has no stream_options, and unknown fields are refused
            knobs={"seed": "random_seed", "top_k": "top_k"},
            reasoning_field="thinking",  # mistral--mistral-model-thinking-part: thoughts are parts of the content,
            reasoning_replay="always",  # and were taken back as such
            media={"document": "document_url", "audio": None},  # mistral--text-document-url-input; audio: another shape
            user_after_results="answered",  # "Unexpected role 'user' after role 'tool'" (3230)
            trailing_assistant="prefix",  # "Expected last role User or Tool (or Assistant with prefix True)"
            tool_ids=IdRule(characters="alphanumeric", length=9, exact=True),
            required_word="any",  # tool-choice-matrix--tool-choice-matrix-required-mistral
        ),
    ),
)

CEREBRAS: Final = Provider(
    id="cerebras",
    docs="https://inference-docs.cerebras.ai/api-reference/chat-completions",
    evidence="recorded",
    route=Route(
        id="cerebras/chat",
        protocol=OPENAI_CHAT,
        base_url="https://api.cerebras.ai/v1",
        endpoint=CHAT,
        auth=auth.bearer("CEREBRAS_API_KEY"),
        framing=SSE,
        capabilities=Capabilities(tools=True),
        quirks=Quirks(
            efforts={"minimal": "low", "xhigh": "high", "max": "high"},  # none, low, medium, high
            reasoning_field="reasoning",
            reasoning_replay="tool_turns",
            media={"audio": None, "document": None},  # content parts are text and image_url
        ),
    ),
)

_DEEPSEEK_KNOBS: Final = without(
    "seed", "presence_penalty", "frequency_penalty", "parallel_tool_calls", "prompt_cache_key"
)

DEEPSEEK: Final = Provider(
    id="deepseek",
    docs="https://api-docs.deepseek.com/api/create-chat-completion",
    evidence="recorded",
    route=Route(
        id="deepseek/chat",
        protocol=OPENAI_CHAT,
        base_url="https://api.deepseek.com",
        endpoint=CHAT,
        auth=auth.bearer("DEEPSEEK_API_KEY"),
        framing=SSE,
        capabilities=Capabilities(streaming=True, reasoning=True),
        quirks=Quirks(
            max_tokens_field="max_tokens",
            knobs=_DEEPSEEK_KNOBS,
            stop_limit=16,
            # https://api-docs.deepseek.com/guides/thinking_mode: `thinking` switches it, `reasoning_effort` beside it
            # is low, high or max; the thoughts of a turn with tool calls must come back, also where they are blank
            # ("The `reasoning_content` in the thinking mode must be passed back to the API").
            reasoning_control="switch",
            efforts={"minimal": "low", "medium": "high", "xhigh": "max"},
            reasoning_replay="tool_turns",
            reasoning_blank=True,
            media={"image": None, "audio": None, "document": None},
            text_content="string",  # a list fails with "invalid type: sequence, expected a string"
            structured_output="json_object",  # https://api-docs.deepseek.com/guides/json_mode
        ),
        rules=(
            # https://api-docs.deepseek.com/guides/reasoning_model: without effect, or an error
            ModelRule(
                match="deepseek-reasoner",
                quirks={"knobs": _DEEPSEEK_KNOBS | without("temperature", "top_p", "logprobs", "top_logprobs")},
            ),
        ),
    ),
)

ZAI: Final = Provider(
    id="zai",
    docs="https://docs.z.ai/api-reference/llm/chat-completion",
    evidence="recorded",
    route=Route(
        id="zai/chat",
        protocol=OPENAI_CHAT,
        base_url="https://api.z.ai/api/paas/v4",
        endpoint=CHAT,
        auth=auth.bearer("ZAI_API_KEY"),
        framing=SSE,
        capabilities=Capabilities(reasoning=True),
        quirks=GLM,
    ),
)

TOGETHER: Final = Provider(
    id="together",
    docs="https://docs.together.ai/reference/chat-completions-1",
    evidence="recorded",
    route=Route(
        id="together/chat",
        protocol=OPENAI_CHAT,
        base_url="https://api.together.xyz/v1",
        endpoint=CHAT,
        auth=auth.bearer("TOGETHER_API_KEY"),
        framing=SSE,
        capabilities=Capabilities(tools=True, streaming=True, streaming_tool_calls=True),
        quirks=Quirks(
            max_tokens_field="max_tokens",
            # log probabilities: a number is asked for here, and they come in another shape
            knobs={
                "top_k": "top_k",
                **without("logprobs", "top_logprobs", "parallel_tool_calls", "prompt_cache_key"),
            },
            efforts={"none": "low", "minimal": "low", "xhigh": "high", "max": "high"},  # low, medium, high
            reasoning_field="reasoning",
            media={"document": None, "video": "video_url"},
        ),
        rules=(
            # The same service behind another door, huggingface--hf-model-thinking-part: thoughts between <think> tags.
            ModelRule(match="deepseek-ai/DeepSeek-R1*", quirks={"thinking_tags": ThinkingTags()}),
        ),
    ),
)

CRUSOE: Final = Provider(
    id="crusoe",
    docs="https://docs.crusoecloud.com/quickstart/getting-started-with-serverless-inference",
    evidence="recorded",
    route=Route(
        id="crusoe/chat",
        protocol=OPENAI_CHAT,
        base_url="https://api.inference.crusoecloud.com/v1",
        endpoint=CHAT,
        auth=auth.bearer("CRUSOE_API_KEY"),
        framing=SSE,
        capabilities=Capabilities(tools=True, structured_output=True),
        quirks=Quirks(
            max_tokens_field="max_tokens",
            reasoning_field="reasoning",  # crusoe--crusoe-tool-calling: came there, and was taken back
            reasoning_replay="tool_turns",
        ),
    ),
)

_OLLAMA: Final = Quirks(
    # https://docs.ollama.com/api/openai-compatibility: the fields that are taken
    max_tokens_field="max_tokens",
    knobs=without("parallel_tool_calls", "prompt_cache_key"),
    reasoning_field="reasoning",  # ollama--ollama-cloud-tool-output: came there, and was taken back,
    reasoning_replay="always",  # of a turn without calls
    media={"audio": None, "document": None},
)

OLLAMA: Final = Provider(
    id="ollama",
    docs="https://docs.ollama.com/api/openai-compatibility",
    evidence="recorded",
    route=Route(
        id="ollama/chat",
        protocol=OPENAI_CHAT,
        base_url="http://localhost:11434/v1",
        endpoint=CHAT,
        auth=auth.bearer(optional=True),  # no variable: the key of its cloud is not for a server of one's own
        framing=SSE,
        quirks=_OLLAMA,
    ),
    apis={
        "cloud": Route(
            id="ollama/cloud",
            protocol=OPENAI_CHAT,
            base_url="https://ollama.com/v1",
            endpoint=CHAT,
            auth=auth.bearer("OLLAMA_API_KEY"),
            framing=SSE,
            capabilities=Capabilities(tools=True),
            quirks=_OLLAMA,
        )
    },
)

HEROKU: Final = Provider(
    id="heroku",
    docs="https://devcenter.heroku.com/articles/heroku-inference-api-v1-chat-completions",
    evidence="recorded",
    route=Route(
        id="heroku/chat",
        protocol=OPENAI_CHAT,
        base_url="https://us.inference.heroku.com/v1",  # another region: the host in INFERENCE_URL, as base_url=
        endpoint=CHAT,
        auth=auth.bearer("INFERENCE_KEY"),
        framing=SSE,
        quirks=Quirks(
            max_tokens_field="max_tokens",
            stream_usage="always",  # stream_options is not among the documented fields, nor are these:
            knobs=without(
                "seed",
                "presence_penalty",
                "frequency_penalty",
                "logprobs",
                "top_logprobs",
                "parallel_tool_calls",
                "prompt_cache_key",
            ),
        ),
    ),
)

SNOWFLAKE: Final = Provider(
    id="snowflake",
    docs="https://docs.snowflake.com/en/user-guide/snowflake-cortex/open_ai_sdk",
    evidence="recorded",
    route=Route(
        id="snowflake/chat",
        protocol=OPENAI_CHAT,
        base_url="https://{account}.snowflakecomputing.com/api/v2/cortex/v1",
        variables={"account": "SNOWFLAKE_ACCOUNT"},
        endpoint=CHAT,
        auth=auth.bearer("SNOWFLAKE_PAT", "SNOWFLAKE_TOKEN"),
        framing=SSE,
        capabilities=Capabilities(tools=True, streaming=True),
    ),
)


def _router(api: str, path: str, quirks: Quirks) -> Route[Quirks, ChatBody]:
    """One of Hugging Face's doors to another service."""
    return Route(
        id=f"huggingface/{api}",
        protocol=OPENAI_CHAT,
        base_url=f"https://router.huggingface.co{path}",
        endpoint=CHAT,
        auth=auth.bearer("HF_TOKEN"),
        framing=SSE,
        quirks=quirks,
    )


_HUGGINGFACE: Final = Quirks(
    # https://huggingface.co/docs/inference-providers/tasks/chat-completion: the fields that are taken
    max_tokens_field="max_tokens",
    knobs=without("parallel_tool_calls", "prompt_cache_key"),
    media={"audio": None, "document": None},
)

HUGGINGFACE: Final = Provider(
    id="huggingface",
    docs="https://huggingface.co/docs/inference-providers/tasks/chat-completion",
    evidence="recorded",
    route=_router("chat", "/v1", _HUGGINGFACE),
    apis={
        "nebius": _router("nebius", "/nebius/v1", _HUGGINGFACE),
        "novita": _router("novita", "/novita/v3/openai", _HUGGINGFACE),
        "together": _router("together", "/together/v1", _HUGGINGFACE),
    },
)

_RECORDED: Final = (
    CEREBRAS, CRUSOE, DEEPSEEK, GENERIC, GROQ, HEROKU, HUGGINGFACE, MISTRAL, OLLAMA, SNOWFLAKE, TOGETHER, ZAI,
)  # fmt: skip

COMPATIBLE: Final[dict[str, Provider]] = {
    row.id: row for rows in (_RECORDED, MAKERS, HOSTS, GATEWAYS, LOCAL) for row in rows
}
"""The rows, by the provider's id."""
