"""How long a turn waits, as a matter of moments: when it began, who came up when, and who has been quiet since when."""

from collections.abc import Sequence

import pytest

from openclaw.config.servers import ServerSpec
from openclaw.mcp.arrivals import Wait
from openclaw.mcp.signs import FAR, IDLE, NEAR, Attempt, Signs
from openclaw.process.activity import Activity
from openclaw.transport.connection import Connection
from openclaw.transport.stdio import StdioTransport
from parts.processes import server_command

NEVER = float("inf")
WAIT = Wait(patience=NEVER, grace=2.0, began=100.0, arrived=101.0)


def test_without_a_server_that_is_up_a_turn_waits_for_those_that_are_quiet_too() -> None:
    assert WAIT.ends([100.5], is_any_up=False) == NEVER
    assert Wait(patience=5.0, grace=2.0, began=100.0, arrived=101.0).ends([100.5], is_any_up=False) == 105.0


def test_a_list_of_servers_is_held_up_by_no_quiet_one_though_none_is_up() -> None:
    assert WAIT.ends([100.5, 101.3], is_any_up=False, needs_one=False) == 101.3


def test_once_one_is_up_it_ends_when_all_that_are_awaited_have_been_quiet() -> None:
    assert WAIT.ends([100.5, 101.3, 100.7], is_any_up=True) == 101.3


def test_one_that_became_quiet_while_the_others_came_up_takes_no_time_of_its_own() -> None:
    assert WAIT.ends([100.5], is_any_up=True) < WAIT.arrived


def test_one_that_never_is_quiet_is_waited_for_as_long_as_the_grace_allows() -> None:
    assert WAIT.ends([NEVER], is_any_up=True) == 103.0


def test_nobody_is_waited_for_longer_than_patience_lasts() -> None:
    assert Wait(patience=1.5, grace=2.0, began=100.0, arrived=101.0).ends([NEVER], is_any_up=True) == 101.5


@pytest.mark.parametrize(("arrived", "until"), [(100.1, 101.1), (101.5, 103.0)])
def test_one_that_cannot_be_looked_at_gets_as_long_again_as_the_last_one_took(arrived: float, until: float) -> None:
    assert Wait(patience=NEVER, grace=5.0, began=100.0, arrived=arrived).unseen == pytest.approx(until)


def test_one_that_waits_for_its_turn_to_start_is_not_quiet() -> None:
    assert Signs(ServerSpec("one", command="x")).quiet_at(None, 100.0, unseen=0.0) == NEVER


@pytest.mark.parametrize(
    ("url", "patience"),
    [
        ("http://127.0.0.1:8080/mcp", NEAR),
        ("http://localhost/mcp", NEAR),
        ("http://[::1]:80/mcp", NEAR),
        ("https://mcp.example.com/mcp", FAR),
        ("http://192.168.1.7/mcp", FAR),
        ("https://localhost.example.com/mcp", FAR),
        ("http://127.0.0.1.example.com/mcp", FAR),
    ],
)
def test_a_server_far_away_may_take_longer_than_one_on_this_machine(url: str, patience: float) -> None:
    signs = Signs(ServerSpec("one", transport="streamable-http", url=url))
    assert signs.quiet_at(Attempt(began=100.0), 100.9, unseen=0.0) == 100.0 + patience


def resting(ticks: dict[int, int]) -> Activity:
    return Activity(ticks, is_busy=False)


async def quiet_after(looks: Sequence[Activity | None], *, heard_at: float = 0.0, unseen: float = 99.0) -> list[float]:
    """When a program that was last heard at a moment counts as quiet, by one look a second from 1 on."""
    coming = iter(looks)
    signs = Signs(ServerSpec("one", command="x"), look=lambda pid: next(coming))
    async with Connection(StdioTransport(server_command(), env={})) as connection:
        connection.last_heard = heard_at
        attempt = Attempt(0.0, connection)
        return [signs.quiet_at(attempt, number + 1.0, unseen=unseen) for number in range(len(looks))]


async def test_a_program_is_quiet_a_while_after_it_last_used_the_processor() -> None:
    looks = [resting({7: 1}), resting({7: 1}), resting({7: 2}), resting({7: 2})]
    assert await quiet_after(looks) == [1.0 + IDLE, 1.0 + IDLE, 3.0 + IDLE, 3.0 + IDLE]


async def test_one_that_waits_for_a_processor_or_has_a_new_child_shows_that_it_lives() -> None:
    looks = [Activity({7: 1}, is_busy=True), Activity({7: 1}, is_busy=True), resting({7: 1, 8: 0}), resting({7: 1})]
    assert await quiet_after(looks) == [1.0 + IDLE, 2.0 + IDLE, 3.0 + IDLE, 4.0 + IDLE]


async def test_what_it_says_is_a_sign_of_life_too() -> None:
    assert await quiet_after([resting({7: 1})], heard_at=5.0) == [5.0 + IDLE]


async def test_one_that_cannot_be_looked_at_is_waited_for_by_what_the_others_took() -> None:
    assert await quiet_after([None], unseen=42.0) == [42.0]
