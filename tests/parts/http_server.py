"""A real MCP server over HTTP for tests: all five revisions, Streamable HTTP at /mcp and HTTP+SSE at /sse, and misbehaviour on command.

    async with HttpServer(Plan(answers="sse")) as server:
        server.fault("tools/call", status(429, {"Retry-After": "0"}))   # the next such message, once
        ... use server.url, then look at server.seen and server.called

`http_faults.py` has the faults; `plan` may be changed at any time.
Tools: echo, wait (until `server.gate` is set), count (progress), big, fail, ask (pings the client).
"""

import asyncio
import itertools
import json
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from aiohttp import web

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
KEPT_STREAMS = 200
# Turns of the loop from the system's taking a connection to ours.
ACCEPT_ROUNDS = 50
TOOLS = [
    {"name": name, "description": f"The {name} tool", "inputSchema": {"type": "object"}}
    for name in ("echo", "wait", "count", "big", "fail", "ask")
]

Message = dict[str, Any]
Fault = Callable[["HttpServer", web.Request, Message], Awaitable[web.StreamResponse | None]]


@dataclass
class Plan:
    revisions: tuple[str, ...] = REVISIONS
    answers: Literal["json", "sse"] = "json"
    sessions: bool = True
    # False: GET is answered with 405.
    get_stream: bool = True
    event_ids: bool = True
    # Milliseconds, sent at the head of every event stream.
    retry: int | None = None
    # Bytes of an event stream are written this many at a time; 0 writes whole events.
    dribble: int = 0
    # The status for a session id that is not known.
    unknown_session: int = 404
    # False keeps an event stream open after its answer.
    end_streams: bool = True
    # A connection is cut after this many events of the next stream, then the plan is back to normal.
    cut_after: int | None = None
    cut_hard: bool = True


@dataclass(frozen=True)
class Seen:
    """One HTTP request as it came."""

    verb: str
    path: str
    headers: dict[str, str]
    message: Message = field(default_factory=dict)

    @property
    def method(self) -> str:
        return str(self.message.get("method", ""))


