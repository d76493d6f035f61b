"""From the name agents know and arguments to a result: which server, shared or a conversation's own, and how the call may be taken away.

Owns looking a tool up that is not known yet, the connection a call goes over, and its entry among the calls under way (running.py). Never
raises but CancelledError. Policy, arguments and the audit line come before it (tools/invoke.py), at-most-once after it (call.py).
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from time import monotonic
from typing import Any

from openclaw.errors import OpenClawError
from openclaw.mcp.arrivals import Arrivals
from openclaw.mcp.pool import ServerPool
from openclaw.mcp.resources import run_utility
from openclaw.mcp.running import Running
from openclaw.mcp.server.server import Server
from openclaw.mcp.server.state import UnavailableError
from openclaw.mcp.tools.bridge import has_weight, result_of, unavailable
from openclaw.mcp.tools.registry import ToolEntry
from openclaw.mcp.tools.results import CallResult
from openclaw.mcp.view import View
from openclaw.media import MediaStore
from openclaw.tool import AskToSignIn, Invocation, OwnWords, Run, ToolResult

# How often one call may ask for a sign-in: for the server, and for rights that the tool turned out to want.
MOST_SIGN_INS = 2


class Calling:
    def __init__(self, pool: ServerPool, arrivals: Arrivals, running: Running, media: MediaStore | None) -> None:
        self._pool = pool
        self._arrivals = arrivals
        self._running = running
        self._media = media

    async def find(self, view: View, name: str) -> ToolEntry | None:
        """A tool by its name. One that is not known yet is asked for: its server may be starting, away, or have it since last time."""
        if entry := view.registry.entry(name):
            return entry
        servers = view.servers.items()
        likely = [one for server, one in servers if not one.was_listed and view.registry.may_have(server, name)]
        await asyncio.gather(*map(self._ask, likely))
        return view.registry.entry(name)

    async def _ask(self, server: Server) -> None:
        """Have a server list its tools, connecting at once if need be. When it does not, its status says why."""
        with contextlib.suppress(UnavailableError):
            # One that fell silent is given up with its list, and started again by who wants it.
            await self._arrivals.until(lambda: not server.is_listing_late)
            await server.client()
            await self._arrivals.until(lambda: not server.is_starting)

    def run_of(self, view: View, name: str) -> Run:
        """What a Tool does when it is called."""
        return partial(self._run, view, name)

    async def _run(self, view: View, name: str, arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        entry = view.registry.entry(name)
        if entry is None:
            return unavailable(name, view.absence(name))
        call = partial(self.call, view, entry, arguments, invocation.agent, invocation.session, invocation.progress)
        result = await signed_in(call, entry.spec.name, invocation.sign_in)
        given = result, entry.spec.name, entry.definition.name, self._media
        # Megabytes to decode and to keep on a disk are nothing that other calls should wait for.
        return await asyncio.to_thread(result_of, *given) if has_weight(result) else result_of(*given)

    async def call(
        self,
        view: View,
        entry: ToolEntry,
        arguments: Mapping[str, Any],
        agent: str,
        session: str,
        show_progress: Callable[[str], None] | None,
    ) -> CallResult:
        spec = entry.spec
        server = view.servers[spec.name]
        if spec.isolation == "session" and session:
            server = await self._pool.private(server, session)
        call = self._running.begin(agent, entry.name)
        try:
            if entry.is_utility:
                return await _utility(server, entry, arguments)
            return await server.call_tool(
                entry.definition.name,
                arguments,
                timeout=spec.call_timeout,
                max_total=spec.max_total_timeout,
                show_progress=show_progress,
            )
        except asyncio.CancelledError:
            if call.was_revoked():
                taken = "The tool was taken away while it ran; the call was cancelled."
                return CallResult.failed(OwnWords(taken))
            raise
        finally:
            self._running.end(call)


async def signed_in(call: Callable[[], Awaitable[CallResult]], server: str, ask: AskToSignIn | None) -> CallResult:
    """Make a call, and once more after each sign-in that it turned out to need. A server that asked for one has done nothing yet, unless
    it answered the call as well: then the sign-in serves the calls to come."""
    for _ in range(MOST_SIGN_INS):
        began = monotonic()
        result = await call()
        if not result.needs_sign_in or ask is None or not await ask(server, began) or result.may_have_run:
            return result
    return await call()


async def _utility(server: Server, entry: ToolEntry, arguments: Mapping[str, Any]) -> CallResult:
    timeout = entry.spec.call_timeout
    try:
        return await server.use(
            lambda client: run_utility(client, entry.definition.name, arguments, timeout=timeout), timeout=timeout
        )
    except UnavailableError as error:
        return CallResult.failed(str(error))
    except OpenClawError as error:
        # May repeat the server's own words.
        return CallResult.refused(str(error))
