"""The fast floor: what a plain client in Python can be at best. `python -m bench.floor.fast`

One `asyncio.Protocol` on uvloop for each server, messages that `msgspec` reads into the shape they have, everything that does not change
encoded once. No deadlines, no checks, no recovery: like the first floor it is no client that anybody should use.
"""

import asyncio
from io import BytesIO
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
import uvloop

from bench.contenders.driver import Target, serve
from bench.floor.http import last_data, unchunk
from bench.floor.stdio import INFO, META, MODERN

LEGACY = "2025-11-25"
HELLO = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": INFO}
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


class Block(msgspec.Struct, gc=False):
    text: str = ""


class Result(msgspec.Struct, gc=False):
    content: list[Block] = []


class Answer(msgspec.Struct, gc=False):
    """A response, or what else a server says: then there is no result."""

    id: int | None = None
    result: Result | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Answer).decode


class Requests:
    """The bytes of requests: `tools/call` around a name and its arguments, which alone are encoded for each."""

    def __init__(self, *, modern: bool) -> None:
        self._number = 0
        meta = b',"_meta":' + _encode(META) if modern else b""
        self._end = meta + b"}}"

    def hello(self) -> bytes:
        self._number += 1
        return _encode({"jsonrpc": "2.0", "id": self._number, "method": "initialize", "params": HELLO})

    def call(self, tool: str, arguments: dict[str, Any]) -> bytes:
        self._number += 1
        return b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s%s' % (
            self._number,
            tool.encode(),
            _encode(arguments),
            self._end,
        )

    @property
    def number(self) -> int:
        return self._number


class FastStdio(asyncio.SubprocessProtocol):
    _transport: asyncio.SubprocessTransport
    _input: asyncio.WriteTransport

    def __init__(self, *, modern: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self._requests = Requests(modern=modern)
        self._waiting: dict[int, asyncio.Future[str]] = {}
        self._pieces: list[bytes] = []
        self._exited = asyncio.Event()

    @classmethod
    async def open(cls, command: list[str], *, modern: bool) -> "FastStdio":
        loop = asyncio.get_running_loop()
        transport, client = await loop.subprocess_exec(lambda: cls(modern=modern), *command, stderr=None)
        client._transport = transport
        # uvloop's transports are no subclasses.
        client._input = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
        if not modern:
            await client._ask(client._requests.hello())
            client._input.write(INITIALIZED)
        return client

    def _ask(self, request: bytes) -> "asyncio.Future[str]":
        future = self._waiting[self._requests.number] = self._loop.create_future()
        self._input.write(request + b"\n")
        return future

    def call(self, tool: str, arguments: dict[str, Any]) -> "asyncio.Future[str]":
        return self._ask(self._requests.call(tool, arguments))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if b"\n" not in data:
            self._pieces.append(data)
            return
        # Not by `split`, which looks at one byte after the other.
        lines = BytesIO(b"".join([*self._pieces, data]) if self._pieces else data).readlines()
        self._pieces = [] if lines[-1].endswith(b"\n") else [lines.pop()]
        for line in lines:
            answer = _decode(line)
            if answer.result is not None and answer.id is not None:
                content = answer.result.content
                self._waiting.pop(answer.id).set_result(content[0].text if content else "")

    def process_exited(self) -> None:
        self._exited.set()

    async def close(self) -> None:
        self._transport.close()
        await self._exited.wait()


class FastConnection(asyncio.Protocol):
    """One exchange at a time: the head, and the body of the answer."""

    transport: asyncio.WriteTransport

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pieces: list[bytes] = []
        self._size = 0
        # Where the body begins; nowhere yet. And how long it all is: -1 is a chunked body, which is over with its last chunk.
        self._body = 0
        self._end = -1
        self._answer: asyncio.Future[tuple[bytes, bytes]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.WriteTransport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        """Servers close what is idle for some seconds."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionError("the connection was closed"))

    def ask(self, data: bytes) -> "asyncio.Future[tuple[bytes, bytes]]":
        self._answer = self._loop.create_future()
        self.transport.write(data)
        return self._answer

    def data_received(self, data: bytes) -> None:
        self._pieces.append(data)
        self._size += len(data)
        if not self._body:
            whole = b"".join(self._pieces)
            end = whole.find(b"\r\n\r\n")
            if end < 0:
                return
            self._pieces, self._body = [whole], end + 4
            head = whole[:end].lower()
            at = head.find(b"content-length:")
            self._end = -1 if at < 0 else self._body + int(head[at + 15 :].split(b"\r\n", 1)[0])
        if self._size < self._end or (self._end < 0 and not data.endswith(b"0\r\n\r\n")):
            return
        whole = b"".join(self._pieces) if len(self._pieces) > 1 else self._pieces[0]
        head, body = whole[: self._body], whole[self._body :]
        if self._end < 0:
            body = unchunk(body)
        self._pieces, self._size, self._body, self._end = [], 0, 0, -1
        assert self._answer is not None
        self._answer.set_result((head, body))


class FastHttp:
    def __init__(self, url: str, *, modern: bool) -> None:
        parts = urlsplit(url)
        self._place = (parts.hostname or "", parts.port or 80)
        self._head = (
            f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\n"
        ).encode()
        self._modern = modern
        self._requests = Requests(modern=modern)
        self._free: list[FastConnection] = []

    @classmethod
    async def open(cls, url: str, *, modern: bool) -> "FastHttp":
        client = cls(url, modern=modern)
        if modern:
            client._head += f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\n".encode()
            return client
        head, _ = await client._post(client._requests.hello())
        client._head += f"MCP-Protocol-Version: {LEGACY}\r\n".encode()
        if (at := head.lower().find(b"\r\nmcp-session-id:")) >= 0:
            client._head += b"Mcp-Session-Id:" + head[at + 17 :].split(b"\r\n", 1)[0] + b"\r\n"
        await client._post(INITIALIZED.strip())
        return client

    async def _post(self, message: bytes, headers: bytes = b"") -> tuple[bytes, bytes]:
        connection = self._free.pop() if self._free else None
        while connection is not None and connection.transport.is_closing():
            connection = self._free.pop() if self._free else None
        if connection is None:
            _, connection = await asyncio.get_running_loop().create_connection(FastConnection, *self._place)
        answer = await connection.ask(
            b"%s%sContent-Length: %d\r\n\r\n%s" % (self._head, headers, len(message), message)
        )
        self._free.append(connection)
        return answer

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        headers = b"Mcp-Name: %s\r\n" % tool.encode() if self._modern else b""
        head, body = await self._post(self._requests.call(tool, arguments), headers)
        if b"text/event-stream" in head:
            body = last_data(body)
        result = _decode(body).result
        if result is None:
            raise RuntimeError(f"no result: {body[:200]!r}")
        return result.content[0].text

    async def close(self) -> None:
        for connection in self._free:
            connection.transport.close()


class FastFloor:
    def __init__(self) -> None:
        self._clients: dict[str, FastStdio | FastHttp] = {}

    async def open(self, servers: dict[str, Target]) -> None:
        for name, target in servers.items():
            modern = target.get("modern", False)
            if "url" in target:
                self._clients[name] = await FastHttp.open(target["url"], modern=modern)
            else:
                self._clients[name] = await FastStdio.open(target["command"], modern=modern)

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> str:
        return await self._clients[server].call(tool, arguments)

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()


def run(main: Any) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)


if __name__ == "__main__":
    serve(FastFloor, run)
