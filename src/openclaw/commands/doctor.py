"""`openclaw doctor`: check everything and say how to fix what is wrong.

Each check is one line: what was looked at, how it is, and the next step when it is not well. Exit code 1 when a check failed.
"""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from openclaw.app import App
from openclaw.auth.store_key import NAMES
from openclaw.commands.approval_line import idle_patterns
from openclaw.commands.config import withheld
from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.commands.render import left_out, tool_count
from openclaw.commands.secrets import checked
from openclaw.commands.waiting import told_of_waiting, tried
from openclaw.config.agents import agent, agent_ids
from openclaw.config.check import PASTED
from openclaw.config.dotted import format_path
from openclaw.config.launchers import unpinned
from openclaw.config.load import load_config
from openclaw.config.servers import ServerSpec, server_specs
from openclaw.control import wire
from openclaw.control.instance import Holder, holder, lock_file, socket_of
from openclaw.control.socket_client import ask
from openclaw.errors import ConfigError, OpenClawError, ProcessError
from openclaw.log import one_line
from openclaw.mcp.remedies import command
from openclaw.mcp.server.server import Server
from openclaw.mcp.status import ServerStatus
from openclaw.mcp.wording import CORRECT, changed_tools, trust_command
from openclaw.plugins.loader import LOAD_PATHS, PluginStatus
from openclaw.process.environment import child_environment
from openclaw.process.find_program import find_program
from openclaw.process.stale import stale
from openclaw.secrets.plaintext import plaintext_findings
from openclaw.security.approval import Rules
from openclaw.security.external import clean_label
from openclaw.security.grants import UNUSED_DAYS
from openclaw.security.policy import problems
from openclaw.tool import Tool
from openclaw.version import __version__

# Config and state hold credentials: nobody else may read them.
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Check(msgspec.Struct, frozen=True):
    what: str
    state: Literal["ok", "warning", "failed"]
    message: str
    fix: str = ""


async def run(context: Context, parsed: Parsed) -> int:
    checks = []
    async for check in _all(context):
        checks.append(check)
        if not parsed.flag("json"):
            _show(context.console, check)
    if parsed.flag("json"):
        context.console.data({"ok": all(check.state != "failed" for check in checks), "checks": checks})
    return 1 if any(check.state == "failed" for check in checks) else 0


def _show(console: Console, check: Check) -> None:
    mark = {"ok": console.good("ok"), "warning": "!!", "failed": console.bad("✗ ")}[check.state]
    console.line(f"{mark}  {check.what}: {check.message}")
    if check.fix:
        console.line(f"      {check.fix}")


async def _all(context: Context) -> AsyncIterator[Check]:
    yield Check("Program", "ok", f"openclaw {__version__} on Python {sys.version.split()[0]}")
    yield await _gateway(context)
    for left in await asyncio.to_thread(stale):
        sentence = f"{left.name} (pid {left.pid}) was left behind by a gateway that was killed"
        yield Check("Processes", "warning", sentence, f"Run: kill {left.pid}")
    try:
        config = load_config(context.paths, context.env)
    except ConfigError as error:
        for problem in error.problems:
            yield Check("Config", "failed", str(problem), "Nothing else can be checked until the file is right.")
        return
    words = "is not there; every setting is at its default" if config.missing else "is valid"
    yield Check("Config", "ok", f"{config.file} {words}{' but for what is said below' if config.refused else ''}")
    for problem in config.refusals:
        yield Check("Config", "failed", str(problem), "This server is not started; everything else is.")
    if pasted := [section for (section,) in PASTED if config.raw.get(section)]:
        sentence = f"the servers under {' and '.join(pasted)} are read as those under mcp.servers"
        yield Check("Config", "ok", sentence)
    for warning in (*config.warnings, *withheld(config, context.env)):
        yield Check("Config", "warning", str(warning))
    if config.ignored:
        yield Check("Config", "ok", f"kept and ignored, as they belong to another program: {', '.join(config.ignored)}")
    for check in _permissions([*config.files, context.paths.state_dir]):
        yield check
    async with context.open_app() as app:
        for name in agent_ids(config):
            async for check in _agent(app, name):
                yield check
        # Before servers are asked: the first that wants a sign-in makes the key.
        yield await _tokens(app)
        for check in await _servers(context, app):
            yield check
        for reference in await checked(config, context.env):
            if not reference.ok:
                where = ", ".join(reference.used)
                yield Check("Secrets", "failed", f"{reference.error} (used at {where})", "Look: openclaw secrets check")
        for check in await _approvals(app):
            yield check
        yield await _store(app)
        plugins = await app.plugins()
        await plugins.loaded()
        for plugin in plugins.statuses():
            yield _plugin(plugin)


