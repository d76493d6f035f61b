"""`openclaw mcp-server` as a client starts it: a process of its own, spoken to line by line.

async with OrderProcess(home, config={...}) as server:
    await server.initialize()
    answer = await server.order("hello")
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any, Self

from parts.piped import PipedProcess

OPENCLAW = [str(Path(sys.executable).with_name("openclaw"))]

MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def environment(home: Path, **extra: str) -> dict[str, str]:
    """Nothing of ours: no keys, no other home."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home), **extra}


def local_model(url: str, key: str, model: str = "local-model", **agent: Any) -> dict[str, Any]:
    """A config whose agent uses a chat-completions server on this machine."""
    provider = {"baseUrl": url, "apiKey": key, "models": [{"id": model, "input": ["text", "image"]}]}
    return {
        "models": {"mode": "replace", "providers": {"local": provider}},
        "agents": {"defaults": {"model": f"local/{model}", **agent}},
    }


def write_config(home: Path, config: dict[str, Any]) -> None:
    place = home / ".openclaw" / "openclaw.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(config))


class OrderProcess:
    """`messages` are those that came and were nobody's answer: notifications, and errors without an id."""

    def __init__(
        self,
        home: Path,
        *arguments: str,
        config: dict[str, Any] | None = None,
        env: dict[str, str] | None = None,
        command: list[str] | None = None,
        **options: Any,
    ) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        self.messages: list[Any] = []
        self._piped = PipedProcess(
            [*(command or [*OPENCLAW, "mcp-server"]), *arguments],
            env=environment(home, **(env or {})),
            **{"cwd": home, **options},
        )
        self._answers: dict[Any, asyncio.Future[Any]] = {}
        self._arrived = asyncio.Event()
        self._last_id = 0
        if config is not None:
            write_config(home, config)

    async def __aenter__(self) -> Self:
        await self._piped.start(self._heard, self._ended)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._piped.kill()

    @property
    def process(self) -> PipedProcess:
        return self._piped

    @property
    def stderr(self) -> bytes:
        return self._piped.stderr

    def _heard(self, line: bytes) -> None:
        message = json.loads(line)
        waiting = self._answers.pop(message.get("id"), None) if isinstance(message, dict) else None
        if waiting is not None and "method" not in message:
            waiting.set_result(message)
        else:
            self.messages.append(message)
            self._arrived.set()

    def _ended(self) -> None:
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(EOFError("the server closed its output"))
                # Not every test waits for every answer.
                waiting.exception()

    def write(self, line: bytes) -> None:
        self._piped.write(line)

    def begin(self, method: str, params: Any = None, id: Any = None) -> "asyncio.Future[Any]":
        """Send a request; its answer comes later."""
        if id is None:
            self._last_id += 1
            id = self._last_id
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[id] = answer
        params = {} if params is None else {"params": params}
        self.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, **params}).encode())
        return answer

    async def request(self, method: str, params: Any = None) -> Any:
        """The result of a request; its error as an exception."""
        answer = await self.begin(method, params)
        assert "result" in answer, answer
        return answer["result"]

    def notify(self, method: str, params: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    async def initialize(self, version: str = "2025-11-25", **capabilities: Any) -> Any:
        info = {"name": "test", "version": "1"}
        params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": info}
        result = await self.request("initialize", params)
        self.notify("notifications/initialized", {})
        return result

    def begin_order(self, message: str, *, meta: dict[str, Any] | None = None, **arguments: Any) -> Any:
        given = {"message": message, **arguments}
        params: dict[str, Any] = {"name": "order_openclaw", "arguments": given}
        return self.begin("tools/call", params | ({"_meta": meta} if meta else {}))

    async def order(self, message: str, **arguments: Any) -> Any:
        answer = await self.begin_order(message, **arguments)
        assert "result" in answer, answer
        return answer["result"]

    async def said(self, message: str, **arguments: Any) -> str:
        """The text of an answer that is text alone."""
        result = await self.order(message, **arguments)
        (block,) = result["content"]
        assert (block["type"], result["isError"]) == ("text", False), result
        return str(block["text"])

    async def until_told(self, wanted: str) -> None:
        """Wait for a progress notification with these words."""
        while not any(m.get("params", {}).get("message") == wanted for m in self.messages if isinstance(m, dict)):
            self._arrived.clear()
            await self._arrived.wait()

    async def end(self, how: str = "eof") -> int:
        """End it the way `how` says, and wait; its exit code."""
        return await self._piped.end(how)
