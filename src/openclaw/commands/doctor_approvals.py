"""What is asked about before a call, for `openclaw doctor`: the rules of each agent, and what of them and of grants is of no use."""

from collections.abc import Mapping
from typing import Any

from openclaw.app import App
from openclaw.commands.approval_line import idle_patterns
from openclaw.commands.check import Check
from openclaw.config.agents import AgentSpec, agent, agent_ids
from openclaw.config.dotted import format_path
from openclaw.errors import OpenClawError, StoreError
from openclaw.security.approval import Rules
from openclaw.security.grants import UNUSED_DAYS, unused
from openclaw.tool import Tool


async def approval_checks(app: App, *, knows_tools: bool) -> list[Check]:
    """What is asked about, what becomes of it when nobody is there, and what of the rules and grants is of no use."""
    what, found = "Approvals", list[Check]()
    for name in agent_ids(app.config):
        rules = app.engine.approval_rules(name)
        found.append(_approval_rules(rules, f"{what} of agent {name}"))
        tools = await all_tools(app, agent(app.config, name)) if knows_tools else []
        for pattern, argument in idle_patterns(rules, tools) if knows_tools else ():
            if argument:
                sentence = f'"{pattern.text}" matches nothing: no tool of that name has an argument {argument}'
                found.append(Check(what, "failed", f"{sentence} ({pattern.where})", "Correct the name."))
            else:
                sentence = f'"{pattern.text}" names no tool that is there now ({pattern.where})'
                found.append(Check(what, "warning", sentence, "Its server may be down, or the name wrong."))
    # The same pattern may stand in the rules of every agent.
    found = list(dict.fromkeys(found))
    try:
        await app.engine.grants.check()
    except StoreError as error:
        return [*found, Check(what, "failed", f"no grants are in force: {error.message}", error.hint)]
    if long_unused := unused(await app.engine.grants.kept()):
        count = f"{len(long_unused)} grant{'' if len(long_unused) == 1 else 's'}"
        sentence = f"{count} nobody has needed for {UNUSED_DAYS} days"
        found.append(Check(what, "warning", sentence, "Look: openclaw approvals grants"))
    if ours := [format_path(path) for path in _approval_paths(app.config.raw)]:
        sentence = f"only this OpenClaw reads {', '.join(ours)}: one in TypeScript that shares the file refuses it"
        found.append(Check(what, "ok", sentence))
    return found


async def all_tools(app: App, spec: AgentSpec) -> list[Tool]:
    """Whatever is offered to an agent, allowed or not. None for one that cannot be made: that is said elsewhere."""
    try:
        one = await app.agent(spec)
    except OpenClawError:
        return []
    return [tool for source in one.dependencies.sources for tool in source.tools(spec.id)]


def _approval_rules(rules: Rules, what: str) -> Check:
    by_surface = "".join(
        f', for {surface} "{word}"' for surface, word in sorted(rules.fallback.items()) if surface != "default"
    )
    nobody = f'where nobody can be asked "{rules.fallback_at("default")}"{by_surface}'
    said = f'mode "{rules.mode}", after untrusted text "{rules.taint}", {nobody}'
    if "allow" in rules.fallback.values():
        sentence = f"{said}: what should be asked about runs when nobody can be asked"
        return Check(what, "warning", sentence, f'Consider "untainted": {rules.place("fallback")}')
    if rules.taint == "off":
        return Check(what, "warning", f"{said}: text from outside may set off any call", f"See {rules.place('taint')}")
    return Check(what, "ok", said)


def _approval_paths(raw: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Where approvals are written in sections that another OpenClaw closes. It leaves the entries of servers open."""
    agents = raw.get("agents")
    agents = agents if isinstance(agents, dict) else {}
    entries, listed = agents.get("entries"), agents.get("list")
    owners: list[tuple[tuple[str, ...], Any]] = [((), raw), (("gateway",), raw.get("gateway"))]
    owners.append((("agents", "defaults"), agents.get("defaults")))
    owners += [(("agents", "entries", key), one) for key, one in (entries if isinstance(entries, dict) else {}).items()]
    owners += [(("agents", "list", str(at)), one) for at, one in enumerate(listed if isinstance(listed, list) else [])]
    return [
        (*path, key, "approval")
        for path, owner in owners
        for key in ("tools", "toolPolicy")
        if isinstance(owner, dict) and isinstance(owner.get(key), dict) and "approval" in owner[key]
    ]
