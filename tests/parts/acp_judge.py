"""What an agent and a client may say to each other over ACP, one message after the other: the schema, and the rules that no schema holds.

A talk is a list of `Said`. `faults` reads it once, from the first line of a process to the last, and gives a sentence for everything that
is wrong. The rules, each by its words in `_rules`:

- every request is answered, once, by the side that was asked; nothing else is answered;
- a turn's updates come while its prompt is open, and those of a replay while the session is loaded;
- a tool call is announced before it is told of, and is completed or failed when its turn is answered;
- a permission is asked for a tool call that was announced, with a way to say yes once and a way to say no once;
- what a client did not declare is not asked of it, nor sent to it.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parts import acp_schema

# What belongs to a turn or to the replay of earlier ones.
_OF_A_TURN = {
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
}
_SETTLED = {"completed", "failed"}
# The capability that a client declares for each thing that is sent to it.
_NEEDS = {
    "fs/read_text_file": ("fs", "readTextFile"),
    "fs/write_text_file": ("fs", "writeTextFile"),
    "terminal/create": ("terminal",),
    "elicitation/create": ("elicitation",),
    "notice": ("session", "notices"),
    "compaction_update": ("session", "compaction"),
    "compaction_summary_chunk": ("session", "compaction"),
}


@dataclass(frozen=True)
class Said:
    # "client", "agent", or "start" where a new process begins.
    side: str
    line: str

    @property
    def message(self) -> Any:
        """None where the line is no JSON."""
        try:
            return json.loads(self.line)
        except ValueError:
            return None


def tape(path: Path) -> list[Said]:
    """What `acp_tap.py` wrote down."""
    return [Said(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def processes(said: Iterable[Said]) -> list[list[Said]]:
    """A tape, process by process."""
    parts: list[list[Said]] = []
    for one in said:
        if one.side == "start":
            parts.append([])
        else:
            parts[-1].append(one)
    return parts


def sent(said: Iterable[Said], side: str, method: str = "") -> list[Any]:
    """Messages of one side; with a method, the parameters of those."""
    messages = [one.message for one in said if one.side == side]
    if not method:
        return messages
    return [message["params"] for message in messages if message.get("method") == method]


def updates(said: Iterable[Said], kind: str = "") -> list[Any]:
    found = [params["update"] for params in sent(said, "agent", "session/update")]
    return [update for update in found if not kind or update["sessionUpdate"] == kind]


def answers(said: Sequence[Said], method: str) -> list[Any]:
    """What a client's requests of this method got, each whole."""
    asked = {m["id"] for m in sent(said, "client") if isinstance(m, dict) and m.get("method") == method and "id" in m}
    return [message for message in sent(said, "agent") if "method" not in message and message.get("id") in asked]


