"""What the two clients have in common besides flows: their settings, and how a model and a call are made of them."""

from inspect import iscoroutinefunction
from typing import Any, Final, Literal, TypeVar

import msgspec

from llmcore import registry
from llmcore.client.call import Call
from llmcore.client.prepare import Check, Prepared, check, plan
from llmcore.client.prompt import OWN, Prompt, RequestFields, as_request
from llmcore.errors import ConfigError
from llmcore.http import Timeout
from llmcore.ids import mint_call
from llmcore.protocol import Mint
from llmcore.route import Model
from llmcore.schema.base import excerpt
from llmcore.secret import KeySource, Secret
from llmcore.transport.clock import Clock

B = TypeVar("B")

GenerateBy = Literal["whole", "stream"]
DEFAULT_TIMEOUT: Final = Timeout()


class CallFields(RequestFields, total=False):
    """The keywords of a call: those of the request, and the call's own. `timeout` in seconds bounds the whole call;
    a `Timeout` sets each clock. `strict` makes every warning of lowering an error."""

    timeout: Timeout | float | None
    strict: bool | None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a client makes its calls."""

    timeout: Timeout = DEFAULT_TIMEOUT
    generate: GenerateBy = "whole"
    strict: bool = False
    keep_raw: bool = False
    mint: Mint = mint_call

    def call(self, model: str | Model[Any], prompt: Prompt, fields: CallFields, *, stream: bool) -> Call[Any]:
        """A call made ready. Raises what `plan` and `resolve` raise, before any I/O."""
        clock_from = timeout_of(fields.get("timeout"), self.timeout)
        ready = plan(
            resolve(model), as_request(prompt, **request_fields(fields)), stream=stream, strict=self._strict(fields)
        )
        return Call(ready, Clock(clock_from), self.mint, keep_raw=self.keep_raw)

    def prepare(self, model: str | Model[B], prompt: Prompt, fields: CallFields, *, stream: bool) -> Prepared[B]:
        """What would be sent."""
        request = as_request(prompt, **request_fields(fields))
        return plan(resolve(model), request, stream=stream, strict=self._strict(fields)).shown()

    def check(self, model: str | Model[Any], prompt: Prompt, fields: CallFields, *, stream: bool) -> Check:
        """What would be lost or refused."""
        request = as_request(prompt, **request_fields(fields))
        return check(resolve(model), request, stream=stream, strict=self._strict(fields))

    def _strict(self, fields: CallFields) -> bool:
        strict = fields.get("strict")
        return self.strict if strict is None else strict


def request_fields(fields: CallFields) -> RequestFields:
    """The keywords without the call's own."""
    return {name: value for name, value in fields.items() if name not in OWN}  # type: ignore[return-value]  # pyright: ignore[reportReturnType]  # what is left are the request's


def timeout_of(given: Timeout | float | None, default: Timeout) -> Timeout:
    """The clocks that a `timeout=` stands for: a number bounds the whole call. Raises `ConfigError` for one that is not
    positive."""
    timeout = default if given is None else given
    if not isinstance(timeout, Timeout):
        timeout = msgspec.structs.replace(default, total=timeout)
    for name in timeout.__struct_fields__:
        seconds: object = getattr(timeout, name)
        if seconds is None:
            continue
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not seconds > 0:
            raise ConfigError(
                f"timeout: {name} is {excerpt(str(seconds))}; give seconds, more than 0, or None for no limit"
            )
    return timeout


def resolve(model: str | Model[B], *, api_key: KeySource | None = None, base_url: str | None = None) -> Model[B]:
    """The model of a name, or the model itself. Raises `ConfigError` for what is neither."""
    if isinstance(model, Model):
        return model
    if not isinstance(model, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # untyped callers
        raise ConfigError(f"a model is named 'provider:model' or made by llmcore.model(…), not {type(model).__name__}")
    secret = api_key if api_key is None or isinstance(api_key, Secret) else Secret(api_key)
    return registry.resolve(model, api_key=secret, base_url=base_url)


def settings(
    timeout: Timeout | float | None, generate: GenerateBy, strict: bool, keep_raw: bool, mint: Mint | None
) -> Settings:
    """The settings of a client. Raises `ConfigError` for a value that is none of its kind."""
    if generate not in ("whole", "stream"):
        raise ConfigError(f'generate is "whole" or "stream", not {generate!r}')
    return Settings(
        timeout=timeout_of(timeout, DEFAULT_TIMEOUT),
        generate=generate,
        strict=strict,
        keep_raw=keep_raw,
        mint=mint if mint is not None else mint_call,
    )


def http_client(http: Any, *, asynchronous: bool) -> Any:
    """`http` as it was given. Raises `ConfigError` for what is no HTTP client of this kind."""
    wanted = "httpx.AsyncClient" if asynchronous else "httpx.Client"
    if http is None or (asynchronous and http == "aiohttp"):
        return http
    if http == "aiohttp":
        raise ConfigError('http="aiohttp" is for AsyncClient only')
    send = getattr(http, "send", None)
    fits = not iscoroutinefunction(send) if not asynchronous else hasattr(http, "aclose") or not hasattr(http, "close")
    if not callable(send) or not callable(getattr(http, "build_request", None)) or not fits:
        raise ConfigError(f"http= takes an {wanted} or a client of that interface, not {type(http).__name__}")
    return http
