"""What a reply keeps of a run."""

from openclaw.agent.events import MessageEnd, RunEnd, ToolEnd, ToolStart
from openclaw.agent.loop import RunOutcome
from openclaw.content import AssistantMessage, Audio, Image, Text, ToolCall, Usage
from openclaw.reply import CallRecord, Collector, Reply
from openclaw.tool import ToolResult


def test_calls_and_media_stand_in_the_order_they_were_asked_for_whichever_was_done_first() -> None:
    # As from a model that gives every call the same id.
    slow, quick = ToolCall("c", "sing", {}), ToolCall("c", "draw", {})
    sound, picture = Audio(b"s", "audio/wav"), Image(b"p", "image/png")
    collector = Collector(None, "m")
    for event in (
        ToolStart(slow),
        ToolStart(quick),
        ToolEnd(quick, ToolResult((picture,)), 0.1),
        ToolEnd(slow, ToolResult((sound,)), 0.2),
    ):
        collector(event)
    reply = collector.reply(RunOutcome("done", (), Usage()), "k")
    assert (reply.media, reply.tool_calls) == (
        (sound, picture),
        (CallRecord("sing", {}, False), CallRecord("draw", {}, False)),
    )


def test_of_a_run_that_was_cut_there_is_what_had_come_by_then() -> None:
    collector, call = Collector(None, "m"), ToolCall("c", "sing", {})
    assert collector.cut_reply("k") is None
    said = AssistantMessage((Text("Once upon"), call), model="m-2")
    for event in (
        MessageEnd(said, final=False),
        ToolStart(call),
        ToolEnd(call, ToolResult.error("Cancelled."), 0.1),
        RunEnd("cancelled", Usage(3, 4)),
    ):
        collector(event)
    assert collector.cut_reply("k") == Reply(
        "Once upon",
        "k",
        "m-2",
        "cancelled",
        "The run was cancelled.",
        usage=Usage(3, 4),
        tool_calls=(CallRecord("sing", {}, True),),
    )
