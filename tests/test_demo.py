"""The demo: it ends well, shows the conversation as it comes, says where it comes from, and needs nothing."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import llmcore
from llmcore import demo
from llmcore.cassette import bundled
from llmcore.errors import LLMError
from llmcore.lifecycle import RULES


class Watched(io.StringIO):
    """A stream that remembers what had been written at each flush."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def flush(self) -> None:
        self.seen.append(self.getvalue())


@pytest.fixture(scope="module")
def shown() -> Watched:
    out = Watched()
    assert demo.run(out) == 0
    return out


def test_the_conversation_is_told_line_by_line(shown: Watched) -> None:
    lines = shown.getvalue().splitlines()
    assert lines[0] == "llmcore demo: a tool call, streamed, from openai/chat:gpt-5-mini, replayed on loopback"
    assert [line.split("  ")[0] for line in lines[2:-2] if line] == [
        *("user", "start", "text", "tool call", "usage", "end"),
        *("tool result", "start", "text", "usage", "end"),
    ]
    assert 'tool call    distance_km {"origin":"Berlin","destination":"Lisbon"}' in lines
    assert "tool result  2312 km (computed here)" in lines
    assert "usage        98 tokens in, 92 out (64 of them reasoning)" in lines
    assert lines[-3] == "end          stop"


def test_its_last_line_names_the_source_of_the_recording(shown: Watched) -> None:
    last = shown.getvalue().splitlines()[-1]
    assert last.startswith(f"The answers were a recording, source: {bundled(demo.CASSETTE).source}.")


def test_text_and_arguments_are_shown_as_they_come(shown: Watched) -> None:
    assert any(text.endswith("\ntext         Let me measure") for text in shown.seen)
    assert any(text.endswith('\ntool call    distance_km {"origin":"Berlin') for text in shown.seen)


def test_it_shows_nothing_secret_and_only_what_any_terminal_can_print(shown: Watched) -> None:
    assert "no-key" not in shown.getvalue()
    assert shown.getvalue().isascii()


def test_the_tool_is_really_run() -> None:
    assert demo.distance_km("Lisbon", "Berlin") == "2312 km"
    assert demo.distance_km("Berlin", "Berlin") == "0 km"


def test_the_answers_come_only_for_the_recorded_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "QUESTION", "How far is it from here to the moon?")
    with pytest.raises(LLMError, match=r"the nearest recording differs in body\.messages"):
        demo.run(io.StringIO())


def test_every_event_that_it_shows_is_one() -> None:
    assert set(demo.SHOWN) <= set(RULES)


def test_the_command_needs_no_key_and_no_network() -> None:
    """Run as a user would, in an environment whose proxies lead nowhere and whose key is a canary."""
    dead = "http://127.0.0.1:9"
    environment = {
        **{name: os.environ[name] for name in ("PATH", "HOME", "SYSTEMROOT", "TMPDIR") if name in os.environ},
        **dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"), dead),
        "OPENAI_API_KEY": "sk-canary",
        "PYTHONPATH": str(Path(llmcore.__path__[0]).parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "ascii",
    }
    command = [sys.executable, "-W", "error", "-X", "dev", "-m", "llmcore", "demo"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Berlin and Lisbon are 2,312 km apart" in done.stdout
    assert not re.search("canary", done.stdout)
