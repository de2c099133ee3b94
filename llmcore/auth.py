"""Auth: by whose leave. The last step before the wire, over the final bytes of the request.

An auth is a frozen value with `env` (the variables that its key comes from, in order), `flow` (a generator that is
given the request and the credential and returns the request to send) and `shown` (the request as `prepare` prints it,
with `$OPENAI_API_KEY` where the key goes). It may yield operations on the way: fetch a token, wait, call a function.
"""

from collections.abc import Awaitable, Callable
from typing import TypeAlias
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec

from llmcore.errors import AuthError, ConfigError
from llmcore.flow import Flow, Invoke
from llmcore.http import HttpRequest
from llmcore.secret import Secret, from_environment, validated
from llmcore.url import join

Signer: TypeAlias = Callable[[HttpRequest], HttpRequest | Awaitable[HttpRequest]]


class HeaderAuth(msgspec.Struct, frozen=True, kw_only=True):
    """The key in a header, behind `prefix`. `optional` sends the request without it when there is no key."""

    name: str
    prefix: str = ""
    env: tuple[str, ...] = ()
    optional: bool = False

    def flow(self, request: HttpRequest, credential: Secret | None, used: list[str]) -> Flow[HttpRequest]:
        key = yield from resolve(credential, self.env, self.optional)
        if key is None:
            return request
        used.append(key)
        return request.with_header(self.name, self.prefix + key)

    def shown(self, request: HttpRequest) -> HttpRequest:
        return request.with_header(self.name, f"{self.prefix}{placeholder(self.env)}")


class QueryAuth(msgspec.Struct, frozen=True, kw_only=True):
    """The key in the query of the URL, for providers that know no header."""

    name: str
    env: tuple[str, ...] = ()
    optional: bool = False

    def flow(self, request: HttpRequest, credential: Secret | None, used: list[str]) -> Flow[HttpRequest]:
        key = yield from resolve(credential, self.env, self.optional)
        if key is None:
            return request
        used += (key, quote(key, safe=""))
        return msgspec.structs.replace(request, url=join(request.url, query=((self.name, key),)))

    def shown(self, request: HttpRequest) -> HttpRequest:
        mark = "&" if "?" in request.url else "?"
        return msgspec.structs.replace(request, url=f"{request.url}{mark}{self.name}={placeholder(self.env)}")


class NoAuth(msgspec.Struct, frozen=True, kw_only=True):
    """No key at all: a server of one's own."""

    env: tuple[str, ...] = ()
    optional: bool = True

    def flow(self, request: HttpRequest, *_: object) -> Flow[HttpRequest]:
        return request
        yield  # a flow is a generator, also when it has nothing to ask for

    def shown(self, request: HttpRequest) -> HttpRequest:
        return request


class CallableAuth(msgspec.Struct, frozen=True, kw_only=True):
    """Any function from the final request to the request to send; an async one in async clients."""

    sign: Signer
    env: tuple[str, ...] = ()
    optional: bool = True

    def flow(self, request: HttpRequest, _: Secret | None, used: list[str]) -> Flow[HttpRequest]:
        signed = yield Invoke(lambda: self.sign(request))
        if not isinstance(signed, HttpRequest):
            raise ConfigError(f"an auth function returns the HttpRequest to send, not {type(signed).__name__}")
        # What the function added is taken for a secret: it must not come back in an error or a log, neither whole nor
        # without the word before it (`Bearer …`).
        before = {value for _, value in (*request.headers, *_query(request.url))}
        added = [value for _, value in (*signed.headers, *_query(signed.url)) if value not in before]
        used += [text for value in added for text in (value, value.rpartition(" ")[2], quote(value, safe=""))]
        return signed

    def shown(self, request: HttpRequest) -> HttpRequest:
        return request.with_header("authorization", "<auth function>")


def _query(url: str) -> list[tuple[str, str]]:
    return parse_qsl(urlsplit(url).query, keep_blank_values=True)


Auth: TypeAlias = HeaderAuth | QueryAuth | NoAuth | CallableAuth


def bearer(*env: str, optional: bool = False) -> HeaderAuth:
    """`Authorization: Bearer <key>`, the key from the first of `env` that is set."""
    return HeaderAuth(name="authorization", prefix="Bearer ", env=env, optional=optional)


def header(name: str, *env: str, prefix: str = "", optional: bool = False) -> HeaderAuth:
    """`<name>: <prefix><key>`."""
    return HeaderAuth(name=name, prefix=prefix, env=env, optional=optional)


def query(name: str, *env: str, optional: bool = False) -> QueryAuth:
    """`?<name>=<key>`."""
    return QueryAuth(name=name, env=env, optional=optional)


def none() -> NoAuth:
    """No credential."""
    return NoAuth()


def custom(sign: Signer) -> CallableAuth:
    """A function of one's own, sync or async, over the final request."""
    return CallableAuth(sign=sign)


def placeholder(env: tuple[str, ...]) -> str:
    """What stands for the key where a request is shown: `$OPENAI_API_KEY`."""
    return f"${env[0]}" if env else "$API_KEY"


def resolve(credential: Secret | None, env: tuple[str, ...], optional: bool) -> Flow[str | None]:
    """The validated key. Raises `AuthError` naming the argument or variable, before any I/O."""
    secret = credential if credential is not None else from_environment(env)
    if secret is None:
        if optional:
            return None
        where = f"set {' or '.join(env)}" if env else "this provider has no variable for it"
        raise AuthError(f"no API key: pass api_key=, or {where}" if env else f"no API key: pass api_key= ({where})")
    value = yield Invoke(secret.reveal)
    if not isinstance(value, str):
        raise AuthError(f"{secret.name} gave {type(value).__name__}, not the key's text")
    return validated(value, secret.name)
