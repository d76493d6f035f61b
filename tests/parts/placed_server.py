"""A small MCP server that says which process it is and writes down what it does: for tests of where a server runs, and how often.

    python placed_server.py JOURNAL [--modern]

A line in the journal for each start (`start PID`), each call of `note` (`note WORDS`) and of `wait` (`wait WORDS`). Its tools: `who`
answers with its process id; `note`; `wait` tells its progress and answers when the file `RELEASE` in the folder of the journal exists;
`grow` adds a tool and says so; `crash` ends the process. It has a resource, `memo://all`, and a prompt, `greet`.
"""

import argparse
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

LOCK = threading.Lock()
RELEASE = "release"
TOOLS = ["who", "note", "wait", "grow", "crash"]


def write(message: dict[str, Any]) -> None:
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def text(words: str) -> dict[str, Any]:
    return {"resultType": "complete", "content": [{"type": "text", "text": words}]}


class PlacedServer:
    def __init__(self, journal: Path, *, modern: bool) -> None:
        self._journal = journal
        self._modern = modern
        self._tools = list(TOOLS)
        self._note(f"start {os.getpid()}")

    def _note(self, line: str) -> None:
        with open(self._journal, "a") as journal:
            journal.write(line + "\n")

    def run(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "id" in message and "method" in message:
                self._answer(message["id"], message["method"], message.get("params") or {})

    def _answer(self, id: int, method: str, params: dict[str, Any]) -> None:
        told = self._told()
        known = {"protocolVersion": "2025-11-25", **told}
        match method:
            case "server/discover" if self._modern:
                write({"id": id, "result": {"supportedVersions": ["2026-07-28"], "resultType": "complete", **told}})
            case "initialize" if not self._modern:
                write({"id": id, "result": known})
            case "ping":
                write({"id": id, "result": {}})
            case "tools/list":
                schema = {"type": "object", "properties": {"words": {"type": "string"}}}
                tools = [{"name": name, "description": name, "inputSchema": schema} for name in self._tools]
                write({"id": id, "result": {"tools": tools, "resultType": "complete"}})
            case "tools/call":
                self._call(id, params["name"], params.get("arguments", {}).get("words", ""), params.get("_meta", {}))
            case "resources/list":
                one = {"uri": "memo://all", "name": "all"}
                write({"id": id, "result": {"resources": [one], "resultType": "complete"}})
            case "resources/read":
                one = {"uri": params["uri"], "mimeType": "text/plain", "text": f"memo of {os.getpid()}"}
                write({"id": id, "result": {"contents": [one], "resultType": "complete"}})
            case "prompts/list":
                write({"id": id, "result": {"prompts": [{"name": "greet"}], "resultType": "complete"}})
            case "prompts/get":
                said = {"role": "user", "content": {"type": "text", "text": f"Greet {os.getpid()}."}}
                write({"id": id, "result": {"messages": [said], "resultType": "complete"}})
            case _:
                write({"id": id, "error": {"code": -32601, "message": f"no {method}"}})

    def _told(self) -> dict[str, Any]:
        offered = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}}
        return {"capabilities": offered, "serverInfo": {"name": "placed", "version": "1"}}

    def _call(self, id: int, name: str, words: str, meta: dict[str, Any]) -> None:
        match name:
            case "who":
                write({"id": id, "result": text(str(os.getpid()))})
            case "note":
                self._note(f"note {words}")
                write({"id": id, "result": text(f"noted {words}")})
            case "wait":
                self._note(f"wait {words}")
                threading.Thread(target=self._wait, args=(id, words, meta.get("progressToken")), daemon=True).start()
            case "grow":
                self._tools.append(f"grown{len(self._tools)}")
                write({"method": "notifications/tools/list_changed"})
                write({"id": id, "result": text("grown")})
            case "crash":
                os._exit(3)
            case _:
                write({"id": id, "error": {"code": -32602, "message": f"Unknown tool: {name}"}})

    def _wait(self, id: int, words: str, token: int | None) -> None:
        if token is not None:
            told = {"progressToken": token, "progress": 1, "total": 2, "message": f"half of {words}"}
            write({"method": "notifications/progress", "params": told})
        while not (self._journal.parent / RELEASE).exists():
            time.sleep(0.02)
        write({"id": id, "result": text(f"waited {words}")})


def lines_of(journal: Path) -> list[str]:
    return journal.read_text().splitlines() if journal.exists() else []


def starts(journal: Path) -> list[int]:
    """The process ids of all starts."""
    return [int(line.removeprefix("start ")) for line in lines_of(journal) if line.startswith("start ")]


def entry(journal: Path, *options: str, **more: Any) -> dict[str, Any]:
    """Of a config."""
    return {"command": sys.executable, "args": [__file__, str(journal), *options], **more}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("journal", type=Path)
    parser.add_argument("--modern", action="store_true")
    given = parser.parse_args()
    PlacedServer(given.journal, modern=given.modern).run()
