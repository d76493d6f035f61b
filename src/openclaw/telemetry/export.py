"""Sends spans and metrics over OTLP (HTTP, protobuf), by OpenTelemetry's own SDK and variables.

Nobody waits for it: what is to be sent is put in a queue, and threads of the SDK send it; a full queue drops. A collector that cannot be
reached is told of once, and again when it was there in between. The end flushes for a moment and no longer.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import MeterProvider as MeterProviderApi
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import NoOpTracerProvider
from opentelemetry.trace import TracerProvider as TracerProviderApi

from openclaw.daemon_thread import in_daemon_thread
from openclaw.log import one_line
from openclaw.redact import redact
from openclaw.version import __version__

_log = logging.getLogger(__name__)

# Seconds for what is left to be sent when everything ends.
CLOSING: Final = 2.0
_SERVICE: Final = "openclaw"


class Exporting:
    """The providers of our own, and their end."""

    def __init__(self, endpoint: str, headers: Mapping[str, str], env: Mapping[str, str]) -> None:
        # What goes wrong is told by `_Collector`, once; the SDK would tell it each time, and with a traceback.
        if not _log.isEnabledFor(logging.DEBUG):
            logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        resource = _resource(env)
        given: dict[str, Any] = {"headers": dict(headers)} if headers else {}
        self._closers: list[Callable[[], object]] = []
        self._collectors: list[_Collector] = []
        self.tracers: TracerProviderApi = NoOpTracerProvider()
        self.meters: MeterProviderApi = NoOpMeterProvider()
        if env.get("OTEL_TRACES_EXPORTER") != "none":
            collector = _Collector("Traces", _shown(endpoint, env))
            exporter = _SpanExporter(collector, endpoint=_signal(endpoint, "traces"), **given)
            # The end is ours to bound, not the interpreter's.
            tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
            tracers.add_span_processor(BatchSpanProcessor(exporter))
            self._closers.append(tracers.shutdown)
            self._collectors.append(collector)
            self.tracers = tracers
        if env.get("OTEL_METRICS_EXPORTER") != "none":
            collector = _Collector("Metrics", _shown(endpoint, env))
            reader = PeriodicExportingMetricReader(
                _MetricExporter(collector, endpoint=_signal(endpoint, "metrics"), **given)
            )
            meters = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
            self._closers.append(meters.shutdown)
            self._collectors.append(collector)
            self.meters = meters

    async def close(self) -> None:
        """Send what is left, for a moment. What cannot be sent by then is lost, and its thread left to itself."""
        try:
            async with asyncio.timeout(CLOSING):
                await asyncio.gather(*map(_ended, self._closers))
        except TimeoutError:
            for collector in self._collectors:
                collector.answered(took=False)


async def _ended(close: Callable[[], object]) -> None:
    with suppress(Exception):
        await in_daemon_thread(close)


def _signal(endpoint: str, signal: str) -> str | None:
    """Where a signal goes. None leaves it to the SDK's own variables."""
    return f"{endpoint.rstrip('/')}/v1/{signal}" if endpoint else None


def _shown(endpoint: str, env: Mapping[str, str]) -> str:
    return f"the collector at {redact(endpoint or env.get('OTEL_EXPORTER_OTLP_ENDPOINT') or 'its own address')}"


def _resource(env: Mapping[str, str]) -> Resource:
    """What is said of ourselves. A name that somebody gave counts; whoever gave none has ours."""
    named = env.get("OTEL_SERVICE_NAME") or "service.name=" in env.get("OTEL_RESOURCE_ATTRIBUTES", "")
    own = {"service.version": __version__}
    return Resource.create(own if named else {"service.name": _SERVICE, **own})


class _Collector:
    """Whether what is sent arrives: told when that changes."""

    def __init__(self, what: str, where: str) -> None:
        self._what = what
        self._where = where
        self._is_away = False

    def answered(self, *, took: bool) -> None:
        if took and self._is_away:
            _log.info("%s are sent again.", self._what)
        elif not took and not self._is_away:
            _log.warning(
                "%s cannot be sent: %s does not take them. They are dropped until it does.",
                self._what,
                one_line(self._where),
            )
        self._is_away = not took


class _SpanExporter(OTLPSpanExporter):
    def __init__(self, collector: _Collector, **options: Any) -> None:
        super().__init__(**options)
        self._collector = collector

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        self._collector.answered(took=result is SpanExportResult.SUCCESS)
        return result


class _MetricExporter(OTLPMetricExporter):
    def __init__(self, collector: _Collector, **options: Any) -> None:
        super().__init__(**options)
        self._collector = collector

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **more: Any
    ) -> MetricExportResult:
        result = super().export(metrics_data, timeout_millis, **more)
        self._collector.answered(took=result is MetricExportResult.SUCCESS)
        return result
