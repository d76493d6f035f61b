"""The protocol of both eras, without I/O."""

import json
from typing import Any

import pytest
from msgspec import Raw

from openclaw import __version__
from openclaw.mcp_server.dialogue import (
    Cancel,
    Dialogue,
    Outcome,
    Placed,
    ResultAnswer,
    Unsupported,
)
from openclaw.mcp_server.order import Item, Order
from openclaw.mcp_server.order_tool import INSTRUCTIONS, ORDERS, TOOL
from openclaw.protocol.jsonrpc import Notification, Request
from openclaw.protocol.strict_lines import ErrorAnswer

INFO = {"name": "openclaw", "title": "OpenClaw", "version": __version__}
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
ALL = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
MISSING = (
    "Invalid params: send initialize first, or name io.modelcontextprotocol/protocolVersion and "
    "io.modelcontextprotocol/clientCapabilities in _meta of every request."
)


def ask(dialogue: Dialogue[Order], method: str, params: Any = None, id: int | str = 1) -> Outcome[Order]:
    return dialogue.receive(Request(id, method, raw(params)))


def raw(params: Any) -> Raw:
    return Raw() if params is None else Raw(json.dumps(params).encode())


def initialized(version: str = "2025-11-25") -> Dialogue[Order]:
    dialogue = Dialogue(ORDERS)
    ask(dialogue, "initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {}})
    return dialogue


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_initialize_agrees_on_the_version_that_was_asked_for(version: str) -> None:
    answer = ask(Dialogue(ORDERS), "initialize", {"protocolVersion": version})
    told = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": INFO}
    assert answer == ResultAnswer(1, {**told, "instructions": INSTRUCTIONS})


@pytest.mark.parametrize("version", ["1999-01-01", "2026-07-28", "2099-12-31", ""])
def test_initialize_offers_the_newest_handshake_revision_instead_of_an_unknown_one(version: str) -> None:
    answer = ask(Dialogue(ORDERS), "initialize", {"protocolVersion": version})
    assert isinstance(answer, ResultAnswer)
    assert answer.result["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("params", [None, {}, {"protocolVersion": 7}])
def test_initialize_without_a_version_is_refused(params: Any) -> None:
    refusal = ErrorAnswer(1, -32602, "Invalid params: protocolVersion must be a string.")
    assert ask(Dialogue(ORDERS), "initialize", params) == refusal


def test_a_ping_is_answered_before_anything_else() -> None:
    assert ask(Dialogue(ORDERS), "ping", id="p") == ResultAnswer("p", {})


def test_other_requests_wait_for_initialize() -> None:
    assert ask(Dialogue(ORDERS), "tools/list") == ErrorAnswer(1, -32602, MISSING)


@pytest.mark.requirement("003-1-tool")
@pytest.mark.requirement("004-limits-one-tool")
@pytest.mark.requirement("004-tool-single")
def test_the_tool_list_of_a_handshake_revision_is_the_list_alone() -> None:
    assert ask(initialized(), "tools/list") == ResultAnswer(1, {"tools": [TOOL]})


def test_null_parameters_count_as_none() -> None:
    assert initialized().receive(Request(1, "tools/list", Raw(b"null"))) == ResultAnswer(1, {"tools": [TOOL]})


def test_a_cursor_we_never_gave_is_refused() -> None:
    refusal = ErrorAnswer(1, -32602, "Invalid params: there is no page behind this cursor.")
    assert ask(initialized(), "tools/list", {"cursor": "x"}) == refusal


@pytest.mark.parametrize("method", ["resources/list", "prompts/list", "logging/setLevel", "no/such", "", "x" * 500])
def test_an_unknown_method_is_named_in_the_refusal(method: str) -> None:
    assert ask(initialized(), method) == ErrorAnswer(1, -32601, f"Method not found: {method[:100]}")


def test_discover_tells_every_version_without_a_handshake() -> None:
    told = {"supportedVersions": ALL, "capabilities": {"tools": {}}, "serverInfo": INFO, "instructions": INSTRUCTIONS}
    expected = {
        "resultType": "complete",
        **told,
        "ttlMs": 3_600_000,
        "cacheScope": "public",
        "_meta": {"io.modelcontextprotocol/serverInfo": INFO},
    }
    assert ask(Dialogue(ORDERS), "server/discover", {"_meta": MODERN_META}) == ResultAnswer(1, expected)


def test_a_modern_tool_list_says_how_long_it_may_be_kept() -> None:
    expected = {
        "resultType": "complete",
        "tools": [TOOL],
        "ttlMs": 3_600_000,
        "cacheScope": "public",
        "_meta": {"io.modelcontextprotocol/serverInfo": INFO},
    }
    assert ask(Dialogue(ORDERS), "tools/list", {"_meta": MODERN_META}) == ResultAnswer(1, expected)


@pytest.mark.parametrize("meta", [{}, {"io.modelcontextprotocol/clientCapabilities": {}}, None])
def test_discover_without_its_required_fields_is_refused(meta: Any) -> None:
    assert ask(Dialogue(ORDERS), "server/discover", {"_meta": meta}) == ErrorAnswer(1, -32602, MISSING)


@pytest.mark.parametrize("capabilities", [None, [], "x"])
def test_a_modern_request_without_capabilities_is_refused(capabilities: Any) -> None:
    meta = MODERN_META | {"io.modelcontextprotocol/clientCapabilities": capabilities}
    assert ask(initialized(), "tools/list", {"_meta": meta}) == ErrorAnswer(1, -32602, MISSING)


@pytest.mark.parametrize("version", ["1900-01-01", "2025-11-25", "2099-01-01"])
def test_a_request_in_an_unknown_version_is_told_the_known_ones(version: str) -> None:
    meta = MODERN_META | {"io.modelcontextprotocol/protocolVersion": version}
    outcome = ask(Dialogue(ORDERS), "tools/list", {"_meta": meta})
    assert outcome == Unsupported(1, version)
    assert outcome.error == {
        "code": -32022,
        "message": "Unsupported protocol version",
        "data": {"supported": ALL, "requested": version},
    }


def test_ping_is_gone_from_the_modern_revision() -> None:
    refusal = ErrorAnswer(1, -32601, "Method not found: ping")
    assert ask(Dialogue(ORDERS), "ping", {"_meta": MODERN_META}) == refusal


def test_both_eras_may_be_mixed() -> None:
    dialogue = initialized("2025-03-26")
    modern = ask(dialogue, "tools/list", {"_meta": MODERN_META})
    legacy = ask(dialogue, "tools/list")
    assert isinstance(modern, ResultAnswer)
    assert modern.result["resultType"] == "complete"
    assert legacy == ResultAnswer(1, {"tools": [TOOL]})


@pytest.mark.requirement("004-file-fields")
@pytest.mark.requirement("004-image-fields")
@pytest.mark.requirement("004-images-files")
def test_a_call_becomes_an_order() -> None:
    arguments = {
        "message": "hi",
        "sessionKey": "k",
        "images": [{"data": "aa", "mimeType": "image/png", "filename": "a.png"}],
        "files": [{"data": "bb", "mimeType": "text/csv"}],
        "unknown": 1,
    }
    outcome = ask(initialized(), "tools/call", {"name": "order_openclaw", "arguments": arguments})
    order = Order("hi", "k", [Item("images[0]", "aa", "image/png", "a.png")], [Item("files[0]", "bb", "text/csv", "")])
    assert outcome == Placed(1, "2025-11-25", order)


@pytest.mark.parametrize(
    ("token", "kept"),
    [("t", b'"t"'), (7, b"7"), (-1, b"-1"), (None, b""), (True, b""), ([1], b""), ({}, b"")],
)
def test_a_progress_token_is_kept_as_it_was_written(token: Any, kept: bytes) -> None:
    params = {"name": "order_openclaw", "arguments": {"message": "hi"}, "_meta": {"progressToken": token}}
    assert ask(initialized(), "tools/call", params) == Placed(1, "2025-11-25", Order("hi"), token=Raw(kept))


@pytest.mark.requirement("004-limits-one-tool")
@pytest.mark.requirement("004-tool-single")
@pytest.mark.parametrize(
    ("params", "shown"), [({"name": "other"}, "other"), ({}, "no name"), ({"name": 5}, "no name"), (None, "no name")]
)
def test_another_tool_does_not_exist(params: Any, shown: str) -> None:
    sentence = f"Unknown tool: {shown}. The only tool is order_openclaw."
    assert ask(initialized(), "tools/call", params) == ErrorAnswer(1, -32602, sentence)


@pytest.mark.requirement("004-message-required")
@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (None, "The arguments must be an object, not null."),
        ([], "The arguments must be an object, not a list."),
        ({}, "The argument message is missing. It is the text to send to OpenClaw."),
        ({"message": 5}, "The argument message must be a string, not a number."),
        ({"message": None}, "The argument message must be a string, not null."),
        ({"message": [["m"]]}, "The argument message must be a string, not a list."),
        ({"message": {"text": "m"}}, "The argument message must be a string, not an object."),
        ({"message": " \n"}, "The argument message is empty. Say what OpenClaw should do."),
        ({"message": "m", "sessionKey": 1}, "The argument sessionKey must be a string, not a number."),
        ({"message": "m", "images": {}}, "The argument images must be a list, not an object."),
        ({"message": "m", "files": "f"}, "The argument files must be a list, not a string."),
        ({"message": "m", "images": [1]}, "The argument images[0] must be an object, not a number."),
        ({"message": "m", "files": [None]}, "The argument files[0] must be an object, not null."),
        ({"message": "m", "files": [[{}]]}, "The argument files[0] must be an object, not a list."),
        ({"message": "m", "images": [{"mimeType": "x"}]}, "The argument images[0].data is missing."),
        (
            {"message": "m", "files": [{"data": "", "mimeType": "text/plain"}, {"data": ""}]},
            "The argument files[1].mimeType is missing.",
        ),
        (
            {"message": "m", "images": [{"data": True, "mimeType": "x"}]},
            "The argument images[0].data must be a string, not true or false.",
        ),
        (
            {"message": "m", "images": [{"data": [], "mimeType": "x"}]},
            "The argument images[0].data must be a string, not a list.",
        ),
        (
            {"message": "m", "images": [{"data": "", "mimeType": {}}]},
            "The argument images[0].mimeType must be a string, not an object.",
        ),
        (
            {"message": "m", "images": [{"data": "", "mimeType": "x", "filename": 1}]},
            "The argument images[0].filename must be a string, not a number.",
        ),
    ],
)
def test_wrong_arguments_are_named_with_what_they_should_be(arguments: Any, fault: str) -> None:
    outcome = ask(initialized(), "tools/call", {"name": "order_openclaw", "arguments": arguments})
    assert outcome == Placed(1, "2025-11-25", None, fault)


