"""A process that takes turns in a session and says on stdout, after each one, that it is stored.

    python session_writer.py STORE KEY NAME TURNS

STORE is a file, or the address of a PostgreSQL: there a turn that was lost with the writer's life is taken again. A turn is three
messages. The first tells how many messages the session had before it, so that a lost, doubled or interleaved turn shows in the transcript.
 Sizes differ, so that a kill meets every part of a write. TURNS 0 means: until killed.
"""

import asyncio
import itertools
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from openclaw.content import AssistantMessage, Message, Text, ToolMessage, UserMessage
from openclaw.fleet.faults import GoneError, LostTurnError
from openclaw.fleet.presence import Times
from openclaw.sessions.sqlite import SqliteStore
from openclaw.sessions.store import Store
from parts.postgres import fleet_at

# A writer that is killed keeps others waiting no longer than a test has time for.
SHORT = Times(beat=0.5, ttl=3.0, fence=2.0)
SIZES = (10, 60_000, 2_000, 0, 300_000)


def turn_messages(name: str, number: int, before: int) -> tuple[Message, ...]:
    return (
        UserMessage((Text(f"{name} {number} {before}"),)),
        AssistantMessage((Text("x" * SIZES[number % len(SIZES)]),), model=name),
        ToolMessage(f"{number}", name, (Text("done"),)),
    )


@asynccontextmanager
async def opened(place: str) -> AsyncIterator[Store]:
    if not place.startswith("postgres://"):
        store = SqliteStore(Path(place))
        yield store
        await store.close()
        return
    fleet = fleet_at(place, name=f"writer-{os.getpid()}", times=SHORT)
    yield fleet.sessions
    await fleet.close()


async def write(store: Store, key: str, name: str, number: int) -> None:
    while True:
        try:
            async with store.turn(key, "main") as turn:
                turn.append(*turn_messages(name, number, len(turn.history())))
            return
        except (GoneError, LostTurnError):
            # Nothing of it was stored: that is what these two say.
            continue


async def main(place: str, key: str, name: str, turns: int) -> None:
    async with opened(place) as store:
        for number in range(turns) if turns else itertools.count():
            await write(store, key, name, number)
            os.write(1, f"{number}\n".encode())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
