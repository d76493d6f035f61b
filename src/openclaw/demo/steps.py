"""The steps of the tour. Each shows one thing with real parts, checks that it happened, and says what to type to do it oneself.

Every command that is offered works as it stands, in this order, in a home that knows nothing of OpenClaw yet.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

from openclaw.content import Text, ToolMessage, to_json
from openclaw.demo.authorization_server import TOKEN_LIFE, AuthorizationServer
from openclaw.demo.calendar_server import NEXT_EVENT, CalendarServer
from openclaw.demo.sdk_client import NO_SDK
from openclaw.demo.stage import Stage
from openclaw.demo.tour import AGENT, Step, Tour, TourError
from openclaw.event_hub import Event
from openclaw.mcp.connect import Dependencies
from openclaw.mcp.events import StateChanged
from openclaw.mcp.manager import Manager
from openclaw.net.client import ClientOptions, HttpClient
from openclaw.process.run import run
from openclaw.security.egress import Rules
from openclaw.security.unframe import without_frames
from openclaw.sessions.event import Said

# Windows has no such signal.
_KILL: int | None = getattr(signal, "SIGKILL", None)
# Where a sign-in page on this machine is given to answer.
_PAGE_SECONDS = 10.0
# What another program's client is given to carry out one order; it loads for a second.
_CLIENT_SECONDS = 50.0
_TRAIN = "The train leaves at 09:40"
_ORDER = "read the note trip"
# Lines that are read together: a call with a new token, one with the attack, a frame with what is in it and what is said about it, and an
# order with its answer.
_RENEWAL_LINES = 7
_SENT_LINES = 10
# By folding, the attack takes this many lines more than it was printed in.
_FOLDED_LINES = 3
_FRAME_LINES = 19
_DIALOGUE_LINES = 11


async def agent_answers(tour: Tour) -> None:
    await tour.run_showing("trip.md", "agent", "-m", "what files are here?", most=3)
    await tour.run_showing(_TRAIN, "agent", "-m", "read trip.md", most=5)


async def server_joins(tour: Tour) -> None:
    await tour.connect("notes", "notes_server", str(tour.stage.notes))
    await tour.run_showing("notes__read_note", "agent", "-m", _ORDER, most=5)
    await tour.screen.say("The agent found the server's tool among its own, and called it.")


async def server_crashes(tour: Tour) -> None:
    before = await tour.pid_of("notes")
    async with _leaves_ready(await tour.manager(), "notes"):
        await tour.screen.typed(["kill", "-9", str(before)] if _KILL else ["taskkill", "/F", "/PID", str(before)])
        # SIGTERM ends a process there and then on Windows, which has no other.
        os.kill(before, _KILL or signal.SIGTERM)
    await tour.run_showing(_TRAIN, "mcp", "call", "notes__read_note", "name=trip")
    after = await tour.pid_of("notes")
    if after == before:
        raise TourError("The server that was killed is still there.")
    await tour.screen.say(
        f"OpenClaw started the server again, and the new one answered: process {before} is now {after}."
    )


async def server_wants_sign_in(tour: Tour) -> None:
    authorization = AuthorizationServer()
    calendar = CalendarServer(authorization)
    async with authorization.site, calendar.site:
        said = await tour.run_showing("needs-auth", "mcp", "connect", "--name", "calendar", calendar.url, most=2)
        page = next((line.strip() for line in said.splitlines() if line.strip().startswith(authorization.issuer)), "")
        if not page:
            raise TourError("The server asks for no sign-in.")
        await tour.screen.say(
            "Here you would open that address in a browser and say yes. There is no browser in this tour: it asks for the page "
            "itself, is sent on to an address with a code in it, and pastes that, as you would:"
        )
        await tour.run_showing("Signed in", "mcp", "auth", "calendar", "--code", await _visit(page), most=1)
        await tour.run_showing(NEXT_EVENT, "mcp", "call", "calendar__next_event", most=1)
        await tour.screen.say(
            f"Its tokens are good for {TOKEN_LIFE:g} seconds. After that, the next call gets a new one and nobody is asked:",
            ahead=_RENEWAL_LINES,
        )
        await asyncio.sleep(TOKEN_LIFE)
        renewals = authorization.renewals
        await tour.run_showing(NEXT_EVENT, "agent", "-m", "what is the next event in my calendar?", most=3)
        if authorization.renewals == renewals:
            raise TourError("The token that ended was not renewed.")
        await tour.run("mcp", "remove", "calendar", most=1)


async def server_lies(tour: Tour) -> None:
    await tour.connect("press", "press_server")
    sent = ("mcp", "call", "press__headlines", "--json")
    await tour.screen.say(
        "What the server really sends; \\u001b starts a code that drives the terminal:", ahead=_SENT_LINES
    )
    await tour.run_showing("\\u001b[31m", *sent, most=5, ahead=_FOLDED_LINES)
    turn = ("agent", "--session-key", "press", "-m", "press__headlines")
    await tour.run_showing("Ferries", *turn, most=1, ahead=_FRAME_LINES)
    framed = await _tool_text(tour.stage, f"agent:{AGENT}:press")
    if "\x1b" in framed or "<<<END_EXTERNAL_UNTRUSTED_CONTENT>>>" in framed:
        raise TourError("The server's text reached the model as it came.")
    await tour.screen.say("What a model is given of it:")
    await tour.screen.show(_in_short(framed))
    await tour.screen.say(
        "The codes are gone, the forged end is replaced, and the real one has a number that no server can guess. "
        "A model may still believe what it reads: this makes it less likely, and rules say which tools it has at all."
    )


async def another_agent_orders(tour: Tour) -> None:
    if not await _sdk_orders(tour):
        await _engine_orders(tour)
    await tour.screen.say(
        "One order went through OpenClaw's agent to the notes server and back. The client's model gets this framed, too."
    )


async def _sdk_orders(tour: Tour) -> bool:
    """By the official client, in a process of its own. False where there is none that can be used."""
    if find_spec("mcp") is None:
        return False
    program = [sys.executable, "-m", "openclaw.demo.sdk_client", _ORDER]
    await tour.screen.typed(program, ahead=_DIALOGUE_LINES)
    env = {**tour.stage.env, "PYTHONIOENCODING": "utf-8"}
    done = await run(program, timeout=_CLIENT_SECONDS, env=env, cwd=tour.stage.notes)
    said = (done.stdout or done.stderr).decode(errors="replace").rstrip("\n")
    await tour.screen.show(said)
    if done.returncode == NO_SDK:
        return False
    if done.returncode or _TRAIN not in said:
        raise TourError("The order was not carried out.")
    tour.offer('{python} -m openclaw.demo.sdk_client "' + _ORDER + '"', "the same order, to the OpenClaw of your home")
    return True


async def _engine_orders(tour: Tour) -> None:
    """By our own client."""
    await tour.screen.say(
        "The official Python SDK of MCP is not installed here, so OpenClaw's own client is used:",
        ahead=_DIALOGUE_LINES,
    )
    await tour.screen.command(["mcp-server"])
    order: Mapping[str, Any] = {"message": _ORDER}
    async with Manager([tour.stage.own_server()], dependencies=Dependencies(environ=tour.stage.env)) as client:
        tools = ", ".join(tool.name.removeprefix("openclaw__") for tool in client.tools())
        await tour.screen.show(f"→ tools/list\n← {tools}")
        await tour.screen.show(f"→ tools/call order_openclaw {to_json(order).decode()}")
        result = await client.call("openclaw__order_openclaw", order)
    answer = result.fault or "\n".join(item.text or "" for item in result.content)
    if result.is_error or _TRAIN not in answer:
        raise TourError(f"The order was not carried out: {answer[:200]}")
    await tour.screen.show("← " + without_frames(answer))


@asynccontextmanager
async def _leaves_ready(manager: Manager, server: str) -> AsyncIterator[None]:
    """Waits at the end until the client has noticed that the server is not there any more."""
    noticed = asyncio.Event()

    def look(event: Event[StateChanged]) -> None:
        if event.value.server == server and event.value.state != "ready":
            noticed.set()

    unsubscribe = manager.events.subscribe(look, StateChanged)
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


def _in_short(framed: str) -> str:
    """A framed text with the first and the last sentence of the notice that stands before it."""
    notice, mark, rest = framed.partition("<<<EXTERNAL_UNTRUSTED_CONTENT")
    sentences = notice.strip().split("\n")
    return "\n".join([sentences[0], "…", sentences[-1], mark + rest])


STEPS = (
    Step(
        "An agent uses a tool and answers",
        "The model is builtin/offline. It needs no account and is no language model: it picks the tool that fits your words.",
        agent_answers,
        (
            ('{openclaw} agent -m "what files are here?"', "ask once, in the folder you are in"),
            (
                "{openclaw} chat",
                "a conversation; with ANTHROPIC_API_KEY or OPENAI_API_KEY set, or Ollama running, with a real model",
            ),
        ),
    ),
    Step(
        "An MCP server joins",
        "A program on this machine that serves notes. OpenClaw starts it, and its tools are the agent's.",
        server_joins,
        (
            (f'mkdir -p ~/notes && echo "{_TRAIN}" >> ~/notes/trip.md', "a note to serve"),
            (
                "{openclaw} mcp connect --name notes --yes {python} -m openclaw.demo.notes_server ~/notes",
                "the server above, in your config; `mcp remove notes` takes it out again",
            ),
            ('{openclaw} agent -m "' + _ORDER + '"', ""),
            ("{openclaw} mcp tools", "what your servers offer"),
        ),
    ),
    Step(
        "The server crashes",
        "Servers do. Nobody has to restart anything: the next call works.",
        server_crashes,
        (
            ("{openclaw} gateway start", "keeps servers running between commands, such as the one of step 2"),
            ("{openclaw} mcp call notes__read_note name=trip", ""),
            ('pkill -9 -f "notes_server $HOME/notes"', "kills it, as the crash above did"),
            ("{openclaw} mcp call notes__read_note name=trip", "answers again"),
            ("{openclaw} gateway stop", ""),
        ),
    ),
    Step(
        "A remote server wants you to sign in",
        "An HTTP server on this machine, with an authorization server of its own. OpenClaw is told the address and finds out the rest: "
        "where to sign in, and how to register (OAuth 2.1, PKCE).",
        server_wants_sign_in,
        (
            (
                "{python} -m openclaw.demo.calendar_server",
                "the two servers above, in another terminal; it prints an address, and Enter ends it",
            ),
            (
                "{openclaw} mcp connect --name calendar <URL>",
                "with that address, or a server of your own; a browser opens where there is one. "
                "Then `mcp call calendar__next_event` answers.",
            ),
            ("{openclaw} mcp remove calendar", ""),
        ),
    ),
    Step(
        "A server lies",
        "Its text pretends that the untrusted part is over, gives orders to the model, and drives your terminal.",
        server_lies,
        (
            (
                "{openclaw} mcp connect --name press --yes {python} -m openclaw.demo.press_server",
                "the server above; all it does is talk",
            ),
            ("{openclaw} mcp call press__headlines --json", "what it sends"),
            ("{openclaw} agent --session-key press -m press__headlines", ""),
            (
                f"{{openclaw}} sessions export agent:{AGENT}:press | grep toolResult",
                "what the model was given of it, as JSON",
            ),
            ("{openclaw} audit", "every tool call, and how it ended"),
            ("{openclaw} mcp remove press", ""),
        ),
    ),
    Step(
        "Another agent gives orders",
        "OpenClaw is an MCP server too, with one tool: order_openclaw. A client starts it as Claude Code or an editor would.",
        another_agent_orders,
        (
            (
                "{openclaw} mcp-server --print-config claude-code",
                "what to write into the config of Claude Code; -h lists other clients",
            ),
        ),
    ),
)


def steps(*, files_work: bool) -> Sequence[Step]:
    """The first is about files: where their tools are missing, the tour begins with the second."""
    return STEPS if files_work else STEPS[1:]
