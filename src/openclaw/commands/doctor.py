"""`openclaw doctor`: check everything and say how to fix what is wrong.

Each check is one line: what was looked at, how it is, and the next step when it is not well. Exit code 1 when a check failed.
"""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from openclaw.app import App
from openclaw.commands.check import Check
from openclaw.commands.config import withheld
from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.commands.doctor_approvals import all_tools, approval_checks
from openclaw.commands.doctor_machine import distribution_check, path_check, port_check
from openclaw.commands.doctor_model import AgentModel, models_of
from openclaw.commands.doctor_rules import rule_checks
from openclaw.commands.doctor_servers import server_checks
from openclaw.commands.parse import Parsed
from openclaw.commands.secrets import checked
from openclaw.config.agents import AgentSpec, agent, agent_ids
from openclaw.config.check import PASTED
from openclaw.config.load import load_config
from openclaw.control import wire
from openclaw.control.instance import Holder, holder, lock_file, socket_of
from openclaw.control.socket_client import ask
from openclaw.errors import ConfigError, OpenClawError
from openclaw.log import one_line
from openclaw.models.naming import OFFLINE
from openclaw.plugins.loader import LOAD_PATHS, PluginStatus
from openclaw.secrets.store.key import NAMES
from openclaw.security.external import clean_label
from openclaw.security.policy import problems
from openclaw.version import __version__

if sys.platform != "win32":
    from openclaw.process.stale import stale

_NO_GATEWAY = Check("Gateway", "ok", "none runs; `openclaw gateway start` keeps servers warm")
# Config and state hold credentials: nobody else may read them.
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


async def run(context: Context, parsed: Parsed) -> int:
    checks = []
    async for check in _all(context, asks=not parsed.flag("offline")):
        checks.append(check)
        if not parsed.flag("json"):
            _show(context.console, check)
    if parsed.flag("json"):
        context.console.data({"ok": all(check.state != "failed" for check in checks), "checks": checks})
    elif summed := _summed(checks):
        context.console.line(summed)
    return 1 if any(check.state == "failed" for check in checks) else 0


def _summed(checks: Sequence[Check]) -> str:
    """What there is to do, for who reads the end of a long list first; empty when there is nothing."""
    failed, warned = (sum(check.state == state for check in checks) for state in ("failed", "warning"))
    told = [f"{failed} failed (✗)"] if failed else []
    told += [f"{warned} to look at (!!)"] if warned else []
    return f"Of {len(checks)} checks: {', '.join(told)}." if told else ""


def _show(console: Console, check: Check) -> None:
    marks = {"ok": console.good("ok"), "warning": "!!", "failed": console.bad("✗ "), "not asked": console.dim("--")}
    mark = marks[check.state]
    console.line(f"{mark}  {check.what}: {check.message}")
    if check.fix:
        console.line(f"      {check.fix}")


async def _all(context: Context, *, asks: bool) -> AsyncIterator[Check]:
    yield Check("Program", "ok", f"openclaw {__version__} on Python {sys.version.split()[0]}")
    for other in (path_check(context.env), distribution_check(sys.path)):
        if other:
            yield other
    gateway = await _gateway(context)
    yield gateway
    if sys.platform != "win32":
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
    told = {warning.path for warning in config.warnings}
    if others := [path for path in config.ignored if path not in told]:
        yield Check("Config", "ok", f"kept and ignored, as they belong to another program: {', '.join(others)}")
    if gateway == _NO_GATEWAY and (taken := await asyncio.to_thread(port_check, config)):
        yield taken
    for check in _permissions([*config.files, context.paths.state_dir]):
        yield check
    async with context.open_app() as app:
        # Before servers are asked: the first that wants a sign-in makes the key.
        tokens = await _tokens(app)
        specs = [agent(app.config, name) for name in agent_ids(app.config)]
        # At the same time: each takes as long as the slowest.
        with context.console.live.waiting("Asking the model and the servers"):
            models, servers = await asyncio.gather(
                models_of(app, specs, asks=asks), server_checks(context, app, asks=asks)
            )
        for spec in specs:
            async for check in _agent(app, spec, models[spec.id], asks=asks):
                yield check
        yield tokens
        for check in servers:
            yield check
        for reference in await checked(config, context.env):
            if not reference.ok:
                where = ", ".join(reference.used)
                yield Check("Secrets", "failed", f"{reference.error} (used at {where})", "Look: openclaw secrets check")
        for check in await approval_checks(app, knows_tools=asks):
            yield check
        for check in await _stores(app):
            yield check
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
        return _NO_GATEWAY
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


async def _agent(app: App, spec: AgentSpec, model: AgentModel, *, asks: bool) -> AsyncIterator[Check]:
    what = f"Agent {spec.id}"
    yield _model(what, model)
    workspace = app.workplace(spec).root
    if not workspace.is_dir():
        yield Check(what, "failed", f"its workspace {workspace} is not a directory", f"Run: mkdir -p {workspace}")
    layers = app.engine.policy_layers(spec)
    for problem in problems(layers):
        yield Check(what, "warning", str(problem))
    # Of servers that were not asked nobody knows the tools.
    for check in rule_checks(spec.id, layers, await all_tools(app, spec)) if asks else ():
        yield check
    skills = await asyncio.to_thread(app.workplace(spec).skills)
    if skills.skills:
        yield Check(what, "ok", f"skills {', '.join(skill.name for skill in skills.skills)}")
    for skill in skills.skills:
        if skill.note:
            yield Check(what, "warning", f"skill {skill.path}: {skill.note}")
    for skipped in skills.skipped:
        yield Check(what, "warning" if skipped.malformed else "ok", f"without skill {skipped.path}: {skipped.reason}")


def _model(what: str, model: AgentModel) -> Check:
    """Which model an agent has, and how it answered."""
    if model.error is not None:
        return Check(what, "failed", model.error.message, model.error.hint)
    selection, tried = model.selection, model.tried
    assert selection is not None  # or there is an error
    if selection.problem:
        return Check(what, "failed", selection.problem)
    key = f", key from {selection.key}" if selection.key else ""
    found = f" ({selection.found})" if selection.found else ""
    said = f"model {selection.name}{key}{found}"
    if selection.name == OFFLINE:
        return Check(what, "ok", said)
    if tried is None:
        return Check(what, "not asked", f"{said}: not asked")
    if tried.error:
        # The words of a vendor, and of whoever answers in its place.
        again = f"Try again: openclaw models test {selection.name}"
        return Check(what, "failed", f"{said}: {clean_label(tried.error, 500)}", again)
    return Check(what, "ok", f"{said}, answered in {tried.seconds or 0:.1f} s")


async def _tokens(app: App) -> Check:
    """Where the key of the stored tokens is, and whether it is the right one."""
    credentials = app.engine.credentials
    try:
        source = await credentials.key_source()
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


async def _stores(app: App) -> list[Check]:
    fleet = app.engine.fleet
    if fleet is None:
        return [await _store(app)]
    from openclaw.fleet.health import health_of

    try:
        # Before anything else is asked of it: whoever wants something waits for a database that is away.
        health = await health_of(fleet)
    except OpenClawError as error:
        return [Check("Sessions", "failed", error.message, error.hint)]
    concerns = [Check("Database", "warning", concern.message, concern.fix) for concern in health.concerns]
    return [await _store(app), *concerns]


async def _store(app: App) -> Check:
    try:
        count = (await app.store.find(limit=0)).total
    except OpenClawError as error:
        return Check("Sessions", "failed", error.message, error.hint)
    software = f" ({app.store.software})" if app.store.software else ""
    return Check("Sessions", "ok", f"{count} in {app.store.place}{software}")
