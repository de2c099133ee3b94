"""What every lowering needs: losses that are never silent, options with names that are checked, legal tool names."""

import re
from typing import Final, NoReturn, TypeVar

import msgspec

from llmcore.errors import CapabilityError, ConfigError, InvalidRequestError
from llmcore.route import Model, unknown
from llmcore.schema.base import excerpt
from llmcore.schema.message import Message
from llmcore.schema.parts import Origin, Part
from llmcore.schema.request import Request
from llmcore.schema.response import CallWarning
from llmcore.wire.values import is_object

O = TypeVar("O", bound=msgspec.Struct)  # noqa: E741  # the options
B = TypeVar("B")

TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_-]")


class Losses:
    """The warnings of one lowering, and its refusals."""

    __slots__ = ("_model", "_protocol", "warnings")

    def __init__(self, model: Model[B]) -> None:
        self._model: Final = model
        self._protocol: Final = model.route.protocol.id
        self.warnings: list[CallWarning] = []

    def knob(self, subject: str, reason: str) -> None:
        """Something of the request's own settings is dropped or changed."""
        self.warnings.append(CallWarning(subject=subject, reason=reason, protocol=self._protocol))

    def part(self, message: Message, index: int | None, position: int | None, part: Part | None, reason: str) -> None:
        """Something that the history merely carries along is left out. Raises `CapabilityError` for a message that is
        marked critical."""
        if message.critical:
            self.refuse(f"{reason}; the message is marked critical", "message", index, position)
        self.warnings.append(
            CallWarning(
                subject="messages" if part is None else part.type,
                reason=reason,
                protocol=self._protocol,
                message_index=index,
                message_id=message.id,
                part_index=position,
                part_type=None if part is None else part.type,
            )
        )

    def refuse(self, reason: str, subject: str, index: int | None = None, position: int | None = None) -> NoReturn:
        """Raises `CapabilityError`: the route cannot carry something of the user's own."""
        raise CapabilityError(
            f"{place(index, position)}{self._model.id}: {reason}",
            subject=subject,
            message_index=index,
            part_index=position,
            provider=self._model.provider,
            model=self._model.name,
        )


def place(index: int | None, position: int | None = None) -> str:
    """`messages[2].content[0]: `, for sentences; nothing for what has no place."""
    if index is None:
        return ""
    return f"messages[{index}]: " if position is None else f"messages[{index}].content[{position}]: "


def options_of(request: Request, model: Model[B], kind: type[O]) -> O:
    """The request's options for this provider, else for its protocol, as the protocol's struct.

    Raises `ConfigError` for an unknown name, with the nearest, and for a value that the option does not take.
    """
    protocol = model.route.protocol.id
    key = model.provider if model.provider in request.provider_options else protocol
    given = request.provider_options.get(key)
    if given is None:
        return kind()
    if isinstance(given, kind):
        return given
    where = f"provider_options[{key!r}]"
    if not is_object(given):
        raise ConfigError(f"{where} is a dict or the {protocol} protocol's {kind.__name__}, not {type(given).__name__}")
    for name in given:
        if name not in kind.__struct_fields__:
            hint = unknown("option", name, kind.__struct_fields__)
            raise ConfigError(f"{where}: {hint}; what llmcore does not model goes through http.body")
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as problem:
        raise ConfigError(f"{where}: {problem}") from None


def checked_name(name: str, what: str) -> str:
    """`name` where the wire takes it. Raises `InvalidRequestError` naming the rule."""
    if not TOOL_NAME.match(name):
        raise InvalidRequestError(
            f"{what} is named {excerpt(name)}; a name has 1 to 64 letters, digits, underscores and hyphens", param=what
        )
    return name


def legal_name(name: str) -> str:
    """`name` made legal, for calls that the history carries along."""
    return _ILLEGAL.sub("_", name)[:64] or "unnamed"


def is_own(origin: Origin | None, model: Model[B]) -> bool:
    """Whether a part was written by this provider over this protocol, so that it may go back as it is."""
    return origin is not None and origin.provider == model.provider and origin.protocol == model.route.protocol.id
