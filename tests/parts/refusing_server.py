"""An HTTP server with one tool that refuses calls in every way a server may, and counts how often the tool really ran.

    async with RefusingServer() as server:
        server.refusals["k"] = Refusal(404, "ours")      # what becomes of the next call with the key k
        ... call `run` with {"key": "k"}, then look at server.runs["k"]

It speaks HTTP itself, byte by byte, so that an answer can be cut anywhere. `random_refusal` draws one from a seed; `survive` makes many
calls that are refused so, and says what became of them.
"""

import asyncio
import itertools
import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from openclaw.config.servers import ServerSpec
from openclaw.conversation import Answer, Question, QuestionKind
from openclaw.errors import ConnectError, SignInNeededError, StepUpNeededError
from openclaw.mcp.connect import Dependencies
from openclaw.mcp.manager import Manager

STATUSES = (400, 401, 403, 404, 429, 500)
# Whose answer a refusal is, by its id; `text` is no JSON at all.
Whose = Literal["ours", "null", "absent", "other", "text"]
WHOSE: tuple[Whose, ...] = get_args(Whose)
Framing = Literal["length", "chunked", "close"]
FRAMINGS: tuple[Framing, ...] = get_args(Framing)
SESSION_WORDS = ("Bad Request: No valid session ID provided", "Session not found", "Server not initialized")
FORGOTTEN_AGAIN = "The server no longer knows the MCP session."


@dataclass(frozen=True)
class Refusal:
    status: int
    whose: Whose
    words: str = "Refused."
    framing: Framing = "length"
    retry_after: bool = False
    # The answer is cut off after so many bytes; None leaves it whole.
    cut: int | None = None

    @property
    def forgets_session(self) -> bool:
        """Whether this is how a server that does not know the MCP session answers, before it looks at the request."""
        if self.whose == "ours" or (self.status == 400 and self.whose == "other"):
            return False
        return self.status == 404 or (self.status == 400 and self.words.startswith(SESSION_WORDS))

    @property
    def comes_first(self) -> bool:
        """Whether an honest server that answers so has not run the tool."""
        credentials = self.status in (401, 403) and self.whose != "ours"
        limited = self.status == 429 and self.retry_after and self.whose != "ours"
        return credentials or limited or self.forgets_session

    def body(self, id: Any) -> bytes:
        if self.whose == "text":
            return self.words.encode()
        ids = {"ours": {"id": id}, "null": {"id": None}, "other": {"id": "server-error"}, "absent": {}}
        error = {"code": -32000, "message": self.words}
        return json.dumps({"jsonrpc": "2.0", "error": error, **ids[self.whose]}).encode()


def random_refusal(chance: random.Random, words: str) -> Refusal:
    said = f"{chance.choice(SESSION_WORDS)}: {words}" if chance.random() < 0.5 else words
    status, whose = chance.choice(STATUSES), chance.choice(WHOSE)
    framing = chance.choice(FRAMINGS)
    cut = chance.randrange(400) if chance.random() < 0.3 else None
    return Refusal(status, whose, said, framing, chance.random() < 0.5, cut)


