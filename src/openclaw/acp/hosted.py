"""`openclaw acp host`: the agent of an editor inside a gateway. Its input are the lines of the client, its output those of the agent.

The App is the gateway's, which stays when the client leaves; what this client opened ends with it.
"""

from contextlib import suppress

from openclaw.acp import wire
from openclaw.acp.agent import AcpAgent
from openclaw.acp.connection import LINE_BYTES, Connection, RequestError, params_of
from openclaw.acp.model import missing_model
from openclaw.acp.sessions import Options, Sessions
from openclaw.app import App
from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.errors import OpenClawError
from openclaw.protocol.framing import LineFramer
from openclaw.protocol.jsonrpc import Request
from openclaw.protocol.strict_lines import read


async def run(context: Context, parsed: Parsed) -> int:
    options = Options(
        agent=parsed.text("agent"),
        session=parsed.text("session"),
        reset_session=parsed.flag("reset-session"),
        require_existing=parsed.flag("require-existing"),
        allow_client_servers=parsed.flag("allow-client-servers"),
    )
    console = context.console
    connection = Connection(lambda line: console.out(line.decode("utf-8", "replace") + "\n"), _Terminal(console))
    async with context.open_app() as app:

        async def current() -> App:
            return app

        async def has_model() -> bool:
            try:
                return not await missing_model(app, options.agent, options.session)
            except OpenClawError:
                return False

        async def sessions(client: wire.Initialize) -> Sessions:
            return Sessions(current, app.paths, connection, client, options)

        framer, agent = LineFramer(LINE_BYTES), None
        try:
            async for piece in console.pieces():
                for line in framer.feed(piece):
                    if agent is None:
                        greeted = _greeted(line) if parsed.flag("greeted") else None
                        agent = AcpAgent(sessions, has_model, greeted)
                        connection.serve(agent)
                        if greeted is not None:
                            continue
                    connection.receive(line)
        finally:
            connection.lose()
            if agent is not None:
                await agent.close()
            await connection.stop()
    return 0


class _Terminal:
    """The pace of the process that hands our lines on."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @property
    def is_behind(self) -> bool:
        return self._console.is_behind()

    async def caught_up(self) -> None:
        # One that is gone is noticed by who reads from it.
        with suppress(OSError):
            await self._console.flush()


def _greeted(line: object) -> wire.Initialize | None:
    """The `initialize` that was answered already, where the client is."""
    request = read(line) if isinstance(line, bytes) else None
    try:
        return params_of(request, wire.Initialize) if isinstance(request, Request) else None
    except RequestError:
        return None
