"""Loads plugins, keeps their faults their own, and offers their tools as one ToolSource.

Whether a plugin is on is one decision (`why_off`). One that raises, hangs or blocks past its deadline or asks for what we do not have
is left out with a reason (`statuses`), and the others go on. Nothing here raises but CancelledError. A plugin that is not built in runs
in a thread of its own (thread.py); built-in ones are ours, and run in our loop.

A plugin is waited for once, side by side with the others, and by nobody who does not need it. One that hangs is said to and not waited for
again in the life of the process, unless its settings change.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from openclaw.plugins.admit import Offer, admit
from openclaw.plugins.bounded import in_thread
from openclaw.plugins.contract import PluginContext, PluginFault, PluginHandle, PluginHung, ToolPlugin
from openclaw.plugins.discover import Found, in_paths, installed
from openclaw.plugins.fitness import check_config, check_host
from openclaw.plugins.own_thread import in_own_thread
from openclaw.plugins.thread import PluginThread, within
from openclaw.tool import Absence, ContextSource, OriginSource, Tool, ToolSource
from openclaw.version import __version__

# Seconds for a plugin to be imported, and again to be initialised, unless the config says otherwise: a turn does not wait for longer.
START_SECONDS = 10.0
# Seconds for a shutdown or a config change; a gateway that is stopped has about this long.
HOOK_SECONDS = 5.0
# The setting that names files of plugins: where a path stands that leads to none.
LOAD_PATHS = "plugins.load.paths"

_log = logging.getLogger(__name__)

State = Literal["loaded", "off", "missing", "failed"]


class PluginSettings(msgspec.Struct, frozen=True):
    """`plugins.entries.<id>`, secrets resolved. `fault` says what is wrong with an entry that cannot be used."""

    enabled: bool | None = None
    config: Mapping[str, Any] = msgspec.field(default_factory=dict)
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    api_key: str = ""
    fault: str = ""

    def __repr__(self) -> str:
        # Never the secrets: a value is shown in tracebacks and logs.
        return f"PluginSettings(enabled={self.enabled})"


class PluginRules(msgspec.Struct, frozen=True):
    """The `plugins` section as plain values. `enabled`, `allow` and `deny` are about plugins that are not built in."""

    entries: Mapping[str, PluginSettings] = msgspec.field(default_factory=dict)
    paths: Sequence[Path] = ()
    enabled: bool = True
    allow: Collection[str] | None = None
    deny: Collection[str] = ()
    # Seconds for each to be ready; None leaves it to the host.
    start_seconds: float | None = None


class PluginStatus(msgspec.Struct, frozen=True):
    """One line of `openclaw doctor`. `reason` says why it is not loaded, or what a loaded one did not take."""

    id: str
    state: State
    where: str = ""
    label: str = ""
    description: str = ""
    reason: str = ""


class LoaderDependencies(msgspec.Struct, frozen=True):
    """What plugins are given by us. `start_seconds` is how long each may take to be ready."""

    data_dir: Path
    version: str = __version__
    start_seconds: float = START_SECONDS
    hook_seconds: float = HOOK_SECONDS


class _Running(msgspec.Struct, frozen=True):
    """`thread` is where it runs; a built-in one has none."""

    plugin: ToolPlugin
    settings: PluginSettings
    handle: PluginHandle
    thread: PluginThread | None


class _Blocked(msgspec.Struct, frozen=True):
    """A plugin whose thread was given up, and the tools it had offered by then."""

    thread: PluginThread
    tools: Sequence[str]


def why_off(plugin_id: str, rules: PluginRules, *, built_in: bool) -> str:
    """Why a plugin that was found is not loaded; empty when it is.

    A built-in one is on unless its entry says otherwise. Any other needs an entry: being installed is not enough.
    """
    settings = rules.entries.get(plugin_id)
    if settings is not None and settings.enabled is False:
        return f"plugins.entries.{plugin_id}.enabled is false"
    if built_in:
        return ""
    if not rules.enabled:
        return "plugins.enabled is false"
    if plugin_id in rules.deny:
        return "plugins.deny names it"
    if rules.allow is not None and plugin_id not in rules.allow:
        return "plugins.allow does not name it"
    return "" if settings is not None else f"plugins.entries.{plugin_id} is not in the config"


# The MCP server that a name of a tool is reserved for, at an agent; empty when there is none.
ReservedFor = Callable[[str, str], str]


async def open_plugins(
    rules: PluginRules,
    dependencies: LoaderDependencies,
    *,
    built_in: Mapping[str, ToolPlugin] | None = None,
    reserved: Collection[str] = (),
    reserved_for: ReservedFor = lambda name, agent: "",
) -> "Plugins":
    """Load what `rules` switch on, side by side, without waiting for any but the built-in ones (`Plugins.loaded` does).

    `reserved` are names of our own tools, which no plugin can take. `reserved_for` gives the MCP server that a name is reserved for at
    an agent: no plugin can take it either.
    """
    plugins = Plugins(dependencies, built_in or {}, reserved, reserved_for)
    try:
        await plugins.begin(rules)
    except BaseException:
        await plugins.close()
        raise
    return plugins


class Plugins:
    """All plugins of one host: a ToolSource and a ContextSource. Made by `open_plugins`."""

    def __init__(
        self,
        dependencies: LoaderDependencies,
        built_in: Mapping[str, ToolPlugin],
        reserved: Collection[str],
        reserved_for: ReservedFor,
    ) -> None:
        self._dependencies = dependencies
        self._start_seconds = dependencies.start_seconds
        self._reserved_for = reserved_for
        self._built_in = built_in
        self._reserved = frozenset(reserved)
        self._running: dict[str, _Running] = {}
        self._blocked: dict[str, _Blocked] = {}
        self._statuses: tuple[PluginStatus, ...] = ()
        self._changing = asyncio.Lock()
        # The first time that they are loaded, and whether the built-in ones are there by now.
        self._loading: asyncio.Task[None] | None = None
        self._has_own = asyncio.Event()
        # Those that hung while they were started, with the settings they had then.
        self._hung: dict[str, tuple[PluginSettings, float]] = {}
        # Those that run and hung once: nobody waits for them any more.
        self._late: set[str] = set()
        # By agent: what was offered the last time, and what was taken of it.
        self._kept: dict[str, _Admitted] = {}

    def statuses(self) -> tuple[PluginStatus, ...]:
        """Every plugin that was found or named, by id."""
        return tuple(
            replace(status, state="failed", reason=self._blocked[status.id].thread.fault)
            if status.state == "loaded" and status.id in self._blocked
            else status
            for status in self._statuses
        )

    @property
    def names(self) -> Collection[str]:
        """The ids of those that run."""
        return self._running.keys()

    def tools(self, agent: str) -> Sequence[Tool]:
        return self._admitted(agent).tools

    def tool(self, agent: str, name: str) -> Tool | None:
        """One of them by its name, without going through a thousand others."""
        return self._admitted(agent).by_name.get(name)

    def absences(self, agent: str) -> Sequence[Absence]:
        absences = [
            Absence(name, f"the plugin {status.id} is not loaded: {status.reason}", status.where)
            for status in self.statuses()
            if status.state == "failed"
            for name in (status.id, *(self._blocked[status.id].tools if status.id in self._blocked else ()))
        ]
        absences += self._admitted(agent).absences
        for name, _, source in self._sources():
            try:
                absences += source.absences(agent)
            except Exception as error:
                _log.warning("plugin %s failed to say which tools are missing", name, exc_info=error)
        return absences

    async def settle(self, agent: str, patience: float) -> None:
        """Wait for plugins that are being loaded, and for what each waits for itself: a plugin of others within its bound, and never again
        once it has passed that."""

        async def wait(name: str, running: _Running, source: ToolSource) -> None:
            # However patient the caller is: a server may take its time to start, code in this process has no such reason.
            seconds = (
                patience + self._dependencies.hook_seconds
                if running.thread is None
                else self._dependencies.hook_seconds
            )
            try:
                await within(running.thread, "settle", lambda: source.settle(agent, patience), seconds)
            except PluginFault as fault:
                if isinstance(fault, PluginHung):
                    self._late.add(name)
                if running.thread is None or not running.thread.fault:
                    _log.error("plugin %s failed while its tools were awaited: %s", name, fault)

        async def others() -> None:
            await self.loaded()
            sources = [one for one in self._sources() if one[1].thread is not None and one[0] not in self._late]
            await asyncio.gather(*(wait(*one) for one in sources))

        own = [one for one in self._sources() if one[1].thread is None]
        await asyncio.gather(others(), *(wait(*one) for one in own))

    def context(self, agent: str) -> str:
        texts: list[str] = []
        for name, running in self._running.items():
            for part in running.handle.contexts:
                try:
                    texts.append(part.context(agent))
                except Exception as error:
                    _log.warning("plugin %s failed to add to the prompt", name, exc_info=error)
        return "\n\n".join(text for text in texts if text)

    def foreign(self, agent: str) -> Sequence[tuple[str, str]]:
        """A plugin of others counts as a whole, whatever its text says; one of ours names the sources of its text."""
        found: list[tuple[str, str]] = []
        for name, running in self._running.items():
            for part in running.handle.contexts:
                try:
                    if isinstance(part, ContextSource):
                        found += part.foreign(agent)
                    elif text := part.context(agent):
                        found.append((f"plugin:{name}", text))
                except Exception as error:
                    _log.warning("plugin %s failed to add to the prompt", name, exc_info=error)
        return found

    async def begin(self, rules: PluginRules) -> None:
        """Apply the first rules. Returns when the built-in plugins are there; the others come meanwhile."""
        self._loading = asyncio.create_task(self._load(rules), name="plugins")
        has_own = asyncio.create_task(self._has_own.wait())
        try:
            await asyncio.wait({self._loading, has_own}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            has_own.cancel()

    async def loaded(self) -> None:
        """Wait until every plugin of the first rules is there or left out. Their own bounds end this."""
        if self._loading is not None and not self._loading.done():
            # Whoever waits here is not cancelled with it.
            await asyncio.wait({self._loading})

    async def _load(self, rules: PluginRules) -> None:
        """The first time. A fault of our own leaves out what is not there yet, and is told of like one of theirs."""
        try:
            await self.apply(rules)
        except Exception as error:
            _log.exception("plugins could not be loaded")
            fault = f"an internal error while plugins were loaded: {type(error).__name__}"
            self._statuses = tuple(
                self._without(name, rules, fault) for name in sorted({*self._built_in, *rules.entries})
            )

    def _without(self, name: str, rules: PluginRules, fault: str) -> PluginStatus:
        """Where a plugin is when loading ended with a fault."""
        is_built_in = name in self._built_in
        where = "built in" if is_built_in else ""
        if name in self._running:
            return PluginStatus(name, "loaded", where)
        off = why_off(name, rules, built_in=is_built_in)
        return PluginStatus(name, "off" if off else "failed", where, reason=off or fault)

    async def apply(self, rules: PluginRules) -> None:
        """Start, change and stop plugins until they are what `rules` say. One that did not change is left alone."""
        async with self._changing:
            self._start_seconds = rules.start_seconds or self._dependencies.start_seconds
            built_in = [Found(name, "built in", partial(_same, plugin)) for name, plugin in self._built_in.items()]
            statuses = await asyncio.gather(*(self._bring(one, rules) for one in built_in))
            self._has_own.set()
            found, missing = await self._find(rules)
            gone = [name for name in self._running if name not in found and name not in self._built_in]
            await asyncio.gather(*(self._stop(name) for name in gone))
            statuses += [*missing, *await asyncio.gather(*(self._bring(one, rules) for one in found.values()))]
            self._statuses = tuple(sorted(statuses, key=lambda status: status.id))

    async def close(self) -> None:
        """Shut every plugin down, side by side. What is still being loaded is not waited for."""
        if self._loading is not None and not self._loading.done():
            self._loading.cancel()
            await asyncio.wait({self._loading})
        async with self._changing:
            await asyncio.gather(*(self._stop(name) for name in list(self._running)))

    async def _find(self, rules: PluginRules) -> tuple[dict[str, Found], list[PluginStatus]]:
        """The plugins there are beside the built-in ones, by id; `plugins.load.paths` before installed. Also the entries that name none."""
        found: dict[str, Found] = {}
        in_files, unusable = in_paths(rules.paths) if rules.enabled else ([], [])
        statuses = [PluginStatus(one.where, "failed", LOAD_PATHS, reason=one.reason) for one in unusable]
        candidates = in_files
        if rules.enabled and not {*rules.entries} <= {*self._built_in, *(one.id for one in in_files)}:
            # Reading the metadata of all installed packages takes tens of milliseconds: only when an entry asks for it.
            try:
                candidates = in_files + await in_thread(installed, self._start_seconds)
            except PluginFault as fault:
                _log.warning("installed plugins cannot be listed: %s", fault)
        for one in candidates:
            first = None if one.id in self._built_in else found.setdefault(one.id, one)
            if first is not one:
                used = f"the one at {first.where}" if first else "the built-in one"
                _log.warning("plugin %s is also at %s; %s is used", one.id, one.where, used)
        nowhere = "no plugin of this name is installed or under plugins.load.paths"
        for name in rules.entries:
            if name not in found and name not in self._built_in:
                # The file may serve another program too, which has it: whoever switched it off here does not miss it.
                off = why_off(name, rules, built_in=False)
                statuses.append(PluginStatus(name, "off" if off else "missing", reason=off or nowhere))
        return found, statuses

    async def _bring(self, found: Found, rules: PluginRules) -> PluginStatus:
        """One plugin to where the rules want it, and where it then is."""
        name = found.id
        running = self._running.get(name)
        settings = rules.entries.get(name, PluginSettings())
        status = PluginStatus(name, "loaded", found.where)
        off = why_off(name, rules, built_in=name in self._built_in)
        try:
            if off:
                await self._stop(name)
                status = replace(status, state="off", reason=off)
            elif running is None:
                if self._hung.get(name) == (settings, self._start_seconds):
                    raise PluginFault("it hung when it was started, and is not tried again until its settings change")
                plugin = await in_thread(found.load, self._start_seconds)
                status = _described(status, plugin)
                await self._start(name, plugin, settings)
            else:
                status = _described(status, running.plugin)
                status = replace(status, reason=await self._change(name, running, settings))
        except PluginFault as fault:
            if isinstance(fault, PluginHung):
                self._hung[name] = settings, self._start_seconds
            _log.error("plugin %s is not loaded: %s", name, fault)
            status = replace(status, state="failed", reason=str(fault))
        return status

    async def _start(self, name: str, plugin: ToolPlugin, settings: PluginSettings) -> None:
        if settings.fault:
            raise PluginFault(settings.fault)
        check_host(plugin, self._dependencies.version)
        check_config(plugin, settings.config)
        blocked = self._blocked.get(name)
        if blocked is not None and not blocked.thread.has_ended:
            # It would only block another one.
            raise PluginFault(blocked.thread.fault)
        self._blocked.pop(name, None)
        context = PluginContext(
            id=name,
            config=settings.config,
            data_dir=self._dependencies.data_dir / name,
            host_version=self._dependencies.version,
            log=logging.getLogger(f"openclaw.plugin.{name}"),
            env=settings.env,
            api_key=settings.api_key,
        )
        thread = None if name in self._built_in else PluginThread(name, partial(self._give_up, name))

        async def initialize() -> PluginHandle:
            handle = await plugin.initialize(context)
            if not isinstance(handle, PluginHandle):
                raise PluginFault("its initialize gave something that is not a PluginHandle")
            return handle if thread is None else in_own_thread(handle, name, thread)

        try:
            handle = await within(thread, "initialize", initialize, self._start_seconds)
        except BaseException:
            if thread is not None:
                await thread.close()
            raise
        self._late.discard(name)
        self._running[name] = _Running(plugin, settings, handle, thread)

    async def _change(self, name: str, running: _Running, settings: PluginSettings) -> str:
        """Give a running plugin its new settings. Config it cannot use leaves it as it is; the sentence says so."""
        if settings == running.settings:
            return ""
        try:
            if settings.fault:
                raise PluginFault(settings.fault)
            check_config(running.plugin, settings.config)
        except PluginFault as fault:
            return f"the new config was not taken: {fault}"
        change = running.handle.on_config_change
        if change is None or replace(settings, config=running.settings.config) != running.settings:
            await self._stop(name)
            await self._start(name, running.plugin, settings)
            return ""
        try:
            seconds = self._dependencies.hook_seconds
            await within(running.thread, "on_config_change", lambda: change(settings.config), seconds)
        except PluginFault as fault:
            if isinstance(fault, PluginHung):
                self._late.add(name)
            await self._stop(name)
            raise
        self._running[name] = replace(running, settings=settings)
        return ""

    async def _stop(self, name: str) -> None:
        running = self._running.pop(name, None)
        if running is None:
            return
        try:
            if running.handle.on_shutdown is not None and name not in self._late:
                await within(running.thread, "on_shutdown", running.handle.on_shutdown, self._dependencies.hook_seconds)
        except PluginFault as fault:
            _log.error("plugin %s did not shut down cleanly: %s", name, fault)
        finally:
            if running.thread is not None:
                await running.thread.close()

    def _give_up(self, name: str, thread: PluginThread) -> None:
        """A plugin blocks its thread: it is taken out."""
        tools = (tool for kept in self._kept.values() for tool in kept.tools)
        names = {tool.name for tool in tools if (tool.kind, tool.origin) == ("plugin", name)}
        self._blocked[name] = _Blocked(thread, sorted(names))
        running = self._running.get(name)
        if running is not None and running.thread is thread:
            del self._running[name]
            _log.error("plugin %s is disabled: %s", name, thread.fault)

    def _admitted(self, agent: str) -> "_Admitted":
        """Decided anew only when a plugin offers other tools than the last time."""
        offers = self._offers(agent)
        kept = self._kept.get(agent)
        if kept is None or not _same_offers(kept.offers, offers):
            tools, absences = admit(offers, self._reserved, lambda name: self._reserved_for(name, agent))
            kept = self._kept[agent] = _Admitted(offers, tools, absences, {tool.name: tool for tool in tools})
        return kept

    def _offers(self, agent: str) -> list[Offer]:
        """Plugins in the order of their ids, the built-in ones last: their tools are the MCP servers'."""
        offers: list[Offer] = []
        running = self._running
        if len(running) > 1:
            running = dict(sorted(running.items(), key=lambda one: (one[0] in self._built_in, one[0])))
        for name, one in running.items():
            handle, built_in = one.handle, name in self._built_in
            tools: Sequence[object] = handle.tools
            if handle.source is not None:
                try:
                    listed = handle.source.tools(agent)
                    # A built-in one gives the same list for as long as nothing changes, and nothing beside it.
                    tools = listed if built_in and not tools else (*tools, *listed)
                except Exception as error:
                    _log.warning("plugin %s failed to list its tools", name, exc_info=error)
            # A plugin's own list may change under our hands.
            offers.append(Offer(name, tools if built_in else tuple(tools), built_in))
        return offers

    def origins(self, agent: str) -> Mapping[str, str]:
        """What servers say of themselves: of our own sources alone, since a plugin says what its tools do in each of them."""
        return {
            origin: words
            for _, _, source in self._sources()
            if isinstance(source, OriginSource)
            for origin, words in source.origins(agent).items()
        }

    def _sources(self) -> list[tuple[str, _Running, ToolSource]]:
        return [(name, one, one.handle.source) for name, one in self._running.items() if one.handle.source is not None]


class _Admitted(msgspec.Struct, frozen=True):
    offers: list[Offer]
    tools: list[Tool]
    absences: list[Absence]
    by_name: Mapping[str, Tool]


def _same_offers(before: Sequence[Offer], now: Sequence[Offer]) -> bool:
    """Whether the very same objects are offered."""
    return len(before) == len(now) and all(
        one.plugin == other.plugin and _same_tools(one.tools, other.tools)
        for one, other in zip(before, now, strict=True)
    )


def _same_tools(before: Sequence[object], now: Sequence[object]) -> bool:
    return before is now or (
        len(before) == len(now) and all(one is other for one, other in zip(before, now, strict=True))
    )


def _same(plugin: ToolPlugin) -> ToolPlugin:
    """How a plugin that is already here is loaded."""
    return plugin


def _described(status: PluginStatus, plugin: ToolPlugin) -> PluginStatus:
    return replace(status, label=plugin.label, description=plugin.description)
