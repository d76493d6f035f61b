"""`openclaw chat`: a conversation in this terminal.

Line editing, history and completion are prompt-toolkit's. Ctrl-C stops the answer and not the program; Ctrl-D leaves. Works on a
pipe too: each line of input is one message.
"""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import nullcontext

import msgspec
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.patch_stdout import patch_stdout

from openclaw.commands.agent import StreamPrinter
from openclaw.commands.dispatch import Context, sentence
from openclaw.commands.parse import Parsed
from openclaw.commands.references import Said, argument_words, is_prompt, prompt_names, with_resources
from openclaw.commands.slash import BUILT_IN, Chat
from openclaw.commands.slash import run as slash
from openclaw.errors import OpenClawError
from openclaw.files import make_directory
from openclaw.security.external import clean_label

# The conversation of a person at a terminal, unless they name another.
MAIN = "main"
# A completion that takes longer is of no use to somebody who types.
COMPLETION_SECONDS = 2.0


async def run(context: Context, parsed: Parsed) -> int:
    async with context.open_app() as app:
        here = msgspec.structs.replace(
            context, open_app=lambda: nullcontext(app), open_engine=lambda: nullcontext(app.engine), surface="chat"
        )
        chat = Chat(app, here, parsed.text("agent"), parsed.text("session-key") or MAIN)
        (await app.engine.manager()).start(chat.spec.id)
        selection = await app.selection(chat.spec)
        found = f" ({selection.found})" if selection.found else ""
        context.console.note(
            context.console.dim(f"{chat.spec.id} on {selection.name}{found}. /help for commands, Ctrl-D to leave.")
        )
        async for line in _lines(context, chat):
            if not await _handle(chat, line):
                break
    return 0


async def _handle(chat: Chat, line: str) -> bool:
    """One line of the person's. False when they want to leave."""
    try:
        if line.startswith("/"):
            outcome = await slash(chat, line)
            if outcome.leave:
                return False
            if outcome.said is not None:
                await _say(chat, outcome.said)
        elif line.strip():
            await _say(chat, await with_resources(chat.app, chat.spec.id, line))
    except OpenClawError as error:
        chat.console.note(f"{chat.console.bad('error:')} {sentence(error)}")
    return True


async def _say(chat: Chat, said: Said) -> None:
    printer = StreamPrinter(chat.console)
    answer = asyncio.ensure_future(
        chat.app.reply(
            said.message,
            blocks=said.blocks,
            agent=chat.agent,
            session_key=chat.key,
            on_event=printer,
            patience=chat.app.engine.startup_grace,
        )
    )
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, answer.cancel)
    try:
        printer.end(await answer)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        chat.console.note(chat.console.dim("(stopped)"))
    finally:
        loop.remove_signal_handler(signal.SIGINT)


async def _lines(context: Context, chat: Chat) -> AsyncIterator[str]:
    if not sys.stdin.isatty():
        while line := await asyncio.to_thread(sys.stdin.readline):
            yield line.rstrip("\n")
        return
    make_directory(context.paths.data_dir)
    session: PromptSession[str] = PromptSession(
        history=FileHistory(str(context.paths.history_file)), completer=_Slash(chat), complete_while_typing=True
    )
    while True:
        try:
            with patch_stdout(raw=True):
                yield await session.prompt_async("> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


class _Slash(Completer):
    """Completes `/…` at the start of a line: commands, prompts of servers that are up, and the arguments of those."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._words = sorted({*BUILT_IN, *chat.app.workplace(chat.spec).skills().commands})

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        text = document.text_before_cursor
        if not text.startswith("/"):
            return
        try:
            async with asyncio.timeout(COMPLETION_SECONDS):
                words = await self._following(text[1:])
        except (TimeoutError, OpenClawError):
            return
        last = text.rpartition(" ")[2].removeprefix("/")
        for word in words:
            if word.startswith(last):
                yield Completion(clean_label(word, 200), start_position=-len(last))

    async def _following(self, typed: str) -> list[str]:
        """What the last word may become."""
        manager, agent = await self._chat.app.engine.manager(), self._chat.spec.id
        name, blank, rest = typed.partition(" ")
        if not blank:
            return [*self._words, *await prompt_names(manager, agent)]
        return await argument_words(manager, agent, name, rest) if is_prompt(manager, agent, name) else []
