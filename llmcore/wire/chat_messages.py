"""Lowering of messages for wires in the shape of OpenAI's Chat: flat messages, each result one of the tool's.

Media cannot stand in a result on this wire: its text stays, its media follow in one message of the user behind all
results of the turn. What an assistant said has fixed places: reasoning, content, refusal, audio, calls.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, Protocol, assert_never

import msgspec
from msgspec import UNSET, UnsetType

from llmcore.errors import InvalidRequestError
from llmcore.route import Model
from llmcore.schema.base import CacheHint, excerpt
from llmcore.schema.message import Message, Role
from llmcore.schema.parts import Json, Media, Modality, Opaque, Part, Reasoning, ResultPart, Text, ToolCall, ToolResult
from llmcore.schema.request import Request
from llmcore.wire.arguments import settle, written
from llmcore.wire.chat_parts import (
    HINTS,
    MARKED,
    MEDIA,
    SHAPES,
    AudioRef,
    CacheControl,
    CallPart,
    ChatMessage,
    ContentPart,
    CustomCallPart,
    CustomInput,
    FunctionCall,
    MediaShape,
    TextPart,
    ThinkingPart,
)
from llmcore.wire.ids import CallIds, IdRule
from llmcore.wire.lowering import Losses, is_own, legal_name, place
from llmcore.wire.marks import Marks
from llmcore.wire.media import reference_of
from llmcore.wire.texts import scrub
from llmcore.wire.values import at, mapping, sequence
from llmcore.wire.values import text as text_of


class ChatRules(Protocol):
    """What of a protocol's quirks decides how messages go. (The quirks struct has the words on each.)"""

    @property
    def system_role(self) -> Literal["system", "developer"]: ...
    @property
    def text_content(self) -> Literal["parts", "string"]: ...
    @property
    def empty_content(self) -> Literal["null", "empty", "omit"]: ...
    @property
    def trailing_assistant(self) -> Literal["plain", "prefix"]: ...
    @property
    def user_after_results(self) -> Literal["direct", "answered"]: ...
    @property
    def reasoning_field(self) -> str: ...
    @property
    def reasoning_replay(self) -> Literal["never", "tool_turns", "always"]: ...
    @property
    def reasoning_blank(self) -> bool: ...
    @property
    def media(self) -> Mapping[Modality, MediaShape | None]: ...
    @property
    def cache_breakpoints(self) -> int: ...
    @property
    def tool_ids(self) -> IdRule: ...


class Draft(msgspec.Struct, frozen=True):
    """What the lowering of one request shares."""

    request: Request
    model: Model[Any]
    rules: ChatRules
    losses: Losses
    marks: Marks
    ids: CallIds
    messages: list[ChatMessage]
    pending: list[ContentPart]
    """Media out of tool results, which follow the results in one message of the user."""
    called: dict[str, str] = {}
    """The names of the calls so far, by their id."""


def lower_messages(draft: Draft) -> tuple[ChatMessage, ...]:
    """The messages of the request in order, the instructions first.

    Raises `CapabilityError` for content that the route cannot carry, `InvalidRequestError` for a history that no route
    takes.
    """
    parts = [(position, part) for position, part in enumerate(draft.request.system_parts)]
    lower_system(draft, None, Message(role="system", content=tuple([part for _, part in parts])))
    leading = True
    for index, message in enumerate(draft.request.messages):
        if message.role != "tool":
            flush_media(draft)
        if message.role != "system":
            leading = False
        if message.role == "system" and not leading and draft.model.capabilities.system_in_list is False:
            lower_late_system(draft, index, message)
        else:
            LOWER_ROLE[message.role](draft, index, message)
    flush_media(draft)
    if not draft.messages:
        raise InvalidRequestError("the request has no message with content; add one with Message.user(…)")
    last = draft.messages[-1]
    if last.role == "assistant" and draft.rules.trailing_assistant == "prefix":
        draft.messages[-1] = msgspec.structs.replace(last, prefix=True)
    if draft.marks.auto is not None:
        mark_last(draft, draft.marks.auto)
    return tuple(draft.messages)


def lower_system(draft: Draft, index: int | None, message: Message) -> None:
    content = lower_parts(draft, index, message)
    if content:
        draft.messages.append(ChatMessage(role=draft.rules.system_role, content=collapsed(draft, content)))


