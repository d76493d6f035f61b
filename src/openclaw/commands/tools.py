"""`openclaw tools`: what an agent has, and why it has not the rest."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from difflib import get_close_matches

import msgspec

from openclaw.agent.agent import Agent
from openclaw.agent.deferral import always_shown, tokens_of, why_on
from openclaw.agent.tool_search import MOST_RESULTS
from openclaw.app import App
from openclaw.commands.approval_line import approval_line
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.commands.tool_help import first_line
from openclaw.commands.waiting import told_of_waiting
from openclaw.mcp.readiness import named_in
from openclaw.mcp.status import ServerStatus
from openclaw.mcp.tools.bridge import label_of
from openclaw.security.external import clean_terminal
from openclaw.tool import Tool, find_absence

# As many as are read at a glance.
FEW_SERVERS = 5


class Explanation(msgspec.Struct, frozen=True):
    """Why an agent has a tool, or has it not. `looked` says where it was searched for, `approval` what becomes of a call."""

    name: str
    available: bool
    reason: str
    where: str = ""
    looked: tuple[str, ...] = ()
    approval: str = ""
    # Whether the model is shown it or has to find it, and why; empty while all tools are shown.
    shown: str = ""


async def list_tools(context: Context, parsed: Parsed) -> int:
    async with context.open_app() as app, _told(context, app, parsed):
        agent = await app.settled(parsed.text("agent"))
        tools = agent.tools()
    if parsed.flag("json"):
        context.console.data([_as_json(tool) for tool in tools])
        return 0
    context.console.table(("tool", "from", "what it does"), [_row(tool) for tool in tools])
    context.console.note(context.console.dim("Why is one missing? openclaw tools explain NAME"))
    return 0


@asynccontextmanager
async def _told(context: Context, app: App, parsed: Parsed) -> AsyncIterator[None]:
    """Meanwhile a person is told for which servers a command waits."""
    agent = app.engine.agent(parsed.text("agent")).id
    async with told_of_waiting(context.console, await app.engine.manager(), agent):
        yield


def _row(tool: Tool) -> tuple[str, str, str]:
    return tool.name, tool.kind + (f" {tool.origin}" if tool.origin else ""), purpose(tool)


def purpose(tool: Tool) -> str:
    """What a tool is for, in one sentence. What its description says for the model alone, whose it is, stands beside it."""
    return first_line(tool.description.removeprefix(label_of(tool.origin)) if tool.kind == "mcp" else tool.description)


def _as_json(tool: Tool) -> dict[str, object]:
    return {
        "name": tool.name,
        "kind": tool.kind,
        "origin": tool.origin,
        "description": tool.description,
        "inputSchema": tool.parameters,
    }


async def explained(app: App, name: str, agent: str = "") -> Explanation:
    """Never without saying where the tool was looked for."""
    one = await app.settled(agent, tool=name)
    offered = {
        tool.name.casefold(): tool for source in one.dependencies.sources for tool in source.tools(one.settings.id)
    }
    tool = offered.get(name.casefold())
    if tool is not None:
        decision = one.dependencies.policy_decide(tool, one.settings.id)
        servers = (await app.engine.manager()).status(one.settings.id) if tool.kind == "mcp" else []
        # It may be had, and a call of it fail all the same.
        ailing = [status for status in servers if status.name == tool.origin and status.reason]
        looked = tuple(f"MCP server {status.name}: {status.shown}" for status in ailing)
        rules, grants = app.engine.approval_rules(one.settings.id), app.engine.grants.all()
        approval = approval_line(tool, one.settings.id, rules, grants) if decision.allowed else ""
        shown = _shown(one, tool) if decision.allowed else ""
        return Explanation(tool.name, decision.allowed, decision.rule, decision.where, looked, approval, shown)
    absence = find_absence(one.absences(), name, any_case=True)
    if absence is not None:
        return Explanation(name, False, absence.reason, absence.where)
    close = get_close_matches(name.casefold(), offered, n=1)
    hint = f'Did you mean "{offered[close[0]].name}"?' if close else ""
    servers = (await app.engine.manager()).status(one.settings.id)
    looked = (
        f"{sum(tool.kind == 'native' for tool in offered.values())} native tools",
        *_searched_servers(name, servers),
        *(f"plugin {status.id}: {status.state}" for status in (await app.plugins()).statuses()),
    )
    return Explanation(name, False, f"nothing offers a tool of this name. {hint}".strip(), looked=looked)


def _shown(one: Agent, tool: Tool) -> str:
    """Whether the model of an agent is shown a tool, when it is not shown all."""
    offer, settings = one.offer(), one.settings.search
    if not offer.deferred:
        return ""
    if tool.name not in offer.deferred:
        return f"is shown it: {always_shown(tool, settings)}"
    tools = (*offer.shown, *offer.deferred.values())
    why = why_on(settings, tools=len(tools), tokens=tokens_of(tools), window=one.settings.window)
    return f"has to find it with tool_search: {why} (tools.search)"


async def search(context: Context, parsed: Parsed) -> int:
    """Exit code 0 when something was found, 1 when nothing was."""
    async with context.open_app() as app, _told(context, app, parsed):
        agent = await app.settled(parsed.text("agent"))
        tools = {tool.name: tool for tool in agent.tools()}
    words = " ".join(parsed.many("words"))
    names = await agent.dependencies.search.find(tools, agent.origins(), words, MOST_RESULTS)
    found = [tools[name] for name in names]
    if parsed.flag("json"):
        context.console.data([_as_json(tool) for tool in found])
    elif found:
        context.console.table(("tool", "from", "what it does"), [_row(tool) for tool in found])
    else:
        context.console.line(f"None of {len(tools)} tools matches these words.")
    return 0 if found else 1


def _searched_servers(name: str, servers: Sequence[ServerStatus]) -> Iterator[str]:
    """The servers that the name tells of. When it tells of none: how many there are, and of whom the tools are not known."""
    named = named_in(name, [status.name for status in servers])
    if named or len(servers) <= FEW_SERVERS:
        yield from (f"MCP server {one.name}: {_searched(one)}" for one in servers if not named or one.name in named)
        return
    yield f"{len(servers)} MCP servers with {sum(one.tools for one in servers)} tools"
    if silent := [one.name for one in servers if not one.revision and one.state != "disabled"]:
        more = ", …" if len(silent) > FEW_SERVERS else ""
        yield f"not searched, because their tools are not known: {', '.join(silent[:FEW_SERVERS])}{more}"


def _searched(status: ServerStatus) -> str:
    """What of a server was searched: the tools it lists now, or those it listed the last time."""
    if status.state in ("ready", "needs-auth", "failed", "disabled") or not status.revision:
        return status.shown
    return f"{status.tools} tool{'' if status.tools == 1 else 's'} as it listed them last ({status.shown})"


async def explain(context: Context, parsed: Parsed) -> int:
    """Exit code 0 when the agent has the tool, 1 when it has not."""
    async with context.open_app() as app, _told(context, app, parsed):
        found = await explained(app, parsed.text("name"), parsed.text("agent"))
    if parsed.flag("json"):
        context.console.data(found)
    else:
        word = context.console.good("available") if found.available else context.console.bad("not available")
        context.console.line(clean_terminal(f"{found.name}: ") + f"{word}: {clean_terminal(found.reason)}")
        if found.where:
            context.console.line(f"  decided in: {clean_terminal(found.where)}")
        if found.approval:
            context.console.line(f"  a call {clean_terminal(found.approval)}")
        if found.shown:
            context.console.line(f"  the model {clean_terminal(found.shown)}")
        for place in found.looked:
            context.console.line(f"  looked at: {clean_terminal(place)}")
    return 0 if found.available else 1
