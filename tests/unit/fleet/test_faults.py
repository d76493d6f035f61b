"""What faults of the database are told as, and which of them are got over."""

import asyncpg
import pytest

from openclaw.errors import StoreError
from openclaw.fleet.faults import GoneError, LostTurnError, UnreachableError, is_passing, store_error


def raised(code: str) -> asyncpg.PostgresError:
    error = asyncpg.PostgresError.new({"C": code, "M": "what the server said\nand more"})
    assert isinstance(error, asyncpg.PostgresError)
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (raised("OC001"), LostTurnError),
        (raised("OC002"), GoneError),
        (raised("57P01"), UnreachableError),
        (raised("57P03"), UnreachableError),
        (raised("53300"), UnreachableError),
        (raised("25006"), UnreachableError),
        (raised("08006"), UnreachableError),
        (raised("40P01"), UnreachableError),
        (raised("28P01"), StoreError),
        (raised("42P01"), StoreError),
        (raised("XX000"), StoreError),
        (ConnectionResetError("reset"), UnreachableError),
        (TimeoutError(), UnreachableError),
        (asyncpg.InterfaceError("connection is closed"), UnreachableError),
        (asyncpg.InternalClientError("unexpected state"), UnreachableError),
        (asyncpg.exceptions.ClientConfigurationError("bad dsn"), StoreError),
    ],
)
def test_every_fault_is_one_sentence_and_only_what_passes_is_tried_again(
    error: Exception, kind: type[StoreError]
) -> None:
    told = store_error("here", error)
    assert type(told) is kind
    assert "\n" not in str(told)
    assert is_passing(error) == (kind is UnreachableError) == is_passing(told)


def test_what_is_no_fault_of_the_database_is_left_alone() -> None:
    assert store_error("here", ZeroDivisionError()) is None
    assert not is_passing(KeyError())