def test_missing_arguments_are_an_order_without_a_message() -> None:
    fault = "The argument message is missing. It is the text to send to OpenClaw."
    outcome = ask(initialized(), "tools/call", {"name": "order_openclaw"})
    assert outcome == Placed(1, "2025-11-25", None, fault)


@pytest.mark.requirement("004-images-files")
def test_optional_arguments_may_be_null() -> None:
    arguments = {
        "message": "m",
        "sessionKey": None,
        "images": None,
        "files": [{"data": "", "mimeType": "", "filename": None}],
    }
    outcome = ask(initialized(), "tools/call", {"name": "order_openclaw", "arguments": arguments})
    assert outcome == Placed(1, "2025-11-25", Order("m", files=[Item("files[0]", "", "", "")]))


@pytest.mark.parametrize(
    "params",
    [
        b'{"name":"order_openclaw","arguments":{"message":"\xff"}}',
        b'{"name":"order_openclaw","arguments":{"message":"m","unknown":"\xff"}}',
        b'{"name":"order_openclaw","arguments":{"message":"m","unknown":{"\xc3":1}}}',
        b'{"name":"\xff"}',
    ],
)
def test_text_that_is_not_utf_8_is_a_parse_error(params: bytes) -> None:
    outcome = initialized().receive(Request(1, "tools/call", Raw(params)))
    assert isinstance(outcome, ErrorAnswer)
    assert (outcome.id, outcome.code) == (1, -32700)


