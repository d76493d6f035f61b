"""The steps of the tour. Each shows one thing with real parts, checks that it happened, and says what to type to do it oneself.

A command that is shown is a command that is run: by the same code as when a person types it, on the stage of stage.py. A step that does
not come out as it should ends the tour with one sentence.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from openclaw.commands.dispatch import handler
from openclaw.commands.options import SHARED
from openclaw.commands.parse import parse
from openclaw.commands.table import ROOT
from openclaw.content import Text, ToolMessage
from openclaw.demo.authorization_server import TOKEN_LIFE, AuthorizationServer
from openclaw.demo.calendar_server import NEXT_EVENT, CalendarServer
from openclaw.demo.screen import MOST_LINES, Screen
from openclaw.demo.stage import Stage
from openclaw.errors import OpenClawError
from openclaw.mcp.connect import Services
from openclaw.mcp.manager import Manager
from openclaw.mcp.status import EngineEvent, StateChanged
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.security.egress import Rules
from openclaw.security.unframe import without_frames
from openclaw.sessions.event import Said

# A step takes a second or two; one that takes this long will not end.
STEP_SECONDS = 60.0
# Where a sign-in page on this machine is given to answer.
_PAGE_SECONDS = 10.0
_TRAIN = "The train leaves at 09:40"
_AGENT = "main"


class TourError(OpenClawError):
    """A step did not come out as it should."""


class Tour:
    """What a step works with."""

    def __init__(self, stage: Stage, screen: Screen) -> None:
        self.stage = stage
        self.screen = screen

    async def run(self, *words: str, most: int = MOST_LINES) -> str:
        """Show a command, run it, and give back all it printed. Raises TourError or what the command raises."""
        self.screen.command(words)
        output = self.screen.output(most)
        parsed = parse(ROOT, words, SHARED)
        try:
            code = await handler(parsed)(self.stage.context(output.console()), parsed)
        finally:
            output.end()
        if code:
            raise TourError(f"`openclaw {' '.join(words[:2])}` ended with {code}.")
        return output.text

    async def run_showing(self, wanted: str, *words: str, most: int = MOST_LINES) -> str:
        """The same, for a command whose output must say this."""
        text = await self.run(*words, most=most)
        if wanted not in text:
            raise TourError(f"`openclaw {' '.join(words[:2])}` did not say {wanted!r}.")
        return text

    async def connect(self, name: str, module: str, *arguments: str) -> None:
        """Add a program of ours as a server."""
        program = (sys.executable, "-m", f"openclaw.demo.{module}", *arguments)
        await self.run_showing("Running", "mcp", "connect", "--name", name, "--yes", *program, most=3)

    async def manager(self) -> Manager:
        return await self.stage.app.engine.manager()

    async def pid_of(self, name: str) -> int:
        pid = next(one.pid for one in (await self.manager()).status(_AGENT) if one.name == name)
        if pid is None:
            raise TourError(f"The server {name} has no process.")
        return pid


async def agent_answers(tour: Tour) -> None:
    await tour.run_showing("trip.md", "agent", "-m", "what files are here?")
    await tour.run_showing(_TRAIN, "agent", "-m", "read trip.md", most=5)


async def server_joins(tour: Tour) -> None:
    await tour.connect("notes", "notes_server", str(tour.stage.notes))
    await tour.run_showing("notes__read_note", "agent", "-m", "read the note trip", most=5)
    tour.screen.say("The agent found the server's tool among its own, and called it.")


async def server_crashes(tour: Tour) -> None:
    before = await tour.pid_of("notes")
    async with _leaves_ready(await tour.manager(), "notes"):
        tour.screen.typed(["kill", "-9", str(before)])
        os.kill(before, signal.SIGKILL)
    await tour.run_showing(_TRAIN, "mcp", "call", "notes__read_note", "name=trip")
    after = await tour.pid_of("notes")
    if after == before:
        raise TourError("The server that was killed is still there.")
    tour.screen.say(f"OpenClaw started the server again, and the new one answered: process {before} is now {after}.")


async def server_wants_sign_in(tour: Tour) -> None:
    authorization = AuthorizationServer()
    calendar = CalendarServer(authorization)
    async with authorization.site, calendar.site:
        said = await tour.run_showing("needs-auth", "mcp", "connect", "--name", "calendar", calendar.url, most=6)
        page = next((line.strip() for line in said.splitlines() if line.strip().startswith(authorization.issuer)), "")
        if not page:
            raise TourError("The server asks for no sign-in.")
        tour.screen.say(
            "Here you would open that address in a browser and say yes. There is no browser in this tour: it asks for the page "
            "itself, is sent on to an address with a code in it, and pastes that, as you would:"
        )
        await tour.run_showing("Signed in", "mcp", "auth", "calendar", "--code", await _visit(page))
        await tour.run_showing(NEXT_EVENT, "mcp", "call", "calendar__next_event")
        tour.screen.say(
            f"Its tokens are good for {TOKEN_LIFE:g} seconds. After that, the next call gets a new one and nobody is asked:"
        )
        await asyncio.sleep(TOKEN_LIFE)
        renewals = authorization.renewals
        await tour.run_showing(NEXT_EVENT, "agent", "-m", "what is the next event in my calendar?", most=3)
        if authorization.renewals == renewals:
            raise TourError("The token that ended was not renewed.")
        await tour.run("mcp", "remove", "calendar")


async def server_lies(tour: Tour) -> None:
    await tour.connect("press", "press_server")
    tour.screen.say("What the server really sends; \\u001b starts a code that drives the terminal:")
    await tour.run_showing("\\u001b[31m", "mcp", "call", "press__headlines", "--json", most=5)
    tour.screen.say("What a model is given of it:")
    await tour.run_showing("Ferries", "agent", "--session-key", "press", "-m", "press__headlines", most=2)
    framed = await _tool_text(tour.stage, f"agent:{_AGENT}:press")
    if "\x1b" in framed or "<<<END_EXTERNAL_UNTRUSTED_CONTENT>>>" in framed:
        raise TourError("The server's text reached the model as it came.")
    tour.screen.show(framed)
    tour.screen.say(
        "The codes are gone, the forged end is replaced, and the real one has a number that no server can guess. "
        "A model may still believe what it reads: this makes it less likely, and rules say which tools it has at all."
    )


async def another_agent_orders(tour: Tour) -> None:
    spec = tour.stage.own_server()
    tour.screen.typed(["openclaw", *spec.args[2:]])
    order: Mapping[str, Any] = {"message": "read the note trip"}
    async with Manager([spec], services=Services(environ=tour.stage.env)) as client:
        tools = ", ".join(tool.name.removeprefix("openclaw__") for tool in client.tools())
        tour.screen.show(f"→ tools/list\n← {tools}")
        tour.screen.show(f"→ tools/call order_openclaw {msgspec.json.encode(order).decode()}")
        result = await client.call("openclaw__order_openclaw", order)
    answer = result.fault or "\n".join(item.text or "" for item in result.content)
    if result.is_error or _TRAIN not in answer:
        raise TourError(f"The order was not carried out: {answer[:200]}")
    tour.screen.show("← " + without_frames(answer))
    tour.screen.say(
        "One order went through OpenClaw's agent to the notes server and back. The client's model gets this framed, too."
    )


@asynccontextmanager
async def _leaves_ready(manager: Manager, server: str) -> AsyncIterator[None]:
    """Waits at the end until the engine has noticed that the server is not there any more."""
    noticed = asyncio.Event()

    def look(event: EngineEvent) -> None:
        if isinstance(event, StateChanged) and event.server == server and event.state != "ready":
            noticed.set()

    unsubscribe = manager.events.subscribe(look)
    try:
        yield
        await noticed.wait()
    finally:
        unsubscribe()


async def _visit(page: str) -> str:
    """Where a browser that opens this page is sent. Nothing outside this machine can be asked for."""
    options = ClientOptions(rules=Rules(allow_loopback=True), follow_redirects=False)
    async with HttpClient(options) as client:
        answer = await client.fetch("GET", page, timeout=_PAGE_SECONDS)
    return answer.headers.get("location", "")


async def _tool_text(stage: Stage, session: str) -> str:
    """What the last tool result of a conversation says to the model."""
    transcript = await stage.app.store.show(session)
    said = [entry.event.message for entry in transcript.entries if isinstance(entry.event, Said)]
    results = [message for message in said if isinstance(message, ToolMessage)]
    return "\n".join(block.text for block in results[-1].content if isinstance(block, Text))


class Step(msgspec.Struct, frozen=True):
    """`yourself`: commands without their first word, each with what it does."""

    title: str
    about: str
    run: Callable[[Tour], Awaitable[None]]
    yourself: tuple[tuple[str, str], ...]


STEPS = (
    Step(
        "An agent uses a tool and answers",
        "The model is builtin/offline. It needs no account and is no language model: it picks the tool that fits your words.",
        agent_answers,
        (
            ('agent -m "what files are here?"', "ask once, in the folder you are in"),
            (
                "chat",
                "a conversation; with ANTHROPIC_API_KEY or OPENAI_API_KEY set, or Ollama running, with a real model",
            ),
        ),
    ),
    Step(
        "An MCP server joins",
        "A program on this machine that serves notes. OpenClaw starts it, and its tools are the agent's.",
        server_joins,
        (
            (
                "mcp connect npx -y @modelcontextprotocol/server-filesystem ~/Documents",
                "a well-known one (needs Node.js)",
            ),
            ("mcp tools", "what your servers offer"),
        ),
    ),
    Step(
        "The server crashes",
        "Servers do. Nobody has to restart anything: the next call works.",
        server_crashes,
        (
            ("gateway start", "keep servers running between commands"),
            ("mcp servers", "how each is, with its process id: kill one, then call it"),
        ),
    ),
    Step(
        "A remote server wants you to sign in",
        "An HTTP server on this machine, with an authorization server of its own. OpenClaw is told the address and finds out the rest: "
        "where to sign in, and how to register (OAuth 2.1, PKCE).",
        server_wants_sign_in,
        (
            ("mcp connect --name example https://mcp.example.com/mcp", "a browser opens where there is one"),
            ("mcp auth example --no-browser", "on a machine without one; finish with --code, as above"),
        ),
    ),
    Step(
        "A server lies",
        "Its text pretends that the untrusted part is over, gives orders to the model, and drives your terminal.",
        server_lies,
        (
            ("sessions export KEY", "a conversation as the model saw it; `sessions` lists the keys"),
            ("audit", "every tool call, and how it ended"),
        ),
    ),
    Step(
        "Another agent gives orders",
        "OpenClaw is an MCP server too, with one tool. Its own engine plays the client here: it starts the program as Claude Code or "
        "an editor would.",
        another_agent_orders,
        (
            (
                "mcp-server --print-config claude-code",
                "what to write into the config of Claude Code; -h lists other clients",
            ),
        ),
    ),
)


async def take(tour: Tour, pause: Callable[[], Awaitable[None]], steps: Sequence[Step] = STEPS) -> None:
    """All steps, one after the other, `pause` between them. Raises TourError."""
    for number, step in enumerate(steps, 1):
        if number > 1:
            await pause()
        tour.screen.heading(f"{number} of {len(steps)}  {step.title}")
        tour.screen.say(step.about)
        tour.screen.gap()
        try:
            async with asyncio.timeout(STEP_SECONDS):
                await step.run(tour)
        except TimeoutError:
            raise TourError(f"Step {number} did not end within {STEP_SECONDS:g} s.") from None
        except BrokenPipeError:
            # Nobody looks any more.
            raise
        except OpenClawError as error:
            raise TourError(f"Step {number} failed: {error}") from None
        except OSError as error:
            raise TourError(f"Step {number} failed: {error.strerror or error}.") from None
        tour.screen.gap()
        tour.screen.yourself(step.yourself)
        tour.screen.gap()


def places(stage: Stage) -> list[tuple[str, str]]:
    """How places are shown: the stage's home is `~` for everything that runs in it."""
    return [(str(stage.home), "~"), (sys.executable, Path(sys.executable).name)]
