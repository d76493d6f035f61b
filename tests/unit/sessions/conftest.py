"""The stores that tests of sessions are about: the file, the memory and PostgreSQL, by a clock that a test sets."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from openclaw.sessions.memory import MemoryStore
from openclaw.sessions.sqlite import SqliteStore
from openclaw.sessions.store import Store
from parts.clock import Clock
from parts.postgres import PostgresServer, fleet_at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["file", "memory", pytest.param("postgres", marks=pytest.mark.real)])
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[Store]:
    numbers = iter(range(1, 1_000))

    def new_id() -> str:
        return f"id-{next(numbers)}"

    match request.param:
        case "file":
            made: Store = SqliteStore(tmp_path / "state" / "sessions.sqlite3", clock=clock, new_id=new_id)
            yield made
            await made.close()
        case "memory":
            yield MemoryStore(clock=clock, new_id=new_id)
        case _:
            server: PostgresServer = request.getfixturevalue("postgres")
            fleet = fleet_at(await server.new_database(), clock=clock, new_id=new_id)
            yield fleet.sessions
            await fleet.close()
