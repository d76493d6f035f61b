"""A stage for the real loop: a model that plays a script, tools that are plain functions, and everything that happened, in order."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openclaw.agent.deferral import Offer
from openclaw.agent.events import Event, ToolEnd
from openclaw.agent.loop import Prepare, RunOutcome, RunRequest, run
from openclaw.content import Message, Text, ToolCall, Usage, UserMessage
from openclaw.conversation import Asker, Conversation, Nobody
from openclaw.models.provider import Done, ModelEvent, ModelRequest, TextDelta, ToolCallEnd
from openclaw.security.audit import AuditEntry
from openclaw.security.policy import Decision
from openclaw.tool import Invocation, Tool, ToolResult, parameters
from openclaw.tools.invoke import Audit, Invoke, PolicyDecide
from openclaw.tools.running import RunningCalls

# One turn of the model: events to stream, or an event to wait for ("the model hangs here").
Turn = Sequence[ModelEvent | asyncio.Event]


NO_USAGE = Usage()


def says(text: str, usage: Usage = NO_USAGE) -> list[ModelEvent]:
    return [TextDelta(text), Done("end", usage)]


def calls(*wanted: ToolCall, text: str = "") -> list[ModelEvent]:
    opening: list[ModelEvent] = [TextDelta(text)] if text else []
    return [*opening, *(ToolCallEnd(index, call) for index, call in enumerate(wanted)), Done("tools")]


def ends(events: Sequence[Event]) -> list[ToolEnd]:
    """The calls of a run, in the order in which they ended."""
    return [event for event in events if isinstance(event, ToolEnd)]


def user(text: str) -> UserMessage:
    return UserMessage((Text(text),))


def tool(name: str, run: Callable[[dict[str, Any], Invocation], Awaitable[ToolResult]], **options: Any) -> Tool:
    schema = options.pop("schema", {"type": "object"})
    return Tool(name, f"The {name} tool.", parameters(schema), run, **options)


def result(text: str) -> ToolResult:
    return ToolResult((Text(text),))


async def echo(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
    return result(f"echo {arguments.get('text', '')}")


@dataclass
class Script:
    """A provider that plays one turn after another and remembers what it was asked."""

    turns: list[Turn]
    requests: list[ModelRequest] = field(default_factory=list)
    name: str = "script"
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    closed: int = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        # A request shares the loop's list of messages; what it held at the time is what counts.
        self.requests.append(
            ModelRequest(
                request.model,
                request.system,
                tuple(request.messages),
                tuple(request.tools),
                deferred=request.deferred,
            )
        )
        try:
            for event in self.turns[len(self.requests) - 1]:
                if isinstance(event, asyncio.Event):
                    self.waiting.set()
                    await event.wait()
                else:
                    yield event
        finally:
            self.closed += 1

    async def close(self) -> None:
        return None


ALLOWED = Decision(allowed=True, rule="allowed")


def refused(rule: str) -> Decision:
    return Decision(allowed=False, rule=rule)


@dataclass
class Trail:
    """An audit that keeps each call and how it ended."""

    lines: list[tuple[str, str]] = field(default_factory=list)

    def asked(self, entry: AuditEntry, decision: Decision) -> None:
        return None

    def ended(self, entry: AuditEntry, outcome: str, seconds: float, *, result_bytes: int | None = None) -> None:
        self.lines.append((entry.call.name, outcome))


def invoking(decide: PolicyDecide = lambda tool, agent: ALLOWED, audit: Audit | None = None) -> Invoke:
    """The stack of a call, with a clock that stands still."""
    return Invoke(policy_decide=decide, audit=audit or Trail(), clock=lambda: 0.0, running=RunningCalls())


@dataclass
class Stage:
    workspace: Path
    tools: list[Tool] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    recorded: list[Message] = field(default_factory=list)
    audited: list[tuple[str, str]] = field(default_factory=list)
    decide: PolicyDecide = lambda tool, agent: ALLOWED
    on_event: Callable[[Event], None] = lambda event: None
    asker: Asker = field(default_factory=Nobody)
    clock: Callable[[], float] = lambda: 0.0
    caught_up: Callable[[], Awaitable[None]] | None = None

    def sink(self, event: Event) -> None:
        self.events.append(event)
        self.on_event(event)

    async def record(self, message: Message) -> None:
        self.recorded.append(message)

    async def invoke(self, call: ToolCall, invocation: Invocation) -> ToolResult:
        found = next((tool for tool in self.tools if tool.name == call.name), None)
        invoke = invoking(self.decide, Trail(self.audited))
        if found is None:
            return invoke.unknown(call, invocation, [tool.name for tool in self.tools], None)
        return await invoke(found, call, invocation)

    async def run(
        self,
        model: Script,
        *messages: Message,
        prepare: Prepare | None = None,
        shorten: Prepare | None = None,
        **options: Any,
    ) -> RunOutcome:
        request = RunRequest(
            Conversation(
                "main", "agent:main:test", workspace=self.workspace, asker=self.asker, caught_up=self.caught_up
            ),
            model="script/one",
            system="Be brief.",
            messages=messages or (user("Go."),),
            **options,
        )
        given = {"prepare": prepare, "shorten": shorten}
        extra: dict[str, Any] = {name: function for name, function in given.items() if function}
        return await run(
            request,
            provider_stream=model.stream,
            offer=lambda: Offer(tuple(self.tools)),
            call_tool=self.invoke,
            sink=self.sink,
            clock=self.clock,
            on_message=self.record,
            **extra,
        )
