"""Lines that almost are MCP messages, the same ones for the same seed."""

import json
import random
from collections.abc import Iterator
from typing import Any

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
PARAMS: list[Any] = [
    ("ping", None),
    ("ping", {}),
    ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
    ("initialize", {"protocolVersion": "2025-03-26"}),
    ("tools/list", None),
    ("tools/list", {"_meta": MODERN}),
    ("server/discover", {"_meta": MODERN}),
    ("notifications/initialized", {}),
    ("notifications/cancelled", {"requestId": 3, "reason": "x"}),
    ("resources/list", {"cursor": "c"}),
    # Orders that cannot be carried out, so that there is time for many lines.
    ("tools/call", {"name": "order_openclaw", "arguments": {"messages": "Grüße 🎉", "sessionKey": "k"}}),
    ("tools/call", {"name": "order_openclaw", "arguments": {"message": 1, "images": [], "files": None}}),
    (
        "tools/call",
        {"name": "order_openclaw", "arguments": {"message": [], "images": [{"data": "aGk=", "mimeType": "x"}]}},
    ),
    ("tools/call", {"name": "order_openclaw", "arguments": None, "_meta": {"progressToken": 1, **MODERN}}),
]
FRAGMENTS = [
    *(
        b"NaN",
        b"Infinity",
        b"-",
        b"1e999",
        b"9" * 400,
        b"\xff",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\0",
        b"\r",
        b"\\ud800",
    ),
    *(b"null", b"true", b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b'"id":', b'"method":', b'"jsonrpc":"2.0",'),
    *(
        b"[" * 3000,
        b'{"a":' * 3000,
        b"1.0",
        b"-0",
        b"\xf0\x9f\x98\x80",
        b"\xe2\x80\xa8",
        b"\x1b[2J",
        b"/*",
        b"'",
        b" " * 50,
    ),
]


def lines(seed: int, count: int) -> Iterator[bytes]:
    chance = random.Random(seed)
    for number in range(count):
        data = _message(chance, number)
        for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
            data = _mutated(data, chance)
        # The line is what is mutated: it stays one line.
        yield data.replace(b"\n", b" ")


def _message(chance: random.Random, number: int) -> bytes:
    method, params = chance.choice(PARAMS)
    message: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": chance.choice((number, str(number), 3, None, 1.5, [], True)),
        "method": method,
    }
    if method.startswith("notifications/") or chance.random() < 0.05:
        del message["id"]
    if params is not None:
        message["params"] = params
    data = json.dumps(message, ensure_ascii=chance.random() < 0.5).encode()
    return b"[%s,%s]" % (data, data) if chance.random() < 0.05 else data


def _mutated(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    match chance.randrange(6):
        case 0:
            return data[:place]
        case 1:
            return data[:place] + chance.choice(FRAGMENTS) + data[place:]
        case 2:
            return data[:place] + chance.choice(FRAGMENTS) + data[place + chance.randrange(12) :]
        case 3:
            return data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]
        case 4:
            end = place + chance.randrange(40)
            return data[:end] + data[place:end] + data[end:]
        case _:
            return data[:place] + data[place + chance.randrange(30) :]
