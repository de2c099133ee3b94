"""Running cases: each recorded reply is served from loopback and read by the public client, in every mode that fits it.

One server and one client serve the whole run, one call after another. A prompt of one word is sent, since it is the
reply that is tested. Ids are minted by a counter that starts again for each call, so that the same reply must give the
same events and the same response in every mode.
"""

import zlib
from typing import Any, Final, Self

import msgspec

from llmcore.cassette.format import Interaction, RecordedRequest
from llmcore.cassette.script import Split
from llmcore.cassette.server import ReplayServer
from llmcore.client import Client
from llmcore.conformance.compare import judge
from llmcore.conformance.corpus import Case, Recorded
from llmcore.conformance.expect import Expected, from_oracle
from llmcore.conformance.place import Place, Providers, place
from llmcore.conformance.readers import READERS, documents
from llmcore.conformance.replay import Replays
from llmcore.conformance.report import Listed, Mode, Row, RowCall, RowError, RowHosted
from llmcore.errors import ConfigError, LLMError
from llmcore.events import Event, TextDelta, TextStart
from llmcore.http import Timeout
from llmcore.ids import counter
from llmcore.lifecycle import violations
from llmcore.media import MediaSink
from llmcore.route import Model
from llmcore.schema.base import JSONObject
from llmcore.schema.message import Message
from llmcore.schema.parts import ToolCall
from llmcore.schema.response import Response, Timing
from llmcore.schema.usage import Usage
from llmcore.secret import Secret

PROMPT: Final = "Hello"
TIMEOUT: Final = Timeout(connect=10.0, first_event=60.0, idle=60.0)
"""Nothing here takes long: a reply that does not come is a hanging reader, and ends as a failed row."""

MODES: Final[dict[bool, dict[Mode, Split]]] = {
    False: {"whole": "whole"},
    True: {"stream": "recorded", "split": "random", "bytes": "bytes"},
}
"""The modes of a whole body, and of a stream: as recorded, cut at random, and every byte an HTTP chunk of its own."""

_UNENDED: Final = violations(())[0]


class Reading(msgspec.Struct):
    """What one call gave: events as far as they came, and a response or an error."""

    events: list[Event] = []
    response: Response | None = None
    error: LLMError | None = None

    @property
    def message(self) -> Message | None:
        """The message, complete or as far as it came."""
        if self.response is not None:
            return self.response.message
        return None if self.error is None else self.error.partial


class Outcome(msgspec.Struct):
    """What became of one case: its rows, the rules that they needed, and what was only listed."""

    case: Case
    rows: list[Row] = []
    rules: list[str] = []
    listed: list[Listed] = []


class Runner:
    """Runs cases. Entering it starts the server; `seed` decides where the mode `split` cuts; `providers` (default: all
    of the registry) are those whose routes there are, by id."""

    def __init__(self, seed: int, providers: Providers | None = None) -> None:
        self.seed = seed
        self._providers = providers
        self._mint = counter()
        self._server = ReplayServer()
        self._client = Client(timeout=TIMEOUT, mint=self._new_id)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._server.close()

    def _new_id(self) -> str:
        return self._mint()

    def run(self, case: Case) -> Outcome:
        """The rows of `case`, its other operations listed. Raises `ConfigError` where there is nothing to compare a
        reply with; an error that is none of the library's ends the run, with a note of where it was."""
        outcome = Outcome(case)
        where = place(case.provider, case.protocol, self._providers)
        replays = Replays(case, self._client, lambda recorded: self._model(recorded, where))
        for recorded in case.interactions:
            reason = why_not(case, recorded, where)
            if where is None or reason is not None:
                outcome.listed.append(Listed(case.id, recorded.index, recorded.operation, reason or ""))
                continue
            try:
                self._rows(case, recorded, where, replays, outcome)
            except Exception as problem:
                problem.add_note(f"in {case.id}, interaction {recorded.index}")
                raise
        return outcome

    def _model(self, recorded: Recorded, where: Place | None) -> Model[Any]:
        assert where is not None, "an interaction without a place is only listed"
        return where.route.model(recorded.model, api_key=Secret("conformance"), base_url=self._server.url)

    def _rows(self, case: Case, recorded: Recorded, where: Place, replays: Replays, outcome: Outcome) -> None:
        model = self._model(recorded, where)
        expected, found = _expected(case, recorded), documents(recorded.response)
        seed = zlib.crc32(f"{self.seed}:{case.id}:{recorded.index}".encode())
        first: bytes | None = None
        for mode, split in MODES[recorded.stream].items():
            reading = self._read(model, recorded, split, seed)
            problems = _problems(reading)
            same = _fingerprint(reading)
            if same != (first := first or same):
                problems.append("not the same events and response as in mode stream")
            row = _row(case, recorded, mode, reading, where, problems)
            judged = judge(case.protocol, expected, row, found)
            back = replays.compare(recorded, reading.message, failed=reading.error is not None)
            outcome.rows.append(
                msgspec.structs.replace(
                    row,
                    verdict=judged.verdict,
                    difference=judged.difference,
                    replay=None if back is None else back.replay,
                )
            )
            outcome.rules += judged.rules + (() if back is None else back.rules)

    def _read(self, model: Model[Any], recorded: Recorded, split: Split, seed: int) -> Reading:
        """One call over the socket."""
        self._mint = counter(prefix := f"tu_{recorded.index}_")  # no two replies of a case share an id
        request = RecordedRequest(method="POST", url=self._server.url)
        self._server.load([Interaction(request=request, response=recorded.response)], split=split, seed=seed)
        reading = Reading()
        try:
            if recorded.stream:
                with self._client.stream(model, PROMPT) as stream:
                    for event in stream:
                        reading.events.append(event)
                reading.response = stream.response
            else:
                reading.response = self._client.generate(model, PROMPT)
                # `generate` shows no events, so the same body is read once more for them.
                body, mint = recorded.response.content, counter(prefix)
                model.route.protocol.parse(body, model, mint, MediaSink(), reading.events)
        except LLMError as error:
            reading.error = error
        return reading