async def _gateway(context: Context) -> Check:
    """Whether a gateway runs, which one, and whether it answers."""
    if context.surface == "control":
        return Check("Gateway", "ok", f"runs (pid {os.getpid()}), and answers this")
    running = holder(lock_file(context.paths))
    if running is None:
        return Check("Gateway", "ok", "none runs; `openclaw gateway start` keeps servers warm")
    return judge(running, await ask(socket_of(context.paths), wire.STATUS), config=str(context.paths.config_file))


def judge(running: Holder, answer: Mapping[str, Any] | None, *, config: str) -> Check:
    """The gateway that runs on this state directory; `answer` is what it says at the address of `config`, None when it says nothing."""
    restart = "Run: openclaw gateway restart"
    if running.config != config:
        other = f"pid {running.pid} serves another config, {one_line(running.config)}"
        return Check("Gateway", "warning", other, "Use that config, or another OPENCLAW_STATE_DIR.")
    if answer is None:
        return Check("Gateway", "failed", f"pid {running.pid} does not answer", f"Run: kill {running.pid}")
    if answer["version"] != __version__:
        version = one_line(str(answer["version"]))
        return Check("Gateway", "warning", f"pid {running.pid} is version {version}, not {__version__}", restart)
    if answer["configProblem"]:
        problem = one_line(str(answer["configProblem"]).splitlines()[0])
        return Check("Gateway", "warning", f"the config is not in use as saved: {problem}", "Mend the file.")
    if answer["restartNeeded"]:
        return Check("Gateway", "warning", f"a restart is needed for: {', '.join(answer['restartNeeded'])}", restart)
    return Check("Gateway", "ok", f"runs (pid {running.pid}, {answer['url']})")


def _plugin(plugin: PluginStatus) -> Check:
    what, said = f"Plugin {plugin.id}", f"{plugin.state}{f': {plugin.reason}' if plugin.reason else ''}"
    if plugin.state in ("loaded", "off"):
        return Check(what, "ok", said)
    if plugin.state == "missing":
        return Check(what, "failed", said, f"Install it, or take plugins.entries.{plugin.id} out.")
    if plugin.where == LOAD_PATHS:
        return Check(what, "failed", said, f"Correct {LOAD_PATHS}.")
    return Check(what, "failed", said, f"Mend {plugin.where}, or switch it off: plugins.entries.{plugin.id}.enabled.")


def _permissions(paths: list[Path]) -> list[Check]:
    found = []
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError:
            continue
        if os.name == "posix" and mode & _OTHERS:
            private = "700" if stat.S_ISDIR(mode) else "600"
            found.append(
                Check(
                    "Permissions",
                    "warning",
                    f"others may read {path} ({mode & 0o777:o})",
                    f"Run: chmod {private} {path}",
                )
            )
    return found or [Check("Permissions", "ok", "config and state are private")]


