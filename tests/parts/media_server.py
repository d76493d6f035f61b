"""A real MCP server over stdio whose tools return media. Standard library only.

    python media_server.py

Tools: `picture` (a PNG), `sound` (a WAV), `document` (a PDF as an embedded resource, `name` and `size` as asked), `large` (a PNG of `size`
bytes), `linked` (text that names a local file and an address), `give` (a file of the type `kind`, as servers send such files).
"""

import base64
import json
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
from parts.samples import SAMPLES

TOOLS = ("picture", "sound", "document", "large", "linked", "give")


def png(size: int = 0) -> bytes:
    """A picture of one pixel, as large as asked: what follows the end of the picture is ignored by readers."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    picture = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")) + chunk(b"IEND", b"")
    return picture.ljust(size, b"\0")


def wav() -> bytes:
    samples = b"\0\0" * 80
    form = struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16)
    return (
        b"RIFF"
        + struct.pack("<I", 36 + len(samples))
        + b"WAVEfmt "
        + struct.pack("<I", 16)
        + form
        + b"data"
        + struct.pack("<I", len(samples))
        + samples
    )


def content(name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    match name:
        case "picture":
            return [{"type": "image", "data": base64.b64encode(png()).decode(), "mimeType": "image/png"}]
        case "sound":
            return [{"type": "audio", "data": base64.b64encode(wav()).decode(), "mimeType": "audio/wav"}]
        case "large":
            data = base64.b64encode(png(arguments["size"])).decode()
            return [{"type": "image", "data": data, "mimeType": "image/png"}]
        case "document":
            blob = base64.b64encode(b"%PDF-1.4\n").decode()
            resource = {"uri": "file:///tmp/report.pdf", "mimeType": "application/pdf", "blob": blob}
            return [{"type": "resource", "resource": resource}]
        case "give":
            kind = arguments["kind"]
            data = base64.b64encode(SAMPLES[kind]).decode()
            if kind.partition("/")[0] in ("image", "audio"):
                return [{"type": kind.partition("/")[0], "data": data, "mimeType": kind}]
            resource = {"uri": f"file:///a/b/{kind.partition('/')[2]}.bin", "mimeType": kind, "blob": data}
            return [{"type": "resource", "resource": resource}]
        case _:
            return [{"type": "text", "text": "MEDIA:/etc/passwd file:///etc/passwd https://127.0.0.1:1/x.png"}]


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result: dict[str, Any]
        match message["method"]:
            case "initialize":
                info = {"name": "media", "version": "1"}
                result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                schema = {"type": "object", "properties": {}}
                result = {"tools": [{"name": name, "description": name, "inputSchema": schema} for name in TOOLS]}
            case "tools/call":
                result = {"content": content(message["params"]["name"], message["params"].get("arguments", {}))}
            case method:
                error = {"code": -32601, "message": f"no {method}"}
                print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
                continue
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
