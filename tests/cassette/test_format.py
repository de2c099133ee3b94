"""The cassette format: what a file says comes back, and what breaks the format is refused by name and place."""

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from llmcore.cassette import (
    Cassette,
    Interaction,
    RecordedRequest,
    RecordedResponse,
    bundled,
    decode,
    dump,
    encode,
    from_corpus,
    load,
)
from llmcore.cassette import format as format_module
from llmcore.errors import ConfigError


def a_file(**changes: Any) -> dict[str, Any]:
    """A minimal file as JSON, some of it replaced; `request__x` and `response__x` reach inside."""
    request = {"method": "POST", "url": "https://api.example.com/v1/chat", "headers": {}, "body": {"model": "m"}}
    response = {"status": 200, "headers": {"content-type": "text/event-stream"}, "chunks": [[0, "data: 1\n\n"]]}
    for name, value in changes.items():
        part, _, field = name.partition("__")
        if field:
            {"request": request, "response": response}[part][field] = value
    whole = {
        "version": 1,
        "name": "a case",
        "source": "synthetic",
        "recorded_at": "2026-01-31T12:00:00Z",
        "provider": "openai",
        "protocol": "openai-chat",
        "model": "m",
        "tags": ["stream"],
        "interactions": [{"request": request, "response": response}],
    }
    return whole | {name: value for name, value in changes.items() if "__" not in name}


def read(**changes: Any) -> Cassette:
    return decode(json.dumps(a_file(**changes)).encode(), name="case.json")


def test_a_file_is_read_field_by_field() -> None:
    cassette = read()
    assert (cassette.version, cassette.name, cassette.source, cassette.tags) == (1, "a case", "synthetic", ("stream",))
    assert cassette.recorded_at == datetime(2026, 1, 31, 12, tzinfo=UTC)
    (interaction,) = cassette.interactions
    assert interaction.request.content == b'{"model":"m"}'
    assert interaction.response.pieces == ((0, b"data: 1\n\n"),)


@pytest.mark.parametrize(
    ("changes", "content"),
    [
        ({"request__body": {"b": 1, "a": [1.0, None]}}, b'{"a":[1,null],"b":1}'),
        ({"request__body": "not JSON: é"}, "not JSON: é".encode()),
        ({"request__body": None}, b""),
        ({"request__body": None, "request__body_base64": "/wA="}, b"\xff\x00"),
    ],
    ids=["json", "text", "none", "base64"],
)
def test_the_body_of_a_request_is_json_text_or_base64(changes: dict[str, Any], content: bytes) -> None:
    assert read(**changes).interactions[0].request.content == content


def test_binary_chunks_keep_their_bytes_and_cuts() -> None:
    response = read(response__chunks=[], response__chunks_base64=[[1, "/w=="], [2, "AAE="]]).interactions[0].response
    assert response.pieces == ((1, b"\xff"), (2, b"\x00\x01"))
    assert response.content == b"\xff\x00\x01"


def test_what_is_written_is_read_back_equal(tmp_path: Path) -> None:
    cassette = read(request__body={"z": "\u2028", "a": None})
    path = tmp_path / "deep.json"
    dump(cassette, path)
    assert load(path) == cassette
    assert path.read_bytes() == encode(load(path)), "equal cassettes give the same bytes"
    assert [entry.name for entry in tmp_path.iterdir()] == ["deep.json"], "nothing is left beside the file"


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    dump(read(), path)
    before = path.read_bytes()
    broken = msgspec.structs.replace(read(), interactions=())
    with pytest.raises(ConfigError, match="no interactions"):
        dump(broken, path)
    assert path.read_bytes() == before


def test_the_file_is_readable_json_in_the_order_of_the_format() -> None:
    written = encode(read())
    assert written.endswith(b"}\n")
    assert b'\n "interactions": [' in written
    assert set(json.loads(written)) == set(a_file())


def test_unknown_fields_are_ignored_at_every_level() -> None:
    known = read()
    assert read(colour="blue", request__retries=3, response__trailers={}) == known


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a newer version": ({"version": 2}, "case.json has format version 2, this llmcore reads 1: use a newer llmcore"),
    "version zero": ({"version": 0}, "which never was"),
    "version missing": ({"version": None}, r"Expected `int`, got `null` - at `\$.version`"),
    "an unknown source": ({"source": "dreamt"}, r"Invalid enum value 'dreamt' - at `\$.source`"),
    "a time without zone": ({"recorded_at": "2026-01-31T12:00:00"}, r"at `\$.recorded_at`"),
    "nothing in it": ({"interactions": []}, "case.json has no interactions"),
    "a bad status type": ({"response__status": "ok"}, r"at `\$.interactions\[0\].response.status`"),
    "an informational status": ({"response__status": 100}, r"interactions\[0\].response: the status is a final one"),
    "two kinds of chunks": ({"response__chunks_base64": [[0, "AA=="]]}, "chunks and chunks_base64 exclude each other"),
    "chunks not base64": ({"response__chunks": [], "response__chunks_base64": [[0, "é!"]]}, "not base64"),
    "time runs back": ({"response__chunks": [[5, "a"], [4, "b"]]}, "never fall"),
    "time before the request": ({"response__chunks": [[-1, "a"]]}, "never fall"),
    "two bodies": ({"request__body_base64": "AA=="}, "body and body_base64 exclude each other"),
    "a body not base64": ({"request__body": None, "request__body_base64": "*"}, "body_base64 is not base64"),
    "a bare number as body": ({"request__body": 5}, "a JSON object or array, or else text"),
    "a method in lower case": ({"request__method": "post"}, "a word in capitals, not 'post'"),
    "no URL": ({"request__url": "api.example.com"}, r"http\(s\)://host"),
    "a URL that does not parse": ({"request__url": "http://[::1"}, "does not parse"),
    "a header's line break": ({"response__headers": {"x": "a\r\nb: c"}}, "holds a line break"),
    "a header without name": ({"response__headers": {"a b": "c"}}, "no header name"),
}


