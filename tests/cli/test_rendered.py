"""The rendered look, without a terminal: which blocks are finished, and that nothing of a text is left away."""

import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from terminals import screen

from llmcore.cli.rendered import _PARSER, Rendered, _Blocks, finished

HEADS = ("word", "", "# head", "===", "---", "#", "*", "-", "\t", "    code", "```", "~~~ python")
INNER = ("- item", "  more", "1. one", "2) two", "> quote", "| a | b |", "|---|---|", "[x]: http://h/x", "<div>")
LINES = st.sampled_from((*HEADS, *INNER))
TEXTS = st.lists(LINES, max_size=12).map("\n".join)


def blocks(text):
    """The outermost blocks, each as its type and its lines."""
    return [
        (token.type, token.map[1] - token.map[0], token.content)
        for token in _PARSER.parse(text)
        if token.level == 0 and token.map is not None
    ]


@given(TEXTS, TEXTS)
@settings(max_examples=200, deadline=None)
def test_what_is_finished_stays_so(text, more):
    """Whatever comes, the finished blocks are the first ones of the whole, and the rest is read as if it came alone."""
    done = finished(text)
    assert 0 <= done <= len(text)
    assert blocks(text[:done]) + blocks(text[done:] + more) == blocks(text + more)


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("", ""),
        ("one line", ""),
        ("one\n\ntwo", ""),  # "two" may become anything that begins with it
        ("one\n\ntwo\n", "one\n\n"),
        ("one\n#", ""),  # a heading, or a hashtag
        ("one\n# two\n", "one\n"),
        ("- a\n- b\n\nc\n", "- a\n- b\n\n"),
        ("```\na\n\nb\n", ""),
        ("```\na\n```\nb\n", "```\na\n```\n"),
        ("a\n\nb\n\nc\n", "a\n\nb\n\n"),
    ],
)
def test_a_block_is_finished_when_a_line_of_the_next_is_whole(text, done):
    assert text[: finished(text)] == done


class Terminal(io.StringIO):
    """A file that says it is one."""

    def isatty(self):
        return True


def rendered(pieces, monkeypatch, columns=200):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    out = Terminal()
    writer = Rendered(out)
    for piece in pieces:
        writer.write(piece)
    writer.end()
    return screen(out.getvalue().replace("\n", "\r\n"))


EVERYTHING = """\
alpha <b>beta</b> [gamma](http://h/delta) ![epsilon](http://h/zeta.png) `eta` **theta** ~~iota~~
<p>kappa</p>

<div class="lambda">mu</div>

- nu
  - xi

1. omicron
2. [pi][ref]

> rho

| sigma | tau |
|-------|-----|
| upsilon | phi |

[ref]: http://h/chi

    psi

```text
omega <http://h/ending>
```
"""


@pytest.mark.parametrize("size", [1, 10, 10_000])
def test_nothing_of_the_text_is_left_away(size, monkeypatch):
    pieces = [EVERYTHING[place : place + size] for place in range(0, len(EVERYTHING), size)]
    shown = "\n".join(rendered(pieces, monkeypatch))
    words = set(re.findall(r"[a-z]{2,}", EVERYTHING.replace("```text", "")))
    assert {word for word in words if word not in shown} == set()


@pytest.mark.parametrize("size", [1, 10])
def test_it_looks_the_same_in_pieces(size, monkeypatch):
    pieces = [EVERYTHING[place : place + size] for place in range(0, len(EVERYTHING), size)]
    assert rendered(pieces, monkeypatch) == rendered([EVERYTHING], monkeypatch)


def test_an_empty_answer_shows_nothing(monkeypatch):
    assert rendered([], monkeypatch) == rendered(["", "\n", " \n"], monkeypatch) == [""]


@given(TEXTS)
@settings(max_examples=50, deadline=None)
def test_what_grows_is_never_taller_than_the_terminal(text):
    console = Console(file=io.StringIO(), width=20, height=6)
    lines = console.render_lines(_Blocks(text, below=True, grows=True), console.options)
    assert len(lines) <= 5