@pytest.mark.parametrize("params", ["[]", "7", '{"_meta":[]}'])
def test_parameters_of_the_wrong_shape_are_invalid(params: str) -> None:
    outcome = initialized().receive(Request(1, "tools/list", Raw(params.encode())))
    assert isinstance(outcome, ErrorAnswer)
    assert (outcome.id, outcome.code) == (1, -32602)


@pytest.mark.parametrize(("id", "cancelled"), [(3, 3), ("a", "a"), (3.0, 3)])
def test_a_cancellation_names_the_request(id: Any, cancelled: int | str) -> None:
    outcome = Dialogue(ORDERS).receive(Notification("notifications/cancelled", raw({"requestId": id})))
    assert outcome == Cancel(cancelled)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("notifications/initialized", b""),
        ("notifications/cancelled", b""),
        ("notifications/cancelled", b"{}"),
        ("notifications/cancelled", b'{"requestId":[]}'),
        ("notifications/cancelled", b'{"requestId":true}'),
        ("notifications/cancelled", b"[]"),
        ("notifications/cancelled", b'"\xff"'),
        ("anything", b"{}"),
    ],
)
def test_other_notifications_are_taken_without_a_word(method: str, params: bytes) -> None:
    assert Dialogue(ORDERS).receive(Notification(method, Raw(params))) is None


@pytest.mark.parametrize(("version", "allowed"), [("2025-03-26", True), ("2025-06-18", False), ("2024-11-05", False)])
def test_batches_are_part_of_one_revision(version: str, allowed: bool) -> None:
    refusal = ErrorAnswer(None, -32600, "Invalid request: batches are part of MCP 2025-03-26 alone.")
    assert initialized(version).refuse_batch() == (None if allowed else refusal)
