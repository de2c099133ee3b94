"""The sink of one call: bytes by digest."""

import hashlib

import pytest

from llmcore.errors import InvalidRequestError
from llmcore.media import MediaSink
from llmcore.schema import FileSource, HandleSource, Media, UrlSource


def test_bytes_are_named_by_their_digest() -> None:
    sink = MediaSink()
    handle = sink.put(b"\x89PNG", "image/png")
    assert handle == "media://sha256-" + hashlib.sha256(b"\x89PNG").hexdigest()
    assert sink.put(b"\x89PNG", "image/png") == handle
    assert sink.put(b"other", "image/png") != handle
    assert sink.get(handle) == b"\x89PNG"


def test_a_handle_of_another_call_is_an_error() -> None:
    with pytest.raises(InvalidRequestError, match="no media of this call has the handle") as caught:
        MediaSink().get("media://sha256-" + "x" * 5000)
    assert len(str(caught.value)) < 300


def test_resolving_puts_the_bytes_inline_and_keeps_the_rest() -> None:
    sink = MediaSink()
    source = HandleSource(handle=sink.put(b"abc", "audio/wav"))
    media = Media(media_type="audio/wav", source=source, name="n", transcript="t", provider_metadata={"id": "x"})
    resolved = sink.resolve(media)
    assert resolved.bytes() == b"abc"
    assert (resolved.name, resolved.transcript, resolved.provider_metadata) == ("n", "t", {"id": "x"})
    assert media.source is source


@pytest.mark.parametrize(
    "source",
    [HandleSource(handle="media://sha256-" + "0" * 64), UrlSource(url="https://h"), FileSource(provider="p", ref="r")],
)
def test_what_is_not_in_the_sink_stays_as_it_is(source: HandleSource | UrlSource | FileSource) -> None:
    media = Media(media_type="image/png", source=source)
    assert MediaSink().resolve(media) is media
