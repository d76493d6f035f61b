"""How an address is told, and what is opened too late."""

import asyncio

import pytest

from openclaw.errors import StoreError
from openclaw.fleet.database import Address, Database, place_of


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgres://me:secret@db.example:5433/claw?sslmode=require", "postgres://db.example:5433/claw"),
        ("postgresql://db/claw", "postgres://db/claw"),
        (
            "postgres://me:secret@db1:5432,db2:5432/claw?target_session_attrs=read-write",
            "postgres://db1:5432,db2:5432/claw",
        ),
        ("postgres://me:secret@[::1]:5432/claw", "postgres://[::1]:5432/claw"),
        ("postgres://me:se:cret@db:x/claw", "PostgreSQL"),
        ("postgres://me:12/34@db/claw", "PostgreSQL"),
        ("postgres://me:12?34@db/claw", "PostgreSQL"),
        ("", "PostgreSQL"),
    ],
)
def test_an_address_is_told_without_credentials(url: str, place: str) -> None:
    assert place_of(url) == place


async def test_nothing_is_opened_any_more_whose_address_was_not_known_before_the_end() -> None:
    asked, known = asyncio.Event(), asyncio.Event()

    async def address() -> Address:
        asked.set()
        await known.wait()
        return Address("postgres://nobody@127.0.0.1:1/nothing")

    database = Database(address)
    asking = asyncio.create_task(database.value("SELECT 1"))
    await asked.wait()
    await database.close()
    known.set()
    with pytest.raises(StoreError, match="is closed"):
        await asking
