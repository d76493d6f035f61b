"""Spans and measurements: the only way in which the rest of this package uses OpenTelemetry.

Owns what may stand in an attribute. Whatever is known to be secret is masked in every one; words of people, models and servers (`content`)
are there only when the config says so, masked of all that looks like a credential and cut. A span tells of an error by its kind, never by
its words. The context of a span is OpenTelemetry's own, so that spans of the program around us and ours nest.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.metrics import Meter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from openclaw.content import to_json
from openclaw.errors import DeadlineError, RpcError
from openclaw.redact import mask, redact
from openclaw.telemetry import names

# Characters of content in one attribute.
MOST_CONTENT: Final = 8_192
# Of any other text: names, in the main.
MOST_TEXT: Final = 256

Value = str | int | float | bool | tuple[str, ...]

_propagator = TraceContextTextMapPropagator()
_CUT = "…"


class Spans:
    """`content` says whether words of people, models and servers may be told."""

    def __init__(self, tracer: Tracer, meter: Meter, *, content: bool = False) -> None:
        self.tells_content = content
        self._tracer = tracer
        self._durations = {
            name: meter.create_histogram(
                name, unit="s", description=what, explicit_bucket_boundaries_advisory=names.BOUNDS
            )
            for name, what in names.DURATIONS.items()
        }
        self._counts = {
            name: meter.create_counter(name, unit="{token}", description=what) for name, what in names.COUNTS.items()
        }

    def begin(
        self,
        name: str,
        attributes: Mapping[str, Value] = {},
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        context: Context | None = None,
        ago: float = 0.0,
    ) -> Span:
        """A span that began so many seconds ago, under the current one unless a context is given. Whoever begins it ends it."""
        began = time.time_ns() - int(ago * 1e9) if ago else None
        return self._tracer.start_span(
            safe(name), context=context, kind=kind, attributes=_safe(attributes), start_time=began
        )

    @contextmanager
    def current(
        self,
        name: str,
        attributes: Mapping[str, Value] = {},
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        context: Context | None = None,
    ) -> Iterator[Span]:
        """A span around what is done meanwhile. An error is noted by its type, and goes on."""
        span = self.begin(name, attributes, kind=kind, context=context)
        with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            try:
                yield span
            except BaseException as error:
                fail(span, error_type(error))
                raise

    def measure(self, metric: str, seconds: float, attributes: Mapping[str, Value] = {}) -> None:
        self._durations[metric].record(seconds, _safe(attributes))

    def count(self, metric: str, number: int, attributes: Mapping[str, Value] = {}) -> None:
        self._counts[metric].add(number, _safe(attributes))

    def tell(self, span: Span, attribute: str, content: Callable[[], Any]) -> None:
        """Put content into a span, if that is wanted: text as it is, anything else as JSON."""
        if self.tells_content and span.is_recording():
            value = content()
            text = redact(value if isinstance(value, str) else to_json(value).decode("utf-8", "replace"))
            span.set_attribute(attribute, text if len(text) <= MOST_CONTENT else text[:MOST_CONTENT] + _CUT)


def note(span: Span, attributes: Mapping[str, Value]) -> None:
    """Put attributes into a span that may be over already."""
    if span.is_recording():
        span.set_attributes(_safe(attributes))


def fail(span: Span, kind: str) -> None:
    """A span went wrong, in this way."""
    if span.is_recording():
        span.set_attribute(names.ERROR, safe(kind))
        span.set_status(Status(StatusCode.ERROR))


def error_type(error: BaseException) -> str:
    """The kind of an error, which says nothing of what it was about."""
    if isinstance(error, asyncio.CancelledError | GeneratorExit):
        return "cancelled"
    if isinstance(error, RpcError):
        return str(error.code)
    return "timeout" if isinstance(error, DeadlineError | TimeoutError) else type(error).__name__


def parent_of(caller: Mapping[str, str]) -> Context | None:
    """The context of a caller that says what trace it is part of; None for one that does not: then the current one counts."""
    return _propagator.extract(caller) if caller else None


def carrier(span: Span) -> dict[str, str]:
    """What whoever is called is told, to be part of the same trace. Empty when there is none."""
    found: dict[str, str] = {}
    _propagator.inject(found, trace.set_span_in_context(span))
    return found


def nowhere() -> Context:
    """The context of what belongs to no caller."""
    return Context()


def safe(text: str) -> str:
    """A name as it may be told."""
    text = mask(text)
    return text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + _CUT


def _safe(attributes: Mapping[str, Value]) -> dict[str, Value]:
    return {
        name: safe(value) if isinstance(value, str) else tuple(map(safe, value)) if isinstance(value, tuple) else value
        for name, value in attributes.items()
    }
