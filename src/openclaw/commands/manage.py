"""`openclaw mcp disconnect | remove | enable | disable | restart`: changing which servers there are. Adding one is connect.py's.

Writes keep every comment of the file, and the engine follows them at once.
"""

from collections.abc import Callable

from openclaw.commands.dispatch import Context
from openclaw.commands.mcp import status_json
from openclaw.commands.parse import Parsed
from openclaw.commands.passing import told_on
from openclaw.config.agents import agent as agent_spec
from openclaw.config.dotted import Path, format_path
from openclaw.config.edit import edit_file, set_value
from openclaw.config.edit import remove as removed
from openclaw.config.load import Config
from openclaw.engine import Engine
from openclaw.errors import UsageError
from openclaw.log import one_line
from openclaw.mcp.manager import Manager
from openclaw.mcp.status import ServerStatus
from openclaw.security.external import clean_label


def section_of(config: Config, agent: str) -> Path:
    """Where new servers go: `mcp.servers`, or the agent's own section when one is named."""
    if not agent:
        return ("mcp", "servers")
    listed = [index for index, one in enumerate(config.root.agents.list) if one.id == agent]
    home: Path = ("agents", "list", str(listed[0])) if listed else ("agents", "entries", agent)
    return (*home, "mcp", "servers")


async def change_config(context: Context, engine: Engine, change: Callable[[str], str]) -> None:
    """Write the file and let the engine follow it."""
    # Another writer may hold the file, and a disk may be slow: nobody else in this process waits for that.
    await engine.change(lambda: edit_file(context.paths, context.env, change))


def _status(manager: Manager, name: str, agent: str) -> ServerStatus:
    return next(one for one in manager.status(agent) if one.name == name)


async def disconnect(context: Context, parsed: Parsed) -> int:
    """Stop a server for this run; it is there again after the next start."""
    name = parsed.text("name")
    async with context.open_engine() as engine:
        server = (await engine.manager()).server(name, agent_spec(engine.config, parsed.text("agent")).id)
        if context.surface == "terminal":
            raise UsageError(
                f"No gateway runs, so {name} is connected to nothing that lasts.",
                hint=f"To keep it out altogether: openclaw mcp disable {name}",
            )
        server.stop("disconnected by hand")
    if parsed.flag("json"):
        context.console.data({"name": name, "state": "stopped"})
    else:
        context.console.line(f"{name} is disconnected until it is started again: openclaw mcp restart {name}")
    return 0


async def restart(context: Context, parsed: Parsed) -> int:
    name = parsed.text("name")
    async with context.open_engine() as engine:
        manager = await engine.manager()
        agent = agent_spec(engine.config, parsed.text("agent")).id
        server = manager.server(name, agent)
        with context.console.live.waiting(f"Waiting for {clean_label(name, 60)}"):
            await server.restart()
            await manager.readiness.started(agent, name)
        status = _status(manager, name, agent)
    if parsed.flag("json"):
        context.console.data(status_json(status))
    else:
        (shown,) = told_on(context.surface, [status])
        context.console.line(f"{name}: {clean_label(shown.shown, 300)}")
    return 0 if status.state == "ready" else 1


async def remove(context: Context, parsed: Parsed) -> int:
    """Take a server out of the config for good."""
    name = parsed.text("name")
    async with context.open_engine() as engine:
        path = _written(engine.config, name, parsed.text("agent"))
        await change_config(context, engine, lambda source: removed(source, path))
    _said(context, parsed, name, f"Removed {format_path(path)}.")
    return 0


async def enable(context: Context, parsed: Parsed) -> int:
    return await _switch(context, parsed, on=True)


async def disable(context: Context, parsed: Parsed) -> int:
    return await _switch(context, parsed, on=False)


async def _switch(context: Context, parsed: Parsed, *, on: bool) -> int:
    name = parsed.text("name")
    async with context.open_engine() as engine:
        path = _written(engine.config, name, parsed.text("agent"))
        entry = engine.config.get(path)

        def switched(source: str) -> str:
            # An entry of another program's file may have the opposite switch.
            if "disabled" in entry:
                source = set_value(source, (*path, "disabled"), not on)
            return (
                set_value(source, (*path, "enabled"), on) if "enabled" in entry or "disabled" not in entry else source
            )

        await change_config(context, engine, switched)
    _said(context, parsed, name, f"{name} is {'enabled' if on else 'disabled'}.")
    return 0


def _said(context: Context, parsed: Parsed, name: str, text: str) -> None:
    if parsed.flag("json"):
        context.console.data({"name": name, "message": text})
    else:
        context.console.line(text)


def _written(config: Config, name: str, agent: str) -> Path:
    """The entry that counts for a server: the last of the sections that name it."""
    spec = agent_spec(config, agent)
    places: list[Path] = [
        section_of(config, spec.id),
        ("agents", "defaults", "mcp", "servers"),
        ("plugins", "entries", "mcp-client", "config", "servers"),
        ("mcp", "servers"),
        ("servers",),
        ("mcpServers",),
    ]
    for place in places:
        try:
            config.get((*place, name))
        except KeyError:
            continue
        return (*place, name)
    raise UsageError(f"No server named {one_line(name, 60)} is in the config.", hint="openclaw mcp servers lists them.")
