"""Ids of tool calls as a wire wants them: the provider's own where it made the call, else derived and legal."""

import hashlib
import re
from typing import Final, Literal

import msgspec

_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LEGAL: Final = {"token": re.compile(r"[A-Za-z0-9_-]+\Z"), "alphanumeric": re.compile(r"[A-Za-z0-9]+\Z")}


class IdRule(msgspec.Struct, frozen=True, kw_only=True):
    """What a vendor takes for the id of a tool call: letters and digits, with `_` and `-` in a `token`; at most
    `length` characters, or exactly that many."""

    characters: Literal["token", "alphanumeric"] = "token"
    length: int = 40
    exact: bool = False

    def allows(self, identifier: str) -> bool:
        """Whether the vendor takes it as it is."""
        size = len(identifier)
        fits = size == self.length if self.exact else size <= self.length
        return fits and _LEGAL[self.characters].match(identifier) is not None


class CallIds:
    """The wire ids of one request: deterministic, legal, unique, the same for a call and its result.

    An id is taken as it is where the rule allows it and no call before it has it; else it is a digest of the call's
    own id, so that it stays the same on every later turn.
    """

    __slots__ = ("_by_call", "_rule", "_used")

    def __init__(self, rule: IdRule) -> None:
        self._rule: Final = rule
        self._by_call: dict[str, str] = {}
        self._used: set[str] = set()

    def of_call(self, call_id: str, wanted: str | None) -> str:
        """The wire id of a call; `wanted` is the provider's own id of it, where it is the one that made it."""
        known = self._by_call.get(call_id)
        if known is not None:
            return known
        chosen = wanted if wanted and wanted not in self._used else call_id
        attempt = 0
        # A wire id that the provider itself sent goes back as it is, whatever the rule says.
        while chosen in self._used or not (chosen == wanted or self._rule.allows(chosen)):
            chosen = self._derived(call_id, attempt)
            attempt += 1
        self._used.add(chosen)
        self._by_call[call_id] = chosen
        return chosen

    def of_result(self, call_id: str) -> str | None:
        """The wire id that the call has; `None` for a call that is not in the history."""
        return self._by_call.get(call_id)

    def _derived(self, call_id: str, attempt: int) -> str:
        seed = call_id if attempt == 0 else f"{call_id}\x00{attempt}"
        number = int.from_bytes(hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest(), "big")
        digits = list[str]()
        for _ in range(self._rule.length if self._rule.exact else min(self._rule.length, 24)):
            number, digit = divmod(number, len(_ALPHABET))
            digits.append(_ALPHABET[digit])
        return "".join(digits)
