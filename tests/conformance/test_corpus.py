"""Reading folders of recorded traffic."""

import json

import pytest

from llmcore.conformance.corpus import Filter, cases, load
from llmcore.errors import ConfigError


@pytest.fixture
def three(folder, wire):
    """Two chat cases and one of another protocol."""
    folder.case("b", folder.reply(wire.chat({"content": "hi"})), expect=[wire.expectation(text="hi")], tags=["x"])
    folder.case("a", folder.reply({}), folder.reply({}, operation="embed"), provider="groq")
    folder.case("c", folder.reply({}), protocol="other", provider="groq", tags=["x"])
    return folder


def ids(folder, **wanted):
    return [case.id for case in cases(folder.path, Filter(**wanted))]


@pytest.mark.parametrize("manifest", [False, True])
@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, ["openai-chat/a", "openai-chat/b", "other/c"]),
        ({"protocol": "openai-chat"}, ["openai-chat/a", "openai-chat/b"]),
        ({"provider": "groq"}, ["openai-chat/a", "other/c"]),
        ({"tag": "x"}, ["openai-chat/b", "other/c"]),
        ({"tag": "x", "provider": "groq"}, ["other/c"]),
        ({"tag": "nothing"}, []),
    ],
)
def test_cases_come_by_id_with_and_without_a_manifest(three, manifest, wanted, found):
    if manifest:
        three.manifest()
    assert ids(three, **wanted) == found


def test_a_case_has_its_interactions_and_their_oracle(three):
    first, second = load(three.path / "openai-chat" / "a.json").interactions
    assert (first.index, first.operation, first.oracle) == (0, "generate", None)
    assert (second.index, second.operation) == (1, "embed")
    (only,) = load(three.path / "openai-chat" / "b.json").interactions
    assert only.oracle is not None
    assert only.oracle.text == "hi"
    assert b'"hi"' in only.response.content


def test_an_expectation_of_an_oracle_that_failed_is_none(folder, wire):
    path = folder.case("a", folder.reply("pong"), expect=[wire.expectation(oracle_failed="not JSON")])
    assert load(path).interactions[0].oracle is None


def test_a_recording_may_not_know_its_model(folder):
    interaction = folder.reply({})
    del interaction["model"]
    assert load(folder.case("a", interaction, model=None)).interactions[0].model == "unnamed"


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="is no folder"):
        list(cases(tmp_path / "nowhere", Filter()))


def test_a_folder_without_cases_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="holds no case"):
        list(cases(tmp_path, Filter()))


def test_a_manifest_that_names_a_missing_file_is_refused(three):
    three.manifest()
    (three.path / "openai-chat" / "a.json").unlink()
    with pytest.raises(ConfigError, match=r"a\.json' cannot be read"):
        ids(three)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("manifest.json", "{}"),
        ("openai-chat/a.json", "[]"),
        ("openai-chat/a.json", "{"),
        ("openai-chat/a.json", json.dumps({"id": "a", "protocol": "p", "provider": "q", "interactions": [{}]})),
        ("openai-chat/b.expected.json", "{}"),
        ("openai-chat/b.expected.json", '[{"index": "first"}]'),
    ],
)
def test_a_file_of_another_shape_is_refused_by_its_name(three, name, content):
    (three.path / name).write_text(content, "utf-8")
    with pytest.raises(ConfigError, match=name.rpartition("/")[2]):
        ids(three)
