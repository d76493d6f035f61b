"""The agent loop, a function: model → tools → model, until the model stops, a turn limit, a deadline, a person who declines, or a cancel.

Owns the order of events, which calls run side by side (one that waits for a person takes nobody's place, and the run's time stands still
meanwhile), and the promise that the transcript stays valid however a run ends: each message is handed to `on_message` as soon as it is
whole, and every tool call gets a result. Opens nothing: the model, the tools, the call of a tool, the event sink and the clock are
arguments. Tool errors never end a run; a model error ends it as a value. Raises CancelledError when cancelled, after the transcript is
closed, and what `on_message` raises. Next: draft.py (one answer being collected), agent.py (what is passed in).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import msgspec

from openclaw.agent.deferral import Offer
from openclaw.agent.draft import Draft
from openclaw.agent.events import (
    MessageEnd,
    Notice,
    ReasoningDelta,
    RunEnd,
    RunReason,
    RunStart,
    Sink,
    TextDelta,
    ToolEnd,
    ToolProgress,
    ToolStart,
    TurnStart,
)
from openclaw.agent.tool_search import direct_calls
from openclaw.agent.transcript import answer, unanswered
from openclaw.content import AssistantMessage, Message, ToolCall, Usage
from openclaw.conversation import MOST_DECLINED, Conversation, Nobody
from openclaw.errors import OpenClawError
from openclaw.models import provider
from openclaw.models.provider import Done, ModelEvent, ModelRequest, ProviderStream
from openclaw.standstill import PausingAsker, Standstill
from openclaw.to_the_end import ended
from openclaw.tool import Invocation, Tool, ToolResult

_log = logging.getLogger(__name__)

# Model calls in one run. Long enough for real work, short enough that a model going in circles costs little.
MAX_TURNS = 50
# Calls of one message that run at once. Servers have their own, higher limits; this one is for processes and files.
PARALLEL_CALLS = 8

# Makes a call by the name the model gave. What belongs to a call is in tools/invoke.py.
CallTool = Callable[[ToolCall, Invocation], Awaitable[ToolResult]]
OnMessage = Callable[[Message], Awaitable[None]]
# Compaction: gets the messages about to be sent, and returns what to send, and to go on from, instead.
Prepare = Callable[[Sequence[Message]], Awaitable[Sequence[Message]]]


class RunRequest(msgspec.Struct, frozen=True):
    """`messages` ends with what the user said. `deadline` is seconds for the whole run, `spent` how many of them are over.

    `conversation` names the agent and the session, and is handed to every call.
    """

    conversation: Conversation
    model: str
    system: str
    messages: Sequence[Message]
    max_turns: int = MAX_TURNS
    deadline: float | None = None
    spent: float = 0.0
    max_tokens: int | None = None
    parallel_calls: int = PARALLEL_CALLS
    # Tokens that the model can take in, for whoever watches.
    window: int = 0


class RunOutcome(msgspec.Struct, frozen=True):
    """How a run ended and what it produced. `error` is a sentence whenever the reason is not `done`."""

    reason: RunReason
    messages: tuple[Message, ...]
    usage: Usage
    error: str = ""

    @property
    def text(self) -> str:
        """What the model said last."""
        last = next((m for m in reversed(self.messages) if isinstance(m, AssistantMessage)), None)
        return last.text if last else ""


async def _unchanged(messages: Sequence[Message]) -> Sequence[Message]:
    return messages


async def _forget(message: Message) -> None:
    return None


async def run(
    request: RunRequest,
    *,
    provider_stream: ProviderStream,
    offer: Callable[[], Offer],
    call_tool: CallTool,
    sink: Sink,
    clock: Callable[[], float],
    usable: Callable[[], Sequence[Tool]] = tuple,
    on_message: OnMessage = _forget,
    prepare: Prepare = _unchanged,
    shorten: Prepare = _unchanged,
) -> RunOutcome:
    """Run until it ends. `offer` is asked before each model call: servers come and go meanwhile. `usable` are the tools that code of the
    model may call, shown or not.

    `prepare` sees the messages before each model call; `shorten` when the vendor says they were too long all the same.
    """
    room = asyncio.Semaphore(request.parallel_calls)
    messages = list(request.messages)
    state = _Run(
        request,
        provider_stream,
        offer,
        usable,
        call_tool,
        sink,
        clock,
        on_message,
        prepare,
        shorten,
        messages,
        room,
    )
    sink(RunStart(request.conversation.agent, request.model, request.conversation.session, request.window))
    try:
        reason, error = await _within(request, state)
    except asyncio.CancelledError:
        try:
            await _recorded(state.close_quietly("The call was cancelled."))
        finally:
            sink(RunEnd("cancelled", state.usage))
        raise
    except Exception as fault:
        sink(RunEnd("error", state.usage, str(fault)))
        raise
    sink(RunEnd(reason, state.usage, error))
    return RunOutcome(reason, tuple(state.produced), state.usage, error)


class _Run(msgspec.Struct):
    """One run while it goes on. `messages` is what the model sees, `produced` what this run added."""

    request: RunRequest
    provider_stream: ProviderStream
    offer: Callable[[], Offer]
    usable: Callable[[], Sequence[Tool]]
    call_tool: CallTool
    sink: Sink
    clock: Callable[[], float]
    on_message: OnMessage
    prepare: Prepare
    shorten: Prepare
    messages: list[Message]
    room: asyncio.Semaphore
    produced: list[Message] = msgspec.field(default_factory=list)
    usage: Usage = Usage()
    draft: Draft | None = None
    # Of all calls that the model was told of, once somebody has asked for them.
    ids: set[str] | None = None
    started: dict[str, float] = msgspec.field(default_factory=dict)
    ended: dict[str, ToolEnd] = msgspec.field(default_factory=dict)
    time: Standstill | None = None

    async def turns(self, time: Standstill) -> tuple[RunReason, str]:
        self.time = time
        for number in range(1, self.request.max_turns + 1):
            self.messages = list(await self.prepare(self.messages))
            self.sink(TurnStart(number))
            offered = self.offer()
            message, done = await self.ask(offered)
            calls = message.tool_calls
            if message.content:
                await self.record(message)
            else:
                self.sink(MessageEnd(message, final=True))
            if not calls:
                return self.verdict(message, done)
            await self.call_all(calls, offered.labels(call.name for call in calls))
            if self.request.conversation.declined.is_enough:
                return "declined", f"The turn was ended: {MOST_DECLINED} calls in a row were declined."
        return "turn-limit", f"The run was stopped after {self.request.max_turns} model calls."

    async def ask(self, offered: Offer) -> tuple[AssistantMessage, Done]:
        """One answer; when the vendor says the conversation was too long after all, one more try with a shorter one."""
        message, done = await self.model_answer(offered)
        if not done.too_long or message.content:
            return message, done
        shorter = list(await self.shorten(self.messages))
        if shorter == self.messages:
            return message, done
        self.messages = shorter
        return await self.model_answer(offered)

    async def model_answer(self, offered: Offer) -> tuple[AssistantMessage, Done]:
        """One answer of the model. A provider that breaks its contract counts as one that failed."""
        draft = self.draft = Draft(self.used_ids)
        asked = self.request
        stream = self.provider_stream(
            ModelRequest(
                asked.model,
                asked.system,
                self.messages,
                offered.shown,
                asked.max_tokens,
                deferred=offered.deferred,
            )
        )
        done = Done("error", error="The model's answer ended without being complete.")
        try:
            async with aclosing(stream):
                async for event in stream:
                    if isinstance(event, Done):
                        done = event
                        break
                    self.show(event, draft)
                    await self.caught_up()
        except OpenClawError as error:
            # It says itself what failed: the provider, or what the answer is shown on.
            done = Done("error", error=str(error))
        except Exception as error:
            _log.error("the model provider failed", exc_info=error)
            done = Done("error", error=f"The model provider failed: {error}")
        self.draft = None
        self.usage += done.usage
        message = draft.message(done, self.request.model)
        # From here on nobody sees by which way a tool was called that the model had to find.
        return direct_calls(message) if offered.deferred else message, done

    def used_ids(self) -> set[str]:
        if self.ids is None:
            spoken = (m for m in self.messages if isinstance(m, AssistantMessage))
            self.ids = {call.id for message in spoken for call in message.tool_calls}
        return self.ids

    def show(self, event: ModelEvent, draft: Draft) -> None:
        draft.add(event)
        match event:
            case provider.TextDelta(text=text):
                self.sink(TextDelta(text))
            case provider.ReasoningDelta(text=text) if text:
                self.sink(ReasoningDelta(text))
            case provider.Notice(text=text, kind=kind, doing=doing):
                self.sink(Notice(text, kind, doing))
            case _:
                pass

    async def caught_up(self) -> None:
        """Before more is made for whoever watches: they may be behind."""
        if (wait := self.request.conversation.caught_up) is not None:
            await wait()

    def verdict(self, message: AssistantMessage, done: Done) -> tuple[RunReason, str]:
        match done.stop_reason:
            case "error":
                return "error", done.error or "The model failed and gave no reason."
            case "cancelled":
                return "cancelled", done.error or "The model's answer was cancelled."
            case "refused" if not message.text:
                return "error", done.error or "The model declined to answer."
            case "length":
                self.sink(Notice("The answer stops here: the model reached its output limit."))
        return "done", ""

    async def call_all(self, calls: tuple[ToolCall, ...], labels: dict[str, str]) -> None:
        """Run the calls side by side; their results join the transcript in the order of the calls."""
        if len(calls) == 1:
            await self.call(calls[0], labels)
        else:
            async with asyncio.TaskGroup() as group:
                for call in calls:
                    group.create_task(self.call(call, labels))
        for call in calls:
            await self.record(answer(call, self.ended[call.id].result))

    async def call(self, call: ToolCall, labels: dict[str, str]) -> None:
        async with _Slot(self.room, self.clock) as slot:
            await self.caught_up()
            self.started[call.id] = self.clock()
            self.sink(ToolStart(call, labels.get(call.name, "")))
            try:
                result = await self.call_tool(call, self.invocation(call, slot))
            except Exception as error:
                _log.error("calling %s failed", call.name, exc_info=error)
                result = ToolResult.error(f"{call.name} failed: {error}")
            finally:
                # A person's time to think is not the tool's.
                self.started[call.id] += slot.lent_for
            self.end(call, result)

    def invocation(self, call: ToolCall, slot: "_Slot") -> Invocation:
        asker = self.request.conversation.asker
        if not isinstance(asker, Nobody):
            asker = PausingAsker(asker, lambda: self.waiting(slot), clock=self.clock)
        # A tool is told of the conversation, and speaks in it by its result and its progress alone.
        conversation = msgspec.structs.replace(self.request.conversation, sink=None, asker=asker)
        return Invocation(conversation, call.id, self.progress(call), inner=_InnerCalls(self, conversation))

    def progress(self, call: ToolCall) -> Callable[[str], None]:
        return lambda text: self.sink(ToolProgress(call.id, text))

    @asynccontextmanager
    async def waiting(self, slot: "_Slot") -> AsyncIterator[None]:
        """While a person is asked: others may run in this call's place, and the time of the run stands still."""
        assert self.time is not None  # set before the first turn
        async with slot.lent():
            with self.time.waiting():
                yield

    def end(self, call: ToolCall, result: ToolResult) -> None:
        self.ended[call.id] = ToolEnd(call, result, self.clock() - self.started[call.id])
        self.sink(self.ended[call.id])

    async def record(self, message: Message) -> None:
        await _recorded(self.keep(message))

    async def keep(self, message: Message) -> None:
        await self.on_message(message)
        self.messages.append(message)
        self.produced.append(message)
        if isinstance(message, AssistantMessage):
            if self.ids is not None:
                self.ids.update(call.id for call in message.tool_calls)
            self.sink(MessageEnd(message, final=not message.tool_calls))

    async def close(self, why: str) -> None:
        """Make the transcript valid after the run was cut: keep what was said, and give every open call a result."""
        if self.draft is not None:
            message = self.draft.message(Done("cancelled"), self.request.model)
            self.draft = None
            if message.content:
                await self.keep(message)
        for call in unanswered(self.messages):
            ended = self.ended.get(call.id)
            result = ended.result if ended else ToolResult.error(why)
            if ended is None and call.id in self.started:
                self.end(call, result)
            await self.keep(answer(call, result))

    async def close_quietly(self, why: str) -> None:
        """The same when cancelled: a store that fails now must not hide the cancellation."""
        try:
            await self.close(why)
        except Exception as error:
            _log.error("a cancelled run could not be recorded: %s", error)


