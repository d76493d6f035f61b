"""The answer to `initialize`, which is given before anything is loaded."""

import json
from typing import Any

import pytest

from openclaw.acp.greeting import answer


def line(**changes: Any) -> bytes:
    params = {"protocolVersion": 1, "clientCapabilities": {}}
    return json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params, **changes}).encode()


def told(given: bytes) -> Any:
    answered = answer(given)
    return None if answered is None else json.loads(answered)


def test_a_plain_greeting_is_answered_with_its_id() -> None:
    assert told(line(id="a"))["id"] == "a"
    assert told(line(params={"protocolVersion": 7}))["result"]["protocolVersion"] == 1


def test_a_client_that_has_terminals_is_told_how_to_set_up_in_one() -> None:
    [plain] = told(line())["result"]["authMethods"]
    capable = {"protocolVersion": 1, "clientCapabilities": {"auth": {"terminal": True}}}
    [method] = told(line(params=capable))["result"]["authMethods"]
    assert method == {**plain, "type": "terminal", "args": ["--setup"], "env": {}}


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b"\xff",
        b"[" * 100_000,
        line(id=None),
        line(id=1.5),
        line(id=True),
        line(method="session/new"),
        line(jsonrpc="1.0"),
        line(params=[]),
        line(params={"protocolVersion": "1"}),
        line(params={"protocolVersion": True}),
        line(params={}),
    ],
)
def test_whatever_is_no_plain_greeting_is_left_to_those_who_know_more(given: bytes) -> None:
    assert answer(given) is None
