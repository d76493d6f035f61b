"""The gateway: one App, kept up, with a control socket and an HTTP port.

Owns the order of starting (lock, port, servers, socket) and of stopping, and what it tells about itself. Starting never waits for a server.
Stopping takes no more work, lets what runs finish for a while, ends the servers together, and leaves nothing behind. Draining comes before
it where it is wanted (draining.py). A config that changes is taken over by reload.py.
"""

import asyncio
import gc
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclaw.app import App
from openclaw.asking.open_question import changed_json
from openclaw.commands.mcp import status_json
from openclaw.commands.parse import Command
from openclaw.commands.sign_in_state import with_sign_ins
from openclaw.config.load import load_config
from openclaw.config.paths import Paths
from openclaw.control.config_watch import ConfigWatch, Look, look_at
from openclaw.control.instance import Instance, lock_file
from openclaw.control.port import listen
from openclaw.errors import OpenClawError
from openclaw.gateway.command_runner import CommandRunner
from openclaw.gateway.control import ControlServer
from openclaw.gateway.credentials import rules_of
from openclaw.gateway.draining import Draining
from openclaw.gateway.feed import Feed, LogToEvents
from openclaw.gateway.guard import GuardRules
from openclaw.gateway.observer import Observer
from openclaw.gateway.page_tokens import Pages, PageTokens
from openclaw.gateway.panels import Panels
from openclaw.gateway.readiness import Readiness
from openclaw.gateway.reload import LogAs, Reloader
from openclaw.gateway.runs import Runs
from openclaw.mcp.manager import Manager
from openclaw.media import shown_size
from openclaw.sessions.retention import INTERVAL
from openclaw.version import __version__

if TYPE_CHECKING:
    import socket

    from openclaw.gateway.http import HttpServer
    from openclaw.gateway.panel_frames import PanelFrames

_log = logging.getLogger(__name__)

# Calls that run when a gateway is told to stop get this long to finish.
FINISH_SECONDS = 10.0
# After a fault of ours the config is watched again in so many seconds: one that stays writes no flood of lines.
_WATCH_AGAIN_AFTER = 10.0


async def serve(
    paths: Paths,
    env: Mapping[str, str],
    *,
    stop: asyncio.Event,
    root: Command,
    ready: Callable[["Gateway"], None] = lambda gateway: None,
    log_as: LogAs = lambda section: None,
) -> None:
    """Run a gateway until `stop` is set. Raises OpenClawError when it cannot be started; a second one is refused.

    `root` has the commands that terminals may hand in. `log_as` is told when another `logging` section is in use.
    """
    # Looked at before it is read: what is saved while we start is not missed.
    early = look_at([paths.config_file])
    config = load_config(paths, env)
    seen = {file: early.get(file, look) for file, look in look_at(config.files).items()}
    with Instance(lock_file(paths), version=__version__, config=str(paths.config_file), socket=paths.control_socket):
        rules = await rules_of(config, env, paths.gateway_token_file)
        # Before any server is started: a port that is taken should cost nobody anything.
        sockets = listen(config.root.gateway.bind, config.root.gateway.port)
        async with _closing(sockets), App(config, paths=paths, env=env, through_gateway=True) as app:
            gateway = Gateway(app, root, stop, log_as, seen)
            async with AsyncExitStack() as stack:
                await gateway.start(stack, rules, sockets)
                ready(gateway)
                # What was made by now stays: no collection needs to look at it again.
                gc.freeze()
                await stop.wait()
                _log.info("The gateway stops.")
                await gateway.finish()


@asynccontextmanager
async def _closing(sockets: "list[socket.socket]") -> AsyncIterator[None]:
    """Also when nobody comes to serve them."""
    try:
        yield
    finally:
        for one in sockets:
            one.close()