@dataclass
class _Talk:
    judged: set[str]
    faults: list[str] = field(default_factory=list)
    # Open requests by who asked and id: the method and the session.
    open: dict[tuple[str, Any], tuple[str, str]] = field(default_factory=dict)
    capabilities: dict[str, Any] = field(default_factory=dict)
    # Tool calls by session and id: whether they are settled.
    calls: dict[tuple[str, str], bool] = field(default_factory=dict)

    def blame(self, side: str, sentence: str) -> None:
        if side in self.judged:
            self.faults.append(f"{side}: {sentence}")

    def hear(self, said: Said) -> None:
        message = said.message
        if not isinstance(message, dict):
            self.blame(said.side, f"not a message: {said.line[:120]!r}")
            return
        asked = ""
        if "method" not in message:
            asked = self._answered(said.side, message)
        for fault in acp_schema.message_faults(message, sender=said.side, asked=asked):
            self.blame(said.side, fault)
        if "method" in message:
            self._told(said.side, message)

    def _answered(self, side: str, message: dict[str, Any]) -> str:
        asker = "client" if side == "agent" else "agent"
        method, session = self.open.pop((asker, message.get("id")), ("", ""))
        if not method and not ("error" in message and message.get("id") is None):
            self.blame(side, f"an answer to nothing, or a second one: {str(message)[:200]}")
        if method in ("session/prompt", "session/load"):
            for (owner, call), settled in self.calls.items():
                if owner == session and not settled:
                    self.blame(side, f"{method} was answered while tool call {call} was under way")
        return method

    def _told(self, side: str, message: dict[str, Any]) -> None:
        method, params = str(message["method"]), message.get("params")
        params = params if isinstance(params, dict) else {}
        session = str(params.get("sessionId", ""))
        if "id" in message:
            if (side, message["id"]) in self.open:
                self.blame(side, f"the id {message['id']!r} is that of an open request")
            self.open[side, message["id"]] = (method, session)
        if method == "initialize":
            self.capabilities = params.get("clientCapabilities") or {}
        if side == "agent":
            self._needs(method)
            if method == "session/update":
                self._update(session, params.get("update") or {})
            elif method == "session/request_permission":
                self._permission(session, params)

    def _needs(self, what: str) -> None:
        value: Any = self.capabilities
        for word in _NEEDS.get(what, ()):
            value = value.get(word) if isinstance(value, dict) else None
        if what in _NEEDS and (value is None or value is False):
            self.blame("agent", f"{what} was sent to a client that does not declare it")

    def _in_turn(self, session: str) -> bool:
        return any(
            owner == session and method in ("session/prompt", "session/load") for method, owner in self.open.values()
        )

    def _update(self, session: str, update: dict[str, Any]) -> None:
        kind = str(update.get("sessionUpdate"))
        self._needs(kind)
        if kind in _OF_A_TURN and not self._in_turn(session):
            self.blame("agent", f"{kind} while no prompt is open: {str(update)[:200]}")
        if kind == "user_message_chunk" and ("session/load", session) not in self.open.values():
            self.blame("agent", "the person's own words were sent back outside a replay")
        call = (session, str(update.get("toolCallId")))
        if kind == "tool_call":
            if call in self.calls and not self.calls[call]:
                self.blame("agent", f"tool call {call[1]} was announced twice")
            self.calls[call] = update.get("status") in _SETTLED
        elif kind == "tool_call_update":
            if call not in self.calls:
                self.blame("agent", f"tool call {call[1]} was told of before it was announced")
            elif self.calls[call]:
                self.blame("agent", f"tool call {call[1]} was told of after it had ended")
            self.calls[call] = self.calls.get(call, False) or update.get("status") in _SETTLED

    def _permission(self, session: str, params: dict[str, Any]) -> None:
        call = str((params.get("toolCall") or {}).get("toolCallId"))
        if not self._in_turn(session):
            self.blame("agent", "a permission was asked for while no prompt is open")
        if (session, call) not in self.calls:
            self.blame("agent", f"a permission was asked for tool call {call}, which was not announced")
        options = params.get("options") or []
        kinds = [option.get("kind") for option in options]
        if not {"allow_once", "reject_once"} <= set(kinds):
            self.blame("agent", f"a permission without a yes and a no for once: {kinds}")
        if len({option.get("optionId") for option in options}) < len(options):
            self.blame("agent", "two options have one id")


def faults(said: Iterable[Said], *, judged: Iterable[str] = ("agent", "client"), whole: bool = True) -> list[str]:
    """Everything wrong in one process's talk. `whole`: it went on until the client had nothing more to ask, so that all was answered."""
    talk = _Talk(set(judged))
    for one in said:
        talk.hear(one)
    if whole:
        for (side, id), (method, _) in talk.open.items():
            talk.blame("agent" if side == "client" else "client", f"{method} ({id!r}) was not answered")
    return talk.faults


def tape_faults(path: Path, *, judged: Iterable[str] = ("agent", "client"), whole: bool = True) -> list[str]:
    return [fault for said in processes(tape(path)) for fault in faults(said, judged=judged, whole=whole)]
