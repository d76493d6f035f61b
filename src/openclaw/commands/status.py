"""`openclaw status`: config, model, agents, servers and conversations at a glance."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openclaw.agent.agent import Agent
from openclaw.agent.deferral import tokens_of
from openclaw.agent.tool_search import SearchTools
from openclaw.app import App
from openclaw.commands.console import tool_count
from openclaw.commands.dispatch import Context, Surface
from openclaw.commands.mcp import status_json
from openclaw.commands.parse import Parsed
from openclaw.commands.passing import told_on
from openclaw.commands.sign_in_state import with_sign_ins
from openclaw.config.agents import agent, agent_ids
from openclaw.config.load import load_config
from openclaw.control.instance import holder, lock_file
from openclaw.errors import ConfigError, OpenClawError, StoreError
from openclaw.mcp.wording import held_back
from openclaw.models.configured import misnamed
from openclaw.security.external import clean_label
from openclaw.version import __version__


async def run(context: Context, parsed: Parsed) -> int:
    async with context.open_app() as app:
        # Who asks over HTTP works in no folder of this machine.
        here = None if context.surface == "http" else context.cwd
        found = {**await collect(app, context.surface, here), "gateway": None}
    if context.surface in ("control", "http"):
        # It runs in the gateway itself, which goes by the last file that could be used.
        found["gateway"] = os.getpid()
        found["config"]["problems"] += await asyncio.to_thread(_unused, context)
    code = StoreError.exit_code if found["storeProblem"] else 0
    if found["config"]["problems"]:
        code = ConfigError.exit_code
    if parsed.flag("json"):
        context.console.data(found)
        return code
    console = context.console
    console.line(f"OpenClaw {__version__}")
    config = found["config"]
    missing = " (not there: every setting is at its default)" if config["missing"] else ""
    console.line(f"  Config    {config['file']}{missing}")
    for warning in (*config["problems"], *config["warnings"]):
        console.line(f"            {console.bad('!')} {warning}")
    if config["restartNeeded"]:
        console.line(f"            {console.bad('!')} restart needed for: {', '.join(config['restartNeeded'])}")
    pid = found["gateway"]
    console.line(f"  Gateway   {f'runs (pid {pid})' if pid else await asyncio.to_thread(_beside, context)}")
    for one in found["agents"]:
        key = f", key from {one['key']}" if one["key"] else ""
        console.line(f"  Agent     {console.bold(one['id'])}  model {one['model'] or 'none'}{key}{_why(one['found'])}")
        if one["problem"]:
            console.line(f"            {console.bad('!')} {one['problem']}")
        console.line(f"            workspace {one['workspace']}, {tool_count(one['tools'])}{_tokens(one)}")
    for server in found["servers"]:
        state = clean_label(f"{server['shown']}, {_tools(server)}", 300)
        console.line(f"  Server    {console.bold(clean_label(server['name'], 60))}  {state}")
        if server["changed"]:
            console.line(f"            {console.bad('!')} {server['changed']}")
    if not found["servers"] and context.surface == "terminal":
        from openclaw.commands.import_search import could_import

        if told := await asyncio.to_thread(could_import, context):
            console.line(f"  Server    none. {told}")
    console.line(f"  Sessions  {found['sessions']} in {found['store']}")
    if found["storeProblem"]:
        console.line(f"            {console.bad('!')} {found['storeProblem']}")
    if not pid and any(server["state"] == "stopped" for server in found["servers"]):
        console.line(console.dim("This command started no server; to try each: openclaw mcp servers"))
    console.line(console.dim("Something wrong? openclaw doctor"))
    return code


def _beside(context: Context) -> str:
    """How it is with the gateway, where this is not the gateway."""
    running = holder(lock_file(context.paths))
    if running is None:
        return "none runs; `openclaw gateway start` keeps servers warm"
    return f"runs (pid {running.pid}), and did not answer this; look: openclaw gateway status"


def _unused(context: Context) -> list[str]:
    """Why the config as it is saved now cannot be used."""
    try:
        load_config(context.paths, context.env)
    except ConfigError as error:
        return [f"not in use as saved: {problem}" for problem in error.problems]
    return []


def _tools(server: Mapping[str, Any]) -> str:
    if server["state"] == "stopped" and not server["tools"]:
        return "its tools are not known yet"
    return tool_count(server["tools"])


def _why(found: str) -> str:
    return f" ({found})" if found else ""


_NO_TOOLS = {"tools": 0, "toolTokens": 0, "toolTokensWithoutSearch": 0}


def _cost(agent: Agent) -> dict[str, int]:
    """How many tools an agent has, and about how many tokens the model reads of them in every request."""
    offer = agent.offer()
    everything = (*offer.shown, *offer.deferred.values())
    finding = SearchTools(agent.dependencies.search, offer, {}).tools() if offer.deferred else ()
    return {
        "tools": len(everything),
        "toolTokens": tokens_of((*offer.shown, *finding)),
        "toolTokensWithoutSearch": tokens_of(everything),
    }


def _tokens(one: Mapping[str, Any]) -> str:
    now, without = one["toolTokens"], one["toolTokensWithoutSearch"]
    if not without:
        return ""
    saved = f", {without:,} without search" if without != now else ""
    return f" (about {now:,} tokens{saved})"


async def collect(app: App, surface: Surface, here: Path | None) -> dict[str, Any]:
    """Everything `status` shows, as data. A part that cannot be read says so in its own place. `here` is where the person is."""
    agents = []
    for name in agent_ids(app.config):
        spec = agent(app.config, name)
        row: dict[str, Any] = {
            "id": name,
            "model": "",
            "found": "",
            "key": "",
            "problem": "",
            "workspace": str(app.workplace(spec, here).root),
        }
        try:
            selection = await app.selection(spec)
            row |= {
                "model": selection.name,
                "found": selection.found,
                "key": selection.key,
                "problem": selection.problem,
            }
            row |= _cost(await app.agent(spec))
        except ConfigError:
            # Said once, with its place, under `config`.
            row |= {"model": spec.model, "problem": "its model is not configured", **_NO_TOOLS}
        except OpenClawError as error:
            row |= {"problem": str(error), **_NO_TOOLS}
        agents.append(row)
    sessions, store_problem = 0, ""
    try:
        sessions = (await app.store.find(limit=0)).total
    except OpenClawError as error:
        store_problem = str(error)
    servers = told_on(surface, await with_sign_ins(app.engine, (await app.engine.manager()).status()))
    return {
        "version": __version__,
        "config": {
            "file": str(app.config.file),
            "missing": app.config.missing,
            "problems": [str(problem) for problem in misnamed(app.config)],
            "warnings": [str(warning) for warning in (*app.config.refusals, *app.config.warnings)],
            "restartNeeded": app.outdated(app.config),
        },
        "agents": agents,
        "servers": [{**status_json(status), "shown": status.shown, "changed": held_back(status)} for status in servers],
        "sessions": sessions,
        "store": app.store.place,
        "storeProblem": store_problem,
    }
