"""The HTTP servers of a soak, in a process of their own: each behind a proxy that can cut its connections.

    python -m bench.soak.http_servers JOURNAL

Needs `tests` on its path. Prints their addresses, then obeys `cut N`, `restart N` and `count 0` (from nothing) on standard input and
answers each, when it is done, with how often a stream was resumed, a session begun and an HTTP+SSE stream opened.
"""

import asyncio
import logging
import os
import sys
from typing import Any

from parts.chaos_proxy import ChaosProxy
from parts.http_server import HttpServer, Plan, Seen

LEGACY_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
# One server for each way that HTTP servers differ in what a client has to recover. 2025-11-25 has MCP sessions and, with
# events, streams that are resumed by Last-Event-ID; 2026-07-28 has neither.
PLANS = (
    ("/mcp", Plan(answers="json")),
    ("/mcp", Plan(answers="sse")),
    ("/mcp", Plan(answers="json", revisions=LEGACY_REVISIONS)),
    ("/mcp", Plan(answers="sse", revisions=LEGACY_REVISIONS)),
    ("/mcp", Plan(answers="sse", revisions=LEGACY_REVISIONS, unknown_session=400)),
    ("/sse", Plan(revisions=LEGACY_REVISIONS[:1])),
)
# Turns of the loop until a connection that was cut is closed.
CUT_ROUNDS = 5


class Journal(list[Any]):
    """Takes the place of the list of tools that were run: writes each echo to a file, keeps nothing."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def append(self, called: Any) -> None:
        tool, arguments = called
        if tool == "echo":
            os.write(self._descriptor, f"{arguments['text']}\n".encode())


class Counts(list[Any]):
    """Takes the place of the list of requests: counts what must have happened, keeps nothing."""

    resumed = sessions = legacy_streams = 0

    def append(self, seen: Seen) -> None:
        if seen.verb == "GET" and "Last-Event-ID" in seen.headers:
            Counts.resumed += 1
        elif seen.verb == "GET" and seen.path.startswith("/sse"):
            Counts.legacy_streams += 1
        elif seen.method == "initialize" and seen.path.startswith("/mcp"):
            Counts.sessions += 1


class Nothing(list[Any]):
    def append(self, seen: Any) -> None:
        return None


async def main() -> None:
    descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    servers, proxies, addresses = [], [], []
    for path, plan in PLANS:
        server = HttpServer(plan)
        server.called, server.seen, server.abandoned = Journal(descriptor), Counts(), Nothing()
        await server.start()
        proxy = ChaosProxy(server.port)
        await proxy.__aenter__()
        servers.append(server)
        proxies.append(proxy)
        addresses.append(f"http://127.0.0.1:{proxy.port}{path}")
    print(*addresses, flush=True)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        word, _, which = line.decode().partition(" ")
        server, proxy = servers[int(which)], proxies[int(which)]
        if word == "count":
            Counts.resumed = Counts.sessions = Counts.legacy_streams = 0
        else:
            if word == "restart":
                await server.stop()
                await server.start()
            # The proxy would notice later that the server closed a connection: what was open is closed before we say that it is done.
            proxy.cut()
            for _ in range(CUT_ROUNDS):
                await asyncio.sleep(0)
        server.forget()
        print(Counts.resumed, Counts.sessions, Counts.legacy_streams, flush=True)


if __name__ == "__main__":
    # Connections are cut in the middle of answers all the time; aiohttp has much to say about that.
    logging.disable()
    asyncio.run(main())
