"""The life of one server, as a table."""

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.protocol.lifecycle import (
    TABLE,
    Action,
    EventName,
    LifecycleEvent,
    LifecycleStatus,
    RestartPolicy,
    State,
    step,
)

LOCAL = RestartPolicy(local=True)
REMOTE = RestartPolicy(local=False)
STATES = get_args(State)
EVENTS = get_args(EventName)
LOST_AND_DUE: list[EventName] = ["lost", "due"]
WAIT: tuple[Action, ...] = ("disconnect", "wait")


def live(
    policy: RestartPolicy, *names: EventName, status: LifecycleStatus | None = None, jitter: float = 0.0
) -> list[LifecycleStatus]:
    """The statuses a server goes through."""
    status = status or LifecycleStatus()
    passed = []
    for name in names:
        status = step(policy, status, LifecycleEvent(name, f"because of {name}"), jitter=jitter)
        passed.append(status)
    return passed


def test_a_wanted_server_is_started_and_watched_once_it_is_ready() -> None:
    assert live(LOCAL, "start", "ready") == [
        LifecycleStatus("starting", "because of start", actions=("connect",)),
        LifecycleStatus("ready", delay=60.0, actions=("watch",)),
    ]


@pytest.mark.requirement("001-FR-1-max-restarts")
@pytest.mark.requirement("001-FR-3-backoff")
@pytest.mark.requirement("001-NFR-4-unit")
@pytest.mark.requirement("002-6-crash")
@pytest.mark.requirement("002-6-max-restarts")
def test_a_crashing_process_comes_back_ever_more_slowly_and_then_not_at_all() -> None:
    passed = live(LOCAL, "start", *(LOST_AND_DUE * 5), "lost")
    crashes = [status for status in passed if status.state in ("restarting", "failed")]
    assert crashes == [
        *(
            LifecycleStatus("restarting", "because of lost", attempts, delay=delay, actions=actions)
            for attempts, delay, actions in (
                (1, 1.0, WAIT),
                (2, 2.0, WAIT),
                (3, 4.0, (*WAIT, "tell")),
                (4, 8.0, WAIT),
                (5, 16.0, WAIT),
            )
        ),
        LifecycleStatus("failed", "because of lost", 6, actions=("disconnect", "tell")),
    ]


@pytest.mark.requirement("001-FR-3-backoff")
def test_more_restarts_wait_half_a_minute_each() -> None:
    passed = live(RestartPolicy(local=True, max_restarts=8), "start", *(LOST_AND_DUE * 8))
    assert [status.delay for status in passed if status.state == "restarting"][5:] == [30.0, 30.0, 30.0]


@pytest.mark.requirement("000-10-unreachable-backoff")
@pytest.mark.requirement("000-10-unreachable-told")
@pytest.mark.requirement("002-6-network")
def test_a_remote_server_is_tried_for_ever_and_the_agent_hears_of_it_after_three_attempts() -> None:
    passed = live(REMOTE, "start", *(LOST_AND_DUE * 9))
    waits = [status for status in passed if status.state == "unreachable"]
    assert [status.delay for status in waits] == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    assert [number for number, status in enumerate(waits, 1) if "tell" in status.actions] == [3]


@pytest.mark.parametrize(("jitter", "delay"), [(-1.0, 0.9), (0.0, 1.0), (1.0, 1.1)])
def test_the_delay_varies_by_a_tenth(jitter: float, delay: float) -> None:
    assert live(LOCAL, "start", "lost", jitter=jitter)[-1].delay == pytest.approx(delay)


@pytest.mark.requirement("002-3.3-counter")
def test_a_minute_of_health_clears_the_count() -> None:
    passed = live(LOCAL, "start", "lost", "due", "lost", "due", "ready", "healthy", "lost")
    assert (passed[-1].attempts, passed[-1].delay) == (1, 1.0)


def test_a_crash_within_the_minute_goes_on_counting() -> None:
    passed = live(LOCAL, "start", "lost", "due", "lost", "due", "ready", "lost")
    assert (passed[-1].attempts, passed[-1].delay) == (3, 4.0)


