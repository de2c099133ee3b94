"""`llmcore providers --check FILE`: what a route file declares, or what is wrong with it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from llmcore import registry
from llmcore.cli import main

HOUSE = """\
[providers.house]
docs = "https://llm.example.com/docs"

[providers.house.route]
id = "house/chat"
protocol = "openai-chat"
base_url = "https://llm.example.com/v1"
endpoint = { path = "/chat/completions" }
auth = { bearer = ["EXAMPLE_API_KEY"] }
framing = "sse"
"""


@pytest.fixture(autouse=True)
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A user without route files."""
    (tmp_path / "configuration").mkdir()
    monkeypatch.setenv("LLMCORE_CONFIG", str(tmp_path / "configuration"))
    registry._configured.cache_clear()
    yield
    registry._configured.cache_clear()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "house.toml"


def test_what_a_right_file_declares_is_a_table(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(HOUSE)
    assert main(["providers", "--check", str(file)]) == 0
    captured = capsys.readouterr()
    head, line = captured.out.splitlines()
    assert head.startswith("provider")
    assert line.split() == [
        "house", "chat*", "openai-chat", "https://llm.example.com/v1", "EXAMPLE_API_KEY", "documented",
        "https://llm.example.com/docs",
    ]  # fmt: skip
    assert captured.err == ""


def test_it_is_json_on_request(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(HOUSE)
    assert main(["providers", "--check", str(file), "--json"]) == 0
    (record,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (record["id"], record["key_variables"]) == ("house", ["EXAMPLE_API_KEY"])


def test_what_is_wrong_is_a_line_each_in_the_order_of_the_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = HOUSE.replace('"sse"', '"ssse"').replace('"openai-chat"', '"openai-chart"').replace("docs =", "dogs =")
    file.write_text(wrong + HOUSE.replace("house", "hut"))
    assert main(["providers", "--check", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [
        f"{file}:1: providers.house: docs is missing",
        f"{file}:2: providers.house.dogs: unknown key 'dogs'; did you mean 'docs'?",
        f"{file}:6: providers.house.route.protocol: unknown protocol 'openai-chart'; did you mean 'openai-chat'?",
        f"{file}:10: providers.house.route.framing: unknown framing 'ssse'; did you mean 'sse'?",
    ]
    assert [line.split()[0] for line in captured.out.splitlines()] == ["provider", "hut"]


def test_what_it_may_not_do_is_wrong(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(HOUSE.replace("EXAMPLE_API_KEY", "OPENAI_API_KEY"))
    assert main(["providers", "--check", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"{file}:9: providers.house.route.auth: OPENAI_API_KEY is the key of openai, and ")


@pytest.mark.parametrize(("text", "said"), [("[", ":1: this is no TOML"), (None, " cannot be read: No such file")])
def test_a_file_that_is_none_is_one_line(
    text: str | None, said: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        file.write_text(text)
    assert main(["providers", "--check", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith(f"llmcore: {file}{said}")


def test_a_folder_is_checked_file_by_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.toml").write_text(HOUSE)
    (tmp_path / "b.toml").write_text(HOUSE)
    assert main(["providers", "--check", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert captured.out.splitlines()[1].startswith("house")
    assert captured.err.startswith(f"{tmp_path / 'b.toml'}:1: providers.house: provider house is declared already, by ")


def test_the_providers_of_the_users_files_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "configuration" / "house.toml").write_text(HOUSE)
    assert main(["providers"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("house ")]
