"""Records at rest: encrypted, bound to what they belong to, never torn, and closed to whoever lacks the key."""

import asyncio
import base64
import json
import logging
import os
import socket
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from openclaw.auth.records import Registration, ServerRecord
from openclaw.errors import SecretError, StoreError
from openclaw.protocol.oauth.registration import OAuthClient
from openclaw.secrets.store.encrypted import EncryptedStore
from openclaw.secrets.store.key import StoreKey
from openclaw.secrets.store.keychain import Keychain, KeychainError, SystemKeychain
from openclaw.secrets.store.lock import hold
from openclaw.secrets.store.records import FileRecords
from parts.auth_keychain import FakeKeychain

RECORD = ServerRecord(issuer="https://login.example", wanted=("a-very-secret-scope",))


def store(folder: Path, *, key: str = "", keychain: Keychain | None = None) -> EncryptedStore:
    async def configured() -> str:
        return key

    return EncryptedStore(
        FileRecords(folder), StoreKey(folder, configured=configured if key else None, keychain=keychain)
    )


def records(folder: Path) -> set[Path]:
    return {path for path in folder.glob("*.json") if path.name != "store.json"}


def readable(folder: Path) -> str:
    """Names and content of all files, as text."""
    return "\n".join(path.name + path.read_bytes().decode("latin-1") for path in folder.iterdir())


async def test_a_record_comes_back_in_another_process(tmp_path: Path) -> None:
    await store(tmp_path).write(RECORD, "https://mcp.example", "me")
    assert await store(tmp_path).read(ServerRecord, "https://mcp.example", "me") == RECORD


async def test_nothing_stored_needs_no_key_and_makes_none(tmp_path: Path) -> None:
    folder = tmp_path / "tokens"
    assert await store(folder).read(ServerRecord, "x") is None
    assert await store(folder).delete(ServerRecord, "x") is False
    assert not folder.exists()


async def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "tokens"
    await store(folder).write(RECORD, "x")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.requirement("000-5.3-encrypted")
async def test_neither_content_nor_names_can_be_read_from_the_files(tmp_path: Path) -> None:
    await store(tmp_path).write(RECORD, "https://mcp.example/private", "helper")
    text = readable(tmp_path)
    assert not [word for word in ("secret-scope", "login.example", "mcp.example", "helper") if word in text]


async def test_a_file_put_in_anothers_place_does_not_open(tmp_path: Path) -> None:
    """The identity of a record is part of what is authenticated."""
    tokens = store(tmp_path)
    await tokens.write(RECORD, "https://mine.example", "me")
    mine = records(tmp_path)
    await tokens.write(RECORD, "https://theirs.example", "me")
    (theirs,) = records(tmp_path) - mine
    theirs.write_bytes(mine.pop().read_bytes())
    with pytest.raises(StoreError, match="damaged, or was put there from elsewhere"):
        await tokens.read(ServerRecord, "https://theirs.example", "me")


