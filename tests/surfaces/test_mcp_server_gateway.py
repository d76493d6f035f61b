"""Orders and the gateway: one that runs with the same config carries them out, with its own servers and its own environment."""

import asyncio
import base64
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import openclaw
from openclaw.control.standard_streams import LINE_BYTES
from openclaw.gateway.terminal import MOST_INPUT
from openclaw.log import short_hash
from parts import media_server
from parts.gateways import Home, gateway_process, home, running, stdio_server
from parts.model_servers import Answer, Call, ChatServer, Hold
from parts.order_process import OrderProcess, local_model

MEDIA = {"command": "python3", "args": [media_server.__file__]}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Home]:
    with home(tmp_path) as made:
        yield made


def config(chat: ChatServer, **more: Any) -> dict[str, Any]:
    """The key is in the gateway's environment alone: an order that is carried out elsewhere has none."""
    return local_model(chat.url, "${MODEL_KEY}") | {"gateway": {"port": 0}, **more}


def with_key(place: Home, chat: ChatServer) -> Home:
    return replace(place, env={**place.env, "MODEL_KEY": chat.key})


def client(place: Home, folder: Path, *arguments: str) -> OrderProcess:
    names = ("OPENCLAW_STATE_DIR", "XDG_RUNTIME_DIR")
    return OrderProcess(folder, *arguments, env={name: place.env[name] for name in names})


async def test_an_order_goes_to_the_gateway_with_its_media_and_its_progress(place: Home, tmp_path: Path) -> None:
    replies = [Answer("Drawing.", calls=[Call("c1", "media__picture")]), Answer("Here.")]
    async with ChatServer(replies) as chat:
        place.save(config(chat, mcp={"servers": {"media": MEDIA}}))
        async with running(with_key(place, chat)) as gateway, client(place, tmp_path) as server:
            await gateway.ready("media")
            await server.initialize()
            image = {"data": base64.b64encode(media_server.png()).decode(), "mimeType": "image/png"}
            result = await server.order("draw", images=[image], sessionKey="k", meta={"progressToken": 1})
    assert result == {
        "content": [
            {"type": "text", "text": "Drawing.\n\nHere."},
            {"type": "image", "data": image["data"], "mimeType": "image/png"},
        ],
        "isError": False,
    }
    assert chat.requests[0]["messages"][-1]["content"][1]["image_url"]["url"].endswith(image["data"])
    assert server.messages[0]["params"]["message"] == "Starting"


async def test_a_message_passes_through_the_gateway_to_the_letter(place: Home, tmp_path: Path) -> None:
    message = (
        '/help \n tab\t\r\n null \x00 \x1b[31m Größe 你好 e\u0301 \u202e \u2028 \U0001f3f4 <|im_start|> \\ "quoted" '
    )
    async with ChatServer() as chat:
        place.save(config(chat))
        async with running(with_key(place, chat)), client(place, tmp_path) as server:
            await server.initialize()
            await server.said(message)
    assert chat.requests[0]["messages"][-1]["content"] == message


async def test_local_forbids_the_gateway(place: Home, tmp_path: Path) -> None:
    async with ChatServer() as chat:
        place.save(config(chat))
        async with running(with_key(place, chat)), client(place, tmp_path, "--local") as server:
            await server.initialize()
            result = await server.order("hi")
    assert result["isError"]
    assert "MODEL_KEY} is not set" in result["content"][0]["text"]


async def test_both_ways_share_their_conversations(place: Home, tmp_path: Path) -> None:
    async with ChatServer([Answer("Noted."), Answer("Blue.")]) as chat:
        place.save(local_model(chat.url, chat.key) | {"gateway": {"port": 0}})
        async with client(place, tmp_path) as server:
            await server.initialize()
            async with running(place):
                await server.said("It is blue.", sessionKey="same")
            assert await server.said("Which?", sessionKey="same") == "Blue."
    contents = [m["content"] for m in chat.requests[-1]["messages"] if m["role"] != "system"]
    assert contents == ["It is blue.", "Noted.", "Which?"]


