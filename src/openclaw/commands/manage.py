"""`openclaw mcp connect | disconnect | remove | enable | disable | restart`: changing which servers there are.

Owns the entry that is written for what a person typed, the name it gets, and the consent before a program is run. Writes keep every
comment of the file; what can never work is taken back out. A program may be added from a terminal or the control socket only.
"""

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import PurePath
from urllib.parse import urlsplit

from openclaw.commands.dispatch import Context
from openclaw.commands.mcp import status_json
from openclaw.commands.parse import Parsed
from openclaw.commands.read_tools import ask_about_reading
from openclaw.commands.render import status_lines
from openclaw.commands.sign_in import sign_in
from openclaw.config.agents import agent as agent_spec
from openclaw.config.dotted import Path, format_path
from openclaw.config.edit import edit_file, set_value
from openclaw.config.edit import remove as removed
from openclaw.config.launchers import launch
from openclaw.config.load import Config
from openclaw.config.servers import read_server, server_specs
from openclaw.config.variables import escape
from openclaw.engine import Engine
from openclaw.errors import AuthError, OpenClawError, UsageError
from openclaw.log import one_line
from openclaw.mcp.manager import Manager
from openclaw.mcp.status import ServerStatus
from openclaw.redact import SECRET_SCHEME
from openclaw.security.external import clean_label

# Programs that only run another one: the file they are given says more than they do. Those that fetch it first are launchers.
_INTERPRETERS = frozenset({"python", "python3", "node", "deno", "sh", "bash"})
# Parts of host and package names that say nothing about which server it is.
_DULL = frozenset({"mcp", "api", "www", "server", "com", "org", "net", "io", "dev", "ai", "app", "co", "latest", "sse"})
_OUTSIDE = re.compile(r"[^A-Za-z0-9_-]+")

# A server as it is written into the file.
Entry = dict[str, str | list[str] | dict[str, str]]


async def connect(context: Context, parsed: Parsed) -> int:
    """Add a server, connect to it, and start a sign-in when it wants one."""
    words = parsed.many("words")
    entry = _entry(context, parsed, words)
    async with context.open_engine() as engine:
        agent = parsed.text("agent")
        name = parsed.text("name") or _name_for(words)
        spec = agent_spec(engine.config, agent)
        if any(one.name == name for one in (await engine.manager()).status(spec.id)):
            raise UsageError(f"There is a server named {name} already.", hint="Choose another: --name NAME")
        read_server(name, entry)
        if "command" in entry and not await _consent(context, parsed, words):
            context.console.note("Nothing was changed.")
            return 1
        path = (*_section(engine.config, agent), name)
        addition = _Addition(path, entry)
        await _change(context, engine, addition.write)
        try:
            status = await _try(context, parsed, engine, name, spec.id)
            if status.state == "failed":
                raise UsageError(f"{name} was not added: {status.told}")
        except BaseException:
            # It can never work, or the person did not sign in after all: the file is as it was before.
            await _change(context, engine, addition.undo)
            raise
        if parsed.flag("json"):
            context.console.data(status_json(status))
        else:
            context.console.line(f"Added {name} to {format_path(path[:-1])} in {context.paths.config_file}.")
            for line in status_lines(status):
                context.console.line(line)
            if not parsed.flag("yes"):
                added = next(one for one in server_specs(engine.config, spec.id) if one.name == name)
                await ask_about_reading(context.console, engine, added, spec.id)
    return 0


class _Addition:
    """An entry that is written into a file, and can be taken back."""

    def __init__(self, path: Path, entry: Entry) -> None:
        self._path = path
        self._entry = entry
        self._before = ""
        self._after = ""

    def write(self, source: str) -> str:
        self._before, self._after = source, set_value(source, self._path, self._entry)
        return self._after

    def undo(self, source: str) -> str:
        """The text as it was; where somebody else has changed it since, without the entry."""
        if source != self._after:
            return removed(source, self._path)
        # There may have been no file.
        return self._before or "{}\n"


def _entry(context: Context, parsed: Parsed, words: Sequence[str]) -> Entry:
    """What is written for the words. Where they were typed in a conversation, `${NAME}` in them stays plain text."""
    is_url = len(words) == 1 and words[0].startswith(("http://", "https://"))
    typed_here = context.surface in ("terminal", "control")
    if not is_url and not typed_here:
        raise UsageError(
            "A server that is a program can only be added from a terminal.",
            hint=f"Run: openclaw mcp connect {shlex.join(words)}",
        )
    text = (lambda value: value) if typed_here else _plain
    entry: Entry = {"url": text(words[0])} if is_url else {"command": words[0]}
    if not is_url and len(words) > 1:
        entry["args"] = list(words[1:])
    if parsed.text("transport"):
        entry["transport"] = parsed.text("transport")
    for key in ("header", "env"):
        pairs = dict(_pair(key, word) for word in parsed.many(key))
        if pairs:
            entry["headers" if key == "header" else key] = {name: text(value) for name, value in pairs.items()}
    return entry


