"""How servers stand, for `openclaw doctor`: each is asked, and what is wrong with it comes with the command that takes one further."""

import os
import re
import time
from collections.abc import Sequence

from openclaw.app import App
from openclaw.commands.check import Check
from openclaw.commands.console import tool_count
from openclaw.commands.dispatch import Context
from openclaw.commands.last_words import last_words
from openclaw.commands.passing import told_on
from openclaw.commands.render import left_out
from openclaw.commands.waiting import UNFINISHED, told_of_waiting, tried
from openclaw.config.agents import agent_ids
from openclaw.config.launchers import unpinned
from openclaw.config.servers import ServerSpec, server_specs
from openclaw.errors import ProcessError
from openclaw.mcp.remedies import command
from openclaw.mcp.server.server import LiveServer
from openclaw.mcp.status import ServerStatus
from openclaw.mcp.wording import CORRECT, changed_tools, trust_command
from openclaw.process.environment import child_environment
from openclaw.process.find_program import find_program
from openclaw.secrets.plaintext import plaintext_findings
from openclaw.security.external import clean_label

# Where the key of a model vendor stands; `openclaw keys` names a vendor by one word.
_MODEL_KEY = re.compile(r"models\.providers\.([\w-]+)\.apiKey")


async def server_checks(context: Context, app: App, *, asks: bool) -> list[Check]:
    """How the servers stand. Each is started if it does not run, and asked, once for all agents that share it; not without `asks`."""
    manager, began = await app.engine.manager(), time.time()
    asked: set[LiveServer] = set()
    away: set[tuple[str, str]] = set()
    # A person stopped them, and wants them to stay so.
    resting: set[tuple[str, str]] = set()
    for name in agent_ids(app.config) if asks else ():
        to_ask = [one for one in manager.servers(name) if one not in asked and not one.is_stopped_by_hand]
        asked.update(to_ask)
        async with told_of_waiting(context.console, manager, name):
            wrong = await tried(manager, name, to_ask)
        stopped = {one.spec.name for one in manager.servers(name) if one.is_stopped_by_hand}
        for one in manager.status(name):
            if one.name in stopped:
                resting.add((one.name, one.owner))
            elif wrong.get(one.name, "") not in ("", UNFINISHED):
                away.add((one.name, one.owner))
    specs = {(one.name, one.owner): one for name in agent_ids(app.config) for one in server_specs(app.config, name)}
    found = [
        (status, specs[status.name, status.owner])
        for status in told_on(context.surface, manager.status())
        # What is wrong with its entry was told with the config.
        if not status.reason_has_place
    ]
    filters = {
        (status.name, status.owner): said
        for name in agent_ids(app.config)
        for trouble in (manager.filter_trouble(name),)
        for status in manager.status(name)
        if (said := trouble.get(status.name))
    }
    checks = [
        _server(
            status,
            spec,
            _no_program(spec, app),
            filters.get((status.name, status.owner), ""),
            asks=asks and (status.name, status.owner) not in resting,
            is_away=(status.name, status.owner) in away,
            wrote=await last_words(manager, status, status.owner or agent_ids(app.config)[0], since=began),
        )
        for status, spec in found
    ]
    checks += _launchers(list(specs.values()))
    for finding in plaintext_findings(app.config):
        place = f"{finding.file}:{finding.line}" if finding.line else finding.file
        checks.append(
            Check(
                "Secrets",
                "warning",
                f"{place}: {finding.path} holds a credential in plain sight",
                _put_away(finding.path),
            )
        )
    return checks


def _put_away(path: str) -> str:
    """What to do about a credential in plain sight."""
    key = _MODEL_KEY.fullmatch(path)
    return f"Run: openclaw keys set {key[1]}" if key else "Use a secret:// reference."


def _launchers(specs: Sequence[ServerSpec]) -> list[Check]:
    """The servers whose program may be another one at every start, in one line: most configs have several."""
    found = [
        (spec, packages)
        for spec in specs
        if spec.enabled and spec.facts.is_process and (packages := unpinned(spec.command, spec.args))
    ]
    if not found:
        return []
    what = f"Server{'' if len(found) == 1 else 's'} {', '.join(clean_label(spec.name, 60) for spec, _ in found)}"
    commands = " and ".join(dict.fromkeys(clean_label(spec.command, 60) for spec, _ in found))
    which = ", ".join(dict.fromkeys(clean_label(", ".join(packages), 200) for _, packages in found))
    sentence = (
        f"{commands} run{'s' if len(commands.split()) == 1 else ''} whatever version of {which} there is on the day"
    )
    places = ", ".join(spec.where for spec, _ in found)
    return [Check(what, "warning", sentence, f"Write the version you tried, as in NAME@1.2.3: {places}")]


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
            suffixes=child.variables.get("PATHEXT"),
        )
    except ProcessError as error:
        return error
    return None


def _server(
    status: ServerStatus,
    spec: ServerSpec,
    no_program: ProcessError | None,
    filtered: str,
    *,
    asks: bool,
    is_away: bool,
    wrote: str,
) -> Check:
    """`is_away`: the attempt that was made just now failed; the next one may be under way already. `wrote` is what the program said."""
    what = f"Server {clean_label(status.name, 60)}"
    if no_program is not None:
        return Check(what, "failed", clean_label(no_program.message, 300), no_program.hint)
    sign_in, look = (command(word, status.name, status.owner) for word in ("auth", "status"))
    # The next line says what to run.
    shown = status.shown_without_remedy
    wrong = clean_label(shown, 500)
    if status.is_refused:
        return Check(what, "failed", wrong, CORRECT)
    if status.state == "stopped" and not asks:
        return Check(
            what, "not asked", clean_label(f"{status.reason}: not asked" if status.reason else "not asked", 500)
        )
    if status.state == "needs-auth":
        return Check(what, "failed", wrong, f"Run: {sign_in}")
    if status.state in ("failed", "unreachable", "restarting") or (status.state == "starting" and is_away):
        # What a program said before it ended tells more than how it ended.
        logs = command("logs", status.name, status.owner)
        said = clean_label(wrote.partition(" ")[2], 300)
        wrong += f" It wrote: {said}" if said else ""
        return Check(what, "failed", wrong, f"Look: {logs if spec.facts.is_process else look}")
    if status.state == "starting":
        return Check(what, "warning", wrong, f"Look: {look}")
    said = clean_label(f"{shown.rstrip('.')}, {tool_count(status.tools)}", 500)
    if status.changes:
        changed = f"{said}. {changed_tools(status.changes, status.upgrade)}"
        return Check(what, "warning", changed, f"Run: {trust_command(status.name, status.owner)}")
    if filtered:
        return Check(what, "warning", f"{said}: {filtered}", f"Correct it: {spec.where}")
    if status.unusable or (status.state == "ready" and status.reason):
        return Check(what, "warning", ". ".join(filter(None, (said, left_out(status)))), f"Look: {look}")
    return Check(what, "ok", said)