class Stream:
    """Events of one logical stream, kept so that it can be resumed."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.events: list[str] = []
        self.finished = False
        self.changed = asyncio.Event()

    def add(self, message: Message) -> None:
        self.events.append(json.dumps(message, ensure_ascii=False))
        self.changed.set()

    def finish(self) -> None:
        self.finished = True
        self.changed.set()

    async def after(self, position: int) -> AsyncIterator[tuple[int, str]]:
        while True:
            while position < len(self.events):
                yield position, self.events[position]
                position += 1
            if self.finished:
                return
            self.changed.clear()
            await self.changed.wait()


async def _cut_off(server: web.Server | None) -> None:
    """Reset every connection, also those that were taken but not yet handed over: they come in the next rounds of the loop, and would
    never be closed."""
    for _ in range(ACCEPT_ROUNDS):
        await asyncio.sleep(0)
        for connection in list(server.connections if server else ()):
            if connection.transport is not None:
                connection.transport.abort()


class HttpServer:
    def __init__(self, plan: Plan | None = None, *, tls: ssl.SSLContext | None = None) -> None:
        self.plan = plan or Plan()
        self.gate = asyncio.Event()
        # Every HTTP request, every tool that was really run, every exchange the client walked away from.
        self.seen: list[Seen] = []
        self.called: list[tuple[str, dict[str, Any]]] = []
        self.abandoned: list[int] = []
        self.answers: list[Message] = []
        self.sessions: set[str] = set()
        self.port = 0
        self._tls = tls
        self._changed = asyncio.Condition()
        self._faults: dict[str, deque[Fault]] = {}
        self._streams: dict[int, Stream] = {}
        self._shared: Stream | None = None
        self._legacy: dict[str, Stream] = {}
        self._numbers = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._runner: web.AppRunner | None = None

    # Life

    async def __aenter__(self) -> "HttpServer":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen; again on the same port when it listened before, having forgotten everything a restarted server forgets."""
        self.sessions.clear()
        self._streams.clear()
        self._shared = None
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/mcp", self._mcp)
        app.router.add_route("*", "/sse", self._sse)
        app.router.add_route("POST", "/messages", self._messages)
        app.router.add_route("*", "/{rest:.*}", self._other)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.01, keepalive_timeout=30)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self._tls, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._runner is not None:
            for site in list(self._runner.sites):
                await site.stop()
            server = self._runner.server
            await _cut_off(server)
            await self._runner.cleanup()
            await _cut_off(server)
            self._runner = None

    @property
    def origin(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return self.origin + "/mcp"

    @property
    def sse_url(self) -> str:
        return self.origin + "/sse"

    # For tests

    def fault(self, method: str, *faults: Fault) -> None:
        """What happens instead of an answer to the next messages of this method (`GET` and `DELETE` name the verbs)."""
        self._faults.setdefault(method, deque()).extend(faults)

    def announce(self, message: Message) -> None:
        """Say something unasked, on the shared stream and to every HTTP+SSE client."""
        for stream in [*([self._shared] if self._shared else []), *self._legacy.values()]:
            stream.add(message)

    def methods(self) -> list[str]:
        """The JSON-RPC methods that came, in order; a bare verb for requests without a message."""
        return [seen.method or seen.verb for seen in self.seen]

    def forget(self) -> None:
        """Drop the records of what came, in tests that run for long. The last streams are kept: somebody may resume them."""
        self.seen.clear()
        for number in sorted(self._streams)[:-KEPT_STREAMS]:
            del self._streams[number]
        self.called.clear()
        self.abandoned.clear()
        self.answers.clear()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something the server saw makes `condition` true."""
        async with self._changed:
            await self._changed.wait_for(condition)

    async def noted(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    # Streamable HTTP

    async def _mcp(self, request: web.Request) -> web.StreamResponse:
        message: Message = await request.json() if request.method == "POST" else {}
        self.seen.append(Seen(request.method, request.path_qs, dict(request.headers), message))
        await self.noted()
        name = str(message.get("method", "")) or request.method
        if faults := self._faults.get(name):
            response = await faults.popleft()(self, request, message)
            if response is not None:
                return response
        version = request.headers.get("MCP-Protocol-Version", "")
        if version >= MODERN:
            return await self._modern(request, message, version)
        session = request.headers.get("Mcp-Session-Id")
        if name != "initialize" and self.plan.sessions and session not in self.sessions:
            return self._unknown_session()
        if request.method == "GET":
            return await self._get(request)
        if request.method == "DELETE":
            self.sessions.discard(session or "")
            return web.Response(status=204)
        if "id" not in message or "method" not in message:
            if "result" in message or "error" in message:
                self.answers.append(message)
                await self.noted()
            return web.Response(status=202)
        headers = {}
        if name == "initialize" and self.plan.sessions:
            headers["Mcp-Session-Id"] = f"session-{next(self._numbers)}"
            self.sessions.add(headers["Mcp-Session-Id"])
        return await self._answer(request, message, headers)

    def _unknown_session(self) -> web.Response:
        error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
        return web.json_response({"jsonrpc": "2.0", "error": error, "id": None}, status=self.plan.unknown_session)

    async def _modern(self, request: web.Request, message: Message, version: str) -> web.StreamResponse:
        def refuse(code: int, text: str, status: int = 400, data: Any = None) -> web.Response:
            error = {"code": code, "message": text, **({"data": data} if data else {})}
            return web.json_response({"jsonrpc": "2.0", "id": message.get("id"), "error": error}, status=status)

        if request.method != "POST":
            return web.Response(status=405)
        if MODERN not in self.plan.revisions:
            return self._unknown_session() if self.plan.sessions else refuse(-32600, "Unknown protocol version")
        meta = message.get("params", {}).get("_meta", {})
        if version not in self.plan.revisions:
            return refuse(-32022, "Unsupported protocol version", data={"supported": list(self.plan.revisions)})
        if request.headers.get("Mcp-Method") != message.get("method") or meta.get(META + "protocolVersion") != version:
            return refuse(-32020, "Headers and body disagree")
        if "id" not in message:
            return web.Response(status=202)
        return await self._answer(request, message, {})

    async def _answer(self, request: web.Request, message: Message, headers: dict[str, str]) -> web.StreamResponse:
        stream = Stream(next(self._numbers))
        self._streams[stream.number] = stream
        if self.plan.answers == "sse" or message["method"] == "subscriptions/listen":
            task = asyncio.create_task(self._work(message, stream))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return await self._pump(request, stream, 0, headers, message["id"])
        try:
            await self._work(message, stream)
        except asyncio.CancelledError:
            self.abandoned.append(message["id"])
            await self.noted()
            raise
        answer = json.loads(stream.events[-1])
        status = 404 if answer.get("error", {}).get("code") == -32601 else 200
        return web.json_response(answer, headers=headers, status=status)

    async def _get(self, request: web.Request) -> web.StreamResponse:
        if not self.plan.get_stream:
            return web.Response(status=405)
        last = request.headers.get("Last-Event-ID", "")
        number, _, position = last.partition("-")
        if number.isdigit() and int(number) in self._streams:
            return await self._pump(request, self._streams[int(number)], int(position) + 1, {}, None)
        if self._shared is None:
            self._shared = Stream(next(self._numbers))
            self._streams[self._shared.number] = self._shared
        return await self._pump(request, self._shared, 0, {}, None)

    async def _pump(
        self, request: web.Request, stream: Stream, start: int, headers: dict[str, str], id: int | None
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={**headers, "Content-Type": "text/event-stream"})
        await response.prepare(request)
        cut, self.plan.cut_after = self.plan.cut_after, None
        try:
            if self.plan.retry is not None:
                await response.write(b"retry: %d\n\n" % self.plan.retry)
            if self.plan.event_ids and start == 0:
                await response.write(b"id: %d--1\ndata:\n\n" % stream.number)
            written = 0
            if cut != 0:
                async for position, data in stream.after(start):
                    name = f"id: {stream.number}-{position}\n" if self.plan.event_ids else ""
                    await self._write(response, f"{name}event: message\ndata: {data}\n\n".encode())
                    written += 1
                    if cut is not None and written >= cut:
                        break
            if cut is not None and self.plan.cut_hard and request.transport is not None:
                request.transport.abort()
            elif cut is None and not self.plan.end_streams:
                await asyncio.Event().wait()
        except (asyncio.CancelledError, ConnectionResetError):
            if id is not None:
                self.abandoned.append(id)
                await self.noted()
            raise
        return response

    async def _write(self, response: web.StreamResponse, data: bytes) -> None:
        step = self.plan.dribble or len(data)
        for start in range(0, len(data), step):
            await response.write(data[start : start + step])

    # HTTP+SSE

    async def _sse(self, request: web.Request) -> web.StreamResponse:
        if request.method != "GET":
            return web.Response(status=405)
        self.seen.append(Seen(request.method, request.path_qs, dict(request.headers)))
        await self.noted()
        if faults := self._faults.get("GET"):
            response = await faults.popleft()(self, request, {})
            if response is not None:
                return response
        key = str(next(self._numbers))
        stream = self._legacy[key] = Stream(int(key))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            await self._write(response, f"event: endpoint\ndata: /messages?session={key}\n\n".encode())
            async for _, data in stream.after(0):
                await self._write(response, f"event: message\ndata: {data}\n\n".encode())
        finally:
            self._legacy.pop(key, None)
        return response

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        message: Message = await request.json()
        self.seen.append(Seen(request.method, request.path_qs, dict(request.headers), message))
        await self.noted()
        if faults := self._faults.get(str(message.get("method", ""))):
            response = await faults.popleft()(self, request, message)
            if response is not None:
                return response
        stream = self._legacy.get(request.query.get("session", ""))
        if stream is None:
            return web.Response(status=404)
        if "id" in message and "method" in message:
            task = asyncio.create_task(self._work(message, stream))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif "result" in message or "error" in message:
            self.answers.append(message)
            await self.noted()
        return web.Response(status=202, text="Accepted")

    def end_legacy_streams(self) -> None:
        for stream in self._legacy.values():
            stream.finish()

    async def _other(self, request: web.Request) -> web.StreamResponse:
        """Anywhere else: a plain echo of what came, for tests of the HTTP client."""
        body = await request.read()
        self.seen.append(Seen(request.method, request.path_qs, dict(request.headers)))
        await self.noted()
        if faults := self._faults.get(request.path):
            response = await faults.popleft()(self, request, {})
            if response is not None:
                return response
        return web.Response(body=body or request.path.encode(), headers={"X-Method": request.method})

    # MCP itself

    async def _work(self, message: Message, stream: Stream) -> None:
        """Answer one request into its stream."""
        answer: Message = {"jsonrpc": "2.0", "id": message["id"]}
        result = await self._result(message["method"], message.get("params", {}), stream, message["id"])
        if result is None:
            answer["error"] = {"code": -32601, "message": f"Method not found: {message['method']}"}
        else:
            answer["result"] = result
        stream.add(answer)
        if stream.number not in (int(key) for key in self._legacy):
            stream.finish()

    async def _result(self, method: str, params: Message, stream: Stream, id: int) -> Message | None:
        info = {"name": "http-parts", "version": "1"}
        capabilities = {"tools": {"listChanged": True}}
        match method:
            case "initialize":
                legacy = [revision for revision in self.plan.revisions if revision < MODERN]
                wanted = params.get("protocolVersion")
                chosen = wanted if wanted in legacy else legacy[-1]
                return {"protocolVersion": chosen, "capabilities": capabilities, "serverInfo": info}
            case "server/discover":
                return {
                    "supportedVersions": list(self.plan.revisions),
                    "capabilities": capabilities,
                    "serverInfo": info,
                }
            case "ping":
                return {}
            case "tools/list":
                return {"tools": TOOLS}
            case "tools/call":
                return await self._call(str(params.get("name")), params.get("arguments", {}), params, stream)
            case "subscriptions/listen":
                note = {"notifications": params.get("notifications", {}), "_meta": {META + "subscriptionId": str(id)}}
                acknowledged = "notifications/subscriptions/acknowledged"
                stream.add({"jsonrpc": "2.0", "method": acknowledged, "params": note})
                self._shared = stream
                await asyncio.Event().wait()
        return None

    async def _call(self, tool: str, arguments: Message, params: Message, stream: Stream) -> Message:
        self.called.append((tool, arguments))
        await self.noted()
        text = tool
        match tool:
            case "echo":
                text = str(arguments.get("text", ""))
            case "wait":
                await self.gate.wait()
            case "count":
                token = params.get("_meta", {}).get("progressToken")
                for step in range(int(arguments["n"])):
                    progress = {"progressToken": token, "progress": step + 1}
                    stream.add({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
            case "big":
                text = "x" * int(arguments["size"])
            case "ask":
                stream.add({"jsonrpc": "2.0", "id": "from-server", "method": "ping"})
        return {"content": [{"type": "text", "text": text}], "isError": tool == "fail"}
