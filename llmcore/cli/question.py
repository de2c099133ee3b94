"""What `ask` and `prepare` have in common: a question, as arguments and stdin state it, made a model and a request."""

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO

if TYPE_CHECKING:
    from llmcore.route import Model
    from llmcore.schema import JsonFormat, Media, Request

MODEL_VARIABLE: Final = "LLMCORE_MODEL"
STDIN: Final = "-"
_URL: Final = re.compile(r"https?://", re.IGNORECASE)
_TYPE: Final = ";type="


class Question(NamedTuple):
    """A request, the model that it is for, and the JSON Schema that its answer should fit."""

    model: "Model[Any]"
    request: "Request"
    schema: dict[str, object] | None


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that make the question."""
    parser.add_argument(
        "prompt", nargs="?", help="what to ask; what is piped into stdin is appended, or stands for it ('-', or none)"
    )
    parser.add_argument(
        "-m", "--model", metavar="MODEL", help=f"provider:model or provider/api:model (default: ${MODEL_VARIABLE})"
    )
    parser.add_argument("-s", "--system", metavar="TEXT", help="instructions that stand before the prompt")
    parser.add_argument(
        "-f",
        "--file",
        metavar="PATH|URL",
        action="append",
        default=[],
        help="an image, a sound or a document beside the prompt; a URL is passed on, not fetched. "
        f"'{_TYPE}image/png' after it where the name does not tell the type. May be repeated",
    )
    parser.add_argument(
        "--schema", metavar="FILE|JSON", help="answer as JSON of this JSON Schema; the answer is checked against it"
    )
    parser.add_argument("--max-tokens", metavar="N", type=_count, help="the longest answer, in tokens")
    parser.add_argument("--temperature", metavar="T", type=float)
    parser.add_argument("--effort", metavar="WORD", help="how much to think: none, minimal, low, medium, high, …")
    parser.add_argument(
        "-o",
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an option of the provider's protocol; the value is JSON, else text. May be repeated",
    )
    parser.add_argument("--base-url", metavar="URL", help="where the provider is, if not at its own address")
    parser.add_argument("--no-stream", action="store_true", help="ask for the answer as a whole")


def question(arguments: argparse.Namespace, stdin: TextIO | None) -> Question:
    """The question. Reads stdin where it is no terminal. Raises `ConfigError` for arguments that make none, naming
    the argument, and what `llmcore.model` and the schema raise."""
    from llmcore.client.oneoff import model
    from llmcore.schema import Generation, Message, ReasoningOptions, Request

    asked = model(_model_name(arguments), base_url=arguments.base_url)
    media = [_media(given) for given in arguments.file]
    text = _text(arguments.prompt, stdin)
    if not text and not media:
        raise _wrong("nothing to ask: give a prompt, or pipe one into stdin")
    shape = None if arguments.schema is None else _shape(arguments.schema)
    options = dict([_option(given) for given in arguments.option])
    request = Request(
        system=arguments.system or (),
        messages=(Message.user(*media, *((text,) if text else ())),),
        generation=Generation(max_tokens=arguments.max_tokens, temperature=arguments.temperature),
        reasoning=None if arguments.effort is None else ReasoningOptions(effort=arguments.effort),
        response_format=shape,
        provider_options={asked.provider: options} if options else {},
    )
    return Question(asked, request, None if shape is None else shape.schema)


def _model_name(arguments: argparse.Namespace) -> str:
    name = arguments.model or os.environ.get(MODEL_VARIABLE)
    if not name:
        raise _wrong(f"no model: name one with -m provider:model, or in {MODEL_VARIABLE}")
    return name


def _text(prompt: str | None, stdin: TextIO | None) -> str:
    """The prompt, with what stdin holds appended or in its place."""
    piped = ""
    if stdin is not None and not stdin.closed and (prompt == STDIN or not stdin.isatty()):
        try:
            piped = stdin.buffer.read().decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise _wrong("stdin is not text in UTF-8; pass images and the like with --file") from None
    return "\n\n".join([each for each in (None if prompt == STDIN else prompt, piped) if each])


def _media(given: str) -> "Media":
    from llmcore.schema import Media

    place, _, media_type = given.rpartition(_TYPE) if _TYPE in given else (given, "", "")
    if _URL.match(place):
        return Media.from_url(place, media_type or _guessed(place.partition("?")[0].partition("#")[0]))
    try:
        return Media.from_path(place, media_type or _guessed(place))
    except OSError as problem:
        raise _unreadable("--file", place, problem) from None


def _guessed(name: str) -> str:
    """The media type that the name tells. Raises `ConfigError` where it tells none."""
    import mimetypes

    from llmcore.schema.base import excerpt

    kind = mimetypes.guess_type(name)[0]
    if kind is None:
        raise _wrong(f"--file: {excerpt(name)} does not tell its media type; add it, as in '{_TYPE}image/png'")
    return kind


def _shape(given: str) -> "JsonFormat":
    """The response format of a JSON Schema that is given as it is or by its file's name."""
    import msgspec

    from llmcore.schema import JsonFormat

    text: str | bytes = given
    if not given.lstrip().startswith("{"):
        try:
            text = Path(given).read_bytes()
        except OSError as problem:
            raise _unreadable("--schema", given, problem) from None
    try:
        schema = msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise _wrong(f"--schema is no JSON object: {problem}") from None
    from llmcore.cli.fit import refused

    if (reason := refused(schema)) is not None:
        raise _wrong(f"--schema is no JSON Schema: {reason}")
    return JsonFormat(schema=schema)


def _option(given: str) -> tuple[str, object]:
    import msgspec

    name, equals, value = given.partition("=")
    if not name or not equals:
        raise _wrong(f"--option takes NAME=VALUE, not {given[:80]!r}")
    try:
        return name, msgspec.json.decode(value)
    except msgspec.DecodeError:
        return name, value


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


_count.__name__ = "number of tokens"  # argparse names the type of a wrong value by it


def _unreadable(argument: str, place: str, problem: OSError) -> Exception:
    from llmcore.schema.base import excerpt

    return _wrong(f"{argument}: {excerpt(place)}: {problem.strerror or problem}")


def _wrong(reason: str) -> Exception:
    from llmcore.errors import ConfigError

    return ConfigError(reason)
