"""Many servers, each opened by a task of its own: nobody waits for anybody, and a call waits for its own server.

What a careful host writes around a library that opens one server at a time. Standard library alone, as driver.py.
"""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

T = TypeVar("T")


class Each(Generic[T]):
    def __init__(self) -> None:
        self._opened: dict[str, asyncio.Future[T]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._over = asyncio.Event()

    def open(self, name: str, opening: AbstractAsyncContextManager[T]) -> None:
        """Begin; the same task opens and closes it, as libraries on task groups want it."""
        self._opened[name] = asyncio.get_running_loop().create_future()
        self._tasks.append(asyncio.create_task(self._hold(name, opening)))

    async def _hold(self, name: str, opening: AbstractAsyncContextManager[T]) -> None:
        opened = self._opened[name]
        try:
            async with opening as client:
                opened.set_result(client)
                await self._over.wait()
        except Exception as error:
            if not opened.done():
                opened.set_exception(error)

    async def get(self, name: str) -> T:
        return await asyncio.shield(self._opened[name])

    async def close(self) -> None:
        """Who is not open yet is not waited for."""
        self._over.set()
        for task, opened in zip(self._tasks, self._opened.values(), strict=True):
            if not opened.done():
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
