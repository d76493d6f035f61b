"""The session file: private, shared, versioned, and one clear sentence for everything that can be wrong with it."""

import asyncio
import sqlite3
import stat
import sys
from pathlib import Path

import pytest

from openclaw.content import Text, UserMessage
from openclaw.errors import StoreError
from openclaw.sessions.database import store_error
from openclaw.sessions.event import Said, pack
from openclaw.sessions.migrations import APPLICATION_ID, STEPS
from openclaw.sessions.sqlite import SqliteStore
from parts.modes import PRIVATE_DIRECTORY, PRIVATE_FILE


def user(text: str) -> UserMessage:
    return UserMessage((Text(text),))


def names_under(directory: Path) -> list[str]:
    return sorted(p.name for p in directory.rglob("*"))


def bytes_under(directory: Path) -> bytes:
    return b"".join(p.read_bytes() for p in directory.rglob("*") if p.is_file())


async def say(path: Path, text: str) -> None:
    store = SqliteStore(path)
    try:
        async with store.turn("k", "main") as turn:
            turn.append(user(text))
    finally:
        await store.close()


async def fault(path: Path) -> str:
    """The sentence a turn on this file ends with."""
    with pytest.raises(StoreError) as caught:
        await say(path, "hello")
    return str(caught.value)


async def test_a_conversation_is_there_after_the_store_is_opened_again(tmp_path: Path) -> None:
    await say(tmp_path / "s", "first")
    await say(tmp_path / "s", "second")

    store = SqliteStore(tmp_path / "s")
    async with store.turn("k", "main") as turn:
        assert turn.history() == [user("first"), user("second")]
    await store.close()


async def test_two_open_stores_of_one_file_take_turns(tmp_path: Path) -> None:
    first, second = SqliteStore(tmp_path / "s"), SqliteStore(tmp_path / "s")
    order: list[str] = []

    async def wait() -> None:
        async with second.turn("k", "main") as turn:
            order.append("second begins")
            assert turn.history() == [user("a")]

    async with first.turn("k", "main") as turn:
        waiting = asyncio.create_task(wait())
        # Reading goes on beside the turn; afterwards the other store has surely looked at the lock.
        for _ in range(10):
            assert await second.list() == ()
        turn.append(user("a"))
        order.append("first ends")
    await waiting
    await first.close()
    await second.close()

    assert order == ["first ends", "second begins"]


async def test_the_file_keeps_every_commit_on_the_disk(tmp_path: Path) -> None:
    await say(tmp_path / "s", "a")

    connection = sqlite3.connect(tmp_path / "s")
    mode = connection.execute("PRAGMA journal_mode").fetchone()
    connection.close()
    assert mode == ("wal",)


async def test_the_file_and_its_new_directories_are_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "home" / "py" / "s"
    store = SqliteStore(path)
    async with store.turn("k", "main") as turn:
        turn.append(user("a"))
        await turn.commit()
        modes = {
            p.relative_to(tmp_path).as_posix(): stat.S_IMODE(p.stat().st_mode)
            for p in (path, path.parent, path.parent.parent, path.with_name("s-wal"), path.with_name("s.locks"))
        }
    await store.close()

    assert modes == {
        "home": PRIVATE_DIRECTORY,
        "home/py": PRIVATE_DIRECTORY,
        "home/py/s": PRIVATE_FILE,
        "home/py/s-wal": PRIVATE_FILE,
        "home/py/s.locks": PRIVATE_DIRECTORY,
    }