async def _agent(app: App, name: str) -> AsyncIterator[Check]:
    spec = agent(app.config, name)
    what = f"Agent {name}"
    try:
        selection = await app.selection(spec)
        if selection.problem:
            yield Check(what, "failed", selection.problem)
        else:
            key = f", key from {selection.key}" if selection.key else ""
            found = f" ({selection.found})" if selection.found else ""
            yield Check(what, "ok", f"model {selection.name}{key}{found}")
    except OpenClawError as error:
        yield Check(what, "failed", error.message, error.hint)
    workspace = app.workplace(spec).root
    if not workspace.is_dir():
        yield Check(what, "failed", f"its workspace {workspace} is not a directory", f"Run: mkdir -p {workspace}")
    for problem in problems(app.engine.policy_layers(spec)):
        yield Check(what, "warning", str(problem))
    skills = await asyncio.to_thread(app.workplace(spec).skills)
    if skills.skills:
        yield Check(what, "ok", f"skills {', '.join(skill.name for skill in skills.skills)}")
    for skill in skills.skills:
        if skill.note:
            yield Check(what, "warning", f"skill {skill.path}: {skill.note}")
    for skipped in skills.skipped:
        yield Check(what, "warning" if skipped.malformed else "ok", f"without skill {skipped.path}: {skipped.reason}")


async def _approvals(app: App) -> list[Check]:
    """What is asked about, what becomes of it when nobody is there, and what of the rules and grants is of no use."""
    what, found = "Approvals", list[Check]()
    for name in agent_ids(app.config):
        rules = app.engine.approval_rules(name)
        found.append(_approval_rules(rules, f"{what} of agent {name}"))
        for pattern, argument in idle_patterns(rules, await _all_tools(app, name)):
            if argument:
                sentence = f'"{pattern.text}" matches nothing: no tool of that name has an argument {argument}'
                found.append(Check(what, "failed", f"{sentence} ({pattern.where})", "Correct the name."))
            else:
                sentence = f'"{pattern.text}" names no tool that is there now ({pattern.where})'
                found.append(Check(what, "warning", sentence, "Its server may be down, or the name wrong."))
    # The same pattern may stand in the rules of every agent.
    found = list(dict.fromkeys(found))
    if unused := await asyncio.to_thread(app.engine.grants.unused):
        count = f"{len(unused)} grant{'' if len(unused) == 1 else 's'}"
        sentence = f"{count} nobody has needed for {UNUSED_DAYS} days"
        found.append(Check(what, "warning", sentence, "Look: openclaw approvals grants"))
    if ours := [format_path(path) for path in _approval_paths(app.config.raw)]:
        sentence = f"only this OpenClaw reads {', '.join(ours)}: one in TypeScript that shares the file refuses it"
        found.append(Check(what, "ok", sentence))
    return found


async def _all_tools(app: App, name: str) -> list[Tool]:
    """Whatever is offered to an agent, allowed or not. None for one that cannot be made: that is said elsewhere."""
    try:
        one = await app.agent(agent(app.config, name))
    except OpenClawError:
        return []
    return [tool for source in one.dependencies.sources for tool in source.tools(name)]


def _approval_rules(rules: Rules, what: str) -> Check:
    by_surface = ", ".join(f'{surface} "{word}"' for surface, word in sorted(rules.fallback.items()))
    said = f'mode "{rules.mode}", after untrusted text "{rules.taint}", with nobody to ask {by_surface}'
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


async def _servers(context: Context, app: App) -> list[Check]:
    """How the servers stand: each is started if it does not run, and asked, once for all agents that share it."""
    manager = await app.engine.manager()
    asked: set[Server] = set()
    for name in agent_ids(app.config):
        to_ask = [one for one in manager.servers(name) if one not in asked and not one.is_stopped_by_hand]
        asked.update(to_ask)
        async with told_of_waiting(context.console, manager, name):
            await tried(manager, name, to_ask)
    specs = {(one.name, one.owner): one for name in agent_ids(app.config) for one in server_specs(app.config, name)}
    found = [(status, specs[status.name, status.owner]) for status in manager.status()]
    checks = [_server(status, spec, _no_program(spec, app)) for status, spec in found]
    checks += [check for one in specs.values() if (check := _launcher(one))]
    for finding in plaintext_findings(app.config):
        place = f"{finding.file}:{finding.line}" if finding.line else finding.file
        checks.append(
            Check(
                "Secrets",
                "warning",
                f"{place}: {finding.path} holds a credential in plain sight",
                "Use a secret:// reference.",
            )
        )
    return checks


