"""`openclaw approvals grants|revoke|explain`: what a person allowed for good, whether it still holds, and what would become of a call.

`explain` asks nobody and calls nothing. What it says holds for a conversation that has just begun, and then for one that has read text of
others. The questions that wait are questions.py's.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from openclaw.agent.agent import Settings
from openclaw.commands.arguments import arguments_of
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.config.agents import agent_ids
from openclaw.config.servers import server_specs
from openclaw.content import to_json
from openclaw.conversation import Conversation
from openclaw.engine import Engine
from openclaw.errors import UsageError
from openclaw.grant import EDITOR, Grant
from openclaw.log import one_line
from openclaw.mcp.cache import identity
from openclaw.security.approval import FOREIGN_VALUE_ROW, Case, Verdict, decide, fallen_back
from openclaw.security.external import clean_terminal, escape_json
from openclaw.security.grants import KeptGrant
from openclaw.tool import Tool

_SHOWN = 60
# A source that no conversation has: it stands for any.
_ANY_SOURCE = "somebody else"


class KnownServer(msgspec.Struct, frozen=True):
    """A configured server as grants are bound to it. `tools` are the definitions of its tools, by their own names, as the calls of its
    agents meet them; `held` those tools that are held back because their definitions changed. None when its tools are not known."""

    name: str
    tools: Mapping[str, frozenset[str]] | None = None
    held: frozenset[str] = frozenset()


async def grants(context: Context, parsed: Parsed) -> int:
    async with context.open_engine() as engine:
        kept = await engine.grants.kept()
        servers = await known_servers(engine) if kept else {}
    if parsed.flag("json"):
        context.console.data([grant_json(one, servers) for one in kept])
        return 0
    if not kept:
        context.console.line("Nothing is allowed for good. A question offers that with `a` or `t`.")
        return 0
    context.console.table(
        ("id", "server", "tool", "agent", "allows", "given", "used", "holds"), [_row(one, servers) for one in kept]
    )
    return 0


def grant_json(kept: KeptGrant, servers: Mapping[str, KnownServer]) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(kept.grant)
    return {**document, "lastUsed": kept.last_used or None, "ended": why_ended(kept.grant, servers) or None}


async def known_servers(engine: Engine) -> dict[str, KnownServer]:
    """By their identities. None is started: what each listed last is known."""
    config, manager = engine.config, await engine.manager()
    found: dict[str, KnownServer] = {}
    for agent in agent_ids(config):
        listed = {server.spec.name: server.status() for server in manager.servers(agent) if server.is_known}
        tools_now = [tool.facts() for tool in manager.tools(agent) if tool.facts is not None]
        # A skill is bound like a tool, by its address and the digest of its files.
        skills_now = [(identity(one.spec), one.entry.uri, one.entry.digest) for one in manager.skills(agent)]
        bound = [*((one.identity, one.name, one.definition) for one in tools_now), *skills_now]
        for spec in server_specs(config, agent):
            mark, status = identity(spec), listed.get(spec.name)
            before = found.get(mark, KnownServer(spec.name))
            if status is None:
                found[mark] = before
                continue
            tools = dict(before.tools or {})
            for server, name, definition in bound:
                if server == mark:
                    tools[name] = tools.get(name, frozenset()) | {definition}
            found[mark] = KnownServer(spec.name, tools, frozenset(one.tool for one in status.changes if one.held))
    return found


def why_ended(grant: Grant, servers: Mapping[str, KnownServer]) -> str:
    """Why no call has a grant any more, in a few words; empty when calls have it, or nobody knows. `servers` are by their identities."""
    if ":" in grant.server or grant.server == EDITOR:
        # Of no server of the config.
        return ""
    server = servers.get(grant.server)
    if server is None:
        return "its server is gone, or configured otherwise"
    if server.tools is None:
        return ""
    if grant.tool in server.held:
        return "its server changed the tool"
    if grant.tool not in server.tools:
        return "its server has no such tool"
    return "" if grant.definition in server.tools[grant.tool] else "its server changed the tool"


def _row(kept: KeptGrant, servers: Mapping[str, KnownServer]) -> tuple[str, ...]:
    grant = kept.grant
    ended = why_ended(grant, servers)
    return (
        grant.id,
        one_line(_server(grant, servers), _SHOWN),
        one_line(grant.tool, _SHOWN),
        one_line(grant.agent, _SHOWN) or "all",
        one_line(_allows(grant), _SHOWN),
        grant.created[:10] or "–",
        kept.last_used or "never",
        f"no: {ended}" if ended else "yes",
    )


def _server(grant: Grant, servers: Mapping[str, KnownServer]) -> str:
    # Of a server its identity, a digest; of another tool its kind and origin.
    _, is_other, origin = grant.server.partition(":")
    if is_other:
        return origin or "–"
    if grant.server == EDITOR:
        return "of an editor"
    known = servers.get(grant.server)
    return "not there" if known is None else known.name


def grant_names(grants: Iterable[Grant]) -> dict[str, str]:
    """The ids of grants, and in a few words what each is about."""
    return {one.id: one_line(f"{one.tool}: {_allows(one)}", _SHOWN) for one in grants if one.id.isprintable()}


def _allows(grant: Grant) -> str:
    if grant.as_read:
        return "counts as reading"
    if grant.server == EDITOR:
        return "is started"
    # As JSON: a value was chosen by a model.
    values = ", ".join(f"{name}={escape_json(to_json(value).decode())}" for name, value in grant.arguments.items())
    also = ", also after text that nobody checked" if grant.even_after_untrusted else ""
    return f"{values or 'any arguments'}{also}"


async def revoke(context: Context, parsed: Parsed) -> int:
    name = parsed.text("id")
    async with context.open_engine() as engine:
        if not await engine.grants.revoke(name):
            raise UsageError(
                f"There is no grant {one_line(name, _SHOWN)!r}.", hint="`openclaw approvals grants` lists them."
            )
    context.console.line(f"{name} is revoked: the next such call is asked about again.")
    return 0


async def explain(context: Context, parsed: Parsed) -> int:
    """Exit code 0 when the call would run, 1 when it would be asked about or refused."""
    name = parsed.text("tool")
    async with context.open_app() as app:
        one = await app.settled(parsed.text("agent"), tool=name)
        tool = next((tool for tool in one.tools() if tool.name == name), None)
        if tool is None:
            raise UsageError(
                f"The agent has no tool {one_line(name, _SHOWN)}.",
                hint=f"Why: openclaw tools explain {one_line(name, _SHOWN)}",
            )
        schema = msgspec.json.decode(tool.parameters)
        arguments = arguments_of(parsed.many("words"), schema if isinstance(schema, dict) else None)
        case, verdict = _decided(app.engine, tool, arguments, one.settings)
        after = _after_foreign(case)
    if parsed.flag("json"):
        context.console.data(
            {
                "tool": tool.name,
                "classes": case.risk.classes,
                "verdict": msgspec.to_builtins(verdict),
                "afterForeignText": msgspec.to_builtins(after),
            }
        )
    else:
        context.console.line(clean_terminal(f"{tool.name} ({', '.join(case.risk.classes)}) {_told(case, verdict)}"))
        if (after.action, after.rule) != (verdict.action, verdict.rule):
            # What it says of values then is a supposition.
            values = " with values from there" if after.by_foreign and after.step == FOREIGN_VALUE_ROW else ""
            line = f"  after text that nobody checked, a call{values} {_told(case, after)}"
            context.console.line(clean_terminal(line))
    return 0 if verdict.action == "run" else 1


def _decided(engine: Engine, tool: Tool, arguments: Mapping[str, Any], agent: Settings) -> tuple[Case, Verdict]:
    case = engine.approver.case(tool, arguments, Conversation(agent.id, workspace=agent.workspace))
    return case, decide(case)


def _after_foreign(case: Case) -> Verdict:
    """The same call, once text of others was read and every value may be from there."""
    return decide(
        msgspec.structs.replace(case, sources=(_ANY_SOURCE,), origins=dict.fromkeys(case.arguments, _ANY_SOURCE))
    )


def _told(case: Case, verdict: Verdict) -> str:
    if verdict.action != "ask":
        return f"{'runs' if verdict.action == 'run' else 'is refused'}: {verdict}"
    alone = fallen_back(case, verdict).action
    return f"is asked about, and {'runs' if alone == 'run' else 'is refused'} where nobody can be: {verdict}"
