"""What a fault of the database means: one sentence for a person, and whether it is worth trying again.

Pure. After the server was killed asyncpg raises errors of three families, so all of them are looked at here and nowhere else.
"""

import asyncio

import asyncpg

from openclaw.errors import OpenClawError, StoreError

# Raised by our own functions (migrations/0001.sql).
TAKEN_OVER = "OC001"
GONE = "OC002"

INIT = "Run: openclaw store init"

# By the first letters of the code that PostgreSQL gives: what is wrong, and what to do.
_SENTENCES: dict[str, tuple[str, str]] = {
    "28": ("it does not let us in", "Check the user and the password in session.postgres.url."),
    "3D000": ("there is no such database", "Create it, or correct session.postgres.url."),
    "3F000": ("it has no tables of OpenClaw yet", INIT),
    "42P01": ("it has no tables of OpenClaw yet, or older ones", INIT),
    "42883": ("it has no tables of OpenClaw yet, or older ones", INIT),
    "42703": ("its tables are older than this program", INIT),
    "42501": ("its user may not do this", "Give it the rights that docs/how-to/run-many-gateways.md names."),
    "25006": ("it can only be read: it is a standby", "Wait until it is promoted, or name the primary."),
    "26000": (
        "prepared statements get lost on the way",
        "Behind PgBouncer set session.postgres.statementCache to false.",
    ),
    "42P05": ("prepared statements get mixed up", "Behind PgBouncer set session.postgres.statementCache to false."),
    "53100": ("its disk is full", "Free some space there; nothing of this was stored."),
    "53300": ("it takes no more connections", "Lower session.postgres.poolSize, or put PgBouncer before it."),
    "54000": ("a message is too large for it", "Send smaller attachments."),
    "57P03": ("it is starting or stopping", "Try again in a moment."),
}
# Codes that say: it may well work in a moment. 08 and 57P are lost and refused connections, 40 is a conflict between two transactions.
_PASSING = ("08", "57P", "40", "53300", "25006", "53200", "55P03")


class LostTurnError(StoreError):
    """Another gateway has the conversation, or the lease, that this one writes to."""

    def __init__(self) -> None:
        super().__init__(
            "Another gateway has taken this conversation over; nothing more of this turn is stored.",
            hint="Say it again: the conversation goes on from what was stored.",
        )


class GoneError(StoreError):
    """The database takes this gateway for dead: it was silent for too long."""

    def __init__(self) -> None:
        super().__init__(
            "This gateway lost touch with the database for too long; nothing more of this turn is stored.",
            hint="Say it again: the conversation goes on from what was stored.",
        )


class UnreachableError(StoreError):
    """The database cannot be reached now."""

    def __init__(self, place: str, what: str, hint: str = "") -> None:
        super().__init__(
            f"The database {place} cannot be reached: {what}.",
            hint=hint or "Try again in a moment; `openclaw store check` says more.",
        )


def is_passing(error: BaseException) -> bool:
    """Whether the same may work a moment later."""
    match error:
        case OpenClawError():
            return isinstance(error, UnreachableError)
        case asyncpg.PostgresError():
            return str(error.sqlstate or "").startswith(_PASSING)
        case OSError() | TimeoutError() | EOFError():
            # A certificate that is not right is a ValueError besides.
            return not isinstance(error, ValueError)
        case asyncpg.InterfaceError() | asyncpg.InternalClientError():
            # A connection that was closed below it. What is wrong with an address is a ValueError besides.
            return not isinstance(error, ValueError)
        case _:
            return False


def store_error(place: str, error: BaseException) -> StoreError | None:
    """The sentence for a fault of the database; None for what is none."""
    code = str(getattr(error, "sqlstate", "") or "")
    match error:
        case StoreError():
            return error
        case asyncpg.PostgresError() if code == TAKEN_OVER:
            return LostTurnError()
        case asyncpg.PostgresError() if code == GONE:
            return GoneError()
        case asyncpg.PostgresError():
            known = next((words for start, words in _SENTENCES.items() if code.startswith(start)), None)
            what, hint = known or (_words(error), "")
            if is_passing(error):
                return UnreachableError(place, what, hint)
            hint = hint or "`openclaw store check` says more."
            return StoreError(f"The database {place} cannot be used: {what}.", hint=hint)
        case asyncio.TimeoutError():
            return UnreachableError(place, "it does not answer in time")
        case _ if is_passing(error):
            return UnreachableError(place, _words(error))
        case asyncpg.InterfaceError() | ValueError():
            return StoreError(
                f"The database {place} cannot be used: {_words(error)}.", hint="Correct session.postgres in the config."
            )
        case _:
            return None


def _words(error: BaseException) -> str:
    """The first line of what the library says, without its full stop."""
    said = (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
    return said.splitlines()[0].rstrip(".")
