"""The least an MCP server has to do: say who it is, list its tools, call them; and the stdio transport, which is one message a line.

On the standard library alone, and independent of the engine it is shown with. Its tools take texts and return a text. What it serves is in
notes_server.py and press_server.py over stdio, and in calendar_server.py over HTTP.
"""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

# The revisions this server can speak: the messages it uses are the same in all of them.
REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
_METHOD_NOT_FOUND = -32601

# A tool's name and its arguments in, the text of its result out. Raises OSError or ValueError when the tool fails.
Call = Callable[[str, Mapping[str, Any]], str]


def tool(name: str, description: str, /, **arguments: str) -> dict[str, Any]:
    """The definition of a tool whose arguments are all texts, all required; each is given with its description."""
    properties = {key: {"type": "string", "description": text} for key, text in arguments.items()}
    schema = {"type": "object", "properties": properties, "required": list(arguments), "additionalProperties": False}
    return {"name": name, "description": description, "inputSchema": schema}


class DemoServer:
    def __init__(self, name: str, tools: tuple[Mapping[str, Any], ...], call: Call) -> None:
        self._name = name
        self._tools = tools
        self._call = call

    def serve(self) -> None:
        """Answer on standard output until standard input ends."""
        for line in sys.stdin:
            answer = self.answer(json.loads(line))
            if answer is not None:
                print(json.dumps(answer), flush=True)

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        """What is sent back for one message; nothing for a notification."""
        if "id" not in message or "method" not in message:
            return None
        head = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            return {**head, "result": self._result(message["method"], message.get("params") or {})}
        except LookupError as error:
            return {**head, "error": {"code": _METHOD_NOT_FOUND, "message": str(error)}}

    def _result(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            asked = params.get("protocolVersion")
            return {
                "protocolVersion": asked if asked in REVISIONS else REVISIONS[0],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": self._name, "version": "1"},
            }
        if method == "tools/list":
            return {"tools": self._tools}
        if method == "tools/call":
            try:
                text, failed = self._call(params["name"], params.get("arguments") or {}), False
            except (OSError, ValueError) as error:
                # A tool that fails says so in its result: a model can read it and try again.
                text, failed = str(error), True
            return {"content": [{"type": "text", "text": text}], "isError": failed}
        if method == "ping":
            return {}
        raise LookupError(f"Method not found: {method}")