@pytest.mark.parametrize(("changes", "words"), REFUSED.values(), ids=REFUSED)
def test_what_breaks_the_format_is_refused_by_place(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        read(**changes)
    assert "case.json" in caught.value.message


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'"\xff"', b'{"version": 1}'], ids=repr)
def test_any_other_bytes_are_no_cassette(data: bytes) -> None:
    with pytest.raises(ConfigError, match=re.escape("case.json is no cassette")):
        decode(data, name="case.json")


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match=r"missing.json' cannot be read: No such file"):
        load(Path("somewhere") / "missing.json")


def test_the_bundled_cassettes_are_whole_and_say_where_they_come_from() -> None:
    folder = Path(format_module.__file__ or "").parent / "data"
    names = {path.stem for path in folder.glob("*.json")}
    assert "tool-call" in names
    for name in names:
        cassette = bundled(name)
        assert cassette.source == "synthetic"
        assert (folder / f"{name}.json").read_bytes() == encode(cassette), "the file is written as dump writes it"
    with pytest.raises(ConfigError, match="unknown cassette 'toolcall'; did you mean 'tool-call'"):
        bundled("toolcall")


CANARY = "canary-4f1e9a"
SECRETS: dict[str, dict[str, Any]] = {
    "authorization": {"request__headers": {"Authorization": f"Bearer {CANARY}"}},
    "x-api-key": {"request__headers": {"x-api-key": CANARY}},
    "cookie": {"request__headers": {"cookie": CANARY}},
    "set-cookie": {"response__headers": {"Set-Cookie": CANARY}},
    "query": {"request__url": f"https://api.example.com/v1?alt=sse&key={CANARY}"},
    "userinfo": {"request__url": f"https://me:{CANARY}@api.example.com/v1"},
}


@pytest.mark.parametrize("changes", SECRETS.values(), ids=SECRETS)
def test_a_credential_is_refused_and_never_repeated(changes: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as read_error:
        read(**changes)
    unchecked = msgspec.json.decode(json.dumps(a_file(**changes)), type=Cassette)
    with pytest.raises(ConfigError) as write_error:
        dump(unchecked, tmp_path / "case.json")
    assert CANARY not in str(read_error.value) + str(write_error.value)
    assert not list(tmp_path.iterdir())


def a_case(**response: Any) -> bytes:
    request = {"method": "POST", "url": "https://api.example.com/v1", "headers": {"accept": "*/*"}, "body": {"a": 1}}
    interaction = {
        "operation": "generate",
        "stream": True,
        "model": "m",
        "request": request,
        "response": {"status": 200, "headers": {"content-type": "text/event-stream"}, **response},
    }
    case = {"id": "p/x", "protocol": "p", "provider": "v", "vendor_host": "h", "model": "m", "tags": ["t"]}
    return json.dumps(case | {"source": "somewhere", "interactions": [interaction]}).encode()


def test_a_case_of_recorded_traffic_becomes_a_cassette_with_whole_bodies() -> None:
    cassette = from_corpus(a_case(body="data: é\r\n\r\n"))
    assert cassette == Cassette(
        name="p/x",
        source="live",
        provider="v",
        protocol="p",
        model="m",
        tags=("t",),
        interactions=(
            Interaction(
                request=RecordedRequest(
                    method="POST", url="https://api.example.com/v1", headers={"accept": "*/*"}, body={"a": 1}
                ),
                response=RecordedResponse(
                    status=200, headers={"content-type": "text/event-stream"}, chunks=((0, "data: é\r\n\r\n"),)
                ),
            ),
        ),
    )
    assert decode(encode(cassette)) == cassette


@pytest.mark.parametrize(
    ("response", "content"), [({"body_base64": "/wA="}, b"\xff\x00"), ({"body": ""}, b""), ({}, b"")]
)
def test_a_case_may_have_a_binary_or_an_empty_body(response: dict[str, Any], content: bytes) -> None:
    assert from_corpus(a_case(**response)).interactions[0].response.content == content


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", a_case(body=5), a_case(body_base64="*")], ids=range(5))
def test_anything_else_is_no_case(data: bytes) -> None:
    with pytest.raises(ConfigError, match="case"):
        from_corpus(data)


@pytest.mark.corpus
@pytest.mark.skipif("LLMCORE_CORPUS" not in os.environ, reason="LLMCORE_CORPUS names no folder")
def test_every_case_of_the_corpus_is_read_and_keeps_its_bytes() -> None:
    folder = Path(os.environ["LLMCORE_CORPUS"])
    paths = [path for path in folder.glob("*/*.json") if not path.name.endswith(".expected.json")]
    assert paths
    for path in paths:
        data = path.read_bytes()
        cassette = from_corpus(data, name=path.name)
        for kept, given in zip(cassette.interactions, json.loads(data)["interactions"], strict=True):
            if "body" in given["response"]:
                assert kept.response.content == given["response"]["body"].encode()
            assert json.loads(kept.request.content or b"null") == given["request"]["body"]
