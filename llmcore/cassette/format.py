"""Recorded HTTP traffic as one JSON file per scenario: the structs, reading, writing, and what a file must keep.

    {"version": 1, "name": "…", "source": "live" | "local-server" | "synthetic", "recorded_at": "2026-01-31T12:00:00Z",
     "provider": "openai", "protocol": "openai-chat", "model": "…", "tags": ["stream", …],
     "interactions": [{"request":  {"method", "url", "headers", "body" | "body_base64"},
                       "response": {"status", "headers",
                                    "chunks": [[ms, text], …] | "chunks_base64": [[ms, base64], …]}}]}

A chunk is what one read gave; `ms` counts milliseconds from the request and never falls. The body of a request is a
JSON object or array where it was one (its meaning is kept, its white space is not), else its text, else base64. Text
and base64 of the same thing exclude each other. Fields that this version does not know are ignored. No credential
stands in a file: a header or a query parameter that carries one is refused, in reading as in writing.
"""

import base64
import binascii
import os
import re
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias
from urllib.parse import parse_qsl, urlsplit

import msgspec

from llmcore.errors import ConfigError
from llmcore.route import unknown
from llmcore.schema.base import excerpt
from llmcore.schema.canonical import canonical

VERSION: Final = 1
"""Version of the file format that is written here."""

TrafficSource = Literal["live", "local-server", "synthetic"]
"""Who answered: a provider, a model server of one's own, or nobody (written by hand)."""

Chunk: TypeAlias = tuple[int, str]
"""Whole milliseconds from the request, and what came then."""

SECRET_HEADERS: Final = frozenset(
    {"authorization", "proxy-authorization", "api-key", "x-api-key", "x-goog-api-key", "x-amz-security-token", "cookie"}
    | {"set-cookie"}
)
SECRET_QUERY: Final = frozenset({"key", "api_key", "api-key", "apikey", "access_token", "token", "sig", "signature"})

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_SCHEMES: Final = ("http", "https")


class RecordedRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was sent, without what proves who sent it."""

    method: str
    url: str
    headers: dict[str, str] = {}
    body: object = None
    body_base64: str | None = None

    @property
    def content(self) -> bytes:
        """The body as bytes: a JSON body in its canonical form, text in UTF-8, `b""` without one."""
        if self.body_base64 is not None:
            return base64.b64decode(self.body_base64)
        if self.body is None:
            return b""
        return self.body.encode() if isinstance(self.body, str) else canonical(self.body)


class RecordedResponse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came back: a body of any length in the pieces in which it came."""

    status: int
    headers: dict[str, str] = {}
    chunks: tuple[Chunk, ...] = ()
    chunks_base64: tuple[Chunk, ...] = ()

    @property
    def pieces(self) -> tuple[tuple[int, bytes], ...]:
        """The pieces of the body as bytes, each with its milliseconds from the request."""
        if self.chunks_base64:
            return tuple((ms, base64.b64decode(data)) for ms, data in self.chunks_base64)
        return tuple((ms, text.encode()) for ms, text in self.chunks)

    @property
    def content(self) -> bytes:
        """The whole body."""
        return b"".join([data for _, data in self.pieces])


class Interaction(msgspec.Struct, frozen=True, kw_only=True):
    """One request and its reply."""

    request: RecordedRequest
    response: RecordedResponse


