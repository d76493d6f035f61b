"""`openclaw acp` and a client that does not read what it is told: a turn waits for it, is heard when it is cancelled, and loses nothing."""

import asyncio
import json
import os
import select
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from parts import loaded
from parts.editor import NearEditor
from parts.gateways import Home, gateway_process
from parts.gateways import home as made_home
from parts.processes import HANG_GUARD, server_command

# More than twice of what may wait for a client, a pipe and a socket included.
WORDS = [f"{number:06} {'x' * 993}" for number in range(5_000)]
MOST_BYTES = 3 << 20


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with made_home(tmp_path) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


class ShyEditor:
    """Reads when it is told to, and no sooner."""

    def __init__(self, said: int, heard: int) -> None:
        self._said = said
        self._heard = heard
        self._unread = b""
        self.bytes = 0

    def say(self, method: str, id: int | None = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if id is None else {"id": id})
        os.write(self._said, json.dumps(message).encode() + b"\n")

    def hear(self) -> dict[str, Any]:
        """The next message."""
        while b"\n" not in self._unread:
            assert select.select([self._heard], [], [], HANG_GUARD)[0], "nothing is said"
            data = os.read(self._heard, 1 << 20)
            assert data, "the agent has left"
            self._unread += data
            self.bytes += len(data)
        line, _, self._unread = self._unread.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def answer(self, id: int) -> tuple[Any, str]:
        """The answer to a request, and what was said till then."""
        said = []
        while (message := self.hear()).get("id") != id:
            said.append(words_in(message))
        return message["result"], "".join(said)

    def request(self, method: str, id: int, **params: Any) -> Any:
        self.say(method, id, **params)
        return self.answer(id)[0]


def words_in(message: dict[str, Any]) -> str:
    update = message.get("params", {}).get("update", {})
    return str(update["content"]["text"]) if update.get("sessionUpdate") == "agent_message_chunk" else ""


@contextmanager
def shy_editor(home: Home, folder: Path) -> Iterator[ShyEditor]:
    (stdin, said), (heard, stdout) = os.pipe(), os.pipe()
    argv = [*loaded.PROGRAM, "acp"]
    try:
        process = loaded.begin(argv, env=home.env, cwd=folder, stdin=stdin, stdout=stdout)
    finally:
        for end in (stdin, stdout):
            os.close(end)
    try:
        yield ShyEditor(said, heard)
    finally:
        for end in (said, heard):
            os.close(end)
        assert process.wait() == 0


@pytest.mark.parametrize("where", ["here", "gateway"])
def test_a_turn_waits_for_a_client_that_does_not_read_and_a_cancel_is_heard(
    home: Home, folder: Path, where: str
) -> None:
    home.save(home.script({"text": WORDS}, {"text": WORDS}))
    with gateway_process(home) if where == "gateway" else nullcontext(), shy_editor(home, folder) as editor:
        editor.request("initialize", 1, protocolVersion=1)
        new: dict[str, Any] = {"cwd": str(folder), "mcpServers": []}
        prompt = [{"type": "text", "text": "speak"}]

        session = editor.request("session/new", 2, **new)["sessionId"]
        editor.say("session/prompt", 3, sessionId=session, prompt=prompt)
        first = ""
        while not first:
            first = words_in(editor.hear())
        before = editor.bytes
        editor.say("session/cancel", sessionId=session)
        # Nothing is read until the turn has ended, and what was said of it is kept.
        while first not in home.run("sessions", "show", f"agent:main:{session}", "--json").stdout:
            pass
        end, said = editor.answer(3)
        assert (end, editor.bytes - before < MOST_BYTES) == ({"stopReason": "cancelled"}, True)
        assert "".join(WORDS).startswith(first + said)

        session = editor.request("session/new", 4, **new)["sessionId"]
        editor.say("session/prompt", 5, sessionId=session, prompt=prompt)
        assert editor.answer(5) == ({"stopReason": "end_turn"}, "".join(WORDS))


class Slow:
    """The pace of a client that is behind until it is let go."""

    def __init__(self) -> None:
        self.is_behind = False
        self._room = asyncio.Event()
        self._room.set()
        self.held = asyncio.Event()

    def stop(self) -> None:
        self.is_behind = True
        self._room.clear()

    def go(self) -> None:
        self.is_behind = False
        self._room.set()

    async def caught_up(self) -> None:
        if self.is_behind:
            self.held.set()
        await self._room.wait()


async def test_what_was_said_is_told_again_no_faster_than_it_is_read_and_prompts_wait(home: Home, folder: Path) -> None:
    home.save(home.script({"text": "Hello."}))
    async with NearEditor(home, folder) as editor:
        session = await editor.new()
        await editor.prompt(session, "hello")
    pace = Slow()
    async with NearEditor(home, folder, pace=pace) as editor:
        pace.stop()
        loaded = editor.begin("session/load", {"sessionId": session, "cwd": str(folder), "mcpServers": []})
        prompted = editor.begin_prompt(session, "bye")
        await pace.held.wait()
        assert (editor.updates, loaded.done(), prompted.done()) == ([], False, False)
        pace.go()
        assert (await prompted)["result"] == {"stopReason": "end_turn"}
        told = [line for line in editor.lines if "result" in line or "content" in line["params"]["update"]]
        words = [line["params"]["update"]["content"]["text"] if "params" in line else line["id"] for line in told]
        # In another process the script begins anew.
        assert words == [1, "hello", "Hello.", 2, "Hello.", 3]


async def test_progress_is_left_out_for_a_client_that_is_behind_and_the_end_of_a_call_is_not(
    home: Home, folder: Path
) -> None:
    slow = {"toolCalls": [{"name": "db__slow", "arguments": {"seconds": 0.2, "every": 0.05}, "id": "s1"}]}
    home.save(
        home.script(slow, slow, {"text": "Done."}),
        acp={"clientServers": "allow"},
        tools={"approval": {"mode": "off", "taint": "off"}},
    )
    command, *args = server_command()
    pace = Slow()
    async with NearEditor(home, folder, pace=pace) as editor:
        session = await editor.new({"name": "db", "command": command, "args": args, "env": []})
        pace.is_behind = True
        assert await editor.prompt(session, "go") == "end_turn"
        assert [update["status"] for update in editor.of("tool_call_update")] == ["completed", "completed"]
