"""What a turn costs as its session grows, without the model: an App, its session file, and a model that answers at once. Prints JSON.

    python -m bench.ours.turns ROUNDS MESSAGES,…

Sessions are made as turns make them: some exchanges with calls and results are stored, then a turn is taken, which shortens the
conversation when it no longer fits the model's window. Sizes take turns; each round has a new session of the smallest size, which would
no longer be small otherwise. A turn before the one that counts has made every session known.
"""

import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.ours.driver import run
from openclaw.app import App
from openclaw.config.load import load_config
from openclaw.config.paths import Paths
from openclaw.content import AssistantMessage, Message, Text, ToolCall, ToolMessage, Usage, UserMessage
from openclaw.conversation import Conversation
from openclaw.sessions.key import session_key

AGENT = "main"
# More answers than any run asks for: 1,500 turns a second were seen of one gateway.
ANSWERS = 100_000
# Messages that are stored between two turns while a session is made: far fewer than a window holds.
STEP = 500
SMALLEST = 10


def exchange(number: int) -> list[Message]:
    """A question, a call, its result and an answer, as long as they usually are."""
    asked = (
        f"Please look up ticket {number} of the project and tell me its state; the last time it was waiting for review."
    )
    found = f"Ticket {number}: open, assigned to Kim, due on the 4th. It waits for the review of two changes. " * 3
    call = ToolCall(f"call-{number}", "tickets__search", {"query": f"ticket {number}", "limit": 5})
    return [
        UserMessage((Text(asked),)),
        AssistantMessage((call,), "scripted/answers", Usage(900, 40), "tools"),
        ToolMessage(call.id, call.name, (Text(found),), source="mcp:tickets"),
        AssistantMessage(
            (Text(f"Ticket {number} is open: Kim has it, and two changes wait for their review."),),
            "scripted/answers",
            Usage(1_200, 60),
            "end",
        ),
    ]


@asynccontextmanager
async def opened_app(more: dict[str, Any] | None = None) -> AsyncIterator[App]:
    """An App with a model that plays a script, in the state directory of the environment."""
    paths = Paths.from_env(os.environ)
    paths.config_file.parent.mkdir(parents=True, exist_ok=True)
    script = paths.config_file.with_name("answers.json")
    script.write_text(json.dumps([{"text": "That is all there is to say."}] * ANSWERS))
    config = {"agents": {"defaults": {"model": f"scripted/{script}"}}, **(more or {})}
    paths.config_file.write_text(json.dumps(config))
    async with App(load_config(paths, os.environ), paths=paths, workspace=Path.cwd()) as app:
        yield app


class Sessions:
    def __init__(self, app: App) -> None:
        self._app = app
        self._made = 0

    async def of(self, messages: int) -> str:
        """A new session of about so many messages: its key."""
        self._made += 1
        key = f"bench-{self._made}"
        said = 0
        while said < messages:
            step = min(STEP, messages - said)
            async with self._app.store.turn(session_key(AGENT, key), AGENT) as turn:
                told = [one for number in range(said, said + step, 4) for one in exchange(number)]
                turn.append(*told[:step])
                turn.note_foreign(["mcp:tickets"])
            said += step
            if said < messages:
                await self.turn(key)
        return key

    async def turn(self, key: str) -> None:
        reply = await self._app.reply("And what is next?", Conversation(AGENT, key))
        if reply.reason != "done":
            sys.exit(f"a turn ended otherwise: {reply.reason} {reply.error}")

    async def seen(self, key: str) -> int:
        """Messages that the model sees."""
        async with self._app.store.turn(session_key(AGENT, key), AGENT) as turn:
            return len(turn.history())


async def main() -> None:
    rounds, sizes = int(sys.argv[1]), [int(size) for size in sys.argv[2].split(",")]
    async with opened_app() as app:
        sessions = Sessions(app)
        keys = {size: await sessions.of(size) for size in sizes if size != SMALLEST}
        taken: dict[int, dict[str, list[float]]] = {size: {"wall": [], "cpu": []} for size in sizes}
        for _ in range(rounds):
            for size in sizes:
                key = keys[size] if size in keys else await sessions.of(size)
                await sessions.turn(key)
                wall, cpu = time.perf_counter(), time.process_time()
                await sessions.turn(key)
                taken[size]["cpu"].append(time.process_time() - cpu)
                taken[size]["wall"].append(time.perf_counter() - wall)
        seen = {size: await sessions.seen(key) for size, key in keys.items()}
        print(json.dumps({str(size): {**found, "seen": seen.get(size, size)} for size, found in taken.items()}))


if __name__ == "__main__":
    run(main())
