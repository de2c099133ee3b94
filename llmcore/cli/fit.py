"""Whether a JSON Schema is one, and whether an answer fits it. Nothing is fetched: what it refers to is in it."""

from typing import Any

import msgspec

from llmcore.schema.base import JSONObject, excerpt


def refused(schema: JSONObject) -> str | None:
    """Why `schema` is no JSON Schema; `None` where it is one."""
    from jsonschema.exceptions import SchemaError

    try:
        _validator(schema).check_schema(schema)
    except SchemaError as problem:
        return _sentence(problem)
    return None


def misfit(answer: str, schema: JSONObject) -> str | None:
    """Why `answer` is not JSON that fits `schema`; `None` where it does."""
    from referencing.exceptions import Unresolvable

    try:
        value = msgspec.json.decode(answer)
    except (msgspec.DecodeError, UnicodeError) as problem:
        return f"it is not JSON: {problem}"
    try:
        problem = next(iter(_validator(schema).iter_errors(value)), None)
    except Unresolvable as unknown:
        return f"the schema refers to {excerpt(str(unknown.ref))}, which is not in it"
    return None if problem is None else _sentence(problem)


def _validator(schema: JSONObject) -> Any:
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    return validator_for(schema, default=Draft202012Validator)(schema, registry=Registry())


def _sentence(problem: Any) -> str:
    """What jsonschema says, bounded, with its place."""
    text = str(problem.message)
    return f"{problem.json_path}: {text if len(text) <= 200 else text[:200] + '…'}"
