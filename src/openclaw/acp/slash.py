"""What a person types after a slash in a client: which commands there are, and how one runs there.

The commands are those of every conversation (`commands/slash.py`): what they print becomes part of the answer, and so does what they
refuse. `/help` lists those that there are here. A word that names none goes to the model as text. Leaving is the client's business, and so
is starting over where the client has sessions.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path

from openclaw.acp import wire
from openclaw.app import App
from openclaw.commands.chat_state import Chat
from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.commands.references import FullMessage, is_prompt
from openclaw.commands.slash import BUILT_IN, run
from openclaw.commands.table import tree
from openclaw.conversation import Asker
from openclaw.errors import OpenClawError
from openclaw.log import one_line
from openclaw.workplace import SLASH_WORDS

# They are about a terminal, or about what its next lines go to: sessions, models and attachments are chosen in the client.
_NOT_HERE = ("quit", "exit", "sessions", "resume", "model", "attach", "copy")
_HINTS = {"skill": "NAME [words]", "approve": "ID allow-once, allow-always or deny"}
_HELP = "help"
_WIDTH = 100
_LONGEST_DESCRIPTION = 200

Say = Callable[[str], None]
# Runs one line: what is to be said to the model instead, if anything is.
Command = Callable[[Say, Asker], Awaitable[FullMessage | None]]


class SlashCommands:
    """`reads_only` says whether a command's tool may change something now."""

    def __init__(
        self, app: App, agent: str, key: str, folders: tuple[Path, ...], reads_only: Callable[[], bool]
    ) -> None:
        self._app = app
        self._agent = agent
        self._key = key
        self._folders = folders
        self._reads_only = reads_only

    async def available(self) -> list[wire.AvailableCommand]:
        chat = self._chat(Console(_unseen, _unseen))
        skills = await asyncio.to_thread(chat.skills)
        built_in = [(name, told) for name, told in SLASH_WORDS.items() if name not in _NOT_HERE]
        rows = built_in + [(name, command.skill.description) for name, command in skills.commands.items()]
        rows += (await chat.served()).descriptions().items()
        return [
            wire.AvailableCommand(
                name,
                one_line(told, _LONGEST_DESCRIPTION),
                wire.CommandInput(_HINTS[name]) if name in _HINTS else None,
            )
            for name, told in rows
        ]

    async def find(self, line: str) -> Command | None:
        """The command that a line names; None when it names none."""
        name = line[1:].strip().partition(" ")[0]
        if not name or name in _NOT_HERE:
            return None
        chat = self._chat(Console(_unseen, _unseen))
        if name.lower() not in BUILT_IN and not is_prompt(await self._app.engine.manager(), chat.spec.id, name):
            skills = await asyncio.to_thread(chat.skills)
            if skills.find(name) is None and (await chat.served()).tool(name) is None:
                return None

        async def command(say: Say, asker: Asker) -> FullMessage | None:
            console = Console(out=say, err=say, width=_WIDTH, asker=asker)
            if name.lower() == _HELP:
                rows = [(f"/{one.name}", one.description) for one in await self.available()]
                console.table(("command", "what it does"), rows)
                return None
            try:
                return (await run(self._chat(console), line)).said
            except OpenClawError as error:
                # Nothing failed but what was typed: a client would show an error of the protocol as a broken agent.
                console.line(str(error))
                return None

        return command

    def _chat(self, console: Console) -> Chat:
        app = self._app
        context = Context(
            console=console,
            paths=app.paths,
            env=app.engine.env,
            cwd=self._folders[0],
            open_app=lambda: nullcontext(app),
            open_engine=lambda: nullcontext(app.engine),
            root=tree(),
            surface="chat",
        )
        return Chat(
            app,
            context,
            self._agent,
            self._key,
            folders=self._folders,
            reads_only=self._reads_only(),
            can_switch=False,
        )


def _unseen(text: str) -> None:
    return None
