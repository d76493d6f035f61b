"""Blocking calls (name servers, keychains, cloud SDKs, files on a network), out of the event loop's way.

Each runs in a daemon thread of its own: one that never comes back, as with a keychain that waits for a person, holds up neither the loop
nor another call nor the end of the process. The pool behind `asyncio.to_thread` is joined at exit, and so would.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def in_daemon_thread(call: Callable[[], T]) -> T:
    """The result of `call`, run in a thread. When the caller is cancelled (a deadline), the thread is left to itself."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(put: Callable[[Any], None], value: Any) -> None:
        if not outcome.done():
            put(value)

    def work() -> None:
        try:
            put, value = outcome.set_result, call()
        except Exception as error:
            put, value = outcome.set_exception, error  # type: ignore[assignment]
        try:
            loop.call_soon_threadsafe(settle, put, value)
        except RuntimeError:
            # The loop has ended meanwhile: nobody is waiting.
            pass

    threading.Thread(target=work, name="openclaw-blocking", daemon=True).start()
    return await outcome
