"""Begins the telemetry of an engine: that of the program around us when it has one, else our own, else none."""

from collections.abc import Mapping

from opentelemetry import metrics, trace

from openclaw.config.sections import TelemetrySection
from openclaw.telemetry.switch import sends
from openclaw.telemetry.telemetry import Telemetry


def begin(section: TelemetrySection, env: Mapping[str, str], headers: Mapping[str, str]) -> Telemetry | None:
    """`headers` are those of the config, with their secrets in. Raises ModuleNotFoundError where the SDK is missing."""
    around = of_program(content=section.content)
    if around is not None or not sends(section, env):
        return around
    from openclaw.telemetry.export import Exporting

    exporting = Exporting(section.otlp.endpoint or "", headers, env)
    return Telemetry(exporting.tracers, exporting.meters, content=section.content, close=exporting.close)


def of_program(*, content: bool = False) -> Telemetry | None:
    """With the providers of the program around us; None when it has set none."""
    tracers = trace.get_tracer_provider()
    if isinstance(tracers, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    return Telemetry(tracers, metrics.get_meter_provider(), content=content)