class RefusingServer:
    def __init__(self) -> None:
        self.refusals: dict[str, Refusal] = {}
        self.runs: Counter[str] = Counter()
        # Tool calls that came, whatever became of them.
        self.calls = 0
        self.sessions_begun = 0
        # Whether no session is known when it is used for a call.
        self.forgetful = False
        self.url = ""
        self._sessions: set[str] = set()
        self._numbers = itertools.count(1)
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> "RefusingServer":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/mcp"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(fields.get("content-length", 0)))
        if not head[0].startswith("POST"):
            writer.write(response(405, b""))
            return True
        message = json.loads(body)
        if "id" not in message:
            writer.write(response(202, b""))
            return True
        data, cut, keeps = self._answer(message, fields.get("mcp-session-id", ""))
        writer.write(data if cut is None else data[:cut])
        await writer.drain()
        if cut is not None and cut % 2:
            writer.transport.abort()
        return keeps and cut is None

    def _answer(self, message: dict[str, Any], session: str) -> tuple[bytes, int | None, bool]:
        """The bytes of the answer, where they are cut off, and whether the connection goes on."""
        id, method = message["id"], message["method"]
        if method == "initialize":
            made = f"session-{next(self._numbers)}"
            self._sessions.add(made)
            self.sessions_begun += 1
            about = {"serverInfo": {"name": "refusing", "version": "1"}, "capabilities": {"tools": {}}}
            answer = result(id, {"protocolVersion": "2025-11-25", **about})
            return response(200, answer, {"Mcp-Session-Id": made}), None, True
        self.calls += method == "tools/call"
        if session not in self._sessions or (self.forgetful and method == "tools/call"):
            return response(404, Refusal(404, "null", "Session not found").body(id)), None, True
        if method == "tools/list":
            tool = {"name": "run", "inputSchema": {"type": "object"}}
            return response(200, result(id, {"tools": [tool]})), None, True
        if method != "tools/call":
            return response(200, result(id, {})), None, True
        key = message["params"]["arguments"]["key"]
        refusal = self.refusals.pop(key, None)
        if refusal is None or not refusal.comes_first:
            self.runs[key] += 1
        if refusal is None:
            return response(200, result(id, {"content": [{"type": "text", "text": "done"}]})), None, True
        if refusal.forgets_session:
            self._sessions.discard(session)
        kind = "text/plain" if refusal.whose == "text" else "application/json"
        extra = {"Retry-After": "0"} if refusal.retry_after else {}
        data = response(refusal.status, refusal.body(id), extra, kind=kind, framing=refusal.framing)
        return data, refusal.cut, refusal.framing != "close"


def result(id: Any, value: Mapping[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": value}).encode()


def response(
    status: int,
    body: bytes,
    headers: Mapping[str, str] | None = None,
    *,
    kind: str = "application/json",
    framing: Framing = "length",
) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {kind}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    if framing == "length":
        lines.append(f"Content-Length: {len(body)}")
    elif framing == "chunked":
        lines.append("Transfer-Encoding: chunked")
        body = (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"
    return "\r\n".join([*lines, "", ""]).encode() + body


class Renewing:
    """Credentials that are new after every challenge."""

    def __init__(self) -> None:
        self._number = 1

    async def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self._number}"}

    async def challenged(self, status: int, headers: Mapping[str, str], sent: Mapping[str, str]) -> bool:
        self._number += 1
        return True


class SignedOut:
    """Credentials that only a person can renew: whoever is asked (`ask`) signs in at once.

    With `away` their authorization server cannot be reached.
    """

    def __init__(self, *, away: bool = False) -> None:
        self.asked: list[str] = []
        self._away = away

    async def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {len(self.asked)}"}

    async def challenged(self, status: int, headers: Mapping[str, str], sent: Mapping[str, str]) -> bool:
        if self._away:
            raise ConnectError("The authorization server cannot be reached.")
        raise (SignInNeededError if status == 401 else StepUpNeededError)("Somebody has to sign in.")

    def can(self, kind: QuestionKind) -> bool:
        return kind == "sign-in"

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question.server)
        return Answer("accept")


async def survive(seed: int, calls: int) -> None:
    """Make so many calls, most of them refused: each runs at most once, and its caller hears what the server said."""
    chance = random.Random(seed)
    dependencies = Dependencies(authorize=lambda spec: Renewing())
    async with RefusingServer() as server:
        spec = ServerSpec("shop", transport="streamable-http", url=server.url)
        async with Manager([spec], dependencies=dependencies) as manager:
            for number in range(calls):
                key = f"k{number}"
                refusal = server.refusals[key] = random_refusal(chance, f"reason {number}.")
                outcome = await manager.call("shop__run", {"key": key})
                said = outcome.fault + "".join(block.text or "" for block in outcome.content)
                case = (seed, number, refusal, said, server.runs[key])
                assert server.runs[key] <= 1, case
                if said == FORGOTTEN_AGAIN:
                    # The call before had lost the session already: a second time in one call is given up.
                    assert (server.runs[key], refusal.forgets_session) == (0, True), case
                elif refusal.cut is None and refusal.framing != "close":
                    honest = refusal.comes_first
                    assert (said == "done") == honest, case
                    assert honest or refusal.words in said, case
