"""llmcore: every large language model over its provider's own HTTP protocol. Raw HTTP, one typed model, no vendor SDK.

    import llmcore

    with llmcore.Client() as client:
        print(client.generate("openai/chat:gpt-5-mini", "Say hello.").text)

Everything here is loaded at its first use: `import llmcore` itself loads nothing.
"""

from typing import TYPE_CHECKING, Any

from llmcore._version import __version__

if TYPE_CHECKING:
    from llmcore import events, history, lifecycle, registry, schema
    from llmcore.auth import bearer, custom, header, none, query
    from llmcore.capabilities import Capabilities
    from llmcore.client import AsyncClient, AsyncStream, Check, Client, Prepared, Stream
    from llmcore.client.oneoff import generate, model, stream
    from llmcore.errors import (
        AuthError,
        BudgetExceededError,
        CallCancelledError,
        CapabilityError,
        ConfigError,
        ContentFilterError,
        ContextLengthError,
        InvalidRequestError,
        LLMError,
        OverloadedError,
        ProtocolError,
        QuotaError,
        RateLimitError,
        RequestTimeoutError,
        StreamTruncatedError,
        TransportError,
    )
    from llmcore.framing import SSE
    from llmcore.http import HttpRequest, Timeout
    from llmcore.registry import load_routes
    from llmcore.route import Endpoint, Model, ModelRule, Provider, Route, post
    from llmcore.schema import (
        CacheOptions,
        Generation,
        HostedTool,
        HttpExtras,
        Json,
        JsonFormat,
        Media,
        Message,
        Opaque,
        Reasoning,
        ReasoningOptions,
        Request,
        Response,
        Text,
        TextFormat,
        ToolCall,
        ToolChoice,
        ToolDefinition,
        ToolResult,
        Usage,
    )
    from llmcore.secret import Secret

__all__ = [
    "SSE",
    "AsyncClient",
    "AsyncStream",
    "AuthError",
    "BudgetExceededError",
    "CacheOptions",
    "CallCancelledError",
    "Capabilities",
    "CapabilityError",
    "Check",
    "Client",
    "ConfigError",
    "ContentFilterError",
    "ContextLengthError",
    "Endpoint",
    "Generation",
    "HostedTool",
    "HttpExtras",
    "HttpRequest",
    "InvalidRequestError",
    "Json",
    "JsonFormat",
    "LLMError",
    "Media",
    "Message",
    "Model",
    "ModelRule",
    "Opaque",
    "OverloadedError",
    "Prepared",
    "ProtocolError",
    "Provider",
    "QuotaError",
    "RateLimitError",
    "Reasoning",
    "ReasoningOptions",
    "Request",
    "RequestTimeoutError",
    "Response",
    "Route",
    "Secret",
    "Stream",
    "StreamTruncatedError",
    "Text",
    "TextFormat",
    "Timeout",
    "ToolCall",
    "ToolChoice",
    "ToolDefinition",
    "ToolResult",
    "TransportError",
    "Usage",
    "__version__",
    "bearer",
    "custom",
    "events",
    "generate",
    "header",
    "history",
    "lifecycle",
    "load_routes",
    "model",
    "none",
    "post",
    "query",
    "registry",
    "schema",
    "stream",
]

_HOMES = {
    "llmcore.auth": ("bearer", "custom", "header", "none", "query"),
    "llmcore.capabilities": ("Capabilities",),
    "llmcore.client": ("AsyncClient", "AsyncStream", "Check", "Client", "Prepared", "Stream"),
    "llmcore.client.oneoff": ("generate", "model", "stream"),
    "llmcore.framing": ("SSE",),
    "llmcore.http": ("HttpRequest", "Timeout"),
    "llmcore.registry": ("load_routes",),
    "llmcore.route": ("Endpoint", "Model", "ModelRule", "Provider", "Route", "post"),
    "llmcore.secret": ("Secret",),
    "llmcore": ("events", "history", "lifecycle", "registry", "schema"),
}
_LAZY = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'llmcore' has no attribute {name!r}")
    from importlib import import_module

    home = _LAZY.get(name, "llmcore.errors" if name.endswith("Error") else "llmcore.schema")
    value = import_module(f"llmcore.{name}") if home == "llmcore" else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
