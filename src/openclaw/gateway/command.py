"""`openclaw gateway …`: run it here, or as a process of its own; stop it, ask how it is, make it a service.

Owns what belongs to the process: signals, logging, detaching. What a gateway is and does is gateway/gateway.py.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from openclaw.appending import open_to_read
from openclaw.commands.console import duration, tool_count
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.config.load import load_config
from openclaw.config.paths import Paths
from openclaw.config.sections import LoggingSection
from openclaw.control import wire
from openclaw.control.event_loop import on_signal
from openclaw.control.instance import AlreadyRunningError, holder, lock_file, socket_of
from openclaw.control.socket_client import ask
from openclaw.errors import OpenClawError, StoreError, UsageError
from openclaw.files import make_directory, reason
from openclaw.gateway.service import LABEL, UNIT, launchd_job, systemd_unit
from openclaw.log import LARGEST_FILE, configure, open_log
from openclaw.mcp.status import up_words
from openclaw.process.detach import start_detached
from openclaw.security.external import clean_label, clean_terminal

if TYPE_CHECKING:
    from openclaw.gateway.gateway import Gateway

# Loading a large config and all modules takes a second on a slow machine.
START_TIMEOUT = 30.0
# Calls may drain for 10 s, and a stubborn server takes 7.
STOP_TIMEOUT = 30.0
# Seconds that a gateway which drains has for what it has begun: a turn may take minutes, and wait for a person.
DRAIN_LIMIT = 300.0
# Seconds in which it still takes what comes: a balancer looks at `/ready` every second or two, and asks more than once.
DRAIN_GRACE = 5.0
_PAUSE = 0.05
_SHOWN_LINES = 12
# What a service needs of our environment to find its files and its servers' programs.
_CARRIED = ("PATH", "OPENCLAW_HOME", "OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH")


async def run(context: Context, parsed: Parsed) -> int:
    """In the foreground, until a signal. The first one lets running calls finish; a second one ends them."""

    def log_as(section: LoggingSection) -> None:
        _log_as_configured(context, parsed, section)

    log_as(load_config(context.paths, context.env).root.logging)
    stop = asyncio.Event()
    running: list[Gateway] = []
    task = asyncio.current_task()
    assert task is not None

    def interrupted() -> None:
        if stop.is_set():
            task.cancel()
        stop.set()

    def reload() -> None:
        for gateway in running:
            gateway.reload_soon()

    # A terminal that closes takes what runs in it along; for a service the same signal means to look at the config again.
    hung_up = interrupted if context.console.interactive else reload
    for name, act in (("SIGTERM", interrupted), ("SIGINT", interrupted), ("SIGHUP", hung_up)):
        on_signal(name, act)

    def ready(gateway: "Gateway") -> None:
        running.append(gateway)
        section = gateway.app.config.root.gateway.auth
        token = "gateway.auth" if section.token or section.password else context.paths.gateway_token_file
        context.console.note(f"The gateway is up: http://127.0.0.1:{gateway.port} (token: {token})")

    from openclaw.gateway.gateway import serve

    await serve(context.paths, context.env, stop=stop, root=context.root, ready=ready, log_as=log_as)
    return 0


def _log_as_configured(context: Context, parsed: Parsed, section: LoggingSection) -> None:
    """The command line goes before the config file."""
    level = parsed.text("log-level") or section.level or "info"
    file = Path(context.paths.home, section.file).expanduser() if section.file else None
    configure(level=level, json_lines=parsed.flag("log-json") or section.json, file=file, own=log_file(context.paths))


def log_file(paths: Paths) -> Path:
    """The log of a gateway without a terminal."""
    return paths.logs_dir / "gateway.log"


async def start(context: Context, parsed: Parsed) -> int:
    """As a process of its own; returns when it answers. One that runs already is as good."""
    running = holder(lock_file(context.paths))
    if running is not None:
        if running.config != str(context.paths.config_file):
            raise AlreadyRunningError(running)
        answer = await _first_answer(context.paths)
        if answer is None:
            raise OpenClawError(
                f"A gateway runs already (pid {running.pid}) and does not answer.",
                hint="Stop it with `openclaw gateway stop`.",
            )
        _tell_of(context, parsed, answer, "The gateway runs already")
        return 0
    load_config(context.paths, context.env)
    log = log_file(context.paths)
    argv = [*_program(), "gateway", "run", "--config", str(context.paths.config_file)]
    starting = context.console.live.waiting("Waiting for the gateway to start")
    with _opened(log) as output, open_to_read(log) as before, starting:
        before.seek(0, os.SEEK_END)
        process = start_detached(argv, env=context.env, output=output.fileno(), cwd=Path(log.anchor))
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            if process.ended() is not None:
                raise OpenClawError(f"The gateway did not start. In {log}:\n{_said(log, before)}")
            answer = await ask(socket_of(context.paths), wire.STATUS)
            if answer is not None:
                _tell_of(context, parsed, answer, "The gateway runs")
                context.console.note(context.console.dim(f"Its log: {log}"))
                return 0
            await asyncio.sleep(_PAUSE)
    raise OpenClawError(f"The gateway (pid {process.pid}) does not answer yet.", hint=f"Look at {log}.")


def _opened(log: Path) -> TextIO:
    try:
        return open_log(log)
    except OSError as error:
        raise StoreError(f"{log} cannot be written: {reason(error)}.") from None


def _tell_of(context: Context, parsed: Parsed, answer: dict[str, Any], told: str) -> None:
    if parsed.flag("json"):
        context.console.data({"running": True, "pid": answer["pid"], "url": answer["url"]})
    else:
        context.console.line(f"{told}: pid {answer['pid']}, {answer['url']}")


async def _first_answer(paths: Paths) -> dict[str, Any] | None:
    """What a gateway says that may only just have been started; None when it says nothing."""
    deadline = time.monotonic() + START_TIMEOUT
    while (answer := await ask(socket_of(paths), wire.STATUS)) is None:
        if time.monotonic() > deadline or holder(lock_file(paths)) is None:
            return None
        await asyncio.sleep(_PAUSE)
    return answer


def _program() -> list[str]:
    # Without -P the directory it starts in would come before installed packages.
    return [sys.executable, "-P", "-m", "openclaw"]


def _said(log: Path, before: BinaryIO) -> str:
    """The last lines written to a log since `before` was opened at its end; the log may have been rotated since."""
    said = before.read(LARGEST_FILE)
    with log.open("rb") as now:
        if not os.path.samestat(os.fstat(before.fileno()), os.fstat(now.fileno())):
            said += now.read(LARGEST_FILE)
    lines = said.decode("utf-8", "replace").splitlines()[-_SHOWN_LINES:]
    return clean_terminal("\n".join(f"  {line}" for line in lines))


async def stop(context: Context, parsed: Parsed) -> int:
    drain = _drain_of(context, parsed)
    told = "Waiting for the gateway to finish what it has begun" if drain else "Waiting for the gateway to stop"
    with context.console.live.waiting(told):
        running = await _stop(context.paths, drain)
    if parsed.flag("json"):
        context.console.data({"running": False, "pid": running})
        return 0
    context.console.line(f"The gateway has stopped (pid {running})." if running else "No gateway runs.")
    return 0


def _drain_of(context: Context, parsed: Parsed) -> tuple[float, float] | None:
    """Seconds that a gateway may drain, and in which it still takes what comes; None when it is to stop at once. Raises UsageError."""
    limit, grace = parsed.number("within"), parsed.number("grace")
    if not parsed.flag("drain"):
        if limit is not None or grace is not None:
            raise UsageError("--within and --grace belong to --drain.", hint="Run: openclaw gateway stop --drain")
        return None
    limit = DRAIN_LIMIT if limit is None else limit
    if grace is None:
        # Without others nobody could take what is sent elsewhere. What runs has at least as long again to end.
        is_alone = load_config(context.paths, context.env).root.session.store != "postgres"
        grace = 0.0 if is_alone else min(DRAIN_GRACE, limit / 2)
    elif grace > limit:
        raise UsageError(
            f"--grace {grace:g} is longer than the whole drain, which is over after {limit:g} s.",
            hint="Give --within more seconds than --grace.",
        )
    return limit, grace


async def _stop(paths: Paths, drain: tuple[float, float] | None = None) -> int | None:
    """Stop the gateway and wait until it is gone. The process id it had; None when none ran."""
    running = holder(lock_file(paths))
    if running is None:
        return None
    if drain is not None:
        if await ask(socket_of(paths), wire.DRAIN, *map(str, drain)) is None:
            raise OpenClawError(
                f"The gateway (pid {running.pid}) does not answer, so it was not told to drain.",
                hint="Stop it without --drain, or ask from where its config is.",
            )
    elif await ask(socket_of(paths), wire.STOP) is None:
        # It serves another config of this state directory, or does not answer any more.
        os.kill(running.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_TIMEOUT + (drain[0] if drain is not None else 0.0)
    while time.monotonic() < deadline:
        if holder(lock_file(paths)) is None:
            return running.pid
        await asyncio.sleep(_PAUSE)
    raise OpenClawError(
        f"The gateway (pid {running.pid}) is still stopping.", hint=f"If it hangs: kill -9 {running.pid}"
    )


async def restart(context: Context, parsed: Parsed) -> int:
    await _stop(context.paths)
    return await start(context, parsed)


async def status(context: Context, parsed: Parsed) -> int:
    """Exit code 1 when none runs, or it does not answer."""
    console = context.console
    answer = await ask(socket_of(context.paths), wire.STATUS)
    running = holder(lock_file(context.paths))
    if parsed.flag("json"):
        console.data({"running": answer is not None, **(answer or {"pid": running.pid if running else None})})
    elif answer is not None:
        _show(answer, console.line)
    elif running is not None:
        other = running.config != str(context.paths.config_file)
        why = f"serves another config, {running.config}" if other else "does not answer"
        console.line(f"A gateway runs on this state directory (pid {running.pid}) and {why}.")
    else:
        console.line("No gateway runs. Start it: openclaw gateway start")
    return 0 if answer is not None else 1


def _show(answer: dict[str, Any], line: Callable[[str], None]) -> None:
    line(f"The gateway runs: pid {answer['pid']}, version {answer['version']}, up {duration(answer['uptimeSeconds'])}")
    line(f"  HTTP      {answer['url']} (bind: {clean_label(answer['bind'], 60)})")
    line(f"  Config    {clean_terminal(answer['config'])}")
    for problem in filter(None, answer["configProblem"].splitlines()):
        line(f"            ! not in use as saved: {clean_terminal(problem)}")
    if answer["restartNeeded"]:
        line(f"            ! restart needed for: {', '.join(answer['restartNeeded'])}")
    draining = "; it drains, and then stops" if answer["isDraining"] else ""
    line(f"  Running   {answer['requests']} requests and commands{draining}")
    for server in answer["servers"]:
        line(f"  Server    {clean_label(server['name'], 100)}  {_server_line(server)}")


def _server_line(server: dict[str, Any]) -> str:
    """One server in one line; `openclaw mcp status` tells more."""
    reason = f": {clean_label(server['reason'], 200)}" if server["reason"] else ""
    # In the same words as everywhere else.
    state = up_words(server["pid"]) if server["state"] == "ready" else server["state"]
    facts = [f"{state}{reason}", tool_count(server["tools"])]
    if server["authExpiresAt"] is not None:
        left = server["authExpiresAt"] - time.time()
        renewed = "renewed by itself" if server["authRenews"] else "sign in again"
        facts.append(f"token expires in {duration(left)}" if left > 0 else f"token has expired, {renewed}")
    return ", ".join(facts)


async def install(context: Context, parsed: Parsed) -> int:
    """Write a service for the user's session and say how to switch it on. Starts nothing."""
    console, env = context.console, context.env
    argv = [*_program(), "gateway", "run", "--config", str(context.paths.config_file)]
    carried = {name: env[name] for name in _CARRIED if env.get(name)}
    file = _service_file(context)
    if sys.platform == "darwin":
        data = launchd_job(argv, carried, str(log_file(context.paths)))
        steps = [f"launchctl bootstrap gui/{os.getuid()} {file}"]
    else:
        data = systemd_unit(argv, carried).encode()
        steps = ["systemctl --user daemon-reload", f"systemctl --user enable --now {UNIT}", "loginctl enable-linger"]
    existed = file.exists()
    try:
        make_directory(context.paths.logs_dir)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    except OSError as error:
        raise OpenClawError(f"{file} cannot be written: {error.strerror}.") from error
    console.line(f"{'Replaced' if existed else 'Wrote'} {file}")
    console.line(f"  It runs: {' '.join(argv)}")
    console.line(
        f"  With these of your variables: {', '.join(carried) or 'none'}. Keys belong into secret:// references."
    )
    console.line("Switch it on:")
    for step in steps:
        console.line(f"  {step}")
    return 0


