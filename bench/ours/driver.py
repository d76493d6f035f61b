"""Ours as a contender: `python -m bench.ours.driver`. On uvloop, and with garbage looked for as seldom, as the `openclaw` program runs."""

import asyncio
import gc
from collections.abc import Coroutine
from typing import Any

import uvloop

from bench.contenders.driver import serve
from bench.ours.engine import Ours
from openclaw.__main__ import GARBAGE_AFTER


def run(main: Coroutine[Any, Any, None]) -> None:
    gc.set_threshold(*GARBAGE_AFTER)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)


if __name__ == "__main__":
    serve(Ours, run)
