"""How the database of a fleet is: what an operator should know of it, as plain facts and sentences."""

from collections.abc import Sequence

import msgspec

from openclaw.fleet.fleet import Fleet
from openclaw.fleet.members import Member, members_of
from openclaw.fleet.migrations.steps import NEWEST


class Concern(msgspec.Struct, frozen=True):
    """Something that works, and not as well as it might; and what to do about it."""

    message: str
    fix: str


class Health(msgspec.Struct, frozen=True):
    """`step` is that of its tables, `sessions` and `bytes` what is kept there, `gateways` those that are alive."""

    place: str
    software: str
    step: int
    sessions: int
    bytes: int
    gateways: int
    notices_arrive: bool
    concerns: tuple[Concern, ...] = ()


async def health_of(fleet: Fleet) -> Health:
    """Raises StoreError, at once, when the database cannot be used."""
    await (await fleet.database.connect()).close()
    row = await fleet.database.row(
        "SELECT (SELECT number FROM openclaw.version) AS step, (SELECT count(*) FROM openclaw.session WHERE events > 0) AS sessions,"
        " pg_total_relation_size('openclaw.event') + pg_total_relation_size('openclaw.session')"
        " + pg_total_relation_size('openclaw.media') AS bytes,"
        " (SELECT count(*) FROM openclaw.gateway WHERE alive_until > clock_timestamp()) AS gateways,"
        " current_setting('synchronous_commit') AS commit_mode,"
        # Seen whole only by those who may: then their states are not empty.
        " (SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming') AS standbys,"
        " (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) AS synchronous"
    )
    assert row is not None  # one row of scalars
    arrive = await fleet.notices.tried()
    return Health(
        fleet.database.place,
        fleet.database.software,
        row["step"],
        row["sessions"],
        row["bytes"],
        row["gateways"],
        arrive,
        tuple(
            concerns(
                *(row["step"], row["commit_mode"], row["standbys"], row["synchronous"]),
                arrive=arrive,
                differ=differing(await members_of(fleet.database)),
            )
        ),
    )


def differing(members: Sequence[Member]) -> str:
    """A sentence when the gateways that are alive do not have the same config; empty when they do."""
    configs: dict[str, list[str]] = {}
    for one in members:
        # A command has none, nor a gateway that could not tell.
        if one.alive and one.config:
            configs.setdefault(one.config, []).append(one.name)
    if len(configs) < 2:
        return ""
    groups = "; ".join(f"{', '.join(sorted(names))} ({digest})" for digest, names in sorted(configs.items()))
    return f"its gateways do not have the same config: {groups}"


def concerns(
    step: int, commit_mode: str, standbys: int, synchronous: int, *, arrive: bool, differ: str = ""
) -> Sequence[Concern]:
    found: list[Concern] = []
    if differ:
        found.append(
            Concern(differ, "Give every gateway the same file; only gateway, logging and telemetry may differ.")
        )
    if commit_mode in ("off", "local"):
        found.append(
            Concern(
                f"synchronous_commit is {commit_mode}: what was said a moment before a crash may be lost",
                "Set synchronous_commit = on for this database.",
            )
        )
    if standbys and not synchronous:
        found.append(
            Concern(
                "its standbys are asynchronous: a failover may lose what was said a moment before",
                "Name one in synchronous_standby_names.",
            )
        )
    if not arrive:
        found.append(
            Concern(
                "its notices do not arrive, so gateways hear of each other a second later",
                "Set session.postgres.listenUrl to an address that leads to it without a pooler.",
            )
        )
    if step > NEWEST:
        found.append(
            Concern(
                f"its tables are of a later OpenClaw (step {step}; this one knows {NEWEST})", "Update this gateway."
            )
        )
    return found
