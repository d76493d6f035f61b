"""One question when a server is connected: which of its tools a person takes to only read.

A server's own word counts for nothing by itself. Here a person may take it, for the tools as they are now: each becomes a grant that is
bound to the server and to the tool's definition, and ends with either.
"""

import asyncio
import time

from openclaw.commands.console import Console
from openclaw.config.servers import ServerSpec
from openclaw.conversation import Question
from openclaw.engine import Engine
from openclaw.log import iso_time
from openclaw.security.external import clean_label
from openclaw.security.offers import read_grant
from openclaw.tool import Tool, ToolFacts

# Names that are shown before the question; a person who wants to see more chooses.
_MOST_SHOWN = 20
_LONGEST_NAME = 60
_YES, _CHOOSE = "yes", "choose"


async def ask_about_reading(console: Console, engine: Engine, spec: ServerSpec, agent: str) -> None:
    """Ask, and keep what was said. Nobody to ask, and nothing to ask about, changes nothing."""
    if engine.approval_rules(agent).mode == "off" or spec.approval != "inherit" or spec.annotations == "trusted":
        return
    tools = [tool for tool in (await engine.manager()).tools(agent) if tool.origin == spec.name and not tool.read_only]
    claiming = [(tool, facts) for tool in tools if tool.facts and (facts := tool.facts()).read_only]
    if not claiming or not console.asker.can("approval"):
        return
    names = [clean_label(facts.name, _LONGEST_NAME) for _, facts in claiming]
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    console.note(f"{spec.name} says of these that they only read: {', '.join(names[:_MOST_SHOWN])}{more}.")
    count = f"{len(tools)} tool{'' if len(tools) == 1 else 's'}"
    says = "says that it only reads" if len(claiming) == 1 else "say that they only read"
    those = "it" if len(claiming) == 1 else "those"
    question = f"{count}. {len(claiming)} {says}. Allow {those} without asking? [y/N/choose] "
    answer = await console.asker.ask(Question("approval", question, options=(_YES, _CHOOSE)))
    if not answer.is_yes:
        return
    taken = claiming
    if answer.content.get("option") == _CHOOSE:
        taken = await _chosen(console, claiming)
    owner, now = agent if spec.owner else "", iso_time(time.time())
    grants = [read_grant(tool, facts, agent=owner, by="terminal", created=now) for tool, facts in taken]
    if grants:
        await asyncio.to_thread(engine.grants.add, *grants)
        ways = "See them: openclaw approvals grants. End one: openclaw approvals revoke ID"
        console.note(f"{len(grants)} of them run without a question. {ways}")


async def _chosen(console: Console, claiming: list[tuple[Tool, ToolFacts]]) -> list[tuple[Tool, ToolFacts]]:
    """One question for each. Who leaves in the middle keeps what was said until then."""
    taken = []
    for tool, facts in claiming:
        agreed = await console.agreed(f"{clean_label(facts.name, _LONGEST_NAME)} without asking? [y/N] ")
        if agreed is None:
            break
        if agreed:
            taken.append((tool, facts))
    return taken
