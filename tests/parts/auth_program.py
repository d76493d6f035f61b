"""A program that holds credentials for a protected server: signs in, calls, restarts with nothing but the disk."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from openclaw.auth.bearer import BearerAuthorizer
from openclaw.auth.credentials import Credentials, token_files
from openclaw.auth.login import SignedIn
from openclaw.config.servers import AuthSpec, ServerSpec
from openclaw.errors import SecretError
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.security.egress import OPERATOR
from openclaw.transport.endpoint import Endpoint
from parts.auth_server import AuthServer

# A process of its own that calls a protected server.
CALLER = Path(__file__).with_name("auth_caller.py")


class Clock:
    """Time that passes when told to, on top of the real one."""

    def __init__(self, real: Callable[[], float]) -> None:
        self._real = real
        self.ahead = 0.0

    def __call__(self) -> float:
        return self._real() + self.ahead


async def called_by_processes(program: "Program", count: int, *, tokens: str = "", key: str = "") -> list[bytes]:
    """What processes of their own say that all call at the same time. `tokens` is where theirs are, if not in the program's folder."""
    environment = {**os.environ, "PYTHONPATH": str(CALLER.parent.parent), **({"OPENCLAW_TEST_KEY": key} if key else {})}
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, str(CALLER), tokens or str(program.folder), program.server.url),
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for _ in range(count)
    ]
    for process in processes:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
    outputs = await asyncio.gather(*(process.communicate(b"\n") for process in processes))
    return [output for output, _ in outputs]


class Program:
    """What a process of ours does with one protected server."""

    def __init__(self, server: AuthServer, folder: Path, *, clock: Clock, **spec: Any) -> None:
        self.server = server
        self.folder = folder
        self.clock = clock
        self.secrets: dict[str, str] = {}
        # What the transports add to each request.
        self.protocol: dict[str, str] = {}
        # Who sits at the browser.
        self.browse = server.browse
        self.spec = ServerSpec("files", transport="streamable-http", **{"url": server.url, **spec})
        self.credentials = self.make()

    def make(self, *, key: str = "", **options: Any) -> Credentials:
        tokens = token_files(self.folder, resolve=self.resolve, key=key, keychain=None)
        return Credentials(tokens, resolve=self.resolve, **{"clock": self.clock, **options})

    async def resolve(self, text: str) -> str:
        if text not in self.secrets:
            raise SecretError(f"{text} cannot be resolved.")
        return self.secrets[text]

    def restart(self) -> None:
        """Another process, with nothing but the disk."""
        self.credentials = self.make()

    def configure(self, **auth: Any) -> None:
        self.spec = replace(self.spec, auth=AuthSpec(**auth))

    async def sign_in(self) -> SignedIn:
        started = await self.credentials.start(self.spec)
        return await self.credentials.finish(self.spec, await self.browse(started.authorization_url))

    def authorizer(self) -> BearerAuthorizer:
        authorizer = self.credentials.authorizer(self.spec)
        assert authorizer is not None
        return authorizer

    async def call(self, tool: str = "read", authorizer: BearerAuthorizer | None = None) -> int:
        """The status of one tool call, sent the way the transports send it. Raises what they raise."""
        body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s"}}' % tool.encode()
        async with HttpClient(ClientOptions(rules=OPERATOR)) as client:
            endpoint = Endpoint(client, self.spec.url, headers={}, authorizer=authorizer or self.authorizer())
            response = await endpoint.request("POST", {"Content-Type": "application/json", **self.protocol}, body)
            response.close()
            return response.status
