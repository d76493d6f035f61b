"""How an address is told."""

import pytest

from openclaw.fleet.database import place_of


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