@pytest.mark.parametrize(("policy", "down"), [(LOCAL, "restarting"), (REMOTE, "unreachable")])
def test_a_call_tries_at_once_and_its_failure_does_not_count(policy: RestartPolicy, down: State) -> None:
    passed = live(policy, "start", "lost", "call", "lost", "call", "lost")
    assert [(status.state, status.attempts) for status in passed[1:]] == [
        (down, 1),
        ("starting", 1),
        (down, 1),
        ("starting", 1),
        (down, 1),
    ]


def test_a_server_that_a_call_brought_back_counts_its_next_crash_again() -> None:
    passed = live(LOCAL, "start", "lost", "call", "ready", "lost")
    assert (passed[-1].state, passed[-1].attempts) == ("restarting", 2)


def test_a_call_starts_a_server_that_was_stopped_or_never_started() -> None:
    assert live(LOCAL, "call")[-1].actions == ("connect",)
    assert live(LOCAL, "start", "ready", "stop", "call")[-1].actions == ("connect",)


def test_a_call_does_not_wake_what_has_failed_or_waits_for_a_person() -> None:
    assert live(LOCAL, "start", "broken", "call")[-1] == LifecycleStatus("failed", "because of broken")
    assert live(REMOTE, "start", "sign-in", "call")[-1] == LifecycleStatus("needs-auth", "because of sign-in")


def test_a_server_that_may_not_restart_fails_at_its_first_crash() -> None:
    policy = RestartPolicy(local=True, restart_on_crash=False)
    assert live(policy, "start", "ready", "lost")[-1] == LifecycleStatus(
        "failed", "because of lost", 1, actions=("disconnect", "tell")
    )


def test_signing_in_continues() -> None:
    assert [status.state for status in live(REMOTE, "start", "sign-in", "signed-in", "ready")] == [
        "starting",
        "needs-auth",
        "starting",
        "ready",
    ]


def test_a_person_can_restart_whatever_state_it_is_in_and_the_count_begins_anew() -> None:
    for state in STATES:
        status = step(LOCAL, LifecycleStatus(state, attempts=4), LifecycleEvent("restart"))
        assert (status.state, status.attempts, status.actions[-1]) == ("starting", 0, "connect")


@pytest.mark.requirement("002-3.3-closed")
def test_news_from_a_connection_that_is_no_longer_wanted_changes_nothing() -> None:
    for name in ("ready", "lost", "due", "healthy"):
        assert step(LOCAL, LifecycleStatus("stopped", "idle"), LifecycleEvent(name)) == LifecycleStatus(
            "stopped", "idle"
        )


@pytest.mark.requirement("002-3.2-states")
def test_every_state_can_be_reached_and_left() -> None:
    assert {row.target for row in TABLE} | {"stopped"} == set(STATES)
    assert {state for row in TABLE for state in row.states if row.target != state} == set(STATES)


def test_every_event_is_used() -> None:
    assert {row.event for row in TABLE} == set(EVENTS)


def test_rows_that_start_alike_are_told_apart_by_labelled_guards() -> None:
    seen: dict[tuple[str, str], list[str]] = {}
    for row in TABLE:
        for state in row.states:
            seen.setdefault((state, row.event), []).append(row.label)
    assert all(len(labels) == 1 or (all(labels) and len(set(labels)) == len(labels)) for labels in seen.values())


@settings(max_examples=200, deadline=None)
@given(
    names=st.lists(st.sampled_from(EVENTS), max_size=40),
    local=st.booleans(),
    restarts=st.integers(0, 6),
    jitter=st.floats(-1, 1),
)
def test_no_sequence_of_events_breaks_the_rules(
    names: list[EventName], local: bool, restarts: int, jitter: float
) -> None:
    for status in live(RestartPolicy(local, max_restarts=restarts), *names, jitter=jitter):
        assert ("wait" in status.actions) == (
            status.state in ("restarting", "unreachable") and status.delay is not None
        )
        assert status.delay is None or 0.9 <= status.delay <= 66.0
        assert status.state != "restarting" or local
        assert status.state != "unreachable" or not local or "away" in names
        assert not (status.state == "restarting" and status.attempts > restarts)
