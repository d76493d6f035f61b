"""Sign-ins to servers that were begun over HTTP and wait for a browser to come back to this machine: one for each server.

Whoever began one opens the address, and may wait for its end or leave: it goes on without them, until the browser came back, another is
begun for the same server, or nobody finished it in time. From a browser on another machine the address it ends at can be pasted meanwhile,
as ever (`commands/sign_in.py`).
"""

import asyncio
import logging

from openclaw.auth.login import SignedIn, Started
from openclaw.commands.sign_in import recover, spec_to_sign_in
from openclaw.config.servers import ServerSpec
from openclaw.engine import Engine
from openclaw.errors import AuthError, OpenClawError

_log = logging.getLogger(__name__)


class SignIns:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # By agent and server; those that ended stay until the next one, for who asks how they ended.
        self._begun: dict[tuple[str, str], asyncio.Task[SignedIn]] = {}

    async def begin(self, name: str, agent: str) -> Started:
        """The address to open. Raises OpenClawError when there is nothing to sign in to, or another sign-in takes its place."""
        spec = await spec_to_sign_in(self._engine, name, agent)
        while (agent, name) in self._begun:
            # More than once: another may be begun while the one before comes to its end.
            await self._cancel((agent, name))
        started: asyncio.Future[Started] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._carry_out(spec, agent, started), name=f"sign-in-{name}")
        self._begun[agent, name] = task
        waited: list[asyncio.Future[Started] | asyncio.Task[SignedIn]] = [started, task]
        try:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not started.done():
            started.cancel()
            # There is no address, and this says why.
            _outcome(name, task)
        return started.result()

    async def ended(self, name: str, agent: str) -> SignedIn:
        """How the one that was begun last ended, when it has. Raises OpenClawError when it failed, or there is none."""
        task = self._begun.get((agent, name))
        if task is None:
            raise AuthError(f"No sign-in to {name} was begun here.")
        await asyncio.wait([task])
        return _outcome(name, task)

    async def close(self) -> None:
        for key in tuple(self._begun):
            await self._cancel(key)

    async def _cancel(self, key: tuple[str, str]) -> None:
        task = self._begun.pop(key, None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _carry_out(self, spec: ServerSpec, agent: str, started: "asyncio.Future[Started]") -> SignedIn:
        async def show(one: Started) -> None:
            if started.done():
                # Whoever began it has the first address and no way to get another.
                raise AuthError("The registration had to be renewed.", hint="Start the sign-in again.")
            started.set_result(one)

        try:
            done = await self._engine.credentials.sign_in(spec, show)
        except OpenClawError as error:
            _log.info("The sign-in to MCP server '%s' did not work: %s", spec.name, error)
            raise
        await recover(self._engine, spec.name, agent)
        return done


def _outcome(name: str, task: "asyncio.Task[SignedIn]") -> SignedIn:
    """How one ended. Raises OpenClawError when it failed."""
    if task.cancelled():
        raise AuthError(f"The sign-in to {name} was begun anew, or the gateway stops.")
    return task.result()
