"""A process that starts servers the way the product does and is then killed, or leaves in order.

    python gateway.py kill-at-once | wait | leave  HOW...

Each HOW starts one server and a descendant of it (see `descend` in stdio_server.py). Prints one line of JSON: the process ids of the
guardian, of the servers and of their descendants. `kill-at-once` kills itself right after spawning, without waiting for anything.
"""

import asyncio
import json
import os
import signal
import sys

from openclaw.process.watch import watch
from openclaw.protocol.jsonrpc import parse
from openclaw.transport.connection import Connection
from openclaw.transport.stdio import StdioTransport
from parts.processes import server_command


async def descend(connection: Connection, how: str) -> int:
    call = {"name": "descend", "arguments": {"how": how}}
    result = parse(await connection.request("tools/call", call, timeout=60.0), dict)
    return int(result["content"][0]["text"])


async def serve(mode: str, hows: list[str]) -> None:
    transports = [StdioTransport(server_command("--stubborn"), env={"PATH": os.environ["PATH"]}) for _ in hows]
    connections = [Connection(transport) for transport in transports]
    for connection in connections:
        await connection.__aenter__()
    pids = [connection.link.pid for connection in connections]
    if mode != "kill-at-once":
        pids += [await descend(connection, how) for connection, how in zip(connections, hows, strict=True)]
    print(json.dumps({"guardian": watch()._guardian, "pids": pids}), flush=True)
    if mode == "kill-at-once":
        os.kill(os.getpid(), signal.SIGKILL)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2:]))
