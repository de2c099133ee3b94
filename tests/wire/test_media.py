"""Media on the wire."""

import base64

import pytest

from llmcore.schema.parts import HandleSource, Media
from llmcore.wire.media import AUDIO_FORMATS, Base64Pieces, Reference, audio_type, from_data_url, reference_of


def test_a_part_is_told_of_by_its_bytes_its_url_or_its_upload() -> None:
    assert reference_of(Media.from_bytes(b"ab", "image/png"), "p") == Reference(data="data:image/png;base64,YWI=")
    assert reference_of(Media.from_url("https://x/y.png"), "p") == Reference(url="https://x/y.png")
    assert reference_of(Media.from_file("p", "file-1", "application/pdf"), "p") == Reference(file="file-1")


def test_what_a_provider_cannot_be_told_of_has_a_reason_and_a_remedy() -> None:
    foreign = reference_of(Media.from_file("q", "file-1", "application/pdf"), "p")
    handle = Media(media_type="image/png", source=HandleSource(handle="media://sha256-" + "0" * 64))
    assert isinstance(foreign, str)
    assert "Media.from_bytes" in foreign
    assert isinstance(reference_of(handle, "p"), str)


@pytest.mark.parametrize("cut", range(13))
@pytest.mark.parametrize("data", [b"", b"a", b"ab", b"abc", b"abcdefg"])
def test_base64_in_pieces_cut_anywhere(data: bytes, cut: int) -> None:
    text = base64.b64encode(data).decode()
    pieces = Base64Pieces()
    got = pieces.feed(text[:cut]) + pieces.feed(text[cut:])
    assert pieces.finish() == data == got


def test_base64_in_pieces_each_padded() -> None:
    pieces = Base64Pieces()
    for part in (b"a", b"bc", b"def"):
        pieces.feed(base64.b64encode(part).decode())
    assert pieces.finish() == b"abcdef"


@pytest.mark.parametrize("text", ["a!b=", "A"])
def test_what_is_no_base64_raises(text: str) -> None:
    def read() -> bytes:
        pieces = Base64Pieces()
        pieces.feed(text)
        return pieces.finish()

    with pytest.raises(ValueError, match=r".+"):
        read()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("data:image/png;base64,YWI=", ("image/png", b"ab")),
        ("DATA:image/png;BASE64,YWI=", ("image/png", b"ab")),
        ("data:;base64,YWI=", ("application/octet-stream", b"ab")),
        ("data:image/png,ab", None),
        ("data:image/png;base64,!", None),
        ("https://x/y", None),
        ("", None),
    ],
)
def test_data_urls(url: str, expected: tuple[str, bytes] | None) -> None:
    assert from_data_url(url) == expected


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"RIFF....WAVE", "audio/wav"), (b"ID3\x04", "audio/mpeg"), (b"fLaC", "audio/flac"), (b"\x00\x01", "audio/pcm")],
)
def test_sounds_are_known_by_their_first_bytes(data: bytes, kind: str) -> None:
    assert audio_type(data) == kind
    assert kind in AUDIO_FORMATS