async def test_one_kind_of_record_is_not_taken_for_another(tmp_path: Path) -> None:
    tokens = store(tmp_path)
    await tokens.write(Registration(OAuthClient("c", "https://login.example", "dynamic")), "x")
    assert await tokens.read(ServerRecord, "x") is None


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: b"null",
        lambda data: b"\xff\xfe",
        lambda data: json.dumps({**json.loads(data), "nonce": "!"}).encode(),
        lambda data: json.dumps({**json.loads(data), "data": base64.b64encode(b"x" * 40).decode()}).encode(),
    ],
)
async def test_a_damaged_file_is_named_and_not_used(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    tokens = store(tmp_path)
    await tokens.write(RECORD, "x")
    (file,) = records(tmp_path)
    file.write_bytes(spoil(file.read_bytes()))
    with pytest.raises(StoreError, match=file.name):
        await tokens.read(ServerRecord, "x")


async def test_a_record_changes_its_stamp_when_it_is_written(tmp_path: Path) -> None:
    tokens = store(tmp_path)
    stamps = [tokens.stamp(ServerRecord, "x")]
    for _ in range(2):
        await tokens.write(RECORD, "x")
        stamps.append(tokens.stamp(ServerRecord, "x"))
    await tokens.delete(ServerRecord, "x")
    assert stamps[0] == tokens.stamp(ServerRecord, "x") == 0
    assert len(set(stamps)) == 3


async def test_a_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    tokens = store(tmp_path)
    inside: list[str] = []

    async def work(name: str) -> None:
        async with tokens.lock(ServerRecord, "x"):
            inside.append(name)
            await asyncio.sleep(0)
            assert inside[-1] == name

    await asyncio.gather(*(work(str(number)) for number in range(10)))
    assert len(inside) == 10


async def test_a_lock_is_not_given_up_before_a_write_that_was_cancelled_is_over(tmp_path: Path) -> None:
    records = FileRecords(tmp_path)

    async def write(content: bytes) -> None:
        async with records.lock("x"):
            await records.write("x", "Kind", content)

    for number in range(20):
        content = str(number).encode()
        writing = asyncio.create_task(write(content))
        # The lock is free, and so it waits for the disk then.
        await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        async with records.lock("x"):
            found = await records.read("x")
        assert found is not None
        assert (found.content, records.changes) == (content, number + 1)


async def test_a_lock_that_is_never_given_up_is_named(tmp_path: Path) -> None:
    async with hold(tmp_path / "x.lock", patience=1):
        with pytest.raises(StoreError, match=r"Another process has held .*x\.lock for more than 0\.05 s"):
            async with hold(tmp_path / "x.lock", patience=0.05):
                pass


async def test_a_lock_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be locked"):
        async with hold(tmp_path / "file" / "x.lock", patience=1):
            pass


async def test_no_record_is_ever_torn_by_kill_9(tmp_path: Path) -> None:
    """A process that does nothing but write is killed at any moment; what is there is whole."""
    program = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from openclaw.secrets.store.key import StoreKey\n"
        "from openclaw.secrets.store.records import FileRecords\n"
        "from openclaw.auth.records import ServerRecord\n"
        "from openclaw.secrets.store.encrypted import EncryptedStore\n"
        "async def main():\n"
        "    folder = Path(sys.argv[1])\n"
        "    store = EncryptedStore(FileRecords(folder), StoreKey(folder, configured=None, keychain=None))\n"
        "    for number in range(10**9):\n"
        "        await store.write(ServerRecord(issuer=str(number) * 1000), 'x')\n"
        "        print(number, flush=True)\n"
        "asyncio.run(main())\n"
    )
    for _ in range(3):
        writer = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            program,
            str(tmp_path),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert writer.stdout is not None
        for _ in range(20):
            await writer.stdout.readline()
        writer.kill()
        await writer.wait()
        record = await store(tmp_path).read(ServerRecord, "x")
        assert record is not None
        assert len(set(record.issuer.split(record.issuer[: len(record.issuer) // 1000]))) == 1


# Where the key comes from


@pytest.mark.requirement("000-5.3-keychain")
async def test_the_keychain_is_used_where_there_is_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    keychain = FakeKeychain()
    tokens = store(tmp_path, keychain=keychain)
    await tokens.write(RECORD, "x")
    assert await tokens.key.source() == "keychain"
    assert (len(keychain.values), caplog.messages, (tmp_path / "key").exists()) == (1, [], False)
    assert await store(tmp_path, keychain=keychain).read(ServerRecord, "x") == RECORD


async def test_without_a_keychain_a_private_file_is_used_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keychain = FakeKeychain()
    keychain.fault = "there is none here"
    caplog.set_level(logging.WARNING)
    for _ in range(2):
        await store(tmp_path, keychain=keychain).write(RECORD, "x")
    assert await store(tmp_path).key.source() == "file"
    assert len(caplog.messages) == 1
    assert str(tmp_path / "key") in caplog.messages[0]


async def test_a_person_is_told_of_the_key_file_once(tmp_path: Path) -> None:
    assert await store(tmp_path).key.warn() == ""
    await store(tmp_path).write(RECORD, "x")
    told = [await store(tmp_path).key.warn() for _ in range(2)]
    assert told[0].startswith(f"No keychain is used here: the key of the stored tokens is in the file {tmp_path}/key")
    assert told[1] == ""
    assert await store(tmp_path).read(ServerRecord, "x") == RECORD


async def test_nobody_is_told_of_a_key_that_is_elsewhere(tmp_path: Path) -> None:
    await store(tmp_path, keychain=FakeKeychain()).write(RECORD, "x")
    assert await store(tmp_path).key.warn() == ""


async def test_a_keychain_that_forgets_at_once_is_not_relied_on(tmp_path: Path) -> None:
    class Forgetful(FakeKeychain):
        async def write(self, account: str, value: str) -> None:
            return None

    tokens = store(tmp_path, keychain=Forgetful())
    await tokens.write(RECORD, "x")
    assert await tokens.key.source() == "file"


@pytest.mark.parametrize("key", ["a passphrase", "ab" * 32, base64.b64encode(bytes(range(40))).decode(), "short"])
async def test_a_configured_key_goes_before_all_others(tmp_path: Path, key: str) -> None:
    keychain = FakeKeychain()
    await store(tmp_path, key=key, keychain=keychain).write(RECORD, "x")
    assert (await store(tmp_path).key.source(), keychain.values, (tmp_path / "key").exists()) == ("config", {}, False)
    assert await store(tmp_path, key=key).read(ServerRecord, "x") == RECORD


async def open_with(folder: Path, **options: Any) -> str:
    with pytest.raises(StoreError) as caught:
        await store(folder, **options).read(ServerRecord, "x")
    return str(caught.value).replace(str(folder), "DIR")


async def test_servers_that_start_together_fetch_the_key_once(tmp_path: Path) -> None:
    fetched: list[str] = []

    async def configured() -> str:
        fetched.append("correct horse battery staple")
        return fetched[-1]

    key = StoreKey(tmp_path, configured=configured, keychain=None)
    first = await key.get()
    fetched.clear()
    again = StoreKey(tmp_path, configured=configured, keychain=None)
    assert [*await asyncio.gather(again.get(), again.get(), again.get())] == [first] * 3
    assert len(fetched) == 1


async def test_a_wrong_key_is_told_from_a_damaged_file(tmp_path: Path) -> None:
    await store(tmp_path, key="the right one").write(RECORD, "x")
    assert await open_with(tmp_path, key="a wrong one") == (
        "The tokens in DIR were encrypted with another key than the present one (`tokenStore.key`). "
        "Give the former key back, or remove that directory and sign in again."
    )


async def test_a_configured_key_that_is_gone_is_not_replaced(tmp_path: Path) -> None:
    await store(tmp_path, key="k").write(RECORD, "x")
    assert "which cannot be used: it is no longer set" in await open_with(tmp_path, keychain=FakeKeychain())


async def test_a_key_is_not_switched_when_one_is_configured_later(tmp_path: Path) -> None:
    await store(tmp_path).write(RECORD, "x")
    assert "are encrypted with a key file, but `tokenStore.key` is set now" in await open_with(tmp_path, key="k")


async def test_a_keychain_that_is_locked_or_emptied_closes_the_store(tmp_path: Path) -> None:
    keychain = FakeKeychain()
    await store(tmp_path, keychain=keychain).write(RECORD, "x")
    assert "the keychain may not be used here" in await open_with(tmp_path)
    keychain.fault = "it is locked"
    assert "which cannot be used: it is locked" in await open_with(tmp_path, keychain=keychain)
    keychain.fault = ""
    keychain.values = dict.fromkeys(keychain.values, "nonsense")
    assert "it is damaged" in await open_with(tmp_path, keychain=keychain)
    keychain.values.clear()
    assert "it is not there any more" in await open_with(tmp_path, keychain=keychain)
    assert not (tmp_path / "key").exists()


async def test_a_key_file_that_others_can_read_or_that_is_gone_closes_the_store(tmp_path: Path) -> None:
    await store(tmp_path).write(RECORD, "x")
    (tmp_path / "key").chmod(0o640)
    assert "others can read it (chmod 600 DIR/key)" in await open_with(tmp_path)
    (tmp_path / "key").unlink()
    assert "DIR/key is not there any more" in await open_with(tmp_path)


async def test_a_store_that_lost_its_description_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    await store(tmp_path).write(RECORD, "x")
    (tmp_path / "store.json").unlink()
    with pytest.raises(StoreError, match=r"store\.json, which says how they are encrypted, is missing"):
        await store(tmp_path).write(RECORD, "y")
    (tmp_path / "store.json").write_text("{")
    with pytest.raises(StoreError, match="cannot be read"):
        await store(tmp_path).read(ServerRecord, "x")


async def test_a_key_that_cannot_be_resolved_is_told_in_its_own_words(tmp_path: Path) -> None:
    async def configured() -> str:
        raise SecretError("secret://vault/x cannot be resolved.")

    with pytest.raises(SecretError, match="vault"):
        await EncryptedStore(FileRecords(tmp_path), StoreKey(tmp_path, configured=configured, keychain=None)).write(
            RECORD, "x"
        )
    assert not (tmp_path / "store.json").exists()


async def test_processes_that_start_together_agree_on_one_key(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from openclaw.secrets.store.key import StoreKey\n"
        "key = StoreKey(Path(sys.argv[1]), configured=None, keychain=None)\n"
        "print(asyncio.run(key.get()).hex())\n"
    )
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            program,
            str(tmp_path),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        for _ in range(4)
    ]
    keys = {(await process.communicate())[0] for process in processes}
    assert len(keys) == 1
    assert keys != {b""}


if sys.platform.startswith("linux"):
    # Elsewhere these would speak to the keychain of whoever runs the tests.

    async def test_a_keychain_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Somebody accepts the connection and never says a word: the loop goes on meanwhile, and the deadline ends the waiting."""
        address = tmp_path / "bus"
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(str(address))
            silent.listen()
            monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={address}")
            reading = asyncio.create_task(SystemKeychain(deadline=0.5).read("account"))
            beats = 0
            while not reading.done():
                await asyncio.sleep(0.01)
                beats += 1
            with pytest.raises(KeychainError, match="did not answer"):
                await reading
        assert beats > 1

    async def test_where_there_is_no_keychain_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={os.devnull}")
        with pytest.raises(KeychainError):
            await SystemKeychain().write("account", "value")


def test_records_keep_their_secrets_when_printed() -> None:
    assert repr(RECORD) == "ServerRecord()"
    assert "s3cret" not in repr(msgspec.structs.replace(OAuthClient("c", "i", "dynamic"), secret="s3cret"))
