"""What `openclaw mcp-server` offers: one tool, in the words that clients and their models read.

The tool's description and schema are part of the product's documentation and stay as they are written there; nothing of them is computed,
because clients cache tool lists, and models' prompts are cached with them.
"""

from typing import Any, Final

from msgspec import Raw

from openclaw.mcp_server.dialogue import Service
from openclaw.mcp_server.order import Order, pieces, read_order
from openclaw.version import __version__

TOOL_NAME: Final = "order_openclaw"
# Names that a client made up are repeated in errors, up to this many characters.
_SHOWN = 100
CAPABILITIES: Final[dict[str, Any]] = {"tools": {}}
SERVER_INFO: Final[dict[str, Any]] = {"name": "openclaw", "title": "OpenClaw", "version": __version__}
INSTRUCTIONS: Final = (
    "order_openclaw hands a task to OpenClaw, a personal assistant with tools and servers of its own, and returns its whole answer. "
    "Pass the same sessionKey again to go on with a conversation; without one every call starts anew."
)


def _attachments(what: str, example: str, most: int) -> dict[str, Any]:
    return {
        "type": "array",
        "description": f"Optional base64-encoded {what}s (max {most}, 15MB each)",
        "items": {
            "type": "object",
            "properties": {
                "data": {"type": "string", "description": f"Base64-encoded {what} data"},
                "mimeType": {"type": "string", "description": f"MIME type (e.g., '{example}')"},
                "filename": {"type": "string", "description": "Optional filename"},
            },
            "required": ["data", "mimeType"],
        },
    }


TOOL: Final[dict[str, Any]] = {
    "name": TOOL_NAME,
    "description": (
        "Send a message to OpenClaw and receive a response. The message will be processed as if typed by a user. Supports sending "
        "images, files (PDF, text, markdown, CSV, JSON), audio, video, and archives (ZIP, TAR.GZ) via base64 encoding."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "message": {"type": "string", "description": "The message to send to OpenClaw"},
            "sessionKey": {"type": "string", "description": "Optional session key for conversation continuity"},
            "images": _attachments("image", "image/png", 10),
            "files": _attachments("file", "application/pdf", 5),
        },
        "required": ["message"],
    },
}


def _read(name: Any, arguments: Raw) -> Order:
    if name != TOOL_NAME:
        shown = name[:_SHOWN] if isinstance(name, str) else "no name"
        raise LookupError(f"Unknown tool: {shown}. The only tool is {TOOL_NAME}.")
    return read_order(arguments)


ORDERS: Final = Service(
    info=SERVER_INFO,
    capabilities=CAPABILITIES,
    instructions=INSTRUCTIONS,
    lists={"tools/list": {"tools": [TOOL]}},
    calls={"tools/call": _read},
    pieces=pieces,
)
