"""Slash commands about the conversation itself: which one it is, which model answers, what it used, and what was said in it.

Each is a function that slash.py has in its table. None of them runs a tool; `/compact` alone asks a model,
and `/model` a vendor whether it has one.
"""

import asyncio
import base64
import time
from collections.abc import Sequence
from itertools import count

from msgspec.structs import replace

from openclaw.commands.attaching import path_of, read_file
from openclaw.commands.chat_state import Chat, ChatState, Outcome
from openclaw.commands.models import agreed_to
from openclaw.commands.plugin_mcp import words_of
from openclaw.commands.screen.spent import cost, money, percent
from openclaw.commands.sessions import title_typed, when
from openclaw.config.agents import default_agent
from openclaw.content import AssistantMessage, Message, Text, Usage, UserMessage
from openclaw.control.shell_words import short_key
from openclaw.errors import UsageError
from openclaw.files import create, reason
from openclaw.models.configured import model_meant, model_names, prices_of
from openclaw.security.external import clean_label
from openclaw.security.unframe import without_frames
from openclaw.sessions.event import Reset, Said, Undone, without_last_exchange
from openclaw.sessions.export import jsonl
from openclaw.sessions.key import agent_of, is_unnamed, session_key
from openclaw.sessions.markdown import markdown
from openclaw.sessions.store import SessionInfo, Transcript, UnknownSessionError
from openclaw.sessions.title import MOST_CHARACTERS, shortened

# What a list shows; `openclaw sessions` has all of them.
_SHOWN = 15
# Conversations that are read to show so many, or to find one by its title: the last used of however many there are.
_LOOKED_AT = 200
# What terminals take at once for their clipboard: the smallest bound among those in use.
_MOST_COPIED = 74_000
# The word that gives the agent its own model back.
_DEFAULT = "default"


async def transcript_of(chat: Chat) -> Transcript | None:
    try:
        return await chat.app.store.show(chat.session)
    except UnknownSessionError:
        return None


def messages_of(transcript: Transcript | None, *, with_undone: bool = False) -> list[Message]:
    """What was said since the conversation last began, also what a summary took the place of."""
    said: list[Message] = []
    for entry in transcript.entries if transcript else ():
        match entry.event:
            case Said(message=message):
                said.append(message)
            case Reset():
                said = []
            case Undone() if not with_undone:
                said = without_last_exchange(said)
            case _:
                pass
    return said


async def going_on(chat: Chat) -> str:
    """A line on the conversation that is gone on with; empty for a new one."""
    transcript = await transcript_of(chat)
    said = [one for one in messages_of(transcript) if isinstance(one, UserMessage) or one.content]
    if transcript is None or not said:
        return ""
    info = transcript.info
    # As many as the lists of conversations tell.
    messages = "1 message" if info.messages == 1 else f"{info.messages} messages"
    title = clean_label(info.title, MOST_CHARACTERS)
    return f"Going on with “{title}”: {messages}, the last {when(info.updated)}. /new begins afresh."


async def new(chat: Chat, words: str) -> Outcome:
    """Go on with a conversation of its own; the one before stays, and can be gone back to. Where the lines belong to one conversation
    alone that begins afresh."""
    if not chat.can_switch:
        return await reset(chat, words)
    before = await transcript_of(chat)
    if not messages_of(before):
        chat.console.line("A new conversation.")
        return Outcome()
    await (await chat.app.engine.manager()).end_session(chat.session)
    chat.switch(ChatState(chat.agent, await _new_key(chat), chat.model))
    assert before is not None
    title = clean_label(before.info.title, MOST_CHARACTERS)
    chat.console.line(f"A new conversation. “{title}” stays: /sessions goes back to it.")
    return Outcome()


async def _new_key(chat: Chat) -> str:
    """The moment, as people read it: unlike a key that nobody chose it is kept until they say otherwise, as the one they came from."""
    moment = time.strftime("chat-%Y-%m-%d-%H%M%S")
    for number in count(1):
        key = moment if number == 1 else f"{moment}-{number}"
        if await _kept(chat, session_key(chat.spec.id, key)) is None:
            return key
    raise AssertionError("there is always one more number")


async def _kept(chat: Chat, key: str) -> SessionInfo | None:
    """The conversation of this whole key, if there is one."""
    try:
        return (await chat.app.store.last(key, 1)).info
    except UnknownSessionError:
        return None


async def reset(chat: Chat, words: str) -> Outcome:
    """Start this conversation afresh under the same key. `sessions export` keeps what was said; servers of this session are ended."""
    async with chat.app.store.turn(chat.session, chat.spec.id) as turn:
        turn.reset()
    await (await chat.app.engine.manager()).end_session(chat.session)
    chat.console.line("A new conversation.")
    return Outcome()


