"""What every lowering needs: losses that are never silent, options with names that are checked, legal tool names."""

import difflib
import re
from typing import Final, NoReturn, TypeVar

import msgspec

from llmcore.errors import CapabilityError, ConfigError, InvalidRequestError
from llmcore.route import Model, merged, unknown
from llmcore.schema.base import excerpt
from llmcore.schema.message import Message
from llmcore.schema.parts import Origin, Part, ResultPart
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

    def hint(self, message: Message, index: int | None, position: int, part: Part | ResultPart, field: str) -> None:
        """A hint on a part that is sent, or a record beside it, has no place on this wire. Also in a critical message:
        what it says is sent."""
        self.warnings.append(
            CallWarning(
                subject=f"{part.type}.{field}",
                reason=f"the wire has no place for the {field} of this part: left out",
                protocol=self._protocol,
                message_index=index,
                message_id=message.id,
                part_index=position,
                part_type=part.type,
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
    """The request's options as the protocol's struct: those under the protocol's id, and laid upon them, option by
    option, those under the provider's.

    Options under other ids are for other models that the request may go to. Raises `ConfigError` for an id that is all
    but one of these two, for an unknown option, both with the nearest name, and for a value that it does not take.
    """
    ids = (model.route.protocol.id, model.provider)
    for key in request.provider_options:
        near = [] if key in ids else difflib.get_close_matches(str(key), ids, n=1, cutoff=NEAR)
        if near:
            raise ConfigError(f"provider_options[{excerpt(key)}]: did you mean {near[0]!r}?")
    options = kind()
    for key in ids:
        if key in request.provider_options:
            options = _with_options(options, request.provider_options[key], key, ids[0])
    return options


NEAR: Final = 0.8
"""How like (`difflib`'s ratio) an id must be to one of ours to be a slip of it. A test holds that no two ids are."""


def _with_options(options: O, given: object, key: str, protocol: str) -> O:
    """`options` with what is given under `key` laid upon them."""
    kind = type(options)
    if isinstance(given, kind):
        return merged(options, given)
    where = f"provider_options[{key!r}]"
    if not is_object(given):
        raise ConfigError(f"{where} is a dict or the {protocol} protocol's {kind.__name__}, not {type(given).__name__}")
    for name in given:
        if name not in kind.__struct_fields__:
            hint = unknown("option", str(name), kind.__struct_fields__)
            raise ConfigError(f"{where}: {hint}; what llmcore does not model goes through http.body")
    try:
        typed = msgspec.convert(given, kind)
    except msgspec.ValidationError as problem:
        raise ConfigError(f"{where}: {problem}") from None
    return msgspec.structs.replace(options, **{name: getattr(typed, name) for name in given})


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
