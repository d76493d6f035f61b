"""The HTTP servers of a soak, in a process of their own: each behind a proxy that can cut its connections.

    python -m bench.soak.http_servers COUNT JOURNAL

Needs `tests` on its path. Prints the ports, then obeys `cut N` and `restart N` on standard input. Half of the servers answer with events.
"""

import asyncio
import logging
import os
import sys
from typing import Any

from parts.chaos_proxy import ChaosProxy
from parts.http_server import HttpServer, Plan


class Journal(list[Any]):
    """Takes the place of the list of tools that were run: writes each echo to a file, keeps nothing."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def append(self, called: Any) -> None:
        tool, arguments = called
        if tool == "echo":
            os.write(self._descriptor, f"{arguments['text']}\n".encode())


class Nothing(list[Any]):
    def append(self, seen: Any) -> None:
        return None


async def main() -> None:
    count, file = int(sys.argv[1]), sys.argv[2]
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    servers, proxies = [], []
    for number in range(count):
        server = HttpServer(Plan(answers="sse" if number % 2 else "json"))
        server.called, server.seen, server.abandoned = Journal(descriptor), Nothing(), Nothing()
        await server.start()
        proxy = ChaosProxy(server.port)
        await proxy.__aenter__()
        servers.append(server)
        proxies.append(proxy)
    print(*(proxy.port for proxy in proxies), flush=True)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        word, _, which = line.decode().partition(" ")
        if word == "cut":
            proxies[int(which)].cut()
        else:
            await servers[int(which)].stop()
            await servers[int(which)].start()


if __name__ == "__main__":
    # Connections are cut in the middle of answers all the time; aiohttp has much to say about that.
    logging.disable()
    asyncio.run(main())
