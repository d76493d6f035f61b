"""A turn of an agent against a real session store: what the model sees, and what the session remembers."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from msgspec.structs import replace

from openclaw.agent.agent import Agent, AgentDependencies, Settings
from openclaw.agent.events import Compacted, Event, RunEnd, ToolEnd
from openclaw.agent.loop import RunOutcome
from openclaw.content import AssistantMessage, Image, Message, Text, ToolCall, ToolMessage, Usage, UserMessage
from openclaw.conversation import Answer, Conversation, Question, QuestionKind
from openclaw.errors import StoreError
from openclaw.grant import Grant
from openclaw.models import provider
from openclaw.models.provider import Done
from openclaw.models.transcript import INTERRUPTED
from openclaw.security.foreign import foreign_values
from openclaw.security.policy import Decision, Named
from openclaw.sessions.event import Said
from openclaw.sessions.memory import MemoryStore
from openclaw.sessions.sqlite import SqliteStore
from openclaw.sessions.store import Store
from openclaw.tool import Absence, Invocation, Kind, OwnWords, Tool, ToolResult, parameters
from parts.stage import ALLOWED, Script, Trail, Turn, calls, echo, ends, invoking, refused, result, says, tool, user

KEY = "agent:main:test"


@dataclass
class Source:
    """A part that offers tools, or says why it does not."""

    offered: list[Tool] = field(default_factory=list)
    missing: list[Absence] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)

    def tools(self, agent: str) -> Sequence[Tool]:
        return self.offered

    def absences(self, agent: str) -> Sequence[Absence]:
        return self.missing

    async def settle(self, agent: str, patience: float) -> None:
        self.waited.append(patience)


class Declining:
    """A person who does not sign in."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def can(self, kind: QuestionKind) -> bool:
        return kind == "sign-in"

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question.server)
        return Answer("decline")


class Context:
    """What stands in the prompt besides; `sources` are those whose words it holds."""

    def __init__(self, *sources: str) -> None:
        self._sources = sources

    def context(self, agent: str) -> str:
        return f"<available-mcp-servers agent={agent}>"

    def foreign(self, agent: str) -> list[tuple[str, str]]:
        return [(source, f"words of {source}") for source in self._sources]


