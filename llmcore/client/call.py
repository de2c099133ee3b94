"""One attempt of a call, as flows: everything but the I/O, written once for sync and async."""

from typing import Any, Final, Generic, TypeVar
from urllib.parse import parse_qsl, urlsplit

import msgspec

from llmcore.client.prepare import Plan
from llmcore.errors import (
    CallCancelledError,
    LLMError,
    ProtocolError,
    RequestTimeoutError,
    StreamTruncatedError,
    TransportError,
)
from llmcore.events import Event, ResponseEnd, ResponseStart
from llmcore.flow import Close, Emit, Flow, Open, Read
from llmcore.fold import Fold
from llmcore.framing import Framer
from llmcore.http import HttpHead, rate_limit, request_id
from llmcore.lifecycle import Lifecycle
from llmcore.media import MediaSink
from llmcore.protocol import Frame, Mint
from llmcore.schema.base import attach
from llmcore.schema.message import Message
from llmcore.schema.response import AttemptRecord, Response, Timing
from llmcore.secret import MIN_REDACTED, REDACTED, redact
from llmcore.transport.clock import Clock, Line

B = TypeVar("B")

READ: Final = Read()
MAX_BODY: Final = 256 * 1024 * 1024
"""Most bytes of a whole-body reply (inline media included); a longer one is a `ProtocolError`."""
MAX_ERROR_BODY: Final = 256 * 1024
"""Most bytes that are read of an error's body."""
EXCERPT: Final = 500
"""Most bytes of a reply that an error of ours repeats."""
NO_STREAM: Final = (b"{", b"[", b"<")
"""What no event stream begins with: a JSON body, or a web page."""
SSE_BEGINNINGS: Final = (b"data:", b"event:", b":", b"id:", b"retry:", b"\xef\xbb\xbf")
"""What an event stream begins with, and no JSON body."""
WEB_PAGES: Final = ("text/html", "application/xhtml+xml")
"""What a 200 of a proxy or a portal is made of, never a provider's."""


