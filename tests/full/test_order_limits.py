"""Orders at their limits: the most media one may carry, and how fast the server leaves."""

import asyncio
import base64
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from parts import media_server, stdio_server
from parts.gateways import gateway_process, home
from parts.media_server import png
from parts.model_servers import Answer, Call, ChatServer, Hold
from parts.order_fuzz import peak_memory
from parts.order_process import OPENCLAW, OrderProcess, environment, local_model

MB = 1 << 20
MEDIA = {"command": sys.executable, "args": [media_server.__file__]}
# Seconds from the end of input or a signal to the end of the process.
LEAVES_WITHIN = 2.0
# Each takes a good part of a small machine's memory: one after the other.
large = pytest.mark.xdist_group("large")


def time_of_nothing(env: dict[str, str]) -> float:
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", "pass"], env=env, check=True)
    return time.monotonic() - started


def time_to_initialize(env: dict[str, str]) -> float:
    line = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n'
    started = time.monotonic()
    command = [*OPENCLAW, "mcp-server"]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line)
        process.stdin.flush()
        assert b"2025-11-25" in process.stdout.readline()
        return time.monotonic() - started


@pytest.mark.full
@pytest.mark.alone
def test_initialize_is_answered_within_twelve_times_an_empty_program(tmp_path: Path) -> None:
    env = environment(tmp_path)
    pairs = [(time_to_initialize(env), time_of_nothing(env)) for _ in range(11)]
    assert median(ours for ours, _ in pairs) < 12 * median(nothing for _, nothing in pairs)


@pytest.mark.full
@large
@pytest.mark.parametrize("model", ["offline", "a model that looks"])
async def test_ten_images_of_15_mb_take_less_memory_than_four_times_their_line(model: str, tmp_path: Path) -> None:
    image = {"data": base64.b64encode(png(15 * MB)).decode(), "mimeType": "image/png"}
    async with ChatServer([Answer("Ten.")]) as chat:
        config = {} if model == "offline" else local_model(chat.url, chat.key)
        async with OrderProcess(tmp_path, config=config) as server:
            await server.initialize()
            result = await server.order("hello", images=[image] * 10)
            peak = peak_memory(server.process.pid)
    assert (result["isError"], peak < 4 * 10 * len(image["data"])) == (False, True)


@pytest.mark.full
@large
@pytest.mark.requirement("004-limit-in")
@pytest.mark.parametrize("more", [-1, 0, 1])
async def test_an_image_and_a_file_may_have_15_mb_and_not_a_byte_more(more: int, tmp_path: Path) -> None:
    image = {"data": base64.b64encode(png(15 * MB + more)).decode(), "mimeType": "image/png"}
    file = {"data": base64.b64encode(b"PK\3\4".ljust(15 * MB + more)).decode(), "mimeType": "application/zip"}
    async with ChatServer([Answer("Taken.")] * 2) as chat:
        async with OrderProcess(tmp_path, config=local_model(chat.url, chat.key)) as server:
            await server.initialize()
            answers = [await server.order("look", images=[image]), await server.order("keep", files=[file])]
    texts = [answer["content"][0]["text"] for answer in answers]
    too_large = [f"Error: {place} is larger than 15.0 MB." for place in ("images[0]", "files[0]")]
    assert texts == (too_large if more > 0 else ["Taken.", "Taken."])


@pytest.mark.full
@large
@pytest.mark.parametrize("more", [-1, 0, 1])
async def test_a_line_may_have_320_mb_and_not_a_byte_more(more: int, tmp_path: Path) -> None:
    start, end = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"', b'"}}'
    line = start + b"x" * (320 * MB + more - len(start) - len(end)) + end
    async with OrderProcess(tmp_path) as server:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        server._answers[1] = answer
        server.write(line)
        told = await answer
        again = await server.begin("ping", id=2)
    refused = {"code": -32600, "message": "Invalid request: the line has 335,544,321 bytes, more than are read."}
    assert told == {"jsonrpc": "2.0", "id": 1} | ({"error": refused} if more > 0 else {"result": {}})
    assert again["result"] == {}


@pytest.mark.full
@large
async def test_everything_an_order_may_carry_goes_through_a_gateway(tmp_path: Path) -> None:
    image = {"data": base64.b64encode(png(15 * MB)).decode(), "mimeType": "image/png"}
    file = {"data": base64.b64encode(b"PK\3\4".ljust(15 * MB, b"\0")).decode(), "mimeType": "application/zip"}
    with home(tmp_path) as place, gateway_process(place) as gateway:
        env = {name: place.env[name] for name in ("OPENCLAW_STATE_DIR", "XDG_RUNTIME_DIR")}
        async with OrderProcess(tmp_path, env=env) as server:
            await server.initialize()
            result = await server.order("hello", images=[image] * 10, files=[file] * 5)
            peaks = [peak_memory(pid) / (15 * len(image["data"])) for pid in (server.process.pid, gateway.process.pid)]
    assert (result["isError"], [peak < 4 for peak in peaks]) == (False, [True, True])


