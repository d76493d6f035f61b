"""What this server says of itself: its name, its capabilities, and its one tool.

The description and the input schema are part of the product's documentation and stay as they are written there. Nothing here is computed:
clients cache tool lists, and models' prompts are cached with them.
"""

from typing import Any, Final

from openclaw.version import __version__

TOOL_NAME: Final = "order_openclaw"
CAPABILITIES: Final[dict[str, Any]] = {"tools": {}}
SERVER_INFO: Final[dict[str, Any]] = {"name": "openclaw", "title": "OpenClaw", "version": __version__}
INSTRUCTIONS: Final = (
    "order_openclaw hands a task to OpenClaw, a personal assistant with tools and servers of its own, and returns its whole answer. "
    "Pass the same sessionKey again to go on with a conversation; without one every call starts anew."
)
# The list never changes while this process lives: an hour, the longest that caches are asked to trust anything.
LIST_TTL_MS: Final = 3_600_000


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
