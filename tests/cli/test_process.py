"""`llmcore ask` as a process: it streams, is interrupted, loses its reader, and has a terminal.

What the process does is ordered by what the server and the test see of it, never by time.
"""

import json
import os
import re
import signal
import subprocess
import threading
from pathlib import Path

import chat_replies as chat
import msgspec
import pytest
from terminals import KEY, PATIENCE, PLAIN_PYTHON, Gathered, environment, on_terminal, piped, screen, started

from llmcore import lifecycle
from llmcore.cassette import Hold, Reply, Wait
from llmcore.events import ErrorEvent, Event, SerializedEvent

ENVIRONMENT = environment()
FULL = Path("/dev/full")
SILENT = Reply(framing="raw", actions=(Hold(),))
UNKNOWN = "the connection is closed; used so far: unknown, the provider had not told"
USED = "used: 12 tokens in, 9 tokens out\n"
CONTINUOUS = (chat.frame(content="", usage=chat.USAGE), *chat.says("Hel"))
"""What has been used so far, which some send with each frame, and text."""


def of(server, *arguments):
    """The arguments of a question to the server."""
    return ("ask", "-m", "openai/chat:gpt-5-mini", "--base-url", f"{server.url}/v1", *arguments, "Hi")


@pytest.fixture
def gate():
    """An event that a server waits for; set at the end, whatever happens."""
    event = threading.Event()
    yield event
    event.set()


# -- pipes


def test_the_answer_streams(serve, gate):
    server = serve(chat.stream(*chat.says("Hel"), Wait(gate), *chat.says("lo"), *chat.ends()))
    with piped(*of(server)) as command:
        assert command.out.wait("Hel")
        assert command.out.text == "Hel"
        gate.set()
        assert command.end() == 0
        assert (command.out.text, command.err.text) == ("Hello\n", USED)


def test_json_streams(serve, gate):
    server = serve(chat.stream(*chat.says("Hel"), Wait(gate), *chat.says("lo"), *chat.ends()))
    with piped(*of(server, "--json")) as command:
        assert command.out.wait("text_delta")
        assert command.out.data.endswith(b"}\n")
        gate.set()
        assert command.end() == 0


def test_stdin_from_a_pipe(serve):
    server = serve(chat.answer("Hello"))
    with piped(*of(server), stdin=subprocess.PIPE) as command:
        command.process.stdin.write(b"and this")
        command.process.stdin.close()
        assert command.end() == 0
    assert server.requests[0].json()["messages"][-1]["content"] == "Hi\n\nand this"


def test_a_reader_that_leaves_early(serve, gate):
    """`llmcore ask … | head -1`: the stream is closed, and nobody complains."""
    server = serve(chat.stream(*chat.says("one\n"), Wait(gate), *chat.says("two\n"), Hold()))
    read, write = os.pipe()
    with started(*of(server), stdout=write) as process:
        os.close(write)
        assert os.read(read, 100) == b"one\n"
        os.close(read)
        gate.set()
        assert server.connections[0].closed.wait(PATIENCE)
        assert process.wait(PATIENCE) == 1
        assert process.stderr.read() == b""


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
def test_a_full_disk(serve):
    server = serve(chat.stream(*chat.says("one\n"), Hold()))
    with FULL.open("wb") as full, started(*of(server), stdout=full) as process:
        assert process.wait(PATIENCE) == 1
        assert process.stderr.read().decode() == f"llmcore: {os.strerror(28)}\n"
    assert server.connections[0].closed.wait(PATIENCE)


def test_a_server_that_stalls_runs_into_the_timeout(serve):
    with piped(*of(serve(SILENT), "--timeout", "0.05")) as command:
        assert command.end() == 5
        assert command.out.text == ""
        assert re.fullmatch(r"llmcore: .*0\.05.*\n", command.err.text)


def test_a_server_that_is_not_there():
    with piped("ask", "-m", "openai/chat:m", "--base-url", "http://127.0.0.1:9/v1", "Hi") as command:
        assert command.end() == 5
        assert (command.out.text, command.err.text.count("\n")) == ("", 1)


# -- Ctrl-C and kill


