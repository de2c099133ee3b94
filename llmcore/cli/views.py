"""How an answer is shown: to a person (`Screen`), or to a program (`Lines`).

A person gets the answer's text on stdout and everything else on stderr. What lays the two out on one terminal (a line's
end between them) goes to stderr, so that stdout holds the text and nothing but the text, with a line's end after it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol, TextIO

import msgspec

from llmcore import events as e
from llmcore.cli.terminal import is_terminal, printable, say, write_line
from llmcore.errors import LLMError
from llmcore.schema import Media, Response, Usage, canonical

if TYPE_CHECKING:
    from llmcore.schema import CallWarning


class View(Protocol):
    """One of the two. `ended`, `failed` or `interrupted` comes last, once."""

    def event(self, event: e.Event) -> None:
        """Shows an event of a stream."""

    def whole(self, response: Response) -> None:
        """Shows an answer that came as a whole."""

    def ended(self, response: Response) -> None:
        """Shows what is to be said of a finished answer."""

    def failed(self, error: e.ErrorEvent, used: Usage | None) -> None:
        """Shows what there is to be seen of a failure. Its message is said later, for every command alike."""

    def interrupted(self, error: e.ErrorEvent) -> None:
        """Says that the user ended it. Writes to stdout after that, if at all: it may be what does not go on."""


class Writer(Protocol):
    """What puts the answer's text on stdout. `open` says that a line of it is not at its end."""

    open: bool

    def write(self, text: str) -> None:
        """Shows the next piece."""

    def pause(self) -> None:
        """Makes room for a line of another's."""

    def end(self) -> None:
        """Ends the text with a line's end."""


class Plain:
    """Text as it comes."""

    def __init__(self, out: TextIO) -> None:
        self.open = False
        self._out = out
        self._clean: Callable[[str], str] = printable if is_terminal(out) else str

    def write(self, text: str) -> None:
        """Writes the piece now."""
        if text:
            self._out.write(self._clean(text))
            self._out.flush()
            self.open = not text.endswith("\n")

    def pause(self) -> None:
        """Nothing waits to be written."""

    def end(self) -> None:
        """Ends the line."""
        if self.open:
            self.write("\n")


class Screen:
    """The view for a person: `answer` writes the text to stdout; notes go to `err`, and, unless `quiet`, the model's
    reasoning and what was used."""

    def __init__(self, answer: Writer, out: TextIO, err: TextIO, *, quiet: bool = False) -> None:
        self._answer = answer
        self._err = err
        self._quiet = quiet
        self._clean: Callable[[str], str] = printable if is_terminal(err) else str
        self._together = is_terminal(out) and is_terminal(err)
        self._aside = False  # whether a line on stderr is not at its end
        self._refusals: set[str] = set()

    def event(self, event: e.Event) -> None:
        """Shows what a person wants to see of it."""
        shown = SHOWN.get(type(event))
        if shown is not None:
            shown(self, event)

    def whole(self, response: Response) -> None:
        """Shows reasoning, refusal and text."""
        self._say_aside("reasoning: ", response.reasoning)
        self._say_aside("refused: ", response.refusal or "")
        self.text(response.text)
        self._read_with(response.warnings)

    def ended(self, response: Response) -> None:
        """Notes what is in the answer and is no text, why it is cut short where it is, and what was used."""
        self._close()
        for call in response.tool_calls:
            self._note(f"tool call: {call.name} {call.arguments}")
        for part in response.message.content:
            if isinstance(part, Media):
                self._note(f"not shown: {part.media_type}{'' if part.size is None else f', {part.size} bytes'}")
        if response.stop_reason in SHORT:
            self._note(f"the answer is not whole: {SHORT[response.stop_reason]}")
        self._used(response.usage)

    def failed(self, error: e.ErrorEvent, used: Usage | None) -> None:  # noqa: ARG002  # for programs
        """Ends the lines; notes what was used where that is known."""
        self._close()
        if used is not None:
            self._used(used)

    def interrupted(self, error: e.ErrorEvent) -> None:
        """Notes the reason, below the answer where both are on one terminal."""
        if self._together:
            self._close()
        self._note(error.message)
        self._close()

    def text(self, piece: str) -> None:
        """The next piece of the answer."""
        if piece:
            self._end_aside()
            self._answer.write(piece)

    def _close(self) -> None:
        self._end_aside()
        self._answer.end()

    # -- stderr

    def _begin_aside(self, label: str) -> None:
        if not self._aside:
            self._answer.pause()
            if self._together and self._answer.open:
                self._err.write("\n")
            self._err.write(label)
            self._aside = True

    def _add_aside(self, label: str, piece: str) -> None:
        if piece:
            self._begin_aside(label)
            self._err.write(self._clean(piece))
            self._err.flush()

    def _end_aside(self) -> None:
        if self._aside:
            self._err.write("\n")
            self._err.flush()
            self._aside = False

    def _say_aside(self, label: str, text: str) -> None:
        self._add_aside(label, text)
        self._end_aside()

    def _note(self, line: str) -> None:
        self._end_aside()
        self._say_aside("llmcore: ", " ".join(line.split()))

    def _used(self, usage: Usage) -> None:
        if not self._quiet:
            self._say_aside("used: ", tokens(usage) or "not told by the provider")

    def _read_with(self, warnings: "tuple[CallWarning, ...]") -> None:
        for warning in warnings:
            if warning.phase == "read":  # those of lowering have been logged before anything was sent
                self._note(f"warning: {warning.subject}: {warning.reason}")

    # -- events

    def on_text_start(self, event: e.TextStart) -> None:
        """Remembers a refusal: it is no answer."""
        if event.refusal:
            self._refusals.add(event.id)

    def on_text_delta(self, event: e.TextDelta) -> None:
        """Text to stdout, a refusal's to stderr."""
        if event.id in self._refusals:
            self._add_aside("refused: ", event.text)
        else:
            self.text(event.text)

    def on_reasoning_delta(self, event: e.ReasoningDelta) -> None:
        """Reasoning, on stderr."""
        if not self._quiet:
            self._add_aside("reasoning: ", event.text)

    def on_aside_end(self, _: e.Event) -> None:
        """What a block wrote on stderr ends with it."""
        self._end_aside()

    def on_response_end(self, event: e.ResponseEnd) -> None:
        """The warnings of reading."""
        self._read_with(event.warnings)


