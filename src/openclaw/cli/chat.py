"""`openclaw chat`: a conversation in this terminal.

Owns the terminal: what is typed is line_editor.py's. Ctrl-C stops the answer and not the program; Ctrl-D leaves. Works on a pipe too: each
line of input is one message. A running gateway answers each line, as it answers every other command; without one, and from the line on at
which it is gone, an App of our own does. Which conversation, model and attachments the lines are about is remembered here, for a gateway
is told with every line. What a line does is commands/chat.py.
"""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from secrets import token_hex

import msgspec
from msgspec.structs import replace

from openclaw.cli.line_editor import Complete, typed_lines, typing_kept
from openclaw.cli.session_picker import Choice, pick
from openclaw.commands.chat import LEAVE, begun, greet, say
from openclaw.commands.chat_state import Chat, ChatState
from openclaw.commands.chat_words import Word, completions
from openclaw.commands.dispatch import Context
from openclaw.commands.failure import sentence
from openclaw.commands.parse import Parsed
from openclaw.commands.sessions import as_json
from openclaw.control import remote
from openclaw.control.event_loop import during
from openclaw.control.wire import INTERRUPTED
from openclaw.daemon_thread import in_daemon_thread
from openclaw.errors import OpenClawError, UsageError

# Options that go to the gateway with every line.
_CARRIED = ("config", "agent", "session-key", "model")
# Options that keep the conversation in this process, as they do every command.
_OURS = ("local", "log-level", "log-json")
# Words after which the lines may be about something else: another conversation or model, or files to send along.
_SWITCHES = ("/new", "/model", "/sessions", "/resume", "/attach")


async def run(context: Context, parsed: Parsed) -> int:
    async with AsyncExitStack() as stack:
        conversation = _Conversation(context, parsed, stack)
        if not await conversation.choose():
            return 0
        stack.enter_context(typing_kept())
        if parsed.flag("new"):
            await conversation.say("/new")
        if code := await conversation.greet():
            return code
        if first := " ".join(parsed.many("text")).strip():
            # As if it had been typed.
            context.console.line(f"> {first}")
            if await conversation.say(first):
                return 0
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

    async def choose(self) -> bool:
        """The conversation that `--continue` or `--resume` means. False when the person chose none. Raises UsageError."""
        continues, resumes = self._parsed.flag("continue"), self._parsed.flag("resume")
        if continues + resumes + self._parsed.flag("new") + bool(self._parsed.text("session-key")) > 1:
            raise UsageError(
                "--continue, --new, --resume and --session-key each name the conversation.", hint="Use one of them."
            )
        if resumes:
            return await self._pick()
        if continues and (found := await self._conversations()):
            self._go_on_with(found[0])
        return True

    async def _pick(self) -> bool:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("A conversation can only be chosen at a terminal.", hint="Name it: --session-key KEY")
        found = await self._conversations()
        if not found:
            self._context.console.note("There are no conversations yet: this is a new one.")
            return True
        chosen = await pick(found, utf8=self._context.console.utf8)
        if chosen is not None:
            self._go_on_with(chosen)
        return chosen is not None

    def _go_on_with(self, choice: Choice) -> None:
        self._switch(ChatState(choice.agent, choice.key, self._parsed.text("model")))

    def _switch(self, state: ChatState) -> None:
        values = {"agent": state.agent, "session-key": state.key, "model": state.model, "attach": state.attached}
        self._parsed = replace(self._parsed, values={**self._parsed.values, **values})
        if self._chat is not None:
            self._chat.switch(state)

    async def _conversations(self) -> list[Choice]:
        """Those of the agent that was named, or of all; the newest first."""
        agent = self._parsed.text("agent")
        printed = bytearray()
        code = None
        if self._chat is None and not self._is_ours:
            config = self._parsed.text("config")
            words = ["sessions", "list", "--json", *([f"--config={config}"] if config else [])]
            code = await asyncio.to_thread(remote.run, words, printed.extend, is_data=True)
        if code is None:
            found = await (await self._here()).app.store.list()
            return msgspec.convert([as_json(info) for info in found if not agent or info.agent == agent], list[Choice])
        listed = msgspec.json.decode(printed, type=list[Choice]) if code == 0 else []
        return [one for one in listed if not agent or one.agent == agent]

    async def greet(self) -> int:
        """The exit code when there is nobody to talk with. Raises OpenClawError for the same."""
        code = self._there()
        if code is None:
            await greet(await self._here())
        return code or 0

    async def say(self, line: str) -> bool:
        """Whether the person wants to leave."""
        word, _, rest = line.strip().partition(" ")
        if word == "/resume" and not rest and sys.stdin.isatty() and sys.stdout.isatty():
            if await self._pick():
                await self.greet()
            return False
        # No argument can hold that character.
        code = self._there("--", line.replace("\0", ""), switches=word in _SWITCHES)
        if code is None:
            return await self._say_here(line)
        if code == INTERRUPTED:
            self._stopped()
        if not line.startswith("/"):
            # They went with it.
            self._parsed = replace(self._parsed, values={**self._parsed.values, "attach": ()})
        return code == LEAVE

    async def completions(self, typed: str) -> Sequence[Word]:
        if self._chat is not None:
            return await completions(self._chat, typed)
        printed = bytearray()
        # The person types on meanwhile.
        words = self._words("--complete", "--", typed)
        code = await asyncio.to_thread(remote.run, words, printed.extend, is_data=True)
        return msgspec.json.decode(printed, type=list[Word]) if code == 0 else []

    def _there(self, *words: str, switches: bool = False) -> int | None:
        """Have the gateway do it: how that ended; None when it is to be done here. Nothing else happens in this process meanwhile."""
        if self._chat is not None or self._is_ours:
            return None
        printed = bytearray()
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        # The loop would hear of an interruption afterwards, and take it for one of the next line.
        wakeup = signal.set_wakeup_fd(-1)
        try:
            words = ("--switch", *words) if switches else words
            code = remote.run(self._words(*words), printed.extend if switches else None)
        finally:
            signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
            signal.signal(signal.SIGINT, before)
        if code == 0 and printed:
            self._switch(msgspec.json.decode(printed, type=ChatState))
        return code

    def _words(self, *words: str) -> list[str]:
        carried = [f"--{name}={self._parsed.text(name)}" for name in _CARRIED if self._parsed.text(name)]
        carried += [f"--attach={path}" for path in self._parsed.many("attach")]
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
    if sys.stdin.isatty():
        async for line in typed_lines(context.paths.history_file, complete):
            yield line
        return
    # Who ends the chat does not wait for a line that never comes.
    while line := await in_daemon_thread(sys.stdin.readline):
        yield line.rstrip("\n")
