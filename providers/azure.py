"""Azure OpenAI: models as deployments of a resource of one's own, by their deployments' names.

`azure` (or `azure/chat`) is the v1 surface, which has no version; `azure/deployments` the dated one, whose version
stands in the query of its base URL: `base_url=` replaces it whole, version included. The resource's name comes from
`AZURE_RESOURCE_NAME`. A key goes into `api-key`; for an Entra token give a Route of one's own with `auth.bearer()` and
the token's function as `api_key`. What is known of OpenAI's models holds for deployments that are named after them.
"""

from typing import Final

from llmcore import auth
from llmcore.framing import SSE
from llmcore.protocols.openai_chat import OPENAI_CHAT
from llmcore.providers.openai import RULES
from llmcore.route import Provider, Route, post

__all__ = ["PROVIDER"]

_AUTH: Final = auth.header("api-key", "AZURE_OPENAI_API_KEY", "AZURE_API_KEY")
_VARIABLES: Final = {"resource": "AZURE_RESOURCE_NAME"}

PROVIDER: Final = Provider(
    id="azure",
    docs="https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle",
    evidence="recorded",
    route=Route(
        id="azure/chat",
        protocol=OPENAI_CHAT,
        base_url="https://{resource}.openai.azure.com/openai/v1",
        variables=_VARIABLES,
        endpoint=post("/chat/completions"),
        auth=_AUTH,
        framing=SSE,
        rules=RULES,
    ),
    apis={
        "deployments": Route(
            id="azure/deployments",
            protocol=OPENAI_CHAT,
            # The latest version that is not a preview; azure--azure-provider-call was recorded with a preview.
            base_url="https://{resource}.openai.azure.com/openai?api-version=2024-10-21",
            variables=_VARIABLES,
            endpoint=post("/deployments/{model}/chat/completions"),
            auth=_AUTH,
            framing=SSE,
            rules=RULES,
        )
    },
)
