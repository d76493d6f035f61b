"""One agent: its settings, and the parts it was given, around the loop.

Owns what a turn is: the session's history, made valid → compaction → the loop → every message written as it comes. The user's
message is written together with the first thing said in reply, so that a model that cannot be reached leaves nothing behind. Which
provider, which tool sources, which policy and which store it uses is decided by app.py; the loop itself is loop.py.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import date
from pathlib import Path

import msgspec

from openclaw.agent.compaction import (
    SMALLEST_WINDOW,
    WINDOW,
    Budget,
    Compaction,
    compact,
    compact_now,
    estimate,
    overhead,
    written_summary,
)
from openclaw.agent.deferral import Offer, SearchSettings, left_behind, most_used
from openclaw.agent.events import Compacted, Event, Notice, Sink
from openclaw.agent.loop import MAX_TURNS, PARALLEL_CALLS, RunOutcome, RunRequest, run
from openclaw.agent.prompt import PromptParts, system_prompt
from openclaw.agent.tool_search import SearchTools, ToolSearch
from openclaw.content import Message, ToolCall, UserMessage
from openclaw.conversation import Conversation, Declined, ask_to_sign_in
from openclaw.errors import SessionBusyError
from openclaw.models.provider import ProviderStream
from openclaw.security.frame_ids import steady_ids
from openclaw.security.policy import LONG_LIST, Decision, ToolRef
from openclaw.sessions.lock import FOREVER
from openclaw.sessions.store import Store
from openclaw.sessions.turn import ANSWER, USED, Turn
from openclaw.tool import (
    Absence,
    ContextSource,
    Invocation,
    OriginSource,
    OwnWords,
    Tool,
    ToolResult,
    ToolSource,
)
from openclaw.tools.invoke import Invoke, PolicyDecide

# Seconds after which somebody who waits for a session wants to know why nothing happens.
TOLD_AFTER = 0.5
_HELD = "Another window is in the middle of a turn of this conversation; this waits until it has ended."


def _unseen(event: Event) -> None:
    return None


class Settings(msgspec.Struct, frozen=True):
    """What one agent is. `window` is the model's context in tokens; `summaries` is false for a model that cannot write one."""

    id: str
    model: str
    workspace: Path
    name: str = ""
    instructions: str = ""
    window: int = WINDOW
    max_tokens: int | None = None
    max_turns: int = MAX_TURNS
    parallel_calls: int = PARALLEL_CALLS
    summaries: bool = True
    search: SearchSettings = SearchSettings()


class AgentDependencies(msgspec.Struct, frozen=True):
    """What an agent works with. `invoke` makes every call. `policy_decide` and `admitted` are the rules of now, for one tool and for a list
    of them; without `admitted` each tool of a list is decided about by itself. `skills` is the skills section of the prompt; sources come
    in the order models see them. `search` keeps what is known of them for searching, from one turn to the next. With `frame_key`, frames in
    the prompt that say the same have the same ids, in whichever process."""

    provider_stream: ProviderStream
    store: Store
    sources: Sequence[ToolSource]
    policy_decide: PolicyDecide
    invoke: Invoke
    clock: Callable[[], float]
    today: Callable[[], date]
    admitted: Callable[[Sequence[Tool], str], Mapping[str, Tool]] | None = None
    contexts: Sequence[ContextSource] = ()
    skills: str = ""
    search: ToolSearch = msgspec.field(default_factory=ToolSearch)
    frame_key: bytes = b""


