"""`openclaw doctor` with what is known here alone: whether a gateway runs, which one, and whether it answers."""

import os
from collections.abc import Mapping
from typing import Any

from openclaw import __version__
from openclaw.commands import doctor
from openclaw.commands.dispatch import Context
from openclaw.commands.doctor import Check
from openclaw.commands.parse import Parsed
from openclaw.gateway import wire
from openclaw.gateway.client import ask
from openclaw.gateway.instance import Holder, holder, lock_file, socket_of
from openclaw.log import one_line


async def run(context: Context, parsed: Parsed) -> int:
    return await doctor.run(context, parsed, gateway=await _gateway(context))


async def _gateway(context: Context) -> Check:
    if context.surface == "control":
        return Check("Gateway", "ok", f"runs (pid {os.getpid()}), and answers this")
    running = holder(lock_file(context.paths))
    if running is None:
        return Check("Gateway", "ok", "none runs; `openclaw gateway start` keeps servers warm")
    return judge(running, await ask(socket_of(context.paths), wire.STATUS), config=str(context.paths.config_file))


def judge(running: Holder, answer: Mapping[str, Any] | None, *, config: str) -> Check:
    """How it stands with a gateway that holds the state directory; `answer` is what it says at the address of `config`."""
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
