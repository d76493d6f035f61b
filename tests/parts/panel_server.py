"""A server with a panel (MCP Apps) over standard input and output. Standard library only.

    python panel_server.py [FILE]

`FILE` is the HTML of its panel; without it a few words are. Its tools: `show` has the panel and structured content, `secret_part` is for
panels alone, `model_part` is for models alone, `plain` says nothing of who may call it. `heard` answers with what the client declared.
"""

import json
import sys
from pathlib import Path
from typing import Any

URI = "ui://part/panel"
ANY = {"type": "object"}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS: list[dict[str, Any]] = [
    {"name": "show", "description": "Show.", "inputSchema": TEXT, "_meta": {"ui": {"resourceUri": URI}}},
    {"name": "old_show", "description": "Show.", "inputSchema": ANY, "_meta": {"ui/resourceUri": URI}},
    {"name": "secret_part", "inputSchema": TEXT, "_meta": {"ui": {"visibility": ["app"]}}},
    {"name": "model_part", "inputSchema": ANY, "_meta": {"ui": {"visibility": ["model"]}}},
    {"name": "plain", "inputSchema": TEXT},
    {"name": "heard", "inputSchema": ANY},
]
META = {
    "ui": {
        "csp": {
            "connectDomains": ["https://api.example.com", "http://127.0.0.1:1", "wss://live.example.com"],
            "resourceDomains": ["https://*.example.org", "https://x.example; script-src *"],
        },
        "permissions": {"camera": {}},
    }
}
declared: dict[str, Any] = {}


def called(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "heard":
        return {"content": [{"type": "text", "text": json.dumps(declared)}]}
    text = str(arguments.get("text", ""))
    content = [{"type": "text", "text": f"{name}: {text}"}]
    return {
        "content": content,
        "structuredContent": {"tool": name, "text": text},
        "_meta": {"part/only": "for the panel"},
    }


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        declared.update(params["capabilities"])
        able: dict[str, Any] = {"tools": {}, "resources": {}}
        return {"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": {"name": "part", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return called(params["name"], params.get("arguments") or {})
    if method == "resources/list":
        return {"resources": [{"uri": URI, "name": "panel"}]}
    if method == "resources/templates/list":
        return {"resourceTemplates": []}
    if method == "resources/read" and params["uri"] == URI:
        html = Path(sys.argv[1]).read_text(encoding="utf-8") if len(sys.argv) > 1 else "<p>The panel</p>"
        held = {"uri": URI, "mimeType": "text/html;profile=mcp-app", "text": html, "_meta": META}
        return {"contents": [held]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": "read"}]}
    if method == "ping":
        return {}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params") or {})
        outcome = {"error": {"code": -32601, "message": "no"}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}), flush=True)
