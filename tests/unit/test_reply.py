"""What a reply keeps of a run."""

from openclaw.agent.events import ToolEnd, ToolStart
from openclaw.agent.loop import RunOutcome
from openclaw.content import Audio, Image, ToolCall, Usage
from openclaw.reply import CallRecord, Collector
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