SIGNALS = {signal.SIGINT: ("interrupted", 130), signal.SIGTERM: ("terminated", 143)}


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("way", [(), ("--no-stream",)])
def test_interrupted_before_the_head(serve, number, way):
    word, status = SIGNALS[number]
    server = serve(SILENT)
    with piped(*of(server, *way)) as command:
        assert server.wait_requests(1)
        command.process.send_signal(number)
        assert command.end() == status
        assert command.out.text == ""
        assert command.err.text == (f"llmcore: {word}; {UNKNOWN} (nothing had come)\n")
    assert server.connections[0].early


@pytest.mark.parametrize("number", SIGNALS)
def test_interrupted_in_mid_stream(serve, number):
    word, status = SIGNALS[number]
    server = serve(chat.stream(*chat.says("Hel", "lo"), Hold()))
    with piped(*of(server)) as command:
        assert command.out.wait("Hello")
        command.process.send_signal(number)
        assert command.end() == status
        assert command.out.text == "Hello\n"
        assert command.err.text == (f"llmcore: {word}; {UNKNOWN} (5 characters had come)\n")
    assert server.connections[0].closed.wait(PATIENCE)
    assert server.connections[0].early


def test_what_was_spent_is_said_where_the_provider_told(serve):
    server = serve(chat.stream(*CONTINUOUS, Hold()))
    with piped(*of(server)) as command:
        assert command.out.wait("Hel")
        command.process.send_signal(signal.SIGINT)
        assert command.end() == 130
        assert "used so far: 12 tokens in, 9 tokens out (3 characters had come)" in command.err.text


def test_interrupted_json_ends_with_an_error(serve):
    server = serve(chat.stream(*chat.says("Hel"), Hold()))
    with piped(*of(server, "--json")) as command:
        assert command.out.wait("Hel")
        command.process.send_signal(signal.SIGINT)
        assert command.end() == 130
        *events, last = [msgspec.json.decode(line, type=SerializedEvent) for line in command.out.data.splitlines()]
    assert lifecycle.violations([event for event in events if isinstance(event, Event)]) == [
        "the stream has no ResponseEnd"
    ]
    assert isinstance(last, ErrorEvent)
    assert (last.kind, last.code) == ("cancelled", "LLM_CANCELLED")


def test_interrupted_before_anything_is_sent():
    with piped("ask", "-m", "openai/chat:m", stdin=subprocess.PIPE, command=READY) as command:
        assert command.out.wait("ready")
        command.process.send_signal(signal.SIGINT)
        assert command.end() == 130
        assert command.err.text == "llmcore: interrupted; nothing was sent\n"
        command.process.stdin.close()


READY = (
    *PLAIN_PYTHON[:-2],
    "-c",
    """
import io, sys
class Stdin(io.BytesIO):
    def read(self):
        print("ready", flush=True)
        return sys.__stdin__.buffer.read()
sys.stdin = io.TextIOWrapper(Stdin())
from llmcore.cli import main
sys.exit(main(sys.argv[1:]))
""",
)
"""The command, saying when it begins to read its input."""


def test_a_job_that_its_shell_keeps_from_ctrl_c_goes_on(serve, gate):
    """`nohup`-like: SIGINT is ignored from the start, and stays so."""
    server = serve(chat.stream(*chat.says("Hel"), Wait(gate), *chat.says("lo"), *chat.ends()))
    code = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv(sys.executable, sys.argv[1:])"
    )
    with piped(*PLAIN_PYTHON, *of(server), command=(PLAIN_PYTHON[0], "-c", code)) as command:
        assert command.out.wait("Hel")
        command.process.send_signal(signal.SIGINT)
        gate.set()
        assert command.end() == 0
        assert command.out.text == "Hello\n"


@pytest.mark.parametrize("way", [(), ("--json",)])
def test_a_reader_that_stops_reading(serve, way):
    """The process waits in a write. Ctrl-C says what it says; a second one ends it, whoever waits for what."""
    server = serve(chat.stream(*chat.says(*["x" * 60_000] * 10), Hold()))
    read, write = os.pipe()
    with started(*of(server, *way), stdout=write) as process:
        os.close(write)
        assert os.read(read, 1)
        err = Gathered(process.stderr)
        process.send_signal(signal.SIGINT)
        assert err.wait("llmcore: interrupted; the connection is closed")
        assert server.connections[0].closed.wait(PATIENCE)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) in (130, -signal.SIGINT)
        err.end()
        os.close(read)


