"""The arguments of a tool call: JSON text from a model, parsed leniently, judged once, never guessed at."""

import json
from typing import Final, NoReturn

import msgspec

from llmcore.errors import InvalidRequestError
from llmcore.wire.texts import scrubbed

_KINDS: Final[dict[type, str]] = {
    list: "an array",
    str: "a text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
}


def parse(text: str) -> object:
    """The value of the JSON `text`; `{}` for a blank one.

    Lenient in what loses nothing: raw control characters in texts are taken, lone surrogates replaced. NaN and
    infinities are not JSON. Raises `InvalidRequestError` for what does not parse.
    """
    if not text.strip():
        return {}
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _patiently(text)


def _patiently(text: str) -> object:
    try:
        return scrubbed(json.loads(text, strict=False, parse_constant=_no_constant))
    except RecursionError:
        raise InvalidRequestError("not JSON: nested too deeply") from None
    except ValueError as problem:
        raise InvalidRequestError(f"not JSON: {problem}") from None


def settle(text: str) -> tuple[str, str | None]:
    """The arguments that a finished call has, and why they are no object, `None` where they are one.

    Blank text means `{}` (a call without arguments); other text is kept as it is, right or wrong.
    """
    if not text.strip():
        return "{}", None
    try:
        value = parse(text)
    except InvalidRequestError as problem:
        return text, f"the arguments are {problem.message}"
    if isinstance(value, dict):
        return text, None
    return text, f"the arguments are {_KINDS.get(type(value), 'null')}, not an object"


def is_object(text: str) -> bool:
    """Whether `text` is a complete JSON object."""
    return bool(text.strip()) and settle(text)[1] is None


def written(value: object) -> str:
    """The JSON text of arguments that came as a value."""
    return msgspec.json.encode(scrubbed(value)).decode()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
