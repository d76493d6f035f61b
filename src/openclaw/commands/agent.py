"""`openclaw agent`: one message in, one answer out, streamed as it comes.

Text goes to stdout; what happens on the way (tool calls, notices) to stderr. `--json` prints one object at the end instead. With
`--answers` it prints one object in each line: the questions of the run as they are asked and answered, and the answer last.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack
from functools import partial
from typing import Any

from openclaw.app import Reply
from openclaw.asking.open_question import QuestionChanged, answerable_kinds, changed_json
from openclaw.asking.questions import Questions
from openclaw.commands.approval_line import idle_allowances
from openclaw.commands.arguments import allowed_calls
from openclaw.commands.attaching import read_file
from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.commands.failure import error_json
from openclaw.commands.notices import tell
from openclaw.commands.parse import Parsed
from openclaw.commands.screen.turn import TurnPrinter
from openclaw.commands.sign_in_prompt import SignInPrompt
from openclaw.commands.waiting import told_of_waiting
from openclaw.content import File, Image, to_json
from openclaw.conversation import Asker, Conversation, Nobody
from openclaw.engine import NATIVE_NAMES, Engine
from openclaw.errors import OpenClawError, UsageError
from openclaw.models.configured import model_meant, prices_of
from openclaw.plugins.mcp_client import MCP_CLIENT
from openclaw.security.external import clean_terminal, escape_json
from openclaw.security.patterns import parse
from openclaw.sessions.key import agent_of, new_key
from openclaw.sessions.key import session_key as full_key

# Of what is piped in beside the words: about as much as the largest models read at once.
MOST_PIPED = 4 * 1024 * 1024


async def run(context: Context, parsed: Parsed) -> int:
    message = await _message(context, parsed)
    timeout = parsed.number("timeout")
    if timeout is not None and timeout <= 0:
        raise UsageError("--timeout needs a number of seconds above 0.")
    if message.startswith("/"):
        context.console.note(
            "Commands that start with a slash work in `openclaw chat`; this goes to the agent as text."
        )
    attachments = [
        await asyncio.to_thread(read_file, context.cwd, name, f"--attach {name}") for name in parsed.many("attach")
    ]
    answers, allow = _answers(context, parsed), allowed_calls(parsed)
    async with context.open_app() as app, AsyncExitStack() as stack:
        key = parsed.text("session-key")
        # A key as `sessions` lists it names its agent.
        agent = app.engine.agent(parsed.text("agent") or agent_of(key)).id
        _tell_of_idle(context.console, app.engine, agent, allow)
        progress = (
            None
            if parsed.flag("json")
            else TurnPrinter(context.console, partial(prices_of, app.config), app.engine.media)
        )
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
            model=model_meant(app.config, app.engine.env, parsed.text("model")),
            # A command may wait for servers it has never seen; a gateway has others to serve, and they go on coming up.
            patience=app.engine.startup_grace if context.surface == "control" else None,
            sink=progress,
            asker=asker,
            surface="agent",
            allow=allow,
            says_yes=parsed.flag("yes"),
        )
        said, named = "", set[str]()
        try:
            async with told_of_waiting(context.console, await app.engine.manager(), agent) as named:
                if progress is not None:
                    stack.enter_context(progress.shown())
                reply = await app.reply(message, conversation, attachments=attachments, timeout=timeout)
            said = reply.text
        finally:
            await tell(context, app.engine, agent, set(), answer=said, but=named)
    if answers:
        _say(context.console, "reply", as_json(reply))
    elif progress is None:
        context.console.data(as_json(reply))
    else:
        await progress.end(reply)
    return 0 if reply.reason == "done" else 1


def _tell_of_idle(console: Console, engine: Engine, agent: str, allow: Sequence[str]) -> None:
    """Say which `--allow` lets nothing run: what a rule refuses is refused all the same."""
    found = idle_allowances(
        map(parse, allow),
        lambda tool: engine.decide(tool, agent),
        engine.approval_rules(agent),
        native=NATIVE_NAMES,
        has_plugins=bool({*engine.config.root.plugins.entries} - {MCP_CLIENT}),
    )
    for pattern, why in found:
        console.note(clean_terminal(f"--allow {pattern.text} lets nothing run: {why}."))


def _answers(context: Context, parsed: Parsed) -> frozenset[str]:
    """The kinds of questions that whoever runs this will answer. Raises UsageError."""
    kinds = answerable_kinds(parsed.text("answers"))
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
    else:
        message = "\n\n".join(filter(None, (message, as_text(await context.console.piped(MOST_PIPED)))))
    if not message.strip():
        raise UsageError(
            "openclaw agent: there is no message.",
            hint='Try: openclaw agent "hello", or pipe it in.',
        )
    return message


def as_text(piped: bytes) -> str:
    """What was piped in, as part of a message. Raises UsageError for what is no text, or too much of it."""
    if len(piped) > MOST_PIPED:
        raise UsageError(
            f"What is piped in has more than {MOST_PIPED:,} bytes.", hint="Send it along as a file: --attach FILE"
        )
    try:
        text = piped.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise UsageError("What is piped in is not text.", hint="Send it along as a file: --attach FILE")
    return text.strip("\n") if text.strip() else ""


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
        document |= {"stopped": reply.reason, **error_json(OpenClawError(reply.error))}
    return document
