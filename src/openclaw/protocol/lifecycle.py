"""The life of one server: state × event → next state, why, what to do, and after how long.

All transitions are rows of `TABLE`; this file knows no clock, no process and no socket. `mcp/server/server.py` acts on what `step`
returns and reports back what happened. The picture of these states in the documentation is drawn from `TABLE`.
"""

from collections.abc import Callable
from typing import Literal

import msgspec

State = Literal["stopped", "starting", "ready", "restarting", "unreachable", "needs-auth", "failed"]

EventName = Literal[
    "start",  # the server is wanted
    "ready",  # connected, and its tools were listed, or cannot be
    "lost",  # it exited, the link broke, or connecting failed
    "away",  # something that it needs, such as a store of secrets, cannot be reached
    "sign-in",  # a person has to sign in first
    "signed-in",  # somebody did
    "broken",  # it cannot work as configured
    "due",  # the wait is over
    "call",  # somebody wants to call it now
    "healthy",  # it has been ready for HEALTHY_AFTER seconds
    "restart",  # a person asked for it
    "stop",  # not wanted for now (by a person, idle, the limit of servers)
]

# connect, disconnect; wait: send `due` after `delay`; watch: send `healthy` after `delay`; tell: the agent should know.
Action = Literal["connect", "disconnect", "wait", "watch", "tell"]

# The command of `openclaw mcp` that takes a person further: what a program wrote before it ended, a sign-in; empty when there is none.
Remedy = Literal["", "logs", "auth"]

# A crash is often a passing one; past half a minute a person is quicker than a timer.
RESTART_DELAYS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
# A remote server may be away for a night; once a minute costs nobody anything.
UNREACHABLE_DELAYS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)
# So that many clients of one server do not come back in the same instant.
JITTER = 0.1
# Long enough that a server which crashes at every first call is not taken for healthy.
HEALTHY_AFTER = 60.0
# A blip is not worth a word to the agent.
TELL_AFTER_ATTEMPTS = 3


class RestartPolicy(msgspec.Struct, frozen=True):
    """What the spec says: a process of ours or a remote server, and how often to start it again."""

    local: bool
    restart_on_crash: bool = True
    max_restarts: int = 5


class LifecycleEvent(msgspec.Struct, frozen=True):
    name: EventName
    reason: str = ""
    remedy: Remedy = ""


class LifecycleStatus(msgspec.Struct, frozen=True):
    """Where a server is in its life, and what to do now. `delay` belongs to the actions wait and watch."""

    state: State = "stopped"
    reason: str = ""
    # Failures in a row that count.
    attempts: int = 0
    # False while an attempt is made only because a call wants it: its failure does not count.
    counted: bool = True
    delay: float | None = None
    actions: tuple[Action, ...] = ()
    # What a person can do about the reason.
    remedy: Remedy = ""


Guard = Callable[[RestartPolicy, LifecycleStatus], bool]


def _restarts(policy: RestartPolicy, status: LifecycleStatus) -> bool:
    return policy.local and policy.restart_on_crash and _counted(status) <= policy.max_restarts


def _gives_up(policy: RestartPolicy, status: LifecycleStatus) -> bool:
    return policy.local and not _restarts(policy, status)


def _remote(policy: RestartPolicy, status: LifecycleStatus) -> bool:
    return not policy.local


def _counted(status: LifecycleStatus) -> int:
    """Failures in a row, with the one that is happening."""
    return status.attempts + 1 if status.counted else status.attempts


class Row(msgspec.Struct, frozen=True):
    """One arrow of the picture. `label` words the guard."""

    states: tuple[State, ...]
    event: EventName
    target: State
    actions: tuple[Action, ...] = ()
    guard: Guard | None = None
    label: str = ""


_DOWN: tuple[State, ...] = ("stopped", "restarting", "unreachable", "needs-auth", "failed")
_UP: tuple[State, ...] = ("starting", "ready")

# The first row that fits is taken. A pair without a row changes nothing.
TABLE: tuple[Row, ...] = (
    Row(("stopped",), "start", "starting", ("connect",)),
    Row(("stopped", "restarting", "unreachable"), "call", "starting", ("connect",)),
    Row(("restarting", "unreachable"), "due", "starting", ("connect",)),
    Row(("needs-auth",), "signed-in", "starting", ("connect",)),
    Row(_DOWN, "restart", "starting", ("connect",)),
    Row(_UP, "restart", "starting", ("disconnect", "connect")),
    Row(("starting",), "ready", "ready", ("watch",)),
    Row(("ready",), "healthy", "ready"),
    Row(_UP, "lost", "restarting", ("disconnect", "wait"), _restarts, "process"),
    Row(_UP, "lost", "failed", ("disconnect", "tell"), _gives_up, "too often"),
    Row(_UP, "lost", "unreachable", ("disconnect", "wait"), _remote, "remote"),
    Row(_UP, "away", "unreachable", ("disconnect", "wait")),
    Row(_UP, "sign-in", "needs-auth", ("disconnect", "tell")),
    Row((*_DOWN, *_UP), "broken", "failed", ("disconnect", "tell")),
    Row((*_DOWN, *_UP), "stop", "stopped", ("disconnect",)),
)


def step(
    policy: RestartPolicy, status: LifecycleStatus, event: LifecycleEvent, *, jitter: float = 0.0
) -> LifecycleStatus:
    """What follows `event`. `jitter` is a random number from -1 to 1; the delay varies with it by JITTER."""
    for row in TABLE:
        if row.event == event.name and status.state in row.states and (row.guard is None or row.guard(policy, status)):
            return _enter(row, status, event, jitter)
    return LifecycleStatus(status.state, status.reason, status.attempts, status.counted, remedy=status.remedy)


def _enter(row: Row, status: LifecycleStatus, event: LifecycleEvent, jitter: float) -> LifecycleStatus:
    match row.event:
        case "lost" | "away":
            return _lost(row, status, event, jitter)
        case "ready":
            return LifecycleStatus("ready", "", status.attempts, True, HEALTHY_AFTER, row.actions)
        case "healthy":
            return LifecycleStatus("ready")
        case "call":
            # Failures go on counting from where they were, and this attempt is none of them.
            return LifecycleStatus("starting", event.reason, status.attempts, False, None, row.actions, event.remedy)
        case "due":
            return LifecycleStatus("starting", status.reason, status.attempts, True, None, row.actions, status.remedy)
        case _:
            return LifecycleStatus(row.target, event.reason, 0, True, None, row.actions, event.remedy)


def _lost(row: Row, status: LifecycleStatus, event: LifecycleEvent, jitter: float) -> LifecycleStatus:
    attempts = _counted(status)
    if row.target == "failed":
        return LifecycleStatus("failed", event.reason, attempts, True, None, row.actions, event.remedy)
    delays = RESTART_DELAYS if row.target == "restarting" else UNREACHABLE_DELAYS
    # An attempt made for a call may fail before anything counted.
    base = delays[min(max(attempts, 1), len(delays)) - 1]
    tell = status.counted and attempts == TELL_AFTER_ATTEMPTS
    actions = (*row.actions, "tell") if tell else row.actions
    return LifecycleStatus(
        row.target, event.reason, attempts, True, base * (1 + JITTER * jitter), actions, event.remedy
    )
