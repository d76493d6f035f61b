"""A turn as a person sees it: the answer while it comes, what tools do, and what it took.

In a pipe the text of the answer goes out as the model wrote it. On a screen it is Markdown in rows that fit the window; what a tool
or a server wrote stays plain text, also where the model repeats it. What is not the answer goes to standard error. Everything is
cleaned of terminal control here.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from openclaw.agent.events import (
    Compacted,
    Event,
    MessageEnd,
    Notice,
    ReasoningDelta,
    RunStart,
    TextDelta,
    ToolEnd,
    ToolProgress,
    ToolStart,
    TurnStart,
)
from openclaw.app import Reply
from openclaw.commands.console import Console, Doing
from openclaw.commands.screen.columns import fold, in_ascii
from openclaw.commands.screen.pictures import sequence
from openclaw.commands.screen.spent import spent_line
from openclaw.content import Audio, File, Image, Text, ToolCall, Usage
from openclaw.errors import OpenClawError
from openclaw.media import MediaStore, file_words
from openclaw.models.spec import Prices
from openclaw.security.external import clean_label, clean_terminal
from openclaw.security.unframe import Unframer, without_frames
from openclaw.tool import ToolResult

if TYPE_CHECKING:
    from openclaw.commands.screen.markdown import MarkdownRows

# Enough of a call's arguments to recognise it; the whole is in --json.
_SHOWN_ARGUMENTS = 100
# Of the sentence that says why a call was not made: the command in it that would allow the call is there to be copied.
_SHOWN_REFUSAL = 1_000
# Of what a tool that failed said: enough to know why; `/last` has the whole.
_SHOWN_REASON = 200
_SHOWN_PROGRESS = 200
# Between two pictures of an answer that comes: more often than that nobody reads.
_REFRESH = 0.05
# Of the time no more than one part in so many is spent on drawing: in a gateway everybody else waits meanwhile.
_SHARE = 10

PricesOf = Callable[[str], Prices | None]


class TurnPrinter:
    """Sees the events of one run. `prices` gives what a model costs, where that is known; `media` keeps pictures that tools give."""

    def __init__(
        self, console: Console, prices: PricesOf = lambda model: None, media: MediaStore | None = None
    ) -> None:
        self._console = console
        self._media = media
        self._prices = prices
        self._answer: _PlainAnswer | _ScreenAnswer = _ScreenAnswer(console) if console.screen else _PlainAnswer(console)
        self._began = self._since = monotonic()
        # What a person takes to answer a question is not the turn's time.
        self._hidden_before = console.live.hidden_for
        self._model = ""
        self._window = 0
        # Why the model has not begun yet, when it should have.
        self._why_longer = ""
        # Another window is in the middle of a turn.
        self._is_held = False
        self._running: dict[int, _Running] = {}
        self._thoughts = 0
        self._is_within_word = False
        self._thinking_since: float | None = None
        self._messages: list[tuple[str, Usage]] = []

    def doing(self) -> Doing:
        """What the person waits for now."""
        if self._running:
            running, hidden = list(self._running.values()), self._console.live.hidden_for
            names = ", ".join(clean_label(one.call.name, 60) for one in running)
            told = next((one.told for one in reversed(running) if one.told), "")
            return Doing(f"{names}: {told}" if told else f"Running {names}", running[0].since(hidden))
        if self._thinking_since is not None:
            return Doing("Thinking", self._thinking_since)
        if self._why_longer:
            return Doing(self._why_longer, self._since)
        whom = self._model or ("the other window" if self._is_held else "the model")
        return Doing(f"Waiting for {whom}", self._since)

    def __call__(self, event: Event) -> None:
        match event:
            case RunStart(model=model, window=window):
                self._model, self._window = clean_label(model, 60), window
            case TurnStart():
                self._since, self._why_longer = monotonic(), ""
            case TextDelta(text=text):
                self._fold_thoughts()
                self._why_longer = ""
                self._answer.feed(text)
            case ReasoningDelta(text=text):
                # A piece may go on in the middle of a word.
                goes_on = self._is_within_word and bool(text) and not text[0].isspace()
                self._thoughts += len(text.split()) - goes_on
                self._is_within_word = not text[-1].isspace() if text else self._is_within_word
                if self._thinking_since is None:
                    self._thinking_since = monotonic()
            case MessageEnd(message=message):
                self._fold_thoughts()
                self._answer.end()
                self._messages.append((message.model, message.usage))
            case ToolStart() | ToolProgress() | ToolEnd():
                self._tool(event)
            case Compacted(dropped_messages=dropped):
                self._note(f"The conversation is long: {_gave_way(dropped)} to make room.")
            case Notice(text=text, kind="retry", doing=doing) if self._console.interactive and self._console.cursor:
                # Told where it is waited for.
                self._why_longer = clean_label(doing or text, _SHOWN_PROGRESS)
            case Notice(text=text, kind=kind):
                self._is_held = kind == "held"
                self._answer.pause()
                self._note(text)
            case _:
                pass

    def _tool(self, event: ToolStart | ToolProgress | ToolEnd) -> None:
        match event:
            case ToolStart(call=call):
                # By the object: some models give every call the same id.
                self._running[id(call)] = _Running(call, self._console.live.hidden_for)
                arguments = ", ".join(f"{k}={v!r}" for k, v in call.arguments.items())
                if len(arguments) > _SHOWN_ARGUMENTS:
                    arguments = arguments[:_SHOWN_ARGUMENTS] + "…"
                self._note(f"→ {call.name}({arguments})")
            case ToolProgress(call_id=number, text=text):
                self._progress(number, clean_label(text, _SHOWN_PROGRESS))
            case ToolEnd(call=call, result=result, seconds=seconds):
                self._running.pop(id(call), None)
                self._since = monotonic()
                self._note(f"← {_outcome(call, result, seconds)}")

    def _progress(self, number: str, text: str) -> None:
        for one in self._running.values():
            if one.call.id == number:
                one.tell(text)
        if self._console.interactive and not self._console.cursor:
            # A terminal that cannot draw a line again gets it as one of its own.
            self._note(text)

    def _fold_thoughts(self) -> None:
        """Thoughts are not the answer: one line tells of them."""
        if self._thinking_since is not None and self._console.interactive:
            seconds = monotonic() - self._thinking_since
            words = "1 word" if self._thoughts == 1 else f"{self._thoughts:,} words"
            self._note(f"Thought for {seconds:.1f} s ({words}).")
        self._thinking_since, self._thoughts, self._is_within_word = None, 0, False

    def _note(self, text: str) -> None:
        self._console.note(self._console.dim(clean_terminal(text)))

    async def end(self, reply: Reply) -> None:
        self._fold_thoughts()
        self._answer.end()
        for item in reply.media:
            if isinstance(item, File):
                self._console.note(f"[saved: {file_words(item)}]")
            elif self._media is not None and self._console.interactive:
                await show_media(self._console, self._media, item)
        if reply.reason != "done":
            why = f"stopped ({reply.reason}): {reply.error}".removesuffix(": ")
            self._console.note(self._console.bad(clean_terminal(why)))
        if self._console.interactive:
            hidden = self._console.live.hidden_for - self._hidden_before
            line = spent_line(self._messages, self._window, monotonic() - self._began - hidden, self._prices)
            if line:
                self._note(line)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """While the run goes on: what is waited for is shown. Of one that ends too early what has come stays."""
        try:
            with self._console.live.waiting(self.doing):
                yield
        finally:
            self._answer.end()


async def show_media(console: Console, media: MediaStore, item: Image | Audio) -> None:
    """Save and name what a tool gave besides text, and show a picture where that can be done."""
    what = "image" if isinstance(item, Image) else "audio"
    try:
        file = await asyncio.to_thread(media.save, item.data, item.mime_type, what)
    except OpenClawError as error:
        console.note(f"[{what} that cannot be saved: {clean_label(str(error), _SHOWN_REASON)}]")
        return
    if isinstance(item, Image) and console.screen and console.pictures:
        # Some are computed, point by point.
        shown = await asyncio.to_thread(sequence, console.pictures, item.data, item.mime_type, console.columns())
        if shown:
            console.out(shown)
    console.note(console.dim(f"[{what} saved: {file_words(file)}]"))


class _Running:
    """A call under way, and what it last told of its progress."""

    def __init__(self, call: ToolCall, hidden: float) -> None:
        self.call = call
        self.told = ""
        self._began = monotonic()
        self._hidden_before = hidden

    def since(self, hidden: float) -> float:
        """When it began, had the person not been asked first. `hidden` is how long all questions took until now."""
        return self._began + hidden - self._hidden_before

    def tell(self, text: str) -> None:
        self.told = text


def _gave_way(dropped: int) -> str:
    """What a conversation that was shortened lost. Results of tools go first, and then no message is gone."""
    if not dropped:
        return "old results of tools were left out"
    return "1 message was summed up" if dropped == 1 else f"{dropped} messages were summed up"


def _outcome(call: ToolCall, result: ToolResult, seconds: float) -> str:
    """How a call went, and why not: a sentence of ours when it was not made, the first words of the tool when it failed."""
    if not result.is_error:
        return f"{call.name} done in {seconds:.1f} s"
    # Our own words may stand in a block before those of the server.
    said = " ".join(without_frames(block.text).strip() for block in result.content if isinstance(block, Text))
    if said.startswith(f"{call.name} was not called:"):
        return clean_label(said, _SHOWN_REFUSAL)
    reason = clean_label(said, _SHOWN_REASON)
    return f"{call.name} failed in {seconds:.1f} s{f': {reason}' if reason else ''}"


class _PlainAnswer:
    """The text as the model wrote it, for a pipe."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._unframer = Unframer()
        self._is_at_start = True

    def feed(self, text: str) -> None:
        self._show(self._unframer.feed(text))

    def pause(self) -> None:
        return

    def end(self) -> None:
        self._show(self._unframer.end())
        if not self._is_at_start:
            self._console.line()
            self._is_at_start = True

    def _show(self, text: str) -> None:
        if text:
            self._console.out(clean_terminal(text))
            self._is_at_start = text.endswith("\n")


