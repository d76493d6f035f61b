"""Pictures and recordings of conversations: in private files beside the store, once each, for as long as somebody needs them."""

import base64
import sqlite3
import stat
from pathlib import Path

import pytest

from openclaw.content import Audio, Image, Message, Text, ToolMessage, UserMessage
from openclaw.errors import StoreError
from openclaw.sessions.event import Custom, Said, encode
from openclaw.sessions.export import jsonl
from openclaw.sessions.migrations import APPLICATION_ID, STEPS
from openclaw.sessions.sqlite import SqliteStore
from parts.modes import PRIVATE_DIRECTORY, PRIVATE_FILE

PICTURE = b"\x89PNG a picture " * 5_000
SOUND = b"RIFF a recording " * 5_000
SHOWN = UserMessage((Text("Look."), Image(PICTURE, "image/png"), Audio(SOUND, "audio/wav")))
FOUND = ToolMessage("c1", "camera", (Image(PICTURE, "image/png"), Text("again")))


def media_files(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "s.media").rglob("*") if path.is_file())


async def say(store: SqliteStore, key: str, *messages: Message) -> None:
    async with store.turn(key, "main") as turn:
        turn.append(*messages)


async def history(store: SqliteStore, key: str) -> list[Message]:
    async with store.turn(key, "main") as turn:
        return turn.history()


async def test_media_are_files_beside_the_store_and_not_in_it(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    await say(store, "k", SHOWN)
    await store.close()

    assert sorted(path.read_bytes() for path in media_files(tmp_path)) == sorted([PICTURE, SOUND])
    written = (tmp_path / "s").read_bytes()
    assert len(written) < len(PICTURE)
    assert base64.b64encode(PICTURE)[:100] not in written
    folders = {path.parent for path in media_files(tmp_path)} | {tmp_path / "s.media"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in media_files(tmp_path)} == {PRIVATE_FILE}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {PRIVATE_DIRECTORY}


async def test_history_and_export_still_have_them(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    await say(store, "k", SHOWN, FOUND)
    await store.close()

    again = SqliteStore(tmp_path / "s")
    assert await history(again, "k") == [SHOWN, FOUND]
    exported = "\n".join(jsonl(await again.show("k")))
    await again.close()
    assert base64.b64encode(PICTURE).decode() in exported
    assert base64.b64encode(SOUND).decode() in exported


async def test_the_same_picture_is_stored_once_however_often_it_is_said_or_kept(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    await say(store, "k", SHOWN, FOUND)
    await say(store, "other", SHOWN)
    async with store.turn("k", "main") as turn:
        turn.compact("notes", turn.history())
    assert len(media_files(tmp_path)) == 2
    assert (await history(store, "k"))[1:] == [SHOWN, FOUND]
    await store.close()


async def test_deleting_a_conversation_deletes_what_it_alone_needed(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    await say(store, "a", SHOWN)
    await say(store, "b", FOUND)

    await store.delete("a")
    assert [path.read_bytes() for path in media_files(tmp_path)] == [PICTURE]
    assert await history(store, "b") == [FOUND]
    await store.delete("b")
    await store.close()
    assert list((tmp_path / "s.media").iterdir()) == []


async def test_a_file_that_somebody_took_away_costs_the_picture_alone(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    await say(store, "k", SHOWN)
    next(path for path in media_files(tmp_path) if path.read_bytes() == PICTURE).unlink()

    gone = Text("[image/png that is no longer in the session store]")
    assert await history(store, "k") == [UserMessage((Text("Look."), gone, Audio(SOUND, "audio/wav")))]
    await store.close()


async def test_a_store_from_before_is_taken_over_and_becomes_smaller(tmp_path: Path) -> None:
    """As the first version wrote it: Base64 inside the events."""
    connection = sqlite3.connect(tmp_path / "s", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    for statement in STEPS[0]:
        assert isinstance(statement, str)
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 1")
    connection.execute("INSERT INTO sessions VALUES (1, 'k', 'id', 'main', 1000, 2000, 3, 3, 0)")
    said: list[Message] = [SHOWN, UserMessage((Text('a quoted "type":"image"'),)), FOUND]
    for seq, message in enumerate(said, 1):
        connection.execute("INSERT INTO events VALUES (?, 1, ?, 1000, ?)", (seq, seq, encode(Said(message))))
    connection.close()
    before = (tmp_path / "s").stat().st_size

    store = SqliteStore(tmp_path / "s")
    assert await history(store, "k") == said
    assert [info.messages for info in await store.list()] == [3]
    await store.close()

    assert len(media_files(tmp_path)) == 2
    assert (tmp_path / "s").stat().st_size < before - len(PICTURE) - len(SOUND)


async def test_no_media_are_read_to_note_something_behind_the_last_event(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    async with store.turn("k", "main") as turn:
        turn.append(SHOWN)
        turn.note("answer", "r1")
    for file in media_files(tmp_path):
        # What cannot be read, whoever tries.
        file.unlink()
        file.mkdir()
    noted = await store.note_behind("k", Custom("answer", "r1"), Custom("continued", "r1"))
    with pytest.raises(StoreError):
        await store.show("k")
    await store.close()

    assert noted
