"""`openclaw mcp …` and `/mcp …`: the same words, the same code, returning what they found as data and printing it.

`tools` and `refresh` ask each server what it offers now; `servers` waits until each is up or known not to be, and tries those anew that are
down. What is about one server waits for no other. Nothing a server says is printed before it was cleaned.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from openclaw.commands.arguments import prompt_arguments
from openclaw.commands.console import tool_count
from openclaw.commands.dispatch import Context
from openclaw.commands.last_words import last_words
from openclaw.commands.notices import prefix_on, say
from openclaw.commands.once import Once, once
from openclaw.commands.opened import opened
from openclaw.commands.parse import Parsed
from openclaw.commands.passing import told_on
from openclaw.commands.references import permit, prompt_typed, read_from, wanted_by
from openclaw.commands.render import (
    left_out,
    server_lines,
    show_resource,
    show_result,
    status_lines,
)
from openclaw.commands.sign_in_state import with_sign_ins
from openclaw.commands.signature import signature
from openclaw.commands.tool_help import annotations_of, first_line, tool_lines
from openclaw.commands.used_once import opened_once
from openclaw.commands.waiting import tried
from openclaw.config.wording import nearest
from openclaw.conversation import Conversation
from openclaw.errors import OpenClawError, UsageError
from openclaw.mcp.manager import Manager
from openclaw.mcp.prompts import PROMPT_TOOL, get_prompt, list_prompts
from openclaw.mcp.remedies import SHELL, CommandPrefix
from openclaw.mcp.resources import READ_TOOL, list_resources, list_templates
from openclaw.mcp.server.server import LiveServer
from openclaw.mcp.status import ServerStatus
from openclaw.mcp.tools.definition import schema_of, schema_value
from openclaw.mcp.tools.names import typed_name
from openclaw.mcp.tools.pins import Change, digest_of
from openclaw.mcp.tools.registry import ToolEntry
from openclaw.mcp.tools.results import PromptEntry, Result
from openclaw.mcp.wording import held_back, trouble
from openclaw.security.external import clean_label, clean_terminal

_DESCRIPTION = 500
_TITLE = 200
_NO_SERVERS = "No MCP servers are configured. Add one: openclaw mcp connect URL, or under mcp.servers in openclaw.json."

T = TypeVar("T")


async def servers(context: Context, parsed: Parsed) -> int:
    async with opened(context, parsed) as (engine, manager, agent):
        if not manager.is_eager:
            manager.start(agent)
        manager.retry(agent)
        await manager.readiness.started(agent)
        found = told_on(context.surface, await with_sign_ins(engine, manager.status(agent)))
    if parsed.flag("json"):
        context.console.data([status_json(status) for status in found])
    elif not found:
        # They may stand where another program looks for them.
        for warning in engine.config.warnings:
            context.console.note(str(warning))
        context.console.line(_NO_SERVERS)
        if context.surface == "terminal":
            from openclaw.commands.import_search import could_import

            if told := await asyncio.to_thread(could_import, context):
                context.console.line(told)
    else:
        for line in server_lines(found, context.console):
            context.console.line(line)
    return 0


def status_json(status: ServerStatus) -> dict[str, Any]:
    """A server's state as `--json` and the gateway show it."""
    document: dict[str, Any] = {
        "name": status.name,
        "state": status.state,
        "reason": status.told,
        "transport": status.transport,
        "target": status.target,
        "revision": status.revision,
        "auth": status.auth,
        "authExpiresAt": status.auth_expires_at,
        "authRenews": status.auth_renews,
        "tools": status.tools,
        "unusableTools": status.unusable,
        "pid": status.pid,
        "owner": status.owner,
        "where": status.where,
        "restarts": status.restarts,
        "nextAttemptSeconds": status.next_attempt,
        "lastHeardSeconds": status.last_heard,
        "readySeconds": status.ready_for,
        "inFlight": status.in_flight,
        "queued": status.queued,
        "mcpSession": status.mcp_session_id,
        "serverName": status.server_name,
        "serverVersion": status.server_version,
        "latencyP50Ms": _milliseconds(status.latency_p50),
        "latencyP95Ms": _milliseconds(status.latency_p95),
        "lastError": status.last_error,
        "lastErrorSeconds": status.last_error_ago,
        "changes": [change_json(change) for change in status.changes],
        "changesDigest": digest_of(status.changes),
        "upgrade": status.upgrade,
    }
    return document


