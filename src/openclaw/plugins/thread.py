"""A plugin's own event loop, in a thread of its own: code that blocks there blocks nothing of ours.

Owns the way there and back: what is awaited from our loop runs in the plugin's, its result, its exceptions and our cancellation pass. A
thread that shows no sign of life when its time is over is given up: it is left to itself, and whoever waits for it is told why. Nobody
joins it; it is a daemon and ends with the process. What is asked of it is in own_thread.py, what becomes of the plugin in loader.py.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any, TypeVar

from openclaw.log import one_line
from openclaw.plugins.bounded import GRACE_SECONDS, as_fault, bounded
from openclaw.plugins.contract import PluginFault

_T = TypeVar("_T")
# A question and the agent it is about.
Key = tuple[str, str]

# Seconds without a sign of life, once its time is over, after which a thread is given up. A loop that runs answers within milliseconds.
REACTION_SECONDS = 1.0
# Seconds after which a thread has to show that it is alive while it does something that may take longer.
ALIVE_SECONDS = 60.0
# Enough of a task's name, which a plugin may choose, to recognise it.
_SHOWN_NAME = 80

_log = logging.getLogger(__name__)


class PluginThread:
    """Made and used in our loop. `on_given_up` is called there, at most once; `fault` then says why."""

    def __init__(self, plugin: str, on_given_up: Callable[["PluginThread"], None]) -> None:
        self.fault = ""
        self._plugin = plugin
        self._on_given_up = on_given_up
        self._home = asyncio.get_running_loop()
        self._loop = asyncio.new_event_loop()
        self._is_closing = False
        self._is_stopped = False
        # Those of our loop who wait for something.
        self._waiting: set[asyncio.Future[Any]] = set()
        self._ended: asyncio.Future[None] = self._home.create_future()
        self._answers: dict[Key, Any] = {}
        self._asked: set[Key] = set()
        # The question it is busy with.
        self._answering: Key | None = None
        self._thread = threading.Thread(target=self._serve, name=f"plugin {plugin}", daemon=True)
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    async def call(self, what: str, work: Callable[[], Awaitable[_T]], seconds: float) -> _T:
        """Await `work()` over there. After `seconds`, and whenever they pass again, it has to show that it is alive.

        Raises what the work raises, and PluginFault when the thread is given up or was.
        """
        outcome: asyncio.Future[_T] = self._home.create_future()
        tasks: list[asyncio.Task[_T]] = []
        context = copy_context()
        until = self._home.time() + seconds

        def begin() -> None:
            task = self._loop.create_task(_fenced(work), name=what, context=context)
            tasks.append(task)
            task.add_done_callback(lambda done: self._tell_home(_settle, outcome, done))

        def cancel() -> None:
            for task in tasks:
                task.cancel()

        self._refuse_when_gone()
        self._waiting.add(outcome)
        try:
            self._tell(begin)
            while not (await asyncio.wait({outcome}, timeout=seconds))[0]:
                if not await self._reacts(outcome):
                    self._give_up(what, seconds)
            return outcome.result()
        except asyncio.CancelledError:
            if not outcome.done():
                self._tell(cancel)
                if await self._reacts(outcome):
                    await asyncio.wait({outcome}, timeout=GRACE_SECONDS)
                elif self._home.time() >= until:
                    self._give_up(what, seconds)
            raise
        finally:
            self._waiting.discard(outcome)
            if not outcome.cancel() and not outcome.cancelled():
                # Looked at, also when we leave with a cancellation of our own.
                outcome.exception()
            self._end_when_idle()

    def ask(self, key: Key, question: Callable[[], _T], default: _T) -> _T:
        """What was answered the last time. The question is put again, for whoever asks next: our loop never waits for a thread."""
        if key not in self._asked and not self.fault:
            self._asked.add(key)
            self._tell(lambda: self.answer(key, question, default))
        last: _T = self._answers.get(key, default)
        return last

    def answer(self, key: Key, question: Callable[[], _T], default: _T) -> None:
        """In the plugin's thread: find the answer, which is kept for who asks."""
        self._answering = key
        try:
            self._answers[key] = question()
        except BaseException as error:
            self._answers[key] = default
            _log.warning("plugin %s failed in %s", self._plugin, key[0], exc_info=error)
        finally:
            self._answering = None
            self._asked.discard(key)

    async def close(self) -> None:
        """Let it end, after the calls that are under way. Waits a moment, for the loop to be closed in order."""
        self._is_closing = True
        self._end_when_idle()
        if not self._waiting and not self.fault:
            await asyncio.wait({self._ended}, timeout=GRACE_SECONDS)

    def _refuse_when_gone(self) -> None:
        if self.fault or self._is_closing:
            raise PluginFault(self.fault or "it was shut down")

    def _end_when_idle(self) -> None:
        if self._is_closing and not self._waiting:
            self._stop()

    def _stop(self) -> None:
        """Once: a second time would keep the loop from winding up."""
        if not self._is_stopped:
            self._is_stopped = True
            self._tell(self._loop.stop)

    def _tell(self, callback: Callable[[], object]) -> None:
        # A loop that has ended hears nothing, and owes nothing.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback)

    def _tell_home(self, callback: Callable[..., object], *arguments: Any) -> None:
        with suppress(RuntimeError):
            self._home.call_soon_threadsafe(callback, *arguments)

    async def _reacts(self, outcome: "asyncio.Future[Any]") -> bool:
        """Whether the other loop turns: everything that it was told before has then been heard."""
        sign: asyncio.Future[None] = self._home.create_future()
        self._tell(lambda: self._tell_home(_done, sign))
        signs, _ = await asyncio.wait({outcome, sign}, timeout=REACTION_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        return bool(signs)

    def _give_up(self, what: str, seconds: float) -> None:
        if self.fault:
            return
        task = asyncio.current_task(self._loop)
        where = task.get_name() if task is not None else self._answering[0] if self._answering else what
        self.fault = f"it blocked for {seconds:g} s in {one_line(where, _SHOWN_NAME)}"
        for outcome in self._waiting:
            if not outcome.done():
                outcome.set_exception(PluginFault(self.fault))
        # Should it ever come back, it ends.
        self._is_closing = True
        self._stop()
        self._on_given_up(self)

    def _serve(self) -> None:
        """The whole life of the thread."""
        asyncio.set_event_loop(self._loop)
        while not self._is_stopped:
            try:
                self._loop.run_forever()
            except BaseException as error:
                # A task of the plugin's own asked for the end of the process: that is not for it to decide.
                _log.warning("plugin %s: %s", self._plugin, as_fault(error))
        with suppress(BaseException):
            self._loop.run_until_complete(_wind_up())
        self._loop.close()
        self._tell_home(_done, self._ended)


async def within(thread: PluginThread | None, what: str, call: Callable[[], Awaitable[_T]], seconds: float) -> _T:
    """Await code of a plugin where that runs, in our loop without a thread. Raises PluginFault for whatever goes wrong."""
    if thread is None:
        return await bounded(call, seconds)
    return await thread.call(what, lambda: bounded(call, seconds, what), min(seconds, ALIVE_SECONDS))


async def _fenced(work: Callable[[], Awaitable[_T]]) -> _T:
    try:
        return await work()
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as error:
        raise as_fault(error) from error


async def _wind_up() -> None:
    """End what the plugin left running, as far as it can be ended."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    if rest:
        await asyncio.wait(rest, timeout=GRACE_SECONDS)
    await asyncio.get_running_loop().shutdown_asyncgens()


def _done(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def _settle(outcome: "asyncio.Future[_T]", task: "asyncio.Task[_T]") -> None:
    error = None if task.cancelled() else task.exception()
    if outcome.done():
        return
    if task.cancelled():
        outcome.cancel()
    elif error is not None:
        outcome.set_exception(error)
    else:
        outcome.set_result(task.result())
