"""The tour's screen: nothing unread is pushed out, also where a word is wider than a line."""

from openclaw.commands.console import Console
from openclaw.demo.screen import Screen

ROWS, COLUMNS = 24, 80


async def test_commands_that_fill_more_than_a_screen_are_read_in_parts() -> None:
    written: list[str] = []
    screens: list[str] = []

    async def pause() -> None:
        screens.append("".join(written))
        written.clear()

    console = Console(out=written.append, err=written.append, width=COLUMNS)
    screen = Screen(console, rows=ROWS, pause=pause)
    program = "/" + "a long way/" * 12 + "openclaw"
    await screen.say("Before.")
    await screen.yourself([(f"'{program}' mcp call number {number}", "what it does") for number in range(9)])
    await screen.pause()

    rows = [sum(max(-(-len(line) // COLUMNS), 1) for line in shown.splitlines()) for shown in screens]
    assert len(rows) > 1
    assert max(rows) < ROWS
    assert "".join(screens).count(program) == 9
