"""Where the bytes of media go that a model makes: into the call's sink, never into an event."""

import hashlib
from typing import NamedTuple

import msgspec

from llmcore.errors import InvalidRequestError
from llmcore.schema.base import excerpt
from llmcore.schema.parts import HandleSource, Media


class _Stored(NamedTuple):
    data: bytes
    media_type: str


class MediaSink:
    """Holds the media of one call in memory, by the digest of their bytes."""

    __slots__ = ("_items",)

    def __init__(self) -> None:
        self._items: dict[str, _Stored] = {}

    def put(self, data: bytes, media_type: str) -> str:
        """Keeps `data` and gives its handle, `media://sha256-<64 hex>`. The same bytes have the same handle."""
        handle = f"media://sha256-{hashlib.sha256(data).hexdigest()}"
        self._items[handle] = _Stored(data, media_type)
        return handle

    def get(self, handle: str) -> bytes:
        """The bytes behind a handle. Raises `InvalidRequestError` for one that is not of this call."""
        stored = self._items.get(handle)
        if stored is None:
            raise InvalidRequestError(f"no media of this call has the handle {excerpt(handle)}")
        return stored.data

    def resolve(self, media: Media) -> Media:
        """`media` with its bytes inline where its handle is one of this sink's; else as it is."""
        if not isinstance(media.source, HandleSource) or media.source.handle not in self._items:
            return media
        inline = Media.from_bytes(self.get(media.source.handle), media.media_type)
        return msgspec.structs.replace(media, source=inline.source)
