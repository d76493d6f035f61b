"""Turns what happens (engine events, calls, runs, reloads) into published events and numbers.

Everything it is told is already safe to show: engine events and audit records hold no secret, no argument and no result.
"""

from collections.abc import Mapping
from typing import Any

from openclaw.app import Reply
from openclaw.commands.mcp import change_json
from openclaw.gateway.feed import Feed
from openclaw.gateway.meters import Counter, Histogram
from openclaw.mcp.events import (
    DefinitionsChanged,
    EngineEvent,
    PromptsChanged,
    ResourceChanged,
    StateChanged,
    ToolsChanged,
)

_MILLISECONDS = 1_000


class Observer:
    def __init__(self) -> None:
        self.feed = Feed()
        self._calls = Counter(
            "openclaw_tool_calls_total", "Tool calls by outcome.", "agent", "kind", "origin", "tool", "outcome"
        )
        self._seconds = Histogram("openclaw_tool_call_seconds", "Time of a tool call.", "kind", "origin")
        self._runs = Counter("openclaw_runs_total", "Runs of an agent by how they ended.", "agent", "reason")
        self._tokens = Counter("openclaw_tokens_total", "Tokens that models counted.", "agent", "direction")
        self._reloads = Counter("openclaw_config_reloads_total", "Reloads of the config by result.", "result")
        self._states = Counter("openclaw_mcp_server_changes_total", "States that servers entered.", "server", "state")

    @property
    def meters(self) -> tuple[Counter | Histogram, ...]:
        return self._calls, self._seconds, self._runs, self._tokens, self._reloads, self._states

    def engine(self, event: EngineEvent) -> None:
        match event:
            case StateChanged():
                self._states.add(event.server, event.state)
                self.feed.publish("server", _state(event))
            case ToolsChanged():
                self.feed.publish("tools", {"server": event.server, "added": event.added, "removed": event.removed})
            case DefinitionsChanged():
                changed = [change_json(change) for change in event.changes]
                self.feed.publish("definition", {"server": event.server, "changes": changed, "message": event.sentence})
            case ResourceChanged():
                self.feed.publish("resource", {"server": event.server, "uri": event.uri})
            case PromptsChanged():
                self.feed.publish("resource", {"server": event.server, "prompts": True})

    def call(self, record: Mapping[str, Any]) -> None:
        """A record of the audit trail."""
        self.feed.publish("call", record)
        if record["event"] != "outcome":
            return
        # A name that nobody knows was made up by a caller: it gets no row of its own.
        tool = record["tool"] if record["kind"] != "unknown" else ""
        self._calls.add(record["agent"], record["kind"], record["origin"], tool, record["outcome"])
        self._seconds.observe(record["kind"], record["origin"], seconds=record["durationMs"] / _MILLISECONDS)

    def replied(self, agent: str, reply: Reply) -> None:
        self._runs.add(agent, reply.reason)
        self._tokens.add(agent, "input", by=reply.usage.input_tokens)
        self._tokens.add(agent, "output", by=reply.usage.output_tokens)

    def reloaded(self, problem: str) -> None:
        self._reloads.add("failed" if problem else "ok")
        self.feed.publish("config", {"ok": not problem, "problem": problem})


def _state(event: StateChanged) -> dict[str, Any]:
    return {
        "server": event.server,
        "state": event.state,
        "reason": event.reason,
        "nextAttemptSeconds": event.next_attempt,
        "tell": event.tell,
    }
