"""A process of its own that calls a protected server: `python auth_caller.py TOKENS URL [TOOL]`, key in OPENCLAW_TEST_KEY if any.

TOKENS is a folder, or the address of a database that many gateways share. Waits for a line on its input first, so that many can start
together. Prints the status of the call, or the error.
"""

import asyncio
import os
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path

from openclaw.auth.credentials import Credentials, token_files
from openclaw.config.servers import ServerSpec
from openclaw.errors import OpenClawError
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.security.egress import OPERATOR
from openclaw.transport.endpoint import Endpoint
from parts.postgres import fleet_at


async def main(folder: str, url: str, tool: str = "read") -> None:
    async def resolve(text: str) -> str:
        return os.environ["OPENCLAW_TEST_KEY"]

    key = "secret://env/OPENCLAW_TEST_KEY" if "OPENCLAW_TEST_KEY" in os.environ else ""
    async with AsyncExitStack() as stack:
        if folder.startswith("postgres://"):
            fleet = fleet_at(folder, name=f"gateway-{os.getpid()}")
            stack.push_async_callback(fleet.close)
            await fleet.begin()
            tokens = fleet.token_store(key, resolve)
        else:
            tokens = token_files(Path(folder), resolve=resolve, key=key, keychain=None)
        await call(Credentials(tokens, resolve=resolve, clock=lambda: time.time() + 3600), url, tool)


async def call(credentials: Credentials, url: str, tool: str) -> None:
    spec = ServerSpec("files", transport="streamable-http", url=url)
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s"}}' % tool.encode()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    try:
        async with HttpClient(ClientOptions(rules=OPERATOR)) as client:
            endpoint = Endpoint(client, url, headers={}, authorizer=credentials.authorizer(spec))
            response = await endpoint.request("POST", {"Content-Type": "application/json"}, body)
            response.close()
            print(response.status)
    except OpenClawError as error:
        print(type(error).__name__, error)


asyncio.run(main(*sys.argv[1:]))
