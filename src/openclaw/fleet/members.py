"""Who is in a fleet: its gateways as the database knows them, and what each of them holds. Reads only."""

import msgspec

from openclaw.fleet.database import Database
from openclaw.fleet.placement import placed_server
from openclaw.fleet.session_homes import PREFIX as HOMES


class Member(msgspec.Struct, frozen=True, rename="camel"):
    """One gateway, or a command that takes part for as long as it runs. `seconds` are since it began, by the database's clock.

    `turns` are the conversations it is in the middle of, `servers` those that it runs for all gateways, `conversations` how many have
    servers of their own there, `leases` the names of whatever else it alone may do. Others reach it at `url`. One that is not `alive` has
    not been heard for too long: whatever it holds is anybody's.
    """

    name: str
    version: str
    config: str
    seconds: float
    alive: bool
    turns: int
    servers: tuple[str, ...]
    conversations: int
    leases: tuple[str, ...]
    url: str = ""


async def members_of(database: Database) -> tuple[Member, ...]:
    """In the order in which they began. Raises StoreError."""
    rows = await database.rows(
        "SELECT g.name, g.version, g.config, g.url,"
        " extract(epoch FROM clock_timestamp() - g.started)::float8 AS seconds,"
        " g.alive_until > clock_timestamp() AS alive,"
        " coalesce(t.count, 0) AS turns, coalesce(l.names, '{}') AS leases"
        " FROM openclaw.gateway g"
        # Each once for all gateways: neither has an index by its holder.
        " LEFT JOIN (SELECT holder, count(*) FROM openclaw.session WHERE holder IS NOT NULL GROUP BY holder) t ON t.holder = g.id"
        " LEFT JOIN (SELECT holder, array_agg(name ORDER BY name) AS names FROM openclaw.lease GROUP BY holder) l ON l.holder = g.id"
        " ORDER BY g.started, g.name"
    )
    return tuple(
        Member(
            row["name"],
            row["version"],
            row["config"],
            row["seconds"],
            row["alive"],
            row["turns"],
            tuple(server for name in row["leases"] if (server := placed_server(name))),
            sum(name.startswith(HOMES) for name in row["leases"]),
            tuple(name for name in row["leases"] if not placed_server(name) and not name.startswith(HOMES)),
            row["url"],
        )
        for row in rows
    )
