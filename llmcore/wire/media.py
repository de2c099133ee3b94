"""Media on the wire: data URLs, the formats of sounds, base64 that comes in pieces."""

import base64
import binascii
from typing import Final, NamedTuple

from llmcore.schema.base import excerpt
from llmcore.schema.parts import Base64Source, FileSource, Media, UrlSource

AUDIO_FORMATS: Final = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/vnd.wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/flac": "flac",
    "audio/x-flac": "flac",
    "audio/ogg": "ogg",
    "audio/opus": "opus",
    "audio/aac": "aac",
    "audio/x-aac": "aac",
    "audio/mp4": "m4a",
    "audio/x-m4a": "m4a",
    "audio/aiff": "aiff",
    "audio/x-aiff": "aiff",
    "audio/webm": "webm",
    "audio/pcm": "pcm16",
    "audio/l16": "pcm16",
}
"""The short name that wires use for the format of a sound, by its media type (lower case)."""

_SOUNDS: Final = (
    (b"RIFF", "audio/wav"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"OggS", "audio/ogg"),
    (b"\xff\xf1", "audio/aac"),
    (b"\xff\xf9", "audio/aac"),
)


def audio_type(data: bytes) -> str:
    """The media type of a sound by its first bytes; raw samples (`audio/pcm`) have no mark of their own."""
    return next((kind for mark, kind in _SOUNDS if data.startswith(mark)), "audio/pcm")


_IMAGES: Final = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)


def image_type(data: bytes) -> str:
    """The media type of an image by its first bytes; PNG, which services send unless asked, where they say nothing."""
    return next((kind for mark, kind in _IMAGES if data.startswith(mark)), "image/png")


class Reference(NamedTuple):
    """How a wire may be told of a media part: exactly one of a `data:` URL, a URL, the reference of an upload."""

    data: str | None = None
    url: str | None = None
    file: str | None = None


def reference_of(media: Media, provider: str) -> Reference | str:
    """The reference of a part, or the sentence that says why `provider` cannot be given it."""
    match media.source:
        case Base64Source(data=data):
            return Reference(data=f"data:{media.media_type};base64,{data}")
        case UrlSource(url=url):
            return Reference(url=url)
        case FileSource(provider=owner, ref=ref) if owner == provider:
            return Reference(file=ref)
        case FileSource(provider=owner):
            return f"the file was uploaded to {excerpt(owner)}; upload it here or pass its bytes (Media.from_bytes)"
        case _:
            return "the bytes behind a media handle are not at hand; resolve it in its store first"


def from_data_url(url: str) -> tuple[str, bytes] | None:
    """Media type and bytes of a base64 `data:` URL; `None` for any other URL, and for one that is broken."""
    head, comma, payload = url.partition(",")
    if not comma or head[:5].lower() != "data:" or not head.lower().endswith(";base64"):
        return None
    data = from_base64(payload) if payload else b""
    if data is None:
        return None
    return head[5:].partition(";")[0] or "application/octet-stream", data


def from_base64(text: str) -> bytes | None:
    """The bytes of base64 text; `None` for what is none, or is empty."""
    try:
        return base64.b64decode(text, validate=True) or None
    except (binascii.Error, ValueError):
        return None


class Base64Pieces:
    """Bytes from base64 that comes in pieces, each one padded or cut anywhere."""

    __slots__ = ("_data", "_rest")

    def __init__(self) -> None:
        self._data: list[bytes] = []
        self._rest = ""

    def feed(self, text: str) -> bytes:
        """The bytes that `text` completes. Raises `ValueError` for what is not base64."""
        text = self._rest + text
        whole = len(text) - len(text) % 4
        self._rest = text[whole:]
        data = base64.b64decode(text[:whole], validate=True)
        self._data.append(data)
        return data

    def finish(self) -> bytes:
        """All bytes. Raises `ValueError` when the text broke off inside a group."""
        if self._rest:
            self.feed("=" * (-len(self._rest) % 4))
        return b"".join(self._data)