class Call(Generic[B]):
    """One attempt under way: its plan, its clock and line, and what has been read so far."""

    def __init__(self, plan: Plan[B], clock: Clock, mint: Mint, *, keep_raw: bool = False) -> None:
        self.plan = plan
        self.clock = clock
        self.line = Line(clock)
        self.mint = mint
        self.keep_raw = keep_raw
        self.head: HttpHead | None = None
        self.sink = MediaSink()
        self.fold = Fold(self.sink)
        self.lifecycle = Lifecycle()
        self.raw: list[Frame] = []
        self.response: Response | None = None
        self.failure: LLMError | None = None
        # What of the caller's own may be a key: it must not come back in an error, whoever echoes it.
        extras = plan.request.http
        own = [value for _, value in parse_qsl(urlsplit(plan.model.base_url).query)]
        self._secrets: list[str] = [*extras.headers.values(), *extras.query.values(), *own]

    def whole(self) -> Flow[Response]:
        """Asks for a whole body and reads it. Ends in the response; raises the call's error with all that is known."""
        return self._attempt(self._whole())

    def streamed(self) -> Flow[Response]:
        """Asks for a stream. The first `Emit` is empty and comes with the reply's head; then one for each read that
        brought events. Ends in the response; raises the call's error with the message as far as it came."""
        return self._attempt(self._streamed())

    def partial(self) -> Message | None:
        """The message as far as it came, `None` before the response has started."""
        if self.fold.start is None or self.failure is not None:
            return None if self.failure is None else self.failure.partial
        if self.fold.end is not None:
            return self.fold.message()
        return self.fold.message("cancelled" if self.line.cancelled else "partial")

    # -- the attempt: what every error and every response carries

    def _attempt(self, flow: Flow[Response]) -> Flow[Response]:
        try:
            response = yield from flow
        except LLMError as error:
            self.failure = self._completed(error)
            raise self.failure from error.__cause__
        self.response = response
        return response

    def _completed(self, error: LLMError) -> LLMError:
        model, head = self.plan.model, self.head
        error.http = head
        error.with_fields(
            provider=model.provider,
            model=model.name,
            status=head.status if head is not None and not isinstance(error, CallCancelledError) else None,
            request_id=self._request_id(),
            request_sent="yes" if head is not None else "no",
        )
        if error.partial is None and self.fold.start is not None:
            error.partial = self.fold.message("cancelled" if isinstance(error, CallCancelledError) else "error")
        error.message = redact(error.message, self._secrets)
        error.args = (error.message,)
        if error.body_excerpt is not None:
            error.body_excerpt = redact(error.body_excerpt, self._secrets)
        if error.failed_generation is not None:
            error.failed_generation = redact(error.failed_generation, self._secrets)
        if error.request_id is not None:
            error.request_id = redact(error.request_id, self._secrets)
        outcome = "cancelled" if isinstance(error, CallCancelledError) else "failed"
        error.attempts = (
            AttemptRecord(
                model=model.name,
                provider=model.provider,
                outcome=outcome,
                error_kind=error.kind,
                status=error.status,
                request_id=error.request_id,
                request_sent=error.request_sent,
                usage=self.fold.usage if self.fold.start is not None else None,
                seconds=self.clock.elapsed,
            ),
        )
        return error

    def _request_id(self) -> str | None:
        found = request_id(self.head) if self.head is not None else None
        return None if found is None else redact(found, self._secrets)

    def _finished(self, response: Response, raw: object) -> Response:
        assert self.head is not None
        began = self.clock.began
        attempt = AttemptRecord(
            model=self.plan.model.name,
            provider=self.plan.model.provider,
            outcome="succeeded",
            status=self.head.status,
            request_id=response.request_id,
            request_sent="yes",
            usage=response.usage,
            cost=response.cost,
            seconds=self.clock.elapsed,
        )
        response = msgspec.structs.replace(
            response,
            attempts=(attempt,),
            timing=Timing(first_event=None if began is None else began - self.clock.start, total=self.clock.elapsed),
            rate_limit=rate_limit(self.head),
        )
        attach(response, raw=raw, http=self.head)
        return response

    # -- the two ways of asking

    def _open(self) -> Flow[HttpHead]:
        plan = self.plan
        request = yield from plan.model.route.auth.flow(plan.http, plan.model.credential, self._secrets)
        head: HttpHead = yield Open(request, plan.stream)
        self.head = head
        if not 200 <= head.status < 300:
            body = yield from self._error_body()
            raise plan.model.route.protocol.error(head.status, head.headers, body, plan.model)
        if (kind := _content_type(head)) in WEB_PAGES:
            body = yield from self._error_body()
            raise ProtocolError(
                f"the reply is a web page (content-type {kind}), not the provider's: check base_url and proxies",
                body_excerpt=_excerpt(body),
            )
        return head

    def _error_body(self) -> Flow[bytes]:
        """The body of an error as far as it comes, keys that it repeats taken out before an excerpt can cut them."""
        return self._clean((yield from self._body(MAX_ERROR_BODY, cut=True)))

    def _clean(self, body: bytes) -> bytes:
        """Bytes of the provider's without the keys that it repeats, before an excerpt can cut one in two."""
        for secret in self._secrets:
            if len(secret) >= MIN_REDACTED:
                body = body.replace(secret.encode(), REDACTED.encode())
        return body

    def _body(self, limit: int, *, cut: bool = False) -> Flow[bytes]:
        """The whole body. One longer than `limit` is cut there, or refused."""
        chunks, size = list[bytes](), 0
        while True:
            try:
                data: bytes = yield READ
            except (TransportError, RequestTimeoutError, ProtocolError):
                if cut:  # an error's body that breaks off, stays away or does not decode: the status says what it says
                    break
                raise
            if not data:
                break
            chunks.append(data)
            size += len(data)
            if size > limit:
                if cut:
                    break
                raise ProtocolError(f"the reply is longer than {limit} bytes")
        yield Close(reuse=size <= limit)
        return b"".join(chunks)

    def _whole(self) -> Flow[Response]:
        yield from self._open()
        body = yield from self._body(MAX_BODY)
        self.clock.beat()
        if self._is_stream(body):
            # A stream in answer to a request for a whole body: a server that can do nothing else.
            self._replay(body)
        else:
            self._parse(body)
        return self._finished(self.fold.response(), body)

    def _is_stream(self, body: bytes) -> bool:
        return self.plan.model.route.framing.id == "sse" and body[:64].lstrip().startswith(SSE_BEGINNINGS)

    def _replay(self, body: bytes) -> None:
        """Reads a stream that is here already."""
        frames = self._frames()
        operation = next(frames)
        rest = iter((body, b""))
        try:
            while True:
                operation = frames.send(next(rest) if operation is READ else None)
        except StopIteration:
            return

    def _parse(self, body: bytes) -> list[Event]:
        out = list[Event]()
        model = self.plan.model
        model.route.protocol.parse(body, model, self.mint, self.sink, out)
        self._take(out)
        if self.fold.end is None:
            raise ProtocolError("the reply has no end", body_excerpt=_excerpt(body))
        return out

    def _streamed(self) -> Flow[Response]:
        yield from self._open()
        self.clock.hold()
        yield Emit([])
        self.clock.resume()
        body = yield from self._frames()
        yield Close(reuse=True)
        return self._finished(self.fold.response(), body or (self.raw if self.keep_raw else None))

    def _body_behind(self, first: bytes) -> Flow[bytes]:
        """A whole body in answer to a request for a stream: an error in a 200, or a server that cannot stream."""
        body = first + (yield from self._body(MAX_BODY))
        if body.lstrip().startswith(b"<"):
            raise ProtocolError(
                "the reply is a web page, not the provider's: check base_url and proxies",
                body_excerpt=_excerpt(self._clean(body)),
            )
        out = self._parse(body)
        self.clock.beat()
        yield Emit(out)
        return body

    def _frames(self) -> Flow[bytes]:
        """Reads until the response has ended, emitting what each read brought. Gives the body where it was no stream
        but one whole body, whatever its content type says."""
        model = self.plan.model
        framer: Framer = model.route.framing.start()
        state = model.route.protocol.start(model, self.mint, self.sink)
        fold, clock = self.fold, self.clock
        new, last = model.route.framing.id == "sse", b""
        while fold.end is None:
            failure: LLMError | None = None
            broken: TransportError | None = None
            out = list[Event]()
            try:
                data: bytes = yield READ
            except TransportError as problem:
                data, broken = b"", problem
            if new and (begin := data.lstrip()):
                if begin.startswith(NO_STREAM):
                    return (yield from self._body_behind(data))
                new = False
            last = data or last
            try:
                self._digest(data, framer, state, out)
            except LLMError as error:
                failure = _cut_short(error, broken)
                if isinstance(failure, StreamTruncatedError):
                    failure = self._unframed(failure, state, last)
            if out:
                self._take(out)
                content = len(out) > 1 or type(out[0]) is not ResponseStart
                clock.beat() if content else clock.hold()
                yield Emit(out)
                clock.resume()
            if failure is not None and fold.end is None:
                raise failure
        return b""

    def _digest(self, data: bytes, framer: Framer, state: Any, out: list[Event]) -> None:
        """Appends the events of what was read to `out`; no data are the end of the body."""
        protocol = self.plan.model.route.protocol
        step = protocol.step
        frames = framer.feed(data) if data else framer.flush()
        if self.keep_raw:
            self.raw.extend(frames)
        for frame in frames:
            step(state, frame, out)
        if not data and not _ended(out):
            protocol.finish(state, out)
            if not _ended(out):
                raise StreamTruncatedError("the stream ended before its terminal event")

    def _unframed(self, truncated: StreamTruncatedError, state: Any, last: bytes) -> LLMError:
        """The error that stands without its frame in the last bytes of a stream that was cut, where one does: a proxy
        wrote it there. Else that it was cut, and by what it ended."""
        for line in last.splitlines() if self.plan.model.route.framing.id == "sse" else ():
            if line.lstrip().startswith(b"{"):
                try:
                    self.plan.model.route.protocol.step(state, Frame(line), [])
                except LLMError as error:
                    return error
        truncated.body_excerpt = _excerpt(self._clean(last)[-EXCERPT:]) if last else None
        return truncated

    def _take(self, out: list[Event]) -> None:
        if self.fold.start is None and out and type(first := out[0]) is ResponseStart:
            out[0] = msgspec.structs.replace(
                first,
                request_id=first.request_id or self._request_id(),
                warnings=self.plan.warnings + first.warnings,
            )
        self.lifecycle.check(out)
        self.fold.add(out)


def _cut_short(error: LLMError, broken: TransportError | None) -> LLMError:
    """The error of a stream that ended too early; where the connection broke, it says how."""
    if broken is None or not isinstance(error, StreamTruncatedError):
        return error
    error.message = f"{error.message} ({broken.message})"
    error.args = (error.message,)
    error.__cause__ = broken.__cause__
    return error


def _ended(out: list[Event]) -> bool:
    return bool(out) and type(out[-1]) is ResponseEnd


def _content_type(head: HttpHead) -> str:
    return (head.header("content-type") or "").partition(";")[0].strip().lower()


def _excerpt(body: bytes) -> str:
    return body[:EXCERPT].decode("utf-8", "replace")