def change_json(change: Change) -> dict[str, Any]:
    """How a tool's definition differs from the one that was accepted, in the same way."""
    return {"tool": change.tool, "held": change.held, "diff": change.diff, "digest": change.digest}


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)


async def tools(context: Context, parsed: Parsed) -> int:
    name = parsed.text("server")
    asked_once = once(parsed.text("stdio"), [name] if name else [])
    if asked_once is not None:
        return await _tools_once(context, parsed, asked_once)
    async with opened(context, parsed) as (_, manager, agent):
        asked = [manager.server(name, agent)] if name else manager.servers(agent)
        await tried(manager, agent, [one for one in asked if not one.is_stopped_by_hand])
        found = [entry for entry in manager.entries(agent) if not name or entry.spec.name == name]
        rows = [tool_json(entry) for entry in found]
        about = [one for one in manager.status(agent) if not name or one.name == name]
        filters = manager.filter_trouble(agent)
        prefix = prefix_on(context.surface)
        # One that made room for others was listed before it did.
        listed = {one.spec.name for one in asked if one.was_listed and one.status().state == "stopped"}
        troubled = [said for one in about if one.name not in listed and (said := _unlisted(one, prefix))]
        is_empty = not manager.status(agent)
        lacking = [
            f"MCP server '{one.name}': {said}"
            for one in about
            for said in (left_out(one), held_back(one, prefix), filters.get(one.name, ""))
            if said
        ]
    if parsed.flag("json"):
        context.console.data(rows)
    elif name:
        for line in tool_lines([(entry.name, entry.definition.details()) for entry in found], context.console):
            context.console.line(line)
    else:
        context.console.table(
            ("tool", "server", "what it does"),
            [(r["name"], r["server"], first_line(r["description"])) for r in rows],
        )
    if not (rows or troubled or lacking or parsed.flag("json")):
        context.console.note(_none("tools", name, is_empty=is_empty))
    for said in (*troubled, *lacking):
        say(context.console, said)
    # Exit 1 when no server listed tools, or the one asked about did not.
    return 1 if troubled and (not rows or name) else 0


def _none(what: str, server: str, *, is_empty: bool) -> str:
    """Of an empty list: that it is one. A screen that shows nothing leaves open whether anybody was asked."""
    if is_empty:
        return _NO_SERVERS
    return (
        f"MCP server '{clean_label(server, 100)}' offers no {what}."
        if server
        else f"No connected server offers {what}."
    )


async def _tools_once(context: Context, parsed: Parsed, asked: Once) -> int:
    """The tools of a server that is not configured, by their own names: so they are called."""
    if asked.rest:
        raise UsageError(f"{asked.rest[0]!r} is one word too many.", hint="Try: openclaw mcp tools --help")
    async with opened_once(context, parsed, asked) as (_, tried, _):
        found = tried.view.registry.entries()
        if parsed.flag("json"):
            context.console.data([tool_json(entry) for entry in found])
        else:
            for line in tool_lines([(one.definition.name, one.definition.details()) for one in found], context.console):
                context.console.line(line)
    return 0


def tool_json(entry: ToolEntry) -> dict[str, Any]:
    """A tool as `--json` shows it. What its server says of it, in `annotations`, is its own word."""
    details = entry.definition.details()
    return {
        "name": entry.name,
        "server": entry.spec.name,
        "tool": entry.definition.name,
        "title": clean_label(details.title or "", _TITLE),
        "description": clean_terminal(details.description or ""),
        "signature": signature(entry.name, schema_value(details)),
        "inputSchema": schema_of(details),
        "annotations": annotations_of(details),
    }


def _unlisted(status: ServerStatus, prefix: CommandPrefix = SHELL) -> str:
    """Why a server did not list its tools; empty when it did, or is switched off."""
    if status.state in ("ready", "disabled") or trouble(status):
        return trouble(status, prefix)
    return f"MCP server '{status.name}' is {status.state}."


