"""What an agent tells, as lines for a terminal."""

import msgspec
import pytest

from openclaw.acp import wire
from openclaw.acp.client.screen import MOST_LINES, Line, Screen


def shown(*updates: wire.Update) -> list[Line]:
    screen = Screen()
    return [line for update in updates for line in screen.update(update)]


def text(words: str) -> wire.Shown:
    return wire.Shown(wire.Text(words))


def test_an_answer_comes_in_pieces_and_thoughts_beside_it() -> None:
    pieces: list[wire.Update] = [
        wire.MessageChunk(wire.Text("Hel")),
        wire.MessageChunk(wire.Text("lo")),
        wire.ThoughtChunk(wire.Text("Hm")),
    ]
    assert shown(*pieces) == [Line("Hel", "answer"), Line("lo", "answer"), Line("Hm", "thought")]


def test_a_tool_call_is_one_line_for_each_state_it_gets_into() -> None:
    begun = wire.ToolCall("t", "Look around", kind="read", status="in_progress", locations=[wire.Location("/a", 3)])
    same = wire.ToolCallUpdate("t", status="in_progress")
    ended = wire.ToolCallUpdate("t", status="completed", content=[text("one\ntwo")])
    assert shown(begun, same, ended) == [
        Line("● Look around (read) /a:3"),
        Line("✓ Look around"),
        Line("    one"),
        Line("    two"),
    ]


def test_a_change_to_a_file_shows_what_goes_and_what_comes() -> None:
    change = wire.ToolCallUpdate(
        "t", content=[wire.Diff("/a", "one\nkept\n", "two\nkept\n"), wire.Diff("/b", None, "x")]
    )
    assert [line.text for line in shown(wire.ToolCall("t", "Edit", status="completed"), change)] == [
        "✓ Edit",
        "    /a",
        "    @@ -1,2 +1,2 @@",
        "    -one",
        "    +two",
        "     kept",
        "    /b (new)",
        "    @@ -0,0 +1 @@",
        "    +x",
    ]


def test_what_is_long_is_cut_and_counted() -> None:
    lines = shown(wire.ToolCall("t", "Read", status="completed", content=[text("\n".join("x" * (MOST_LINES + 5)))]))
    assert (len(lines), lines[-1]) == (MOST_LINES + 2, Line("    … and 5 more lines"))


@pytest.mark.parametrize(
    ("update", "line"),
    [
        (wire.UserChunk(wire.Text("Hi")), "> Hi"),
        (
            wire.CommandsUpdate([wire.AvailableCommand("new", ""), wire.AvailableCommand("mcp", "")]),
            "commands: /new /mcp",
        ),
        (wire.ModeUpdate("ask"), "mode: ask"),
        (wire.OptionsUpdate([wire.ConfigOption("fast", "Fast", "boolean", True)]), "options: fast=true"),
        (wire.InfoUpdate("Notes"), "title: Notes"),
        (wire.UsageUpdate(1200, 200_000, wire.Cost(0.5, "EUR")), "context: 1,200 of 200,000 tokens, 0.5 EUR"),
        (wire.Notice("warning", "No db.", "It failed."), "warning: No db. It failed."),
        (wire.CompactionUpdate("c", "failed", error="too long"), "compaction: failed (too long)"),
    ],
)
def test_everything_else_is_a_line_of_its_own(update: wire.Update, line: str) -> None:
    assert shown(update) == [Line(line)]


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (wire.Image("AAAA", "image/png"), "[image/png, 3 bytes]"),
        (wire.Audio("not base64!", "audio/wav"), "[audio/wav, 0 bytes]"),
        (wire.ResourceLink("a", "file:///a"), "[a: file:///a]"),
        (wire.EmbeddedResource(wire.Resource("file:///a", text="words")), "words"),
        (wire.EmbeddedResource(wire.Resource("file:///a", blob="AAAA")), "[file:///a]"),
    ],
)
def test_content_that_is_no_text_is_named(block: wire.Block, words: str) -> None:
    assert shown(wire.MessageChunk(block)) == [Line(words, "answer")]


def test_every_kind_of_update_is_shown_without_a_fault() -> None:
    raw = b'{"sessionUpdate":"plan","entries":[{"content":"Look","priority":"high","status":"completed"}]}'
    assert shown(msgspec.json.decode(raw, type=wire.Update)) == [Line("plan:"), Line("    ✓ Look")]


def test_what_is_on_the_screen_is_not_shown_again_when_it_is_asked_about() -> None:
    screen = Screen()
    content: list[wire.ToolContent] = [text("It would run.")]
    others: list[wire.ToolContent] = [text("Another would.")]
    call = wire.ToolCallFields("t", content=content)
    assert screen.unseen(call) == content
    screen.update(wire.ToolCall("t", "Start", content=content))
    assert (screen.unseen(call), screen.unseen(wire.ToolCallFields("t", content=others))) == ([], others)
