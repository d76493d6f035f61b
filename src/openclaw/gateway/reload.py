"""Takes over a config that was saved while the gateway runs: all of it, or nothing.

A file that cannot be loaded is reported, once, and the running config stays. Tokens, hosts, origins and tool policy apply
at once; servers follow: those that changed are ended and started, the others are not touched. The few settings that need a restart
(`App.outdated`) are named in the log and in the gateway's status.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclaw.app import App
from openclaw.config.load import Config, load_config
from openclaw.config.sections import LoggingSection
from openclaw.errors import ConfigError, OpenClawError
from openclaw.gateway.credentials import rules_of
from openclaw.gateway.feed import ConfigReloaded
from openclaw.gateway.guard import GuardRules
from openclaw.redact import redact

if TYPE_CHECKING:
    from openclaw.gateway.http import HttpServer

_log = logging.getLogger(__name__)


# Makes log lines what the config says.
LogAs = Callable[[LoggingSection], None]


class Reloader:
    """`problem` says what is wrong with the file as it is now; empty when it is the one that runs."""

    def __init__(self, app: App, http: "HttpServer", *, log_as: LogAs) -> None:
        self.problem = ""
        self._log_as = log_as
        self._logged = app.config.root.logging
        # What was said to need a restart.
        self._outdated: tuple[str, ...] = ()
        # One at a time: the last file that was saved is the one that stays.
        self._reading = asyncio.Lock()
        self._app = app
        self._http = http
        # Files that a failed attempt complained about: they may be ones the running config does not know.
        self._troubled: frozenset[Path] = frozenset()
        self._tasks: set[asyncio.Task[None]] = set()

    def files(self) -> frozenset[Path]:
        """What to watch."""
        return frozenset(self._app.config.files) | self._troubled

    async def reload(self) -> None:
        """Never raises but CancelledError."""
        async with self._reading:
            await self._reload()

    async def _reload(self) -> None:
        paths, env = self._app.paths, self._app.engine.env
        try:
            while True:
                used = self._app.config
                config = await asyncio.to_thread(load_config, paths, env)
                if config.missing and not used.missing:
                    # Some editors take the old file away before they write the new one.
                    raise OpenClawError(f"{paths.config_file} is gone.", hint="Put it back, or stop the gateway.")
                rules = await rules_of(config, env, paths.gateway_token_file)
                # A command may have changed the file after it was read here, and be ahead of us: what was read is out of date then.
                if used is self._app.config:
                    break
        except OpenClawError as error:
            self._refuse(error)
            return
        self.problem, self._troubled = "", frozenset()
        await self._adopt(config, rules, used)
        self._app.engine.events.send(ConfigReloaded(self.problem))

    def _refuse(self, error: OpenClawError) -> None:
        problems = error.problems if isinstance(error, ConfigError) else (error,)
        self.problem = redact("\n".join(str(problem) for problem in problems))
        if isinstance(error, ConfigError):
            self._troubled = frozenset(Path(problem.file) for problem in error.problems if problem.file)
        _log.error("The changed config cannot be used; the running one stays.")
        for problem in problems:
            _log.error("%s", problem)
        self._app.engine.events.send(ConfigReloaded(self.problem))

    async def _adopt(self, config: Config, rules: GuardRules, used: Config) -> None:
        self._http.change(rules)
        # Compared with what the log was made from: a command may have given the App a newer config already.
        if config.root.logging != self._logged:
            self._logged = config.root.logging
            self._log_as(self._logged)
        # Servers that have to stop may take their time; the next change of the file must not wait for them. Rules, and which servers
        # there are, are new when this returns.
        self._spawn(self._app.reload(config, instead_of=used))
        await asyncio.sleep(0)
        try:
            await self._http.move(config.root.gateway)
            if (fleet := self._app.engine.fleet) is not None:
                await fleet.reached_at(config.root.gateway, self._http.port)
        except OpenClawError as error:
            self.problem = redact(f"gateway: {error}")
            _log.error("%s", self.problem)
        for warning in (*config.refusals, *config.warnings):
            _log.warning("%s", warning)
        _log.info("The changed config is in use.")
        outdated = self._app.outdated(config)
        if outdated and outdated != self._outdated:
            _log.warning("A restart is needed for: %s.", ", ".join(outdated))
        self._outdated = outdated

    def reload_soon(self) -> None:
        self._spawn(self.reload())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("Taking over the changed config failed: %s", error)

    async def close(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)
