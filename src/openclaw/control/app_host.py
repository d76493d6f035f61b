"""One App for a surface that lives as long as its client: made when it is first needed, and kept up with the config.

Owns that App: one task opens and closes it, whoever asks first, and a config that was saved meanwhile is taken over before it is handed out
again. Loading this module loads everything an agent needs: a surface that answers before does so first.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from openclaw.app import App
from openclaw.config.load import load_config
from openclaw.config.paths import Paths
from openclaw.config.sections import LoggingSection
from openclaw.control.config_watch import Look, look_at
from openclaw.errors import OpenClawError

_log = logging.getLogger(__name__)


class AppHost:
    """`config` is what the command line chose; empty means the default one. `log_as` is told how the config wants the log."""

    def __init__(
        self, config: str, env: Mapping[str, str], cwd: Path, log_as: Callable[[LoggingSection], None]
    ) -> None:
        self._config = config
        self._env = env
        self._cwd = cwd
        self._log_as = log_as
        self._opened: asyncio.Future[App] | None = None
        self._owner: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._looks: dict[Path, Look] = {}
        self._refreshing = asyncio.Lock()

    def paths(self) -> Paths:
        """Raises OpenClawError."""
        return Paths.from_env(self._env, config=self._config, cwd=str(self._cwd))

    async def app(self) -> App:
        """The App, with the config as it is now. When it cannot be made, say because the config is wrong, whoever asks next tries again.

        Raises OpenClawError or OSError.
        """
        app = await self._made(self.paths())
        await self._refresh(app)
        return app

    async def close(self) -> None:
        """End the App and every server it started."""
        self._closing.set()
        if self._owner is not None:
            await asyncio.wait([self._owner])

    async def _made(self, paths: Paths) -> App:
        if self._opened is None or (self._opened.done() and self._opened.exception() is not None):
            loop = asyncio.get_running_loop()
            self._opened = loop.create_future()
            self._owner = loop.create_task(self._own(paths, self._opened))
        return await asyncio.shield(self._opened)

    async def _refresh(self, app: App) -> None:
        """Take over a changed config. One that cannot be used is reported, and the running one stays."""
        async with self._refreshing:
            looks = look_at(app.config.files)
            if looks == self._looks:
                return
            self._looks = looks
            try:
                config = await asyncio.to_thread(load_config, app.paths, self._env)
            except OpenClawError as error:
                _log.warning("The changed config cannot be used; the running one stays: %s", error)
                return
            self._log_as(config.root.logging)
            await app.reload(config)
            self._looks = look_at(config.files)

    async def _own(self, paths: Paths, opened: "asyncio.Future[App]") -> None:
        try:
            config = await asyncio.to_thread(load_config, paths, self._env)
            self._log_as(config.root.logging)
            self._looks = look_at(config.files)
            async with App(config, paths=paths, env=self._env, workspace=self._cwd) as app:
                await app.engine.manager()
                opened.set_result(app)
                await self._closing.wait()
        except Exception as error:
            if opened.done():
                _log.warning("closing the host failed: %s", error, exc_info=error)
                return
            opened.set_exception(error)
            # Looked at: whoever waited for it may have been cancelled meanwhile.
            opened.exception()
