"""Calls under way, by agent and tool, of every kind of tool, so that those of a tool that is denied now can be ended, and no others.

invoke.py enters each call; whoever takes a tool away (a changed rule, a server that is gone) revokes.
"""

import asyncio
from collections.abc import Callable

import msgspec

from openclaw.tool import Tool


class RunningCall(msgspec.Struct, eq=False):
    agent: str
    tool: Tool
    task: "asyncio.Task[object] | None"
    is_revoked: bool = False

    def revoke(self) -> None:
        """Cancel it."""
        self.is_revoked = True
        if self.task is not None:
            self.task.cancel()

    def was_revoked(self) -> bool:
        """Whether a cancellation that just arrived is ours alone; it is then taken back."""
        return self.is_revoked and self.task is not None and self.task.uncancel() == 0


class RunningCalls:
    def __init__(self) -> None:
        self._calls: set[RunningCall] = set()
        # Where all of them run: to ask which it is for every call would be a call of the system each.
        self._loop: asyncio.AbstractEventLoop | None = None

    def __len__(self) -> int:
        return len(self._calls)

    def begin(self, agent: str, tool: Tool) -> RunningCall:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        call = RunningCall(agent, tool, asyncio.current_task(self._loop))
        self._calls.add(call)
        return call

    def end(self, call: RunningCall) -> None:
        self._calls.discard(call)

    def revoke(self, is_denied: Callable[[str, Tool], bool]) -> int:
        """Cancel the calls whose agent and tool `is_denied` names. How many there were."""
        denied = [call for call in self._calls if not call.is_revoked and is_denied(call.agent, call.tool)]
        for call in denied:
            call.revoke()
        return len(denied)
