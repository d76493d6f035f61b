"""The real loop with a scripted model: whole event lists and whole transcripts."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from openclaw.agent.deferral import Offer
from openclaw.agent.events import (
    Compacted,
    MessageEnd,
    Notice,
    ReasoningDelta,
    RunEnd,
    RunStart,
    TextDelta,
    ToolEnd,
    ToolProgress,
    ToolStart,
    TurnStart,
)
from openclaw.agent.loop import PARALLEL_CALLS, RunOutcome, RunRequest, run
from openclaw.content import AssistantMessage, Framed, Image, Message, Text, Thinking, ToolCall, ToolMessage, Usage
from openclaw.conversation import Conversation
from openclaw.errors import StoreError
from openclaw.models import provider
from openclaw.models.provider import Done, ModelEvent, ModelRequest, ToolCallDelta, ToolCallEnd, ToolCallStart
from openclaw.tool import Invocation, ToolResult
from parts.stage import Script, Stage, calls, echo, ends, refused, result, says, tool, user

START = RunStart("main", "script/one", "agent:main:test")


NONE = Usage()


def said(text: str, stop: str = "end", usage: Usage = NONE) -> AssistantMessage:
    return AssistantMessage((Text(text),), "script/one", usage, stop)


def asked(*wanted: ToolCall) -> AssistantMessage:
    return AssistantMessage(tuple(wanted), "script/one", Usage(), "tools")


def answered(call: ToolCall, text: str, *, is_error: bool = False) -> ToolMessage:
    return ToolMessage(call.id, call.name, (Text(text),), is_error)


async def test_a_plain_answer_is_one_turn(stage: Stage) -> None:
    model = Script([[provider.TextDelta("Hel"), provider.TextDelta("lo."), Done("end", Usage(7, 2))]])

    outcome = await stage.run(model)

    message = said("Hello.", usage=Usage(7, 2))
    assert stage.events == [
        START,
        TurnStart(1),
        TextDelta("Hel"),
        TextDelta("lo."),
        MessageEnd(message, final=True),
        RunEnd("done", Usage(7, 2)),
    ]
    assert outcome == RunOutcome("done", (message,), Usage(7, 2))
    assert (outcome.text, stage.recorded, model.closed) == ("Hello.", [message], 1)


async def test_a_tool_call_goes_back_to_the_model_and_usage_adds_up(stage: Stage) -> None:
    stage.tools = [tool("echo", echo, label="Echo")]
    call = ToolCall("c1", "echo", {"text": "hi"})
    model = Script(
        [
            [
                provider.ReasoningDelta("Let me "),
                provider.ReasoningDelta("see.", "signed"),
                ToolCallStart(0, "c1", "echo"),
                ToolCallDelta(0, '{"text":'),
                ToolCallEnd(0, call),
                Done("tools", Usage(1, 2)),
            ],
            says("Done.", Usage(3, 4)),
        ]
    )

    outcome = await stage.run(model)

    first = AssistantMessage((Thinking("Let me see.", "signed"), call), "script/one", Usage(1, 2), "tools")
    last = said("Done.", usage=Usage(3, 4))
    end = ToolEnd(call, result("echo hi"), 0.0)
    assert stage.events == [
        START,
        TurnStart(1),
        ReasoningDelta("Let me "),
        ReasoningDelta("see."),
        MessageEnd(first, final=False),
        ToolStart(call, "Echo"),
        end,
        TurnStart(2),
        TextDelta("Done."),
        MessageEnd(last, final=True),
        RunEnd("done", Usage(4, 6)),
    ]
    assert outcome == RunOutcome("done", (first, answered(call, "echo hi"), last), Usage(4, 6))
    assert list(model.requests[1].messages) == [user("Go."), first, answered(call, "echo hi")]
    assert stage.audited == [("echo", "ok")]


async def test_calls_of_one_message_run_side_by_side_and_answer_in_order(stage: Stage) -> None:
    met = asyncio.Barrier(3)
    gates = {name: asyncio.Event() for name in ("a", "b", "c")}
    gates["c"].set()

    async def wait(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        await met.wait()  # passes only when all three run at once
        await gates[invocation.call_id].wait()
        return result(invocation.call_id)

    def last_ends_first(event: object) -> None:
        if isinstance(event, ToolEnd) and event.call.id != "a":
            gates["a" if event.call.id == "b" else "b"].set()

    stage.on_event = last_ends_first
    stage.tools = [tool("wait", wait)]
    wanted = [ToolCall(name, "wait", {}) for name in ("a", "b", "c")]

    await stage.run(Script([calls(*wanted), says("Done.")]))

    ends = [event.call.id for event in stage.events if isinstance(event, ToolEnd)]
    assert ends == ["c", "b", "a"]
    assert stage.recorded == [asked(*wanted), *(answered(call, call.id) for call in wanted), said("Done.")]


async def test_no_more_calls_than_the_limit_run_at_once(stage: Stage) -> None:
    running = peak = 0
    full = asyncio.Event()

    async def count(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        if running == PARALLEL_CALLS:
            full.set()
        await full.wait()
        running -= 1
        return result("ok")

    stage.tools = [tool("count", count)]
    wanted = [ToolCall(f"c{number}", "count", {}) for number in range(PARALLEL_CALLS + 5)]

    await stage.run(Script([calls(*wanted), says("Done.")]))

    assert (peak, len(ends(stage.events))) == (PARALLEL_CALLS, PARALLEL_CALLS + 5)


@pytest.mark.requirement("001-US-2-errors")
async def test_a_tool_that_fails_does_not_end_the_run(stage: Stage) -> None:
    async def broken(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        raise ValueError("no luck")

    stage.tools = [tool("broken", broken), tool("echo", echo)]
    bad, good = ToolCall("1", "broken", {}), ToolCall("2", "echo", {"text": "x"})

    outcome = await stage.run(Script([calls(bad, good), says("So be it.")]))

    assert stage.recorded == [
        asked(bad, good),
        answered(bad, "broken failed: ValueError: no luck", is_error=True),
        answered(good, "echo x"),
        said("So be it."),
    ]
    assert (outcome.reason, stage.audited) == ("done", [("broken", "failed"), ("echo", "ok")])


async def test_a_call_the_model_garbled_fails_without_running(stage: Stage) -> None:
    ran: list[str] = []

    async def note(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        ran.append(invocation.call_id)
        return result("ran")

    stage.tools = [tool("note", note)]
    call = ToolCall("c", "note", {}, fault="The arguments are not a JSON object.")

    await stage.run(Script([calls(call), says("Sorry.")]))

    assert ran == []
    assert stage.recorded[1] == answered(
        call, "note was not called: The arguments are not a JSON object.", is_error=True
    )


async def test_wrong_arguments_come_back_as_a_result(stage: Stage) -> None:
    stage.tools = [
        tool("echo", echo, schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})
    ]
    call = ToolCall("c", "echo", {"text": 3})

    await stage.run(Script([calls(call), says("Sorry.")]))

    [end] = ends(stage.events)
    assert end.result.is_error
    assert "text" in str(end.result.content)
    assert stage.audited == [("echo", "invalid")]


async def test_policy_is_asked_again_when_a_tool_is_called(stage: Stage) -> None:
    """A tool that was listed may be denied by the time it is called."""
    stage.tools = [tool("echo", echo)]
    call = ToolCall("c", "echo", {"text": "x"})

    def deny_later(event: object) -> None:
        if isinstance(event, TurnStart):
            stage.decide = lambda tool, agent: refused('deny "echo" (openclaw.json:3 tools.deny)')

    stage.on_event = deny_later
    await stage.run(Script([calls(call), says("I may not.")]))

    assert stage.recorded[1] == answered(
        call, 'echo may not be used: deny "echo" (openclaw.json:3 tools.deny).', is_error=True
    )
    assert stage.audited == [("echo", "refused")]


async def test_an_unknown_tool_names_the_nearest(stage: Stage) -> None:
    stage.tools = [tool("echo", echo)]
    call = ToolCall("c", "ecko", {})

    await stage.run(Script([calls(call), says("Oh.")]))

    assert stage.recorded[1] == answered(call, "There is no tool named ecko. Did you mean echo?", is_error=True)


async def test_progress_of_a_tool_is_shown_while_it_runs(stage: Stage) -> None:
    async def slow(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        invocation.progress("half-way")
        return result("done")

    stage.tools = [tool("slow", slow)]
    call = ToolCall("c", "slow", {})

    await stage.run(Script([calls(call), says("Done.")]))

    assert stage.events[3:6] == [ToolStart(call), ToolProgress("c", "half-way"), ToolEnd(call, result("done"), 0.0)]


async def test_tools_that_appear_during_a_run_are_offered_next(stage: Stage) -> None:
    async def connect(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        stage.tools = [*stage.tools, tool("echo", echo)]
        return result("connected")

    stage.tools = [tool("connect", connect)]
    model = Script([calls(ToolCall("c", "connect", {})), says("Done.")])

    await stage.run(model)

    assert [[tool.name for tool in request.tools] for request in model.requests] == [["connect"], ["connect", "echo"]]


@pytest.mark.requirement("002-5.1-details")
async def test_details_never_reach_the_model(stage: Stage) -> None:
    async def detailed(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        return ToolResult((Text("shown"),), details={"raw": "hidden"})

    stage.tools = [tool("detailed", detailed)]
    model = Script([calls(ToolCall("c", "detailed", {})), says("Done.")])

    await stage.run(model)

    assert ends(stage.events)[0].result.details == {"raw": "hidden"}
    assert "hidden" not in repr(model.requests[1].messages)


async def test_images_and_framed_text_reach_the_model_as_they_are(stage: Stage) -> None:
    content = (Text(Framed("<<<framed>>>")), Image(b"\x89PNG", "image/png"))

    async def picture(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        return ToolResult(content)

    stage.tools = [tool("picture", picture)]
    model = Script([calls(ToolCall("c", "picture", {})), says("Nice.")])

    await stage.run(model)

    assert model.requests[1].messages[-1] == ToolMessage("c", "picture", content)


async def test_an_empty_result_and_half_a_character_become_something_a_store_can_keep(stage: Stage) -> None:
    async def odd(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        return ToolResult(()) if arguments["empty"] else result("half \ud83d and whole \ud83d\ude00")

    stage.tools = [tool("odd", odd)]
    empty, half = ToolCall("1", "odd", {"empty": True}), ToolCall("2", "odd", {"empty": False})

    await stage.run(Script([calls(empty, half), says("caf\udce9")]))

    assert stage.recorded == [
        asked(empty, half),
        answered(empty, "[The tool returned nothing.]"),
        answered(half, "half \ufffd and whole 😀"),
        said("caf\ufffd"),
    ]


async def test_ids_a_model_repeats_or_leaves_out_become_unique(stage: Stage) -> None:
    stage.tools = [tool("echo", echo)]
    before: list[Message] = [asked(ToolCall("call_0", "echo", {})), answered(ToolCall("call_0", "echo", {}), "old")]
    wanted = [ToolCall(name, "echo", {"text": text}) for name, text in (("call_0", "a"), ("call_0", "b"), ("", "c"))]

    await stage.run(Script([calls(*wanted), says("Done.")]), user("Hi."), *before, user("Again."))

    ids = ["call_0-2", "call_0-3", "call-1"]
    assert [call.id for call in stage.recorded[0].tool_calls] == ids  # type: ignore[union-attr]
    assert stage.recorded[1:4] == [
        ToolMessage(name, "echo", (Text(f"echo {text}"),)) for name, text in zip(ids, "abc", strict=True)
    ]


async def test_a_model_error_ends_the_run_as_a_value_and_keeps_what_was_said(stage: Stage) -> None:
    call = ToolCall("c", "echo", {})
    model = Script(
        [[provider.TextDelta("I was ab"), ToolCallEnd(0, call), Done("error", Usage(5), "The key is wrong.")]]
    )

    outcome = await stage.run(model)

    message = said("I was ab", "error", Usage(5))
    assert outcome == RunOutcome("error", (message,), Usage(5), error="The key is wrong.")
    assert stage.events[-2:] == [
        MessageEnd(message, final=True),
        RunEnd("error", Usage(5), "The key is wrong."),
    ]


async def test_a_model_that_fails_before_saying_anything_leaves_no_message(stage: Stage) -> None:
    outcome = await stage.run(Script([[Done("error", error="No route to it.")]]))

    assert outcome == RunOutcome("error", (), Usage(), error="No route to it.")
    assert stage.recorded == []


async def test_a_provider_that_breaks_its_contract_counts_as_a_model_error(stage: Stage) -> None:
    class Raises(Script):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
            yield provider.TextDelta("Hm")
            raise RuntimeError("boom")

    class Full(Script):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
            yield provider.TextDelta("Hm")
            raise StoreError("The output cannot be written: no space left on device.")

    raised = await stage.run(Raises([]))
    full = await stage.run(Full([]))
    silent = await stage.run(Script([[]]))

    assert (raised.reason, raised.error) == ("error", "The model provider failed: boom")
    # Our own errors say what failed, and it need not be the provider.
    assert (full.reason, full.error) == ("error", "The output cannot be written: no space left on device.")
    assert (silent.reason, silent.error) == ("error", "The model's answer ended without being complete.")


@pytest.mark.parametrize(
    ("done", "text", "reason", "error"),
    [
        (Done("refused"), "", "error", "The model declined to answer."),
        (Done("refused"), "I would rather not.", "done", ""),
        (Done("cancelled"), "", "cancelled", "The model's answer was cancelled."),
        (Done("end"), "", "done", ""),
    ],
)
async def test_other_ways_a_model_stops(stage: Stage, done: Done, text: str, reason: str, error: str) -> None:
    outcome = await stage.run(Script([[provider.TextDelta(text), done]]))

    assert (outcome.reason, outcome.error, outcome.text) == (reason, error, text)


async def test_an_answer_cut_by_the_output_limit_says_so(stage: Stage) -> None:
    await stage.run(Script([[provider.TextDelta("Once upon"), Done("length")]]))

    assert stage.events[-2:] == [
        Notice("The answer stops here: the model reached its output limit."),
        RunEnd("done", Usage()),
    ]


async def test_notices_of_the_provider_are_shown(stage: Stage) -> None:
    await stage.run(Script([[provider.Notice("Trying again in 2 s.", "retry", "Trying again"), *says("Hi.")]]))

    assert stage.events[2] == Notice("Trying again in 2 s.", "retry", "Trying again")


async def test_the_turn_limit_ends_the_run_with_a_valid_transcript(stage: Stage) -> None:
    stage.tools = [tool("echo", echo)]
    wanted = [ToolCall(f"c{number}", "echo", {"text": str(number)}) for number in range(3)]

    outcome = await stage.run(Script([calls(call) for call in wanted]), max_turns=2)

    assert stage.recorded == [
        asked(wanted[0]),
        answered(wanted[0], "echo 0"),
        asked(wanted[1]),
        answered(wanted[1], "echo 1"),
    ]
    assert stage.events[-1] == RunEnd("turn-limit", Usage(), "The run was stopped after 2 model calls.")
    assert outcome.reason == "turn-limit"


async def test_a_deadline_stops_running_tools_and_closes_the_transcript(stage: Stage) -> None:
    ended = asyncio.Event()

    async def forever(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return result("never")

    stage.tools = [tool("forever", forever, timeout=None), tool("echo", echo)]
    slow, quick = ToolCall("1", "forever", {}), ToolCall("2", "echo", {"text": "x"})

    outcome = await stage.run(Script([calls(slow, quick)]), deadline=0.05)

    why = "The call was stopped: the run's time was over."
    assert ended.is_set()
    assert stage.recorded == [asked(slow, quick), answered(slow, why, is_error=True), answered(quick, "echo x")]
    assert outcome.error == "The answer was not complete after 0.05 seconds."
    assert stage.events[-2:] == [
        ToolEnd(slow, ToolResult.error(why), 0.0),
        RunEnd("deadline", Usage(), "The answer was not complete after 0.05 seconds."),
    ]


async def test_a_deadline_while_the_model_speaks_keeps_what_it_said(stage: Stage) -> None:
    model = Script([[provider.TextDelta("Well, "), asyncio.Event()]])

    outcome = await stage.run(model, deadline=0.05)

    message = said("Well, ", "cancelled")
    assert outcome.messages == (message,)
    assert (stage.recorded, model.closed) == ([message], 1)


async def test_a_cancel_while_the_model_speaks_keeps_what_it_said(stage: Stage) -> None:
    model = Script([[provider.TextDelta("Well, "), ToolCallEnd(0, ToolCall("c", "echo", {})), asyncio.Event()]])
    running = asyncio.create_task(stage.run(model))
    await model.waiting.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    message = said("Well, ", "cancelled")
    assert stage.recorded == [message]
    assert stage.events == [
        START,
        TurnStart(1),
        TextDelta("Well, "),
        MessageEnd(message, final=True),
        RunEnd("cancelled", Usage()),
    ]
    assert model.closed == 1


async def test_a_cancel_while_tools_run_cancels_them_and_gives_every_call_a_result(stage: Stage) -> None:
    ready, cancelled = asyncio.Barrier(3), []

    async def hang(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        await ready.wait()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(invocation.call_id)
        return result("never")

    stage.tools = [tool("hang", hang), tool("echo", echo)]
    wanted = [ToolCall("1", "hang", {}), ToolCall("2", "echo", {"text": "x"}), ToolCall("3", "hang", {})]
    running = asyncio.create_task(stage.run(Script([calls(*wanted)])))
    await ready.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    stopped = "The call was cancelled."
    assert sorted(cancelled) == ["1", "3"]
    assert stage.recorded == [
        asked(*wanted),
        answered(wanted[0], stopped, is_error=True),
        answered(wanted[1], "echo x"),
        answered(wanted[2], stopped, is_error=True),
    ]
    assert stage.events[-3:] == [
        ToolEnd(wanted[0], ToolResult.error(stopped), 0.0),
        ToolEnd(wanted[2], ToolResult.error(stopped), 0.0),
        RunEnd("cancelled", Usage()),
    ]
    assert sorted(stage.audited) == [("echo", "ok"), ("hang", "cancelled"), ("hang", "cancelled")]


async def test_a_cancel_while_a_message_is_written_leaves_it_written_once(stage: Stage) -> None:
    writing, go_on = asyncio.Event(), asyncio.Event()
    written: list[Message] = []

    class Slow(Stage):
        async def record(self, message: Message) -> None:
            writing.set()
            await go_on.wait()
            written.append(message)

    slow = Slow(stage.workspace)
    slow.tools = [tool("echo", echo)]
    call = ToolCall("c", "echo", {})
    running = asyncio.create_task(slow.run(Script([calls(call, text="Looking.")])))
    await writing.wait()
    running.cancel()
    await asyncio.sleep(0)
    running.cancel()
    go_on.set()

    with pytest.raises(asyncio.CancelledError):
        await running

    message = AssistantMessage((Text("Looking."), call), "script/one", Usage(), "tools")
    assert written == [message, answered(call, "The call was cancelled.", is_error=True)]
    assert slow.events[3:] == [MessageEnd(message, final=False), RunEnd("cancelled", Usage())]


async def test_a_store_that_fails_ends_the_run_with_its_error(stage: Stage) -> None:
    class Full(Stage):
        async def record(self, message: Message) -> None:
            raise StoreError("The disk is full.")

    full = Full(stage.workspace)
    with pytest.raises(StoreError, match="The disk is full"):
        await full.run(Script([says("Hi.")]))

    assert full.events[-1] == RunEnd("error", Usage(), "The disk is full.")


async def test_a_store_that_fails_does_not_hide_a_cancel(stage: Stage) -> None:
    class Full(Stage):
        async def record(self, message: Message) -> None:
            raise StoreError("The disk is full.")

    full = Full(stage.workspace)
    model = Script([[provider.TextDelta("Well, "), asyncio.Event()]])
    running = asyncio.create_task(full.run(model))
    await model.waiting.wait()
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert full.events[-1] == RunEnd("cancelled", Usage())


async def test_a_write_that_fails_while_it_is_cancelled_does_not_hide_the_cancel(stage: Stage) -> None:
    writing, go_on = asyncio.Event(), asyncio.Event()

    class Full(Stage):
        async def record(self, message: Message) -> None:
            writing.set()
            await go_on.wait()
            raise StoreError("The disk is full.")

    full = Full(stage.workspace)
    running = asyncio.create_task(full.run(Script([says("Hi.")])))
    await writing.wait()
    running.cancel()
    await asyncio.sleep(0)
    go_on.set()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert full.events[-1] == RunEnd("cancelled", Usage())


async def test_an_id_used_before_a_compaction_is_not_used_again(stage: Stage) -> None:
    stage.tools = [tool("echo", echo)]
    call = ToolCall("call_0", "echo", {})

    async def forget(messages: Any) -> Any:
        return [user("Go on.")] if len(messages) > 1 else messages

    await stage.run(Script([calls(call), calls(call), says("Done.")]), prepare=forget)

    assert [end.call.id for end in ends(stage.events)] == ["call_0", "call_0-2"]


async def test_what_prepare_returns_is_what_the_model_sees_from_then_on(stage: Stage) -> None:
    stage.tools = [tool("echo", echo)]
    call = ToolCall("c", "echo", {"text": "x"})
    model = Script([calls(call), says("Done.")])

    async def shorten(messages: Any) -> Any:
        if len(messages) == 3:
            return messages
        stage.sink(Compacted(1, "short"))
        return [user("short"), *messages[2:]]

    await stage.run(model, user("long"), user("longer"), user("Go."), prepare=shorten)

    assert list(model.requests[0].messages) == [user("long"), user("longer"), user("Go.")]
    assert list(model.requests[1].messages) == [user("short"), user("Go."), asked(call), answered(call, "echo x")]


async def test_a_conversation_the_vendor_finds_too_long_is_shortened_once_and_asked_again(stage: Stage) -> None:
    too_long = [Done("error", error="It is too long.", too_long=True)]

    async def shorten(messages: Any) -> Any:
        return messages[1:]

    model = Script([too_long, says("Now I see.")])
    outcome = await stage.run(model, user("old"), user("new"), shorten=shorten)
    assert (outcome.text, list(model.requests[1].messages)) == ("Now I see.", [user("new")])

    hopeless = Script([too_long, too_long])
    outcome = await stage.run(hopeless, user("old"), user("new"), shorten=shorten)
    assert (outcome.reason, outcome.error, len(hopeless.requests)) == ("error", "It is too long.", 2)


async def test_a_conversation_that_cannot_be_shortened_is_not_asked_again(stage: Stage) -> None:
    model = Script([[Done("error", error="It is too long.", too_long=True)]])

    outcome = await stage.run(model, user("new"))

    assert (outcome.error, len(model.requests)) == ("It is too long.", 1)


async def test_each_signature_closes_a_block_of_reasoning(stage: Stage) -> None:
    model = Script(
        [
            [
                provider.ReasoningDelta("One."),
                provider.ReasoningDelta("", "s1"),
                provider.ReasoningDelta("", "hidden"),
                provider.ReasoningDelta("Two.", "s2"),
                provider.ReasoningDelta("Unsigned."),
                provider.ReasoningDelta(""),
                *says("Done."),
            ]
        ]
    )

    await stage.run(model)

    thoughts = (Thinking("One.", "s1"), Thinking("", "hidden"), Thinking("Two.", "s2"), Thinking("Unsigned."))
    assert stage.recorded == [AssistantMessage((*thoughts, Text("Done.")), "script/one", Usage(), "end")]


async def test_a_call_that_breaks_its_contract_is_an_error_result(stage: Stage) -> None:
    class Broken(Stage):
        async def invoke(self, call: ToolCall, invocation: Invocation) -> ToolResult:
            raise LookupError("gone")

    broken = Broken(stage.workspace)
    one, two = ToolCall("1", "echo", {}), ToolCall("2", "echo", {})

    outcome = await broken.run(Script([calls(one, two), says("Done.")]))

    assert outcome.reason == "done"
    assert broken.recorded[1:3] == [answered(call, "echo failed: gone", is_error=True) for call in (one, two)]


async def test_a_run_needs_nobody_to_write_it_down(stage: Stage) -> None:
    request = RunRequest(Conversation("main", "k", workspace=stage.workspace), "script/one", "", [user("Hi.")])

    outcome = await run(
        request,
        provider_stream=Script([says("Hello.")]).stream,
        offer=lambda: Offer(()),
        call_tool=stage.invoke,
        sink=stage.sink,
        clock=lambda: 0.0,
    )

    assert outcome.messages == (said("Hello."),)


async def test_nothing_more_is_read_or_called_until_whoever_watches_has_caught_up(stage: Stage) -> None:
    stage.tools = [tool("echo", echo)]
    call = ToolCall("c1", "echo", {"text": "hi"})
    first: list[ModelEvent] = [provider.TextDelta("a"), provider.TextDelta("b"), ToolCallEnd(0, call), Done("tools")]
    held: asyncio.Queue[asyncio.Event] = asyncio.Queue()

    async def caught_up() -> None:
        go = asyncio.Event()
        held.put_nowait(go)
        await go.wait()

    stage.caught_up = caught_up
    running = asyncio.create_task(stage.run(Script([first, says("Done.")])))
    seen: list[str] = []
    while len(seen) < 5:
        go = await held.get()
        seen.append(type(stage.events[-1]).__name__)
        go.set()
    assert (await running).text == "Done."
    # After each event of the model, whether it is told or not, and before a call.
    assert seen == ["TextDelta", "TextDelta", "TextDelta", "MessageEnd", "TextDelta"]


async def test_a_run_that_waits_for_whoever_watches_can_be_cancelled_and_keeps_what_was_said(stage: Stage) -> None:
    held = asyncio.Event()

    async def caught_up() -> None:
        held.set()
        await asyncio.Event().wait()

    stage.caught_up = caught_up
    model = Script([says("Half.")])
    running = asyncio.create_task(stage.run(model))
    await held.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (stage.recorded, model.closed) == ([said("Half.", "cancelled")], 1)
