"""`openclaw sessions`: list, show, export, delete and prune conversations."""

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime

from openclaw.app import App
from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.config.agents import default_agent
from openclaw.content import AssistantMessage, Block, Message, Text, ToolMessage, UserMessage
from openclaw.errors import SessionBusyError, StoreError
from openclaw.log import one_line
from openclaw.media import shown_size
from openclaw.security.external import clean_terminal
from openclaw.security.unframe import without_frames
from openclaw.sessions.event import Reset, Said, Shortened
from openclaw.sessions.export import jsonl
from openclaw.sessions.key import session_key
from openclaw.sessions.retention import Keep, Pruned
from openclaw.sessions.store import SessionInfo

# A key in the middle of a sentence.
_SHOWN_SENTENCE = 80
# Seconds for a turn that is just ending; one that goes on is not waited for, nor taken away from whoever waits for its answer.
_ENDING_TURN = 1.0
# Enough of a tool's result to recognise it; `export` has it whole.
_SHOWN_RESULT = 400


async def list_sessions(context: Context, parsed: Parsed) -> int:
    minutes = parsed.number("active")
    async with context.open_app() as app:
        store = app.file_store if parsed.text("store") == "file" else app.store
        found = await store.list(
            agent=parsed.text("agent") or None, active_within=None if minutes is None else minutes * 60
        )
    if parsed.flag("json"):
        context.console.data([_as_json(info) for info in found])
    elif not found:
        context.console.line('No conversations yet. Start one: openclaw agent -m "hello"')
    else:
        keys = _shown_keys(context.console, app, [info.key for info in found])
        rows = [
            (key, _when(info.updated), str(info.messages), info.agent) for key, info in zip(keys, found, strict=True)
        ]
        context.console.table(("key", "last used", "messages", "agent"), rows)
    return 0


async def show(context: Context, parsed: Parsed) -> int:
    async with context.open_app() as app:
        transcript = await app.store.show(_key(app, parsed))
    if parsed.flag("json"):
        context.console.data({**_as_json(transcript.info), "entries": [entry.event for entry in transcript.entries]})
        return 0
    for entry in transcript.entries:
        match entry.event:
            case Said(message=message):
                _print_message(context.console, message)
            case Shortened(summary=summary):
                context.console.line(context.console.dim(f"[shortened here] {clean_terminal(summary)}"))
            case Reset():
                context.console.line(context.console.dim("[a new conversation starts here]"))
            case _:
                pass
    return 0


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
    else:
        context.console.line(
            "Deleted." if deleted else "There is no such conversation. `openclaw sessions` lists them."
        )
    return 0 if deleted else 1


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
    rows = [(key, _when(one.updated), shown_size(one.size)) for key, one in zip(keys, pruned.removed, strict=True)]
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
    own = f"agent:{default_agent(app.config)}:"
    short = [key.removeprefix(own) for key in keys]
    return [
        shlex.quote(clean_terminal(key if less.startswith("agent:") or not less else less))
        for key, less in zip(keys, short, strict=True)
    ]


def _key(app: App, parsed: Parsed) -> str:
    """A key as `sessions list` shows it, or as it was given to `agent --session-key`."""
    typed = parsed.text("key")
    return typed if typed.startswith("agent:") else session_key(default_agent(app.config), typed)


def _as_json(info: SessionInfo) -> dict[str, object]:
    return {
        "key": info.key,
        "id": info.id,
        "agent": info.agent,
        "createdAt": _iso(info.created),
        "updatedAt": _iso(info.updated),
        "messages": info.messages,
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


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")
