"""The smallest useful MCP server: one tool over standard input and output, standard library only."""

import json
import sys
from datetime import UTC, datetime

TOOL = {
    "name": "now",
    "description": "The time in UTC.",
    "inputSchema": {"type": "object", "properties": {"format": {"type": "string"}}},
}


def result(method: str, params: dict) -> dict | None:
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "clock", "version": "1"},
            }
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            text = datetime.now(UTC).strftime(params["arguments"].get("format", "%H:%M:%S"))
            return {"content": [{"type": "text", "text": text}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        answer = result(message["method"], message.get("params", {}))
        body = {"error": {"code": -32601, "message": "Method not found"}} if answer is None else {"result": answer}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)
