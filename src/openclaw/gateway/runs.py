"""Runs that go on whether anybody watches or not: begun over HTTP, watched from any event on, cancelled by their id.

Owns the runs of this gateway and the last events of each. A run is begun once for each id that a caller made up, however often it asks; it
ends by itself, by `cancel` or with the gateway, never because a watcher left. Pieces of text that come in quick succession are one event.
What was said is in the session store; what is kept here is for those who come back soon, and gone some minutes after the end.
"""

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec

from openclaw.agent.events import Event, RunEnd, Sink
from openclaw.content import Usage, to_json
from openclaw.errors import OpenClawError, UsageError
from openclaw.event_hub import EventHub
from openclaw.gateway.run_directory import OwnDirectory, RunDirectory
from openclaw.gateway.run_events import run_event
from openclaw.redact import redact
from openclaw.reply import Reply
from openclaw.run_state import RunState
from openclaw.security.unframe import Unframer
from openclaw.to_the_end import to_the_end

_log = logging.getLogger(__name__)

# Events of one run that are kept, and their bytes: pictures of tools are among them.
KEPT_EVENTS = 2_000
KEPT_BYTES = 16 * 1024 * 1024
# Seconds that a run is remembered after its end.
KEPT_SECONDS = 600.0
# Runs that are remembered; the oldest that have ended go first.
KEPT_RUNS = 1_000
# Runs at the same time: each may keep a model and servers busy.
MOST_RUNS = 64
# Seconds within which pieces of text become one event: twenty a second are more than anybody reads.
FOLDING = 0.05
_LONGEST_ID = 64


class RunChanged(msgspec.Struct, frozen=True):
    """A run has begun, or is over: `reason` is empty while it goes on."""

    run: str
    agent: str
    session: str
    reason: str = ""


class TooManyRunsError(OpenClawError):
    pass


class BegunBeforeError(OpenClawError):
    """Another gateway has a run of this id, or had one; `state` says how it stands."""

    def __init__(self, state: RunState) -> None:
        super().__init__("A run of this id was begun before.")
        self.state = state


class RunEvent(msgspec.Struct, frozen=True):
    """`seq` counts from 1 within a run. `body` is the event's data as JSON."""

    seq: int
    kind: str
    body: bytes


class Run:
    """One message to an agent and what comes of it. `session` is the whole key, known from the start."""

    def __init__(self, id: str, agent: str, session: str) -> None:
        self.id = id
        self.agent = agent
        self.session = session
        self.began = time.time()
        self.ended: float | None = None
        self.reason = ""
        self.task: asyncio.Task[None] | None = None
        self._events: deque[RunEvent] = deque()
        self._bytes = 0
        self._last = 0
        self._folding: tuple[str, list[str]] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._changed = asyncio.Event()
        self._unframer = Unframer()

    @property
    def is_over(self) -> bool:
        return self.ended is not None

    @property
    def last(self) -> int:
        """The number of the newest event."""
        return self._last

    def take(self, event: Event) -> None:
        """The sink of the run."""
        kind, data = run_event(event)
        if kind == "text":
            # What a model repeats of a frame is told without it.
            self._fold(kind, self._unframer.feed(data["delta"]))
        elif kind == "reasoning":
            self._fold(kind, data["delta"])
        else:
            self._fold("text", self._unframer.end())
            self.add(kind, data)

    def _fold(self, kind: str, text: str) -> None:
        if not text:
            return
        if self._folding is not None and self._folding[0] != kind:
            self._unfold()
        if self._folding is None:
            self._folding = (kind, [])
            self._timer = asyncio.get_running_loop().call_later(FOLDING, self._unfold)
        self._folding[1].append(text)

    def _unfold(self) -> None:
        folding, self._folding = self._folding, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if folding is not None:
            self._append(folding[0], {"delta": "".join(folding[1])})

    def add(self, kind: str, data: dict[str, Any]) -> None:
        """An event behind all that has come."""
        self._unfold()
        self._append(kind, data)

    def _append(self, kind: str, data: dict[str, Any]) -> None:
        self._last += 1
        event = RunEvent(self._last, kind, to_json({"at": round(time.time(), 3), **data}))
        self._events.append(event)
        self._bytes += len(event.body)
        # The newest always stays, whatever its size.
        while len(self._events) > KEPT_EVENTS or (self._bytes > KEPT_BYTES and len(self._events) > 1):
            self._bytes -= len(self._events.popleft().body)
        self._wake()

    def end(self, reason: str) -> None:
        self._unfold()
        self.reason = reason
        self.ended = time.time()
        self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def events(self, after: int, patience: float) -> AsyncIterator[RunEvent | None]:
        """Events after the one of this number, to the end of the run; None when nothing came for so many seconds.

        The first is `gap` when some are no longer kept: whoever watches reads the session then.
        """
        while True:
            oldest = self._events[0].seq if self._events else self._last + 1
            if after + 1 < oldest:
                yield RunEvent(oldest - 1, "gap", to_json({"missed": oldest - 1 - after}))
                after = oldest - 1
            changed = self._changed
            for event in [one for one in self._events if one.seq > after]:
                yield event
                after = event.seq
            if changed is not self._changed:
                continue
            if self.is_over:
                return
            try:
                async with asyncio.timeout(patience):
                    await changed.wait()
            except TimeoutError:
                yield None

    def state(self) -> RunState:
        return RunState(
            run=self.id,
            agent=self.agent,
            session_key=self.session,
            state="over" if self.is_over else "running",
            reason=self.reason,
            last_event=self._last,
            began_at=round(self.began, 3),
        )


