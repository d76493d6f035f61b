"""The servers a client gave one session, from the list to what runs: asked about when the first prompt needs them, once for each.

Owns what was decided about each of them in this session. They run for it alone (`Engine.give_servers`) and end with it; one that is
refused, cannot be started or fails is said in a notice, and the session goes on without it.
"""

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Sequence

from openclaw.acp import wire
from openclaw.acp.client_servers import (
    ALWAYS,
    ONCE,
    OPTIONS,
    Given,
    fingerprint,
    grant_of,
    is_configured,
    is_granted,
    question,
)
from openclaw.acp.connection import RequestError
from openclaw.acp.permissions import ClientAsker
from openclaw.app import App
from openclaw.config.servers import ServerSpec, server_specs
from openclaw.errors import OpenClawError
from openclaw.files import private_key
from openclaw.log import iso_time, one_line, short_hash

_log = logging.getLogger(__name__)

_numbers = itertools.count(1)
_LONGEST_NAME = 200
# Says a sentence to the person.
Tell = Callable[[str], None]


class SessionGiven:
    """`key` is the whole key of the session. `allows_all`: the command line said that nobody needs to be asked."""

    def __init__(self, app: App, agent: str, key: str, given: Sequence[Given], *, allows_all: bool) -> None:
        self._app = app
        self._agent = agent
        self._key = key
        self._allows_all = allows_all
        self._undecided = list(given)
        self._allowed: list[ServerSpec] = []
        # How many of those the engine has: a turn may be cancelled before it is told.
        self._running = 0
        self._told: set[str] = set()

    async def start(self, asker: ClientAsker, show: Callable[[wire.Update], None], tell: Tell) -> None:
        """Decide about those that nobody decided about yet, and have the allowed ones started. Waits for the person alone."""
        while self._undecided:
            one = self._undecided[0]
            if await self._may_start(one, asker, show, tell):
                assert one.spec is not None  # one with a fault may not
                self._allowed.append(one.spec)
            # A turn that is cancelled meanwhile leaves it undecided.
            self._undecided.pop(0)
        if len(self._allowed) > self._running:
            self._running = len(self._allowed)
            try:
                await self._app.engine.give_servers(self._key, self._agent, self._allowed)
            except OpenClawError as error:
                tell(f"The servers of the editor are not started: {error}")

    def tell_missing(self, tell: Tell) -> None:
        """Say, once for each, which of them a turn that begins goes on without."""
        servers = self._app.engine.session_servers(self._key)
        if servers is None:
            return
        # One whose tools are known from before is used as if it were there.
        known = {tool.origin for tool in servers.tools(self._agent)} | self._told
        for one in servers.status():
            if one.state not in ("ready", "disabled", "stopped") and one.name not in known:
                self._told.add(one.name)
                tell(f"MCP server {one.name!r} of the editor is not there yet: {one.shown}.")

    async def remove(self) -> None:
        """The session ends, and they with it."""
        self._undecided.clear()
        if self._allowed:
            self._allowed.clear()
            await self._app.engine.remove_servers(self._key)

    async def _may_start(self, one: Given, asker: ClientAsker, show: Callable[[wire.Update], None], tell: Tell) -> bool:
        if one.spec is None:
            tell(f"MCP server {one.name!r} of the editor is not started: {one.fault}.")
            return False
        spec, setting = one.spec, self._app.config.root.acp.client_servers
        if is_configured(spec, server_specs(self._app.config, self._agent)):
            return False
        if setting == "deny":
            tell(f"MCP server {one.name!r} of the editor is not started: the config says so (acp.clientServers).")
            return False
        if setting == "allow" or self._allows_all:
            return True
        return await self._asked(spec, asker, show, tell)

    async def _asked(
        self, spec: ServerSpec, asker: ClientAsker, show: Callable[[wire.Update], None], tell: Tell
    ) -> bool:
        engine = self._app.engine
        search_path = engine.env.get("PATH", "")
        try:
            key = await asyncio.to_thread(private_key, self._app.paths.data_dir / "acp" / "key")
            mark = await asyncio.to_thread(fingerprint, spec, key, search_path)
        except OpenClawError as error:
            tell(f"MCP server {spec.name!r} of the editor is not started: {error}")
            return False
        if is_granted(spec, mark, engine.grants.all()):
            return True
        call = question(spec, f"start-{next(_numbers)}", search_path)
        show(wire.ToolCall(call.tool_call_id, call.title, kind=call.kind, status="pending", content=call.content))
        chosen = None
        try:
            chosen = await asker.choose(call, OPTIONS)
        except RequestError as error:
            _log.info("session %s: nobody could be asked about a server: %s", short_hash(self._key), error)
        finally:
            is_yes = chosen is not None and chosen.option_id in (ONCE, ALWAYS)
            show(wire.ToolCallUpdate(call.tool_call_id, status="completed" if is_yes else "failed"))
        option = chosen.option_id if chosen is not None else ""
        self._note(spec, option if is_yes else "declined" if option else "nobody")
        if not is_yes:
            tell(f"MCP server {spec.name!r} of the editor is not started: nobody allowed it.")
            return False
        if option == ALWAYS:
            try:
                await engine.grants.add(grant_of(spec, mark, created=iso_time(time.time())))
            except OpenClawError as error:
                tell(f"This is allowed once: {error}")
        return True

    def _note(self, spec: ServerSpec, answer: str) -> None:
        """A line in the audit trail, without a word of what would run."""
        facts = {
            "agent": self._agent,
            "session": short_hash(self._key),
            "server": one_line(spec.name, _LONGEST_NAME),
            "transport": spec.transport,
            "answer": answer,
            "by": "client",
        }
        self._app.engine.audit.noted("server", facts)
