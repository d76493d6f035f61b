"""A real MCP server over standard input and output, well-behaved or not as its arguments say. Standard library only: it starts in
about 20 ms.

    python stdio_server.py [--revisions 2025-11-25,2026-07-28] [--probe error|silent|exit|unsupported] [--start-after SECONDS]
                           [--stubborn] [--stderr-lines N] [--noise TEXT] [--log FILE] [--journal FILE] [--initialize answer|silent|refuse]
                           [--reading NAME,NAME]

`--revisions` lists what it speaks, any of the five. `--probe` says what becomes of `server/discover` when no modern revision is
among them. `--stubborn` ignores the end of its input and SIGTERM. `--stderr-lines` writes N lines to standard error first, `--noise`
a line to standard output that is no message. `--log` appends the method of every message it reads to a file, `--journal` the
text of every `echo` it carries out, before it answers. Of the tools named by `--reading` it says that they only read.

Its tools misbehave on command: see TOOLS. Each call's arguments say how.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time

# As typing has it: to import that would make every start of this program slower.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MODERN = "2026-07-28"
LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]

TOOLS = {
    "echo": "Answers with its `text`.",
    "slow": "Answers after `seconds`; tells its progress every `every` seconds.",
    "hang": "Never answers.",
    "crash": "Exits with `code`, or by signal -`code`, without an answer.",
    "huge": "Answers with `bytes` characters; `id_last` writes the id at the end of the line.",
    "endless": "Writes a line of `bytes` that is no JSON, then answers.",
    "flood": "Writes `count` lines to `stream` (stderr, notifications, noise), then answers.",
    "lie": "Answers in the way named by `how`; see LIES.",
    "environment": "Answers with its environment, working directory and arguments, as JSON.",
    "descend": "Starts a descendant that sleeps, in the way named by `how` (child, setsid, chain, bare), and answers with its pid.",
    "deaf": "Answers, and reads nothing more.",
    "ask": "Sends the request `method` to the client and answers with what came back, with `keep` that something did, `hurry` at once.",
    "batch": "Answers in a batch together with a notification.",
    "open": "Opens /dev/stdout by name and answers through that.",
    "trickle": "Answers a byte at a time, `pause` seconds apart.",
    "log": "Answers with the methods received so far.",
    "restarted": "Closes standard output but goes on running.",
}

SLEEPER = "import time; time.sleep(600)"


def write_raw(data: bytes) -> None:
    with LOCK:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def write(message: object) -> None:
    write_raw(json.dumps(message).encode() + b"\n")


def text(value: str) -> dict[str, Any]:
    return {"resultType": "complete", "content": [{"type": "text", "text": value}]}


def answer(id: object, result: object) -> None:
    write({"jsonrpc": "2.0", "id": id, "result": result})


def fail(id: object, code: int, message: str, data: object = None) -> None:
    write({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, "data": data}})


def notify(method: str, params: dict[str, Any]) -> None:
    write({"jsonrpc": "2.0", "method": method, "params": params})


def answer_twice(id: int) -> None:
    answer(id, text("first"))
    answer(id, text("second"))


def answer_nobody_first(id: int) -> None:
    answer(id + 1000, text("to nobody"))
    answer(id, text("to you"))


def answer_without_a_newline(id: int) -> None:
    write_raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}' % id)
    os._exit(0)


LIES: dict[str, Callable[[int], None]] = {
    "twice": answer_twice,
    "stranger": answer_nobody_first,
    "float-id": lambda id: write_raw(b'{"id":%d.0,"jsonrpc":"2.0","result":{"content":[]}}\n' % id),
    "nan": lambda id: write_raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"x":NaN}}\n' % id),
    "surrogate": lambda id: write_raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"x":"\\ud800"}}\n' % id),
    "latin-1": lambda id: write_raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"x":"caf\xe9"}}\n' % id),
    "deep": lambda id: write_raw(b'{"jsonrpc":"2.0","id":%d,"result":%s%s}\n' % (id, b"[" * 100000, b"]" * 100000)),
    "truncated": lambda id: write_raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"te\n' % id),
    "neither": lambda id: write({"jsonrpc": "2.0", "id": id}),
    "both": lambda id: write({"jsonrpc": "2.0", "id": id, "result": {}, "error": {"code": 1, "message": "both"}}),
    "odd-error": lambda id: write({"jsonrpc": "2.0", "id": id, "error": "just text"}),
    "carriage-return": lambda id: write_raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}\r\n\r\n\n' % id),
    "no-newline": answer_without_a_newline,
}


def call(id: int, name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> None:
    if name == "echo":
        if JOURNAL:
            os.write(JOURNAL[0], arguments["text"].encode() + b"\n")
        answer(id, text(arguments.get("text", "")))
    elif name == "slow":
        threading.Thread(target=be_slow, args=(id, arguments, meta), daemon=True).start()
    elif name == "hang":
        return
    elif name == "crash":
        crash(arguments.get("code", 1))
    elif name == "huge":
        body = b'"result":{"content":[{"type":"text","text":"%s"}]}' % (b"x" * arguments["bytes"])
        parts = (b'"jsonrpc":"2.0","id":%d' % id, body)
        write_raw(b"{%s,%s}\n" % (parts[::-1] if arguments.get("id_last") else parts))
    elif name == "endless":
        for _ in range(arguments["bytes"] // (1 << 20)):
            write_raw(b"x" * (1 << 20))
        write_raw(b"\n")
        answer(id, text("still here"))
    elif name == "flood":
        flood(arguments["stream"], arguments["count"])
        answer(id, text("flooded"))
    elif name == "lie":
        LIES[arguments["how"]](id)
    elif name == "environment":
        answer(id, text(json.dumps({"env": dict(os.environ), "cwd": os.getcwd(), "argv": sys.argv})))
    elif name == "descend":
        answer(id, text(str(descend(arguments["how"]))))
    elif name == "deaf":
        answer(id, text("deaf now"))
        while True:
            time.sleep(600)
    elif name == "ask":
        ask(id, arguments)
    elif name == "batch":
        told = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "in a batch"}}
        write([told, {"jsonrpc": "2.0", "id": id, "result": text("in a batch")}])
    elif name == "open":
        with open("/dev/stdout", "wb", buffering=0) as file:
            file.write(json.dumps({"jsonrpc": "2.0", "id": id, "result": text("by name")}).encode() + b"\n")
    elif name == "trickle":
        for byte in json.dumps({"jsonrpc": "2.0", "id": id, "result": text("slowly")}).encode() + b"\n":
            write_raw(bytes([byte]))
            time.sleep(arguments["pause"])
    elif name == "log":
        answer(id, text(json.dumps(HEARD)))
    elif name == "restarted":
        os.close(1)
        time.sleep(600)
    else:
        fail(id, -32602, f"Unknown tool: {name}")


def be_slow(id: int, arguments: dict[str, Any], meta: dict[str, Any]) -> None:
    end = time.monotonic() + arguments["seconds"]
    every = arguments.get("every")
    count = 0
    while (left := end - time.monotonic()) > 0 and id not in CANCELLED:
        time.sleep(min(left, every or left, 0.02 if every is None else every))
        if every and "progressToken" in meta:
            count += 1
            notify("notifications/progress", {"progressToken": meta["progressToken"], "progress": count})
    if id not in CANCELLED:
        answer(id, text("slowly"))


def crash(code: int) -> None:
    if code < 0:
        os.kill(os.getpid(), -code)
        time.sleep(600)
    os._exit(code)


def flood(stream: str, count: int) -> None:
    if stream == "stderr":
        for number in range(count):
            sys.stderr.write(f"line {number}\n")
        sys.stderr.flush()
    elif stream == "notifications":
        for number in range(count):
            notify("notifications/message", {"level": "info", "data": number})
    else:
        for number in range(count):
            write_raw(b"this is not JSON %d\n" % number)


def descend(how: str) -> int:
    """A process that outlives us if nobody ends it: a child, one in its own session, the end of a chain, one without our environment."""
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if how == "setsid":
        options["start_new_session"] = True
    if how == "bare":
        options["env"] = {}
    if how == "chain":
        # As npx does: a shell that runs a program that runs another.
        inner = (
            "import subprocess, sys; "
            f"process = subprocess.Popen([sys.executable, '-c', {SLEEPER!r}], start_new_session=True); "
            "print(process.pid, flush=True); process.wait()"
        )
        options["stdout"] = subprocess.PIPE
        process = subprocess.Popen(["/bin/sh", "-c", '"$0" -c "$1"; true', sys.executable, inner], **options)
        assert process.stdout is not None
        return int(process.stdout.readline())
    return subprocess.Popen([sys.executable, "-c", SLEEPER], **options).pid


def ask(id: int, arguments: dict[str, Any]) -> None:
    number = f"ask-{id}"
    ASKED[number] = id
    if arguments.get("keep"):
        KEPT.add(number)
    write({"jsonrpc": "2.0", "id": number, "method": arguments["method"], "params": arguments.get("params", {})})
    if arguments.get("hurry"):
        answer(ASKED.pop(number), text("hurried"))


def receive(message: dict[str, Any], options: argparse.Namespace) -> None:
    method, params = message.get("method"), message.get("params") or {}
    id: Any = message.get("id")
    HEARD.append(method or "(answer)")
    if options.log:
        with open(options.log, "a") as file:
            file.write(f"{method}\n")
    if method is None:
        came = "kept" if id in KEPT else json.dumps({k: message[k] for k in ("result", "error") if k in message})
        if id in ASKED:
            answer(ASKED.pop(id), text(came))
    elif method == "server/discover":
        discover(id, params, options)
    elif method == "initialize":
        initialize(id, params, options)
    elif method == "notifications/cancelled":
        CANCELLED.add(params.get("requestId"))
    elif id is None:
        return
    elif method == "tools/list":
        schema = {"type": "object", "properties": {}}
        tools = [{"name": n, "description": d, "inputSchema": schema} for n, d in TOOLS.items()]
        for tool in tools:
            if tool["name"] in options.reading:
                tool["annotations"] = {"readOnlyHint": True}
        answer(id, {"resultType": "complete", "tools": tools})
    elif method == "tools/call":
        call(id, params["name"], params.get("arguments") or {}, params.get("_meta") or {})
    elif method == "ping":
        answer(id, {})
    else:
        fail(id, -32601, f"Method not found: {method}")


def discover(id: int, params: dict[str, Any], options: argparse.Namespace) -> None:
    wanted = params.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion")
    if MODERN in options.revisions:
        if wanted != MODERN:
            fail(id, -32022, "Unsupported protocol version", {"supported": options.revisions, "requested": wanted})
        else:
            info = {"serverInfo": {"name": "part", "version": "1"}, "capabilities": {"tools": {}}}
            answer(id, {"resultType": "complete", "supportedVersions": options.revisions, **info})
    elif options.probe == "exit":
        sys.exit(3)
    elif options.probe == "error":
        fail(id, -32601, "Method not found")
    elif options.probe == "unsupported":
        fail(id, -32022, "Unsupported protocol version", {"supported": options.revisions, "requested": wanted})


def initialize(id: int, params: dict[str, Any], options: argparse.Namespace) -> None:
    offers = [version for version in LEGACY if version in options.revisions]
    if options.initialize == "silent":
        return
    if options.initialize == "refuse" or not offers:
        fail(id, -32022, "Unsupported protocol version", {"supported": options.revisions})
        return
    wanted = params.get("protocolVersion")
    version = wanted if wanted in offers else offers[0]
    info = {"serverInfo": {"name": "part", "version": "1"}, "capabilities": {"tools": {"listChanged": True}}}
    answer(id, {"protocolVersion": version, "instructions": "Be kind.", **info})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--revisions", type=lambda text: text.split(","), default=["2025-11-25"])
    parser.add_argument("--probe", default="error", choices=["error", "silent", "exit", "unsupported"])
    parser.add_argument("--initialize", default="answer", choices=["answer", "silent", "refuse"])
    parser.add_argument("--start-after", type=float, default=0.0)
    parser.add_argument("--stubborn", action="store_true")
    parser.add_argument("--stderr-lines", type=int, default=0)
    parser.add_argument("--noise", default="")
    parser.add_argument("--log", default="")
    parser.add_argument("--journal", default="")
    parser.add_argument("--reading", type=lambda text: text.split(","), default=[])
    options = parser.parse_args()
    if options.journal:
        JOURNAL.append(os.open(options.journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    if options.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for number in range(options.stderr_lines):
        print(f"line {number}", file=sys.stderr)
    if options.noise:
        write_raw(options.noise.encode() + b"\n")
    time.sleep(options.start_after)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        for each in message if isinstance(message, list) else [message]:
            receive(each, options)
    while options.stubborn:
        time.sleep(600)


LOCK = threading.Lock()
CANCELLED: set[int | None] = set()
ASKED: dict[str, int] = {}
# Questions whose answers are not repeated.
KEPT: set[Any] = set()
HEARD: list[str] = []
JOURNAL: list[int] = []

if __name__ == "__main__":
    main()
