"""Looking into JSON that nobody has described: always an answer, never an exception."""

from typing import Final, TypeGuard

from llmcore.schema.base import JSONObject

_NOTHING: Final[JSONObject] = {}


def is_object(value: object) -> TypeGuard[JSONObject]:
    """Whether `value` is a JSON object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Whether `value` is a JSON array."""
    return isinstance(value, list)


def is_series(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    """Whether `value` is written as a JSON array: a list, or a tuple."""
    return isinstance(value, list | tuple)


def mapping(value: object) -> JSONObject:
    """`value` where it is a JSON object, else an empty one."""
    return value if is_object(value) else _NOTHING


def sequence(value: object) -> list[object]:
    """`value` where it is a JSON array, else an empty one."""
    return value if is_array(value) else []


def text(value: object) -> str | None:
    """`value` where it is a text that is not blank, else `None`."""
    return value if isinstance(value, str) and value.strip() else None


def at(value: object, *path: str) -> object:
    """What stands at `path` inside objects, `None` where there is nothing."""
    for name in path:
        value = mapping(value).get(name)
    return value
