"""`openclaw acp client`: start an ACP agent, talk with it, see what it says, and answer what it asks.

For whoever writes or configures an agent; ours is started when no command is given. A line that is typed is a prompt. Ctrl-C cancels the
turn, and ends the program when it comes a second time or between turns. Offers neither files nor terminals to the agent.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from openclaw.acp import wire
from openclaw.acp.client.link import RunningAgent, running_agent
from openclaw.acp.client.screen import Screen, content_lines, options_line
from openclaw.acp.connection import LINE_BYTES, LostError, RequestError
from openclaw.acp.greeting import PROTOCOL_VERSION
from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.commands.own_program import command_line
from openclaw.commands.parse import Parsed
from openclaw.conversation import Answer, AskedCall, Offer, Question
from openclaw.daemon_thread import in_daemon_thread
from openclaw.errors import OpenClawError, UsageError
from openclaw.security.external import clean_label, clean_terminal
from openclaw.transport.stdio import StdioTransport
from openclaw.version import __version__

# An agent that answers nothing for so long is not there. `npx` may have to fetch it first.
_FIRST_ANSWER = 120.0
_LONGEST_NAME = 200
_INVITATION = "> "
_ALLOWS = {"allow_once": "once", "allow_always": "always"}
_REJECTS = ("reject_once", "reject_always")


async def run(context: Context, parsed: Parsed) -> int:
    console = context.console
    client = Client(console, allow=parsed.text("permissions"), shows_wire=parsed.flag("wire"))
    cwd = context.cwd / (parsed.text("cwd") or ".")
    servers = read_servers(context.cwd / parsed.text("mcp-config")) if parsed.text("mcp-config") else []
    transport = StdioTransport(
        _command(context, parsed),
        env=context.env,
        cwd=cwd,
        max_message_bytes=LINE_BYTES,
        on_stderr=lambda line: console.note(console.dim(f"agent: {line}")),
        report=client.fault,
    )
    async with running_agent(transport, client) as agent:
        try:
            session = await _begin(client, agent, parsed, str(cwd.resolve()), servers)
            turns = _Turns(client, agent, session)
            async for text in _prompts(client, parsed.text("prompt")):
                await turns.run(text)
            return turns.code
        except LostError:
            raise OpenClawError(_loss(agent.lost)) from None
        except RequestError as error:
            raise OpenClawError(f"The agent refused: {error.message} ({error.code})") from None


def _loss(reason: str) -> str:
    """The transport below knows servers only."""
    how = reason.removeprefix("The server ")
    return f"The agent {how}" if how != reason else f"The agent is gone: {reason}"


def _command(context: Context, parsed: Parsed) -> list[str]:
    words = list(parsed.many("command"))
    if server := parsed.text("server"):
        words = [server, *parsed.many("server-args"), *words]
    words = words or command_line(context, parsed, "acp")
    return [*words, "--verbose"] if parsed.flag("server-verbose") else words


def read_servers(file: Path) -> list[wire.McpServer]:
    """The servers to hand over: a JSON file with a list of them under `mcpServers`, as the protocol writes them. Raises UsageError."""
    try:
        given = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
        return msgspec.convert(given.get("mcpServers", []), list[wire.McpServer])
    except OSError as error:
        raise UsageError(f"--mcp-config {file}: {error.strerror}.") from None
    except msgspec.MsgspecError as error:
        hint = 'It looks like {"mcpServers": [{"name": "db", "command": "db-mcp", "args": [], "env": []}]}.'
        raise UsageError(f"--mcp-config {file}: {error}.", hint=hint) from None


async def _begin(
    client: "Client", agent: RunningAgent, parsed: Parsed, cwd: str, servers: Sequence[wire.McpServer]
) -> str:
    """Shake hands and open the session; its id."""
    try:
        async with asyncio.timeout(_FIRST_ANSWER):
            initialized = await agent.connection.request("initialize", client.initialize(), wire.Initialized)
    except TimeoutError:
        raise OpenClawError(
            f"The agent did not answer `initialize` within {_FIRST_ANSWER:g} s.", hint="Does this command speak ACP?"
        ) from None
    client.greet(initialized)
    handed = [_whole(server) for server in servers]
    for method, option in (("session/load", "load"), ("session/resume", "resume")):
        if id := parsed.text(option):
            opened = await agent.connection.request(method, wire.OpenSession(id, cwd, handed), wire.OpenedSession)
            client.opened(id, opened)
            return id
    opened = await agent.connection.request("session/new", wire.NewSession(cwd, handed), wire.OpenedSession)
    if not isinstance(opened.session_id, str):
        raise OpenClawError("The agent's answer to `session/new` has no sessionId.")
    client.opened(opened.session_id, opened)
    return opened.session_id


def _whole(server: wire.McpServer) -> wire.McpServer:
    """With the lists that an agent may count on, though they are empty."""
    if server.type:
        return msgspec.structs.replace(server, headers=server.headers or [])
    return msgspec.structs.replace(server, args=server.args or [], env=server.env or [])


class _Turns:
    """One prompt after the other. `code` is the exit code: 1 once one of them failed."""

    def __init__(self, client: "Client", agent: RunningAgent, session: str) -> None:
        self._client = client
        self._connection = agent.connection
        self._session = session
        self.code = 0

    async def run(self, text: str) -> None:
        prompt = wire.Prompt(self._session, [wire.Text(text)])
        turn = asyncio.ensure_future(self._connection.request("session/prompt", prompt, wire.PromptEnd))
        cancelled = False

        def interrupt() -> None:
            nonlocal cancelled
            if cancelled:
                turn.cancel()
                return
            cancelled = True
            self._client.withdraw()
            self._connection.notify(wire.CANCEL, wire.NamedSession(self._session))

        try:
            with self._client.console.interruptible(interrupt):
                end = await turn
            self._client.ended(end.stop_reason)
        except LostError:
            raise
        except RequestError as error:
            self.code = 1
            self._client.ended(f"error {error.code}: {error.message}")


async def _prompts(client: "Client", only: str) -> AsyncIterator[str]:
    if only:
        yield only
        return
    at_a_terminal = sys.stdin.isatty()
    while True:
        if at_a_terminal:
            client.invite()
        if sys.platform != "win32":
            # A question that was answered here left it otherwise, and nobody would seem to be there.
            os.set_blocking(sys.stdin.fileno(), True)
        line = await in_daemon_thread(sys.stdin.readline)
        client.typed()
        if not line:
            if at_a_terminal:
                client.console.err("\n")
            return
        if line.strip():
            yield line.rstrip("\n")


class Client:
    """The person at the terminal, as the agent knows them. `allow` answers every permission: `allow`, `reject`, or `ask` them."""

    def __init__(self, console: Console, *, allow: str = "", shows_wire: bool = False) -> None:
        self.console = console
        self._allow = allow or "ask"
        self._shows_wire = shows_wire
        self._screen = Screen()
        # Notes stand between the lines of the answer where both are seen together: on a terminal, or in one file or pipe.
        self._shares_lines = console.screen or _is_one_place()
        self._name = "agent"
        self._in_line: str = ""
        # Whether the person is to type, and nothing was printed since.
        self._invited = False
        self._asking: set[asyncio.Task[Answer]] = set()

    def invite(self) -> None:
        """The person is to type a prompt."""
        self._invited = True
        self.console.err(_INVITATION)

    def typed(self) -> None:
        self._invited = False

    def initialize(self) -> wire.Initialize:
        asker = self.console.asker
        elicitation = wire.Elicitation(form={} if asker.can("form") else None, url={} if asker.can("url") else None)
        session = wire.ClientSession(compaction={}, config_options=wire.ConfigOptionKinds(boolean={}), notices={})
        capabilities = wire.ClientCapabilities(session=session, elicitation=elicitation)
        info = wire.Implementation("openclaw-acp-client", __version__, "OpenClaw ACP client")
        return wire.Initialize(PROTOCOL_VERSION, capabilities, info)

    def greet(self, agent: wire.Initialized) -> None:
        info = agent.agent_info
        self._name = clean_label(info.title or info.name, _LONGEST_NAME) if info else "agent"
        version = f" {info.version}" if info and info.version else ""
        self._note(f"{self._name}{version}, protocol {agent.protocol_version}")
        if agent.protocol_version != PROTOCOL_VERSION:
            self.fault(f"The agent speaks version {agent.protocol_version}; this client speaks {PROTOCOL_VERSION}.")
        if agent.auth_methods:
            self._note("ways to sign in: " + ", ".join(f"{way.name} ({way.id})" for way in agent.auth_methods))

    def opened(self, session: str, opened: wire.OpenedSession) -> None:
        self._note(f"session {session}")
        if opened.modes:
            modes = " ".join(mode.id for mode in opened.modes.available_modes)
            self._note(f"mode: {opened.modes.current_mode_id} (of {modes})")
        if opened.config_options:
            self._note(options_line(opened.config_options))

    def ended(self, how: str) -> None:
        self._end_line(always=True)
        self._note(f"({how})")

    # What the agent says

    def told(self, notification: wire.SessionNotification) -> None:
        if isinstance(notification.update, wire.ToolCall):
            # What is said after it is another message.
            self._end_line(always=True)
        for line in self._screen.update(notification.update):
            if line.kind == "note":
                self._note(line.text)
            else:
                self._piece(line.text, line.kind)

    def passed(self, direction: str, line: bytes) -> None:
        if self._shows_wire:
            self._note(f"{direction} {line.decode('utf-8', 'replace')}")

    def fault(self, text: str) -> None:
        self._end_line()
        self.console.note(f"{self.console.bad('fault:')} {text}")

    def _note(self, text: str) -> None:
        self._end_line()
        if self._invited:
            # Over the invitation, which comes again below.
            self.console.err("\r")
        self.console.note(self.console.dim(text))
        if self._invited:
            self.console.err(_INVITATION)

    def _piece(self, text: str, kind: str) -> None:
        if self._in_line != kind:
            self._end_line()
        write = self.console.out if kind == "answer" else self.console.err
        cleaned = clean_terminal(text)
        write(cleaned if kind == "answer" else self.console.dim(cleaned))
        self._in_line = "" if cleaned.endswith("\n") else kind

    def _end_line(self, *, always: bool = False) -> None:
        """What comes next begins a line. In a pipe of its own a message stays as it was said, but for its end."""
        kind, self._in_line = self._in_line, ""
        if kind == "thought":
            self.console.err("\n")
        elif kind == "answer" and (always or self._shares_lines):
            self.console.out("\n")
        elif kind:
            self._in_line = kind

    # What the agent asks

    def withdraw(self) -> None:
        """The turn is cancelled: what is asked now is answered with that."""
        for task in self._asking:
            task.cancel()

    async def _ask(self, question: Question) -> Answer | None:
        """None when the turn was cancelled meanwhile."""
        self._end_line()
        task = asyncio.ensure_future(self.console.asker.ask(question))
        self._asking.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                task.cancel()
                raise
            return None
        finally:
            self._asking.discard(task)

    async def permission(self, request: wire.PermissionRequest) -> wire.PermissionAnswer:
        option = _of_kind(request.options, _REJECTS)
        if self._allow == "allow":
            option = _of_kind(request.options, tuple(_ALLOWS))
        elif self._allow == "ask":
            for part in self._screen.unseen(request.tool_call):
                # All of it: it is what the answer is about.
                self._note("\n".join(f"    {row}" for row in content_lines(part)))
            answer = await self._ask(self._question(request))
            if answer is None or answer.action == "cancel":
                option = None
            elif answer.is_yes:
                chosen = str(answer.content.get("option", ""))
                option = next((one for one in request.options if one.option_id == chosen), None)
        self._note(f"permission: {option.name if option else 'cancelled'}")
        if option is None:
            return wire.PermissionAnswer(wire.PermissionOutcome("cancelled"))
        return wire.PermissionAnswer(wire.PermissionOutcome("selected", option.option_id))

    def _question(self, request: wire.PermissionRequest) -> Question:
        allowing = [option for option in request.options if option.kind in _ALLOWS]
        call = request.tool_call
        given = call.raw_input
        arguments: Mapping[str, Any] = given if isinstance(given, dict) else {} if not given else {"input": given}
        title = self._screen.title(call)
        asked = AskedCall(
            title,
            title,
            self._name,
            arguments,
            offers=tuple(
                Offer(option.option_id, "y" if number == 0 else "a", option.name, _ALLOWS[option.kind])  # type: ignore[arg-type]
                for number, option in enumerate(allowing)
            ),
        )
        return Question("approval", title, self._name, options=tuple(o.option_id for o in allowing), approval=asked)

    async def elicitation(self, request: wire.ElicitationRequest) -> wire.ElicitationAnswer:
        if request.mode == "url":
            question = Question("url", request.message, self._name, url=str(request.url))
        else:
            schema = request.requested_schema
            question = Question("form", request.message, self._name, schema=schema if isinstance(schema, dict) else {})
        answer = await self._ask(question)
        action = answer.action if answer is not None else "cancel"
        content = dict(answer.content) if answer is not None and action == "accept" and request.mode == "form" else None
        self._note(f"elicitation: {action}")
        return wire.ElicitationAnswer(action, content)


def _of_kind(options: Sequence[wire.PermissionOption], kinds: Sequence[str]) -> wire.PermissionOption | None:
    """The first option of the first of these kinds that there is."""
    return next((option for kind in kinds for option in options if option.kind == kind), None)


def _is_one_place() -> bool:
    """Whether standard output and standard error go to the same place (`2>&1`)."""
    try:
        return os.path.samestat(os.fstat(1), os.fstat(2))
    except OSError:
        return False
