"""Where ids come from: a ULID for calls and messages, a counter for tests."""

import secrets
import time
from itertools import count
from typing import Final

from llmcore.protocol import Mint

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def ulid() -> str:
    """A ULID (https://github.com/ulid/spec): 26 characters, 48 bits of milliseconds, then 80 random bits."""
    number = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    return "".join([_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5)])


def mint_call() -> str:
    """A new id for a tool call: `tu_<ulid>`."""
    return f"tu_{ulid()}"


def counter(prefix: str = "tu_") -> Mint:
    """Ids that count from 0, for tests and comparisons."""
    numbers = count()
    return lambda: f"{prefix}{next(numbers)}"
