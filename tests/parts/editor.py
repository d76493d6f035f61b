"""`openclaw acp` as an editor starts it: a process of its own, spoken to line by line, with a person who answers its questions.

async with Editor(home, folder) as editor:
    session = await editor.new()
    assert (await editor.prompt(session, "hello")) == "end_turn"
"""

import asyncio
import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from parts.gateways import PROGRAM, Home

LONGEST_LINE = 1 << 30
# Names a folder in which everything that is said is written down, a file for each editor: tests/real/test_acp_schema.py reads it.
TAPES = "OPENCLAW_TEST_TAPES"
FILES = {"fs": {"readTextFile": True, "writeTextFile": True}}

# What becomes of a request of the agent: its result, an error as {"error": …}, or no answer at all.
Answer = Callable[[str, dict[str, Any]], Any]
NEVER: Any = object()


def choose(kind: str) -> Answer:
    """Answers every permission with the first option of a kind; everything else with an error."""

    def answer(method: str, params: dict[str, Any]) -> Any:
        if method != "session/request_permission":
            return {"error": {"code": -32601, "message": "Method not found"}}
        option = next(one["optionId"] for one in params["options"] if one["kind"] == kind)
        return {"outcome": {"outcome": "selected", "optionId": option}}

    return answer


class Editor:
    """`updates` are what happened, each with its session; `asked` what the agent asked. `answer` may be changed at any time."""

    def __init__(
        self,
        home: Home,
        folder: Path,
        *arguments: str,
        capabilities: dict[str, Any] | None = None,
        answer: Answer | None = None,
        greet: bool = True,
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.home = home
        self.folder = folder
        self.answer = answer or choose("allow_once")
        self.updates: list[tuple[str, dict[str, Any]]] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.notified: list[dict[str, Any]] = []
        self.lines: list[dict[str, Any]] = []
        self.stderr = b""
        # Every line with the side that said it, as acp_tap.py writes it.
        self._tape: list[str] = []
        self.greeting: dict[str, Any] = {}
        self._arguments = arguments
        self._capabilities = capabilities or {}
        self._greet = greet
        self._answers: dict[Any, asyncio.Future[Any]] = {}
        self._arrived = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._last_id = 0

    async def __aenter__(self) -> Self:
        self.process = await asyncio.create_subprocess_exec(
            *PROGRAM,
            "acp",
            *self._arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self.home.env,
            cwd=self.folder,
            limit=LONGEST_LINE,
        )
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._read_errors())]
        if self._greet:
            self.greeting = await self.initialize()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await asyncio.gather(*self._tasks)
        if tapes := os.environ.get(TAPES):
            test = os.environ["PYTEST_CURRENT_TEST"].partition("::")[2].partition(" ")[0].replace("/", "-")
            (Path(tapes) / f"{self.process.pid} {test[:150]}").write_text("\n".join(self._tape))
        # What asyncio would otherwise close while it is collected, with a warning.
        self.process._transport.close()  # type: ignore[attr-defined]

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            message = json.loads(line)
            self._note("agent", line)
            self.lines.append(message)
            if "method" not in message:
                waiting = self._answers.pop(message["id"], None)
                assert waiting is not None, f"an answer to nothing: {message}"
                if not waiting.done():
                    waiting.set_result(message)
            elif "id" in message:
                self.asked.append((message["method"], message["params"]))
                self._reply(message)
            elif message["method"] == "session/update":
                self.updates.append((message["params"]["sessionId"], message["params"]["update"]))
            else:
                self.notified.append(message)
            self._arrived.set()
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(EOFError("the agent closed its output"))
                waiting.exception()

    def _reply(self, message: dict[str, Any]) -> None:
        result = self.answer(message["method"], message["params"])
        if result is NEVER:
            return
        told = result if isinstance(result, dict) and "error" in result else {"result": result}
        self.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}).encode())

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(65536):
            self.stderr += data

    # What the editor says

    def _note(self, side: str, line: bytes) -> None:
        if TAPES in os.environ:
            self._tape.append(json.dumps({"side": side, "line": line.decode("utf-8", "backslashreplace")}))

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self._note("client", line)
        self.process.stdin.write(line + b"\n")

    def begin(self, method: str, params: Any) -> "asyncio.Future[Any]":
        """Send a request; its answer comes later."""
        self._last_id += 1
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[self._last_id] = answer
        self.write(json.dumps({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}).encode())
        return answer

    @property
    def last_id(self) -> int:
        return self._last_id

    async def request(self, method: str, **params: Any) -> Any:
        """The result of a request; its error as an exception."""
        answer = await self.begin(method, params)
        assert "result" in answer, answer
        return answer["result"]

    async def refusal(self, method: str, **params: Any) -> dict[str, Any]:
        """The error that a request ends with."""
        answer = await self.begin(method, params)
        assert "error" in answer, answer
        error: dict[str, Any] = answer["error"]
        return error

    def notify(self, method: str, **params: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    async def initialize(self) -> Any:
        info = {"name": "test-editor", "version": "1"}
        return await self.request(
            "initialize", protocolVersion=1, clientCapabilities=self._capabilities, clientInfo=info
        )

    async def new(self, *servers: dict[str, Any], cwd: Path | None = None, more: Sequence[Path] = ()) -> str:
        result = await self.request(
            "session/new",
            cwd=str(cwd or self.folder),
            mcpServers=list(servers),
            additionalDirectories=[str(path) for path in more],
        )
        return str(result["sessionId"])

    def begin_prompt(self, session: str, *blocks: str | dict[str, Any]) -> "asyncio.Future[Any]":
        prompt = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        return self.begin("session/prompt", {"sessionId": session, "prompt": prompt})

    async def prompt(self, session: str, *blocks: str | dict[str, Any]) -> str:
        """Why the turn stopped."""
        answer = await self.begin_prompt(session, *blocks)
        assert "result" in answer, answer
        return str(answer["result"]["stopReason"])

    # What it heard

    def of(self, kind: str, session: str = "") -> list[dict[str, Any]]:
        """The updates of a kind, without that word."""
        return [
            {name: value for name, value in update.items() if name != "sessionUpdate"}
            for owner, update in self.updates
            if update["sessionUpdate"] == kind and session in ("", owner)
        ]

    def said(self, session: str = "") -> str:
        """What the agent said, all of it."""
        return "".join(update["content"].get("text", "") for update in self.of("agent_message_chunk", session))

    def call(self, name: str) -> dict[str, Any]:
        """The last state of the last call of a tool, put together from its updates."""
        started = [update for update in self.of("tool_call") if update.get("name") == name]
        state = dict(started[-1])
        for update in self.of("tool_call_update"):
            if update["toolCallId"] == state["toolCallId"]:
                state |= update
        return state

    async def until(self, is_so: Callable[[], object]) -> None:
        """Wait until something that arrives makes it so."""
        while not is_so():
            self._arrived.clear()
            await self._arrived.wait()

    async def end(self, how: str = "eof") -> int:
        """End it the way `how` says, and wait; its exit code."""
        assert self.process.stdin is not None
        if how == "eof":
            self.process.stdin.close()
        else:
            self.process.send_signal(getattr(signal, how))
        return await self.process.wait()
