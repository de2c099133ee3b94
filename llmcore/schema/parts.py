"""The parts of a message: text, reasoning, tool calls and results, JSON, media, and blocks with no canonical shape."""

import base64
import mimetypes
import os
import re
from pathlib import Path
from typing import ClassVar, Final, Literal, TypeAlias, cast

import msgspec

from llmcore.errors import InvalidRequestError
from llmcore.schema.base import CacheHint, Data, JSONObject, excerpt
from llmcore.url import redact_query

Modality = Literal["text", "image", "audio", "video", "document"]


class Origin(Data, frozen=True, kw_only=True):
    """Who wrote a part: provider id, protocol id and the model asked for. Decides where the part may be replayed."""

    provider: str
    protocol: str
    model: str


class Citation(Data, frozen=True, kw_only=True):
    """A source that the model gave for a piece of its text.

    `start` and `end` are offsets into the text of the block, in the provider's unit (characters unless its protocol's
    page says otherwise). `native` is the provider's own record, kept whole for replay.
    """

    url: str | None = None
    title: str | None = None
    quote: str | None = None
    start: int | None = None
    end: int | None = None
    native: JSONObject | None = None


class TokenLogprob(Data, frozen=True, kw_only=True):
    """One token of the output with its log probability (natural logarithm) and, where asked for, the alternatives."""

    token: str
    logprob: float
    bytes: tuple[int, ...] | None = None
    top: tuple["TokenLogprob", ...] = ()


class Text(Data, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Text. A refusal is a text part with `refusal` set: it is in the message, and not in `Response.text`."""

    type: ClassVar[Literal["text"]] = "text"
    text: str
    citations: tuple[Citation, ...] = ()
    refusal: bool = False
    logprobs: tuple[TokenLogprob, ...] = ()
    cache: CacheHint | None = None
    provider_metadata: JSONObject | None = None
    origin: Origin | None = None


class Reasoning(Data, frozen=True, kw_only=True, tag_field="type", tag="reasoning"):
    """What the model thought, as far as it is shown: text, and what proves or hides it.

    `signature` and `redacted` are the provider's opaque strings, replayed byte for byte where `origin` allows or not
    at all. Empty text does not mean that there is nothing to replay.
    """

    type: ClassVar[Literal["reasoning"]] = "reasoning"
    text: str = ""
    signature: str | None = None
    redacted: str | None = None
    cache: CacheHint | None = None
    provider_metadata: JSONObject | None = None
    origin: Origin | None = None


class ToolCall(Data, frozen=True, kw_only=True, tag_field="type", tag="tool_call"):
    """A call that the model wants made.

    `id` is always ours; `wire_id` is what the provider sent. `arguments` is the JSON text as the provider sent it
    (`{}` when that was blank); `error` says why it does not parse, and such a call is never executed.
    """

    type: ClassVar[Literal["tool_call"]] = "tool_call"
    id: str
    name: str
    arguments: str = "{}"
    wire_id: str | None = None
    error: str | None = None
    provider_executed: bool = False
    cache: CacheHint | None = None
    provider_metadata: JSONObject | None = None
    origin: Origin | None = None

    @property
    def input(self) -> object:
        """The parsed arguments; for a call of a function tool a `dict`.

        Raises `InvalidRequestError` when they do not parse (`error` says why).
        """
        if self.error is not None:
            raise InvalidRequestError(f"the arguments of tool call {self.id} ({excerpt(self.name)}): {self.error}")
        from llmcore.wire.arguments import parse  # here: the schema stands below `wire`, which owns the leniency

        return parse(self.arguments)


class Json(Data, frozen=True, kw_only=True, tag_field="type", tag="json"):
    """A JSON value as (part of) the result of a tool."""

    type: ClassVar[Literal["json"]] = "json"
    value: object
    cache: CacheHint | None = None


BASE64: Final = re.compile(r"[A-Za-z0-9+/]*={0,2}")


class Base64Source(Data, frozen=True, kw_only=True, tag_field="type", tag="base64"):
    """The bytes themselves, as base64 text (standard alphabet, padded)."""

    type: ClassVar[Literal["base64"]] = "base64"
    data: str

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.data), str):
            raise InvalidRequestError(f"base64 data is a str, not {type(self.data).__name__}; use Media.from_bytes")
        if len(self.data) % 4 or not BASE64.fullmatch(self.data):
            raise InvalidRequestError(
                "the inline data of a media part is not base64 (standard alphabet, padded, no line breaks); "
                "use Media.from_bytes"
            )

    def __repr__(self) -> str:
        return f"Base64Source(<{len(self.data)} characters>)"


class UrlSource(Data, frozen=True, kw_only=True, tag_field="type", tag="url"):
    """Bytes at a URL, which is passed on to the provider and never fetched by us."""

    type: ClassVar[Literal["url"]] = "url"
    url: str

    def __repr__(self) -> str:
        return f"UrlSource(url={excerpt(redact_query(self.url))})"


class HandleSource(Data, frozen=True, kw_only=True, tag_field="type", tag="handle"):
    """Bytes in a media store or in the call's sink, named by their digest: `media://sha256-<64 hex>`."""

    type: ClassVar[Literal["handle"]] = "handle"
    handle: str


class FileSource(Data, frozen=True, kw_only=True, tag_field="type", tag="file"):
    """A file that was uploaded to `provider`, under its reference there. Any other provider refuses it."""

    type: ClassVar[Literal["file"]] = "file"
    provider: str
    ref: str


Source: TypeAlias = Base64Source | UrlSource | HandleSource | FileSource
SOURCES: Final = (Base64Source, UrlSource, HandleSource, FileSource)

MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+*-]+\Z")
HANDLE: Final = re.compile(r"media://sha256-[0-9a-f]{64}\Z")
MAX_NAME: Final = 255
DOCUMENT_PREFIXES: Final = (
    "text/",
    "application/pdf",
    "application/json",
    "application/xml",
    "application/rtf",
    "application/msword",
    "application/vnd.ms-",
    "application/vnd.openxmlformats-officedocument.",
    "application/vnd.oasis.opendocument.",
)


