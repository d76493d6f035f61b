"""Which steps there are, and how a database is brought to the newest: all in one transaction, by one process at a time.

A step that has shipped never changes. Step n+1 must leave programs of step n working: gateways are updated one after another, the
database first. So a program works with its own step and with the next, and with no other.
"""

from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

from openclaw.errors import StoreError

# In ASCII "OCFLEET": whoever changes the tables holds this lock of the database.
_LOCK = 0x4F43464C454554
# How many steps a database may be ahead of the program.
_AHEAD = 1

_FOLDER = Path(__file__).parent
STEPS: tuple[Path, ...] = tuple(sorted(_FOLDER.glob("[0-9][0-9][0-9][0-9].sql")))
NEWEST = len(STEPS)


class Version(msgspec.Struct, frozen=True):
    """The step of a database, what tells it from others, and the same of the server it is on (0: not to be had)."""

    number: int
    identity: UUID
    system: int


async def version_of(connection: Any) -> Version | None:
    """None when there are no tables of ours."""
    if await connection.fetchval("SELECT to_regclass('openclaw.version')::text") is None:
        return None
    row = await connection.fetchrow(
        "SELECT number, identity, CASE WHEN has_function_privilege('pg_control_system()', 'EXECUTE')"
        " THEN (SELECT system_identifier FROM pg_control_system()) ELSE 0 END AS system FROM openclaw.version"
    )
    return None if row is None else Version(row["number"], row["identity"], row["system"])


def check_version(place: str, found: Version | None) -> None:
    """Raises StoreError for a database that this program cannot work with."""
    number = 0 if found is None else found.number
    if number < NEWEST:
        what = (
            "has no tables of OpenClaw yet" if number == 0 else f"is at step {number}, and this program needs {NEWEST}"
        )
        raise StoreError(f"The database {place} {what}.", hint="Run: openclaw store init")
    if number > NEWEST + _AHEAD:
        raise StoreError(
            f"The database {place} belongs to a later OpenClaw (step {number}; this one knows {NEWEST}).",
            hint="Update OpenClaw.",
        )


async def migrate(connection: Any, place: str) -> tuple[int, int]:
    """Bring the database to the newest step. The steps before and after. Raises StoreError for one that is newer than this program."""
    async with connection.transaction():
        await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
        encoding = await connection.fetchval(
            "SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()"
        )
        if encoding != "UTF8":
            raise StoreError(
                f"The database {place} keeps text as {encoding}, in which not every character can be written.",
                hint="Create one with ENCODING 'UTF8'.",
            )
        await connection.execute("CREATE SCHEMA IF NOT EXISTS openclaw")
        found = await version_of(connection)
        before = 0 if found is None else found.number
        if before > NEWEST:
            raise StoreError(
                f"The database {place} belongs to a later OpenClaw (step {before}; this one knows {NEWEST}).",
                hint="Update OpenClaw.",
            )
        for number in range(before, NEWEST):
            await connection.execute(STEPS[number].read_text(encoding="utf-8"))
        if before == 0:
            await connection.execute("INSERT INTO openclaw.version (number) VALUES ($1)", NEWEST)
        elif before < NEWEST:
            await connection.execute("UPDATE openclaw.version SET number = $1", NEWEST)
    return before, NEWEST
