"""Of what type the fields of a request are: Python does not ask when a struct is made, so sending asks once."""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias, cast

from llmcore.schema.base import Data, excerpt
from llmcore.schema.parts import Text
from llmcore.schema.request import (
    CacheOptions,
    Generation,
    HostedTool,
    HttpExtras,
    JsonFormat,
    ReasoningOptions,
    Request,
    TextFormat,
    ToolChoice,
    ToolDefinition,
)

_Kinds: TypeAlias = tuple[type, ...]
_TUPLE: Final = (tuple, list)
_NUMBER: Final = (int, float, type(None))
_COUNT: Final = (int, type(None))
_WORD: Final = (str, type(None))
_FLAG: Final = (bool, type(None))

FIELDS: Final[Mapping[type[Data], Mapping[str, _Kinds]]] = {
    Request: {
        "system": (str, *_TUPLE),
        "messages": _TUPLE,
        "tools": _TUPLE,
        "tool_choice": (ToolChoice, type(None)),
        "generation": (Generation,),
        "reasoning": (ReasoningOptions, type(None)),
        "response_format": (TextFormat, JsonFormat, type(None)),
        "output_modalities": _TUPLE,
        "cache": (CacheOptions, type(None)),
        "provider_options": (dict,),
        "http": (HttpExtras,),
        "metadata": (dict,),
    },
    Generation: {
        "max_tokens": _COUNT,
        "temperature": _NUMBER,
        "top_p": _NUMBER,
        "top_k": _COUNT,
        "stop": _TUPLE,
        "seed": _COUNT,
        "presence_penalty": _NUMBER,
        "frequency_penalty": _NUMBER,
        "logprobs": _FLAG,
        "top_logprobs": _COUNT,
    },
    ToolChoice: {"mode": (str,), "name": _WORD, "parallel": _FLAG},
    ReasoningOptions: {"effort": _WORD, "budget_tokens": _COUNT, "summary": _WORD},
    TextFormat: {},
    JsonFormat: {"schema": (dict, type(None)), "name": (str,), "description": _WORD, "strict": _FLAG},
    CacheOptions: {"mode": (str,), "ttl": _WORD, "key": _WORD},
    HttpExtras: {"headers": (dict,), "query": (dict,), "body": (dict,)},
    ToolDefinition: {
        "name": (str,),
        "description": (str,),
        "parameters": (dict,),
        "strict": _FLAG,
        "side_effects": _WORD,
        "requires_workspace": (bool,),
    },
    HostedTool: {"kind": (str,), "config": (dict,)},
}
"""The types that each field of a request may have, and of what stands in it."""

ITEMS: Final[Mapping[tuple[type[Data], str], _Kinds]] = {
    (Request, "system"): (Text,),
    (Request, "tools"): (ToolDefinition, HostedTool),
    (Request, "output_modalities"): (str,),
    (Generation, "stop"): (str,),
    (HttpExtras, "headers"): (str,),
    (HttpExtras, "query"): (str,),
}
"""The types of what stands in a field that is a tuple, or of the values of one that is a dict."""


class Odd(NamedTuple):
    """A field that is not as it should be: its place (`tools[0].parameters`), what is wrong, what to do."""

    field: str
    what: str
    remedy: str


class _Reader(NamedTuple):
    """A struct type made ready for a quick look: all its fields at once, and the types that each may have."""

    fields: Callable[[object], tuple[object, ...]]
    kinds: tuple[tuple[str, frozenset[type]], ...]


_READERS: Final = {
    kind: _Reader(attrgetter(*fields), tuple([(name, frozenset(kinds)) for name, kinds in fields.items()]))
    for kind, fields in FIELDS.items()
    if fields
}
_NESTED: Final = frozenset(_READERS)
_DEFAULT: Final = Generation()


def odd_fields(struct: Data, path: str = "") -> list[Odd]:
    """The fields of a request (or of a struct in one), and of the structs in it, that are of another type than they
    should be; messages are looked at elsewhere. It costs some microseconds."""
    found = list[Odd]()
    owner = type(struct)
    reader = _READERS[owner]
    for (name, kinds), value in zip(reader.kinds, reader.fields(struct), strict=True):
        kind = type(value)
        if kind not in kinds and (kind is bool or not isinstance(value, FIELDS[owner][name])):
            found.append(_odd(f"{path}{name}", value, FIELDS[owner][name]))
        elif kind in _NESTED:
            if value != _DEFAULT:
                found += odd_fields(cast("Data", value), f"{path}{name}.")
        elif value and (owner, name) in ITEMS:
            found += _odd_items(f"{path}{name}", value, ITEMS[owner, name])
    return found


def _odd_items(path: str, values: object, kinds: _Kinds) -> list[Odd]:
    """The items of a tuple, or the values of a dict, that are of another type than they should be."""
    found = list[Odd]()
    if isinstance(values, str):  # `system` may be one text
        return found
    pairs = cast("dict[object, object]", values).items() if isinstance(values, dict) else enumerate(_series(values))
    for key, value in pairs:
        place = f"{path}[{key if isinstance(key, int) else excerpt(str(key))}]"
        if not isinstance(value, kinds):
            found.append(_odd(place, value, kinds))
        elif type(value) in _NESTED:
            found += odd_fields(cast("Data", value), f"{place}.")
        elif isinstance(value, Text) and not isinstance(cast("object", value.text), str):
            found.append(_odd(f"{place}.text", value.text, (str,)))
    return found


def _series(values: object) -> Sequence[object]:
    return cast("Sequence[object]", values)


def _odd(field: str, value: object, kinds: _Kinds) -> Odd:
    made = [kind.__name__ for kind in kinds if issubclass(kind, Data)]
    named = [kind.__name__ for kind in kinds if kind not in (list, type(None))]
    allowed = " or ".join(named) + (" (or None)" if type(None) in kinds else "")
    what = f"{a(type(value).__name__)} stands where {a(allowed)} belongs"
    remedy = f"make it with {' or '.join(f'{name}(...)' for name in made)}" if made else f"pass {a(allowed)}"
    return Odd(field, what, remedy)


def a(name: str) -> str:
    """`name` with its article."""
    return f"{'an' if name[:1] in 'aeiouAEIO' else 'a'} {name}"


def field_at_fault(value: object, is_at_fault: Callable[[object], bool], path: str = "") -> str | None:
    """The innermost field of a struct, as `tools[0].parameters`, of which `is_at_fault` holds."""
    steps = list[tuple[str, object]]()
    if isinstance(value, Data):
        steps = [(f"{path}.{name}" if path else name, getattr(value, name)) for name in value.__struct_fields__]
    elif isinstance(value, tuple | list):
        steps = [(f"{path}[{number}]", item) for number, item in enumerate(_series(cast("object", value)))]
    step = next((step for step in steps if is_at_fault(step[1])), None)
    return (path or None) if step is None else field_at_fault(step[1], is_at_fault, step[0])