class _ScreenAnswer:
    """Markdown in rows. What the model repeats of a tool's words, frame and all, is shown as it is, behind a bar."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._unframer = Unframer()
        self._rows: MarkdownRows | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._pause = _REFRESH
        # Loading it takes a moment, in which the model begins to answer.
        self._loading = asyncio.get_running_loop().run_in_executor(None, _load)

    def feed(self, text: str) -> None:
        self._take(self._unframer.pieces(text))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._pause, self._refresh)

    def pause(self) -> None:
        """Something else is about to be printed."""
        self._refresh()

    def end(self) -> None:
        self._take(self._unframer.last_pieces())
        self._finish()

    def _take(self, pieces: list[tuple[str, bool]]) -> None:
        for text, is_foreign in pieces:
            if is_foreign:
                self._finish()
                width = max(self._console.columns() - 2, 20)
                for line in fold(self._clean(text).strip("\n"), width).split("\n"):
                    self._console.line(f"{self._console.dim('│')} {line}")
            elif text:
                self._markdown().feed(self._clean(text))

    def _clean(self, text: str) -> str:
        # In ASCII some signs are wider, which has to be known before they are laid out.
        return clean_terminal(text if self._console.utf8 else in_ascii(text))

    def _markdown(self) -> "MarkdownRows":
        if self._rows is None:
            self._rows = _load()(colour=self._console.colour)
        return self._rows

    def _refresh(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._rows is not None:
            began = monotonic()
            shown = self._rows.rows(self._console.columns())
            self._print(shown.certain)
            self._console.live.tail(shown.live)
            self._pause = max(_REFRESH, _SHARE * (monotonic() - began))
            if shown.is_behind:
                # Whoever waits for this process goes first.
                self._timer = asyncio.get_running_loop().call_later(self._pause, self._refresh)

    def _finish(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._rows is not None:
            self._console.live.tail(())
            is_behind = True
            while is_behind:
                shown = self._rows.rows(self._console.columns(), last=True)
                is_behind = shown.is_behind
                self._print(shown.certain)
            self._rows = None

    def _print(self, rows: list[str]) -> None:
        if rows:
            self._console.out("".join(f"{row}\n" for row in rows))


def _load() -> "type[MarkdownRows]":
    from openclaw.commands.screen.markdown import MarkdownRows

    return MarkdownRows
