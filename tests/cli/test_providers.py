"""`llmcore providers`: the table of what is declared."""

import io
import json

import pytest

from llmcore import registry
from llmcore.auth import header, none
from llmcore.cli import main
from llmcore.cli.providers import show
from llmcore.route import Provider


def test_the_table_has_a_line_for_each_route_of_each_provider(capsys):
    assert main(["providers"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["provider", "api", "protocol", "base", "url", "key", "evidence", "docs"]
    shown = [tuple(line.split()[:2]) for line in lines]
    declared = [
        (provider.id, f"{api}{'*' if route is provider.route else ''}")
        for provider in registry.providers()
        for api, route in provider.routes().items()
    ]
    assert shown == declared
    assert len(declared) > 10


def test_json_says_what_is_declared(capsys):
    assert main(["providers", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    openai = next(record for record in records if record["id"] == "openai" and record["api"] == "chat")
    assert openai["protocol"] == "openai-chat"
    assert openai["base_url"] == "https://api.openai.com/v1"
    assert openai["key_variables"] == ["OPENAI_API_KEY"]
    assert openai["evidence"] == "recorded"
    assert openai["docs"].startswith("https://")
    assert {record["evidence"] for record in records} <= {"recorded", "documented"}


def printed(provider, *, as_json):
    out = io.StringIO()
    show((provider,), out, json=as_json)
    return out.getvalue().splitlines()


def test_a_provider_without_routes_has_one_line():
    bare = Provider(id="bare", docs="https://example.com", evidence="documented")
    (line,) = printed(bare, as_json=False)[1:]
    assert line.split() == ["bare", "-", "-", "-", "-", "documented", "https://example.com"]
    (record,) = [json.loads(line) for line in printed(bare, as_json=True)]
    assert (record["api"], record["protocol"], record["key_variables"]) == (None, None, [])


@pytest.mark.parametrize(
    ("auth", "cell"),
    [
        (header("x-key", "A_KEY", "B_KEY"), "A_KEY | B_KEY"),
        (header("x-key", "A_KEY", optional=True), "[A_KEY]"),
        (none(), "-"),
    ],
)
def test_the_key_is_named_by_its_variables_never_by_its_value(auth, cell, monkeypatch):
    import msgspec

    monkeypatch.setenv("A_KEY", "sk-canary-value")
    known = registry.provider("openai").api("chat")
    route = msgspec.structs.replace(known, auth=auth)
    provider = Provider(id="openai", docs="d", evidence="documented", route=route)
    table = "\n".join(printed(provider, as_json=False) + printed(provider, as_json=True))
    assert cell in table.splitlines()[1]
    assert "canary" not in table
