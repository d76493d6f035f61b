"""How long a turn waits, as a matter of moments: when it began, who came up when, and who has been quiet since when."""

import pytest

from openclaw.config.servers import ServerSpec
from openclaw.mcp.arrivals import Wait
from openclaw.mcp.signs import FAR, NEAR, Attempt, Signs

NEVER = float("inf")
WAIT = Wait(patience=NEVER, grace=2.0, began=100.0, arrived=101.0)


def test_without_a_server_that_is_up_a_turn_waits_for_those_that_are_quiet_too() -> None:
    assert WAIT.ends([100.5], is_any_up=False) == NEVER
    assert Wait(patience=5.0, grace=2.0, began=100.0, arrived=101.0).ends([100.5], is_any_up=False) == 105.0


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
