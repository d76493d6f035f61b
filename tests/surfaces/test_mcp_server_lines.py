"""Lines that are no messages: each is answered as JSON-RPC asks, and the next request is served."""

import json
from pathlib import Path
from typing import Any

import pytest

from parts.mutated_lines import lines
from parts.nesting import DEEP
from parts.order_fuzz import PONG, Fed, feed, peak_memory
from parts.order_process import OrderProcess

PARSE, INVALID, UNKNOWN = -32700, -32600, -32601
LINES: dict[str, tuple[bytes, Any, int]] = {
    "not json": (b"hello", None, PARSE),
    "bad utf-8": (b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', 1, PARSE),
    "bad utf-8 in parameters": (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\xff"}}', 1, PARSE),
    "nul": (b"\0\0\0", None, PARSE),
    "lone surrogate": (b'{"jsonrpc":"2.0","id":2,"method":"ping","params":{"a":"\\udc00"}}', 2, PARSE),
    "nan": (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":NaN}}', 3, PARSE),
    "deep": (b'{"jsonrpc":"2.0","id":4,"method":"ping","params":' + b"[" * DEEP + b"]" * DEEP + b"}", 4, PARSE),
    "truncated": (b'{"jsonrpc":"2.0","id":5,"meth', 5, PARSE),
    "huge id": (b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"ping"}', None, INVALID),
    "null id": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, INVALID),
    "old version": (b'{"jsonrpc":"1.0","id":6,"method":"ping"}', 6, INVALID),
    "batch": (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', None, INVALID),
    "empty batch": (b"[]", None, INVALID),
    "unknown method": (b'{"jsonrpc":"2.0","id":8,"method":"no/such"}', 8, UNKNOWN),
}
# Long lines of tiny values, each of which would be a Python object: the parameters before and after them, one, and the answer.
TINY: dict[str, tuple[bytes, bytes, bytes, str]] = {
    "lists in an unknown argument": (
        b'{"name":"order_openclaw","arguments":{"message":5,"junk":[',
        b"[],",
        b"[]]}}",
        "Error: The argument message must be a string, not a number.",
    ),
    "unknown arguments": (
        b'{"name":"order_openclaw","arguments":{"message":5',
        b',"a":0',
        b"}}",
        "Error: The argument message must be a string, not a number.",
    ),
    "lists in the message": (
        b'{"name":"order_openclaw","arguments":{"message":[',
        b"[],",
        b"[]]}}",
        "Error: The argument message must be a string, not a list.",
    ),
    "objects for images": (
        b'{"name":"order_openclaw","arguments":{"message":"m","images":[',
        b"{},",
        b"{}]}}",
        "Error: The argument images[0].data is missing.",
    ),
    "lists in the name of the tool": (
        b'{"name":[',
        b"[],",
        b"[]]}",
        "Unknown tool: no name. The only tool is order_openclaw.",
    ),
}


@pytest.fixture
async def server(tmp_path: Path) -> Any:
    async with OrderProcess(tmp_path) as process:
        await process.initialize()
        yield process


@pytest.mark.parametrize("name", LINES)
async def test_a_bad_line_is_refused_and_the_next_request_served(name: str, server: OrderProcess) -> None:
    line, id, code = LINES[name]
    server.write(line)
    answer = await server.begin("ping", id="after")
    (refusal,) = server.messages
    assert (refusal["id"], refusal["error"]["code"], answer) == (
        id,
        code,
        {"jsonrpc": "2.0", "id": "after", "result": {}},
    )


@pytest.mark.parametrize(
    "line", [b"", b"   ", b"\r", b'{"jsonrpc":"2.0","id":9,"result":{}}', b'{"jsonrpc":"2.0","method":"x"}']
)
async def test_blank_lines_answers_and_notifications_are_passed_over(line: bytes, server: OrderProcess) -> None:
    server.write(line)
    await server.begin("ping", id="after")
    assert server.messages == []


@pytest.mark.parametrize("prefix", [b"\xef\xbb\xbf", b"  "])
@pytest.mark.parametrize("suffix", [b"\r", b" "])
async def test_a_byte_order_mark_and_carriage_returns_do_no_harm(
    prefix: bytes, suffix: bytes, server: OrderProcess
) -> None:
    answer = server.begin("x", id="first")
    server.write(prefix + b'{"jsonrpc":"2.0","id":"second","method":"ping"}' + suffix)
    await answer
    await server.begin("ping", id="after")
    assert server.messages == [{"jsonrpc": "2.0", "id": "second", "result": {}}]


@pytest.mark.full
async def test_a_line_longer_than_320_mb_is_refused_without_being_kept(tmp_path: Path) -> None:
    piece = b"x" * (1 << 20)

    def long_line() -> Any:
        yield b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"' + piece * 321 + b'"}}'

    fed = await feed(tmp_path, long_line())
    assert (fed.odd, fed.answers, fed.last) == ([], 2, PONG)


@pytest.mark.parametrize("size", [8_000_000, pytest.param(20_000_000, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", TINY)
async def test_a_line_of_tiny_values_takes_less_memory_than_four_times_its_length(
    name: str, size: int, server: OrderProcess
) -> None:
    before, piece, after, sentence = TINY[name]
    params = before + piece * (size // len(piece)) + after
    line = b'{"jsonrpc":"2.0","id":"long","method":"tools/call","params":' + params + b"}"
    at_first = peak_memory(server.process.pid)
    server.write(line)
    await server.begin("ping", id="after")
    taken = peak_memory(server.process.pid) - at_first
    (answer,) = server.messages
    told = answer["result"]["content"][0]["text"] if "result" in answer else answer["error"]["message"]
    assert (answer["id"], told) == ("long", sentence)
    assert taken < 4 * len(line)


async def test_thousands_of_mutated_lines_do_not_disturb_it(tmp_path: Path) -> None:
    fed = await feed(tmp_path, lines(seed=20261115, count=4_000))
    assert fed == Fed([], fed.answers, PONG, 0, b"", fed.peak)
    assert fed.answers > 3_000


def test_the_lines_of_a_seed_are_always_the_same() -> None:
    assert list(lines(7, 50)) == list(lines(7, 50))
    assert sum(_is_json(line) for line in lines(7, 500)) in range(100, 400)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
