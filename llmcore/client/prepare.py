"""All of a call before Auth: pure, no I/O. The same for sending and for showing what would be sent."""

import logging
import math
import shlex
import string
from typing import Any, Final, Generic, TypeVar
from urllib.parse import parse_qsl, urlsplit

import msgspec

from llmcore import history
from llmcore._version import __version__
from llmcore.auth import placeholder
from llmcore.capabilities import refused, required_capabilities
from llmcore.errors import CapabilityError, ConfigError, InvalidRequestError, LLMError
from llmcore.http import HttpRequest
from llmcore.protocol import Headers
from llmcore.route import Model, merged
from llmcore.schema.base import excerpt
from llmcore.schema.canonical import canonical
from llmcore.schema.limits import Excess, excesses
from llmcore.schema.request import Generation, HttpExtras, Request
from llmcore.schema.response import CallWarning
from llmcore.url import join

B = TypeVar("B")

_log: Final = logging.getLogger("llmcore")
_encode: Final = msgspec.json.Encoder().encode
USER_AGENT: Final = f"llmcore/{__version__}"
BYTES_PER_TOKEN: Final = 4
"""A rule of thumb for JSON with English text; `Prepared.estimated_input_tokens` says that it is one."""


class Prepared(msgspec.Struct, Generic[B], frozen=True, kw_only=True):
    """What would be sent, without sending it. `headers` and `url` show `$OPENAI_API_KEY` (`key`) where the key goes;
    `body` is the protocol's own struct and `content` the exact bytes. `estimated_input_tokens` is a rule of thumb."""

    model: str
    method: str
    url: str
    headers: Headers
    key: str
    body: B
    content: bytes
    warnings: tuple[CallWarning, ...] = ()
    estimated_input_tokens: int

    def to_curl(self) -> str:
        """A `curl` command that sends the same request; the shell puts the key in for its variable."""
        lines = [f"curl -X {self.method} {_quoted(self.url, self.key)}"]
        lines += [f"-H {_quoted(f'{name}: {value}', self.key)}" for name, value in self.headers]
        if self.content:
            lines.append(f"--data-raw {shlex.quote(self.content.decode())}")
        return " \\\n  ".join(lines)


