"""Ours as a contender: `python -m bench.ours.driver`. On uvloop, as the `openclaw` program runs."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import uvloop

from bench.contenders.driver import serve
from bench.ours.engine import Ours


def run(main: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)


if __name__ == "__main__":
    serve(Ours, run)