# -- terminals


PLAIN = ("--plain",)


def test_on_a_terminal_it_streams_and_ctrl_c_ends_it(serve):
    server = serve(chat.stream(*chat.says("Hel", "lo"), Hold()))
    with on_terminal(*of(server, *PLAIN), columns=120) as command:
        assert command.shown.wait("Hello")
        command.press(b"\x03")
        assert command.end() == 130
        assert command.lines[:2] == [
            "Hello^C",
            f"llmcore: interrupted; {UNKNOWN} (5 characters had come)",
        ]
    assert server.connections[0].closed.wait(PATIENCE)


def test_reasoning_and_answer_share_a_terminal(serve):
    steps = (*chat.thinks("hm"), *chat.says("one "), *chat.thinks("so"), *chat.says("two"), *chat.ends())
    with on_terminal(*of(serve(chat.stream(*steps)), *PLAIN)) as command:
        assert command.end() == 0
        assert command.lines == ["reasoning: hm", "one", "reasoning: so", "two", USED.rstrip(), ""]


def test_what_a_provider_sends_does_not_steer_the_terminal(serve):
    evil = "a\x1b]52;c;aGk=\x07b\x9b2Jc\rd\te\n"
    steps = (*chat.thinks("\x1b[8mhidden"), *chat.says(evil), *chat.ends())
    with on_terminal(*of(serve(chat.stream(*steps)), *PLAIN)) as command:
        assert command.end() == 0
        assert command.lines[:2] == ["reasoning: \\x1b[8mhidden", "a\\x1b]52;c;aGk=\\x07b\\x9b2Jcd\te"]


def test_with_stdout_piped_the_terminal_gets_the_rest(serve):
    server = serve(chat.stream(*chat.thinks("hm"), *chat.says("# one "), *chat.thinks("so"), *chat.ends()))
    with on_terminal(*of(server), stdout=subprocess.PIPE) as command:
        out = command.process.stdout.read()
        assert command.end() == 0
        assert out == b"# one \n"
        assert command.lines == ["reasoning: hm", "reasoning: so", USED.rstrip(), ""]


def test_without_a_prompt_a_terminal_is_not_read():
    with on_terminal("ask", "-m", "openai/chat:m") as command:
        assert command.end() == 2
        assert command.lines[0].startswith("llmcore: nothing to ask")


def test_a_dash_reads_the_terminal(serve):
    server = serve(chat.answer("Hello"))
    with on_terminal(*of(server, *PLAIN)[:-1], "-") as command:
        command.press(b"typed\n\x04")
        assert command.end() == 0
    assert server.requests[0].json()["messages"][-1]["content"] == "typed"


# -- the rendered look


MARKDOWN = """Some **bold** words and [a link](https://example.com/a).

- one
- two

```python
print("hi")
```

last words
"""
RENDERED = """Some bold words and a link (https://example.com/a).

 • one
 • two


 print("hi")


last words
"""


def pieces(text, size):
    return chat.says(*[text[place : place + size] for place in range(0, len(text), size)])


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_markdown_is_rendered_on_a_terminal(serve, size):
    server = serve(chat.stream(*chat.thinks("hm"), *pieces(MARKDOWN, size), *chat.ends()))
    with on_terminal(*of(server)) as command:
        assert command.end() == 0
        assert "\n".join(command.lines) == f"reasoning: hm\n{RENDERED}{USED}"
        assert "\x1b[?25h" in command.shown.text  # the cursor is back


def test_a_block_under_way_is_seen(serve, gate):
    server = serve(chat.stream(*chat.says("Some **bold** wo"), Wait(gate), *chat.says("rds"), *chat.ends()))
    with on_terminal(*of(server)) as command:
        assert command.shown.wait("wo")
        assert "rds" not in command.shown.text
        gate.set()
        assert command.end() == 0
        assert command.lines == ["Some bold words", USED.rstrip(), ""]


