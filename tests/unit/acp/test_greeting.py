"""The answer to `initialize`, which is given before anything is loaded."""

import json
from typing import Any

import pytest

from openclaw.acp.greeting import answer, greeting


def line(**changes: Any) -> bytes:
    params = {"protocolVersion": 1, "clientCapabilities": {}}
    return json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params, **changes}).encode()


def told(given: bytes) -> Any:
    answered = answer(given, has_model=True)
    return None if answered is None else json.loads(answered)


def test_a_plain_greeting_is_answered_with_its_id() -> None:
    assert told(line(id="a"))["id"] == "a"
    assert told(line(params={"protocolVersion": 7}))["result"]["protocolVersion"] == 1


def test_a_client_that_has_terminals_is_told_how_to_set_up_in_one() -> None:
    capable = {"protocolVersion": 1, "clientCapabilities": {"auth": {"terminal": True}}}
    plain, method = (greeting(params, has_model=False) for params in ({"protocolVersion": 1}, capable))
    assert plain is not None
    assert method is not None
    [told_plainly], [told_whole] = plain["authMethods"], method["authMethods"]
    assert told_whole == {**told_plainly, "type": "terminal", "args": ["--setup"], "env": {}}


def test_a_client_has_nothing_to_sign_in_to_where_a_model_is_there() -> None:
    assert told(line())["result"]["authMethods"] == []


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
    assert answer(given, has_model=True) is None
