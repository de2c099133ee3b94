"""What a call used and what it cost: disjoint token counts, and money as an integer."""

from decimal import Decimal
from typing import Literal

from llmcore.schema.base import Data, JSONObject
from llmcore.schema.parts import Modality

Direction = Literal["input", "output"]


class ModalityTokens(Data, frozen=True, kw_only=True):
    """How many of the tokens already counted were of one modality; `cached` are those read from a cache."""

    direction: Direction
    modality: Modality
    tokens: int
    cached: int | None = None


class Unit(Data, frozen=True, kw_only=True):
    """Something counted apart from tokens: images, seconds of audio, web searches."""

    kind: str
    direction: Direction
    count: float
    measure: Literal["count", "second"] = "count"


class Usage(Data, frozen=True, kw_only=True):
    """Tokens of one call, each in exactly one of the first five counts. A count that was not reported is `None`.

    `input_tokens` is net of cache; `cache_write_tokens` are writes that live 5 minutes or whose lifetime is not
    stated; `output_tokens` include thinking. `reasoning_tokens` and `by_modality` are parts of those, for observation
    and pricing. `units` are counted apart. `native` is the provider's own record.
    """

    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    by_modality: tuple[ModalityTokens, ...] = ()
    units: tuple[Unit, ...] = ()
    estimated: bool = False
    native: JSONObject | None = None

    @property
    def total_input_tokens(self) -> int | None:
        """All tokens that went in, cached or not; `None` when none of the counts was reported."""
        return _sum(self.input_tokens, self.cache_read_tokens, self.cache_write_tokens, self.cache_write_1h_tokens)

    @property
    def total_tokens(self) -> int | None:
        """All tokens in and out; `None` when nothing was reported."""
        return _sum(self.total_input_tokens, self.output_tokens)


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


class Cost(Data, frozen=True, kw_only=True):
    """What a call cost. `micro_cents` are 1e-8 USD, from our own price table of version `pricing_version` at the
    served `tier`; `None` where there is no price, with `complete` false when any bucket had none. `reported` is the
    provider's own figure in USD, kept and never used."""

    micro_cents: int | None = None
    pricing_version: str | None = None
    tier: str | None = None
    complete: bool = False
    reported: Decimal | None = None

    @property
    def usd(self) -> Decimal | None:
        """Our own figure in USD, exactly."""
        return None if self.micro_cents is None else Decimal(self.micro_cents).scaleb(-8)
