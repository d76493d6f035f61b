"""Whether anything is traced: by the config, by OpenTelemetry's own variables, or because the program around us does. Loads none of it."""

import sys
from collections.abc import Mapping
from typing import Final

from openclaw.config.sections import TelemetrySection

# Any of these says where to send something.
_ENDPOINTS: Final = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)


def sends(section: TelemetrySection, env: Mapping[str, str]) -> bool:
    """Whether we are to send something ourselves."""
    if section.enabled is False or env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    return section.enabled is True or bool(section.otlp.endpoint) or any(env.get(name) for name in _ENDPOINTS)


def is_wanted(section: TelemetrySection, env: Mapping[str, str]) -> bool:
    """Whether it is worth loading OpenTelemetry: we send something, or the program around us may have its own."""
    return section.enabled is not False and (sends(section, env) or "opentelemetry.trace" in sys.modules)
