"""One attempt of a call, as flows: everything but the I/O, written once for sync and async."""

from typing import Final, Generic, TypeVar

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
        self._secrets: list[str] = []

    def whole(self) -> Flow[Response]:
        """Asks for a whole body and reads it. Ends in the response; raises the call's error with all that is known."""
        return self._attempt(self._whole())

    def streamed(self) -> Flow[Response]:
        """Asks for a stream. The first `Emit` is empty and comes with the reply's head; then one for each read that
        brought events. Ends in the response; raises the call's error with the message as far as it came."""
        return self._attempt(self._streamed())

    def partial(self) -> Message | None:
        """The message as far as it came, `None` before the response has started."""
        if self.fold.start is None:
            return None
        if self.fold.end is not None:
            return self.fold.message()
        return self.fold.message("cancelled" if self.line.cancelled else "partial")

    # -- the attempt: what every error and every response carries

    def _attempt(self, flow: Flow[Response]) -> Flow[Response]:
        try:
            response = yield from flow
        except LLMError as error:
            raise self._completed(error) from error.__cause__
        self.response = response
        return response

    def _completed(self, error: LLMError) -> LLMError:
        model, head = self.plan.model, self.head
        error.with_fields(
            provider=model.provider,
            model=model.name,
            status=head.status if head is not None and not isinstance(error, CallCancelledError) else None,
            request_id=request_id(head) if head is not None else None,
            request_sent="yes" if head is not None else "no",
        )
        if error.partial is None and self.fold.start is not None:
            error.partial = self.fold.message("cancelled" if isinstance(error, CallCancelledError) else "error")
        error.message = redact(error.message, self._secrets)
        error.args = (error.message,)
        if error.body_excerpt is not None:
            error.body_excerpt = redact(error.body_excerpt, self._secrets)
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
        body = yield from self._body(MAX_ERROR_BODY, cut=True)
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
        self._parse(body)
        return self._finished(self.fold.response(), body)

    def _parse(self, body: bytes) -> list[Event]:
        out = list[Event]()
        model = self.plan.model
        model.route.protocol.parse(body, model, self.mint, self.sink, out)
        self._take(out)
        if self.fold.end is None:
            raise ProtocolError("the reply has no end", body_excerpt=_excerpt(body))
        return out

    def _streamed(self) -> Flow[Response]:
        head = yield from self._open()
        self.clock.hold()
        yield Emit([])
        self.clock.resume()
        if _content_type(head) == "application/json" and self.plan.model.route.framing.id != "ndjson":
            # A whole body in answer to a request for a stream: an error in a 200, or a server that cannot stream.
            body = yield from self._body(MAX_BODY)
            out = self._parse(body)
            self.clock.beat()
            yield Emit(out)
            return self._finished(self.fold.response(), body)
        yield from self._frames()
        yield Close(reuse=True)
        return self._finished(self.fold.response(), self.raw if self.keep_raw else None)

    def _frames(self) -> Flow[None]:
        """Reads until the response has ended, emitting what each read brought."""
        model = self.plan.model
        protocol = model.route.protocol
        framer: Framer = model.route.framing.start()
        state = protocol.start(model, self.mint, self.sink)
        step, feed, keep = protocol.step, framer.feed, self.raw.extend if self.keep_raw else None
        fold, clock = self.fold, self.clock
        while fold.end is None:
            failure: LLMError | None = None
            broken: TransportError | None = None
            out = list[Event]()
            try:
                data: bytes = yield READ
            except TransportError as problem:
                data, broken = b"", problem
            try:
                frames = feed(data) if data else framer.flush()
                if keep is not None:
                    keep(frames)
                for frame in frames:
                    step(state, frame, out)
                if not data and not _ended(out):
                    protocol.finish(state, out)
                    if not _ended(out):
                        raise StreamTruncatedError("the stream ended before its terminal event")
            except LLMError as error:
                failure = _cut_short(error, broken)
            if out:
                self._take(out)
                content = len(out) > 1 or type(out[0]) is not ResponseStart
                clock.beat() if content else clock.hold()
                yield Emit(out)
                clock.resume()
            if failure is not None and fold.end is None:
                raise failure

    def _take(self, out: list[Event]) -> None:
        if self.fold.start is None and out and type(first := out[0]) is ResponseStart:
            assert self.head is not None
            out[0] = msgspec.structs.replace(
                first,
                request_id=first.request_id or request_id(self.head),
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


def _excerpt(body: bytes, limit: int = 500) -> str:
    return body[:limit].decode("utf-8", "replace")
