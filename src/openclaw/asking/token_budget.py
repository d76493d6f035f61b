"""How many tokens each server has used today, in a file that all processes of a state folder share: replaced whole, under a lock.

Days are those of UTC. A file that cannot be read counts as an empty one.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from openclaw import lock
from openclaw.content import to_json
from openclaw.errors import RpcError, StoreError
from openclaw.files import reason, replace
from openclaw.protocol.jsonrpc import INTERNAL_ERROR
from openclaw.to_the_end import to_the_end

# Seconds that the file is waited for when another process has it.
_LOCK_PATIENCE = 5.0


class _Count(msgspec.Struct):
    """What the file holds: a day, and the tokens of each server on it."""

    day: str = ""
    tokens: dict[str, int] = {}


class TokenBudget:
    """Tokens of a day by server, in a file that is replaced whole under a lock."""

    def __init__(self, file: Path, today: Callable[[], str]) -> None:
        self._file = file
        self._today = today
        self._writing = asyncio.Lock()

    async def spend(self, server: str, tokens: int, most: int) -> None:
        """Raises RpcError when that is more than is left of the day."""
        if not await self._change(server, tokens, most):
            raise RpcError(INTERNAL_ERROR, f"The {most} tokens of this day are used up.")

    async def add(self, server: str, tokens: int) -> None:
        await self._change(server, tokens, None)

    async def _change(self, server: str, tokens: int, most: int | None) -> bool:
        async with self._writing:
            try:
                handle = await lock.acquire(self._file.with_suffix(".lock"), patience=_LOCK_PATIENCE)
            except TimeoutError:
                raise StoreError("The count of tokens cannot be kept: another process has its file.") from None
            except OSError as error:
                raise StoreError(f"The count of tokens cannot be kept: {reason(error)}.") from None
            try:
                # Also for somebody who waits no longer: the lock is not free before it is written.
                return await to_the_end(asyncio.to_thread(self._write, server, tokens, most))
            finally:
                lock.release(handle)

    def _write(self, server: str, tokens: int, most: int | None) -> bool:
        count, day = self._read(), self._today()
        if count.day != day:
            count = _Count(day)
        used = max(count.tokens.get(server, 0) + tokens, 0)
        if most is not None and used > most:
            return False
        replace(self._file, to_json(_Count(day, {**count.tokens, server: used})))
        return True

    def _read(self) -> _Count:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=_Count)
        except (OSError, msgspec.MsgspecError):
            return _Count()
