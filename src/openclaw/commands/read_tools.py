"""One question when a server is connected, or later (`openclaw approvals reading`): which of its tools a person takes to only read.

A server's own word counts for nothing by itself. Here a person may take it, for the tools as they are now: each becomes a grant that is
bound to the server and to the tool's definition, and ends with either.
"""

import time

from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.config.agents import agent as agent_spec
from openclaw.config.servers import ServerSpec, server_specs
from openclaw.conversation import Question
from openclaw.engine import Engine
from openclaw.errors import OpenClawError, UsageError
from openclaw.log import iso_time
from openclaw.security.approval import confirmed_to_read
from openclaw.security.external import clean_label
from openclaw.security.offers import read_grant
from openclaw.tool import Tool, ToolFacts

# Names that are shown before the question; a person who wants to see more chooses.
_MOST_SHOWN = 20
_LONGEST_NAME = 60
_YES, _CHOOSE = "yes", "choose"


async def reading(context: Context, parsed: Parsed) -> int:
    """`openclaw approvals reading [SERVER …]`: the question for servers that are configured already, one after the other."""
    if not context.console.asker.can("approval"):
        raise UsageError("Nobody is there to answer.", hint="Run it at a terminal.")
    async with context.open_engine() as engine:
        agent = agent_spec(engine.config, parsed.text("agent")).id
        manager = await engine.manager()
        specs = {one.name: one for one in server_specs(engine.config, agent)}
        names = parsed.many("names") or [name for name, spec in specs.items() if spec.enabled]
        servers = {name: manager.server(name, agent) for name in names}
        if not servers:
            context.console.line("No server is configured. Add one: openclaw mcp connect")
        failed = False
        for name, server in servers.items():
            try:
                with context.console.live.waiting(f"Waiting for {clean_label(name, _LONGEST_NAME)}"):
                    await server.refresh()
            except OpenClawError as error:
                if len(servers) == 1:
                    raise
                # One that does not start keeps nobody from the others.
                context.console.note(str(error))
                failed = True
                continue
            if not await ask_about_reading(context.console, engine, specs[name], agent):
                context.console.line(f"{name} has no tool that says that it only reads and is asked about.")
    return 1 if failed else 0


async def claims_reading(engine: Engine, spec: ServerSpec, agent: str) -> list[tuple[Tool, ToolFacts]]:
    """The tools of a server that say that they only read, where that is not taken or settled already."""
    return (await _tools(engine, spec, agent))[1]


async def _tools(engine: Engine, spec: ServerSpec, agent: str) -> tuple[list[Tool], list[tuple[Tool, ToolFacts]]]:
    if engine.approval_rules(agent).mode == "off" or spec.approval != "inherit" or spec.annotations == "trusted":
        return [], []
    every = (await engine.manager()).tools(agent)
    grants = engine.grants.all()
    tools = [
        tool
        for tool in every
        if tool.origin == spec.name
        and not tool.read_only
        and not confirmed_to_read(tool, tool.facts() if tool.facts else None, agent, grants)
    ]
    return tools, [(tool, facts) for tool in tools if tool.facts and (facts := tool.facts()).read_only]


async def ask_about_reading(console: Console, engine: Engine, spec: ServerSpec, agent: str) -> bool:
    """Ask, and keep what was said. Whether there was something to ask: nobody to ask, and nothing to ask about, changes nothing."""
    tools, claiming = await _tools(engine, spec, agent)
    if not claiming or not console.asker.can("approval"):
        return False
    names = [clean_label(facts.name, _LONGEST_NAME) for _, facts in claiming]
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    console.note(f"{spec.name} says of these that they only read: {', '.join(names[:_MOST_SHOWN])}{more}.")
    count = f"{len(tools)} tool{'' if len(tools) == 1 else 's'}"
    says = "says that it only reads" if len(claiming) == 1 else "say that they only read"
    those = "it" if len(claiming) == 1 else "those"
    question = f"{count}. {len(claiming)} {says}. Allow {those} without asking? [y/N/choose] "
    answer = await console.asker.ask(Question("approval", question, options=(_YES, _CHOOSE)))
    if not answer.is_yes:
        return True
    taken = claiming
    if answer.content.get("option") == _CHOOSE:
        taken = await _chosen(console, claiming)
    owner, now = agent if spec.owner else "", iso_time(time.time())
    grants = [read_grant(tool, facts, agent=owner, by="terminal", created=now) for tool, facts in taken]
    if grants:
        await engine.grants.add(*grants)
        ways = "See them: openclaw approvals grants. End one: openclaw approvals revoke ID"
        console.note(f"{len(grants)} of them run without a question. {ways}")
    return True


async def _chosen(console: Console, claiming: list[tuple[Tool, ToolFacts]]) -> list[tuple[Tool, ToolFacts]]:
    """One question for each. What was said until somebody leaves in the middle is kept."""
    taken = []
    for tool, facts in claiming:
        agreed = await console.agreed(f"{clean_label(facts.name, _LONGEST_NAME)} without asking? [y/N] ")
        if agreed is None:
            break
        if agreed:
            taken.append((tool, facts))
    return taken
