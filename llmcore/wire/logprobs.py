"""Log probabilities in the shape that OpenAI gave them."""

import msgspec

from llmcore.schema.parts import TokenLogprob
from llmcore.wire.texts import scrub


class WireLogprob(msgspec.Struct, gc=False):
    token: str
    logprob: float
    bytes: list[int] | None = None
    top_logprobs: "list[WireLogprob] | None" = None


class WireLogprobs(msgspec.Struct, gc=False):
    content: list[WireLogprob] | None = None
    refusal: list[WireLogprob] | None = None


def token_logprobs(tokens: list[WireLogprob] | None) -> tuple[TokenLogprob, ...]:
    """The canonical tokens, in order; none where there are none."""
    return tuple(
        [
            TokenLogprob(
                token=scrub(token.token),
                logprob=token.logprob,
                bytes=None if token.bytes is None else tuple(token.bytes),
                top=token_logprobs(token.top_logprobs),
            )
            for token in tokens or ()
        ]
    )