class Agent(msgspec.Struct, frozen=True):
    settings: Settings
    dependencies: AgentDependencies

    def tools(self) -> tuple[Tool, ...]:
        """What the model is offered now: every source's tools that policy admits. Of two with one name the first counts."""
        short, long = self._admitted()
        return (*short.values(), *long.values())

    def offer(self, used: Sequence[str] = ()) -> Offer:
        """What of its tools the model is shown now, and what it has to find. `used` are those that the conversation used most."""
        short, long = self._admitted()
        settings = self.settings
        return self.dependencies.search.offer([*short.values()], settings.search, settings.window, used, long)

    def _admitted(self) -> tuple[Mapping[str, Tool], Mapping[str, Tool]]:
        """The tools by name: those of sources that have some, and of the first that has very many, which are the same object for as long
        as they are the same tools."""
        short: dict[str, Tool] = {}
        long: Mapping[str, Tool] = {}
        for source in self.dependencies.sources:
            found = self._admit(source.tools(self.settings.id))
            if len(found) >= LONG_LIST and not long and found.keys().isdisjoint(short.keys()):
                long = found
            else:
                short |= {name: tool for name, tool in found.items() if name not in short and name not in long}
        return short, long

    def _admit(self, tools: Sequence[Tool]) -> Mapping[str, Tool]:
        agent, admitted = self.settings.id, self.dependencies.admitted
        if admitted is not None:
            return admitted(tools, agent)
        allowed = (tool for tool in tools if self.dependencies.policy_decide(tool, agent).allowed)
        found: dict[str, Tool] = {}
        for tool in allowed:
            found.setdefault(tool.name, tool)
        return found

    def origins(self) -> dict[str, str]:
        """The first words of what servers say of themselves."""
        sources = [source for source in self.dependencies.sources if isinstance(source, OriginSource)]
        return {name: words for source in sources for name, words in source.origins(self.settings.id).items()}

    def absences(self) -> tuple[Absence, ...]:
        """Why a tool is missing: what the sources say, and what policy hides."""
        agent = self.settings.id
        told = [absence for source in self.dependencies.sources for absence in source.absences(agent)]
        known = [tool for source in self.dependencies.sources for tool in source.tools(agent)]
        decided = [(tool.name, self.dependencies.policy_decide(tool, agent)) for tool in known]
        return (*told, *(_denied(name, decision) for name, decision in decided if not decision.allowed))

    def absence(self, name: str) -> Absence | None:
        """Why there is no tool of that name; None when nobody knows. A rule against it goes before a sign-in, which would not help."""
        found = [absence for absence in self.absences() if absence.covers(name)]
        behind = next((absence for absence in found if absence.sign_in), None)
        if behind is None:
            return found[0] if found else None
        decision = self.dependencies.policy_decide(ToolRef(name, "mcp", behind.sign_in), self.settings.id)
        return behind if decision.allowed else _denied(name, decision)

    async def turn(
        self,
        message: UserMessage,
        conversation: Conversation,
        *,
        deadline: float | None = None,
        spent: float = 0.0,
        label: str = "",
        settled: Callable[[], None] = lambda: None,
    ) -> RunOutcome:
        """Answer `message` in the session of `conversation`. Waits for the session's turn before, and with the conversation's patience for
        tools still being found.

        `label` is noted behind the answer in the store, for a surface that wants to find it again. `settled` is called when that wait is
        over: the tools of that moment are those that the model gets.

        `deadline` is seconds for all of it, of which `spent` are gone already. Raises SessionBusyError when they are over before the
        session is free, StoreError when the session cannot be read or written, and CancelledError after the transcript is closed.
        """
        agent, began = self.settings.id, self.dependencies.clock() - spent
        conversation = msgspec.structs.replace(
            conversation,
            agent=agent,
            workspace=self.settings.workspace,
            written=[],
            granted=[],
            declined=Declined(),
        )
        sink: Sink = conversation.sink or _unseen
        patience = math.inf if conversation.patience is None else conversation.patience

        def left() -> float:
            return FOREVER if deadline is None else max(0.0, deadline - (self.dependencies.clock() - began))

        async with self._taken(conversation.session, deadline, left(), sink) as stored:
            known = min(patience, left())
            await asyncio.gather(*(source.settle(agent, known) for source in self.dependencies.sources))
            settled()
            used = most_used(_used(stored))
            offer = self.offer(used)
            system = self.system_prompt(offer)
            of_prompt = [told for part in self.dependencies.contexts for told in part.foreign(agent)]
            _recall(conversation, stored, message, of_prompt)
            turn = _TurnHost(self, conversation, stored, message, system, sink, self.settings.window, used, offer)
            outcome = await run(
                RunRequest(
                    conversation,
                    model=self.settings.model,
                    system=turn.system,
                    messages=[*stored.paired(), message],
                    max_turns=self.settings.max_turns,
                    deadline=deadline,
                    spent=self.dependencies.clock() - began,
                    max_tokens=self.settings.max_tokens,
                    parallel_calls=self.settings.parallel_calls,
                    window=self.settings.window,
                ),
                provider_stream=self.dependencies.provider_stream,
                offer=turn.offer,
                usable=self.tools,
                call_tool=turn.call,
                sink=sink,
                clock=self.dependencies.clock,
                on_message=turn.write,
                prepare=turn.prepare,
                shorten=turn.shorten,
            )
            if label and outcome.reason != "error":
                stored.note(ANSWER, label)
            return outcome

    async def compact(self, session_key: str) -> Compacted | None:
        """Let notes take the place of the older part of a session now; None when it has none. Raises StoreError."""
        async with self._taken(session_key, None, FOREVER, _unseen) as stored:
            messages, budget = stored.paired(), Budget(self.settings.window)
            done = await compact_now(messages, budget, self.summarise)
            if done is None:
                return None
            self.shorten(stored, messages, done)
            return Compacted(done.dropped, done.summary)

    def shorten(self, stored: Turn, messages: Sequence[Message], done: Compaction) -> Compaction:
        """Keep a shortened conversation. Which tools were called in the part that is gone stays known, when tools have to be found."""
        counts = left_behind(_used(stored), messages, done.kept)
        named = self.dependencies.search.used_line(counts)
        if named and done.summary:
            done = msgspec.structs.replace(done, summary=f"{done.summary}\n\n{named}")
        stored.compact(done.summary, done.kept)
        if counts:
            stored.note(USED, counts)
        return done

    async def summarise(self, messages: Sequence[Message]) -> str:
        settings = self.settings
        if not settings.summaries:
            return ""
        return await written_summary(messages, settings.model, settings.window, self.dependencies.provider_stream)

    @asynccontextmanager
    async def _taken(self, session_key: str, deadline: float | None, left: float, sink: Sink) -> AsyncIterator[Turn]:
        """The session, when it is this turn's; whoever waits for it is told so. Raises SessionBusyError when that takes longer than the
        time there is."""
        async with AsyncExitStack() as stack:
            told = asyncio.get_running_loop().call_later(TOLD_AFTER, sink, Notice(_HELD, "held"))
            try:
                waiting = self.dependencies.store.turn(session_key, self.settings.id, patience=left)
                stored = await stack.enter_async_context(waiting)
            except SessionBusyError:
                # Told of the whole time, of which some may have gone by before.
                raise SessionBusyError(left if deadline is None else deadline) from None
            finally:
                told.cancel()
            yield stored

    def system_prompt(self, offer: Offer | None = None) -> str:
        contexts = [source.context(self.settings.id) for source in self.dependencies.contexts]
        if offer is not None and offer.deferred:
            contexts.append(self.dependencies.search.prompt(offer, self.origins()))
        prompt = system_prompt(
            PromptParts(
                name=self.settings.name or self.settings.id,
                workspace=self.settings.workspace,
                today=self.dependencies.today(),
                instructions=self.settings.instructions,
                skills=self.dependencies.skills,
                contexts=contexts,
            )
        )
        key = self.dependencies.frame_key
        return steady_ids(prompt, key) if key else prompt