class _InnerCalls(msgspec.Struct, eq=False):
    """The calls that a call makes: in its place among those that run side by side, each with events of its own, none in the transcript."""

    run: _Run
    # Of the call that makes them: what is asked about them is asked while that call waits.
    conversation: Conversation

    async def tools(self) -> Sequence[Tool]:
        return self.run.usable()

    async def call(self, call: ToolCall, code: str) -> ToolResult:
        run = self.run
        await run.caught_up()
        began = run.clock()
        asker = PausingAsker(self.conversation.asker, clock=run.clock)
        conversation = msgspec.structs.replace(self.conversation, asker=asker, code=code)
        # None makes calls of its own.
        invocation = Invocation(conversation, call.id, run.progress(call))
        label = next((tool.label for tool in run.usable() if tool.name == call.name), "")
        run.sink(ToolStart(call, label))
        result = ToolResult.error("The call was cancelled.")
        try:
            result = await run.call_tool(call, invocation)
        finally:
            run.sink(ToolEnd(call, result, run.clock() - began - asker.waited))
        return result


class _Slot:
    """A call's place among those that run side by side. What a server asks comes by its connection, and may still wait for its answer when
    the call that it belongs to is over."""

    def __init__(self, room: asyncio.Semaphore, clock: Callable[[], float]) -> None:
        self._room = room
        self._clock = clock
        self._is_held = self._is_over = False
        self._lent = 0
        self._lent_since = self._lent_for = 0.0

    @property
    def lent_for(self) -> float:
        """How many seconds others could have it."""
        return self._lent_for + (self._clock() - self._lent_since if self._lent else 0.0)

    async def __aenter__(self) -> "_Slot":
        await self._take()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_over = True
        self._give()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """For others meanwhile. It is waited for again afterwards, but not by a call that was cancelled."""
        self._lent += 1
        if self._lent == 1:
            self._lent_since = self._clock()
        self._give()
        try:
            yield
        finally:
            self._lent -= 1
            if not self._lent:
                self._lent_for += self._clock() - self._lent_since
        if not self._lent and not self._is_over:
            await self._take()

    async def _take(self) -> None:
        await self._room.acquire()
        self._is_held = True

    def _give(self) -> None:
        if self._is_held:
            self._is_held = False
            self._room.release()


async def _within(request: RunRequest, state: _Run) -> tuple[RunReason, str]:
    deadline = request.deadline
    try:
        async with asyncio.timeout(None if deadline is None else deadline - request.spent) as limit:
            return await state.turns(Standstill(limit))
    except TimeoutError:
        if not limit.expired():
            raise
    await _recorded(state.close("The call was stopped: the run's time was over."))
    return "deadline", f"The answer was not complete after {deadline:g} seconds."


async def _recorded(work: Coroutine[Any, Any, None]) -> None:
    """Wait for `work` even when cancelled meanwhile, so that a message is recorded or not, never half. Then be cancelled."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await ended(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            _log.error("a cancelled run could not be recorded: %s", fault)
        raise