class Gateway:
    """What runs between start and stop."""

    def __init__(self, app: App, root: Command, stop: asyncio.Event, log_as: LogAs, seen: Mapping[Path, Look]) -> None:
        self.app = app
        self._seen = seen
        self._log_as = log_as
        self._events = app.engine.events
        self._feed = Feed(self._events)
        self._observer = Observer(self._events)
        self._runs = Runs(self._events, None if app.engine.fleet is None else app.engine.fleet.runs)
        fleet = app.engine.fleet
        self._pages: Pages = PageTokens(app.paths.page_tokens_file) if fleet is None else fleet.pages
        self._stop = stop
        self._started = time.monotonic()
        self._runner = CommandRunner(
            app,
            root,
            status=self.status,
            stop=stop.set,
            drain=self.drain,
            catch_up=self._catch_up,
            page=self.page,
        )
        self._control = ControlServer(app.paths.control_socket, self._runner)
        self._readiness = Readiness(app)
        self._draining: Draining | None = None
        self._drain: asyncio.Task[None] | None = None
        self._manager: Manager
        self.http: HttpServer
        self._reloader: Reloader
        self._watch: ConfigWatch

    async def start(self, stack: AsyncExitStack, rules: GuardRules, sockets: "list[socket.socket]") -> None:
        """`stack` gets what has to be undone."""
        if (fleet := self.app.engine.fleet) is not None:
            await fleet.reached_at(self.app.config.root.gateway, sockets[0].getsockname()[1])
            await fleet.begin()
        self._manager = await self.app.engine.manager()
        stack.callback(self._feed.start())
        stack.enter_context(self._observer)
        handler = LogToEvents(self._events, asyncio.get_running_loop())
        logging.getLogger().addHandler(handler)
        stack.callback(logging.getLogger().removeHandler, handler)
        from openclaw.gateway.routes import http_server
        from openclaw.gateway.sign_ins import SignIns

        panels = Panels()
        frames = await self._frames(stack, panels, sockets)
        sign_ins = SignIns(self.app.engine)
        stack.push_async_callback(sign_ins.close)
        self.http = http_server(
            self.app,
            self._manager,
            self._runner,
            self._feed,
            self._observer,
            rules,
            runs=self._runs,
            pages=self._pages,
            panels=panels,
            frames=frames,
            sign_ins=sign_ins,
            snapshot=self.snapshot,
            readiness=self._readiness,
            busy=self.busy,
        )
        self._pages.on_revoked(self.http.cut_off)
        stack.push_async_callback(self.close)
        self._reloader = Reloader(self.app, self.http, log_as=self._log_as)
        self._watch = ConfigWatch(self._reloader.files, self._reloader.reload, seen=self._seen)
        await self.http.start(self.app.config.root.gateway, sockets)
        await self._control.start()
        stack.push_async_callback(self._reloader.close)
        for name, work, again_after in (
            ("config-watch", self._watch.run, _WATCH_AGAIN_AFTER),
            # Whoever needs them tries to load them, too.
            ("plugins", self._load_plugins, None),
            ("sessions", self._prune_sessions, INTERVAL),
        ):
            stack.push_async_callback(_ended, asyncio.create_task(_kept_up(name, work, again_after), name=name))
        if self.app.config.root.gateway.bind != "loopback":
            _log.warning("The HTTP port is open beyond this machine, and tokens travel there unencrypted.")
        _log.info("The gateway is up: pid %d, port %d, config %s.", os.getpid(), self.port, self.app.config.file)

    async def _frames(
        self, stack: AsyncExitStack, panels: Panels, sockets: "list[socket.socket]"
    ) -> "PanelFrames | None":
        """What serves the panels of servers, where the config wants them shown."""
        apps = self.app.config.root.mcp.apps
        if not apps.enabled:
            return None
        from openclaw.gateway.panel_frames import PanelFrames

        port = apps.sandbox_port
        if port is None:
            # Any free port, as the gateway's own; else the one above it.
            port = sockets[0].getsockname()[1] + 1 if self.app.config.root.gateway.port else 0
        frames = PanelFrames(panels)
        try:
            await frames.start(port)
        except OpenClawError as error:
            _log.error("Apps of servers are not shown: %s Or set mcp.apps.sandboxPort.", error)
            return None
        stack.push_async_callback(frames.close)
        return frames

    async def _catch_up(self) -> str:
        """Use the config as it is on the disk now, before and after somebody's command: the next one must not find the old rules. Why it
        cannot be used; empty when it is."""
        await self._watch.catch_up()
        return self._reloader.problem

    async def _prune_sessions(self) -> None:
        """Now and every day, remove the conversations that the config no longer keeps."""
        while True:
            try:
                pruned = await self.app.store.prune(self.app.keep)
                if pruned.removed:
                    _log.info(
                        "Old conversations removed: %d (%s freed).", len(pruned.removed), shown_size(pruned.freed)
                    )
            except OpenClawError as error:
                _log.error("Old conversations cannot be removed: %s", error)
            await asyncio.sleep(INTERVAL)

    async def _load_plugins(self) -> None:
        """Before the first turn asks for them, and without keeping anybody waiting."""
        try:
            await (await self.app.plugins()).loaded()
        except OpenClawError as error:
            _log.error("Plugins cannot be loaded: %s", error)

    @property
    def port(self) -> int:
        return self.http.port

    def reload_soon(self) -> None:
        """Read the config again, changed or not."""
        self._reloader.reload_soon()

    def drain(self, limit: float, grace: float) -> None:
        """Stop when what was begun has ended, after `limit` seconds at the latest. For `grace` seconds what comes is still taken."""
        if self._draining is None:
            self._draining = Draining(self.app, self._readiness, self._runner, self._runs, self.http)
            self._drain = asyncio.create_task(self._drained(self._draining, limit, grace), name="gateway-drain")

    async def _drained(self, draining: Draining, limit: float, grace: float) -> None:
        try:
            await draining.run(limit, grace)
        finally:
            self._stop.set()

    async def finish(self) -> None:
        """Take no more work, and wait for what runs."""
        self._runner.take_no_more()
        self._control.leave()
        if (placement := self.app.engine.placement) is not None:
            placement.send_away()
        await self.http.leave()
        # Before those who watch are told goodbye: they hear what became of it.
        self.app.engine.questions.close()
        self._events.close_readers()
        await asyncio.gather(
            self._control.finish(FINISH_SECONDS), self._runs.finish(FINISH_SECONDS), self.http.finish(FINISH_SECONDS)
        )

    async def close(self) -> None:
        """End what still runs."""
        if self._drain is not None:
            await _ended(self._drain)
        self._control.leave()
        await self._control.finish(0)
        await self._runs.finish(0)
        await self.http.leave()
        await self.http.finish(0)
        # A request that was ended while it entered its run has begun it (`Runs.begin`).
        await self._runs.finish(0)

    def busy(self) -> int:
        return self._control.busy + self.http.busy + self._runs.under_way

    async def status(self) -> Mapping[str, Any]:
        """What `openclaw gateway status` shows. Holds no secret."""
        section = self.app.config.root.gateway
        return {
            "pid": os.getpid(),
            "version": __version__,
            "uptimeSeconds": round(time.monotonic() - self._started, 1),
            "bind": section.bind,
            "port": self.port,
            "url": f"http://127.0.0.1:{self.port}",
            "config": str(self.app.config.file),
            "configProblem": self._reloader.problem,
            "restartNeeded": self.app.outdated(self.app.config),
            "requests": self.busy(),
            "pages": await self._pages.count(),
            "isStopping": self._runner.is_stopping,
            "isDraining": self._draining is not None,
            "servers": await self._servers(),
        }

    async def page(self, *, revoke: bool) -> Mapping[str, Any]:
        """What `openclaw ui` needs: a new ticket for the page, or how many pages were signed out."""
        if not revoke:
            return {"url": f"http://127.0.0.1:{self.port}/", "ticket": await self._pages.ticket()}
        revoked = await self._pages.revoke()
        self.http.cut_off()
        return {"revoked": revoked}

    async def snapshot(self) -> Mapping[str, Any]:
        """What a watcher of events should know first."""
        questions = [changed_json(one.changed(None, 0.0)) for one in self.app.engine.questions.pending()]
        return {"version": __version__, "servers": await self._servers(), "questions": questions}

    async def _servers(self) -> list[dict[str, Any]]:
        found = await with_sign_ins(self.app.engine, self._manager.status())
        return [status_json(one) for one in found]


async def _kept_up(name: str, work: Callable[[], Awaitable[None]], again_after: float | None) -> None:
    """Do `work`. A fault of ours in it is told at once, and it begins again after so many seconds, if any."""
    while True:
        try:
            await work()
            return
        except Exception as fault:
            then = "" if again_after is None else f" It begins again in {again_after:,.0f} s."
            _log.error("The gateway's own fault in its task %s: %s.%s", name, type(fault).__name__, then)
            # The traceback is for the log.
            _log.debug("the task %s failed", name, exc_info=fault)
        if again_after is None:
            return
        await asyncio.sleep(again_after)


async def _ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
