"""What is typed in a chat at a terminal: lines of one or more rows, with history, completion, an editor, and what is pasted.

Owns the keys; how a word may go on is asked of whoever has the names. Line editing itself is prompt-toolkit's. What is typed while an
answer comes is not shown in the middle of it, and stays for the next line, also when the answer is stopped.
"""

import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.patch_stdout import patch_stdout

from openclaw.commands.attaching import pasted_file, typed_path
from openclaw.commands.chat_words import Word, last_word
from openclaw.control.terminal_modes import local_modes
from openclaw.errors import StoreError
from openclaw.files import make_directory, reason
from openclaw.redact import redact

# Options of /mcp whose values are credentials, or may be.
_CARRIERS = {"--code", "--header", "--env"}

Complete = Callable[[str], Awaitable[Sequence[Word]]]


async def typed_lines(history: Path, complete: Complete) -> AsyncIterator[str]:
    """Every line that a person types, until they leave."""
    keys = _keys()
    session: PromptSession[str] = PromptSession(
        history=_history(history),
        completer=_Words(complete),
        complete_while_typing=True,
        key_bindings=keys,
        tempfile_suffix=".md",
        enable_suspend=True,
    )
    _Tab(session.default_buffer, keys)
    while True:
        try:
            with patch_stdout(raw=True):
                line = await session.prompt_async("> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if sys.platform != "win32":
            # The event loop leaves it otherwise, and who asks a question now would read that nobody is there.
            os.set_blocking(sys.stdin.fileno(), True)
        yield line


def typing_kept() -> AbstractContextManager[None]:
    """While a chat goes on, what is typed during an answer is kept for the next line: the terminal does not show it in the middle of the
    answer, and does not drop it when Ctrl-C stops that."""
    return local_modes(sys.stdin.fileno(), on=["NOFLSH"], off=["ECHO"])


def _keys() -> KeyBindings:
    keys = KeyBindings()

    # Lines that were typed ahead end with the other of the two.
    @keys.add("enter")
    @keys.add("c-j")
    def finish(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    @keys.add("escape", "c-j")
    def new_row(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-x", "c-e")
    def edit(event: KeyPressEvent) -> None:
        # What comes back is looked at once more before it is sent.
        event.current_buffer.open_in_editor(validate_and_handle=False)

    @keys.add(Keys.BracketedPaste)
    def paste(event: KeyPressEvent) -> None:
        text = event.data.replace("\r\n", "\n").replace("\r", "\n")
        if path := pasted_file(text):
            # Sent along, and to be seen: who wants the path alone takes the mark away.
            text = f"@{typed_path(path)} "
        event.current_buffer.insert_text(text)

    return keys


class _Tab:
    """Tab takes the next word that fits, also when it is pressed before those words are there: they are asked for, and that takes a
    moment in which people type on."""

    def __init__(self, buffer: Buffer, keys: KeyBindings) -> None:
        self._buffer = buffer
        # What stood there when it was pressed too early.
        self._pressed_at: Document | None = None
        keys.add("tab")(self._press)
        buffer.on_completions_changed.add_handler(self._take)

    def _press(self, event: KeyPressEvent) -> None:
        state = self._buffer.complete_state
        if state is not None and state.completions:
            self._buffer.complete_next()
            return
        self._pressed_at = self._buffer.document
        if state is None:
            self._buffer.start_completion()

    def _take(self, buffer: Buffer) -> None:
        state, pressed_at = buffer.complete_state, self._pressed_at
        if state is not None and state.completions and state.original_document == pressed_at:
            self._pressed_at = None
            buffer.complete_next()


def _history(file: Path) -> "_History":
    """Raises StoreError."""
    try:
        make_directory(file.parent)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if sys.platform != "win32":
                # What somebody said is theirs alone; an older one may be open to all.
                os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StoreError(f"The history of what was typed, {file}, cannot be used: {reason(error)}.") from None
    return _History(str(file))


class _History(FileHistory):
    """What was typed, for the arrow keys and the next conversation. A line that carries a credential is not written down."""

    def store_string(self, string: str) -> None:
        if redact(string) == string and not _CARRIERS & set(string.replace("=", " ").split()):
            super().store_string(string)


class _Words(Completer):
    """Completes `/…` at the start of a line, its words, and `@…` anywhere."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        text = document.text_before_cursor
        last = last_word(text)
        if not text.startswith("/") and not last.startswith("@"):
            return
        for word in await self._complete(text):
            yield Completion(word.text, start_position=-len(last), display_meta=word.help)
