"""`openclaw agent`: one message in, one answer out, streamed as it comes.

Text goes to stdout; what happens on the way (tool calls, notices) to stderr. `--json` prints one object at the end instead. With
`--answers` it prints one object in each line: the questions of the run as they are asked and answered, and the answer last.
"""

import asyncio
import mimetypes
import stat
from collections.abc import Mapping
from contextlib import AbstractContextManager, AsyncExitStack
from pathlib import Path
from typing import Any

from openclaw.agent.events import Event, MessageEnd, Notice, TextDelta, ToolEnd, ToolStart
from openclaw.app import Attachment, Reply
from openclaw.asking.open_question import ANSWERABLE, QuestionChanged, changed_json
from openclaw.asking.questions import Questions
from openclaw.commands.arguments import allowed_calls
from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.commands.notices import tell
from openclaw.commands.parse import Parsed
from openclaw.commands.sign_in_prompt import SignInPrompt
from openclaw.commands.waiting import told_of_waiting
from openclaw.content import File, Image, Text, to_json
from openclaw.conversation import Asker, Conversation, Nobody
from openclaw.errors import UsageError
from openclaw.log import one_line
from openclaw.media import ITEM_BYTES
from openclaw.security.external import clean_terminal, escape_json
from openclaw.security.unframe import Unframer
from openclaw.sessions.key import agent_of, new_key
from openclaw.sessions.key import session_key as full_key
from openclaw.tool import ToolResult

# Enough of a call's arguments to recognise it; the whole is in --json.
_SHOWN_ARGUMENTS = 100
# Of the sentence that says why a call was not made: the command in it that would allow the call is there to be copied.
_SHOWN_REFUSAL = 1_000


async def run(context: Context, parsed: Parsed) -> int:
    message = await _message(context, parsed)
    timeout = parsed.number("timeout")
    if timeout is not None and timeout <= 0:
        raise UsageError("--timeout needs a number of seconds above 0.")
    if message.startswith("/"):
        context.console.note(
            "Commands that start with a slash work in `openclaw chat`; this goes to the agent as text."
        )
    attachments = [await asyncio.to_thread(_attachment, context.cwd, name) for name in parsed.many("attach")]
    progress = None if parsed.flag("json") else StreamPrinter(context.console)
    answers = _answers(context, parsed)
    async with context.open_app() as app, AsyncExitStack() as stack:
        key = parsed.text("session-key")
        # A key as `sessions` lists it names its agent.
        agent = app.engine.agent(parsed.text("agent") or agent_of(key)).id
        # With --json nothing but the answer is shown, so nobody is asked here.
        asker: Asker = Nobody()
        if answers:
            key = full_key(agent, key or new_key())
            stack.enter_context(_told_questions(context.console, app.engine.questions, answers, key))
        if not parsed.flag("json"):
            asker = await stack.enter_async_context(SignInPrompt(context, app.engine, agent))
        conversation = Conversation(
            agent,
            key,
            workspace=context.cwd,
            # A command may wait for servers it has never seen; a gateway has others to serve, and they go on coming up.
            patience=app.engine.startup_grace if context.surface == "control" else None,
            sink=progress,
            asker=asker,
            surface="agent",
            allow=allowed_calls(parsed),
            says_yes=parsed.flag("yes"),
        )
        said, named = "", set[str]()
        try:
            async with told_of_waiting(context.console, await app.engine.manager(), agent) as named:
                reply = await app.reply(message, conversation, attachments=attachments, timeout=timeout)
            said = reply.text
        finally:
            await tell(context, app.engine, agent, set(), answer=said, but=named)
    if answers:
        _say(context.console, "reply", as_json(reply))
    elif progress is None:
        context.console.data(as_json(reply))
    else:
        progress.end(reply)
    return 0 if reply.reason == "done" else 1


def _answers(context: Context, parsed: Parsed) -> frozenset[str]:
    """The kinds of questions that whoever runs this will answer. Raises UsageError."""
    kinds = frozenset(filter(None, parsed.text("answers").split(",")))
    if unknown := kinds.difference(ANSWERABLE):
        raise UsageError(
            f"--answers {sorted(unknown)[0]}: there is no such kind.", hint=f"Use {', '.join(ANSWERABLE)}."
        )
    if kinds and not parsed.flag("json"):
        raise UsageError("--answers goes with --json: questions are printed as JSON lines.")
    if kinds and context.surface != "control":
        # The command that answers would not find it.
        raise UsageError("--answers needs a gateway that runs.", hint="Start one: openclaw gateway start")
    return kinds


