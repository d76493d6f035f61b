"""Which revision to speak: the plan, told what came of its steps."""

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from openclaw import __version__
from openclaw.errors import ConnectError, HttpStatusError, LinkLostError, ProtocolError, RpcError
from openclaw.protocol.eras import (
    DISCOVER,
    INITIALIZE,
    LEGACY,
    LONG_PATIENCE,
    PROBE_PATIENCE,
    Agreement,
    Ask,
    Confirm,
    Listen,
    Loss,
    MethodRefusal,
    MethodReply,
    Outcome,
    Plan,
    Reopen,
    Silence,
    negotiate,
    other_transport,
    request_meta,
)
from openclaw.protocol.transports import LEGACY_SSE, STDIO, STREAMABLE_HTTP, TransportFacts

CLIENT = {"name": "openclaw-mcp", "version": __version__}
META = request_meta("2026-07-28", {})
PROBE = Ask(DISCOVER, {"_meta": META}, {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": DISCOVER})


def initialize(version: str = "2025-11-25") -> Ask:
    return Ask(INITIALIZE, {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT})


def reply(method: str, **result: Any) -> MethodReply:
    return MethodReply(method, Raw(msgspec.json.encode(result)))


def discovered(*versions: str) -> MethodReply:
    return reply(DISCOVER, supportedVersions=versions, capabilities={"tools": {}}, serverInfo={"name": "s"})


def initialized(version: str) -> MethodReply:
    return reply(INITIALIZE, protocolVersion=version, capabilities={"tools": {}}, serverInfo={"name": "s"})


def refused(method: str, code: int, supported: list[str] | None = None, status: int | None = None) -> MethodRefusal:
    error = RpcError(code, "no", {"supported": supported} if supported is not None else None)
    return MethodRefusal(method, error, HttpStatusError(status, f"answered {status}") if status else None)


def rejected(method: str, status: int) -> MethodRefusal:
    return MethodRefusal(method, None, HttpStatusError(status, f"answered {status}"))


def modern() -> Agreement:
    return Agreement("2026-07-28", {"tools": {}}, {"name": "s"}, "", META)


def legacy(version: str) -> Agreement:
    return Agreement(version, {"tools": {}}, {"name": "s"})


def play(plan: Plan, *outcomes: Outcome) -> tuple[list[object], object]:
    """The steps of the plan when it hears `outcomes` in turn, and the agreement or the error at its end."""
    steps: list[object] = []
    pending = list(outcomes)
    answer: Outcome | None = None
    try:
        while True:
            step = plan.send(answer)
            steps.append(step)
            answer = pending.pop(0) if isinstance(step, Listen) else None
    except StopIteration as end:
        assert not pending
        return steps, end.value
    except (ProtocolError, ConnectError, HttpStatusError) as error:
        assert not pending
        return steps, error


def test_a_modern_server_is_met_with_one_question() -> None:
    assert play(negotiate(STDIO), discovered("2026-07-28")) == ([PROBE, Listen(PROBE_PATIENCE)], modern())


@pytest.mark.requirement("002-3.3-client-info")
def test_a_modern_agreement_names_client_version_and_capabilities_for_every_request() -> None:
    plan = negotiate(STDIO, capabilities={"roots": {}})
    _, agreement = play(plan, discovered("2026-07-28"))
    assert isinstance(agreement, Agreement)
    assert agreement.meta == {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": CLIENT,
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
    }


@pytest.mark.parametrize("code", [-32601, -32602, -32600, -32000])
def test_any_old_error_to_the_probe_leads_to_initialize(code: int) -> None:
    steps, end = play(negotiate(STDIO), refused(DISCOVER, code), initialized("2025-11-25"))
    assert steps == [PROBE, Listen(PROBE_PATIENCE), initialize(), Listen(), Confirm("2025-11-25")]
    assert end == legacy("2025-11-25")


@pytest.mark.parametrize("version", LEGACY)
def test_the_servers_counter_offer_is_taken_when_we_know_it(version: str) -> None:
    _, end = play(negotiate(STDIO), refused(DISCOVER, -32601), initialized(version))
    assert end == legacy(version)


@pytest.mark.parametrize("version", ["2023-01-01", "2099-01-01", "2026-07-28", ""])
def test_a_counter_offer_we_do_not_know_ends_the_negotiation(version: str) -> None:
    _, end = play(negotiate(STDIO), refused(DISCOVER, -32601), initialized(version))
    assert isinstance(end, ProtocolError)
    assert "we speak 2026-07-28, 2025-11-25" in end.message


def test_a_silent_server_is_asked_the_old_way_as_well() -> None:
    steps, end = play(negotiate(STDIO), Silence(), initialized("2024-11-05"))
    assert steps == [PROBE, Listen(PROBE_PATIENCE), initialize(), Listen(), Confirm("2024-11-05")]
    assert end == legacy("2024-11-05")


def test_a_modern_server_that_is_slow_to_start_is_still_met_as_modern() -> None:
    _, end = play(negotiate(STDIO), Silence(), discovered("2026-07-28"))
    assert end == modern()


def test_a_refused_initialize_waits_for_the_late_answer_to_the_probe() -> None:
    _, end = play(negotiate(STDIO), Silence(), refused(INITIALIZE, -32022), discovered("2026-07-28"))
    assert end == modern()


def test_a_late_refusal_of_the_probe_does_not_initialize_twice() -> None:
    steps, end = play(negotiate(STDIO), Silence(), refused(DISCOVER, -32601), initialized("2025-06-18"))
    assert steps.count(initialize()) == 1
    assert end == legacy("2025-06-18")


def test_an_unsupported_version_is_retried_with_one_the_server_names() -> None:
    again = refused(DISCOVER, -32022, ["2026-07-28"])
    steps, end = play(negotiate(STREAMABLE_HTTP), again, discovered("2026-07-28"))
    assert steps == [PROBE, Listen(LONG_PATIENCE), PROBE, Listen()]
    assert end == modern()


def test_a_server_that_refuses_the_version_it_names_is_given_up() -> None:
    again = refused(DISCOVER, -32022, ["2026-07-28"])
    _, end = play(negotiate(STDIO), again, again)
    assert isinstance(end, ProtocolError)


def test_a_server_with_only_newer_versions_is_never_initialized() -> None:
    steps, end = play(negotiate(STDIO), refused(DISCOVER, -32022, ["2030-01-01"]))
    assert steps == [PROBE, Listen(PROBE_PATIENCE)]
    assert isinstance(end, ProtocolError)
    assert "2030-01-01" in end.message


def test_a_server_that_names_only_old_versions_is_initialized_with_the_newest_of_them() -> None:
    refusal = refused(DISCOVER, -32022, ["2024-11-05", "2025-03-26"])
    steps, end = play(negotiate(STDIO), refusal, initialized("2025-03-26"))
    assert initialize("2025-03-26") in steps
    assert end == legacy("2025-03-26")


def test_a_discovery_that_names_only_old_versions_leads_to_initialize() -> None:
    _, end = play(negotiate(STDIO), discovered("2025-11-25"), initialized("2025-11-25"))
    assert end == legacy("2025-11-25")


@pytest.mark.parametrize("result", [{}, {"supportedVersions": "2026-07-28"}, {"ok": True}])
def test_a_server_that_answers_every_question_with_anything_is_initialized(result: dict[str, Any]) -> None:
    steps, end = play(negotiate(STDIO), reply(DISCOVER, **result), initialized("2025-06-18"))
    assert steps == [PROBE, Listen(PROBE_PATIENCE), initialize(), Listen(), Confirm("2025-06-18")]
    assert end == legacy("2025-06-18")


def test_a_discovery_that_names_no_version_of_ours_ends_the_negotiation() -> None:
    _, end = play(negotiate(STDIO), discovered("2030-01-01"))
    assert isinstance(end, ProtocolError)


def test_a_server_that_exits_on_the_probe_gets_a_second_life_and_the_old_question() -> None:
    lost = Loss(LinkLostError("The server exited with code 3."))
    steps, end = play(negotiate(STDIO), lost, initialized("2025-06-18"))
    assert [type(step) for step in steps] == [Ask, Listen, Reopen, Ask, Listen, Confirm]
    assert steps[2:4] == [Reopen(STDIO, "the server exited when it was asked for its version"), initialize()]
    assert end == legacy("2025-06-18")


def test_a_server_that_exits_again_is_given_up_with_its_exit_code() -> None:
    lost = Loss(LinkLostError("The server exited with code 3."))
    _, end = play(negotiate(STDIO), lost, lost)
    assert isinstance(end, ConnectError)
    assert end.message == "The server exited with code 3."


def test_a_server_known_to_be_old_is_not_probed() -> None:
    steps, end = play(negotiate(STDIO, known="2024-11-05"), initialized("2024-11-05"))
    assert steps == [initialize(), Listen(), Confirm("2024-11-05")]
    assert end == legacy("2024-11-05")


def test_a_server_known_to_be_old_that_is_now_modern_is_found_out() -> None:
    steps, end = play(negotiate(STDIO, known="2025-11-25"), refused(INITIALIZE, -32022), discovered("2026-07-28"))
    assert steps == [initialize(), Listen(), PROBE, Listen()]
    assert end == modern()


def test_a_server_known_to_be_modern_gets_longer_to_start() -> None:
    steps, _ = play(negotiate(STDIO, known="2026-07-28"), discovered("2026-07-28"))
    assert steps == [PROBE, Listen(LONG_PATIENCE)]


def test_a_server_known_to_be_modern_that_is_now_old_is_found_out() -> None:
    _, end = play(negotiate(STDIO, known="2026-07-28"), refused(DISCOVER, -32601), initialized("2025-11-25"))
    assert end == legacy("2025-11-25")


def test_a_server_that_refuses_initialize_but_names_an_older_version_is_offered_that() -> None:
    refusal = refused(INITIALIZE, -32602, ["2024-11-05"])
    steps, end = play(negotiate(STDIO), refused(DISCOVER, -32601), refusal, initialized("2024-11-05"))
    assert initialize("2024-11-05") in steps
    assert end == legacy("2024-11-05")


def test_a_server_that_refuses_everything_is_given_up_with_its_own_words() -> None:
    _, end = play(negotiate(STDIO), refused(DISCOVER, -32601), refused(INITIALIZE, -32603))
    assert isinstance(end, ProtocolError)
    assert end.message == "The server refused initialize: no"


@pytest.mark.parametrize("status", [400, 404, 405, 406, 415, 422, 500, 501])
def test_over_http_a_refused_probe_leads_to_initialize(status: int) -> None:
    _, end = play(negotiate(STREAMABLE_HTTP), rejected(DISCOVER, status), initialized("2025-06-18"))
    assert end == legacy("2025-06-18")


@pytest.mark.parametrize("status", [401, 403, 429, 502, 503, 504])
def test_a_status_that_says_nothing_about_the_era_is_reported(status: int) -> None:
    steps, end = play(negotiate(STREAMABLE_HTTP), rejected(DISCOVER, status))
    assert steps == [PROBE, Listen(LONG_PATIENCE)]
    assert isinstance(end, HttpStatusError)
    assert end.status == status


@pytest.mark.parametrize("code", [-32020, -32021])
def test_a_modern_error_in_the_body_is_no_reason_to_initialize(code: int) -> None:
    steps, end = play(negotiate(STREAMABLE_HTTP), refused(DISCOVER, code, status=400))
    assert steps == [PROBE, Listen(LONG_PATIENCE)]
    assert isinstance(end, HttpStatusError)


def test_an_unsupported_version_over_http_is_retried() -> None:
    refusal = refused(DISCOVER, -32022, ["2026-07-28"], status=400)
    _, end = play(negotiate(STREAMABLE_HTTP), refusal, discovered("2026-07-28"))
    assert end == modern()


@pytest.mark.parametrize("status", [400, 404, 405])
def test_a_server_that_refuses_both_posts_is_tried_as_http_with_sse(status: int) -> None:
    plan = negotiate(STREAMABLE_HTTP)
    outcomes = rejected(DISCOVER, status), rejected(INITIALIZE, status), initialized("2024-11-05")
    steps, end = play(plan, *outcomes)
    assert Reopen(LEGACY_SSE, f"HTTP {status} to initialize") in steps
    assert end == legacy("2024-11-05")


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_other_statuses_to_initialize_are_reported(status: int) -> None:
    _, end = play(negotiate(STREAMABLE_HTTP), rejected(DISCOVER, 404), rejected(INITIALIZE, status))
    assert isinstance(end, HttpStatusError)
    assert end.status == status


def test_a_method_unknown_to_a_modern_server_is_no_reason_for_the_old_transport() -> None:
    _, end = play(negotiate(STREAMABLE_HTTP), rejected(DISCOVER, 404), refused(INITIALIZE, -32601, status=404))
    assert isinstance(end, HttpStatusError)


def test_http_with_sse_is_older_than_the_probe() -> None:
    steps, end = play(negotiate(LEGACY_SSE), initialized("2024-11-05"))
    assert steps == [initialize(), Listen(), Confirm("2024-11-05")]
    assert end == legacy("2024-11-05")


def test_a_server_configured_as_http_with_sse_may_turn_out_to_be_streamable() -> None:
    steps, end = play(negotiate(LEGACY_SSE), rejected(INITIALIZE, 404), initialized("2025-11-25"))
    assert Reopen(STREAMABLE_HTTP, "HTTP 404 to initialize") in steps
    assert end == legacy("2025-11-25")


def test_the_transports_are_exchanged_only_once() -> None:
    _, end = play(negotiate(LEGACY_SSE), rejected(INITIALIZE, 404), rejected(INITIALIZE, 404))
    assert isinstance(end, HttpStatusError)


@pytest.mark.parametrize(
    ("refused", "other"), [(STREAMABLE_HTTP, LEGACY_SSE), (LEGACY_SSE, STREAMABLE_HTTP), (STDIO, None)]
)
def test_each_http_transport_has_the_other_one(refused: TransportFacts, other: TransportFacts | None) -> None:
    assert other_transport(refused, HttpStatusError(405, "x")) == other


@pytest.mark.parametrize("result", [{"protocolVersion": 5}, {}, {"protocolVersion": "2025-11-25", "capabilities": []}])
def test_an_initialize_result_of_the_wrong_shape_is_the_servers_fault(result: dict[str, Any]) -> None:
    _, end = play(negotiate(STDIO), refused(DISCOVER, -32601), reply(INITIALIZE, **result))
    assert isinstance(end, ProtocolError)
