"""The session store among processes that share it and processes that die."""

import asyncio
import sys
from pathlib import Path

from openclaw.content import UserMessage, text_of
from openclaw.sessions.sqlite import SqliteStore
from parts.session_kills import kill_writers, lost_or_doubled, start_writer, stored_turns


async def test_killed_writers_lose_no_acknowledged_turn_and_leave_a_readable_store(tmp_path: Path) -> None:
    outcome = await kill_writers(tmp_path / "s", kills=6, seed=1)

    assert lost_or_doubled(outcome) == {}
    assert outcome.sound
    assert all(outcome.acknowledged.values())


async def test_eight_processes_in_one_session_lose_and_interleave_nothing(tmp_path: Path) -> None:
    names = [f"writer-{n}" for n in range(8)]
    writers = [await start_writer(tmp_path / "s", "shared", name, turns=8) for name in names]
    await asyncio.gather(*(writer.communicate() for writer in writers))

    assert [writer.returncode for writer in writers] == [0] * 8
    assert await stored_turns(tmp_path / "s", "shared") == {name: list(range(8)) for name in names}


async def test_two_processes_take_turns_in_one_session(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    async with store.turn("shared", "main") as turn:
        writer = await start_writer(tmp_path / "s", "shared", "other", turns=1)
        assert writer.stdout
        # It is up when it has looked at the lock; whether or not it has, it must not have written.
        assert [info.key for info in await store.list()] == []
        turn.append(UserMessage(()))
    told, _ = await writer.communicate()

    async with store.turn("shared", "main") as turn:
        first, second, *_ = turn.history()
    await store.close()
    assert told == b"0\n"
    assert first == UserMessage(())
    assert isinstance(second, UserMessage)
    assert text_of(second.content) == "other 0 1"


async def test_a_killed_process_gives_its_turn_up(tmp_path: Path) -> None:
    """The writer is killed in the middle of a turn it will never end; the next turn begins."""
    script = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from openclaw.sessions.sqlite import SqliteStore\n"
        "async def main():\n"
        "    async with SqliteStore(Path(sys.argv[1])).turn('shared', 'main'):\n"
        "        os.write(1, b'in\\n')\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(tmp_path / "s"), stdout=asyncio.subprocess.PIPE
    )
    assert holder.stdout
    assert await holder.stdout.readline() == b"in\n"
    writer = await start_writer(tmp_path / "s", "shared", "next", turns=1)
    holder.kill()
    told, _ = await writer.communicate()
    await holder.communicate()

    assert told == b"0\n"
    assert await stored_turns(tmp_path / "s", "shared") == {"next": [0]}