def modality_of(media_type: str) -> Modality:
    """The modality of a media type. Raises `InvalidRequestError` for a type that is malformed or has no modality."""
    if len(media_type) > MAX_NAME or not MEDIA_TYPE.match(media_type):
        raise InvalidRequestError(
            f"media type {excerpt(media_type)} is not a bare type/subtype of at most {MAX_NAME} characters; "
            "leave parameters such as `;charset=` away"
        )
    lowered = media_type.lower()
    match lowered.partition("/")[0]:
        case "image":
            return "image"
        case "audio":
            return "audio"
        case "video":
            return "video"
        case _ if lowered.startswith(DOCUMENT_PREFIXES):
            return "document"
        case _:
            raise InvalidRequestError(
                f"media type {excerpt(media_type)} is none that a model takes: "
                "use image/*, audio/*, video/*, text/*, application/pdf or an office document's type"
            )


class Media(Data, frozen=True, kw_only=True, tag_field="type", tag="media"):
    """An image, a sound, a film or a document. Made by `from_bytes`, `from_path`, `from_url`, `from_file`.

    `transcript` is the text of a sound where it is known; `detail` is how closely an image should be looked at
    (`auto`, `low`, `high`, or a provider's own word).
    """

    type: ClassVar[Literal["media"]] = "media"
    media_type: str
    source: Source
    name: str | None = None
    transcript: str | None = None
    detail: str | None = None
    cache: CacheHint | None = None
    provider_metadata: JSONObject | None = None
    origin: Origin | None = None

    def __post_init__(self) -> None:
        for field in ("media_type", "name", "transcript", "detail"):
            value = getattr(self, field)
            if not isinstance(value, str) and (value is not None or field == "media_type"):
                raise InvalidRequestError(f"the {field} of a media part is a str, not {type(value).__name__}")
        if not isinstance(cast("object", self.source), SOURCES):
            kind = type(self.source).__name__
            raise InvalidRequestError(f"the source of a media part is no {kind}; use Media.from_bytes or its like")
        modality_of(self.media_type)
        if self.name is not None and len(self.name) > MAX_NAME:
            raise InvalidRequestError(
                f"the name of a media part is at most {MAX_NAME} characters, not {len(self.name)}"
            )
        for field, value in (("name", self.name), ("transcript", self.transcript)):
            if value is not None and value[:5].lower() == "data:":
                raise InvalidRequestError(
                    f"the {field} of a media part is a `data:` URI; use Media.from_bytes for data"
                )
        source = self.source
        if isinstance(source, HandleSource) and not HANDLE.match(source.handle):
            raise InvalidRequestError(f"a media handle is media://sha256-<64 hex>, not {excerpt(source.handle)}")
        if isinstance(source, UrlSource) and source.url[:5].lower() == "data:":
            raise InvalidRequestError("the URL of a media part is a `data:` URI; use Media.from_bytes for data")

    @property
    def modality(self) -> Modality:
        return modality_of(self.media_type)

    @property
    def size(self) -> int | None:
        """Number of bytes, decoded; `None` where they are not at hand (a URL, a handle, a file)."""
        if not isinstance(self.source, Base64Source):
            return None
        data = self.source.data
        return len(data) // 4 * 3 - (len(data) - len(data.rstrip("=")))

    @classmethod
    def from_bytes(
        cls,
        data: bytes,
        media_type: str,
        *,
        name: str | None = None,
        detail: str | None = None,
        cache: CacheHint | None = None,
        transcript: str | None = None,
    ) -> "Media":
        """An inline part of `data`."""
        source = Base64Source(data=base64.b64encode(data).decode("ascii"))
        return cls(media_type=media_type, source=source, name=name, detail=detail, cache=cache, transcript=transcript)

    @classmethod
    def from_path(
        cls,
        path: str | os.PathLike[str],
        media_type: str | None = None,
        *,
        name: str | None = None,
        detail: str | None = None,
        cache: CacheHint | None = None,
    ) -> "Media":
        """An inline part of a file, read now; its type from its ending unless given. A document keeps the file's name.
        Raises `InvalidRequestError` for an ending without a known type; `OSError` as reading does."""
        file = Path(path)
        kind = media_type or mimetypes.guess_type(file.name)[0]
        if kind is None:
            raise InvalidRequestError(
                f"the media type of {excerpt(file.name)} is not known from its name; pass media_type"
            )
        if name is None and modality_of(kind) == "document":  # the only ones whose name a provider reads
            name = file.name
        return cls.from_bytes(file.read_bytes(), kind, name=name, detail=detail, cache=cache)

    @classmethod
    def from_url(
        cls,
        url: str,
        media_type: str | None = None,
        *,
        name: str | None = None,
        detail: str | None = None,
        cache: CacheHint | None = None,
    ) -> "Media":
        """A part that the provider fetches from `url`; its type from the path's ending unless given (`image/*` will
        do for an image of unknown format)."""
        kind = media_type or mimetypes.guess_type(url.partition("?")[0].partition("#")[0])[0]
        if kind is None:
            raise InvalidRequestError(
                f"the media type of {excerpt(redact_query(url))} is not known from its path; pass media_type"
            )
        return cls(media_type=kind, source=UrlSource(url=url), name=name, detail=detail, cache=cache)

    @classmethod
    def from_file(
        cls, provider: str, ref: str, media_type: str, *, name: str | None = None, cache: CacheHint | None = None
    ) -> "Media":
        """A part that was uploaded to `provider` before, by its reference there."""
        return cls(media_type=media_type, source=FileSource(provider=provider, ref=ref), name=name, cache=cache)

    # Last in the class: after it the name `bytes` means this method in the class body.
    def bytes(self) -> bytes:
        """The bytes of an inline part. Raises `InvalidRequestError` when they are not at hand."""
        if not isinstance(self.source, Base64Source):
            raise InvalidRequestError(f"the bytes of this media part are not inline: its source is {self.source.type}")
        return base64.b64decode(self.source.data)


class Opaque(Data, frozen=True, kw_only=True, tag_field="type", tag="opaque"):
    """A block that has no canonical shape: the provider's own, or a part of a newer llmcore. Kept whole.

    `kind` is the block's own type; `data` its JSON, byte for byte as it came.
    """

    type: ClassVar[Literal["opaque"]] = "opaque"
    kind: str
    data: msgspec.Raw
    cache: CacheHint | None = None
    origin: Origin | None = None

    def __repr__(self) -> str:
        return f"Opaque(kind={excerpt(self.kind)}, <{len(bytes(self.data))} bytes>)"


ResultPart: TypeAlias = Text | Json | Media | Opaque


class ToolResult(Data, frozen=True, kw_only=True, tag_field="type", tag="tool_result"):
    """What a tool gave for the call `tool_call_id` (the call's `id`, which is ours)."""

    type: ClassVar[Literal["tool_result"]] = "tool_result"
    tool_call_id: str
    name: str = ""
    content: tuple[ResultPart, ...] = ()
    is_error: bool = False
    provider_executed: bool = False
    cache: CacheHint | None = None
    provider_metadata: JSONObject | None = None
    origin: Origin | None = None


Part: TypeAlias = Text | Reasoning | ToolCall | ToolResult | Media | Opaque