async def status(context: Context, parsed: Parsed) -> int:
    name = parsed.text("name")
    if not name:
        return await servers(context, parsed)
    async with opened(context, parsed) as (engine, manager, agent):
        await _reached(manager, name, agent)
        asked = [one for one in manager.status(agent) if one.name == name]
        (found,) = told_on(context.surface, await with_sign_ins(engine, asked))
        wrote = await last_words(manager, found, agent)
    if parsed.flag("json"):
        context.console.data(status_json(found))
    else:
        for line in status_lines(found, wrote):
            context.console.line(line)
    return 0 if found.state in ("ready", "stopped") else 1


async def _reached(manager: Manager, name: str, agent: str) -> None:
    """Wait until a server is up, or has failed to start. One that cannot run at all is not waited for."""
    if any(one.name == name and one.state in ("disabled", "failed") for one in manager.status(agent)):
        return
    server = manager.server(name, agent)
    try:
        await server.client()
    except OpenClawError:
        # Its status says why.
        pass
    await manager.readiness.started(agent, name)


async def refresh(context: Context, parsed: Parsed) -> int:
    name = parsed.text("name")
    async with opened(context, parsed) as (_, manager, agent):
        # One that is named and cannot be refreshed at all is a mistake in the command.
        faults = await tried(manager, agent, [manager.server(name, agent)] if name else manager.servers(agent))
        found = {status.name: status for status in manager.status(agent)}
    faults |= {one.name: trouble(one) for one in found.values() if one.is_refused and not name}
    # Listed by the server, and not taken over: it could not be held against what was trusted.
    faults = {one: said or (trouble(found[one]) if found[one].state == "ready" else "") for one, said in faults.items()}
    rows: list[dict[str, Any]] = [
        {"name": one.name, "ok": not faults[one.name], "error": faults[one.name], "tools": one.tools}
        for one in found.values()
        if one.name in faults
    ]
    if parsed.flag("json"):
        context.console.data(rows)
    elif not found:
        context.console.note(_NO_SERVERS)
    else:
        for row in rows:
            status = found[row["name"]]
            said = (
                f"{clean_label(status.name, 100)}: {_listed(status)}"
                if row["ok"]
                else _unlisted(status) or row["error"]
            )
            context.console.line(clean_terminal(said))
    return 0 if all(row["ok"] for row in rows) else 1


def _bounded(manager: Manager, jobs: Sequence[Awaitable[T]]) -> list[Awaitable[T]]:
    """The same jobs, at most as many at a time as servers may run."""
    slots = asyncio.Semaphore(manager.max_servers)

    async def in_slot(job: Awaitable[T]) -> T:
        async with slots:
            return await job

    return [in_slot(job) for job in jobs]


def _listed(status: ServerStatus) -> str:
    said = tool_count(status.tools)
    return f"{said}; {held_back(status)}" if status.changes else said


async def resources(context: Context, parsed: Parsed) -> int:
    async with opened(context, parsed) as (_, manager, agent):
        rows = await _from_each(context, manager, agent, parsed.text("server"), _resource_rows)
        is_empty = not manager.status(agent)
    if parsed.flag("json"):
        context.console.data(rows)
    elif not rows:
        context.console.note(_none("resources", parsed.text("server"), is_empty=is_empty))
    else:
        context.console.table(
            ("server", "uri", "name"), [(row["server"], clean_label(row["uri"], 300), row["name"]) for row in rows]
        )
    return 0


async def _resource_rows(name: str, server: LiveServer) -> list[dict[str, Any]]:
    listed = await server.use(list_resources)
    templates = await server.use(list_templates)
    return [
        {
            "server": name,
            "uri": entry.uri or entry.uri_template,
            "template": not entry.uri,
            "name": clean_label(entry.title or entry.name or "", 200),
            "mimeType": clean_label(entry.mime_type or "", 100),
        }
        for entry in (*listed, *templates)
    ]


