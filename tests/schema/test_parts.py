"""Media at the boundary: types, names, sources; and the arguments of a tool call."""

import base64
from pathlib import Path
from typing import Any

import pytest

from llmcore.errors import InvalidRequestError
from llmcore.schema import Base64Source, FileSource, HandleSource, Media, Modality, Source, ToolCall, UrlSource
from llmcore.schema.parts import modality_of

PNG = UrlSource(url="https://h/a.png")


@pytest.mark.parametrize(
    ("media_type", "modality"),
    [
        ("image/png", "image"),
        ("IMAGE/PNG", "image"),
        ("image/svg+xml", "image"),
        ("image/*", "image"),
        ("audio/wav", "audio"),
        ("audio/x-m4a", "audio"),
        ("video/mp4", "video"),
        ("application/pdf", "document"),
        ("text/plain", "document"),
        ("text/csv", "document"),
        ("application/json", "document"),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "document"),
        ("image/" + "x" * 249, "image"),
    ],
)
def test_modality_comes_from_the_prefix(media_type: str, modality: Modality) -> None:
    assert modality_of(media_type) == modality
    assert Media(media_type=media_type, source=PNG).modality == modality


@pytest.mark.parametrize(
    ("media_type", "said"),
    [
        ("", "bare type/subtype"),
        ("image", "bare type/subtype"),
        ("image/", "bare type/subtype"),
        ("/png", "bare type/subtype"),
        ("image/png; charset=utf-8", "bare type/subtype"),
        ("image/png\n", "bare type/subtype"),
        ("image /png", "bare type/subtype"),
        ("image/pn g", "bare type/subtype"),
        ("image/png/x", "bare type/subtype"),
        ("bild/é", "bare type/subtype"),
        ("image/" + "x" * 250, "at most 255"),
        ("application/zip", "none that a model takes"),
        ("application/octet-stream", "none that a model takes"),
        ("font/woff", "none that a model takes"),
    ],
)
def test_a_type_that_no_model_takes_is_refused(media_type: str, said: str) -> None:
    with pytest.raises(InvalidRequestError, match=said) as caught:
        Media(media_type=media_type, source=PNG)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "n" * 256}, "at most 255 characters, not 256"),
        ({"name": "data:image/png;base64,AAAA"}, "the name of a media part is a `data:` URI"),
        ({"name": "DATA:x"}, "`data:` URI"),
        ({"transcript": "data:audio/wav;base64,AAAA"}, "the transcript of a media part is a `data:` URI"),
        ({"source": UrlSource(url="data:image/png;base64,AAAA")}, "the URL of a media part is a `data:` URI"),
        ({"source": HandleSource(handle="media://sha256-" + "0" * 63)}, "a media handle is"),
        ({"source": HandleSource(handle="media://sha256-" + "F" * 64)}, "a media handle is"),
        ({"source": HandleSource(handle="file:///etc/passwd")}, "a media handle is"),
        ({"source": HandleSource(handle="media://sha256-" + "0" * 64 + "\n")}, "a media handle is"),
    ],
)
def test_the_rules_of_media(fields: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidRequestError, match=said) as caught:
        Media(**{"media_type": "image/png", "source": PNG, **fields})  # type: ignore[arg-type]
    assert "AAAA" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "source",
    [
        PNG,
        HandleSource(handle="media://sha256-" + "0f" * 32),
        FileSource(provider="p", ref="file-1"),
        Base64Source(data=""),
    ],
)
def test_every_source_is_taken(source: Source) -> None:
    media = Media(media_type="image/png", source=source, name="n" * 255, transcript="x" * 5000)
    assert media.source is source
    assert media.size == (0 if isinstance(source, Base64Source) else None)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 100])
def test_bytes_come_back(size: int) -> None:
    data = bytes(range(size))
    media = Media.from_bytes(data, "audio/wav", name="a", detail="d", cache="5m", transcript="t")
    assert media.bytes() == data
    assert media.size == size
    assert media.source == Base64Source(data=base64.b64encode(data).decode())
    assert (media.name, media.detail, media.cache, media.transcript) == ("a", "d", "5m", "t")


@pytest.mark.parametrize("data", ["AAA", "A A=", "é", "AA-_", "AAAA\n", "AAA\n", "A===", "=AAA", "AA=A", "AAé="])
def test_inline_data_that_is_no_base64_is_an_error(data: str) -> None:
    with pytest.raises(InvalidRequestError, match="not base64"):
        Base64Source(data=data)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"source": "cG5n"}, "source of a media part is no str"),
        ({"media_type": 7}, "media_type of a media part is a str, not int"),
        ({"name": b"n"}, "name of a media part is a str, not bytes"),
        ({"detail": 1}, "detail of a media part is a str, not int"),
    ],
)
def test_media_of_wrong_types_are_refused_when_they_are_made(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidRequestError, match=words):
        Media(**{"media_type": "image/png", "source": PNG, **fields})
    data: Any = b"cG5n"
    with pytest.raises(InvalidRequestError, match=r"a str, not bytes; use Media\.from_bytes"):
        Base64Source(data=data)


def test_bytes_that_are_elsewhere_are_an_error() -> None:
    with pytest.raises(InvalidRequestError, match="not inline: its source is url"):
        Media(media_type="image/png", source=PNG).bytes()


def test_from_path(tmp_path: Path) -> None:
    file = tmp_path / "photo.jpg"
    file.write_bytes(b"\xff\xd8")
    media = Media.from_path(file)
    assert (media.media_type, media.name, media.bytes()) == ("image/jpeg", None, b"\xff\xd8")
    document = tmp_path / "paper.pdf"
    document.write_bytes(b"%PDF")
    assert Media.from_path(document).name == "paper.pdf"
    assert Media.from_path(document, name="x.pdf").name == "x.pdf"
    other = Media.from_path(str(file), "image/png", name="x")
    assert (other.media_type, other.name) == ("image/png", "x")
    unknown = tmp_path / "photo.unknownending"
    unknown.write_bytes(b"")
    with pytest.raises(InvalidRequestError, match="pass media_type"):
        Media.from_path(unknown)
    with pytest.raises(FileNotFoundError):
        Media.from_path(tmp_path / "missing.png")


def test_from_url() -> None:
    assert Media.from_url("https://h/a.webp?sig=1#x").media_type == "image/webp"
    assert Media.from_url("https://h/a", "image/*").source == UrlSource(url="https://h/a")
    with pytest.raises(InvalidRequestError, match="pass media_type") as caught:
        Media.from_url("https://h/a?token=abcdef")
    assert "abcdef" not in str(caught.value)


def test_from_file() -> None:
    assert Media.from_file("p", "file-1", "application/pdf").source == FileSource(provider="p", ref="file-1")


def test_the_input_of_a_call() -> None:
    assert ToolCall(id="a", name="f").input == {}
    assert ToolCall(id="a", name="f", arguments='{"x": [1, "é"]}').input == {"x": [1, "é"]}


def test_the_input_of_a_call_that_does_not_parse_is_an_error() -> None:
    with pytest.raises(InvalidRequestError, match="tool call a"):
        _ = ToolCall(id="a", name="f" * 500, arguments='{"x":', error="it ends early").input
    with pytest.raises(InvalidRequestError):
        _ = ToolCall(id="a", name="f", arguments='{"x":').input
