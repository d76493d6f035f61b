"""Counts what happens, for `/metrics`: calls, runs of agents, questions, states of servers, reloads. Told by the hub."""

from contextlib import ExitStack

from openclaw.asking.approver import ApprovalDecided
from openclaw.asking.open_question import QuestionChanged
from openclaw.event_hub import Event, EventHub
from openclaw.gateway.feed import ConfigReloaded
from openclaw.gateway.meters import Counter, Histogram
from openclaw.mcp.events import StateChanged
from openclaw.reply import ReplyEnded
from openclaw.security.audit import CallRecorded

_MILLISECONDS = 1_000


class Observer:
    """Counts while it is entered."""

    def __init__(self, events: EventHub) -> None:
        self._events = events
        self._exit = ExitStack()
        self._calls = Counter(
            "openclaw_tool_calls_total", "Tool calls by outcome.", "agent", "kind", "origin", "tool", "outcome"
        )
        self._seconds = Histogram("openclaw_tool_call_seconds", "Time of a tool call.", "kind", "origin")
        self._runs = Counter("openclaw_runs_total", "Runs of an agent by how they ended.", "agent", "reason")
        self._tokens = Counter("openclaw_tokens_total", "Tokens that models counted.", "agent", "direction")
        self._reloads = Counter("openclaw_config_reloads_total", "Reloads of the config by result.", "result")
        self._questions = Counter(
            "openclaw_questions_total", "Questions to a person by what came of them.", "kind", "state"
        )
        self._approvals = Counter(
            "openclaw_approvals_total", "Calls that were asked about, or refused by a rule.", "tool_kind", "answer"
        )
        self._waited = Histogram("openclaw_approval_wait_seconds", "Time a call waited for a person.", "tool_kind")
        self._states = Counter("openclaw_mcp_server_changes_total", "States that servers entered.", "server", "state")

    @property
    def meters(self) -> tuple[Counter | Histogram, ...]:
        return (
            self._calls,
            self._seconds,
            self._runs,
            self._tokens,
            self._reloads,
            self._states,
            self._questions,
            self._approvals,
            self._waited,
        )

    def __enter__(self) -> "Observer":
        self._exit.callback(self._events.subscribe(self._changed, StateChanged))
        self._exit.callback(self._events.subscribe(self._recorded, CallRecorded))
        self._exit.callback(self._events.subscribe(self._replied, ReplyEnded))
        self._exit.callback(self._events.subscribe(self._asked, QuestionChanged))
        self._exit.callback(self._events.subscribe(self._approved, ApprovalDecided))
        self._exit.callback(self._events.subscribe(self._reloaded, ConfigReloaded))
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def _changed(self, event: Event[StateChanged]) -> None:
        self._states.add(event.value.server, event.value.state)

    def _recorded(self, event: Event[CallRecorded]) -> None:
        record = event.value.record
        if record["event"] != "outcome":
            return
        # A name that nobody knows was made up by a caller: it gets no row of its own.
        tool = record["tool"] if record["kind"] != "unknown" else ""
        self._calls.add(record["agent"], record["kind"], record["origin"], tool, record["outcome"])
        self._seconds.observe(record["kind"], record["origin"], seconds=record["durationMs"] / _MILLISECONDS)

    def _asked(self, event: Event[QuestionChanged]) -> None:
        if event.value.state != "pending":
            self._questions.add(event.value.kind, event.value.state)

    def _approved(self, event: Event[ApprovalDecided]) -> None:
        decided = event.value
        self._approvals.add(decided.tool_kind, decided.answer)
        if decided.seconds is not None:
            self._waited.observe(decided.tool_kind, seconds=decided.seconds)

    def _replied(self, event: Event[ReplyEnded]) -> None:
        agent, reply = event.value.agent, event.value.reply
        self._runs.add(agent, reply.reason)
        self._tokens.add(agent, "input", by=reply.usage.input_tokens)
        self._tokens.add(agent, "output", by=reply.usage.output_tokens)

    def _reloaded(self, event: Event[ConfigReloaded]) -> None:
        self._reloads.add("failed" if event.value.problem else "ok")
