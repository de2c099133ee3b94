"""Rows of those who serve others' models on machines of their own, declared from their documentation."""

from typing import Final

from llmcore.protocols.openai_chat import Quirks
from llmcore.providers._row import MAX_TOKENS, TOP_K, documented, without
from llmcore.route import Provider

__all__ = ["HOSTS"]

HOSTS: Final[tuple[Provider, ...]] = (
    documented(
        "baseten",
        "https://inference.baseten.co/v1",
        "BASETEN_API_KEY",
        docs="https://docs.baseten.co/reference/inference-api/chat-completions",
        quirks=TOP_K,
    ),
    documented(
        "chutes",
        "https://llm.chutes.ai/v1",
        "CHUTES_API_KEY",
        docs="https://chutes.ai/docs/guides/reasoning-models",
        quirks=MAX_TOKENS,
    ),
    documented(
        "databricks",
        "https://{workspace}/serving-endpoints",
        "DATABRICKS_TOKEN",
        docs="https://docs.databricks.com/aws/en/machine-learning/foundation-model-apis/api-reference",
        # The host alone. (DATABRICKS_HOST holds a scheme too.)
        variables={"workspace": "DATABRICKS_SERVER_HOSTNAME"},
        quirks=TOP_K,
    ),
    documented(
        "deepinfra",
        "https://api.deepinfra.com/v1/openai",
        "DEEPINFRA_API_KEY",
        "DEEPINFRA_TOKEN",
        docs="https://docs.deepinfra.com/api-reference/chat-completions/openai-chat-completions",
        quirks=TOP_K,
    ),
    documented(
        "digitalocean",
        "https://inference.do-ai.run/v1",
        "MODEL_ACCESS_KEY",
        "DIGITALOCEAN_ACCESS_TOKEN",
        docs="https://docs.digitalocean.com/products/inference/how-to/si-endpoints/",
    ),
    documented(
        "featherless",
        "https://api.featherless.ai/v1",
        "FEATHERLESS_API_KEY",
        docs="https://featherless.ai/docs/quickstart-guide",
        quirks=TOP_K,
    ),
    documented(
        "fireworks",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
        docs="https://docs.fireworks.ai/api-reference/post-chatcompletions",
        quirks=TOP_K,
    ),
    documented(
        "friendli",
        "https://api.friendli.ai/serverless/v1",
        "FRIENDLI_TOKEN",
        docs="https://friendli.ai/docs/openapi/model-apis/chat-completions",
        quirks=TOP_K,
    ),
    documented(
        "github-models",
        "https://models.github.ai/inference",
        "GITHUB_TOKEN",
        docs="https://docs.github.com/en/rest/models/inference",
        quirks=MAX_TOKENS,
    ),
    documented(
        "hyperbolic",
        "https://api.hyperbolic.xyz/v1",
        "HYPERBOLIC_API_KEY",
        docs="https://docs.hyperbolic.ai/inference/text-apis",
        quirks=MAX_TOKENS,
    ),
    documented(
        "inference-net",
        "https://api.inference.net/v1",
        "INFERENCE_API_KEY",
        docs="https://docs.inference.net/api/api-quickstart",
        quirks=MAX_TOKENS,
    ),
    documented(
        "io-net",
        "https://api.intelligence.io.solutions/api/v1",
        "IOINTELLIGENCE_API_KEY",
        docs="https://io.net/docs/guides/intelligence/reasoning-for-chat-completions",
        # low, medium, high
        quirks=Quirks(
            max_tokens_field="max_tokens", efforts={"none": "low", "minimal": "low", "xhigh": "high", "max": "high"}
        ),
    ),
    documented(
        "nebius",
        "https://api.tokenfactory.nebius.com/v1",
        "NEBIUS_API_KEY",
        docs="https://docs.tokenfactory.nebius.com/api-reference/inference/create-chat-completion",
        # reasoning_effort: low, medium, high
        quirks=Quirks(
            max_tokens_field="max_tokens",
            efforts={"none": "low", "minimal": "low", "xhigh": "high", "max": "high"},
        ),
    ),
    documented(
        "novita",
        "https://api.novita.ai/openai/v1",
        "NOVITA_API_KEY",
        docs="https://novita.ai/docs/api-reference/model-apis-llm-create-chat-completion",
        quirks=TOP_K,
    ),
    documented(
        "nscale",
        "https://inference.api.nscale.com/v1",
        "NSCALE_SERVICE_TOKEN",
        "NSCALE_API_KEY",
        docs="https://docs.nscale.com/api-reference/inferencing/create-chat-completion",
    ),
    documented(
        "nvidia",
        "https://integrate.api.nvidia.com/v1",
        "NVIDIA_API_KEY",
        docs="https://docs.api.nvidia.com/nim/reference/llm-apis",
        # The schemas of its models are closed ("additionalProperties": false), and have no such field.
        quirks=Quirks(max_tokens_field="max_tokens", knobs=without("prompt_cache_key")),
    ),
    documented(
        "ovhcloud",
        "https://oai.endpoints.kepler.ai.cloud.ovh.net/v1",
        "OVH_AI_ENDPOINTS_ACCESS_TOKEN",
        docs="https://docs.ovhcloud.com/en/guides/public-cloud/ai-machine-learning/ai-endpoints-getting-started",
        quirks=MAX_TOKENS,
    ),
    documented(
        "parasail",
        "https://api.parasail.io/v1",
        "PARASAIL_API_KEY",
        docs="https://docs.parasail.io/parasail-docs/api-reference/authentication",
        quirks=MAX_TOKENS,
    ),
    documented(
        "sambanova",
        "https://api.sambanova.ai/v1",
        "SAMBANOVA_API_KEY",
        docs="https://docs.sambanova.ai/docs/en/features/openai-compatibility",
        quirks=MAX_TOKENS,
    ),
    documented(
        "scaleway",
        "https://api.scaleway.ai/v1",
        "SCW_SECRET_KEY",
        docs="https://www.scaleway.com/en/docs/generative-apis/api-cli/using-chat-api/",
        # among its "unsupported parameters"
        quirks=Quirks(max_tokens_field="max_tokens", knobs=without("frequency_penalty", "top_logprobs")),
    ),
    documented(
        "siliconflow",
        "https://api.siliconflow.com/v1",
        "SILICONFLOW_API_KEY",
        docs="https://docs.siliconflow.com/en/api-reference/chat-completions/chat-completions",
        quirks=TOP_K,
    ),
    documented(
        "venice",
        "https://api.venice.ai/api/v1",
        "VENICE_API_KEY",
        docs="https://docs.venice.ai/api-reference/endpoint/chat/completions",
        quirks=Quirks(knobs={"top_k": "top_k"}),
    ),
    documented(
        "vultr",
        "https://api.vultrinference.com/v1",
        "VULTR_API_KEY",
        docs="https://api.vultrinference.com/",
        quirks=Quirks(reasoning_control="object"),  # reasoning: {effort, max_tokens}
    ),
    documented(
        "wandb",
        "https://api.inference.wandb.ai/v1",
        "WANDB_API_KEY",
        docs="https://docs.wandb.ai/inference/response-settings/reasoning",
        quirks=MAX_TOKENS,
    ),
)
"""By their ids."""
