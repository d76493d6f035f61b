"""A conversation line by line: what a line does, and how it may go on, wherever it is typed.

`openclaw chat` reads the lines and hands each to a running gateway as `openclaw line`: servers, agents and conversations are the
gateway's. Without one it runs the same code on an App of its own (cli/chat.py).
"""

import asyncio
from contextlib import nullcontext

import msgspec

from openclaw.app import App
from openclaw.commands.agent import StreamPrinter
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.commands.references import FullMessage, argument_words, is_prompt, prompt_names, with_resources
from openclaw.commands.slash import BUILT_IN, Chat
from openclaw.commands.slash import run as slash
from openclaw.errors import OpenClawError

# The conversation of a person at a terminal, unless they name another.
MAIN = "main"
# A completion that takes longer is of no use to somebody who types.
COMPLETION_SECONDS = 2.0
# The exit code of a line that says goodbye: beyond those that tell of a failure.
LEAVE = 10


async def run(context: Context, parsed: Parsed) -> int:
    async with context.open_app() as app:
        chat = await begin(app, context, parsed)
        line = parsed.text("text")
        if parsed.flag("complete"):
            context.console.data(await completions(chat, line))
        elif not line:
            await greet(chat)
        else:
            return LEAVE if await say(chat, line) else 0
    return 0


async def begin(app: App, context: Context, parsed: Parsed) -> Chat:
    """The conversation that the options name, its servers on their way. Raises UsageError when there is no such agent."""
    here = msgspec.structs.replace(
        context, open_app=lambda: nullcontext(app), open_engine=lambda: nullcontext(app.engine), surface="chat"
    )
    chat = Chat(app, here, parsed.text("agent"), parsed.text("session-key") or MAIN)
    (await app.engine.manager()).start(chat.spec.id)
    return chat


async def greet(chat: Chat) -> None:
    """Who answers, and by what."""
    selection = await chat.app.selection(chat.spec)
    found = f" ({selection.found})" if selection.found else ""
    console = chat.console
    console.note(console.dim(f"{chat.spec.id} on {selection.name}{found}. /help for commands, Ctrl-D to leave."))


async def say(chat: Chat, line: str) -> bool:
    """One line of the person's. Whether they want to leave. Raises OpenClawError."""
    if not line.startswith("/"):
        await _answer(chat, await with_resources(await chat.app.engine.manager(), chat.spec.id, line))
        return False
    outcome = await slash(chat, line)
    if outcome.said is not None:
        await _answer(chat, outcome.said)
    return outcome.leave


async def _answer(chat: Chat, said: FullMessage) -> None:
    printer = StreamPrinter(chat.console)
    reply = await chat.app.reply(
        said.message,
        blocks=said.blocks,
        agent=chat.agent,
        session_key=chat.key,
        on_event=printer,
        patience=chat.app.engine.startup_grace,
        workspace=chat.context.cwd,
    )
    printer.end(reply)


async def completions(chat: Chat, typed: str) -> list[str]:
    """How the last word after the slash may go on: commands, prompts of servers that are up, and the arguments of those."""
    manager, agent = await chat.app.engine.manager(), chat.spec.id
    name, blank, rest = typed.partition(" ")
    try:
        async with asyncio.timeout(COMPLETION_SECONDS):
            if not blank:
                skills = await asyncio.to_thread(chat.skills)
                return [*sorted({*BUILT_IN, *skills.commands}), *await prompt_names(manager, agent)]
            return await argument_words(manager, agent, name, rest) if is_prompt(manager, agent, name) else []
    except (TimeoutError, OpenClawError):
        return []
