"""Kill processes with -9 while they write turns, and look at what the store then holds."""

import asyncio
import os
import random
import sqlite3
import sys
from dataclasses import dataclass
from pathlib import Path

from openclaw.content import Message, UserMessage, text_of
from openclaw.fleet.cut_turn import CUT, CUT_WORDS
from openclaw.sessions.event import Custom, Said
from parts.session_writer import opened, turn_messages

WRITER = Path(__file__).with_name("session_writer.py")
# Messages in a turn of the writer.
TURN = 3


@dataclass(frozen=True)
class Outcome:
    """`acknowledged` and `stored` are the turn numbers of each writer, in order."""

    acknowledged: dict[str, list[int]]
    stored: dict[str, list[int]]
    sound: bool


async def start_writer(place: Path | str, key: str, name: str, turns: int = 0) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, str(WRITER), str(place), key, name, str(turns)),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(WRITER.parent.parent)},
    )


async def kill_writers(place: Path | str, kills: int, seed: int) -> Outcome:
    """One writer after another is killed in the same session, each after a few turns, while a bystander writes on in its own."""
    chance = random.Random(seed)
    acknowledged: dict[str, list[int]] = {}
    bystander = await start_writer(place, "bystander", "bystander")
    try:
        for number in range(kills):
            name = f"writer-{number}"
            writer = await start_writer(place, "shared", name)
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
    stored = await stored_turns(place, "shared") | await stored_turns(place, "bystander")
    return Outcome(acknowledged, stored, isinstance(place, str) or is_sound(place))


async def stored_turns(place: Path | str, key: str) -> dict[str, list[int]]:
    """The turns of each writer, in order. Fails unless each is whole, in one piece, and knew everything stored before it."""
    async with opened(str(place)) as store:
        entries = (await store.show(key)).entries
    # Behind a turn whose writer was killed before it gave the conversation back may stand a note: the last message is no answer.
    events = [entry.event for entry in entries if entry.event != Custom(CUT, CUT_WORDS)]
    messages: list[Message] = [event.message for event in events if isinstance(event, Said)]
    assert len(messages) == len(events)
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
