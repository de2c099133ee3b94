"""Media in an answer: sounds that come in pieces, images that come whole. Their bytes go to the call's sink."""

from typing import Final

from llmcore.errors import ProtocolError
from llmcore.events import Event, MediaDelta, MediaEnd, MediaStart
from llmcore.media import MediaSink
from llmcore.schema.base import excerpt
from llmcore.schema.parts import HandleSource, Media, Origin, UrlSource
from llmcore.wire.media import Base64Pieces, audio_type, from_data_url, image_type
from llmcore.wire.texts import scrub

MARK: Final = 4
"""Bytes by which the format of a sound is known."""


class Sound:
    """A spoken answer as far as it has come: base64 and a transcript in pieces."""

    __slots__ = ("_head", "_id", "_pieces", "_transcript", "_type", "expires_at", "wire_id")

    def __init__(self, block: str) -> None:
        self._id: Final = block
        self._pieces = Base64Pieces()
        self._transcript: list[str] = []
        self._type: str | None = None
        self._head = b""
        self.wire_id: str | None = None
        self.expires_at: int | None = None

    def transcript(self, text: str) -> None:
        """Takes a piece of what is said."""
        self._transcript.append(text)

    def data(self, text: str, out: list[Event]) -> None:
        """Takes a piece of base64. Raises `ProtocolError` for what is none."""
        try:
            data = self._pieces.feed(text)
        except ValueError as problem:
            raise ProtocolError(f"audio data is not base64: {problem}") from None
        if self._type is not None:
            out.append(MediaDelta(id=self._id))
            return
        self._head += data
        if len(self._head) >= MARK:
            self._start(out)

    def end(self, sink: MediaSink, origin: Origin, out: list[Event]) -> None:
        """Ends the sound; its id and lifetime stay with it, for replay. Raises `ProtocolError` where it breaks off."""
        try:
            data = self._pieces.finish()
        except ValueError as problem:
            raise ProtocolError(f"audio data breaks off: {problem}") from None
        kind = self._type or self._start(out)
        media = Media(
            media_type=kind,
            source=HandleSource(handle=sink.put(data, kind)),
            transcript=scrub("".join(self._transcript)) or None,
            provider_metadata={"audio": {"id": self.wire_id, "expires_at": self.expires_at}},
            origin=origin,
        )
        out.append(MediaEnd(id=self._id, media=media))

    def _start(self, out: list[Event]) -> str:
        self._type = audio_type(self._head)
        out.append(MediaStart(id=self._id, media_type=self._type))
        return self._type


def image(block: str, url: str, sink: MediaSink, out: list[Event]) -> None:
    """An image of the answer, whole: inline as a `data:` URL, or by URL. Raises `ProtocolError` for a broken one."""
    inline = from_data_url(url)
    if inline is not None:
        kind, data = inline
        inline_image(block, data, kind if kind.lower().startswith("image/") else image_type(data), sink, out)
    elif url[:5].lower() == "data:":
        raise ProtocolError(f"an image of the answer is a broken data: URL: {excerpt(url)}")
    else:
        _whole(block, Media(media_type="image/*", source=UrlSource(url=url)), out)


def inline_image(block: str, data: bytes, kind: str, sink: MediaSink, out: list[Event]) -> None:
    """An image of the answer, its bytes at hand."""
    _whole(block, Media(media_type=kind, source=HandleSource(handle=sink.put(data, kind))), out)


def _whole(block: str, media: Media, out: list[Event]) -> None:
    out.append(MediaStart(id=block, media_type=media.media_type))
    out.append(MediaEnd(id=block, media=media))
