"""`openclaw sessions`: list, show, rename, export, delete and prune conversations."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from openclaw.app import App
from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.commands.screen.columns import cells, cut
from openclaw.config.agents import default_agent
from openclaw.content import AssistantMessage, Block, Message, Text, ToolMessage, UserMessage
from openclaw.control.shell_words import short_key
from openclaw.errors import SessionBusyError, StoreError, UsageError
from openclaw.fleet.cut_turn import words_of
from openclaw.log import one_line
from openclaw.media import shown_size
from openclaw.security.external import clean_label, clean_terminal
from openclaw.security.unframe import without_frames
from openclaw.sessions.event import Custom, Reset, Said, Shortened, Undone
from openclaw.sessions.export import jsonl
from openclaw.sessions.key import is_unnamed, session_key
from openclaw.sessions.retention import Keep, Pruned
from openclaw.sessions.store import SessionInfo, unknown_session
from openclaw.sessions.title import MOST_CHARACTERS
from openclaw.typed_words import quote_word

# A key in the middle of a sentence.
_SHOWN_SENTENCE = 80
# Seconds for a turn that is just ending; one that goes on is not waited for, nor taken away from whoever waits for its answer.
_ENDING_TURN = 1.0
# Columns that all there is to tell of a conversation takes.
_WIDE = 100
# What stands beside key and title: a time, and where there is room its year, the number of messages and the agent.
_BESIDE, _BESIDE_WIDE = 15, 42
# As much of a title as says anything.
_LEAST_TITLE = 12
# Of what was asked once, beside conversations: enough to find what one asked a moment ago.
_ONCE_SHOWN = 5
# Of conversations: more than anybody looks through. There may be a million.
_LISTED = 1_000
# Enough of a tool's result to recognise it; `export` has it whole.
_SHOWN_RESULT = 400


async def list_sessions(context: Context, parsed: Parsed) -> int:
    minutes = parsed.number("active")
    async with context.open_app() as app:
        store = app.file_store if parsed.text("store") == "file" else app.store
        limit = sys.maxsize if parsed.flag("all") else int(parsed.number("limit") or _LISTED)
        page = await store.find(
            agent=parsed.text("agent") or None,
            active_within=None if minutes is None else minutes * 60,
            limit=max(limit, 0),
        )
    found = page.sessions
    if parsed.flag("json"):
        context.console.data([as_json(info) for info in found])
    elif not found:
        context.console.line('No conversations yet. Start one: openclaw agent -m "hello"')
    elif not context.console.width:
        _print_list(context.console, app, found)
    else:
        _print_apart(context.console, app, found, whole=parsed.flag("all"))
    if rest := page.total - len(found):
        context.console.note(f"… {rest:,} more: openclaw sessions list --all")
    return 0


def _print_apart(console: Console, app: App, found: Sequence[SessionInfo], *, whole: bool) -> None:
    """What one goes back to, and then what was asked once and is only kept."""
    talks = [info for info in found if not is_unnamed(info.key)]
    once = [info for info in found if is_unnamed(info.key)]
    if talks:
        _print_list(console, app, talks)
    shown = once if whole or not talks else once[:_ONCE_SHOWN]
    if talks and once:
        console.line("")
        console.line(console.bold("Asked once, without a session key"))
    if shown:
        _print_list(console, app, shown)
    if rest := len(once) - len(shown):
        console.line(console.dim(f"… {rest} more: openclaw sessions list --all"))


def _print_list(console: Console, app: App, found: Sequence[SessionInfo]) -> None:
    keys = _shown_keys(console, app, [info.key for info in found])
    titles = [clean_label(info.title, MOST_CHARACTERS) for info in found]
    times = [when(info.updated) for info in found]
    if console.width:
        # A key that is folded cannot be copied: what is too long is the title.
        rest = _BESIDE if console.width < _WIDE else _BESIDE_WIDE
        room = max(console.width - max(map(cells, keys)) - rest, _LEAST_TITLE)
        titles = [cut(title, room, utf8=console.utf8) for title in titles]
    if console.width and console.width < _WIDE:
        # Without the year, and without what is told of one conversation elsewhere: the key is whole, and the title is what one looks for.
        short = [time.partition("-")[2] for time in times]
        console.table(("key", "last used", "title"), list(zip(keys, short, titles, strict=True)))
        return
    rows = [
        (key, time, str(info.messages), info.agent, title)
        for key, time, info, title in zip(keys, times, found, titles, strict=True)
    ]
    console.table(("key", "last used", "messages", "agent", "title"), rows)


async def show(context: Context, parsed: Parsed) -> int:
    async with context.open_app() as app:
        transcript = await app.store.show(_key(app, parsed))
    if parsed.flag("json"):
        context.console.data({**as_json(transcript.info), "entries": [entry.event for entry in transcript.entries]})
        return 0
    for entry in transcript.entries:
        match entry.event:
            case Said(message=message):
                _print_message(context.console, message)
            case Shortened(summary=summary):
                context.console.line(context.console.dim(f"[shortened here] {clean_terminal(summary)}"))
            case Reset():
                context.console.line(context.console.dim("[a new conversation starts here]"))
            case Undone():
                context.console.line(context.console.dim("[the last message was taken back here]"))
            case Custom() as note:
                if words := words_of(note):
                    context.console.line(context.console.dim(f"[{words}]"))
    return 0


async def rename(context: Context, parsed: Parsed) -> int:
    title = title_typed(parsed.many("title"))
    async with context.open_app() as app:
        key = _key(app, parsed)
        if not await app.store.rename(key, title):
            raise unknown_session(key)
    context.console.line(f"Named: {title}")
    return 0


def title_typed(words: Sequence[str]) -> str:
    """A title as a person gave it, on one line. Raises UsageError when there is none."""
    title = clean_label(" ".join(words), MOST_CHARACTERS)
    if not title:
        raise UsageError("The title is missing: a conversation is called by a word or more.")
    return title


async def export(context: Context, parsed: Parsed) -> int:
    async with context.open_app() as app:
        transcript = await app.store.show(_key(app, parsed))
    for line in jsonl(transcript):
        # Escaped already, and kept as it is: whoever reads an export wants what was said, to the character.
        context.console.out(f"{line}\n")
        await context.console.flush()
    return 0


async def delete(context: Context, parsed: Parsed) -> int:
    async with context.open_app() as app:
        key = _key(app, parsed)
        try:
            deleted = await app.store.delete(key, patience=_ENDING_TURN)
        except SessionBusyError:
            raise StoreError(
                f"The conversation {one_line(key, _SHOWN_SENTENCE)} is in the middle of a turn; nothing was deleted.",
                hint="Wait until that turn has ended, or stop it (Ctrl+C where it runs), and delete again.",
            ) from None
    if parsed.flag("json"):
        context.console.data({"deleted": deleted})
        return 0 if deleted else 1
    if not deleted:
        raise unknown_session(key)
    context.console.line("Deleted.")
    return 0


async def prune(context: Context, parsed: Parsed) -> int:
    days = parsed.number("older-than")
    dry_run = parsed.flag("dry-run")
    async with context.open_app() as app:
        keep = app.keep if days is None else Keep(days, days)
        pruned = await app.store.prune(keep, dry_run=dry_run)
        if parsed.flag("json"):
            context.console.data(_pruned_json(pruned, dry_run=dry_run))
            return 0
        keys = _shown_keys(context.console, app, [one.key for one in pruned.removed])
    console = context.console
    rows = [(key, when(one.updated), shown_size(one.size)) for key, one in zip(keys, pruned.removed, strict=True)]
    console.table(("key", "last used", "size"), rows)
    for key in pruned.busy:
        console.line(f"{one_line(key, _SHOWN_SENTENCE)} is in use, and stays.")
    count = f"{len(rows)} conversation{'' if len(rows) == 1 else 's'}"
    if not rows:
        console.line("Nothing to remove: `sessions.keep` in the config says how long conversations are kept.")
    elif dry_run:
        console.line(f"Would remove {count}, {shown_size(pruned.freed)}.")
    if not dry_run and (rows or pruned.freed):
        console.line(f"Removed {count}; {shown_size(pruned.freed)} of disk space freed.")
    return 0


def _pruned_json(pruned: Pruned, *, dry_run: bool) -> dict[str, object]:
    return {
        "dryRun": dry_run,
        "removed": [{"key": one.key, "updatedAt": _iso(one.updated), "bytes": one.size} for one in pruned.removed],
        "inUse": list(pruned.busy),
        "freedBytes": pruned.freed,
    }


def _shown_keys(console: Console, app: App, keys: Sequence[str]) -> list[str]:
    """Keys that can be pasted behind `--session-key`, never cut. At a terminal they are as short as that allows, and quoted as a shell
    wants them; in a pipe they are whole."""
    if not console.width:
        return [clean_terminal(key).replace("\n", " ") for key in keys]
    own = default_agent(app.config)
    return [quote_word(clean_terminal(short_key(key, own))) for key in keys]


def _key(app: App, parsed: Parsed) -> str:
    """A key as `sessions list` shows it, or as it was given to `agent --session-key`."""
    typed = parsed.text("key")
    return typed if typed.startswith("agent:") else session_key(default_agent(app.config), typed)


def as_json(info: SessionInfo) -> dict[str, object]:
    """What `sessions list --json` prints of a session."""
    return {
        "key": info.key,
        "id": info.id,
        "agent": info.agent,
        "createdAt": _iso(info.created),
        "updatedAt": _iso(info.updated),
        "messages": info.messages,
        "title": info.title,
    }


def _print_message(console: Console, message: Message) -> None:
    match message:
        case UserMessage(content=content):
            console.line(console.bold("you: ") + clean_terminal(_text(content)))
        case AssistantMessage():
            if message.text:
                console.line(console.bold("agent: ") + clean_terminal(without_frames(message.text)))
            for call in message.tool_calls:
                console.line(console.dim(clean_terminal(f"  → {call.name} {call.arguments}")))
        case ToolMessage(name=name, content=content, is_error=is_error):
            word = "failed: " if is_error else ""
            console.line(
                console.dim(
                    clean_terminal(f"  ← {name} {word}{one_line(without_frames(_text(content)), _SHOWN_RESULT)}")
                )
            )


def _text(content: tuple[Block, ...]) -> str:
    return "\n".join(block.text if isinstance(block, Text) else f"[{block.mime_type}]" for block in content)


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def when(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")
