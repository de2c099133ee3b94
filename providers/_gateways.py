"""Rows of those who pass calls on to others, declared from their documentation. Models are named as each gateway
names them, mostly `vendor/model`."""

from typing import Final

from llmcore import auth
from llmcore.protocols.openai_chat import Quirks
from llmcore.providers._row import MAX_TOKENS, documented
from llmcore.route import Provider

__all__ = ["GATEWAYS"]

GATEWAYS: Final[tuple[Provider, ...]] = (
    documented(
        "aihubmix",
        "https://aihubmix.com/v1",
        "AIHUBMIX_API_KEY",
        docs="https://docs.aihubmix.com/cn/api/unified-inference",
    ),
    documented(
        "aimlapi",
        "https://api.aimlapi.com/v1",
        "AIMLAPI_API_KEY",
        "AIML_API_KEY",
        docs="https://docs.aimlapi.com/quickstart/supported-sdks",
        quirks=MAX_TOKENS,
    ),
    documented(
        "helicone",
        "https://ai-gateway.helicone.ai/v1",
        "HELICONE_API_KEY",
        docs="https://docs.helicone.ai/rest/ai-gateway/post-v1-chat-completions",
    ),
    documented(
        "nano-gpt",
        "https://nano-gpt.com/api/v1",
        "NANOGPT_API_KEY",
        "NANO_GPT_API_KEY",
        docs="https://docs.nano-gpt.com/api-reference/miscellaneous/extended-thinking",
        quirks=MAX_TOKENS,
    ),
    documented(
        "poe",
        "https://api.poe.com/v1",
        "POE_API_KEY",
        docs="https://creator.poe.com/docs/external-applications/openai-compatible-api",
    ),
    documented(
        "portkey",
        "https://api.portkey.ai/v1",
        docs="https://portkey.ai/docs/api-reference/inference-api/chat",
        # A model is `@provider/model`; other headers of the gateway go through the request's own door.
        auth=auth.header("x-portkey-api-key", "PORTKEY_API_KEY"),
    ),
    documented(
        "requesty",
        "https://router.requesty.ai/v1",
        "REQUESTY_API_KEY",
        docs="https://docs.requesty.ai/",
        quirks=MAX_TOKENS,
    ),
    documented(
        "vercel",
        "https://ai-gateway.vercel.sh/v1",
        "AI_GATEWAY_API_KEY",
        "VERCEL_OIDC_TOKEN",
        docs="https://vercel.com/docs/ai-gateway/sdks-and-apis/openai-chat-completions",
        # https://vercel.com/docs/ai-gateway/sdks-and-apis/openai-chat-completions/reasoning
        quirks=Quirks(reasoning_control="object", reasoning_field="reasoning_details", reasoning_replay="always"),
    ),
    documented(
        "watsonx",
        # Its gateway. (The other endpoint for chats takes `model_id` and `project_id`, and is no OpenAI Chat.)
        "https://{region}.ml.cloud.ibm.com/ml/gateway/v1",
        "WATSONX_TOKEN",  # an IAM token, which lasts an hour: api_key= takes a function that fetches one
        docs="https://www.ibm.com/docs/en/watsonx/saas?topic=generation-inferencing-gateway-models",
        variables={"region": "WATSONX_REGION"},
    ),
)
"""By their ids."""
