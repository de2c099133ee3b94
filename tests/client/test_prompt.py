"""What a caller may write for a request, and that every field can be written."""

from collections.abc import Sequence
from typing import Any, get_type_hints

import msgspec
import pytest
import tiny

from llmcore.client import Client
from llmcore.client.prompt import GENERATION, RequestFields, as_request
from llmcore.errors import ConfigError, InvalidRequestError
from llmcore.schema import (
    CacheOptions,
    Generation,
    HttpExtras,
    JsonFormat,
    Message,
    Modality,
    ReasoningOptions,
    Request,
    RequestTool,
    Text,
    ToolChoice,
    ToolDefinition,
)

HI = Request(messages=(Message.user("Hi"),))
TOOL = ToolDefinition(name="add")


def test_the_keywords_are_the_fields_of_the_structs() -> None:
    hints = get_type_hints(RequestFields)
    request = {field.name: field.type for field in msgspec.structs.fields(Request)}
    generation = {field.name: field.type for field in msgspec.structs.fields(Generation)}
    del request["messages"], request["generation"]
    assert not request.keys() & generation.keys()
    # Where the struct has a tuple, people may write any sequence.
    accepted = {str(tuple[RequestTool, ...]): Sequence[RequestTool], str(tuple[str, ...]): Sequence[str]}
    accepted[str(tuple[Modality, ...])] = Sequence[Modality]
    accepted[str(str | tuple[Text, ...])] = str | Sequence[Text]
    assert hints == {name: accepted.get(str(kind), kind) for name, kind in {**request, **generation}.items()}
    assert generation.keys() == GENERATION


@pytest.mark.parametrize(
    "prompt",
    ["Hi", [Message.user("Hi")], (Message.user("Hi"),), iter([Message.user("Hi")]), HI],
    ids=["text", "list", "tuple", "iterator", "request"],
)
def test_forms_of_a_prompt(prompt: Any) -> None:
    assert as_request(prompt) == HI


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"system": "Be brief."}, Request(system="Be brief.")),
        ({"system": [Text(text="a")]}, Request(system=(Text(text="a"),))),
        ({"tools": [TOOL]}, Request(tools=(TOOL,))),
        ({"tool_choice": ToolChoice.named("add")}, Request(tool_choice=ToolChoice.named("add"))),
        ({"reasoning": ReasoningOptions(effort="low")}, Request(reasoning=ReasoningOptions(effort="low"))),
        ({"response_format": JsonFormat()}, Request(response_format=JsonFormat())),
        ({"output_modalities": ["text", "audio"]}, Request(output_modalities=("text", "audio"))),
        ({"cache": CacheOptions(key="k")}, Request(cache=CacheOptions(key="k"))),
        ({"provider_options": {"tiny": {"tier": "x"}}}, Request(provider_options={"tiny": {"tier": "x"}})),
        ({"http": HttpExtras(query={"a": "b"})}, Request(http=HttpExtras(query={"a": "b"}))),
        ({"metadata": {"session_id": "s"}}, Request(metadata={"session_id": "s"})),
        ({"max_tokens": 5}, Request(generation=Generation(max_tokens=5))),
        ({"temperature": 1}, Request(generation=Generation(temperature=1.0))),
        ({"stop": ["a", "b"], "seed": 7}, Request(generation=Generation(stop=("a", "b"), seed=7))),
        ({"max_tokens": None}, Request()),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_keywords(fields: Any, expected: Request) -> None:
    assert as_request("Hi", **fields) == msgspec.structs.replace(expected, messages=HI.messages)


def test_a_keyword_wins_over_the_request_and_leaves_the_rest() -> None:
    given = Request(messages=HI.messages, system="Be brief.", generation=Generation(max_tokens=5, seed=1))
    made = as_request(given, seed=2, metadata={"a": "b"})
    assert made.generation == Generation(max_tokens=5, seed=2)
    assert (made.system, made.metadata) == ("Be brief.", {"a": "b"})
    assert given.generation.seed == 1  # nothing that was given is changed
    assert as_request(given) is given


@pytest.mark.parametrize(
    ("name", "near"),
    [("max_token", "max_tokens"), ("temprature", "temperature"), ("tool", "tools"), ("timeot", "timeout")],
)
def test_an_unknown_keyword_names_the_nearest(name: str, near: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}.*did you mean '{near}'"):
        as_request("Hi", **{name: 1})
    with Client() as client, pytest.raises(ConfigError, match=near):
        client.generate(tiny.model("http://127.0.0.1:1"), "Hi", **{name: 1})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_tokens", "5"),
        ("temperature", "hot"),
        ("stop", "a"),
        ("seed", 1.5),
        ("system", None),
        ("tools", TOOL),
        ("tools", ["add"]),
        ("tool_choice", "auto"),
        ("response_format", dict),
        ("metadata", {"a": 1}),
        ("http", HI),
        ("output_modalities", ["smell"]),
    ],
)
def test_a_value_of_another_type_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InvalidRequestError, match=f"{name}=") as caught:
        as_request("Hi", **{name: value})
    assert caught.value.param == name


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        (None, "NoneType"),
        (7, "int"),
        (b"Hi", "bytes"),
        (Message.user("Hi"), "put it in a list"),
        ({"role": "user"}, r"messages\[0\] is str"),
        ([Message.user("Hi"), {"role": "user"}], r"messages\[1\] is dict"),
        (["Hi"], r"messages\[0\] is str"),
    ],
)
def test_what_is_no_prompt(prompt: Any, words: str) -> None:
    with pytest.raises(InvalidRequestError, match=words):
        as_request(prompt)


def test_an_empty_prompt_is_refused_before_anything_is_sent() -> None:
    with Client() as client, pytest.raises(InvalidRequestError):
        client.generate(tiny.model("http://127.0.0.1:1"), [])
