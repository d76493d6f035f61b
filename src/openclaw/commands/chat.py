"""A conversation line by line: what a line does, and how it may go on, wherever it is typed.

`openclaw chat` reads the lines and hands each to a running gateway as `openclaw line`: servers, agents and conversations are the
gateway's. Without one it runs the same code on an App of its own (cli/chat.py).
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import partial

import msgspec

from openclaw.app import App, Attachment
from openclaw.commands.attaching import files_said, read_file
from openclaw.commands.chat_state import Chat
from openclaw.commands.chat_words import completions
from openclaw.commands.console import never
from openclaw.commands.conversations import going_on
from openclaw.commands.dispatch import Context
from openclaw.commands.notices import prefix_on, tell
from openclaw.commands.notices import say as say_line
from openclaw.commands.parse import Parsed
from openclaw.commands.references import FullMessage, server_words, with_resources
from openclaw.commands.screen.turn import TurnPrinter
from openclaw.commands.sign_in_prompt import SignInPrompt
from openclaw.commands.slash import run as slash
from openclaw.commands.waiting import told_of_waiting
from openclaw.event_hub import Event
from openclaw.log import one_line
from openclaw.mcp.events import DefinitionsChanged
from openclaw.mcp.manager import Manager
from openclaw.mcp.wording import held_back_by
from openclaw.models.configured import model_meant, prices_of
from openclaw.sessions.key import agent_of

# The conversation of a person at a terminal, unless they name another.
MAIN = "main"
# The exit code of a line that says goodbye: beyond those that tell of a failure.
LEAVE = 10


async def run(context: Context, parsed: Parsed) -> int:
    console = context.console
    if parsed.flag("switch"):
        # What the terminal goes on with is all that it is told on stdout.
        context = msgspec.structs.replace(context, console=msgspec.structs.replace(console, out=console.err))
    async with context.open_app() as app, begun(app, context, parsed) as chat:
        line = parsed.text("text")
        if parsed.flag("complete"):
            console.data(await completions(chat, line))
        elif not line:
            await greet(chat)
        else:
            leaves = await say(chat, line)
            if parsed.flag("switch"):
                console.data(chat.state)
            return LEAVE if leaves else 0
    return 0


@asynccontextmanager
async def begun(app: App, context: Context, parsed: Parsed) -> AsyncIterator[Chat]:
    """The conversation that the options name, its servers being started. Raises UsageError when there is no such agent.

    While it lasts the person is told at once when the tools of its servers are no longer those that were accepted.
    """
    here = msgspec.structs.replace(
        context, open_app=lambda: nullcontext(app), open_engine=lambda: nullcontext(app.engine), surface="chat"
    )
    key = parsed.text("session-key") or MAIN
    # A key as `sessions` lists it names its agent.
    told = context.told(parsed.text("terminal"))
    agent = parsed.text("agent") or agent_of(key)
    model = model_meant(app.config, app.engine.env, parsed.text("model"))
    chat = Chat(app, here, agent, key, told, model, tuple(parsed.many("attach")))
    manager = await app.engine.manager()
    unsubscribe = manager.events.subscribe(partial(_changed, chat, manager), DefinitionsChanged)
    manager.start(chat.spec.id)
    try:
        yield chat
    finally:
        unsubscribe()


def _changed(chat: Chat, manager: Manager, event: Event[DefinitionsChanged]) -> None:
    # In a gateway other agents have other servers.
    for one in manager.status(chat.spec.id):
        line = held_back_by(one) if one.name == event.value.server else ""
        if line and line not in chat.told:
            chat.told.add(line)
            say_line(chat.console, held_back_by(one, prefix_on(chat.context.surface)))


async def greet(chat: Chat) -> None:
    """Show which agent answers, and which model it uses."""
    selection = await chat.app.selection(chat.spec, chat.model)
    found = f" ({selection.found})" if selection.found else ""
    console = chat.console
    console.note(console.dim(f"{chat.spec.id} on {selection.name}{found}. /help for commands, Ctrl-D to leave."))
    if line := await going_on(chat):
        console.note(console.dim(line))
    await tell(chat.context, chat.app.engine, chat.spec.id, chat.told)


async def say(chat: Chat, line: str) -> bool:
    """Handle one line that the person typed. True when they want to leave. Raises OpenClawError."""
    if not line.startswith("/"):
        engine, cwd = chat.app.engine, chat.context.cwd
        manager = await engine.manager()
        servers = server_words(manager, chat.spec.id)
        sent = [await asyncio.to_thread(read_file, cwd, name, f"/attach {name}") for name in chat.attached]
        named = await asyncio.to_thread(files_said, line, cwd, servers)
        sent += named.files
        for word in named.missed:
            chat.console.note(chat.console.dim(f"@{one_line(word, 200)} names no file here: it is sent as words."))
        said = await with_resources(manager, engine.decide, chat.spec.id, line, invocation=chat.wants())
        chat.switch(msgspec.structs.replace(chat.state, attached=()))
        await _answer(chat, said, sent)
        return False
    outcome = await slash(chat, line)
    if outcome.said is not None:
        await _answer(chat, outcome.said)
    return outcome.leave


async def _answer(chat: Chat, said: FullMessage, attachments: Sequence[Attachment] = ()) -> None:
    printer = TurnPrinter(chat.console, partial(prices_of, chat.app.config), chat.app.engine.media)
    # What is typed meanwhile is the next line.
    console = msgspec.structs.replace(chat.console, enter=never)
    async with (
        SignInPrompt(chat.context, chat.app.engine, chat.spec.id) as prompt,
        told_of_waiting(console, await chat.app.engine.manager(), chat.spec.id, chat.context.surface) as named,
    ):
        with printer.shown():
            reply = await chat.app.reply(
                said.message,
                msgspec.structs.replace(
                    chat.conversation(), patience=chat.app.engine.startup_grace, sink=printer, asker=prompt
                ),
                attachments=attachments,
                blocks=said.blocks,
                sources=said.sources,
            )
    await printer.end(reply)
    await tell(chat.context, chat.app.engine, chat.spec.id, chat.told, answer=reply.text, but=named)
