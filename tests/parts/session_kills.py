"""Kill processes with -9 while they write turns, and look at what the store then holds."""

import asyncio
import random
import sqlite3
import sys
from dataclasses import dataclass
from pathlib import Path

from openclaw.content import Message, UserMessage, text_of
from openclaw.sessions.event import Said
from openclaw.sessions.sqlite import SqliteStore
from parts.session_writer import turn_messages

WRITER = Path(__file__).with_name("session_writer.py")
# Messages in a turn of the writer.
TURN = 3


@dataclass(frozen=True)
class Outcome:
    """`acknowledged` and `stored` are the turn numbers of each writer, in order."""

    acknowledged: dict[str, list[int]]
    stored: dict[str, list[int]]
    sound: bool


async def start_writer(path: Path, key: str, name: str, turns: int = 0) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, str(WRITER), str(path), key, name, str(turns), stdout=asyncio.subprocess.PIPE
    )


async def kill_writers(path: Path, kills: int, seed: int) -> Outcome:
    """One writer after another is killed in the same session, each after a few turns, while a bystander writes on in its own."""
    chance = random.Random(seed)
    acknowledged: dict[str, list[int]] = {}
    bystander = await start_writer(path, "bystander", "bystander")
    try:
        for number in range(kills):
            name = f"writer-{number}"
            writer = await start_writer(path, "shared", name)
            assert writer.stdout
            acks = [await writer.stdout.readline() for _ in range(chance.randint(1, 6))]
            writer.kill()
            rest, _ = await writer.communicate()
            acknowledged[name] = [int(line) for line in (b"".join(acks) + rest).split()]
        assert bystander.returncode is None, "the bystander failed"
    finally:
        if bystander.returncode is None:
            bystander.kill()
        output, _ = await bystander.communicate()
    acknowledged["bystander"] = [int(line) for line in output.split()]
    stored = await stored_turns(path, "shared") | await stored_turns(path, "bystander")
    return Outcome(acknowledged, stored, is_sound(path))


async def stored_turns(path: Path, key: str) -> dict[str, list[int]]:
    """The turns of each writer, in order. Fails unless each is whole, in one piece, and knew everything stored before it."""
    store = SqliteStore(path)
    entries = (await store.show(key)).entries
    await store.close()
    messages: list[Message] = [entry.event.message for entry in entries if isinstance(entry.event, Said)]
    assert len(messages) == len(entries)
    found: dict[str, list[int]] = {}
    for start in range(0, len(messages), TURN):
        first = messages[start]
        assert isinstance(first, UserMessage)
        name, number, _ = text_of(first.content).split()
        assert tuple(messages[start : start + TURN]) == turn_messages(name, int(number), start)
        found.setdefault(name, []).append(int(number))
    return found


def is_sound(path: Path) -> bool:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        connection.close()


def lost_or_doubled(outcome: Outcome) -> dict[str, tuple[list[int], list[int]]]:
    """Writers whose stored turns are not what they acknowledged, but for one last turn that was stored and not yet told."""
    wrong = {}
    for name, told in outcome.acknowledged.items():
        stored = outcome.stored.get(name, [])
        if told != list(range(len(told))) or stored not in (told, [*told, len(told)]):
            wrong[name] = (told, stored)
    return wrong