async def model(chat: Chat, words: str) -> Outcome:
    names, own = model_names(chat.app.config, chat.app.engine.env), await chat.app.selection(chat.spec)
    if not words:
        now = chat.model or own.name
        rows = [("→" if name == now else "", name) for name in dict.fromkeys([now, own.name, *names])]
        chat.console.table(("", "model"), rows)
        chat.console.line("/model NAME has another one answer from here on; /model default, the agent's own.")
        return Outcome()
    if words == _DEFAULT:
        chat.switch(replace(chat.state, model=""))
        chat.console.line(f"{own.name} answers again.")
        return Outcome()
    found = await chat.app.selection(chat.spec, model_meant(chat.app.config, chat.app.engine.env, words))
    # One without a key cannot be asked; that is said below.
    if not found.problem:
        now, insist = (
            f"{chat.model or own.name} still answers.",
            f"To use it all the same: openclaw chat --model {found.name}",
        )
        models = chat.app.models
        async with models.used():
            agreed = await agreed_to(chat.console, models, found.name, now, insist)
        if not agreed:
            chat.console.line(now)
            return Outcome()
    chat.switch(replace(chat.state, model=found.name))
    chat.console.line(f"{found.name} answers from here on.")
    if found.problem:
        chat.console.line(found.problem)
    return Outcome()


async def usage(chat: Chat, words: str) -> Outcome:
    # What was taken back was paid for all the same.
    said = messages_of(await transcript_of(chat), with_undone=True)
    answers = [one for one in said if isinstance(one, AssistantMessage)]
    used = sum((one.usage for one in answers), Usage())
    if not used.input_tokens and not used.output_tokens:
        chat.console.line("No tokens were counted in this conversation.")
        return Outcome()
    by_model: dict[str, Usage] = {}
    for one in answers:
        by_model[one.model] = by_model.get(one.model, Usage()) + one.usage
    costs = {name: _cost(chat, name, one) for name, one in by_model.items()}
    rows = [(name, *_counts(one), _shown_cost(costs[name])) for name, one in by_model.items()]
    if len(rows) > 1:
        # A sum of what is known alone would look like the whole.
        known = [one for one in costs.values() if one is not None]
        rows.append(("together", *_counts(used), _shown_cost(sum(known) if len(known) == len(costs) else None)))
    priced = any(one is not None for one in costs.values())
    columns = ("model", "tokens in", "of them cached", "out", "cost")
    chat.console.table(columns if priced else columns[:-1], rows if priced else [row[:-1] for row in rows])
    if not priced:
        chat.console.line(
            "What they cost is told where a model's entry has its prices: models.providers.NAME.models[].cost"
        )
    window = chat.spec.context_tokens or (await chat.app.selection(chat.spec, chat.model)).context_window
    last = answers[-1].usage.input_tokens + answers[-1].usage.output_tokens
    if last:
        chat.console.line(
            f"The last answer took {last:,} of the {window:,} tokens of the context: {percent(last / window)}."
        )
    return Outcome()


def _cost(chat: Chat, name: str, used: Usage) -> float | None:
    prices = prices_of(chat.app.config, name)
    return None if prices is None else cost(used, prices)


def _shown_cost(amount: float | None) -> str:
    return "not known" if amount is None else money(amount)


def _counts(used: Usage) -> tuple[str, str, str]:
    return f"{used.input_tokens:,}", f"{used.cached_tokens:,}", f"{used.output_tokens:,}"


async def compact(chat: Chat, words: str) -> Outcome:
    with chat.console.live.waiting("Summing up the conversation"):
        done = await chat.app.compact(chat.conversation())
    if done is None:
        chat.console.line("There is nothing to shorten.")
    else:
        gone = "1 message" if done.dropped_messages == 1 else f"{done.dropped_messages} messages"
        chat.console.line(f"{gone} gave way to notes. `sessions export` still has them.")
    return Outcome()


async def list_or_switch(chat: Chat, words: str) -> Outcome:
    """`/sessions`, and with a word the conversation to go on with: its number in the list, its key, or words of its title."""
    page = await chat.app.store.find(limit=_LOOKED_AT)
    # What was asked once is only kept: it comes behind what one goes back to.
    found = sorted(page.sessions, key=lambda info: is_unnamed(info.key))
    if words:
        await _switch(chat, await _chosen(chat, found, words))
        return Outcome()
    if not found:
        chat.console.line("No conversations yet.")
        return Outcome()
    rows = [
        (
            "→" if info.key == chat.session else str(number),
            _short(chat, info),
            when(info.updated),
            str(info.messages),
            clean_label(info.title, MOST_CHARACTERS),
        )
        for number, info in enumerate(found[:_SHOWN], 1)
    ]
    chat.console.table(("", "key", "last used", "messages", "title"), rows)
    if page.total > _SHOWN:
        chat.console.line(f"… and {page.total - _SHOWN:,} more: openclaw sessions")
    chat.console.line("/sessions NUMBER, KEY or words of a title goes on with one; /title WORDS names this one.")
    return Outcome()


