"""Grants that last: the file and who sees it."""

import os
from datetime import date, timedelta
from pathlib import Path

import msgspec
import pytest

from openclaw.errors import StoreError
from openclaw.grant import Grant
from openclaw.lock import release, try_acquire
from openclaw.security.grants import MOST_GRANTS, GrantStore, unused
from parts.modes import PRIVATE_DIRECTORY, PRIVATE_FILE


def grant(number: int = 1, created: str = "") -> Grant:
    return Grant(f"g_{number}", f"tool-{number}", "server", "digest", "main", created=created)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "py" / "approvals.json"


def damage(file: Path) -> None:
    file.write_text("{not json")


def is_damaged(file: Path) -> bool:
    return file.read_text() == "{not json"


async def test_a_grant_is_there_for_every_process_and_after_a_restart(file: Path) -> None:
    one, other = GrantStore(file), GrantStore(file)
    assert other.all() == ()
    before = other.revision
    await one.add(grant())
    assert other.all() == one.all() == GrantStore(file).all() == (grant(),)
    assert other.revision != before
    assert await other.revoke("g_1")
    assert not await other.revoke("g_1")
    assert one.all() == ()


async def test_who_follows_hears_of_what_another_process_did_when_it_is_looked_at(file: Path) -> None:
    one, other = GrantStore(file), GrantStore(file)
    told: list[int] = []
    one.follow(lambda: told.append(len(one.all())))
    await other.add(grant())
    assert (one.all(), told) == ((grant(),), [1])


async def test_who_follows_hears_of_what_another_process_did_also_when_a_use_is_noted(file: Path) -> None:
    one, other = GrantStore(file), GrantStore(file)
    await one.add(grant(1), grant(2))
    told: list[tuple[str, ...]] = []
    one.follow(lambda: told.append(tuple(known.id for known in one.all())))
    await other.revoke("g_1")
    one.used(["g_2"])
    assert told == [("g_2",)]


async def test_what_two_add_is_all_kept(file: Path) -> None:
    one, other = GrantStore(file), GrantStore(file)
    await one.add(grant(1))
    await other.add(grant(2))
    await one.add(grant(3))
    assert other.all() == (grant(1), grant(2), grant(3))


async def test_the_file_is_its_owner_s_alone(file: Path) -> None:
    await GrantStore(file).add(grant())
    assert [os.stat(path).st_mode & 0o777 for path in (file, file.parent)] == [PRIVATE_FILE, PRIVATE_DIRECTORY]


async def test_the_same_permission_twice_is_one(file: Path) -> None:
    store = GrantStore(file)
    await store.add(grant(1))
    await store.add(msgspec.structs.replace(grant(1), id="g_9", created="2026-01-01"))
    assert store.all() == (grant(1),)


async def test_there_is_a_bound(file: Path) -> None:
    store = GrantStore(file)
    await store.add(*(grant(number) for number in range(MOST_GRANTS)))
    with pytest.raises(StoreError, match=r"2,000"):
        await store.add(grant(MOST_GRANTS))
    assert len(store.all()) == MOST_GRANTS


async def test_a_damaged_file_grants_nothing_and_is_left_as_it_is(file: Path) -> None:
    await GrantStore(file).add(grant())
    damage(file)
    store = GrantStore(file)
    assert store.all() == ()
    with pytest.raises(StoreError, match=r"damaged: .*[^.]\. Repair it"):
        await store.add(grant(2))
    assert is_damaged(file)


async def test_using_a_grant_is_noted_once_a_day_and_changes_nothing_else(file: Path) -> None:
    store = GrantStore(file)
    await store.add(grant(1), grant(2))
    revision = store.revision
    store.used(["g_1"])
    inode = os.stat(file).st_ino
    store.used(["g_1"])
    assert os.stat(file).st_ino == inode
    assert [one.last_used for one in await store.kept()] == [date.today().isoformat(), ""]
    assert store.revision == revision


async def test_noting_a_use_waits_for_nobody_who_has_the_file(file: Path) -> None:
    store = GrantStore(file)
    await store.add(grant())
    handle = try_acquire(file.with_suffix(".lock"))
    assert handle is not None
    try:
        store.used(["g_1"])
        assert [one.last_used for one in await store.kept()] == [""]
    finally:
        release(handle)
    store.used(["g_1"])
    assert [one.last_used for one in await store.kept()] == [date.today().isoformat()]


async def test_grants_that_nobody_has_needed_for_long_are_told_of_and_stay(file: Path) -> None:
    store = GrantStore(file)
    old = (date.today() - timedelta(days=100)).isoformat()
    await store.add(
        grant(1, created=f"{old}T10:00:00Z"), grant(2, created=date.today().isoformat()), grant(3, created=old)
    )
    store.used(["g_3"])
    assert [one.grant.id for one in unused(await store.kept())] == ["g_1"]
    assert len(store.all()) == 3


async def test_without_a_file_grants_are_kept_in_the_process() -> None:
    store = GrantStore()
    await store.add(grant())
    assert store.all() == (grant(),)
    assert await store.revoke("g_1")
    assert store.all() == ()
