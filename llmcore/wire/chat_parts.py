"""Messages, parts, calls and tools in the shape that OpenAI's Chat gave them and that other wires have taken over.

Names are the wire's own. `SHAPES` puts media into the part that a wire has for them.
"""

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from llmcore.schema.base import JSONObject
from llmcore.schema.parts import Base64Source, Media, Modality
from llmcore.wire.media import AUDIO_FORMATS, Reference
from llmcore.wire.texts import scrub

MediaShape = Literal["image_url", "input_audio", "file", "file_url", "document_url", "video_url"]


class CacheControl(msgspec.Struct, frozen=True, tag_field="type", tag="ephemeral", omit_defaults=True):
    ttl: str | UnsetType = UNSET


class TextPart(msgspec.Struct, frozen=True, tag_field="type", tag="text", omit_defaults=True):
    text: str
    cache_control: CacheControl | UnsetType = UNSET


class ImageUrl(msgspec.Struct, frozen=True, omit_defaults=True):
    url: str
    detail: str | UnsetType = UNSET


class ImagePart(msgspec.Struct, frozen=True, tag_field="type", tag="image_url", omit_defaults=True):
    image_url: ImageUrl
    cache_control: CacheControl | UnsetType = UNSET


class InputAudio(msgspec.Struct, frozen=True):
    data: str
    format: str


class AudioPart(msgspec.Struct, frozen=True, tag_field="type", tag="input_audio", omit_defaults=True):
    input_audio: InputAudio
    cache_control: CacheControl | UnsetType = UNSET


class FileData(msgspec.Struct, frozen=True, omit_defaults=True):
    filename: str | UnsetType = UNSET
    file_data: str | UnsetType = UNSET
    file_id: str | UnsetType = UNSET


class FilePart(msgspec.Struct, frozen=True, tag_field="type", tag="file", omit_defaults=True):
    file: FileData
    cache_control: CacheControl | UnsetType = UNSET


class DocumentPart(msgspec.Struct, frozen=True, tag_field="type", tag="document_url", omit_defaults=True):
    document_url: str
    document_name: str | UnsetType = UNSET
    cache_control: CacheControl | UnsetType = UNSET


class VideoUrl(msgspec.Struct, frozen=True):
    url: str


class VideoPart(msgspec.Struct, frozen=True, tag_field="type", tag="video_url", omit_defaults=True):
    video_url: VideoUrl
    cache_control: CacheControl | UnsetType = UNSET


class ThinkingPart(msgspec.Struct, frozen=True, tag_field="type", tag="thinking"):
    thinking: tuple[TextPart, ...]


MARKED: Final = (TextPart, ImagePart, AudioPart, FilePart, DocumentPart, VideoPart)
MarkedPart: TypeAlias = TextPart | ImagePart | AudioPart | FilePart | DocumentPart | VideoPart
ContentPart: TypeAlias = MarkedPart | ThinkingPart | msgspec.Raw
"""A part of a message's content. (Raw JSON is a part that the service itself wrote.)"""


class FunctionCall(msgspec.Struct, frozen=True):
    name: str
    arguments: str


class CallPart(msgspec.Struct, frozen=True, tag_field="type", tag="function"):
    id: str
    function: FunctionCall


class CustomInput(msgspec.Struct, frozen=True):
    name: str
    input: str


class CustomCallPart(msgspec.Struct, frozen=True, tag_field="type", tag="custom"):
    id: str
    custom: CustomInput


class AudioRef(msgspec.Struct, frozen=True):
    id: str


class ChatMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | tuple[ContentPart, ...] | UnsetType | None = UNSET
    refusal: str | UnsetType = UNSET
    reasoning_content: str | UnsetType = UNSET
    reasoning: str | UnsetType = UNSET
    reasoning_text: str | UnsetType = UNSET
    reasoning_details: tuple[JSONObject, ...] | UnsetType = UNSET
    audio: AudioRef | UnsetType = UNSET
    tool_calls: tuple[CallPart | CustomCallPart, ...] | UnsetType = UNSET
    tool_call_id: str | UnsetType = UNSET
    prefix: bool | UnsetType = UNSET


class FunctionSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    description: str | UnsetType = UNSET
    parameters: JSONObject
    strict: bool | UnsetType = UNSET


class FunctionTool(msgspec.Struct, frozen=True, tag_field="type", tag="function"):
    function: FunctionSpec


class ChosenName(msgspec.Struct, frozen=True):
    name: str


class ChosenTool(msgspec.Struct, frozen=True, tag_field="type", tag="function"):
    function: ChosenName


class SchemaSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    description: str | UnsetType = UNSET
    schema: JSONObject
    strict: bool | UnsetType = UNSET


class SchemaFormat(msgspec.Struct, frozen=True, tag_field="type", tag="json_schema"):
    json_schema: SchemaSpec


class ObjectFormat(msgspec.Struct, frozen=True, tag_field="type", tag="json_object"):
    pass


MEDIA: Final[dict[Modality, MediaShape]] = {"image": "image_url", "audio": "input_audio", "document": "file"}
"""The kind of content part that carries each modality."""


def shape_image(media: Media, source: Reference) -> MarkedPart | str:
    url = source.data or source.url
    if url is None:
        return "an image goes as bytes or by URL; an uploaded file is not taken"
    return ImagePart(ImageUrl(url, UNSET if media.detail is None else media.detail))


def shape_audio(media: Media, _source: Reference) -> MarkedPart | str:
    kind = AUDIO_FORMATS.get(media.media_type.lower())
    if not isinstance(media.source, Base64Source):
        return "a sound goes as bytes; use Media.from_bytes"
    if kind is None:
        return "the format of this sound has no name on this wire; use audio/wav or audio/mpeg"
    return AudioPart(InputAudio(media.source.data, kind))


def shape_file(media: Media, source: Reference, url: str | None = None) -> MarkedPart | str:
    if source.file is not None:
        return FilePart(FileData(file_id=source.file))
    data = source.data or url
    if data is None:
        return "a document goes as bytes or as an uploaded file; use Media.from_bytes or Media.from_file"
    name = media.name or ("document.pdf" if media.media_type == "application/pdf" else "document")
    return FilePart(FileData(filename=scrub(name), file_data=data))


def shape_file_url(media: Media, source: Reference) -> MarkedPart | str:
    return shape_file(media, source, source.url)


def shape_document(media: Media, source: Reference) -> MarkedPart | str:
    url = source.data or source.url
    if url is None:
        return "a document goes as bytes or by URL; an uploaded file is not taken"
    return DocumentPart(url, UNSET if media.name is None else scrub(media.name))


def shape_video(_media: Media, source: Reference) -> MarkedPart | str:
    url = source.data or source.url
    return "a video goes as bytes or by URL" if url is None else VideoPart(VideoUrl(url))


SHAPES: Final[dict[MediaShape, Callable[[Media, Reference], MarkedPart | str]]] = {
    "image_url": shape_image,
    "input_audio": shape_audio,
    "file": shape_file,
    "file_url": shape_file_url,
    "document_url": shape_document,
    "video_url": shape_video,
}
"""The content part of each shape, or the sentence that says why this source cannot go in it."""

HINTS: Final[dict[MediaShape, frozenset[str]]] = {
    "image_url": frozenset({"detail"}),
    "input_audio": frozenset(),
    "file": frozenset({"name"}),
    "file_url": frozenset({"name"}),
    "document_url": frozenset({"name"}),
    "video_url": frozenset(),
}
"""What each shape has a place for of `name`, `detail` and `transcript`. (The name of an uploaded file is known.)"""