async def test_a_cancelled_order_is_cancelled_in_the_gateway(place: Home, tmp_path: Path) -> None:
    async with ChatServer([Answer(["half", Hold()]), Answer("Next.")]) as chat:
        place.save(config(chat))
        async with running(with_key(place, chat)), client(place, tmp_path) as server:
            await server.initialize()
            first = server.begin_order("work")
            await chat.waiting.wait()
            server.notify("notifications/cancelled", {"requestId": 2})
            await chat.gone.wait()
            assert await server.said("more") == "Next."
            assert not first.done()
            first.cancel()


async def test_a_client_that_leaves_ends_its_order_in_the_gateway(place: Home, tmp_path: Path) -> None:
    async with ChatServer([Answer(["half", Hold()])]) as chat:
        place.save(config(chat))
        async with running(with_key(place, chat)), client(place, tmp_path) as server:
            await server.initialize()
            server.begin_order("work")
            await chat.waiting.wait()
            assert await server.end() == 0
            await chat.gone.wait()


async def test_a_gateway_that_stops_in_the_middle_is_an_error_and_nothing_is_done_twice(
    place: Home, tmp_path: Path
) -> None:
    async with ChatServer([Answer(["half", Hold()])]) as chat:
        place.save(config(chat))
        async with client(place, tmp_path) as server:
            await server.initialize()
            async with running(with_key(place, chat)) as gateway:
                order = server.begin_order("work")
                await chat.waiting.wait()
                await gateway.gateway.close()
                answer = await order
    text = answer["result"]["content"][0]["text"]
    assert answer["result"]["isError"]
    assert text == "Error: The gateway is stopping; the command was ended."
    assert len(chat.requests) == 1


async def test_a_gateway_that_is_killed_in_the_middle_is_an_error_and_the_next_order_is_done_here(
    place: Home, tmp_path: Path
) -> None:
    async with ChatServer([Answer(["half", Hold()]), Answer("Done here.")]) as chat:
        place.save(local_model(chat.url, chat.key) | {"gateway": {"port": 0}})
        with gateway_process(place) as gateway:
            async with client(place, tmp_path) as server:
                await server.initialize()
                order = server.begin_order("work")
                await chat.waiting.wait()
                gateway.process.kill()
                answer = await order
                said = await server.said("more")
    expected = "Error: The gateway ended while it carried out the order. `openclaw gateway status` says more."
    assert answer["result"] == {"content": [{"type": "text", "text": expected}], "isError": True}
    assert (said, len(chat.requests)) == ("Done here.", 2)


OTHER_VERSION = """
import sys
import openclaw.version
openclaw.version.__version__ = "9.9.9"
from openclaw.mcp_server.command import main
sys.exit(main([]))
"""


async def test_a_gateway_of_another_version_is_passed_over_with_a_note(place: Home, tmp_path: Path) -> None:
    async with ChatServer() as chat:
        place.save(config(chat))
        env = {name: place.env[name] for name in ("OPENCLAW_STATE_DIR", "XDG_RUNTIME_DIR")} | {"MODEL_KEY": "wrong"}
        command = [sys.executable, "-c", OTHER_VERSION]
        async with running(with_key(place, chat)), OrderProcess(tmp_path, command=command, env=env) as server:
            await server.initialize()
            result = await server.order("hi")
            await server.end()
    assert result["isError"]
    assert f"note: the gateway is version {openclaw.__version__}; " in server.stderr.decode()
    assert b"Traceback" not in server.stderr


async def test_a_tool_that_runs_in_the_gateway_is_told_of_and_cancelled_with_its_order(
    place: Home, tmp_path: Path
) -> None:
    async with ChatServer([Answer(calls=[Call("c1", "parts__hang")]), Answer("Next.")]) as chat:
        place.save(config(chat, mcp={"servers": {"parts": stdio_server()}}))
        async with running(with_key(place, chat)) as gateway, client(place, tmp_path) as server:
            await gateway.ready("parts")
            await server.initialize()
            order = server.begin_order("work", sessionKey="k", meta={"progressToken": "t"})
            await server.until_told("Calling tool hang on server parts")
            server.notify("notifications/cancelled", {"requestId": 2})
            # Of the same conversation: it waits until the first is really over.
            assert await server.said("more", sessionKey="k") == "Next."
            assert not order.done()
            order.cancel()


