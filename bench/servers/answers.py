"""What the echo servers say, apart from how it travels: a handshake, a list of tools, an echo and a big result.

Imports `json` alone, so that a server starts as fast as the interpreter does. Spoken are the revisions with a handshake, which every
contender knows; with `modern` also 2026-07-28, which has none: requests of it get all that it wants of an answer.
"""

from __future__ import annotations

import json

# A type checker takes this for true; nobody else pays for the import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MODERN = "2026-07-28"
REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
# Of the `_meta` of a request: it is of 2026-07-28. And what is in each answer to one, and in those that may be kept besides.
VERSION = "io.modelcontextprotocol/protocolVersion"
COMPLETE = {"resultType": "complete"}
KEPT = {**COMPLETE, "ttlMs": 0, "cacheScope": "private"}
METHOD_NOT_FOUND = -32601
# A tool as real servers describe theirs: some sentences, five parameters. About 1 KB.
DESCRIPTION = (
    "Searches the records of one project and returns those that match, the newest first. Use it before anything is changed, "
    "because it also tells which records are locked. Dates are in ISO 8601; results come in pages of at most 100."
)
SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "Words to look for; all of them must occur.", "maxLength": 500},
        "project": {"type": "string", "description": "The project's key, as list_projects returns it."},
        "state": {"type": "string", "enum": ["open", "closed", "all"], "default": "open"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "Page size."},
        "labels": {"type": "array", "items": {"type": "string"}, "description": "Only records with all of these."},
    },
    "required": ["query", "project"],
    "additionalProperties": False,
}
# Without the first a client that asks before it lets a tool change something would have to ask about an echo; by the second it knows that
# nothing goes anywhere from here.
READS = {"readOnlyHint": True, "openWorldHint": False}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
ECHO = {"name": "echo", "description": "Answers with its text.", "inputSchema": TEXT, "annotations": READS}
BIG = {
    "name": "big",
    "description": "Answers with so many bytes of text.",
    "inputSchema": {"type": "object", "properties": {"bytes": {"type": "integer"}}, "required": ["bytes"]},
    "annotations": READS,
}
NEVER = {"name": "never", "description": "Never answers.", "inputSchema": {"type": "object"}, "annotations": READS}


def tools(count: int) -> list[dict[str, Any]]:
    """Three that do something, and as many more as make up the count."""
    more = [
        {"name": f"search_records_{n}", "description": DESCRIPTION, "inputSchema": SCHEMA} for n in range(count - 3)
    ]
    return [ECHO, BIG, NEVER, *more]


class Answers:
    """Bytes of the answer to a message; empty when none is due. No line ends."""

    def __init__(self, tool_count: int, *, modern: bool = False) -> None:
        self._tools = json.dumps({"tools": tools(tool_count)}).encode()
        self._modern_tools = json.dumps({**KEPT, "tools": tools(tool_count)}).encode()
        self._modern = modern

    def to(self, message: dict[str, Any]) -> bytes:
        id = message.get("id")
        if id is None or "method" not in message:
            return b""
        method, params = message["method"], message.get("params") or {}
        head = b'{"jsonrpc":"2.0","id":%s,"result":' % json.dumps(id).encode()
        is_modern = self._modern and VERSION in params.get("_meta", ())
        if method == "tools/call":
            arguments = params.get("arguments") or {}
            if params["name"] == "never":
                return b""
            size = arguments["bytes"] if params["name"] == "big" else 0
            text = b'"%s"' % (b"x" * size) if size else json.dumps(arguments.get("text", "")).encode()
            kind = b',"resultType":"complete"' if is_modern else b""
            return b'%s{"content":[{"type":"text","text":%s}]%s}}' % (head, text, kind)
        if method == "tools/list":
            return head + (self._modern_tools if is_modern else self._tools) + b"}"
        if method == "initialize":
            wanted = params.get("protocolVersion")
            result: dict[str, Any] = {
                "protocolVersion": wanted if wanted in REVISIONS else REVISIONS[0],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "echo", "version": "1"},
            }
            return head + json.dumps(result).encode() + b"}"
        if method == "server/discover" and self._modern:
            discovered: dict[str, Any] = {
                **KEPT,
                "supportedVersions": [MODERN, *REVISIONS],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "echo", "version": "1"},
            }
            return head + json.dumps(discovered).encode() + b"}"
        if method == "ping":
            return head + b"{}}"
        error = {"code": METHOD_NOT_FOUND, "message": f"Method not found: {method}"}
        return json.dumps({"jsonrpc": "2.0", "id": id, "error": error}).encode()