def _plain(value: str) -> str:
    """Text from a conversation: it may not reach into this machine's environment or secret stores."""
    if SECRET_SCHEME in value or re.fullmatch(r"\$[A-Z_][A-Z0-9_]*", value):
        raise UsageError("References to secrets can only be set from a terminal or in openclaw.json.")
    return escape(value)


def _pair(option: str, word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals or not name:
        raise UsageError(f"--{option} needs NAME=VALUE; {word!r} is not.")
    return name, value


def _name_for(words: Sequence[str]) -> str:
    """A name from the host or the program: `https://mcp.tavily.com/mcp` is tavily, `npx -y @x/server-filesystem /tmp` filesystem."""
    parts: list[str]
    if words[0].startswith(("http://", "https://")):
        address = urlsplit(words[0])
        host = address.hostname or ""
        numeric = host.replace(".", "").isdigit() or ":" in host
        parts = [f"{host}-{address.port}"] if numeric or host == "localhost" else host.split(".")
    else:
        program, launched = PurePath(words[0]).name, launch(words[0], words[1:])
        run = launched.packages if launched else [word for word in words[1:] if not word.startswith("-")]
        source = PurePath(run[0]).name if run and (launched or program in _INTERPRETERS) else program
        parts = source.partition("@")[0].removesuffix(".py").removesuffix(".js").split("-")
    telling = [part for part in parts if part.lower() not in _DULL] or parts
    return _OUTSIDE.sub("-", "-".join(telling)).strip("-") or "server"


async def _consent(context: Context, parsed: Parsed, argv: Sequence[str]) -> bool:
    """A program is shown in full before it runs for the first time. Nobody to ask means no."""
    if parsed.flag("yes"):
        return True
    context.console.note("This program will be run on this machine, with your rights, whenever OpenClaw runs:")
    context.console.note("  " + " ".join(ascii(word) if not word.isprintable() else shlex.quote(word) for word in argv))
    if variables := [_pair("env", word)[0] for word in parsed.many("env")]:
        context.console.note(f"  with the variables {', '.join(map(one_line, variables))}")
    agreed = await context.console.agreed("Add and run it? [y/N] ")
    if agreed is None:
        raise UsageError("Nobody is there to agree to running this program.", hint="Say so with --yes.")
    return agreed


def _section(config: Config, agent: str) -> Path:
    """Where new servers go: `mcp.servers`, or the agent's own section when one is named."""
    if not agent:
        return ("mcp", "servers")
    listed = [index for index, one in enumerate(config.root.agents.list) if one.id == agent]
    home: Path = ("agents", "list", str(listed[0])) if listed else ("agents", "entries", agent)
    return (*home, "mcp", "servers")


async def _change(context: Context, engine: Engine, change: Callable[[str], str]) -> None:
    """Write the file and let the engine follow it."""
    # Another writer may hold the file, and a disk may be slow: nobody else in this process waits for that.
    await engine.change(lambda: edit_file(context.paths, context.env, change))


async def _try(context: Context, parsed: Parsed, engine: Engine, name: str, agent: str) -> ServerStatus:
    """Connect once, with a sign-in where somebody can do it, and say how it stands."""
    manager = await engine.manager()
    try:
        await manager.server(name, agent).refresh()
    except OpenClawError:
        status = _status(manager, name, agent)
        if status.state == "needs-auth" and context.surface != "http":
            say = context.console.note if parsed.flag("json") else context.console.line
            try:
                await sign_in(context, engine, name, agent, say)
            except AuthError as error:
                raise AuthError(f"{name} was not added: {error.message}", hint=error.hint) from error
    return _status(manager, name, agent)


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
        await manager.server(name, agent).restart()
        await manager.readiness.started(agent, name)
        status = _status(manager, name, agent)
    if parsed.flag("json"):
        context.console.data(status_json(status))
    else:
        context.console.line(f"{name}: {clean_label(status.shown, 300)}")
    return 0 if status.state == "ready" else 1


async def remove(context: Context, parsed: Parsed) -> int:
    """Take a server out of the config for good."""
    name = parsed.text("name")
    async with context.open_engine() as engine:
        path = _written(engine.config, name, parsed.text("agent"))
        await _change(context, engine, lambda source: removed(source, path))
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

        await _change(context, engine, switched)
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
        _section(config, spec.id),
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
