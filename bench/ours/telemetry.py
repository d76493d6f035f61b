"""What telemetry that is off adds to a bridged call: our code as it is, and the same without the test for it, in turns. Prints JSON.

    python -m bench.ours.telemetry ROUNDS

One engine and one server: all that differs is `Connection.request`, from whose own source the statement is taken out that asks whether
somebody traces; nothing else of a call asks. Processor time of our process alone; turns are short and many, and who begins changes from
turn to turn, so that whatever else runs on the machine meets both alike. Beside them what a call costs that is traced (by the SDK, with
nobody to send to), which has an engine of its own.
"""

import ast
import gc
import inspect
import json
import os
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider

from bench.contenders.driver import TEXT
from bench.drivers import stdio_server
from bench.ours.driver import run
from bench.ours.engine import config_of
from bench.placement import place_client
from bench.processes import descendants
from openclaw.config.load import load_config
from openclaw.config.paths import Paths
from openclaw.content import ToolCall
from openclaw.conversation import Conversation
from openclaw.engine import Engine
from openclaw.telemetry.telemetry import Telemetry
from openclaw.tool import Invocation, Tool
from openclaw.transport import connection
from openclaw.transport.connection import Connection

WARM = 2_000
WITHOUT, OFF, ON = "without", "off", "on"
# Calls of a turn, and turns each way in a round.
CALLS = 100
TURNS = 10

Request = Callable[..., Awaitable[Any]]


def without_the_test() -> Request:
    """`Connection.request` as if there were no telemetry: its source without the statement about it."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(Connection.request)))
    taken: list[ast.If] = []

    class Taker(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:
            if "self._trace" in ast.unparse(node.test):
                taken.append(node)
                return None
            return self.generic_visit(node)

    bare = ast.fix_missing_locations(Taker().visit(tree))
    if len(taken) != 1:
        sys.exit(f"{len(taken)} statements ask whether somebody traces: this measures one.")
    made: dict[str, Any] = {}
    exec(compile(bare, "Connection.request", "exec"), vars(connection), made)
    request: Request = made["request"]
    return request


class Called:
    """An engine with one server, and its tool."""

    def __init__(self, engine: Engine, tool: Tool) -> None:
        self._invoke = engine.invoke
        self._tool = tool
        self._agent = engine.agent().id

    async def turn(self, calls: int) -> float:
        """Seconds of processor time for each call."""
        conversation = Conversation(self._agent, "agent:main:bench", workspace=Path.cwd())
        begun = time.process_time()
        for number in range(calls):
            call = ToolCall(f"call-{number}", self._tool.name, {"text": TEXT})
            result = await self._invoke(self._tool, call, Invocation(conversation, call.id))
            if result.is_error:
                sys.exit(f"{self._tool.name} was not called: {result.content}")
        return (time.process_time() - begun) / calls


async def called(engine: Engine) -> Called:
    manager = await engine.manager()
    manager.start(engine.agent().id)
    await manager.readiness.started(engine.agent().id)
    (tool,) = [tool for tool in manager.tools(engine.agent().id) if tool.name == "server__echo"]
    return Called(engine, tool)


async def main() -> None:
    rounds = int(sys.argv[1])
    paths = Paths.from_env(os.environ)
    paths.config_file.parent.mkdir(parents=True, exist_ok=True)
    paths.config_file.write_text(json.dumps({**config_of({"server": stdio_server()}), "telemetry": {"enabled": False}}))
    config = load_config(paths, os.environ)
    telemetry = Telemetry(TracerProvider(shutdown_on_exit=False), MeterProvider(shutdown_on_exit=False))
    async with Engine(config, paths=paths) as plain, Engine(config, paths=paths, telemetry=telemetry) as traced:
        off, on = await called(plain), await called(traced)
        requests: dict[str, Request] = {OFF: Connection.request, WITHOUT: without_the_test()}
        for task in (*(int(name) for name in os.listdir("/proc/self/task")), *descendants(os.getpid())):
            place_client(task)
        taken: dict[str, list[float]] = {WITHOUT: [], OFF: [], ON: []}
        for request in requests.values():
            setattr(Connection, "request", request)  # noqa: B010 (a method may not be assigned, says mypy)
            await off.turn(WARM)
        await on.turn(WARM)
        for number in range(rounds):
            gc.collect()
            for one in range(TURNS):
                for way in (WITHOUT, OFF) if (number + one) % 2 else (OFF, WITHOUT):
                    setattr(Connection, "request", requests[way])  # noqa: B010
                    taken[way].append(await off.turn(CALLS))
            setattr(Connection, "request", requests[OFF])  # noqa: B010
            taken[ON].append(await on.turn(CALLS))
        print(json.dumps(taken))


if __name__ == "__main__":
    run(main())