def _short(chat: Chat, info: SessionInfo) -> str:
    if is_unnamed(info.key):
        # Nobody types it: the number and the title are there for that.
        return "(asked once)"
    return clean_label(short_key(info.key, default_agent(chat.app.config)), MOST_CHARACTERS)


async def _chosen(chat: Chat, found: Sequence[SessionInfo], words: str) -> SessionInfo:
    """Raises UsageError when there is none, or several."""
    if exact := await _kept(chat, words if agent_of(words) else session_key(chat.spec.id, words)):
        return exact
    if words.isdecimal() and 0 < int(words) <= min(len(found), _SHOWN):
        return found[int(words) - 1]
    held = (await chat.app.store.find((words,), limit=_LOOKED_AT)).sessions
    fitting = [info for info in held if words.lower() in info.title.lower()]
    if len(fitting) == 1:
        return fitting[0]
    many = f"{len(fitting)} conversations have" if fitting else "No conversation has"
    raise UsageError(f"{many} these words in the title, and none this key.", hint="Type /sessions to see them.")


async def _switch(chat: Chat, info: SessionInfo) -> None:
    chat.switch(ChatState(info.agent, info.key, chat.model))
    chat.console.line(await going_on(chat) or "A new conversation.")


async def title(chat: Chat, words: str) -> Outcome:
    named = title_typed([words])
    if not await chat.app.store.rename(chat.session, named):
        raise UsageError("Nothing was said yet in this conversation.", hint="Name it after your first message.")
    chat.console.line(f"Named: {named}")
    return Outcome()


async def attach(chat: Chat, words: str) -> Outcome:
    try:
        names = words_of(words)
    except ValueError:
        raise UsageError("/attach: a quote is not closed.") from None
    if not names:
        waiting = ", ".join(chat.attached)
        chat.console.line(
            f"With your next message: {waiting}" if waiting else "/attach FILE … goes with your next message."
        )
        return Outcome()
    cwd = chat.context.cwd
    paths = tuple(str(path_of(cwd, name)) for name in names)
    sent = [await asyncio.to_thread(read_file, cwd, name, f"/attach {name}") for name in names]
    chat.switch(replace(chat.state, attached=tuple(dict.fromkeys([*chat.attached, *paths]))))
    for one in sent:
        chat.console.line(f"With your next message: {one.name} ({one.mime_type}, {len(one.data):,} bytes)")
    return Outcome()


async def undo(chat: Chat, words: str) -> Outcome:
    async with chat.app.store.turn(chat.session, chat.spec.id) as turn:
        before = turn.history()
        left = without_last_exchange(before)
        if len(left) == len(before):
            chat.console.line("There is nothing to take back.")
            return Outcome()
        turn.undo()
    gone = before[len(left) :]
    said = next((block.text for block in gone[0].content if isinstance(block, Text)), "a file")
    used = any(isinstance(one, AssistantMessage) and one.tool_calls for one in gone)
    rest = " What tools did stays done." if used else ""
    chat.console.line(f"Taken back: “{clean_label(shortened(said), MOST_CHARACTERS)}” and the answer.{rest}")
    return Outcome()


async def export(chat: Chat, words: str) -> Outcome:
    transcript = await transcript_of(chat)
    if transcript is None or not messages_of(transcript):
        raise UsageError("Nothing was said yet in this conversation.")
    path = path_of(chat.context.cwd, words or _file_name(transcript.info))
    lines = jsonl(transcript) if path.suffix == ".jsonl" else markdown(transcript)
    try:
        create(path, (f"{line}\n".encode() for line in lines))
    except FileExistsError:
        raise UsageError(f"{path.name} is there already.", hint="Choose another name: /export FILE") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {reason(error)}.") from None
    chat.console.line(f"Written: {path}")
    return Outcome()


def _file_name(info: SessionInfo) -> str:
    words = "".join(character if character.isalnum() else " " for character in info.title.lower()).split()
    return f"{'-'.join(words[:6]) or 'conversation'}-{when(info.updated)[:10]}.md"


async def copy(chat: Chat, words: str) -> Outcome:
    """The last answer, for the terminal to put onto its clipboard (OSC 52); a terminal that does not do that shows nothing."""
    answers = [one for one in messages_of(await transcript_of(chat)) if isinstance(one, AssistantMessage) and one.text]
    if not answers:
        raise UsageError("There is no answer to copy.")
    text = without_frames(answers[-1].text)
    data = text.encode()
    if not chat.console.screen:
        raise UsageError("Only a terminal can copy.", hint="Write it to a file: /export FILE")
    if len(data) > _MOST_COPIED:
        raise UsageError(
            f"The answer has {len(data):,} bytes; a terminal takes {_MOST_COPIED:,}.", hint="Try: /export FILE"
        )
    chat.console.out(f"\x1b]52;c;{base64.b64encode(data).decode()}\x07")
    chat.console.line(f"Copied: {len(text):,} characters of the last answer.")
    return Outcome()