class Cassette(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario: its interactions in the order in which they took place, and where they come from.

    `recorded_at` has a time zone; it is `None` where it is not known.
    """

    version: int = VERSION
    name: str
    source: TrafficSource
    recorded_at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    provider: str
    protocol: str
    model: str
    tags: tuple[str, ...] = ()
    interactions: tuple[Interaction, ...]


def load(path: str | os.PathLike[str]) -> Cassette:
    """The cassette in the file `path`. Raises `ConfigError` for a file that cannot be read or breaks the format, naming
    the file, the place in it and what to do."""
    file = Path(path)
    try:
        data = file.read_bytes()
    except OSError as problem:
        raise ConfigError(f"cassette {excerpt(str(file))} cannot be read: {problem.strerror or problem}") from None
    return decode(data, name=file.name)


def bundled(name: str) -> Cassette:
    """The cassette of that name that comes with llmcore, such as `tool-call`. Raises `ConfigError` naming the nearest
    where there is none."""
    folder = resources.files("llmcore.cassette") / "data"
    names = tuple(entry.name.removesuffix(".json") for entry in folder.iterdir() if entry.name.endswith(".json"))
    if name not in names:
        raise ConfigError(unknown("cassette", name, names))
    return decode((folder / f"{name}.json").read_bytes(), name=f"{name}.json")


def decode(data: bytes, *, name: str = "cassette") -> Cassette:
    """The cassette that `data`, a file's content, holds; `name` is what errors call it. Raises `ConfigError`."""
    try:
        version = _VERSION.decode(data).version
        if version != VERSION:
            raise ConfigError(_of_another_version(name, version))
        cassette = _CASSETTE.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{name} is no cassette: {problem}") from None
    validate(cassette, name=name)
    return cassette


def encode(cassette: Cassette) -> bytes:
    """The content of the cassette's file: indented JSON, the same bytes for equal cassettes. Raises `ConfigError` for
    one that breaks the format, and for one that holds a credential where credentials travel."""
    validate(cassette, name=excerpt(cassette.name))
    return msgspec.json.format(msgspec.json.encode(cassette), indent=1) + b"\n"


def dump(cassette: Cassette, path: str | os.PathLike[str]) -> None:
    """Writes the cassette's file, whole or not at all. Raises as `encode` does, and `OSError` as writing does."""
    data = encode(cassette)
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        beside.write_bytes(data)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def validate(cassette: Cassette, *, name: str = "cassette") -> None:
    """Raises `ConfigError` for the first thing in the cassette that the types cannot refuse, naming its place."""
    if not cassette.interactions:
        raise ConfigError(f"{name} has no interactions: there is nothing to replay")
    for index, interaction in enumerate(cassette.interactions):
        for place, problem in (
            ("request", _request_problem(interaction.request)),
            ("response", _response_problem(interaction.response)),
        ):
            if problem is not None:
                raise ConfigError(f"{name}, interactions[{index}].{place}: {problem}")


def from_corpus(data: bytes, *, name: str = "case") -> Cassette:
    """A case of a folder of recorded provider traffic as a cassette: bodies whole, as they stand there, without timing.

    The case is `{id, protocol, provider, model, tags, interactions: [{request: {method, url, headers, body},
    response: {status, headers, body | body_base64}}]}`. Raises `ConfigError` for anything else.
    """
    try:
        case = _CASE.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{name} is no case of recorded traffic: {problem}") from None
    cassette = Cassette(
        name=case.id,
        source="live",
        provider=case.provider,
        protocol=case.protocol,
        model=case.model or "",
        tags=case.tags,
        interactions=tuple(_of_case(interaction) for interaction in case.interactions),
    )
    validate(cassette, name=name)
    return cassette


class _Version(msgspec.Struct):
    version: int


class _CaseResponse(msgspec.Struct):
    status: int
    headers: dict[str, str] = {}
    body: str = ""
    body_base64: str | None = None


class _CaseInteraction(msgspec.Struct):
    request: RecordedRequest
    response: _CaseResponse


class _Case(msgspec.Struct):
    id: str
    protocol: str
    provider: str
    interactions: tuple[_CaseInteraction, ...]
    model: str | None = None
    tags: tuple[str, ...] = ()


_VERSION: Final[msgspec.json.Decoder[_Version]] = msgspec.json.Decoder(_Version)
_CASSETTE: Final[msgspec.json.Decoder[Cassette]] = msgspec.json.Decoder(Cassette)
_CASE: Final[msgspec.json.Decoder[_Case]] = msgspec.json.Decoder(_Case)


def _of_case(interaction: _CaseInteraction) -> Interaction:
    recorded = interaction.response
    binary, text = recorded.body_base64, recorded.body
    response = RecordedResponse(
        status=recorded.status,
        headers=recorded.headers,
        chunks=((0, text),) if text and binary is None else (),
        chunks_base64=((0, binary),) if binary else (),
    )
    return Interaction(request=interaction.request, response=response)


def _of_another_version(name: str, version: int) -> str:
    if version > VERSION:
        return f"{name} has format version {version}, this llmcore reads {VERSION}: use a newer llmcore"
    return f"{name} has format version {version}, which never was: versions count from 1"


def _request_problem(request: RecordedRequest) -> str | None:
    if not _TOKEN.match(request.method) or request.method != request.method.upper():
        return f"the method is a word in capitals, not {excerpt(request.method)}"
    if request.body is not None and request.body_base64 is not None:
        return "body and body_base64 exclude each other"
    if request.body_base64 is not None and not _is_base64(request.body_base64):
        return "body_base64 is not base64"
    if request.body is not None and not isinstance(request.body, (str, dict, list)):
        return "the body is a JSON object or array, or else text"
    return _url_problem(request.url) or _header_problem(request.headers)


def _response_problem(response: RecordedResponse) -> str | None:
    if not 200 <= response.status <= 599:
        return f"the status is a final one, 200 to 599, not {response.status}"
    if response.chunks and response.chunks_base64:
        return "chunks and chunks_base64 exclude each other"
    if not all(_is_base64(data) for _, data in response.chunks_base64):
        return "chunks_base64 holds a chunk that is not base64"
    times = [ms for ms, _ in response.chunks or response.chunks_base64]
    if any(late < early for early, late in zip([0, *times], times, strict=False)):
        return "the milliseconds of the chunks count from the request and never fall"
    return _header_problem(response.headers)


def _url_problem(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        names = [name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    except ValueError:
        return "the URL does not parse"
    if parts.scheme not in _SCHEMES or not parts.hostname:
        return f"the URL is http(s)://host…, not {excerpt(url.partition('?')[0])}"
    secret = next((name for name in names if name in SECRET_QUERY), None)
    if secret is not None or "@" in parts.netloc:
        what = "credentials before its host" if secret is None else f"the parameter {secret!r}, which carries a key"
        return f"the URL has {what}; take it out: no credential stands in a cassette"
    return None


def _header_problem(headers: dict[str, str]) -> str | None:
    for name, value in headers.items():
        if not _TOKEN.match(name):
            return f"{excerpt(name)} is no header name"
        if name.lower() in SECRET_HEADERS:
            return f"the header {name} carries a credential; take it out: none stands in a cassette"
        if not (value.isascii() and value.replace("\t", " ").isprintable()):
            return f"the header {name} holds a line break or another character that no header can"
    return None


def _is_base64(data: str) -> bool:
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True
