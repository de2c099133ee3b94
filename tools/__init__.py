"""The model's tools: what a model may call. Typed tools arrive with `@tool`; until then a tool is a `ToolDefinition`,
and its call is answered by hand (`Message.tool`)."""

__all__: list[str] = []