SHOWN: Final[dict[type[e.Event], Callable[[Screen, Any], None]]] = {
    e.TextStart: Screen.on_text_start,
    e.TextDelta: Screen.on_text_delta,
    e.TextEnd: Screen.on_aside_end,
    e.ReasoningDelta: Screen.on_reasoning_delta,
    e.ReasoningEnd: Screen.on_aside_end,
    e.ResponseEnd: Screen.on_response_end,
}

SHORT: Final = {
    "length": "it reached the limit of tokens",
    "content_filter": "the provider's filter stopped it",
    "tool_use": "the model asks for a tool, and there is none here",
    "pause": "the provider paused it",
    "error": "the provider ended it with an error",
}
"""The stop reasons of answers that are not whole."""


class Lines:
    """The view for a program: each event is a line of JSON on stdout, as in `llmcore.events.SerializedEvent`. A stream
    that ends with an `ErrorEvent` has failed. An answer asked for as a whole is one line, the `Response`."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def event(self, event: "e.SerializedEvent | Response") -> None:
        """Writes the line now."""
        try:
            line = msgspec.json.encode(event)
        except UnicodeEncodeError:  # half a surrogate pair, which is no Unicode: canonical JSON replaces it
            line = canonical(event)
        # What a provider sent is embedded byte for byte and may be laid out over lines.
        write_line(self._out, msgspec.json.format(line, indent=-1) if b"\n" in line else line)

    def whole(self, response: Response) -> None:
        """Writes the response."""
        self.event(response)

    def ended(self, response: Response) -> None:
        """All of it has been written."""

    def failed(self, error: e.ErrorEvent, used: Usage | None) -> None:  # noqa: ARG002  # for people
        """Writes the error."""
        self.event(error)

    def interrupted(self, error: e.ErrorEvent) -> None:
        """Says the reason to a person, and writes it."""
        say(error.message)
        self.event(error)


def error_event(error: LLMError) -> e.ErrorEvent:
    """The error as it stands in a serialised stream."""
    return e.ErrorEvent(
        error_class=type(error).__name__,
        kind=error.kind,
        code=error.code,
        message=error.message,
        status=error.status,
        retryable=error.retryable,
    )


def tokens(usage: Usage) -> str:
    """What was used, in a few words; nothing where nothing is known."""
    thinking = f" ({usage.reasoning_tokens} of them reasoning)" if usage.reasoning_tokens else ""
    cached = f" ({usage.cache_read_tokens} of them cached)" if usage.cache_read_tokens else ""
    known = (
        (usage.total_input_tokens, f"{usage.total_input_tokens} tokens in{cached}"),
        (usage.output_tokens, f"{usage.output_tokens} tokens out{thinking}"),
    )
    return ", ".join(words for count, words in known if count is not None)
