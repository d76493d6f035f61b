"""What is remembered of a server's answers."""

import pytest

from openclaw.config.servers import ServerSpec
from openclaw.mcp.cache import Cache
from openclaw.mcp.pin_store import PinFiles
from openclaw.mcp.server.state import MAX_LATENCIES, ServerState
from openclaw.mcp.tools.catalog import Catalog


@pytest.fixture
async def state() -> ServerState:
    spec = ServerSpec("shop", command="shop")
    return ServerState(spec, Catalog(spec, Cache(), PinFiles()), lambda: "")


def latencies(state: ServerState) -> tuple[float | None, float | None]:
    shown = state.status()
    return shown.latency_p50, shown.latency_p95


async def test_a_server_that_never_answered_has_no_latency(state: ServerState) -> None:
    assert latencies(state) == (None, None)


async def test_latency_is_that_of_the_answers_and_not_of_their_order(state: ServerState) -> None:
    for number in reversed(range(1, 101)):
        state.answered(number / 1000)
    assert latencies(state) == (0.051, 0.096)


async def test_one_answer_is_both(state: ServerState) -> None:
    state.answered(0.25)
    assert latencies(state) == (0.25, 0.25)


async def test_old_answers_make_room_for_new_ones(state: ServerState) -> None:
    for seconds in (*[9.0] * MAX_LATENCIES, *[1.0] * MAX_LATENCIES):
        state.answered(seconds)
    assert latencies(state) == (1.0, 1.0)