def _recall(
    conversation: Conversation, stored: Turn, message: UserMessage, of_prompt: Sequence[tuple[str, str]]
) -> None:
    """Let the conversation know what was read, written and approved before, and what is from its first word on."""
    read = stored.read()
    read.add(message)
    for source in (*stored.foreign, *read.media):
        conversation.foreign.add(source)
    for source, text in of_prompt:
        read.add_foreign(source, text)
    conversation.foreign.recall(read.foreign, read.sources, read.length)
    if not read.is_whole:
        conversation.foreign.lose()
    conversation.written.extend(read.written)
    conversation.granted.extend(stored.granted)


def _used(stored: Turn) -> dict[str, int]:
    """How often tools were called in the part of a conversation that was left out."""
    noted = stored.noted(USED)
    return {name: times for name, times in noted.items() if isinstance(times, int)} if isinstance(noted, dict) else {}


def _denied(name: str, decision: Decision) -> Absence:
    return Absence(name, OwnWords(decision.rule), decision.where)


class _TurnHost(msgspec.Struct):
    """What the loop calls back into during one turn."""

    agent: Agent
    conversation: Conversation
    stored: Turn
    message: UserMessage
    system: str
    sink: Sink
    window: int
    used: Sequence[str]
    # Without the tools for searching: what is shown of the agent's own, and what has to be found.
    given: Offer
    shown: dict[str, Tool] = msgspec.field(default_factory=dict)
    finder: SearchTools | None = None
    begun: bool = False

    def offer(self) -> Offer:
        self.given = self.agent.offer(self.used)
        if not self.given.deferred:
            self.finder, shown = None, self.given.shown
        else:
            self.finder = SearchTools(self.agent.dependencies.search, self.given, self.agent.origins())
            shown = (*self.given.shown, *self.finder.tools())
        self.shown = {tool.name: tool for tool in shown}
        return Offer(shown, self.given.deferred)

    async def call(self, call: ToolCall, invocation: Invocation) -> ToolResult:
        tool = self.shown.get(call.name)
        if tool is None:
            # A model may know its name from before, or from a search.
            tool = self.given.deferred.get(call.name) or await self.behind_sign_in(call.name, invocation)
            invocation = msgspec.structs.replace(invocation, is_shown=False)
        if tool is None:
            likely = self.shown if self.finder is None else self.finder.nearest(call.name)
            return self.agent.dependencies.invoke.unknown(call, invocation, likely, self.agent.absence(call.name))
        return await self.agent.dependencies.invoke(tool, call, invocation)

    async def behind_sign_in(self, name: str, invocation: Invocation) -> Tool | None:
        """A tool that may be there once the person has signed in to its server, if they do."""
        absence, asker, clock = self.agent.absence(name), invocation.conversation.asker, self.agent.dependencies.clock
        if absence is None or not absence.sign_in:
            return None
        if not await ask_to_sign_in(asker, absence.sign_in, since=clock(), call=invocation.call_id):
            return None
        return next((tool for tool in self.agent.tools() if tool.name == name), None)

    async def write(self, message: Message) -> None:
        self.begin()
        self.stored.append(message)
        # With the result that came from there: none is read without it.
        self.stored.note_foreign(self.conversation.foreign)
        self.stored.note_granted(self.conversation.granted)
        await self.stored.commit()

    def begin(self) -> None:
        if not self.begun:
            self.stored.append(self.message)
            self.begun = True

    def budget(self) -> Budget:
        return Budget(self.window, overhead(self.system, self.given.shown))

    async def shorten(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The vendor counts more tokens than we do: for the rest of the turn the window is smaller by as much."""
        size = estimate(messages)
        while self.window > SMALLEST_WINDOW and size <= self.budget().limit:
            self.window //= 2
        return await self.prepare(messages)

    async def prepare(self, messages: Sequence[Message]) -> Sequence[Message]:
        budget = self.budget()
        done = await compact(messages, budget, self.agent.summarise)
        if done is None:
            return messages
        self.begin()
        done = self.agent.shorten(self.stored, messages, done)
        await self.stored.commit()
        self.sink(Compacted(done.dropped, done.summary))
        return done.messages