def test_ctrl_c_leaves_what_came_and_the_cursor(serve):
    server = serve(chat.stream(*chat.says("Some **bold** wo"), Hold()))
    with on_terminal(*of(server), columns=120) as command:
        assert command.shown.wait("wo")
        command.process.send_signal(signal.SIGINT)
        assert command.end() == 130
        assert command.lines[0] == "Some bold wo"
        assert command.lines[1].startswith("llmcore: interrupted; the connection is closed; used so far: unknown")
        assert command.shown.text.rindex("\x1b[?25h") > command.shown.text.rindex("\x1b[?25l")


def test_a_stream_that_breaks_leaves_what_came(serve):
    server = serve(chat.stream(*chat.says("Some **bold** wo")))
    with on_terminal(*of(server), columns=120) as command:
        assert command.end() == 5
        assert command.lines[0] == "Some bold wo"
        assert command.lines[1].startswith("llmcore: the stream ended")


def test_reasoning_between_blocks(serve):
    """What is finished stays above it; the block under way goes on below it."""
    steps = (*chat.says("one\n\n- two\n- th"), *chat.thinks("so"), *chat.says("ree"), *chat.ends())
    with on_terminal(*of(serve(chat.stream(*steps)))) as command:
        assert command.end() == 0
        assert command.lines == ["one", "reasoning: so", "", " • two", " • three", USED.rstrip(), ""]


def test_escapes_in_markdown_are_shown(serve):
    server = serve(chat.answer("a \x1b]0;title\x07 `\x1b[2J` b"))
    with on_terminal(*of(server)) as command:
        assert command.end() == 0
        assert command.lines[0] == "a \\x1b]0;title\\x07 \\x1b[2J b"


WITHOUT_RICH = (
    *PLAIN_PYTHON[:-2],
    "-c",
    """
import importlib.abc, sys
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in ("rich", "markdown_it"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from llmcore.cli import main
sys.exit(main(sys.argv[1:]))
""",
)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("--plain",), {}),
        ((), {"environ": {"TERM": "dumb"}}),
        ((), {"command": WITHOUT_RICH}),
        (("--schema", '{"type": "string"}'), {}),
    ],
    ids=["asked for", "dumb", "not installed", "data"],
)
def test_where_the_look_is_plain(serve, arguments, options):
    text = '"# no **title**"'
    with on_terminal(*of(serve(chat.answer(text)), *arguments), **options) as command:
        assert command.end() == 0
        assert command.lines == [text, USED.rstrip(), ""]
        assert "\x1b" not in command.shown.text


def test_piped_it_is_always_plain(serve):
    server = serve(chat.answer(MARKDOWN))
    with piped(*of(server), FORCE_COLOR="1", TTY_COMPATIBLE="1") as command:
        assert command.end() == 0
        assert (command.out.text, command.err.text) == (MARKDOWN, USED)


# -- the other commands


def test_prepare_in_a_shell_sends_what_it_shows(serve):
    """The command that is printed, run by a shell with a curl of the test's own: the shell fills in the key."""
    server = serve()
    with piped("prepare", "-m", "openai/chat:gpt-5-mini", "--base-url", server.url, "It's `5` & $HOME") as command:
        assert command.end() == 0
        assert KEY not in command.out.text + command.err.text
        shown = command.out.text
    curl = 'curl() { python3 -c "import json, sys; print(json.dumps(sys.argv[1:]))" "$@"; }\n'
    done = subprocess.run(
        ["/bin/sh", "-c", curl + shown], env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    arguments = json.loads(done.stdout)
    assert f"authorization: Bearer {KEY}" in arguments
    assert json.loads(arguments[-1])["messages"][-1]["content"] == "It's `5` & $HOME"
    assert server.requests == ()


def test_the_screen_of_these_tests():
    assert screen("ab\r\ncd\x1b[1A\rA\r\n\x1b[2Kx  \r\n") == ["Ab", "x", ""]
    assert screen("\x1b[?25l\x1b[1;31mred\x1b[0m") == ["red"]
    with pytest.raises(AssertionError):
        screen("\x1b]0;title\x07")