def why_not(case: Case, recorded: Recorded, where: Place | None) -> str | None:
    """Why an interaction is listed and not run; `None` where it is run."""
    if recorded.operation != "generate":
        return f"the client has no method for {recorded.operation}"
    return None if where is not None else f"nothing here speaks {case.protocol}"


def _expected(case: Case, recorded: Recorded) -> Expected:
    if recorded.oracle is not None:
        return from_oracle(recorded.oracle)
    reader = READERS.get(case.protocol)
    if reader is None:
        raise ConfigError(f"{case.id} has no expectation, and no reader of {case.protocol} bodies is written")
    return reader(recorded.response)


def _problems(reading: Reading) -> list[str]:
    """The violations of the lifecycle in what was read. An error takes the place of the end."""
    found = violations(reading.events)
    if reading.error is not None:
        return [sentence for sentence in found if sentence != _UNENDED]
    refused = {event.id for event in reading.events if isinstance(event, TextStart) and event.refusal}
    deltas = [event.text for event in reading.events if isinstance(event, TextDelta) and event.id not in refused]
    if reading.response is not None and "".join(deltas) != reading.response.text:
        found.append("the text of the response is not the join of its text deltas")
    return found


def _fingerprint(reading: Reading) -> bytes:
    """What must be the same however the bytes were cut."""
    response = reading.response
    if response is not None:
        response = msgspec.structs.replace(response, timing=Timing(), attempts=())
    error = None if reading.error is None else [type(reading.error).__name__, reading.error.message]
    return msgspec.json.encode([reading.events, response, error, reading.message])


def _row(case: Case, recorded: Recorded, mode: Mode, reading: Reading, where: Place, problems: list[str]) -> Row:
    response, message, error = reading.response, reading.message, reading.error
    parts = () if message is None else message.content
    return Row(
        id=case.id,
        index=recorded.index,
        mode=mode,
        text="" if message is None else message.text,
        refusal=None if message is None else message.refusal,
        reasoning="" if message is None else message.reasoning,
        tool_calls=() if message is None else tuple(_call(call) for call in message.tool_calls),
        hosted=tuple(_hosted(part) for part in parts if isinstance(part, ToolCall) and part.provider_executed),
        stop_reason=None if response is None else response.stop_reason,
        raw_stop_reason=None if response is None else response.raw_stop_reason,
        usage=_usage(response, message),
        error=None if error is None else RowError(type(error).__name__, error.kind, error.status, error.code),
        warnings=() if response is None else tuple(msgspec.to_builtins(warning) for warning in response.warnings),
        lifecycle=tuple(problems),
        route=where.route.id,
        note=where.note,
    )


def _call(call: ToolCall) -> RowCall:
    return RowCall(call.name, call.wire_id, None if call.error is not None else call.input)


def _hosted(call: ToolCall) -> RowHosted:
    kind = (call.provider_metadata or {}).get("type")
    return RowHosted(kind if isinstance(kind, str) else call.name, call.name)


def _usage(response: Response | None, message: Message | None) -> JSONObject | None:
    """All counts by name, `None` where not reported; parts, units and the native record where there are any."""
    metadata = None if message is None else message.metadata
    usage = response.usage if response is not None else metadata.usage if metadata is not None else None
    if usage is None:
        return None
    counts = {name: getattr(usage, name) for name in Usage.__struct_fields__ if name.endswith("_tokens")}
    return counts | msgspec.to_builtins(usage)
