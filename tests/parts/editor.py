"""An editor that speaks to `openclaw acp` line by line, with a person who answers its questions.

async with Editor(home, folder) as editor:
    session = await editor.new()
    assert (await editor.prompt(session, "hello")) == "end_turn"

`Editor` starts the program, as editors do. `NearEditor` has the agent in the process of the test, which costs a tenth: for everything that
is not about processes, signals and pipes.
"""

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from openclaw.acp import wire
from openclaw.acp.agent import AcpAgent
from openclaw.acp.connection import Connection, Pace
from openclaw.acp.model import missing_model
from openclaw.acp.sessions import Options, Sessions
from openclaw.content import to_json
from openclaw.control.app_host import AppHost
from parts.gateways import PROGRAM, Home
from parts.piped import PipedProcess

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


class Talk:
    """What an editor says and hears. `updates` are what happened, each with its session; `asked` what the agent asked. `answer` may be
    changed at any time."""

    def __init__(
        self,
        home: Home,
        folder: Path,
        *,
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
        # Every line with the side that said it, as acp_tap.py writes it.
        self._tape: list[str] = []
        self.greeting: dict[str, Any] = {}
        self._capabilities = capabilities or {}
        self._greet = greet
        self._answers: dict[Any, asyncio.Future[Any]] = {}
        self._arrived = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._last_id = 0

    def write(self, line: bytes) -> None:
        raise NotImplementedError

    def _heard(self, line: bytes) -> None:
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

    def _ended(self) -> None:
        """The agent says nothing any more."""
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(EOFError("the agent closed its output"))
                waiting.exception()

    def _keep_tape(self) -> None:
        if tapes := os.environ.get(TAPES):
            test = os.environ["PYTEST_CURRENT_TEST"].partition("::")[2].partition(" ")[0].replace("/", "-")
            (Path(tapes) / f"{id(self)} {test[:150]}").write_text("\n".join(self._tape))

    def _reply(self, message: dict[str, Any]) -> None:
        result = self.answer(message["method"], message["params"])
        if result is NEVER:
            return
        told = result if isinstance(result, dict) and "error" in result else {"result": result}
        self.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}).encode())

    # What the editor says

    def _note(self, side: str, line: bytes) -> None:
        if TAPES in os.environ:
            self._tape.append(json.dumps({"side": side, "line": line.decode("utf-8", "backslashreplace")}))

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


class Editor(Talk):
    """The program, in a process of its own; `fresh`: with an interpreter of its own, too."""

    def __init__(self, home: Home, folder: Path, *arguments: str, fresh: bool = False, **options: Any) -> None:
        super().__init__(home, folder, **options)
        self._piped = PipedProcess([*PROGRAM, "acp", *arguments], env=home.env, cwd=folder, fresh=fresh)

    async def __aenter__(self) -> Self:
        await self._piped.start(self._heard, self._ended)
        if self._greet:
            self.greeting = await self.initialize()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._piped.kill()
        self._keep_tape()

    @property
    def process(self) -> PipedProcess:
        return self._piped

    @property
    def stderr(self) -> bytes:
        return self._piped.stderr

    def write(self, line: bytes) -> None:
        self._note("client", line)
        self._piped.write(line)

    async def end(self, how: str = "eof") -> int:
        """End it the way `how` says, and wait; its exit code."""
        return await self._piped.end(how)


class NearEditor(Talk):
    """The agent in this process. It is loaded once for all tests, and nothing of it is left when this ends."""

    def __init__(
        self, home: Home, folder: Path, *, options: Options | None = None, pace: Pace | None = None, **more: Any
    ) -> None:
        super().__init__(home, folder, **more)
        self._host = AppHost("", home.env, folder, lambda section: None)
        self._options = options or Options()
        self._connection = Connection(self._tell, pace)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._agent = AcpAgent(self._sessions, self._has_model)
        self._connection.serve(self._agent)
        if self._greet:
            self.greeting = await self.initialize()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._connection.lose()
        await self._agent.close()
        await self._connection.stop()
        await self._host.close()
        self._ended()
        self._keep_tape()

    async def kept(self, session: str) -> str:
        """What is on disk of a session, as JSON."""
        return to_json(await (await self._host.app()).store.show(f"agent:main:{session}")).decode()

    async def _has_model(self) -> bool:
        return not await missing_model(await self._host.app(), self._options.agent, self._options.session)

    async def _sessions(self, client: wire.Initialize) -> Sessions:
        return Sessions(self._host.app, self._host.paths(), self._connection, client, self._options)

    def write(self, line: bytes) -> None:
        self._note("client", line)
        self._loop.call_soon(self._connection.receive, line)

    def _tell(self, line: bytes) -> None:
        self._loop.call_soon(self._heard, line)