def lower_late_system(draft: Draft, index: int, message: Message) -> None:
    """An instruction in the middle, for routes that take them only at the start."""
    text = "\n\n".join([part.text for part in lower_parts(draft, index, message) if isinstance(part, TextPart)])
    if text:
        draft.losses.part(message, index, None, None, "a later system message goes as marked text of the user")
        append_user(draft, f"[System instruction]\n{text}")


def lower_user(draft: Draft, index: int, message: Message) -> None:
    content = lower_parts(draft, index, message)
    if content:
        append_user(draft, collapsed(draft, content))


def append_user(draft: Draft, content: str | tuple[ContentPart, ...]) -> None:
    """A message of the user's; behind results with an answer between, where the service demands one."""
    if follows_result(draft) and draft.rules.user_after_results == "answered":
        draft.messages.append(ChatMessage(role="assistant", content="OK"))
    draft.messages.append(ChatMessage(role="user", content=content))


def lower_parts(draft: Draft, index: int | None, message: Message) -> list[ContentPart]:
    """Text and media of a message; blank text is left out, which is warned of."""
    content = list[ContentPart]()
    for position, part in enumerate(message.content):
        match part:
            case Text() if part.text.strip():
                content.append(lower_text(draft, message, part, index, position))
            case Text():
                draft.losses.part(message, index, position, part, "blank text is left out")
            case Media():
                content.append(lower_media(draft, message, part, index, position))
            case _:
                raise InvalidRequestError(f"{place(index, position)}a {message.role} message holds no {part.type} part")
    return content


def lower_text(draft: Draft, message: Message, text: Text, index: int | None, position: int) -> TextPart:
    """A text. Its sources stay behind: they are the provider's own record, which history carries along."""
    if text.citations:
        draft.losses.hint(message, index, position, text, "citations")
    return TextPart(scrub(text.text), UNSET if text.cache is None else mark(draft, text.cache))


def plain_text(draft: Draft, message: Message, text: Text, index: int, position: int) -> str:
    """A text where the wire has nothing but its letters."""
    leave_mark(draft, text)
    if text.citations:
        draft.losses.hint(message, index, position, text, "citations")
    return scrub(text.text)


def lower_media(draft: Draft, message: Message, media: Media, index: int | None, position: int) -> ContentPart:
    shape = draft.rules.media.get(media.modality, MEDIA.get(media.modality))
    if shape is None:
        draft.losses.refuse(f"takes no {media.modality}; leave the part out", "media", index, position)
    reference = reference_of(media, draft.model.provider)
    if isinstance(reference, str):
        draft.losses.refuse(reference, "media", index, position)
    part = SHAPES[shape](media, reference)
    if isinstance(part, str):
        draft.losses.refuse(f"{media.media_type}: {part}", "media", index, position)
    for field, hint in (("name", media.name), ("detail", media.detail), ("transcript", media.transcript)):
        if hint is not None and (field not in HINTS[shape] or (field == "name" and reference.file is not None)):
            draft.losses.hint(message, index, position, media, field)
    control = mark(draft, media.cache)
    return part if control is UNSET else msgspec.structs.replace(part, cache_control=control)


def collapsed(draft: Draft, content: list[ContentPart]) -> str | tuple[ContentPart, ...]:
    """One text as a string; several parts as a list, or as one string where the service wants that."""
    texts = [part.text for part in content if isinstance(part, TextPart) and part.cache_control is UNSET]
    if len(texts) == len(content) and (len(texts) == 1 or draft.rules.text_content == "string"):
        return "\n\n".join(texts)
    return tuple(content)


def mark(draft: Draft, hint: CacheHint | None, *, carries: bool = True) -> CacheControl | UnsetType:
    ttl = draft.marks.take(hint, carries=carries)
    return UNSET if ttl is None else CacheControl(ttl)


def leave_mark(draft: Draft, part: Part | ResultPart) -> None:
    """Counts the cache hint of a part that the wire cannot mark."""
    if part.cache is not None:
        mark(draft, part.cache, carries=False)


