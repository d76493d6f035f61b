"""Stands in for the npm package @modelcontextprotocol/server-filesystem where there is no npm: two of its tools, under their names.

    python files_server.py DIRECTORY

The pages that name the package are also run against the package itself (make test-real).
"""

import json
import sys
from pathlib import Path
from typing import Any

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [
    {"name": "read_text_file", "description": "Read the complete contents of a file as text.", "inputSchema": PATH},
    {"name": "list_directory", "description": "List all files and directories in a path.", "inputSchema": PATH},
]


def call(name: str, path: Path) -> str:
    allowed = Path(sys.argv[1]).resolve()
    if not path.resolve().is_relative_to(allowed):
        raise ValueError(f"Access denied - path outside allowed directories: {path} not in {allowed}")
    if name == "read_text_file":
        return path.read_text(encoding="utf-8")
    return "\n".join(f"[{'DIR' if entry.is_dir() else 'FILE'}] {entry.name}" for entry in sorted(path.iterdir()))


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "secure-filesystem-server", "version": "0.2.0"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        try:
            text, failed = call(params["name"], Path(params["arguments"]["path"])), False
        except (OSError, ValueError) as error:
            text, failed = str(error), True
        content = [{"type": "text", "text": text}]
        return (
            {"content": content, "isError": True}
            if failed
            else {"content": content, "structuredContent": {"content": text}}
        )
    if method == "ping":
        return {}
    raise LookupError(f"Method not found: {method}")


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        reply["result"] = answer(message["method"], message.get("params") or {})
    except LookupError as error:
        reply["error"] = {"code": -32601, "message": str(error)}
    print(json.dumps(reply), flush=True)
