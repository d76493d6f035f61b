"""Failures as the HTTP port tells them: one shape, a status and a code for each kind."""

import json

import pytest

from openclaw.errors import ConfigError, DeadlineError, ModelError, OpenClawError, Problem, StoreError, UsageError
from openclaw.gateway.http import failed, failure


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
    assert told["exitCode"] == error.exit_code


@pytest.mark.parametrize(
    ("status", "exit_code"), [(400, 2), (404, 2), (422, 2), (401, 1), (409, 1), (429, 1), (502, 1)]
)
def test_a_failure_without_an_error_of_ours_has_the_exit_code_of_its_kind(status: int, exit_code: int) -> None:
    body = failure(status, "some_code", "w").body
    assert isinstance(body, bytes)
    assert json.loads(body)["error"]["exitCode"] == exit_code
