"""A plain MCP client over Streamable HTTP: one asyncio protocol for each connection, kept and used again. JSON and event streams."""

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit

from bench.floor.stdio import INFO, META, MODERN


class Connection(asyncio.Protocol):
    """One request at a time."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport
        self._pieces: list[bytes] = []
        self._head: bytes | None = None
        self._size = 0
        self._need = 0

    def connection_lost(self, error: Exception | None) -> None:
        """Servers close what is idle for some seconds."""
        answer = getattr(self, "_answer", None)
        if answer is not None and not answer.done():
            answer.set_exception(error or ConnectionError("the connection was closed"))

    def ask(self, data: bytes) -> "asyncio.Future[tuple[bytes, bytes]]":
        self._answer: asyncio.Future[tuple[bytes, bytes]] = asyncio.get_running_loop().create_future()
        self.transport.write(data)
        return self._answer

    def data_received(self, data: bytes) -> None:
        self._pieces.append(data)
        self._size += len(data)
        if self._head is None:
            whole = b"".join(self._pieces)
            end = whole.find(b"\r\n\r\n")
            if end < 0:
                return
            self._head, rest = whole[:end], whole[end + 4 :]
            self._pieces, self._size = [rest], len(rest)
            at = self._head.lower().find(b"content-length:")
            # -1 is a chunked body, which is over with its last chunk.
            self._need = -1 if at < 0 else int(self._head[at + 15 :].split(b"\r\n", 1)[0])
        if self._need < 0:
            if not self._pieces[-1].endswith(b"0\r\n\r\n"):
                return
            body = unchunk(b"".join(self._pieces))
        elif self._size < self._need:
            return
        else:
            body = b"".join(self._pieces)
        head, self._head, self._pieces, self._size = self._head, None, [], 0
        self._answer.set_result((head, body))


def unchunk(body: bytes) -> bytes:
    pieces: list[bytes] = []
    at = 0
    while True:
        end = body.index(b"\r\n", at)
        size = int(body[at:end], 16)
        if size == 0:
            return b"".join(pieces)
        pieces.append(body[end + 2 : end + 2 + size])
        at = end + 2 + size + 2


def last_data(body: bytes) -> bytes:
    """The data of the last event: servers may send empty ones before it. No line end stands within JSON."""
    start = (b"\n" + body).rindex(b"\ndata: ") + 6
    return body[start : body.index(b"\n", start)]


class HttpClient:
    def __init__(self, url: str, headers: str = "") -> None:
        parts = urlsplit(url)
        self._place = (parts.hostname or "", parts.port or 80)
        self._head = (
            f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\n{headers}"
        )
        self._free: list[Connection] = []
        self._number = 0
        # What every request carries besides.
        self._more: dict[str, Any] = {}

    @classmethod
    async def open(cls, url: str, *, modern: bool = False) -> "HttpClient":
        client = cls(url)
        if modern:
            client._head += f"MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\n"
            client._more = {"_meta": META}
            return client
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": INFO}
        head, _ = await client.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
        client._head += "MCP-Protocol-Version: 2025-11-25\r\n"
        if (at := head.lower().find(b"\r\nmcp-session-id:")) >= 0:
            session = head[at + 17 :].split(b"\r\n", 1)[0].strip().decode()
            client._head += f"Mcp-Session-Id: {session}\r\n"
        await client.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return client

    async def request(self, method: str, params: dict[str, Any], headers: str = "") -> Any:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        head, body = await self.post(message, headers)
        if b"text/event-stream" in head:
            body = last_data(body)
        return json.loads(body)["result"]

    async def post(self, message: dict[str, Any], headers: str = "") -> tuple[bytes, bytes]:
        """One exchange over a connection that is free, or a new one."""
        text = json.dumps(message)
        data = f"{self._head}{headers}Content-Length: {len(text)}\r\n\r\n{text}".encode()
        connection = None
        while self._free and (connection is None or connection.transport.is_closing()):
            connection = self._free.pop()
        if connection is None or connection.transport.is_closing():
            _, connection = await asyncio.get_running_loop().create_connection(Connection, *self._place)
        answer = await connection.ask(data)
        self._free.append(connection)
        return answer

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        headers = f"Mcp-Name: {tool}\r\n" if self._more else ""
        result = await self.request("tools/call", {"name": tool, "arguments": arguments, **self._more}, headers)
        return str(result["content"][0]["text"])

    async def close(self) -> None:
        for connection in self._free:
            connection.transport.close()
