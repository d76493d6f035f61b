"""A process that takes turns in a session and says on stdout, after each one, that it is stored.

    python session_writer.py STORE KEY NAME TURNS

A turn is three messages. The first tells how many messages the session had before it, so that a lost, doubled or interleaved turn
shows in the transcript. Sizes differ, so that a kill meets every part of a write. TURNS 0 means: until killed.
"""

import asyncio
import itertools
import os
import sys
from pathlib import Path

from openclaw.content import AssistantMessage, Message, Text, ToolMessage, UserMessage
from openclaw.sessions.sqlite import SqliteStore

SIZES = (10, 60_000, 2_000, 0, 300_000)


def turn_messages(name: str, number: int, before: int) -> tuple[Message, ...]:
    return (
        UserMessage((Text(f"{name} {number} {before}"),)),
        AssistantMessage((Text("x" * SIZES[number % len(SIZES)]),), model=name),
        ToolMessage(f"{number}", name, (Text("done"),)),
    )


async def main(path: Path, key: str, name: str, turns: int) -> None:
    store = SqliteStore(path)
    for number in range(turns) if turns else itertools.count():
        async with store.turn(key, "main") as turn:
            turn.append(*turn_messages(name, number, len(turn.history())))
        os.write(1, f"{number}\n".encode())
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])))
