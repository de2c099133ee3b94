"""What a caller writes (a text, messages or a request, and keywords), made into one `Request`."""

import functools
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias, TypedDict, Unpack, cast, get_type_hints

import msgspec

from llmcore.errors import ConfigError, InvalidRequestError
from llmcore.route import unknown
from llmcore.schema.message import Message
from llmcore.schema.parts import Modality, Text
from llmcore.schema.request import (
    CacheOptions,
    Generation,
    HttpExtras,
    ReasoningOptions,
    Request,
    RequestTool,
    ResponseFormat,
    ToolChoice,
)

Prompt: TypeAlias = str | Sequence[Message] | Request


class RequestFields(TypedDict, total=False):
    """The fields of `Request` but `messages`, with those of `Generation` laid flat. A test holds it to both."""

    system: str | Sequence[Text]
    tools: Sequence[RequestTool]
    tool_choice: ToolChoice | None
    reasoning: ReasoningOptions | None
    response_format: ResponseFormat | None
    output_modalities: Sequence[Modality]
    cache: CacheOptions | None
    provider_options: dict[str, object]
    http: HttpExtras
    metadata: dict[str, str]
    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    stop: Sequence[str]
    seed: int | None
    presence_penalty: float | None
    frequency_penalty: float | None
    logprobs: bool | None
    top_logprobs: int | None


GENERATION: Final = frozenset(Generation.__struct_fields__)
OWN: Final = ("timeout", "strict")
"""The keywords of a call that are none of its request's."""
FIELDS: Final = tuple(RequestFields.__annotations__)


def as_request(prompt: Prompt, **fields: Unpack[RequestFields]) -> Request:
    """The request that `prompt` and the keywords make; a keyword wins over the field of a given `Request`.

    Raises `ConfigError` for a keyword that is none, naming the nearest, and `InvalidRequestError` for a value of
    another type and for a prompt that is neither text, messages nor a request.
    """
    match prompt:
        case str():
            request = Request(messages=(Message.user(prompt),))
        case Request():
            request = prompt
        case _:
            messages = _messages(prompt)
            for index, message in enumerate(messages):
                if not isinstance(message, Message):  # pyright: ignore[reportUnnecessaryIsInstance]  # untyped callers
                    raise InvalidRequestError(
                        f"messages[{index}] is {type(message).__name__}, not a Message; "
                        "use Message.user(…), Message.assistant(…), Message.tool(…)"
                    )
            request = Request(messages=messages)
    if not fields:
        return request
    changes = dict[str, object]()
    sampling = dict[str, object]()
    for name, value in fields.items():
        if name not in FIELDS:
            raise ConfigError(
                f"{unknown('keyword', name, (*FIELDS, *OWN))}; what llmcore does not model goes through http="
            )
        (sampling if name in GENERATION else changes)[name] = _typed(name, value)
    if sampling:
        changes["generation"] = msgspec.structs.replace(request.generation, **sampling)
    return msgspec.structs.replace(request, **changes)


def _messages(prompt: object) -> tuple[Message, ...]:
    if isinstance(prompt, Message | bytes) or not isinstance(prompt, Iterable):
        hint = "; put it in a list" if isinstance(prompt, Message) else ""
        raise InvalidRequestError(
            f"a prompt is a str, a list of Message or a Request, not {type(prompt).__name__}{hint}"
        )
    return tuple(cast("Iterable[Message]", prompt))


def _typed(name: str, value: object) -> object:
    """The value of a keyword, a list made a tuple where the field is one."""
    try:
        return msgspec.convert(value, _types()[name])
    except msgspec.ValidationError as problem:
        raise InvalidRequestError(f"{name}=: {problem}", param=name) from None


@functools.cache
def _types() -> dict[str, Any]:
    return {**get_type_hints(Request), **get_type_hints(Generation)}