@pytest.mark.full
async def test_an_order_of_many_megabytes_goes_to_the_gateway_too(place: Home, tmp_path: Path) -> None:
    """More than a terminal's frames may hold at once, and than was taken in the past."""
    file = {"data": base64.b64encode(b"PK\3\4".ljust(13 << 20, b"\0")).decode(), "mimeType": "application/zip"}
    async with ChatServer([Answer("Kept.")]) as chat:
        place.save(config(chat))
        async with running(with_key(place, chat)), client(place, tmp_path) as server:
            await server.initialize()
            assert await server.said("keep", files=[file] * 4) == "Kept."
    assert chat.requests[0]["messages"][-1]["content"].count("13,631,488 bytes") == 4


def test_whatever_fits_a_line_of_ours_fits_the_control_socket() -> None:
    assert MOST_INPUT >= LINE_BYTES


async def test_a_conversation_has_one_short_hash_everywhere(place: Home, tmp_path: Path) -> None:
    replies = [Answer(calls=[Call("c1", "parts__echo", {"text": "x"})]), Answer("Done."), Answer("Again.")]
    async with ChatServer(replies) as chat:
        place.save(
            local_model(chat.url, chat.key) | {"gateway": {"port": 0}, "mcp": {"servers": {"parts": stdio_server()}}}
        )
        async with client(place, tmp_path, "-v") as server:
            await server.initialize()
            async with running(place) as gateway:
                await gateway.ready("parts")
                await server.said("work", sessionKey="private-key")
            await server.said("more", sessionKey="private-key")
            await server.end()
    records = [json.loads(line) for file in place.paths.audit_dir.iterdir() for line in file.read_text().splitlines()]
    log = server.stderr.decode()
    hashes = set(re.findall(r"session[= ]([0-9a-f]{12})", log))
    assert (
        hashes
        == {record["session"] for record in records if record.get("tool")}
        == {short_hash("agent:main:mcp:private-key")}
    )
    assert [f"order id={number} session=" in log for number in (2, 3)] == [True, True]
    assert "private-key" not in log


async def test_an_order_without_a_model_tells_why_without_paths(place: Home, tmp_path: Path) -> None:
    async with ChatServer() as chat:
        place.save(config(chat))
        async with running(place), client(place, tmp_path, "--agent", "nobody") as server:
            await server.initialize()
            result = await server.order("hi")
    expected = 'Error: There is no agent "nobody". Known agents: main.'
    assert result == {"content": [{"type": "text", "text": expected}], "isError": True}


@pytest.mark.parametrize("kind", ["nobody listens", "not a socket"])
async def test_what_is_no_gateway_is_passed_over(kind: str, place: Home, tmp_path: Path) -> None:
    async with ChatServer([Answer("Done here.")]) as chat:
        place.save(local_model(chat.url, chat.key))
        socket = place.paths.control_socket
        socket.parent.mkdir(mode=0o700, parents=True)
        if kind == "not a socket":
            socket.write_text("junk")
            socket.chmod(0o600)
        else:
            server_socket = await asyncio.start_unix_server(lambda r, w: None, socket)
            server_socket.close()
            await server_socket.wait_closed()
        async with client(place, tmp_path) as server:
            await server.initialize()
            assert await server.said("hi") == "Done here."


def test_one_order_can_be_given_on_the_command_line(place: Home) -> None:
    place.save(place.script({"text": "Fine."}))
    done = place.run("order", input=json.dumps({"message": "hi", "sessionKey": "k"}))
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    result = {"content": [{"type": "text", "text": "Fine."}], "isError": False}
    session = {"session": short_hash("agent:main:mcp:k")}
    assert (done.returncode, lines[:2], lines[-1]) == (0, [session, {"progress": "Thinking"}], {"result": result})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("junk", "error: openclaw order: standard input is not JSON: JSON is malformed: invalid character (byte 0).\n"),
        ("{}", "error: The argument message is missing. It is the text to send to OpenClaw.\n"),
    ],
)
def test_an_order_that_is_none_is_a_usage_error(given: str, said: str, place: Home) -> None:
    done = place.run("order", input=given)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
