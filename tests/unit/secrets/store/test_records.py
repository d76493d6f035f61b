"""Sealed records, wherever they are kept: the same promises in files and in PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest

from openclaw.auth.records import Registration, ServerRecord
from openclaw.errors import StoreError
from openclaw.fleet.tokens import SharedKey
from openclaw.protocol.oauth.registration import OAuthClient
from openclaw.secrets.store.encrypted import EncryptedStore
from openclaw.secrets.store.key import StoreKey
from openclaw.secrets.store.records import FileRecords, Records
from parts.postgres import PostgresServer, fleet_at

NAME, OTHER = (sha256(word).hexdigest() for word in (b"one", b"other"))
CLIENT = OAuthClient(
    "client", issuer="issuer", secret="a-secret-of-the-client", method="client_secret_basic", source="dynamic"
)


async def passphrase() -> str:
    return "correct horse battery staple"


@pytest.fixture(params=["files", pytest.param("postgres", marks=pytest.mark.real)])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EncryptedStore]:
    if request.param == "files":
        yield EncryptedStore(FileRecords(tmp_path), StoreKey(tmp_path, configured=passphrase, keychain=None))
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    fleet = fleet_at(await server.new_database())
    await fleet.begin()
    yield EncryptedStore(fleet.tokens, SharedKey(fleet.database, "secret://env/KEY", lambda key: passphrase()))
    await fleet.close()


@pytest.fixture
def records(store: EncryptedStore) -> Records:
    return store.records


async def test_what_is_written_is_read_until_it_is_deleted(records: Records) -> None:
    assert (await records.read(NAME), records.stamp(NAME)) == (None, 0)
    assert await records.write(NAME, "Kind", b"sealed")
    found = await records.read(NAME)
    assert found is not None
    assert (found.content, await records.read(OTHER)) == (b"sealed", None)
    assert (await records.delete(NAME), await records.delete(NAME)) == (True, False)
    assert (await records.read(NAME), records.stamp(NAME)) == (None, 0)


async def test_every_change_is_noticed_by_its_stamp(records: Records) -> None:
    seen = [records.stamp(NAME)]
    for content in (b"a", b"b"):
        await records.write(NAME, "Kind", content)
        seen.append(records.stamp(NAME))
    await records.delete(NAME)
    await records.write(NAME, "Kind", b"b")
    seen.append(records.stamp(NAME))
    assert len(set(seen)) == len(seen)
    assert (records.changes, records.is_checked) == (4, True)
    await records.check()


async def test_a_record_takes_the_place_of_the_revision_that_was_read_and_of_no_other(records: Records) -> None:
    await records.write(NAME, "Kind", b"first")
    first = await records.read(NAME)
    assert first is not None
    assert await records.write(NAME, "Kind", b"second", after=first.revision)
    assert not await records.write(NAME, "Kind", b"too late", after=first.revision)
    await records.delete(NAME)
    assert not await records.write(NAME, "Kind", b"too late", after=first.revision)
    assert await records.read(NAME) is None


async def test_of_many_who_replace_the_same_revision_one_does(records: Records) -> None:
    await records.write(NAME, "Kind", b"first")
    first = await records.read(NAME)
    assert first is not None

    async def replace(number: int) -> bool:
        async with records.lock(NAME):
            return await records.write(NAME, "Kind", b"%d" % number, after=first.revision)

    assert sorted(await asyncio.gather(*map(replace, range(8)))) == [False] * 7 + [True]


async def test_a_name_is_held_by_one_at_a_time(records: Records) -> None:
    inside, most = 0, 0

    async def hold() -> None:
        nonlocal inside, most
        async with records.lock(NAME):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    async with records.lock(OTHER):
        await asyncio.gather(*(hold() for _ in range(5)))
    assert most == 1


async def test_a_record_opens_under_its_own_kind_and_identity_alone(store: EncryptedStore) -> None:
    await store.write(Registration(CLIENT), "issuer", "url", "")
    assert await store.read(Registration, "issuer", "url", "") == Registration(CLIENT)
    assert await store.read(Registration, "issuer", "url", "research") is None
    sealed = await store.records.read(sha256(b'["Registration","issuer","url",""]').hexdigest())
    assert sealed is not None
    assert b"a-secret-of-the-client" not in sealed.content
    # Put in another's place, it is not used.
    await store.records.write(sha256(b'["Registration","issuer","url","research"]').hexdigest(), "x", sealed.content)
    with pytest.raises(StoreError, match="damaged, or was put there from elsewhere"):
        await store.read(Registration, "issuer", "url", "research")


async def test_a_record_is_replaced_only_while_it_is_the_one_that_was_read(store: EncryptedStore) -> None:
    one, two, three = (ServerRecord(issuer=name) for name in ("one", "two", "three"))
    assert not await store.replace(one, two, "x")
    await store.write(one, "x")
    assert await store.replace(one, two, "x")
    assert not await store.replace(one, three, "x")
    assert await store.read(ServerRecord, "x") == two


async def test_the_source_of_the_key_is_known_once_something_is_stored(store: EncryptedStore) -> None:
    assert await store.key.source() is None
    await store.write(ServerRecord(), "x")
    assert (await store.key.source(), await store.key.warn()) == ("config", "")
