"""Folders of recorded provider traffic: cases, their replies, and what an official SDK made of them.

A folder holds `<protocol>/<slug>.json` (one case: interactions in the recorded order), beside it
`<slug>.expected.json` (one entry for each interaction; may be missing), and `manifest.json`, the list of cases. Without
a manifest the folder is walked.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from llmcore.cassette.format import RecordedResponse, from_corpus
from llmcore.errors import ConfigError
from llmcore.schema.base import JSONObject, excerpt

EXPECTED: Final = ".expected.json"
MANIFEST: Final = "manifest.json"
UNNAMED: Final = "unnamed"
"""The model of an interaction whose recording does not name one."""


class Call(msgspec.Struct, frozen=True):
    """A call that the client must run, as the oracle has it. `arguments` is parsed JSON, `None` where it does not
    parse; `id` is the wire's, `None` where the wire has none."""

    name: str
    id: str | None = None
    arguments: object = None


class Hosted(msgspec.Struct, frozen=True):
    """A call that the provider ran itself: the wire's type of it, and its name where it has one."""

    type: str
    name: str | None = None


class OracleError(msgspec.Struct, frozen=True):
    """An error as the oracle has it: the vendor's `code` and `type` (each a word or a number), the HTTP status."""

    type: str | int | None = None
    status: int | None = None
    code: str | int | None = None
    message: str | None = None


class Oracle(msgspec.Struct, frozen=True):
    """One entry of an expectation: what the vendor's official SDK makes of one recorded reply."""

    index: int
    text: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: tuple[Call, ...] = ()
    hosted_tool_calls: tuple[Hosted, ...] = ()
    stop_reason_native: str | None = None
    usage_native: JSONObject | None = None
    error: OracleError | None = None
    oracle_failed: str | None = None


class Recorded(msgspec.Struct, frozen=True):
    """One interaction of a case. `body` is what was asked (`None` where that is no JSON object); `oracle` is `None`
    where there is no expectation, or the oracle could not read it."""

    index: int
    operation: str
    stream: bool
    model: str
    body: JSONObject | None
    response: RecordedResponse
    oracle: Oracle | None


class Case(msgspec.Struct, frozen=True):
    """One recorded scenario with one provider over one protocol."""

    id: str
    protocol: str
    provider: str
    tags: tuple[str, ...]
    interactions: tuple[Recorded, ...]


class Filter(msgspec.Struct, frozen=True):
    """Which cases to take; what is `None` does not matter."""

    protocol: str | None = None
    provider: str | None = None
    tag: str | None = None

    def takes(self, protocol: str, provider: str, tags: Iterable[str]) -> bool:
        """Whether a case of this kind is meant."""
        return (
            self.protocol in (None, protocol)
            and self.provider in (None, provider)
            and (self.tag is None or self.tag in tags)
        )


class _Entry(msgspec.Struct):
    id: str
    protocol: str
    provider: str
    path: str
    tags: tuple[str, ...] = ()


class _Interaction(msgspec.Struct):
    operation: str = "generate"
    stream: bool = False
    model: str | None = None


class _CaseFile(msgspec.Struct):
    id: str
    protocol: str
    provider: str
    interactions: tuple[_Interaction, ...]
    model: str | None = None
    tags: tuple[str, ...] = ()


_ENTRIES: Final[msgspec.json.Decoder[list[_Entry]]] = msgspec.json.Decoder(list[_Entry])
_CASE: Final[msgspec.json.Decoder[_CaseFile]] = msgspec.json.Decoder(_CaseFile)
_ORACLES: Final[msgspec.json.Decoder[list[Oracle]]] = msgspec.json.Decoder(list[Oracle])


def cases(folder: Path, wanted: Filter) -> Iterator[Case]:
    """The cases of `folder` that are wanted, by id, each read when it is asked for.

    Raises `ConfigError` for a folder that is none or holds no case, and for a file that breaks the format.
    """
    if not folder.is_dir():
        raise ConfigError(f"{_shown(folder)} is no folder; name one of recorded traffic")
    manifest = folder / MANIFEST
    if manifest.is_file():
        entries = _decoded(_ENTRIES, manifest, "list of cases")
        paths = [
            folder / entry.path
            for entry in sorted(entries, key=lambda entry: entry.id)
            if wanted.takes(entry.protocol, entry.provider, entry.tags)
        ]
    else:
        paths = sorted(path for path in folder.rglob("*.json") if not path.name.endswith(EXPECTED))
        if not paths:
            raise ConfigError(f"{_shown(folder)} holds no case: neither {MANIFEST} nor any other .json file")
    for path in paths:
        case = load(path)
        if wanted.takes(case.protocol, case.provider, case.tags):
            yield case


def load(path: Path) -> Case:
    """The case in the file `path`, with its expectation where there is one. Raises `ConfigError`."""
    data = _read(path)
    head = _decoded(_CASE, path, "case of recorded traffic", data)
    traffic = from_corpus(data, name=path.name)
    beside = path.with_name(path.name.removesuffix(".json") + EXPECTED)
    oracles = {oracle.index: oracle for oracle in _decoded(_ORACLES, beside, "expectation")} if beside.is_file() else {}
    interactions = [
        Recorded(
            index=index,
            operation=meta.operation,
            stream=meta.stream,
            model=meta.model or head.model or UNNAMED,
            body=_object(interaction.request.body),
            response=interaction.response,
            oracle=_usable(oracles.get(index)),
        )
        for index, (meta, interaction) in enumerate(zip(head.interactions, traffic.interactions, strict=True))
    ]
    return Case(head.id, head.protocol, head.provider, head.tags, tuple(interactions))


def _object(body: object) -> JSONObject | None:
    return msgspec.convert(body, JSONObject) if isinstance(body, dict) else None


def _usable(oracle: Oracle | None) -> Oracle | None:
    return None if oracle is None or oracle.oracle_failed is not None else oracle


def _shown(path: Path) -> str:
    return excerpt(str(path), 400)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise ConfigError(f"{_shown(path)} cannot be read: {problem.strerror or problem}") from None


def _decoded(decoder: msgspec.json.Decoder[Any], path: Path, kind: str, data: bytes | None = None) -> Any:
    try:
        return decoder.decode(_read(path) if data is None else data)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{_shown(path)} is no {kind}: {problem}") from None
