"""Grants, wherever they are kept: the same promises in memory, in a file and in PostgreSQL."""

import time
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path

import msgspec
import pytest

from openclaw.errors import StoreError
from openclaw.grant import Grant
from openclaw.security.grants import MOST_GRANTS, Grants, GrantStore
from parts.postgres import PostgresServer, fleet_at


def grant(number: int = 1) -> Grant:
    return Grant(
        f"g_{number}", f"tool-{number}", "server", "digest", "main", {"path": "/notes/**"}, created="2026-01-01"
    )


@pytest.fixture(params=["memory", "file", pytest.param("postgres", marks=pytest.mark.real)])
async def grants(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Grants]:
    match request.param:
        case "memory":
            yield GrantStore()
        case "file":
            yield GrantStore(tmp_path / "approvals.json")
        case _:
            server: PostgresServer = request.getfixturevalue("postgres")
            fleet = fleet_at(await server.new_database())
            await fleet.begin()
            yield fleet.grants
            await fleet.close()


async def test_what_is_allowed_is_there_until_it_is_revoked(grants: Grants) -> None:
    before = grants.revision
    await grants.add(grant(1), grant(2))
    assert (grants.all(), grants.has(["g_1", "g_2"]), grants.has(["g_3"])) == ((grant(1), grant(2)), True, False)
    assert grants.revision != before
    before = grants.revision
    assert (await grants.revoke("g_1"), await grants.revoke("g_1")) == (True, False)
    assert grants.all() == (grant(2),)
    assert grants.revision != before


async def test_the_revision_stays_while_nothing_changes(grants: Grants) -> None:
    await grants.add(grant())
    before = grants.revision
    await grants.add(grant())
    assert (await grants.revoke("g_2"), grants.revision) == (False, before)


async def test_who_follows_is_told_by_the_time_that_a_change_is_made(grants: Grants) -> None:
    told: list[tuple[Grant, ...]] = []
    grants.follow(lambda: told.append(grants.all()))
    await grants.add(grant())
    added = told[-1]
    await grants.revoke("g_1")
    assert (added, told[-1]) == ((grant(),), ())


async def test_what_was_said_last_is_good_for_a_while(grants: Grants) -> None:
    assert (grants.revision, grants.good_until > time.monotonic()) == (grants.revision, True)


async def test_the_same_permission_twice_is_one(grants: Grants) -> None:
    await grants.add(grant())
    await grants.add(msgspec.structs.replace(grant(), id="g_9", created="2026-02-02"))
    assert [one.grant for one in await grants.kept()] == [grant()]


async def test_there_is_a_bound(grants: Grants) -> None:
    await grants.add(*(grant(number) for number in range(MOST_GRANTS)))
    with pytest.raises(StoreError, match="is all there may be"):
        await grants.add(grant(MOST_GRANTS))
    assert len(grants.all()) == MOST_GRANTS


async def test_a_use_is_noted_by_its_day(grants: Grants) -> None:
    await grants.add(grant(1), grant(2))
    grants.used(["g_1"])
    await grants.close()
    assert [one.last_used for one in await grants.kept()] == [date.today().isoformat(), ""]


async def test_nothing_is_wrong_with_grants_that_can_be_read(grants: Grants) -> None:
    await grants.add(grant())
    await grants.check()