def _quoted(text: str, key: str) -> str:
    """For a POSIX shell, with nothing but the variable `key` left for it to fill in."""
    pieces = text.split(key)
    if len(pieces) > 1 and not any(char in piece for piece in pieces for char in '\\"`$!'):
        return f'"{text}"'
    return f'"{key}"'.join([shlex.quote(piece) if piece or len(pieces) == 1 else "" for piece in pieces])


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """What a request would lose on a model (`warnings`), and what would refuse it (`errors`). Nothing was sent."""

    warnings: tuple[CallWarning, ...] = ()
    errors: tuple[LLMError, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the request could be sent; with warnings or without."""
        return not self.errors


class Plan(msgspec.Struct, Generic[B], frozen=True, kw_only=True):
    """A call made ready: the request that lacks nothing but its credential."""

    model: Model[B]
    request: Request
    stream: bool
    body: B
    http: HttpRequest
    warnings: tuple[CallWarning, ...]

    def shown(self) -> Prepared[B]:
        """The plan for eyes: credentials stand as variables."""
        shown = self.model.route.auth.shown(self.http)
        return Prepared(
            model=self.model.id,
            method=shown.method,
            url=shown.url,
            headers=shown.headers,
            key=placeholder(self.model.route.auth.env),
            body=self.body,
            content=shown.body,
            warnings=self.warnings,
            estimated_input_tokens=-(-len(shown.body) // BYTES_PER_TOKEN),
        )


def plan(model: Model[B], request: Request, *, stream: bool, strict: bool) -> Plan[B]:
    """Makes the call ready. Raises `InvalidRequestError` for a history that no provider takes, `CapabilityError` for
    what this model cannot carry (with `strict` for every warning, too), `ConfigError` for options it does not know."""
    history.validate(request)  # first: what follows relies on the types of its fields
    request = with_defaults(model, request)
    _finite(request.generation)
    request, warnings = _within_capabilities(model, request, stream)
    route = model.route
    for excess in excesses(request.messages, route.media_limits):
        raise _too_large(model, excess)
    lowered = route.protocol.lower(request, model, stream)
    warnings += lowered.warnings
    if strict and warnings:
        first = warnings[0]
        raise CapabilityError(
            f"strict: {first.subject}: {first.reason}",
            subject=first.subject,
            message_index=first.message_index,
            part_index=first.part_index,
            provider=model.provider,
            model=model.name,
        )
    for warning in warnings:
        log(warning, request)
    headers = (
        ("content-type", "application/json"),
        ("accept", route.framing.accept if stream else "application/json"),
        ("user-agent", USER_AGENT),
        *((("accept-encoding", "identity"),) if stream else ()),
        *lowered.headers,
    )
    http = HttpRequest(
        method=route.endpoint.method,
        url=route.endpoint.url(model.base_url, model.name, stream=stream),
        headers=headers,
        body=_encode(lowered.body),
    )
    if request.http != HttpExtras():
        http = _with_extras(http, request.http, route.auth.shown(http))
    return Plan(model=model, request=request, stream=stream, body=lowered.body, http=http, warnings=warnings)


def check(model: Model[Any], request: Request, *, stream: bool, strict: bool) -> Check:
    """Everything that the request would lose or be refused for on this model."""
    try:
        history.validate(request)
    except LLMError as error:
        return Check(errors=(error,))
    merged_request = with_defaults(model, request)
    errors: list[LLMError] = [
        _refusal(model, need)
        for need in required_capabilities(merged_request, stream)
        if need.critical and refused(model.capabilities, need)
    ]
    try:
        ready = plan(model, request, stream=stream, strict=strict)
    except LLMError as error:
        if not any(str(known) == str(error) for known in errors):
            errors.append(error)
        return Check(errors=tuple(errors))
    return Check(warnings=ready.warnings)


def with_defaults(model: Model[Any], request: Request) -> Request:
    """The request laid upon the model's defaults, field by field: what the request says wins."""
    under = model.defaults
    if under == type(under)():
        return request
    changes = dict[str, Any]()
    for name in under.__struct_fields__:
        low, high = getattr(under, name), getattr(request, name)
        if low is None or low == high:
            continue
        if name == "provider_options":
            changes[name] = _upon(low, high)
        else:
            changes[name] = low if high is None else merged(low, high)
    return msgspec.structs.replace(request, **changes)


def _upon(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`provider_options` laid upon those of the route, option by option."""
    laid = {**under, **over}
    for provider in under.keys() & over.keys():
        low, high = under[provider], over[provider]
        if isinstance(low, dict) and isinstance(high, dict):
            laid[provider] = {**low, **high}
        elif isinstance(low, msgspec.Struct) and type(low) is type(high):
            laid[provider] = merged(low, high)
    return laid


def _finite(generation: Generation) -> None:
    """Raises `InvalidRequestError` for a number that JSON cannot carry: the encoder would write `null`."""
    for name in generation.__struct_fields__:
        value = getattr(generation, name)
        if type(value) is float and not math.isfinite(value):
            raise InvalidRequestError(f"{name} is {value}, which JSON cannot carry", param=name)


def _within_capabilities(model: Model[Any], request: Request, stream: bool) -> tuple[Request, tuple[CallWarning, ...]]:
    warnings = list[CallWarning]()
    for need in required_capabilities(request, stream):
        if not refused(model.capabilities, need):
            continue
        if need.critical:
            raise _refusal(model, need)
        request = _DROPS[need.capability](request)
        warnings.append(
            CallWarning(
                subject=need.capability,
                reason=f"{model.id} does not take {need.what}: left out",
                protocol=model.route.protocol.id,
            )
        )
    return request, tuple(warnings)


def _drop_reasoning(request: Request) -> Request:
    return msgspec.structs.replace(request, reasoning=None)


def _drop_parallel(request: Request) -> Request:
    assert request.tool_choice is not None
    return msgspec.structs.replace(request, tool_choice=msgspec.structs.replace(request.tool_choice, parallel=None))


_DROPS: Final = {"reasoning": _drop_reasoning, "parallel_tool_calls": _drop_parallel}


def _refusal(model: Model[Any], need: Any) -> CapabilityError:
    place = "" if need.message_index is None else f" (messages[{need.message_index}].content[{need.part_index}])"
    return CapabilityError(
        f"{model.id} does not take {need.what}{place}; choose a model that does, or take it out of the request",
        subject=need.capability,
        message_index=need.message_index,
        part_index=need.part_index,
        provider=model.provider,
        model=model.name,
    )


_TOKEN: Final = frozenset("!#$%&'*+-.^_`|~" + string.digits + string.ascii_letters)
"""What the name of a header is made of. Source: https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2"""


def _too_large(model: Model[Any], excess: Excess) -> CapabilityError:
    place = f"messages[{excess.message_index}]"
    if excess.part_index is not None:
        place += f".content[{excess.part_index}]"
    return CapabilityError(
        f"{model.id}: {place} has {excess.problem}; make it smaller, or upload it and pass its reference",
        subject="media",
        message_index=excess.message_index,
        part_index=excess.part_index,
        provider=model.provider,
        model=model.name,
    )


def _with_extras(http: HttpRequest, extras: HttpExtras, shown: HttpRequest) -> HttpRequest:
    """The request with the caller's own headers, query and body fields, none of which may be set already."""
    taken = {name.lower() for name, _ in shown.headers}
    for name, value in extras.headers.items():
        if name.lower() in taken:
            raise ConfigError(f"http.headers may not set {name!r}: this call sets it itself")
        if set(name) - _TOKEN or not name or not value.isascii() or not value.isprintable():
            raise ConfigError(f"http.headers[{excerpt(name)}] holds a character that a header cannot carry")
    present = {name for name, _ in parse_qsl(urlsplit(shown.url).query, keep_blank_values=True)}
    for name in extras.query:
        if name in present:
            raise ConfigError(f"http.query may not set {name!r}: this call sets it itself")
    body = http.body
    if extras.body:
        fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        for name in extras.body:
            if name in fields:
                raise ConfigError(f"http.body may not set {name!r}: this call sets it itself")
        canonical(extras.body)  # refuses what the encoder would change: NaN, infinities
        body = _encode({**fields, **extras.body})
    return HttpRequest(
        method=http.method,
        url=join(http.url, query=extras.query.items()) if extras.query else http.url,
        headers=(*http.headers, *extras.headers.items()),
        body=body,
    )


def log(warning: CallWarning, request: Request) -> None:
    """One WARN record, its fields for machines beside its sentence for people."""
    _log.warning(
        "%s: %s",
        warning.subject,
        warning.reason,
        extra={
            "session_id": request.metadata.get("session_id"),
            "message_id": warning.message_id,
            "part_type": warning.part_type,
            "protocol": warning.protocol,
            "reason": warning.reason,
        },
    )