def _told_questions(
    console: Console, questions: Questions, kinds: frozenset[str], session: str
) -> AbstractContextManager[None]:
    """Print the questions of one session, which may be answered with `openclaw approvals answer` while this lasts."""

    def told(changed: QuestionChanged) -> None:
        one = next((one for one in questions.pending() if one.id == changed.id), None)
        if changed.state == "pending" and one is not None:
            _say(console, "question", one.as_json())
        elif changed.state != "pending":
            _say(console, "answer", changed_json(changed))

    return questions.watch_session(kinds, session, told)


def _say(console: Console, event: str, data: Mapping[str, Any]) -> None:
    console.out(escape_json(to_json({"event": event, **data}).decode()) + "\n")


async def _message(context: Context, parsed: Parsed) -> str:
    words = parsed.many("words")
    message = parsed.text("message")
    if message and words:
        raise UsageError("openclaw agent: the message was given twice, with -m and without.", hint='Quote it: -m "…"')
    message = message or " ".join(words)
    if message == "-":
        message = await context.console.read()
    if not message.strip():
        raise UsageError(
            "openclaw agent: there is no message.",
            hint='Try: openclaw agent -m "hello", or -m - to read it from stdin.',
        )
    return message


def _attachment(cwd: Path, name: str) -> Attachment:
    """A file of the person's. Looked at before it is read: a pipe would be waited for without end, a disk image fill the memory."""
    path = cwd / name
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise UsageError(f"--attach {name}: it is not a file.")
        if found.st_size > ITEM_BYTES:
            raise UsageError(f"--attach {name}: it has {found.st_size:,} bytes; at most {ITEM_BYTES:,} can be sent.")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"--attach {name}: {error.strerror or error}.") from None
    return Attachment(
        name=path.name, mime_type=mimetypes.guess_type(path.name)[0] or "application/octet-stream", data=data
    )


def as_json(reply: Reply) -> dict[str, Any]:
    """The one object that `--json` prints."""
    document: dict[str, Any] = {
        "text": reply.text,
        "toolCalls": [
            {"name": call.name, "arguments": call.arguments, "isError": call.is_error} for call in reply.tool_calls
        ],
        "media": [
            {"type": "file", "path": item.path, "mimeType": item.mime_type, "size": item.size}
            if isinstance(item, File)
            else {
                "type": "image" if isinstance(item, Image) else "audio",
                "mimeType": item.mime_type,
                "data": item.data,
            }
            for item in reply.media
        ],
        "usage": reply.usage,
        "sessionKey": reply.session_key,
        "model": reply.model,
    }
    if reply.reason != "done":
        document |= {"stopped": reply.reason, "error": reply.error}
    return document


def _not_called(name: str, result: ToolResult) -> str:
    """Why a call was not made, in our words; empty when it was, or when others' words say why."""
    first = result.content[0] if result.is_error and result.content else None
    is_told = isinstance(first, Text) and first.text.startswith(f"{name} was not called: ")
    return one_line(first.text, _SHOWN_REFUSAL) if is_told and isinstance(first, Text) else ""


class StreamPrinter:
    """Shows a run as it happens. Model and tool text is cleaned of terminal control before it is shown."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._unframer = Unframer()
        self._at_line_start = True

    def __call__(self, event: Event) -> None:
        match event:
            case TextDelta(text=text):
                self._show(self._unframer.feed(text))
            case MessageEnd():
                self._newline()
            case ToolStart(call=call):
                arguments = ", ".join(f"{k}={v!r}" for k, v in call.arguments.items())
                if len(arguments) > _SHOWN_ARGUMENTS:
                    arguments = arguments[:_SHOWN_ARGUMENTS] + "…"
                self._console.note(self._console.dim(clean_terminal(f"→ {call.name}({arguments})")))
            case ToolEnd(call=call, result=result, seconds=seconds):
                word = "failed" if result.is_error else "done"
                told = _not_called(call.name, result) or f"{call.name} {word} in {seconds:.1f} s"
                self._console.note(self._console.dim(clean_terminal(f"← {told}")))
            case Notice(text=text):
                self._console.note(self._console.dim(clean_terminal(text)))
            case _:
                pass

    def _show(self, text: str) -> None:
        if text:
            self._console.out(clean_terminal(text))
            self._at_line_start = text.endswith("\n")

    def _newline(self) -> None:
        self._show(self._unframer.end())
        if not self._at_line_start:
            self._console.line()
            self._at_line_start = True

    def end(self, reply: Reply) -> None:
        self._newline()
        for item in reply.media:
            if isinstance(item, File):
                self._console.note(f"saved: {item.path} ({item.mime_type}, {item.size} bytes)")
        if reply.reason != "done":
            why = f"stopped ({reply.reason}): {reply.error}".removesuffix(": ")
            self._console.note(self._console.bad(clean_terminal(why)))
