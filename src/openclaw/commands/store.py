"""`openclaw store` and `openclaw fleet`: the database of many gateways. Make its tables, check it, move files into it, write out what is in
it, and say who uses it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import to_builtins

from openclaw.commands.console import Console, duration
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.config.agents import agent_ids
from openclaw.config.servers import secret_text, server_specs
from openclaw.content import to_json
from openclaw.errors import UsageError
from openclaw.media import shown_size
from openclaw.security.audit_file import AuditFile
from openclaw.security.external import escape_json
from openclaw.sessions.export import jsonl

if TYPE_CHECKING:
    from openclaw.app import App
    from openclaw.fleet.fleet import Fleet
    from openclaw.fleet.moving import Part

# Of what differs: enough to see what it is about.
_SHOWN = 20
# Between two lines of progress.
_TOLD_EVERY = 1_000


async def init(context: Context, parsed: Parsed) -> int:
    from openclaw.fleet.migrations.steps import migrate

    async with _opened(context) as (_, fleet):
        connection = await fleet.database.bare()
        try:
            before, now = await migrate(connection, fleet.database.place)
        finally:
            await connection.close()
        place = fleet.database.place
    if parsed.flag("json"):
        context.console.data({"place": place, "before": before, "now": now})
    elif before == now:
        context.console.line(f"{place} has all tables already (step {now}).")
    else:
        made = "Made the tables in" if before == 0 else f"Brought the tables from step {before} to {now} in"
        context.console.line(f"{made} {place}.")
    return 0


async def check(context: Context, parsed: Parsed) -> int:
    from openclaw.fleet.health import health_of
    from openclaw.fleet.moving_records import counts

    async with _opened(context) as (_, fleet):
        health = await health_of(fleet)
        kept = await counts(fleet.database)
    console = context.console
    if parsed.flag("json"):
        console.data({**to_builtins(health), **kept})
        return 0
    console.line(f"{health.place} answers: {health.software}, tables of step {health.step}.")
    gateways = f"{health.gateways} gateway{'' if health.gateways == 1 else 's'} alive"
    console.line(f"{health.sessions} conversations ({shown_size(health.bytes)}), {gateways}.")
    signed = f"{kept['records']} sealed records of sign-ins, {kept['grants']} grants, {kept['pins']} pinned tools"
    console.line(f"{signed}, {kept['lines']} lines of the audit trail.")
    for concern in health.concerns:
        console.line(f"!!  {concern.message}")
        console.line(f"      {concern.fix}")
    return 0


async def fleet(context: Context, parsed: Parsed) -> int:
    from openclaw.fleet.health import differing
    from openclaw.fleet.members import members_of

    async with _opened(context) as (_, fleet):
        members, place = await members_of(fleet.database), fleet.database.place
    if parsed.flag("json"):
        context.console.data({"place": place, "gateways": to_builtins(members)})
        return 0
    if not members:
        context.console.line(f"No gateway uses {place} now. Run: openclaw gateway start")
        return 0
    context.console.table(
        ("gateway", "version", "since", "state", "turns", "servers", "leases"),
        [
            (
                one.name,
                one.version,
                duration(one.seconds),
                "alive" if one.alive else "not heard",
                str(one.turns),
                ", ".join((*one.servers, *_of_conversations(one.conversations))),
                ", ".join(one.leases),
            )
            for one in members
        ],
    )
    if differ := differing(members):
        context.console.line(f"!!  {differ[0].upper()}{differ[1:]}.")
    return 0


def _of_conversations(count: int) -> tuple[str, ...]:
    """Servers that conversations have for themselves, in words."""
    return (f"those of {count} conversation{'' if count == 1 else 's'}",) if count else ()


async def migrate(context: Context, parsed: Parsed) -> int:
    from openclaw.fleet.migrations.steps import migrate as make_tables

    async with _opened(context) as (app, fleet):
        connection = await fleet.database.bare()
        try:
            await make_tables(connection, fleet.database.place)
        finally:
            await connection.close()
        told, wrong = [], 0
        for part in _parts(app, fleet):
            moved = await part.copy(_progress(context.console, f"{part.name} copied"))
            differing = await part.differences(_progress(context.console, f"{part.name} compared"))
            await part.close()
            wrong += len(moved.refused) + len(differing)
            told.append((part.name, moved, differing))
    if parsed.flag("json"):
        context.console.data(
            [
                {
                    "part": name,
                    "copied": moved.copied,
                    "kept": moved.kept,
                    "refused": moved.refused,
                    "different": list(differing),
                }
                for name, moved, differing in told
            ]
        )
        return 1 if wrong else 0
    for name, moved, differing in told:
        same = "all compared equal" if not (moved.refused or differing) else "not all are equal"
        context.console.line(f"{name}: {moved.copied} copied, {moved.kept} there already; {same}.")
        for problem in (*moved.refused, *differing)[:_SHOWN]:
            context.console.line(f"  {problem}")
        if (rest := len(moved.refused) + len(differing) - _SHOWN) > 0:
            context.console.line(f"  … and {rest} more")
    return 1 if wrong else 0


async def export(context: Context, parsed: Parsed) -> int:
    """Every conversation, the one used longest ago first: a line that says which it is, then what `sessions export` prints of it. Then
    everything else that gateways share, a line each; tokens stay encrypted."""
    from openclaw.fleet.moving_records import exported

    async with _opened(context) as (app, fleet):
        for info in reversed(await fleet.sessions.list()):
            which = {"type": "conversation", "key": info.key, "agent": info.agent, "title": info.title}
            context.console.out(f"{escape_json(to_json(which).decode())}\n")
            for line in jsonl(await fleet.sessions.show(info.key)):
                context.console.out(f"{line}\n")
                await context.console.flush()
        async for value in exported(fleet.database):
            context.console.out(f"{escape_json(to_json(value).decode())}\n")
            await context.console.flush()
        async for records in fleet.audit_trail(AuditFile(app.paths.audit_file)).batches():
            for record in records:
                context.console.out(f"{escape_json(to_json({'type': 'audit', 'record': record}).decode())}\n")
            await context.console.flush()
    return 0


def _parts(app: "App", fleet: "Fleet") -> "list[Part]":
    """What is moved, in this order."""
    from openclaw.fleet.configured import gateway_name
    from openclaw.fleet.moving import Sessions
    from openclaw.fleet.moving_records import AuditMoved, GrantsMoved, PagesMoved, PinsMoved, Tokens

    paths, database, key = app.paths, fleet.database, secret_text(app.config.root.token_store.key)
    specs = [spec for agent in agent_ids(app.config) for spec in server_specs(app.config, agent)]
    target = fleet.token_store(key, app.engine.resolve)
    return [
        Sessions(paths.sessions_file, database, fleet.sessions),
        Tokens(paths.tokens_dir, database, target, specs=specs, key=key, resolve=app.engine.resolve),
        GrantsMoved(paths.approvals_file, database),
        PinsMoved(paths.data_dir / "mcp" / "pins", database),
        PagesMoved(paths.page_tokens_file, database),
        AuditMoved(AuditFile(paths.audit_file), database, gateway_name(paths.data_dir)),
    ]


def _progress(console: Console, what: str) -> Callable[[int, int], None]:
    def show(done: int, of: int) -> None:
        if console.interactive and (done == of or done % _TOLD_EVERY == 0):
            console.note(f"{done} of {of} {what}")

    return show


@asynccontextmanager
async def _opened(context: Context) -> "AsyncIterator[tuple[App, Fleet]]":
    async with context.open_app() as app:
        if app.engine.fleet is None:
            raise UsageError(
                "No database is configured: session.store is not postgres.",
                hint='Set session: { store: "postgres", postgres: { url: … } }; docs/how-to/run-many-gateways.md shows how.',
            )
        yield app, app.engine.fleet