async def read(context: Context, parsed: Parsed) -> int:
    async with opened(context, parsed) as (engine, manager, agent):
        permit(manager, engine.decide, agent, parsed.text("server"), READ_TOOL)
        conversation = Conversation(agent, asker=context.console.asker, surface="call")
        contents = await read_from(
            manager.server(parsed.text("server"), agent), parsed.text("uri"), wanted_by(engine, conversation)
        )
        if parsed.flag("json"):
            context.console.data({"contents": contents})
        else:
            await show_resource(contents, engine.media, context.console)
    return 0


async def prompts(context: Context, parsed: Parsed) -> int:
    async with opened(context, parsed) as (_, manager, agent):
        rows = await _from_each(context, manager, agent, parsed.text("server"), _prompt_rows)
        is_empty = not manager.status(agent)
    if parsed.flag("json"):
        context.console.data(rows)
    elif not rows:
        context.console.note(_none("prompts", parsed.text("server"), is_empty=is_empty))
    else:
        shown = [
            (
                f"/{typed_name(row['server'])}:{row['name']}",
                " ".join(f"{argument['name']}{'' if argument['required'] else '?'}" for argument in row["arguments"]),
                clean_label(row["description"], _DESCRIPTION),
            )
            for row in rows
        ]
        context.console.table(("prompt", "arguments", "what it is for"), shown)
    return 0


async def _prompt_rows(name: str, server: LiveServer) -> list[dict[str, Any]]:
    return [_prompt_json(name, entry) for entry in await server.use(list_prompts)]


def _prompt_json(server: str, entry: PromptEntry) -> dict[str, Any]:
    return {
        "server": server,
        "name": clean_label(entry.name, 128),
        "description": clean_terminal(entry.description or ""),
        "arguments": [
            {
                "name": clean_label(argument.name, 128),
                "description": clean_terminal(argument.description or ""),
                "required": argument.required,
            }
            for argument in entry.arguments or []
        ],
    }


async def prompt(context: Context, parsed: Parsed) -> int:
    async with opened(context, parsed) as (engine, manager, agent):
        whose, name, words = prompt_typed(manager, agent, (parsed.text("prompt"), *parsed.many("words")))
        permit(manager, engine.decide, agent, whose, PROMPT_TOOL)
        server = manager.server(whose, agent)
        listed = {entry.name: entry for entry in await server.use(list_prompts)}
        entry = listed.get(name)
        if entry is None:
            hint = nearest(name, list(listed)) or f"Try: openclaw mcp prompts {whose}"
            raise UsageError(f"There is no prompt {name}.", hint=hint)
        given = prompt_arguments(entry, words)
        invocation = wanted_by(engine, Conversation(agent, asker=context.console.asker, surface="call"))
        filled = await server.use(lambda client: get_prompt(client, entry, given, invocation=invocation))
        if parsed.flag("json"):
            context.console.data(filled)
        else:
            for message in filled.messages:
                context.console.line(context.console.bold(f"{clean_label(message.role, 20)}:"))
                await show_result(Result([message.content]), engine.media, context.console)
    return 0


async def _from_each(
    context: Context,
    manager: Manager,
    agent: str,
    name: str,
    rows_of: Callable[[str, LiveServer], Awaitable[list[dict[str, Any]]]],
) -> list[dict[str, Any]]:
    """The rows of one server; without a name, of every server that can be reached, with a line about each that cannot."""
    if name:
        return await rows_of(name, manager.server(name, agent))
    listed = manager.status(agent)
    for status in listed:
        if status.state == "failed":
            context.console.note(clean_terminal(trouble(status)))
    names = [status.name for status in listed if status.state not in ("disabled", "failed")]
    asked = _bounded(manager, [rows_of(one, manager.server(one, agent)) for one in names])
    rows: list[dict[str, Any]] = []
    for one, outcome in zip(names, await asyncio.gather(*asked, return_exceptions=True), strict=True):
        if isinstance(outcome, OpenClawError):
            # Most of them name it.
            name_first = "" if one in str(outcome) else f"{clean_label(one, 100)}: "
            context.console.note(f"{name_first}{clean_label(str(outcome), 500)}")
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            rows += outcome
    return rows
