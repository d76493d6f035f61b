"""An MCP server whose tools, resources and prompts stand in a file that a test may change while it runs; over any transport.

What it offers is read anew from `PLAN` for every request; what it does is written to `LOG`, a line for each thing really done.
Standard library only: run as a program it speaks over standard input and output.

    python planned_server.py PLAN LOG

The plan is JSON: {"tools": [...], "resources": {uri: text}, "templates": [...], "prompts": [...], "revisions": [...], "instructions": "…",
"version": "…", "complete": "never" (which hangs), "capabilities": {...}, "page": N, "holds_resources": true (until the plan is another),
"asks": [methods that want input first], or what they ask by method}. "answers" are results by
the `kind` a call names. See `PlannedServer.call` for the tools that do something; any other
tool it lists echoes its arguments.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

MODERN = "2026-07-28"
LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
META = "io.modelcontextprotocol/"

Message = dict[str, Any]
Tell = Callable[[Message], None]


def tool(name: str, **fields: Any) -> Message:
    return {"name": name, "description": f"The {name} tool.", "inputSchema": {"type": "object"}, **fields}


DEFAULT_TOOLS = [
    tool(name) for name in ("echo", "count", "stall", "fail", "shape", "announce", "steps", "talk", "die", "pid")
]


class Fault(Exception):
    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data


def text(words: str, **more: Any) -> Message:
    return {"content": [{"type": "text", "text": words}], **more}


class PlannedServer:
    def __init__(self, plan: Path, log: Path) -> None:
        self._plan_file = plan
        # How often `ask` and `pages` have asked.
        self._asked = 0
        self._log_file = log

    @property
    def plan(self) -> Message:
        plan: Message = json.loads(self._plan_file.read_text())
        return {"tools": DEFAULT_TOOLS, "resources": {}, "prompts": [], "revisions": LEGACY, **plan}

    def done(self, what: str) -> None:
        with self._log_file.open("a") as file:
            file.write(what + "\n")

    def capabilities(self) -> Message:
        plan = self.plan
        found: Message = {"tools": {"listChanged": True}, "logging": {}, "completions": {}}
        if plan["resources"] or plan.get("templates"):
            found["resources"] = {"subscribe": True, "listChanged": True}
        if plan["prompts"]:
            found["prompts"] = {"listChanged": True}
        return {**found, **plan.get("capabilities", {})}

    async def result(self, method: str, params: Message, tell: Tell, id: Any) -> Message:
        """The answer to one request. Raises Fault."""
        plan = self.plan
        about = {
            "serverInfo": {"name": "server", "version": plan.get("version", "1")},
            "capabilities": self.capabilities(),
        }
        if "instructions" in plan:
            about["instructions"] = plan["instructions"]
        if method in plan.get("asks", ()) and "requestState" not in params:
            asked = plan["asks"]
            first = {"inputRequests": asked[method]} if isinstance(asked, dict) else {}
            return {"resultType": "input_required", "requestState": f"state of {method}", **first}
        match method:
            case "server/discover" if MODERN in plan["revisions"]:
                return {"supportedVersions": plan["revisions"], **about}
            case "initialize":
                offers = [revision for revision in LEGACY if revision in plan["revisions"]]
                wanted = params.get("protocolVersion")
                if not offers:
                    raise Fault(-32022, "Unsupported protocol version", {"supported": plan["revisions"]})
                return {"protocolVersion": wanted if wanted in offers else offers[0], **about}
            case "ping":
                return {}
            case "tools/list" if plan.get("list") == "refuse":
                raise Fault(-32603, "Out of order")
            case "tools/list":
                return self._page("tools", plan["tools"], params)
            case "tools/call":
                return await self.call(params["name"], params.get("arguments") or {}, params, tell)
            case "resources/list":
                while self.plan.get("holds_resources"):
                    await asyncio.sleep(0.005)
                listed = [{"uri": uri, "name": uri.rpartition("/")[2]} for uri in plan["resources"]]
                return self._page("resources", listed, params)
            case "resources/templates/list":
                return {"resourceTemplates": plan.get("templates", [])}
            case "resources/read":
                uri = params["uri"]
                if uri not in plan["resources"]:
                    raise Fault(-32002, f"No such resource: {uri}")
                self.done(f"read {uri}")
                return {"contents": [{"uri": uri, "text": plan["resources"][uri]}]}
            case "resources/subscribe":
                self.done(f"subscribe {params['uri']}")
                return {}
            case "prompts/list":
                return {"prompts": plan["prompts"]}
            case "prompts/get":
                words = json.dumps(params.get("arguments", {}))
                return {
                    "messages": [{"role": "user", "content": {"type": "text", "text": f"{params['name']} {words}"}}]
                }
            case "completion/complete" if plan.get("complete") == "never":
                await asyncio.Event().wait()
            case "completion/complete":
                value = params["argument"]["value"]
                return {"completion": {"values": [f"{value}{end}" for end in ("one", "two")]}}
            case "subscriptions/listen":
                self.done(f"listen {json.dumps(params['notifications'])}")
                note = {"notifications": params["notifications"], "_meta": {META + "subscriptionId": str(id)}}
                tell({"method": "notifications/subscriptions/acknowledged", "params": note})
                if plan.get("hang_up"):
                    return {"_meta": {META + "subscriptionId": str(id)}}
                await asyncio.Event().wait()
        raise Fault(-32601, f"Method not found: {method}")

    def _page(self, key: str, items: list[Any], params: Message) -> Message:
        size = self.plan.get("page", len(items) or 1)
        start = int(params.get("cursor", 0))
        more = {"nextCursor": str(start + size)} if start + size < len(items) else {}
        life = {"ttlMs": self.plan["ttl"]} if "ttl" in self.plan else {}
        return {key: items[start : start + size], **more, **life}

    async def call(self, name: str, arguments: Message, params: Message, tell: Tell) -> Message:
        if name not in {listed["name"] for listed in self.plan["tools"]}:
            raise Fault(-32602, f"Unknown tool: {name}")
        match name:
            case "echo":
                return text(str(arguments.get("text", "")))
            case "count":
                self.done(f"count {arguments.get('key', '')}")
                return text("counted")
            case "stall":
                self.done(f"stall {arguments.get('key', '')}")
                await asyncio.Event().wait()
            case "fail":
                return text("It went wrong.", isError=True)
            case "shape":
                return text("shaped", structuredContent=arguments.get("value"))
            case "announce":
                tell({"method": arguments["method"], "params": arguments.get("params", {})})
                return text("announced")
            case "steps":
                token = params.get("_meta", {}).get("progressToken")
                for step in range(int(arguments["n"])):
                    progress = {
                        "progressToken": token,
                        "progress": step + 1,
                        "total": arguments["n"],
                        "message": "step",
                    }
                    tell({"method": "notifications/progress", "params": progress})
                if arguments.get("stop"):
                    await asyncio.Event().wait()
                return text("stepped")
            case "talk":
                tell({"method": "notifications/message", "params": {"level": "warning", "data": arguments["data"]}})
                return text("talked")
            case "ask":
                again = int(arguments.get("times", 1)) > self._asked
                if again or ("requestState" not in params and "inputResponses" not in params):
                    self._asked += 1
                    wanted = {"inputRequests": arguments["requests"]} if "requests" in arguments else {}
                    return {"resultType": "input_required", "requestState": arguments.get("state", "s"), **wanted}
                self.done("asked")
                if arguments.get("forever"):
                    return {"resultType": "input_required", "requestState": "again"}
                return text(json.dumps({key: params.get(key) for key in ("inputResponses", "requestState")}))
            case "declared":
                return text(json.dumps(params["_meta"][META + "clientCapabilities"]))
            case "pages":
                # Wants pages to be visited first; `told` says by itself that they were.
                if self._asked < int(arguments.get("times", 1)):
                    self._asked += 1
                    pages = arguments["pages"]
                    raise Fault(-32042, "Visit these pages.", {"elicitations": pages})
                return text("visited")
            case "pid":
                return text(str(os.getpid()))
            case "die":
                assert __name__ == "__main__", "only a process of its own may die"
                self.done(f"die {arguments.get('key', '')}")
                os._exit(9)
        if "kind" in arguments:
            return dict(self.plan["answers"][arguments["kind"]])
        if "answer" in arguments:
            return dict(arguments["answer"])
        return text(json.dumps(arguments))


async def respond(server: PlannedServer, message: Message, send: Tell) -> None:
    """Answer one message through `send`."""

    def tell(note: Message) -> None:
        send({"jsonrpc": "2.0", **note})

    try:
        result = await server.result(message["method"], message.get("params") or {}, tell, message["id"])
        send({"jsonrpc": "2.0", "id": message["id"], "result": result})
    except Fault as fault:
        error = {"code": fault.code, "message": str(fault), **({"data": fault.data} if fault.data else {})}
        send({"jsonrpc": "2.0", "id": message["id"], "error": error})


async def lines_of_stdin() -> Callable[[], Awaitable[bytes]]:
    """The next one, empty at the end. On Windows no event loop can wait for a pipe like this one, and so a thread does."""
    if sys.platform == "win32":
        return lambda: asyncio.to_thread(sys.stdin.buffer.readline)
    reader = asyncio.StreamReader(limit=1 << 26)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader.readline


async def over_stdio(server: PlannedServer) -> None:
    next_line = await lines_of_stdin()
    tasks: dict[Any, asyncio.Task[None]] = {}

    def send(message: Message) -> None:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()

    while line := await next_line():
        receive(server, json.loads(line), send, tasks)


def receive(server: PlannedServer, message: Message, send: Tell, tasks: dict[Any, "asyncio.Task[None]"]) -> None:
    """Start on one message of a conversation; `tasks` are the requests under way."""
    if message.get("method") == "notifications/cancelled":
        id = message["params"]["requestId"]
        server.done(f"cancelled {id in tasks}")
        if id in tasks:
            tasks[id].cancel()
    elif message.get("method") == "notifications/roots/list_changed":
        server.done("roots changed")
    elif "id" in message and "method" in message:
        task = asyncio.ensure_future(respond(server, message, send))
        tasks[message["id"]] = task
        task.add_done_callback(lambda _: tasks.pop(message["id"], None))


Serve = Callable[[Any], Awaitable[None]]

if __name__ == "__main__":
    asyncio.run(over_stdio(PlannedServer(Path(sys.argv[1]), Path(sys.argv[2]))))
