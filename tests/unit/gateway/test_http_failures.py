"""Failures as the HTTP port tells them: one shape, a status and a code for each kind."""

import json

import pytest

from openclaw.errors import ConfigError, DeadlineError, ModelError, OpenClawError, Problem, StoreError, UsageError
from openclaw.gateway.http import failed


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (UsageError("w"), 400, "invalid_request"),
        (ModelError("w"), 502, "model_failed"),
        (DeadlineError("w"), 502, "server_unavailable"),
        (StoreError("w"), 500, "store_failed"),
        (ConfigError([Problem("w")]), 500, "config_invalid"),
        (OpenClawError("w"), 500, "failed"),
    ],
)
def test_every_kind_of_failure_has_its_status_and_code(error: OpenClawError, status: int, code: str) -> None:
    response = failed(error)
    assert isinstance(response.body, bytes)
    told = json.loads(response.body)["error"]
    assert (response.status, told["code"], told["message"]) == (status, code, "w")
