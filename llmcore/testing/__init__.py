"""What a test of a program that uses llmcore needs, and a test of a protocol or a framing.

- `ScriptedModel` plays answers through the whole pipeline.
- `forbid_network` refuses every call that would leave this machine.
- `check_protocol` and `check_framing` property-test any `Protocol` and `Framing`, `llmcore.testing.strategies` has what
  they draw from. These need the extra `llmcore[testing]`.

Nothing in here is imported by the library.
"""

from typing import TYPE_CHECKING, Any

from llmcore.testing.network import forbid_network
from llmcore.testing.scripted import ScriptedModel
from llmcore.testing.turns import Answer, Mishap, Turn, unfold

if TYPE_CHECKING:
    from llmcore.testing.framings import check_framing
    from llmcore.testing.protocols import Sample, check_protocol

__all__ = [
    "Answer",
    "Mishap",
    "Sample",
    "ScriptedModel",
    "Turn",
    "check_framing",
    "check_protocol",
    "forbid_network",
    "unfold",
]

_LAZY = {
    "Sample": "llmcore.testing.protocols",
    "check_protocol": "llmcore.testing.protocols",
    "check_framing": "llmcore.testing.framings",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'llmcore.testing' has no attribute {name!r}")
    from importlib import import_module

    from llmcore.errors import ConfigError

    try:
        return getattr(import_module(_LAZY[name]), name)
    except ModuleNotFoundError as problem:
        if problem.name != "hypothesis":
            raise
        raise ConfigError(f'{name} needs the extra: pip install "llmcore[testing]"') from None


def __dir__() -> list[str]:
    return sorted(__all__)