@pytest.mark.posix_only("modes of files, and removing one that is open")
async def test_no_key_becomes_a_path_and_no_lock_file_stays(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    for key in ("../../escape", "a/b", "\0", "x" * 10_000):
        async with store.turn(key, "main") as turn:
            turn.append(user("a"))
    await store.close()

    assert names_under(tmp_path) == ["s", "s.locks"]


async def test_looking_at_a_store_that_does_not_exist_leaves_nothing_behind(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "none" / "s")

    assert await store.list() == ()
    with pytest.raises(StoreError, match="There is no session"):
        await store.show("k")
    await store.close()

    assert not (tmp_path / "none").exists()


async def test_deleted_words_are_no_longer_in_the_file(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    async with store.turn("k", "main") as turn:
        turn.append(user("a very private word"))
    await store.delete("k")
    held = bytes_under(tmp_path)
    await store.close()

    assert b"very private" not in held


async def test_a_commit_that_was_begun_ends_before_its_cancelled_caller_goes_on(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    begun = asyncio.Event()

    async def take_turn() -> None:
        async with store.turn("k", "main") as turn:
            turn.append(user("x" * 5_000_000))
            begun.set()
            await turn.commit()

    task = asyncio.create_task(take_turn())
    await begun.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    async with store.turn("k", "main") as turn:
        assert turn.history() == [user("x" * 5_000_000)]
    await store.close()


async def test_conversations_of_an_older_version_are_titled_by_their_first_words(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    connection = sqlite3.connect(path)
    for statement in (statement for step in STEPS[:2] for statement in step):
        if isinstance(statement, str):
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 2")
    connection.execute("INSERT INTO sessions VALUES (1, 'k', 'id', 'main', 1, 1, 1, 1, 0)")
    said = pack(Said(UserMessage((Text("Plan a trip"),)))).body
    connection.execute("INSERT INTO events (session, seq, at_ms, body) VALUES (1, 1, 1, ?)", (said,))
    connection.commit()
    connection.close()

    store = SqliteStore(path)
    assert [info.title for info in await store.list()] == ["Plan a trip"]
    await store.close()


async def test_a_file_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    await say(tmp_path / "s", "a")
    connection = sqlite3.connect(tmp_path / "s")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = (tmp_path / "s").read_bytes()

    assert await fault(tmp_path / "s") == (
        f"The session store {tmp_path / 's'} was written by a later OpenClaw"
        f" (version 99; this one knows {len(STEPS)}). Update OpenClaw."
    )
    assert (tmp_path / "s").read_bytes() == before


async def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "s")
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    before = (tmp_path / "s").read_bytes()

    assert "it is a database of another program" in await fault(tmp_path / "s")
    assert (tmp_path / "s").read_bytes() == before


async def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("these are notes, " * 100)

    assert await fault(tmp_path / "s") == (
        f"The session store {tmp_path / 's'} cannot be used: it is not a session store."
        " Move it away; a new one is made at the next turn."
    )


async def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    await say(tmp_path / "s", "a")
    data = bytearray((tmp_path / "s").read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    (tmp_path / "s").write_bytes(data)

    assert "it is damaged" in await fault(tmp_path / "s")


@pytest.mark.posix_only("modes of files, and removing one that is open")
async def test_a_directory_in_the_files_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()

    assert await fault(tmp_path / "s") == (
        f"The session store {tmp_path / 's'} cannot be used: Is a directory."
        " Check that the path is in a directory you may write to."
    )


@pytest.mark.posix_only("modes of files, and removing one that is open")
async def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where a directory should be")

    sentence = await fault(tmp_path / "home" / "s")
    assert sentence.startswith("The directory of session locks cannot be written: Not a directory. Check that ")
    assert str(tmp_path / "home") in sentence
    assert sentence.endswith(" is writable and its disk has room.")


@pytest.mark.posix_only("modes of files, and removing one that is open")
async def test_a_full_disk_fails_the_turn_and_leaves_the_store_readable(tmp_path: Path) -> None:
    """The limit on the size of files is the disk that is full; it is the only one that can be had without a mount."""
    await say(tmp_path / "s", "before")
    script = (
        "import asyncio, resource, sys\n"
        "from pathlib import Path\n"
        "from openclaw.content import Text, UserMessage\n"
        "from openclaw.errors import StoreError\n"
        "from openclaw.sessions.sqlite import SqliteStore\n"
        "async def main():\n"
        "    store = SqliteStore(Path(sys.argv[1]))\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "    try:\n"
        "        async with store.turn('k', 'main') as turn:\n"
        "            turn.append(UserMessage((Text('x' * 1_000_000),)))\n"
        "    except StoreError as error:\n"
        "        print(error)\n"
        "asyncio.run(main())\n"
    )
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(tmp_path / "s"), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await child.communicate()

    assert output.decode() == (
        f"The session store {tmp_path / 's'} cannot be used: the disk refused to read or write."
        " Check that the disk is healthy and has room.\n"
    )
    store = SqliteStore(tmp_path / "s")
    async with store.turn("k", "main") as turn:
        assert turn.history() == [user("before")]
    await store.close()


def test_a_store_that_may_only_be_read_is_named(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "s")
    connection.execute("CREATE TABLE t (a)")
    connection.execute("PRAGMA query_only = ON")
    with pytest.raises(sqlite3.OperationalError) as caught:
        connection.execute("INSERT INTO t VALUES (1)")
    connection.close()

    assert str(store_error(tmp_path / "s", caught.value)) == (
        f"The session store {tmp_path / 's'} cannot be used: it cannot be written."
        " Check the permissions of the file and of its directory."
    )


def test_a_disk_that_is_full_is_named(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "s")
    connection.execute("CREATE TABLE t (a)")
    connection.execute("PRAGMA max_page_count = 3")
    with pytest.raises(sqlite3.OperationalError) as caught:
        connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
    connection.close()

    assert "the disk is full" in str(store_error(tmp_path / "s", caught.value))


async def test_an_event_of_an_unknown_kind_gives_one_sentence(tmp_path: Path) -> None:
    await say(tmp_path / "s", "a")
    connection = sqlite3.connect(tmp_path / "s")
    connection.execute("UPDATE events SET body = ?", (b'{"type":"telepathy"}',))
    connection.commit()
    connection.close()

    assert "written by a later OpenClaw" in await fault(tmp_path / "s")


async def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """As a process leaves it that was killed between making the file and its tables."""
    (tmp_path / "s").touch()

    await say(tmp_path / "s", "a")

    connection = sqlite3.connect(tmp_path / "s")
    found = (
        connection.execute("PRAGMA user_version").fetchone() + connection.execute("PRAGMA application_id").fetchone()
    )
    connection.close()
    assert found == (len(STEPS), APPLICATION_ID)
