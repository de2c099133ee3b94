"""A message: who says it, and its parts in order."""

from typing import Literal

from llmcore.schema.base import Diagnosed, JSONObject
from llmcore.schema.parts import Media, Opaque, Part, Reasoning, ResultPart, Text, ToolCall, ToolResult
from llmcore.schema.usage import Cost, Usage

Role = Literal["system", "user", "assistant", "tool"]
MessageStatus = Literal["complete", "partial", "cancelled", "error"]


class MessageMetadata(Diagnosed, frozen=True, kw_only=True):
    """Where a message came from and what it took; every field is optional. The rules of content hold while `status`
    is `complete` (or unset): the message of an error or an abandoned stream carries one of the others."""

    model: str | None = None
    provider: str | None = None
    status: MessageStatus | None = None
    usage: Usage | None = None
    cost: Cost | None = None
    routing: JSONObject | None = None
    parent_tool_call_id: str | None = None
    correlation_id: str | None = None
    user_id: str | None = None
    team_id: str | None = None
    provider_metadata: JSONObject | None = None


class Message(Diagnosed, frozen=True, kw_only=True):
    """One message. Made by `user`, `assistant`, `tool` and `system`; `critical` content may never be lost on the way
    to a provider, not even where history is otherwise allowed to lose it."""

    role: Role
    content: tuple[Part, ...]
    id: str | None = None
    metadata: MessageMetadata | None = None
    critical: bool = False

    @classmethod
    def user(cls, *content: str | Text | Media, id: str | None = None, critical: bool = False) -> "Message":
        """What the user says: text and media."""
        return cls(role="user", content=_parts(content), id=id, critical=critical)

    @classmethod
    def assistant(
        cls,
        *content: str | Text | Reasoning | ToolCall | ToolResult | Media | Opaque,
        id: str | None = None,
        critical: bool = False,
        metadata: MessageMetadata | None = None,
    ) -> "Message":
        """What the model said: text, reasoning, tool calls, media, opaque blocks, results the provider made."""
        return cls(role="assistant", content=_parts(content), id=id, metadata=metadata, critical=critical)

    @classmethod
    def system(cls, *content: str | Text, id: str | None = None, critical: bool = False) -> "Message":
        """An instruction. Leading ones are the same as `Request.system`."""
        return cls(role="system", content=_parts(content), id=id, critical=critical)

    @classmethod
    def tool(
        cls,
        call: ToolCall | str,
        *content: str | ResultPart,
        name: str | None = None,
        is_error: bool = False,
        id: str | None = None,
        critical: bool = False,
    ) -> "Message":
        """The result of one tool call: of `call`, or of the call with that id (ours, not the wire's)."""
        call_id, called = (call.id, call.name) if isinstance(call, ToolCall) else (call, "")
        result = ToolResult(
            tool_call_id=call_id,
            name=name if name is not None else called,
            content=tuple(Text(text=part) if isinstance(part, str) else part for part in content),
            is_error=is_error,
        )
        return cls(role="tool", content=(result,), id=id, critical=critical)

    @property
    def text(self) -> str:
        """The text parts joined, refusals left out."""
        return "".join([part.text for part in self.content if isinstance(part, Text) and not part.refusal])

    @property
    def refusal(self) -> str | None:
        """The refusal's text, `None` where nothing was refused."""
        refused = [part.text for part in self.content if isinstance(part, Text) and part.refusal]
        return "".join(refused) if refused else None

    @property
    def reasoning(self) -> str:
        """The text of the reasoning parts joined."""
        return "".join([part.text for part in self.content if isinstance(part, Reasoning)])

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that the client must run, in order (not those that the provider ran itself)."""
        return tuple(part for part in self.content if isinstance(part, ToolCall) and not part.provider_executed)


def _parts(content: tuple[str | Part, ...]) -> tuple[Part, ...]:
    return tuple(Text(text=part) if isinstance(part, str) else part for part in content)
