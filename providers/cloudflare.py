"""Cloudflare: models on its own machines (`cloudflare`, Workers AI) and other vendors' through its AI Gateway.

`cloudflare:@cf/openai/gpt-oss-20b` is Workers AI; `cloudflare/gateway:openai/gpt-5-mini` a vendor's model behind a
gateway of one's own, which holds the vendor's key or bills for it. The gateway's own token goes into
`cf-aig-authorization`; a vendor's key of one's own goes beside it, as `http=HttpExtras(headers={"authorization": …})`.
"""

from typing import Final

import msgspec

from llmcore import auth
from llmcore.capabilities import Capabilities
from llmcore.framing import SSE
from llmcore.protocols.openai_chat import OPENAI_CHAT, Quirks
from llmcore.route import ModelRule, Provider, Route, post

__all__ = ["PROVIDER"]

_WORKERS_AI: Final = Quirks(
    max_tokens_field="max_tokens",
    knobs={"top_k": "top_k"},
    media={"audio": None, "document": None},
    # Some models' schemas take nothing but texts: "Type mismatch of '/messages/1/content', 'array' not in 'string'".
    # https://github.com/cloudflare/cloudflare-os/issues/54
    text_content="string",
    empty_content="empty",
)

PROVIDER: Final = Provider(
    id="cloudflare",
    docs="https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility/",
    evidence="recorded",
    route=Route(
        id="cloudflare/workers-ai",
        protocol=OPENAI_CHAT,
        base_url="https://api.cloudflare.com/client/v4/accounts/{account}/ai/v1",
        variables={"account": "CLOUDFLARE_ACCOUNT_ID"},
        endpoint=post("/chat/completions"),
        auth=auth.bearer("CLOUDFLARE_API_TOKEN"),
        framing=SSE,
        capabilities=Capabilities(tools=True, streaming=True, streaming_tool_calls=True),
        quirks=_WORKERS_AI,
    ),
    apis={
        # https://developers.cloudflare.com/ai-gateway/usage/chat-completion/
        "gateway": Route(
            id="cloudflare/gateway",
            protocol=OPENAI_CHAT,
            base_url="https://gateway.ai.cloudflare.com/v1/{account}/{gateway}/compat",
            variables={"account": "CLOUDFLARE_ACCOUNT_ID", "gateway": "CLOUDFLARE_GATEWAY_ID"},
            endpoint=post("/chat/completions"),
            auth=auth.header("cf-aig-authorization", "CF_AIG_TOKEN", prefix="Bearer ", optional=True),
            framing=SSE,
            capabilities=Capabilities(tools=True, streaming=True, streaming_tool_calls=True),
            # oc-cloudflare-ai-gateway--cloudflare-ai-gateway-workers-ai-gpt-oss-20b-tools-tool-call
            rules=(ModelRule(match="workers-ai/*", quirks=msgspec.structs.asdict(_WORKERS_AI)),),
        )
    },
)
