"""When something is traced: the config, the variables, and nothing else."""

import sys

import pytest

from openclaw.config.sections import OtlpSection, TelemetrySection
from openclaw.telemetry.switch import is_wanted, sends

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
HERE = OtlpSection(endpoint="http://127.0.0.1:4318")


@pytest.mark.parametrize(
    ("section", "env", "wanted"),
    [
        (TelemetrySection(), {}, False),
        (TelemetrySection(), ENDPOINT, True),
        (TelemetrySection(), {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1"}, True),
        (TelemetrySection(otlp=HERE), {}, True),
        (TelemetrySection(enabled=True), {}, True),
        (TelemetrySection(enabled=False, otlp=HERE), ENDPOINT, False),
        (TelemetrySection(enabled=True, otlp=HERE), {"OTEL_SDK_DISABLED": "true", **ENDPOINT}, False),
    ],
)
def test_something_is_sent_when_an_endpoint_is_named_and_nobody_says_no(
    section: TelemetrySection, env: dict[str, str], wanted: bool
) -> None:
    assert sends(section, env) is wanted


def test_a_program_that_has_loaded_opentelemetry_may_have_a_tracer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    assert not is_wanted(TelemetrySection(), {})
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", sys)
    assert is_wanted(TelemetrySection(), {})
    assert not is_wanted(TelemetrySection(enabled=False), {})