@contextmanager
def counted_calls() -> Iterator[list[str]]:
    """The functions that are called meanwhile: what a turn costs, however busy the machine is."""
    called: list[str] = []

    def count(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            called.append(frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield called
    finally:
        sys.setprofile(before)


@dataclass
class OneAgent:
    agent: Agent
    store: Store
    source: Source
    events: list[Event]
    audited: list[tuple[str, str]]

    async def say(self, text: str, patience: float = 0.0, **options: Any) -> RunOutcome:
        conversation = Conversation(session=KEY, patience=patience, sink=self.events.append)
        return await self.agent.turn(user(text), conversation, **options)

    async def remembered(self) -> list[Message]:
        async with self.store.turn(KEY, "main") as turn:
            return turn.history()


@pytest.fixture(params=["memory", "file"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    store: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "sessions.sqlite")
    yield store
    await store.close()


def one_agent(
    store: Store, workspace: Path, model: Script, *tools: Tool, denied: str = "", prompt_of: str = "", **settings: Any
) -> OneAgent:
    events: list[Event] = []
    audited: list[tuple[str, str]] = []
    source = Source(list(tools))

    def decide(tool: Named, agent: str) -> Decision:
        return refused("tools.deny names it") if tool.name == denied else ALLOWED

    parts = AgentDependencies(
        provider_stream=model.stream,
        store=store,
        sources=(source,),
        policy_decide=decide,
        invoke=invoking(decide, Trail(audited)),
        clock=lambda: 0.0,
        today=lambda: date(2026, 3, 4),
        contexts=(Context(*prompt_of.split()),),
        skills="<available_skills/>",
    )
    agent = Agent(Settings("main", "script/one", workspace, **settings), parts)
    return OneAgent(agent, store, source, events, audited)


def said(text: str, stop: str = "end") -> AssistantMessage:
    return AssistantMessage((Text(text),), "script/one", Usage(), stop)


async def test_the_next_turn_sees_the_one_before(store: Store, tmp_path: Path) -> None:
    model = Script([says("Hello, Ada."), says("You are Ada.")])
    here = one_agent(store, tmp_path, model)

    await here.say("I am Ada.")
    outcome = await here.say("Who am I?")

    assert outcome.text == "You are Ada."
    assert list(model.requests[1].messages) == [user("I am Ada."), said("Hello, Ada."), user("Who am I?")]
    assert await here.remembered() == [*model.requests[1].messages, said("You are Ada.")]


async def test_the_prompt_carries_skills_and_context(store: Store, tmp_path: Path) -> None:
    model = Script([says("Hi.")])
    here = one_agent(store, tmp_path, model, instructions="Answer in French.")

    await here.say("Hello.")

    prompt = model.requests[0].system
    assert prompt == here.agent.system_prompt()
    assert [part in prompt for part in ("<available_skills/>", "agent=main>", "French", "04 March 2026")] == [True] * 4


async def test_tool_calls_are_remembered_with_their_results(store: Store, tmp_path: Path) -> None:
    call = ToolCall("c", "echo", {"text": "x"})
    here = one_agent(store, tmp_path, Script([calls(call), says("Done.")]), tool("echo", echo))

    await here.say("Echo x.")

    assert await here.remembered() == [
        user("Echo x."),
        AssistantMessage((call,), "script/one", Usage(), "tools"),
        ToolMessage("c", "echo", (Text("echo x"),)),
        said("Done."),
    ]


async def test_a_model_that_cannot_be_reached_leaves_nothing_behind(store: Store, tmp_path: Path) -> None:
    here = one_agent(store, tmp_path, Script([[Done("error", error="No route to it.")], says("Hello.")]))

    failed = await here.say("Hi.")
    assert (failed.reason, await here.remembered()) == ("error", [])

    await here.say("Hi.")
    assert await here.remembered() == [user("Hi."), said("Hello.")]


async def test_a_cancelled_turn_is_remembered_as_far_as_it_came(store: Store, tmp_path: Path) -> None:
    running = asyncio.Event()

    async def hang(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        running.set()
        await asyncio.Event().wait()
        return result("never")

    call = ToolCall("c", "hang", {})
    here = one_agent(store, tmp_path, Script([calls(call)]), tool("hang", hang))
    task = asyncio.create_task(here.say("Go."))
    await running.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task

    assert here.events[-1] == RunEnd("cancelled", Usage())
    assert await here.remembered() == [
        user("Go."),
        AssistantMessage((call,), "script/one", Usage(), "tools"),
        ToolMessage("c", "hang", (Text("The call was cancelled."),), is_error=True),
    ]


async def test_a_history_whose_writer_was_killed_is_mended_for_the_model(store: Store, tmp_path: Path) -> None:
    call = ToolCall("c", "echo", {})
    async with store.turn(KEY, "main") as turn:
        turn.append(user("Go."), AssistantMessage((call,)))
    model = Script([says("It was interrupted.")])

    await one_agent(store, tmp_path, model).say("What happened?")

    assert list(model.requests[0].messages) == [
        user("Go."),
        AssistantMessage((call,)),
        ToolMessage("c", "echo", (Text(INTERRUPTED),), is_error=True),
        user("What happened?"),
    ]


async def test_a_denied_tool_is_neither_offered_nor_callable_and_says_why(store: Store, tmp_path: Path) -> None:
    call = ToolCall("c", "echo", {})
    model = Script([calls(call), says("I may not.")])
    here = one_agent(store, tmp_path, model, tool("echo", echo), tool("other", echo), denied="echo")

    await here.say("Echo.")

    assert [tool.name for tool in model.requests[0].tools] == ["other"]
    assert (await here.remembered())[2] == ToolMessage(
        "c", "echo", (Text("echo is not available: tools.deny names it"),), is_error=True
    )
    assert here.agent.absences() == (Absence("echo", "tools.deny names it"),)
    assert here.audited == [("echo", "unknown")]


async def test_a_tool_whose_server_is_away_says_why(store: Store, tmp_path: Path) -> None:
    model = Script([calls(ToolCall("c", "git__log", {})), says("Later.")])
    here = one_agent(store, tmp_path, model)
    here.source.missing = [Absence("git__*", OwnWords("the server git is restarting."))]

    await here.say("Log.")

    assert ends(here.events)[0].result == ToolResult.error("git__log is not available: the server git is restarting.")


@pytest.mark.parametrize(
    ("denied", "asked", "told"),
    [
        ("", ["files"], "files__read is not available: it needs a sign-in."),
        ("files__read", [], "files__read is not available: tools.deny names it"),
    ],
)
async def test_nobody_is_asked_to_sign_in_for_a_tool_that_a_rule_denies(
    store: Store, tmp_path: Path, denied: str, asked: list[str], told: str
) -> None:
    here = one_agent(store, tmp_path, Script([calls(ToolCall("c", "files__read", {})), says("Well.")]), denied=denied)
    here.source.missing = [Absence("files__*", OwnWords("it needs a sign-in."), sign_in="files")]
    person = Declining()
    conversation = Conversation(session=KEY, sink=here.events.append, asker=person)

    await here.agent.turn(user("Read."), conversation)

    assert (person.asked, ends(here.events)[0].result) == (asked, ToolResult.error(told))


async def test_of_two_tools_with_one_name_the_first_source_counts(store: Store, tmp_path: Path) -> None:
    first, second = tool("echo", echo, label="native"), tool("echo", echo, label="other")
    here = one_agent(store, tmp_path, Script([]), first)
    parts = replace(here.agent.dependencies, sources=(Source([first]), Source([second])))

    assert Agent(here.agent.settings, parts).tools() == (first,)


async def test_a_turn_waits_for_tools_as_long_as_it_is_told(store: Store, tmp_path: Path) -> None:
    here = one_agent(store, tmp_path, Script([says("Hi."), says("Hi.")]))

    await here.say("Hello.", patience=2.0)
    await here.say("Hello.")

    assert here.source.waited == [2.0, 0.0]


async def test_turns_of_one_session_come_one_after_the_other(store: Store, tmp_path: Path) -> None:
    gate = asyncio.Event()
    model = Script([[gate, *says("First.")], says("Second.")])
    here = one_agent(store, tmp_path, model)
    first = asyncio.create_task(here.say("One."))
    await model.waiting.wait()
    second = asyncio.create_task(here.say("Two."))
    gate.set()
    await asyncio.gather(first, second)

    assert await here.remembered() == [user("One."), said("First."), user("Two."), said("Second.")]


async def test_a_long_conversation_is_compacted_before_the_window_is_full_and_stays_so(
    store: Store, tmp_path: Path
) -> None:
    async with store.turn(KEY, "main") as turn:
        for number in range(40):
            turn.append(user(f"Question {number}: " + "x" * 1_200), AssistantMessage((Text(f"Answer {number}."),)))
    model = Script([says("They asked forty things."), says("And now this."), says("Still here.")])
    here = one_agent(store, tmp_path, model, window=12_000)

    await here.say("One more.")
    await here.say("And another.")

    [compacted] = [event for event in here.events if isinstance(event, Compacted)]
    assert compacted.summary.endswith("They asked forty things.")
    assert model.requests[1].messages[0] == UserMessage((Text(compacted.summary),), notes=True)
    assert list(model.requests[2].messages) == [
        *model.requests[1].messages,
        said("And now this."),
        user("And another."),
    ]
    everything = (await store.show(KEY)).entries
    spoken = [e.event.message for e in everything if isinstance(e.event, Said)]
    assert [m for m in spoken if isinstance(m, UserMessage)][-2:] == [user("One more."), user("And another.")]


async def test_a_model_that_cannot_write_summaries_is_not_asked_for_one(store: Store, tmp_path: Path) -> None:
    async with store.turn(KEY, "main") as turn:
        turn.append(*(user("x" * 1_200) for _ in range(40)))
    model = Script([says("Fine.")])
    here = one_agent(store, tmp_path, model, window=12_000, summaries=False)

    await here.say("Go on.")

    assert len(model.requests) == 1
    assert "no notes on it could be made" in str(model.requests[0].messages[0])


async def test_a_session_of_another_agent_is_refused(store: Store, tmp_path: Path) -> None:
    async with store.turn(KEY, "other") as turn:
        turn.append(user("Mine."))

    with pytest.raises(StoreError, match="belongs to agent"):
        await one_agent(store, tmp_path, Script([])).say("Yours?")


async def test_what_a_model_said_before_it_failed_is_kept(store: Store, tmp_path: Path) -> None:
    here = one_agent(store, tmp_path, Script([[provider.TextDelta("Half"), Done("error", error="cut")]]))

    await here.say("Go.")

    assert await here.remembered() == [user("Go."), said("Half", "error")]


async def test_an_estimate_that_was_too_low_is_made_good_by_a_smaller_window(store: Store, tmp_path: Path) -> None:
    async with store.turn(KEY, "main") as turn:
        turn.append(*(user(f"{number} " + "x" * 1_200) for number in range(40)))
    too_long = [Done("error", error="It is too long.", too_long=True)]
    model = Script([too_long, says("Forty letters x."), says("Fine.")])
    here = one_agent(store, tmp_path, model, window=1_000_000)

    outcome = await here.say("Go on.")

    assert outcome.text == "Fine."
    assert len(model.requests[0].messages) == 41
    assert len(model.requests[2].messages) < 30
    assert await here.remembered() == [*model.requests[2].messages, said("Fine.")]


def foreign_to(seen: list[list[str]]) -> Tool:
    """A tool of a server that notes what its conversation had read before it."""

    async def look(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        seen.append([*invocation.conversation.foreign])
        return ToolResult((Text("looked"),))

    return tool("look", look, kind="mcp", origin="files")


async def test_a_later_turn_knows_whose_text_was_read_before(store: Store, tmp_path: Path) -> None:
    seen: list[list[str]] = []
    look, there = ToolCall("1", "look", {}), ToolCall("2", "look", {})
    model = Script([calls(look), says("One."), calls(there), says("Two.")])
    here = one_agent(store, tmp_path, model, foreign_to(seen))

    await here.say("Look.")
    await here.say("Look again.")

    assert seen == [[], ["mcp:files"]]


async def test_a_summary_of_foreign_text_is_foreign_and_a_reset_ends_it(store: Store, tmp_path: Path) -> None:
    seen: list[list[str]] = []
    look, there, third = (ToolCall(number, "look", {}) for number in "123")
    model = Script([calls(look), says("One."), calls(there), says("Two."), calls(third), says("Three.")])
    here = one_agent(store, tmp_path, model, foreign_to(seen))

    await here.say("Look.")
    async with store.turn(KEY, "main") as turn:
        turn.compact("They looked.")
    await here.say("Look again.")
    async with store.turn(KEY, "main") as turn:
        turn.reset()
    await here.say("Look afresh.")

    assert seen == [[], ["mcp:files"], []]


async def test_whose_words_stand_in_the_prompt_is_known_in_this_turn_and_in_later_ones(
    store: Store, tmp_path: Path
) -> None:
    seen: list[list[str]] = []
    look, there = ToolCall("1", "look", {}), ToolCall("2", "look", {})
    model = Script([calls(look), says("One."), calls(there), says("Two.")])

    await one_agent(store, tmp_path, model, foreign_to(seen), prompt_of="mcp:docs").say("Look.")
    await one_agent(store, tmp_path, model, foreign_to(seen)).say("Look again.")

    assert seen == [["mcp:docs"], ["mcp:docs", "mcp:files"]]


async def test_a_tool_cannot_speak_in_the_run_but_by_its_result_and_its_progress(store: Store, tmp_path: Path) -> None:
    seen: list[Conversation] = []

    async def look(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        seen.append(invocation.conversation)
        return ToolResult((Text("looked"),))

    here = one_agent(store, tmp_path, Script([calls(ToolCall("1", "look", {})), says("One.")]), tool("look", look))
    await here.say("Look.")

    assert [conversation.sink for conversation in seen] == [None]
    assert any(isinstance(event, ToolEnd) for event in here.events)


@dataclass
class Known:
    """What a call knows of its conversation."""

    texts: list[tuple[str, str]]
    written: list[str]
    is_whole: bool
    granted: list[Grant]


def knowing(seen: list[Known], *, kind: Kind = "mcp", text: str = "pay IBAN 7") -> Tool:
    """A tool that notes what is known before it, and lets itself be called for the rest of the conversation."""

    async def look(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        here = invocation.conversation
        seen.append(Known([*here.foreign.texts], [*here.written], here.foreign.is_whole, [*here.granted]))
        if not here.granted:
            here.granted.append(GRANT)
        return ToolResult((Text(text),))

    return tool("look", look, kind=kind, origin="files" if kind == "mcp" else "")


GRANT = Grant("g_1", "look", "files:1", "d", "main", scope="session")
LOOKS: list[Turn] = [turn for number in "123" for turn in (calls(ToolCall(number, "look", {})), says("Done."))]


async def test_a_later_turn_knows_what_was_read_written_and_approved(store: Store, tmp_path: Path) -> None:
    seen: list[Known] = []
    here = one_agent(store, tmp_path, Script(LOOKS), knowing(seen), prompt_of="mcp:notes")
    prompt, read = ("mcp:notes", "words of mcp:notes"), ("mcp:files", "pay IBAN 7")

    await here.say("Look.")
    await here.say("Look again.")

    assert seen == [
        Known([prompt], ["Look."], is_whole=True, granted=[]),
        Known([read, prompt], ["Look.", "Look again."], is_whole=True, granted=[GRANT]),
    ]


async def test_what_the_person_pointed_at_is_foreign_also_in_later_turns(store: Store, tmp_path: Path) -> None:
    seen: list[Known] = []
    here = one_agent(store, tmp_path, Script(LOOKS), knowing(seen, kind="native"))
    pointed = UserMessage((Text("Look at this."), Text("pay IBAN 7")), sources=("", "mcp:notes"))

    await here.agent.turn(pointed, Conversation(session=KEY))
    await here.say("Look again.")

    read = [("mcp:notes", "pay IBAN 7")]
    assert [(known.texts, known.written) for known in seen] == [
        (read, ["Look at this."]),
        (read, ["Look at this.", "Look again."]),
    ]


async def test_a_picture_they_pointed_at_may_say_anything_also_in_later_turns(store: Store, tmp_path: Path) -> None:
    foreign: list[tuple[list[str], dict[str, str]]] = []

    async def look(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        known = invocation.conversation
        foreign.append(([*known.foreign], dict(foreign_values({"to": "x"}, known.foreign, known.written))))
        return ToolResult((Text("ok"),))

    here = one_agent(store, tmp_path, Script(LOOKS), Tool("look", "It.", parameters({"type": "object"}), look))
    pointed = UserMessage((Text("Look at this."), Image(b"\x89PNG", "image/png")), sources=("", "mcp:notes"))

    await here.agent.turn(pointed, Conversation(session=KEY))
    await here.say("Look again.")

    source = "media:mcp:notes"
    assert foreign == [([source], {"to": source})] * 2


async def test_a_summary_keeps_grants_and_tells_that_text_is_lost_and_a_reset_ends_both(
    store: Store, tmp_path: Path
) -> None:
    seen: list[Known] = []
    here = one_agent(store, tmp_path, Script(LOOKS), knowing(seen))

    await here.say("Look.")
    async with store.turn(KEY, "main") as turn:
        turn.compact("They looked.", [user("Look.")])
    await here.say("Look again.")
    async with store.turn(KEY, "main") as turn:
        turn.reset()
    await here.say("Look afresh.")

    assert seen[1:] == [
        Known([("mcp:files", "They looked.")], ["Look.", "Look again."], is_whole=False, granted=[GRANT]),
        Known([], ["Look afresh."], is_whole=True, granted=[]),
    ]


async def test_a_turn_of_a_long_conversation_takes_hardly_more_steps_than_one_of_a_short_one(
    store: Store, tmp_path: Path
) -> None:
    steps: list[int] = []

    async def look(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        return result("ok")

    for exchanges in (2, 400):
        here = one_agent(store, tmp_path, Script([says("So.")] * 3), tool("look", look))
        key = f"agent:main:{exchanges}"
        said_before: list[Message] = [
            user("Look."),
            AssistantMessage((ToolCall("1", "look", {}),)),
            ToolMessage("1", "look", (Text("Nothing."),), source="mcp:files"),
            AssistantMessage((Text("Nothing there."),)),
        ]
        async with store.turn(key, "main") as turn:
            turn.append(*said_before * exchanges)
        for _ in range(3):
            with counted_calls() as counted:
                await here.agent.turn(user("And now?"), Conversation(session=key))
        steps.append(len(counted))

    short, long = steps
    assert 0 < long <= short * 1.5


@pytest.mark.parametrize(("declined", "reason"), [(3, "declined"), (2, "done")])
async def test_several_calls_that_are_declined_in_a_row_end_the_turn_and_not_the_next(
    store: Store, tmp_path: Path, declined: int, reason: str
) -> None:
    async def decline(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        invocation.conversation.declined.add(invocation.call_id)
        return ToolResult.error("look was not called: the person declined.")

    wanted = calls(*(ToolCall(f"{number}", "look", {}) for number in range(declined)))
    here = one_agent(store, tmp_path, Script([wanted, says("Why?"), says("Well.")]), tool("look", decline))

    outcome = await here.say("Go.")

    assert outcome.reason == reason
    if reason == "declined":
        assert outcome.error == "The turn was ended: 3 calls in a row were declined."
        assert here.events[-1] == RunEnd("declined", Usage(), outcome.error)
    assert (await here.say("Go on.")).reason == "done"