def mark_last(draft: Draft, ttl: CacheHint) -> None:
    """Marks the end of the instructions and of the last message of the user: the prefixes that the next turn shares."""
    wanted = [draft.rules.system_role, "user"][: draft.rules.cache_breakpoints]
    for role in wanted:
        index = next((i for i in reversed(range(len(draft.messages))) if draft.messages[i].role == role), None)
        if index is not None:
            message = draft.messages[index]
            parts = (TextPart(message.content),) if isinstance(message.content, str) else message.content
            last = parts[-1] if isinstance(parts, tuple) and parts else None
            if isinstance(parts, tuple) and isinstance(last, MARKED):
                marked = msgspec.structs.replace(last, cache_control=CacheControl(ttl))
                draft.messages[index] = msgspec.structs.replace(message, content=(*parts[:-1], marked))


def lower_assistant(draft: Draft, index: int, message: Message) -> None:
    """What the model said. Its parts have fixed places on this wire: reasoning, content, refusal, audio, calls."""
    fields = dict[str, Any]()
    content, calls = list[ContentPart](), list[CallPart | CustomCallPart]()
    refused = message.metadata is not None and message.metadata.provider == draft.model.provider
    for position, part in enumerate(message.content):
        own = part.type != "text" and is_own(part.origin, draft.model)
        match part:
            case Text() if part.refusal and refused:
                fields["refusal"] = fields.get("refusal", "") + plain_text(draft, message, part, index, position)
            case Text():
                content.append(lower_text(draft, message, part, index, position))
            case ToolCall() if not part.provider_executed:
                calls.append(lower_call(draft, part, own, index, position))
            case Opaque() if own:
                leave_mark(draft, part)
                content.append(part.data)
            case Media() if own and (audio := text_of(at(part.provider_metadata, "audio", "id"))):
                leave_mark(draft, part)
                fields["audio"] = AudioRef(audio)
            case Media() if part.transcript:
                leave_mark(draft, part)
                draft.losses.part(message, index, position, part, "of a spoken answer the transcript goes")
                content.append(TextPart(scrub(part.transcript)))
            case Reasoning():
                leave_mark(draft, part)
            case _:
                leave_mark(draft, part)
                draft.losses.part(message, index, position, part, f"{part.type}: {NO_PLACE}")
    thoughts = lower_thoughts(draft, index, message, bool(calls), fields)
    said = lower_said(draft, index, message, content)
    if not (said or thoughts or fields or calls):
        return
    if thoughts:
        said = (*thoughts, *((TextPart(said),) if isinstance(said, str) else said))
    empty = EMPTY_CONTENT[draft.rules.empty_content] if calls or "audio" in fields else ""
    if calls:
        fields["tool_calls"] = tuple(calls)
    draft.messages.append(ChatMessage(role="assistant", content=said or empty, **fields))


NO_PLACE: Final = "the wire has no place for it in an answer: left out"


def lower_said(draft: Draft, index: int, message: Message, content: list[ContentPart]) -> str | tuple[ContentPart, ...]:
    """The text as one string (the pieces of an answer are one answer), or a list where a part of it needs that."""
    texts = [part.text for part in content if isinstance(part, TextPart) and part.cache_control is UNSET]
    text = "".join(texts)
    if len(texts) == len(content) and text.strip():
        return text
    kept = tuple([part for part in content if not isinstance(part, TextPart) or part.text.strip()])
    if len(kept) < len(content):
        draft.losses.part(message, index, None, None, "blank text is left out")
    return kept


EMPTY_CONTENT: Final = {"null": None, "empty": "", "omit": UNSET}


def lower_call(draft: Draft, call: ToolCall, own: bool, index: int, position: int) -> CallPart | CustomCallPart:
    leave_mark(draft, call)
    draft.called[call.id] = call.name
    wanted = call.wire_id if own or (call.wire_id and draft.rules.tool_ids.allows(call.wire_id)) else None
    wire_id = draft.ids.of_call(call.id, wanted)
    name = call.name if own and call.name else legal_name(call.name)
    if name != call.name:
        draft.losses.knob("tool_call.name", f"{place(index, position)}{excerpt(call.name)} goes as {excerpt(name)}")
    if at(call.provider_metadata, "type") == "custom" and call.error is None:
        text = str(call.input)
        if own:
            return CustomCallPart(wire_id, CustomInput(name, text))
        return CallPart(wire_id, FunctionCall(name, written({"input": text})))
    arguments, error = settle(scrub(call.arguments))
    if call.error is not None or error is not None:
        draft.losses.knob("tool_call.arguments", f"{place(index, position)}they are no JSON object and go as {{}}")
        arguments = "{}"
    return CallPart(wire_id, FunctionCall(name, arguments))


