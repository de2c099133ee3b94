"""How large media may be, as a value: a route has its own, what is stored or passes a gateway has the durable one."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from llmcore.schema.base import Data
from llmcore.schema.message import Message
from llmcore.schema.parts import Media

KIB: Final = 1024


class MediaLimits(Data, frozen=True, kw_only=True):
    """Most bytes (decoded) of one inline part, by modality; most media parts, and most bytes of media, of one message.
    `None` is no limit; 0 refuses every inline part, so that a handle, a URL or a file is needed."""

    image: int | None = None
    audio: int | None = None
    video: int | None = None
    document: int | None = None
    parts: int | None = None
    message_bytes: int | None = None


DURABLE: Final = MediaLimits(image=256 * KIB, audio=256 * KIB, video=0, document=0)
"""What may be stored inline, or pass a gateway."""


class Excess(NamedTuple):
    """One thing that is over a limit: where it stands, and what is too much of it."""

    message_index: int
    part_index: int | None
    problem: str


def excesses(messages: Sequence[Message], limits: MediaLimits) -> Iterator[Excess]:
    """Everything in the messages that is over the limits, in order. Media in tool results count; media that are not
    inline have no size here."""
    if limits == MediaLimits():
        return
    for index, message in enumerate(messages):
        count = total = 0
        for position, part in enumerate(message.content):
            inner = part.content if part.type == "tool_result" else (part,)
            for media in inner:
                if not isinstance(media, Media):
                    continue
                size, modality = media.size or 0, media.modality
                count, total = count + 1, total + size
                most = getattr(limits, modality, None)
                if most is not None and size > most:
                    yield Excess(index, position, f"{size} bytes of {modality}, where {most} are taken")
        if limits.parts is not None and count > limits.parts:
            yield Excess(index, None, f"{count} media parts, where {limits.parts} are taken")
        if limits.message_bytes is not None and total > limits.message_bytes:
            yield Excess(index, None, f"{total} bytes of media, where {limits.message_bytes} are taken")
