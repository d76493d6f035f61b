"""A minimal end for a transport's link: notes everything it is given, and lets a test wait for it."""

import asyncio
import itertools
import json
from collections.abc import Callable
from typing import Any

from openclaw.errors import TransportError
from openclaw.transport.base import Link, Outgoing

MODERN = "2026-07-28"


class Recorder:
    """`answers` and `failures` are by request id: each request ends in one of them, once. With `posts` requests are handed over without
    waiting where the link takes them so."""

    def __init__(self, *, posts: bool = True) -> None:
        self.posts = posts
        self.waiting: set[int] = set()
        self.answers: dict[int, dict[str, Any]] = {}
        self.failures: dict[int, Exception] = {}
        # Messages that answer nothing, with the stream they came on.
        self.others: list[tuple[dict[str, Any], int | None]] = []
        self.ended: list[TransportError | None] = []
        self._ids = itertools.count(1)
        self._changed = asyncio.Event()

    # What a test does

    def request(self, method: str, params: dict[str, Any] | None = None, **more: Any) -> Outgoing:
        id = next(self._ids)
        self.waiting.add(id)
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}
        return Outgoing(json.dumps(message).encode(), method, id, **more)

    def call(self, tool: str, **arguments: Any) -> Outgoing:
        return self.request("tools/call", {"name": tool, "arguments": arguments}, name=tool)

    def modern(self, method: str, params: dict[str, Any] | None = None, name: str = "") -> Outgoing:
        meta = {"io.modelcontextprotocol/protocolVersion": MODERN}
        return self.request(method, {**(params or {}), "_meta": meta}, name=name)

    def initialize(self, version: str = "2025-11-25") -> Outgoing:
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        return self.request("initialize", params)

    async def hand(self, link: Link, message: Outgoing) -> None:
        """Hand a message over as a connection does, and wait for what comes of it."""
        id = message.id
        if id is None or not self.posts or not link.post(message):
            await link.send(message)
            return
        try:
            await self.until(lambda: id not in self.waiting)
        except asyncio.CancelledError:
            link.cancel(id)
            raise

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    # What a link does

    def received(self, data: bytes, origin: int | None) -> None:
        messages = json.loads(data)
        for message in messages if isinstance(messages, list) else [messages]:
            id = message.get("id")
            if "error" in message and id is None:
                id = origin
            if "method" in message or id not in self.waiting or (origin is not None and id != origin):
                self.others.append((message, origin))
            else:
                self.waiting.discard(id)
                assert id not in self.answers
                assert id not in self.failures
                self.answers[id] = message
        self._changed.set()

    def awaits(self, request_id: int) -> bool:
        return request_id in self.waiting

    def failed(self, request_id: int, error: Exception) -> None:
        assert request_id in self.waiting
        self.waiting.discard(request_id)
        self.failures[request_id] = error
        self._changed.set()

    def closed(self, error: TransportError | None) -> None:
        assert not self.ended
        self.ended.append(error)
        self._changed.set()


def text_of(answer: dict[str, Any]) -> str:
    """The text of a tool's answer."""
    text: str = answer["result"]["content"][0]["text"]
    return text


def notification(method: str) -> Outgoing:
    return Outgoing(json.dumps({"jsonrpc": "2.0", "method": method}).encode(), method)