def _launcher(spec: ServerSpec) -> Check | None:
    """A server whose program may be another one at every start."""
    packages = unpinned(spec.command, spec.args) if spec.enabled and spec.facts.is_process else ()
    if not packages:
        return None
    what, which = f"Server {clean_label(spec.name, 60)}", clean_label(", ".join(packages), 200)
    sentence = f"{spec.command} runs whatever version of {which} there is on the day"
    return Check(what, "warning", sentence, f"Write the version you tried, as in NAME@1.2.3: {spec.where}")


def _no_program(spec: ServerSpec, app: App) -> ProcessError | None:
    """Why the command of a server cannot be run, without running it; None when it can, or when there is none."""
    if not spec.facts.is_process or spec.fault or not spec.enabled:
        return None
    child = child_environment(dict(spec.env), pass_env=spec.pass_env, allowed=spec.allow_env, parent=app.engine.env)
    try:
        find_program(
            spec.command,
            search_path=child.variables.get("PATH", os.defpath),
            cwd=os.path.expanduser(spec.cwd) if spec.cwd else None,
        )
    except ProcessError as error:
        return error
    return None


def _server(status: ServerStatus, spec: ServerSpec, no_program: ProcessError | None) -> Check:
    what = f"Server {clean_label(status.name, 60)}"
    if no_program is not None:
        return Check(what, "failed", clean_label(no_program.message, 300), no_program.hint)
    sign_in, look = (command(word, status.name, status.owner) for word in ("auth", "status"))
    # The next line says what to run.
    shown = status.shown_without_remedy
    wrong = clean_label(shown, 500)
    if status.is_refused:
        return Check(what, "failed", wrong, CORRECT)
    if status.state == "needs-auth":
        return Check(what, "failed", wrong, f"Run: {sign_in}")
    if status.state in ("failed", "unreachable", "restarting"):
        # What a program said before it ended tells more than how it ended.
        logs = command("logs", status.name, status.owner)
        return Check(what, "failed", wrong, f"Look: {logs if spec.facts.is_process else look}")
    if status.state == "starting":
        return Check(what, "warning", wrong, f"Look: {look}")
    said = clean_label(f"{shown.rstrip('.')}, {tool_count(status.tools)}", 500)
    if status.changes:
        changed = f"{said}. {changed_tools(status.changes, status.upgrade)}"
        return Check(what, "warning", changed, f"Run: {trust_command(status.name, status.owner)}")
    if status.unusable or (status.state == "ready" and status.reason):
        return Check(what, "warning", ". ".join(filter(None, (said, left_out(status)))), f"Look: {look}")
    return Check(what, "ok", said)


async def _tokens(app: App) -> Check:
    """Where the key of the stored tokens is, and whether it is the right one."""
    credentials = app.engine.credentials
    try:
        source = credentials.key_source()
        if source is None:
            return Check("Tokens", "ok", "none are stored")
        await credentials.check_key()
    except OpenClawError as error:
        return Check("Tokens", "failed", error.message, error.hint)
    kept = f"encrypted in {app.paths.tokens_dir} with {NAMES[source]}"
    if source == "file":
        return Check(
            "Tokens",
            "warning",
            f"{kept} beside them",
            "Set tokenStore.key to a secret:// reference, remove that directory and sign in again.",
        )
    return Check("Tokens", "ok", kept)


async def _store(app: App) -> Check:
    try:
        count = len(await app.store.list())
    except OpenClawError as error:
        return Check("Sessions", "failed", error.message, error.hint)
    software = f" ({app.store.software})" if app.store.software else ""
    return Check("Sessions", "ok", f"{count} in {app.store.place}{software}")