async def uninstall(context: Context, parsed: Parsed) -> int:
    """Take away what `install` wrote, and what switching it on left beside it. Stops nothing."""
    console, file = context.console, _service_file(context)
    # Made by `systemctl --user enable`.
    switched_on = file.parent / "default.target.wants" / file.name
    if not file.exists() and not switched_on.is_symlink():
        console.line(f"No service is installed: there is no {file}")
        return 0
    try:
        for one in (switched_on, file):
            one.unlink(missing_ok=True)
    except OSError as error:
        raise OpenClawError(f"{one} cannot be removed: {error.strerror}.") from error
    console.line(f"Removed {file}")
    console.line("If it was switched on, it runs until you end it:")
    if sys.platform == "darwin":
        console.line(f"  launchctl bootout gui/{os.getuid()}/{LABEL}")
    else:
        console.line(f"  systemctl --user stop {UNIT}")
        console.line("  systemctl --user daemon-reload")
    return 0


def _service_file(context: Context, platform: str = sys.platform) -> Path:
    """Where the service of the user's session is written. Raises OpenClawError where there is no such thing."""
    if platform == "darwin":
        return context.paths.home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    if platform.startswith("linux"):
        config_home = Path(context.env.get("XDG_CONFIG_HOME") or context.paths.home / ".config")
        return config_home / "systemd" / "user" / UNIT
    raise OpenClawError("There is no service on this system.", hint="Use `openclaw gateway start`.")
