"""Requests to models, over whichever wire: one span for each model that is asked, also for those that fail and others answer for."""

import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from urllib.parse import urlsplit

from opentelemetry.trace import SpanKind

from openclaw.models.catalog import Candidate
from openclaw.models.provider import Done, ModelEvent, ModelRequest, Notice, TextDelta, ToolCallEnd
from openclaw.telemetry import names
from openclaw.telemetry.spans import Spans, Value, error_type, fail, note


class ModelCalls:
    def __init__(self, spans: Spans) -> None:
        self._spans = spans

    async def __call__(
        self, candidate: Candidate, request: ModelRequest, events: AsyncGenerator[ModelEvent, None]
    ) -> AsyncGenerator[ModelEvent, None]:
        """What comes of a request, as it comes."""
        one = _ModelCall(self._spans, candidate, request)
        try:
            async with aclosing(events):
                async for event in events:
                    one.take(event)
                    yield event
        except BaseException as error:
            one.broke(error)
            raise
        finally:
            one.end()


class _ModelCall:
    """Its span is never the current one: what is read from a generator runs in whatever context reads it."""

    def __init__(self, spans: Spans, candidate: Candidate, request: ModelRequest) -> None:
        provider = candidate.provider.name
        self._spans = spans
        self._about: Mapping[str, Value] = {
            names.OPERATION: names.CHAT,
            names.PROVIDER: names.PROVIDERS.get(provider, provider),
            names.REQUEST_MODEL: candidate.model,
            **_place(candidate.address),
        }
        self._span = spans.begin(f"{names.CHAT} {candidate.model}", self._about, kind=SpanKind.CLIENT)
        self._began = time.monotonic()
        self._first: float | None = None
        self._done: Done | None = None
        self._error = ""
        self._said: list[str] = []
        spans.tell(self._span, names.INSTRUCTIONS, lambda: request.system)
        spans.tell(self._span, names.INPUT_MESSAGES, lambda: request.messages)

    def take(self, event: ModelEvent) -> None:
        if isinstance(event, Done):
            self._done = event
            self._error = "model_error" if event.error else ""
        elif self._first is None and not isinstance(event, Notice):
            self._first = time.monotonic() - self._began
        if self._spans.tells_content and isinstance(event, TextDelta | ToolCallEnd):
            self._said.append(event.text if isinstance(event, TextDelta) else f"[{event.call.name}]")

    def broke(self, error: BaseException) -> None:
        """It was ended. After its last event that is how every reader leaves."""
        if self._done is None:
            self._error = error_type(error)

    def end(self) -> None:
        span, done = self._span, self._done or Done("error")
        usage = done.usage
        note(
            span,
            {
                names.FINISH_REASONS: (names.STOP_REASONS.get(done.stop_reason, done.stop_reason),),
                names.RESPONSE_MODEL: done.model.partition("/")[2] or str(self._about[names.REQUEST_MODEL]),
                names.INPUT_TOKENS: usage.input_tokens,
                names.OUTPUT_TOKENS: usage.output_tokens,
                names.CACHED_TOKENS: usage.cached_tokens,
                **({names.FIRST_CHUNK: self._first} if self._first is not None else {}),
            },
        )
        self._spans.tell(span, names.OUTPUT_MESSAGES, lambda: "".join(self._said))
        if self._error:
            fail(span, self._error)
        span.end()
        failed: dict[str, Value] = {names.ERROR: self._error} if self._error else {}
        self._spans.measure(names.MODEL_SECONDS, time.monotonic() - self._began, {**self._about, **failed})
        if self._first is not None:
            self._spans.measure(names.MODEL_FIRST_CHUNK, self._first, self._about)
        # The wires tell numbers, not what kind of tokens they were.
        counted = {**self._about, names.MODALITY: "unknown"}
        self._spans.count(names.MODEL_INPUT, usage.input_tokens, counted)
        self._spans.count(names.MODEL_OUTPUT, usage.output_tokens, counted)
        self._spans.count(names.MODEL_CACHED, usage.cached_tokens, counted)


def _place(address: str) -> dict[str, Value]:
    try:
        parts = urlsplit(address)
        if not parts.hostname:
            return {}
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return {names.SERVER_ADDRESS: parts.hostname, names.SERVER_PORT: port}
    except ValueError:
        return {}
