"""`openclaw chat`: a conversation in this terminal.

Owns the terminal: line editing, history and completion are prompt-toolkit's. Ctrl-C stops the answer and not the program; Ctrl-D leaves.
Works on a pipe too: each line of input is one message. A running gateway answers each line, as it answers every other command; without
one, and from the line on at which it is gone, an App of our own does. What a line does is commands/chat.py.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from secrets import token_hex

import msgspec
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.patch_stdout import patch_stdout

from openclaw.commands.chat import LEAVE, begun, completions, greet, say
from openclaw.commands.dispatch import Context, sentence
from openclaw.commands.parse import Parsed
from openclaw.commands.slash import Chat
from openclaw.control import remote
from openclaw.control.event_loop import during
from openclaw.control.wire import INTERRUPTED
from openclaw.errors import OpenClawError
from openclaw.files import make_directory
from openclaw.redact import redact
from openclaw.security.external import clean_label

# Options that go to the gateway with every line.
_CARRIED = ("config", "agent", "session-key")
# Options that keep the conversation in this process, as they do every command.
_OURS = ("local", "log-level", "log-json")
# Options of /mcp whose values are credentials, or may be.
_CARRIERS = {"--code", "--header", "--env"}

Complete = Callable[[str], Awaitable[Sequence[str]]]


async def run(context: Context, parsed: Parsed) -> int:
    async with AsyncExitStack() as stack:
        conversation = _Conversation(context, parsed, stack)
        if code := await conversation.greet():
            return code
        async for line in _lines(context, conversation.completions):
            if line.strip() and await conversation.say(line):
                break
    return 0


class _Conversation:
    """Lines go to the gateway for as long as it takes them. `stack` gets what has to be undone at the end."""

    def __init__(self, context: Context, parsed: Parsed, stack: AsyncExitStack) -> None:
        self._context = context
        self._parsed = parsed
        self._stack = stack
        self._chat: Chat | None = None
        # By which the gateway knows what we were told already.
        self._name = token_hex(8)
        self._is_ours = any(parsed.values.get(name) for name in _OURS)

    async def greet(self) -> int:
        """The exit code when there is nobody to talk with. Raises OpenClawError for the same."""
        code = self._there()
        if code is None:
            await greet(await self._here())
        return code or 0

    async def say(self, line: str) -> bool:
        """Whether the person wants to leave."""
        # No argument can hold that character.
        code = self._there("--", line.replace("\0", ""))
        if code is None:
            return await self._say_here(line)
        if code == INTERRUPTED:
            self._stopped()
        return code == LEAVE

    async def completions(self, typed: str) -> list[str]:
        if self._chat is not None:
            return await completions(self._chat, typed)
        printed = bytearray()
        # The person types on meanwhile.
        code = await asyncio.to_thread(remote.run, self._words("--complete", "--", typed), printed.extend)
        return msgspec.json.decode(printed, type=list[str]) if code == 0 else []

    def _there(self, *words: str) -> int | None:
        """Have the gateway do it: how that ended; None when it is to be done here. Nothing else happens in this process meanwhile."""
        if self._chat is not None or self._is_ours:
            return None
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return remote.run(self._words(*words))
        finally:
            signal.signal(signal.SIGINT, before)

    def _words(self, *words: str) -> list[str]:
        carried = [f"--{name}={self._parsed.text(name)}" for name in _CARRIED if self._parsed.text(name)]
        colour = ["--no-color"] if self._parsed.flag("no-color") else []
        return ["line", f"--terminal={self._name}", *carried, *colour, *words]

    async def _here(self) -> Chat:
        """Our own, made when it is first needed; from then on it has the conversation."""
        if self._chat is None:
            app = await self._stack.enter_async_context(self._context.open_app())
            self._chat = await self._stack.enter_async_context(begun(app, self._context, self._parsed))
        return self._chat

    async def _say_here(self, line: str) -> bool:
        answer = asyncio.ensure_future(say(await self._here(), line))
        try:
            with during("SIGINT", answer.cancel):
                return await answer
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            self._stopped()
        except OpenClawError as error:
            self._context.console.note(f"{self._context.console.bad('error:')} {sentence(error)}")
        return False

    def _stopped(self) -> None:
        console = self._context.console
        console.note(console.dim("(stopped)"))


async def _lines(context: Context, complete: Complete) -> AsyncIterator[str]:
    if not sys.stdin.isatty():
        while line := await asyncio.to_thread(sys.stdin.readline):
            yield line.rstrip("\n")
        return
    make_directory(context.paths.data_dir)
    session: PromptSession[str] = PromptSession(
        history=_History(str(context.paths.history_file)), completer=_Slash(complete), complete_while_typing=True
    )
    while True:
        try:
            with patch_stdout(raw=True):
                line = await session.prompt_async("> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        # The event loop leaves it otherwise, and who asks a question now would read that nobody is there.
        os.set_blocking(sys.stdin.fileno(), True)
        yield line


class _History(FileHistory):
    """What was typed, for the arrow keys and the next conversation. A line that carries a credential is not written down."""

    def store_string(self, string: str) -> None:
        if redact(string) == string and not _CARRIERS & set(string.replace("=", " ").split()):
            super().store_string(string)


class _Slash(Completer):
    """Completes `/…` at the start of a line."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        text = document.text_before_cursor
        if not text.startswith("/"):
            return
        last = text.rpartition(" ")[2].removeprefix("/")
        for word in await self._complete(text[1:]):
            if word.startswith(last):
                yield Completion(clean_label(word, 200), start_position=-len(last))