@pytest.mark.full
@large
@pytest.mark.requirement("004-limit-item")
@pytest.mark.requirement("004-limit-answer")
async def test_what_does_not_fit_an_answer_is_named_in_it(tmp_path: Path) -> None:
    """20 MB an item and 50 MB in all: the second is a byte too large, the fourth does not fit behind the others."""
    sizes = [20 * MB, 20 * MB + 1, 20 * MB, 10 * MB + 1, 10 * MB]
    turns = [Answer(calls=[Call(f"c{number}", "media__large", {"size": size})]) for number, size in enumerate(sizes)]
    async with ChatServer([*turns, Answer("Here.")]) as chat:
        config = local_model(chat.url, chat.key) | {"mcp": {"servers": {"media": MEDIA}}}
        # What a model may have read off the first picture would be asked about in all later calls.
        config["tools"] = {"approval": {"taint": "off"}}
        async with OrderProcess(tmp_path, config=config) as server:
            await server.initialize()
            text, *pictures = (await server.order("draw"))["content"]
    assert [len(base64.b64decode(block["data"])) for block in pictures] == [20 * MB, 20 * MB, 10 * MB]
    assert text["text"] == (
        "Here.\n\nmedia-large.png (image/png, 20,971,521 bytes) is not attached: it is larger than 20 MB.\n"
        "media-large.png (image/png, 10,485,761 bytes) is not attached: the answer would be larger than 50 MB."
    )


@pytest.mark.full
@large
async def test_everything_an_order_may_carry_fits_one_line(tmp_path: Path) -> None:
    image = {"data": base64.b64encode(png(15 * MB)).decode(), "mimeType": "image/png"}
    file = {"data": base64.b64encode(b"PK\3\4".ljust(15 * MB, b"\0")).decode(), "mimeType": "application/zip"}
    async with OrderProcess(tmp_path) as server:
        await server.initialize()
        result = await server.order("hello", images=[image] * 10, files=[file] * 5)
    assert not result["isError"]


@pytest.mark.full
async def test_a_gateway_that_hangs_is_passed_over_and_does_nothing_when_it_wakes(tmp_path: Path) -> None:
    async with ChatServer([Answer("Done here."), Answer("Done there.")]) as chat:
        with home(tmp_path, local_model(chat.url, chat.key)) as place, gateway_process(place) as gateway:
            env = {name: place.env[name] for name in ("OPENCLAW_STATE_DIR", "XDG_RUNTIME_DIR")}
            async with OrderProcess(tmp_path, env=env) as server:
                await server.initialize()
                gateway.process.send_signal(signal.SIGSTOP)
                first = await server.said("one")
                gateway.process.send_signal(signal.SIGCONT)
                second = await server.said("two")
    asked = [request["messages"][-1]["content"] for request in chat.requests]
    assert (first, second, asked) == ("Done here.", "Done there.", ["one", "two"])


@pytest.mark.full
@pytest.mark.alone
@pytest.mark.parametrize("what", ["idle", "a model that thinks", "a tool that hangs", "a stubborn server"])
@pytest.mark.parametrize("how", ["eof", "SIGTERM", "SIGINT", "closed stdout"])
async def test_it_leaves_within_two_seconds(how: str, what: str, tmp_path: Path) -> None:
    tool = [Answer(calls=[Call("c1", "parts__hang")])]
    options = ["--stubborn"] if what == "a stubborn server" else []
    servers = {"parts": {"command": sys.executable, "args": [stdio_server.__file__, *options]}}
    async with ChatServer([Answer(["x", Hold()])] if what == "a model that thinks" else tool) as chat:
        config = local_model(chat.url, chat.key) | {"mcp": {"servers": servers}}
        async with OrderProcess(tmp_path, config=config) as server:
            await server.initialize()
            if what == "a model that thinks":
                server.begin_order("work")
                await chat.waiting.wait()
            elif what != "idle":
                server.begin_order("work", meta={"progressToken": 1})
                await server.until_told("Calling tool hang on server parts")
            started = time.monotonic()
            async with asyncio.timeout(30):
                if how == "closed stdout":
                    server.process.stop_reading()
                    await server.process.wait()
                else:
                    await server.end(how)
            took = time.monotonic() - started
    assert took < LEAVES_WITHIN
