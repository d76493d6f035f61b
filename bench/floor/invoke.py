"""A plain client of our gateway's `POST /v1/tools/invoke`: `python -m bench.floor.invoke`, with the token in BENCH_TOKEN.

Driven like every contender; a server's target is the gateway, and its name is the server's name there.
"""

import os
from typing import Any

from bench.contenders.driver import Target, serve
from bench.floor.http import HttpClient


class Invoke:
    def __init__(self) -> None:
        self._clients: dict[str, HttpClient] = {}

    async def open(self, servers: dict[str, Target]) -> None:
        for name, target in servers.items():
            headers = f"Authorization: Bearer {os.environ['BENCH_TOKEN']}\r\n"
            self._clients[name] = HttpClient(f"{target['url']}/v1/tools/invoke", headers)

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        head, body = await self._clients[server].post({"tool": f"{server}__{tool}", "arguments": arguments})
        if b" 200 " not in head[:20]:
            raise RuntimeError(f"the gateway answered {head[:40]!r} {body[:200]!r}")
        return body.decode()

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()


if __name__ == "__main__":
    serve(Invoke)