# What a run does: it is given the sink, and answers with the reply. Raises OpenClawError.
Work = Callable[[Sink], Awaitable[Reply]]


class Runs:
    """All runs of a gateway. `events` is told when one begins or ends, and `directory` the other gateways."""

    def __init__(self, events: EventHub, directory: RunDirectory | None = None) -> None:
        self._events = events
        self.directory = OwnDirectory() if directory is None else directory
        self.directory.on_cancel(self._cancel_named)
        self._runs: dict[str, Run] = {}

    async def begin(self, id: str, agent: str, session: str, work: Work, *, said: dict[str, Any]) -> Run:
        """Start a run with what is said in it; the one that has this id already is given back. Raises UsageError for an id nobody should
        use, BegunBeforeError when another gateway has it, StoreError when nobody knows."""
        if len(id) > _LONGEST_ID or not all(one.isalnum() or one in "-_" for one in id) or not id.isascii():
            raise UsageError(f"The id of a run is at most {_LONGEST_ID} letters, digits, `-` and `_`.")
        # To its end also when whoever asked leaves meanwhile: others are told of a run here, which then has to be one.
        return await to_the_end(self._begun(id or secrets.token_urlsafe(12), agent, session, work, said))

    async def _begun(self, id: str, agent: str, session: str, work: Work, said: dict[str, Any]) -> Run:
        if (found := self.find(id)) is not None:
            return found
        if self.under_way >= MOST_RUNS:
            raise TooManyRunsError(f"{MOST_RUNS} runs are under way already.", hint="Wait for one to end.")
        run = Run(id, agent, session)
        before = await self.directory.claim(run.state())
        if before is not None:
            if (found := self.find(run.id)) is not None:
                # Asked for twice at the same time.
                return found
            raise BegunBeforeError(before)
        # What somebody says is in the store when the model has answered; who comes before that sees it here.
        run.add("said", said)
        self._runs[run.id] = run
        self._events.send(RunChanged(run.id, agent, session))
        run.task = asyncio.get_running_loop().create_task(self._carry_out(run, work), name=f"run-{run.id}")
        run.task.add_done_callback(lambda task: self._end(run, "cancelled", has_said_so=False))
        return run

    def find(self, id: str) -> Run | None:
        self._forget()
        return self._runs.get(id)

    def all(self, session: str = "") -> list[Run]:
        """The runs that are known, newest first; those of one session when it is named."""
        self._forget()
        return [run for run in reversed(self._runs.values()) if not session or run.session == session]

    async def states(self, session: str = "") -> list[RunState]:
        """How those stand that are known, here and at other gateways. Raises StoreError."""
        return [*(run.state() for run in self.all(session)), *await self.directory.others(session)]

    def cancel(self, run: Run) -> None:
        """End a run that goes on. It is over when its events say so."""
        if run.task is not None and not run.is_over:
            run.task.cancel()

    def _cancel_named(self, id: str) -> None:
        if (run := self._runs.get(id)) is not None:
            self.cancel(run)

    @property
    def under_way(self) -> int:
        return sum(not run.is_over for run in self._runs.values())

    async def finish(self, patience: float) -> None:
        """Wait for the runs that go on, then end those that still do."""
        tasks = [run.task for run in self._runs.values() if run.task is not None and not run.task.done()]
        if tasks:
            await asyncio.wait(tasks, timeout=patience)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry_out(self, run: Run, work: Work) -> None:
        seen = _Seen(run.take)
        reason, error = "error", ""
        try:
            reply = await work(seen)
            reason, error = reply.reason, reply.error
        except asyncio.CancelledError:
            reason = "cancelled"
            raise
        except OpenClawError as failure:
            error = str(failure)
        except Exception as fault:
            # A fault of ours: the traceback is for the log.
            error = f"An internal error ({type(fault).__name__}); the gateway's log says more."
            _log.error("A run failed by the gateway's own fault: %s", type(fault).__name__)
            _log.debug("the run failed", exc_info=fault)
        finally:
            self._end(run, reason, error, has_said_so=seen.has_ended)

    def _end(self, run: Run, reason: str, error: str = "", *, has_said_so: bool) -> None:
        """Once: also of a run that was ended before its task took the first step."""
        if run.is_over:
            return
        if not has_said_so:
            _, data = run_event(RunEnd("cancelled" if reason == "cancelled" else "error", Usage(), redact(error)))
            run.add("ended", data)
        run.end(reason)
        self.directory.over(run.state())
        self._events.send(RunChanged(run.id, run.agent, run.session, reason))

    def _forget(self) -> None:
        """Those that ended a while ago, and the oldest of too many."""
        now = time.time()
        over = [run for run in self._runs.values() if run.ended is not None]
        surplus = len(self._runs) - KEPT_RUNS
        for place, run in enumerate(over):
            if place < surplus or now - (run.ended or now) > KEPT_SECONDS:
                del self._runs[run.id]


class _Seen:
    """Passes events on, and knows whether the run said that it is over."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.has_ended = False

    def __call__(self, event: Event) -> None:
        self.has_ended = self.has_ended or isinstance(event, RunEnd)
        self._sink(event)
