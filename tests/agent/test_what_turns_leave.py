"""What is left of a turn in memory once it is over: nothing that only a search for garbage would find.

Garbage is looked for seldom, and what waits for it lies between objects that stay: a gateway that takes turns all day grew by that."""

import gc
from pathlib import Path

from openclaw.app import App
from openclaw.conversation import Conversation
from parts.command_line import Home, parts_server

# The first load modules and fill caches.
FIRST, TURNS = 10, 50


async def test_turns_that_call_tools_leave_no_object_for_a_search_for_garbage(tmp_path: Path) -> None:
    home = Home(tmp_path, agents={"defaults": {"model": "builtin/offline"}}, mcp={"servers": {"parts": parts_server()}})
    called: set[str] = set()
    async with App(home.config(), paths=home.paths, env=home.environ) as app:
        for number in range(FIRST):
            await app.reply("echo what is on my list?", Conversation(session=f"first-{number % 3}"))
        gc.collect()
        gc.disable()
        try:
            for number in range(TURNS):
                reply = await app.reply(f"echo {number}", Conversation(session=f"k-{number % 3}"))
                called.update(call.name for call in reply.tool_calls)
            found = gc.collect()
        finally:
            gc.enable()
    assert called == {"parts__echo"}
    # Less than one for a turn.
    assert found < TURNS