def lower_thoughts(
    draft: Draft, index: int, message: Message, has_calls: bool, fields: dict[str, Any]
) -> list[ContentPart]:
    """The reasoning that the service wants back, under the field that it came in; gives what goes into the content."""
    rules = draft.rules
    replay = rules.reasoning_replay == "always" or (
        rules.reasoning_replay == "tool_turns" and (has_calls or follows_result(draft))
    )
    own = list[Reasoning]()
    for position, part in enumerate(message.content):
        if isinstance(part, Reasoning):
            is_ours = is_own(part.origin, draft.model)
            if replay and (part.origin is None or is_ours):
                own.append(part)
                continue
            if is_ours and not message.critical:
                continue  # the service's own, which it does not want back: nothing is lost
            whose = "the service takes no reasoning back here" if part.origin is None or not replay else "not its own"
            draft.losses.part(message, index, position, part, f"reasoning is left out: {whose}")
    text = scrub("".join([part.text for part in own]))
    details = [mapping(item) for part in own for item in sequence(at(part.provider_metadata, "reasoning_details"))]
    if details:
        fields["reasoning_details"] = tuple(details)
        return []
    if not text and not (replay and rules.reasoning_blank):
        return []
    remembered = text_of(at(own[0].provider_metadata, "field")) if own else None
    field = remembered if remembered in REPLAY_FIELDS else rules.reasoning_field
    if field == "thinking":
        return [ThinkingPart((TextPart(text),))]
    fields["reasoning" if field == "reasoning_details" else field] = text
    return []


REPLAY_FIELDS: Final = frozenset({"reasoning_content", "reasoning", "reasoning_text", "thinking"})


def follows_result(draft: Draft) -> bool:
    return bool(draft.messages) and draft.messages[-1].role == "tool"


def lower_tool(draft: Draft, index: int, message: Message) -> None:
    """A result as text; its media wait for the message that follows all results of the turn."""
    for position, result in enumerate(message.content):
        if not isinstance(result, ToolResult):
            raise InvalidRequestError(f"{place(index, position)}a tool message holds one result, not {result.type}")
        leave_mark(draft, result)
        wire_id = draft.ids.of_result(result.tool_call_id)
        if wire_id is None:
            raise InvalidRequestError(
                f"{place(index, position)}no call before it has the id {excerpt(result.tool_call_id)}"
            )
        texts = [text for part in result.content if (text := lower_result(draft, message, part, index, position))]
        media = [part for part in result.content if isinstance(part, Media)]
        if media:
            texts.append(f"[{len(media)} media in the message that follows the results]")
            name = legal_name(result.name or draft.called.get(result.tool_call_id, ""))
            draft.pending.append(TextPart(f"[Media of the result of {name}, call {wire_id}]"))
            draft.pending.extend([lower_media(draft, message, part, index, position) for part in media])
        text = "\n".join(texts)
        if result.is_error and not text.lower().startswith("error"):
            text = f"Error: {text}"
        draft.messages.append(ChatMessage(role="tool", content=text, tool_call_id=wire_id))


def lower_result(draft: Draft, message: Message, part: ResultPart, index: int, position: int) -> str | None:
    """The text of a part of a result; `None` for media, which have none."""
    match part:
        case Text():
            return plain_text(draft, message, part, index, position)
        case Json():
            leave_mark(draft, part)
            return written(part.value)
        case Opaque():
            leave_mark(draft, part)
            return bytes(part.data).decode("utf-8", "replace")
        case Media():
            return None
        case _:
            assert_never(part)


def flush_media(draft: Draft) -> None:
    if draft.pending:
        append_user(draft, tuple(draft.pending))
        draft.pending.clear()


LOWER_ROLE: Final[dict[Role, Callable[[Draft, int, Message], None]]] = {
    "system": lower_system,
    "user": lower_user,
    "assistant": lower_assistant,
    "tool": lower_tool,
}
