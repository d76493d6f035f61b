"""How the last word of a line in chat may go on: commands and their words, names of servers, tools, conversations and models, resources and
files.

Owns what fits where. Names of `/mcp` are decided as a shell's are (control/shell_words.py). Asks only servers that are up, and none of them
for long: a person is typing. What a word is replaced by stands whole, with the slash or the `@` it begins with.
"""

import asyncio
import os
import re
from pathlib import Path

import msgspec

from openclaw.commands.attaching import path_of, plain_path, typed_path
from openclaw.commands.chat_state import Chat
from openclaw.commands.completion import known_names, tree
from openclaw.commands.last import THOUGHTS
from openclaw.commands.mcp_table import MCP
from openclaw.commands.references import (
    argument_words,
    is_prompt,
    prompt_names,
    resource_names,
    server_words,
    servers_with_resources,
)
from openclaw.config.agents import default_agent
from openclaw.control.shell_words import offers, short_key, split_line
from openclaw.errors import OpenClawError
from openclaw.models.configured import model_names
from openclaw.security.external import clean_label
from openclaw.sessions.key import is_unnamed
from openclaw.workplace import SLASH_WORDS

# A completion that takes longer is of no use to somebody who types.
COMPLETION_SECONDS = 2.0
# Files of one folder that are offered; nobody reads through more.
_MOST_FILES = 200
_MOST_WORD = 500
# Conversations that are offered, those used last.
_SESSIONS = 1_000
# The last word: up to a blank without a backslash before it.
_LAST = re.compile(r"(?:\\.|\S)*$")


class Word(msgspec.Struct, frozen=True):
    """`text` takes the place of the last word; `help` is said of it."""

    text: str
    help: str = ""


def last_word(line: str) -> str:
    """What the words that are offered take the place of."""
    found = _LAST.search(line)
    return found[0] if found else ""


async def completions(chat: Chat, line: str) -> list[Word]:
    """How the last word of `line` may go on. Never raises OpenClawError: where something is wrong nothing is offered."""
    try:
        async with asyncio.timeout(COMPLETION_SECONDS):
            found = await _offered(chat, line)
    except (TimeoutError, OpenClawError):
        return []
    last = last_word(line)
    return [
        Word(clean_label(word, _MOST_WORD), clean_label(text, 80))
        for word, text in found.items()
        if word.startswith(last) and word.isprintable()
    ]


async def _offered(chat: Chat, line: str) -> dict[str, str]:
    last = last_word(line)
    command, blank, rest = line[1:].partition(" ") if line.startswith("/") else ("", "", "")
    if last.startswith("@"):
        return await _pointed_at(chat, last[1:])
    if not line.startswith("/"):
        return {}
    if not blank:
        return await _commands(chat)
    manager, agent = await chat.app.engine.manager(), chat.spec.id
    match command.lower():
        case "mcp":
            return await _mcp(chat, rest)
        case "model":
            return {
                "default": "the agent's own",
                **dict.fromkeys(model_names(chat.app.config, chat.app.engine.env), ""),
            }
        case "sessions" | "resume":
            found, own = await chat.app.store.find(limit=_SESSIONS), default_agent(chat.app.config)
            # What was asked once is gone back to rarely.
            kept = sorted(found.sessions, key=lambda info: is_unnamed(info.key))
            return {short_key(info.key, own): info.title for info in kept}
        case "last":
            return {THOUGHTS: "what the model thought before its last answer"}
        case "attach" | "export":
            return await asyncio.to_thread(_files, chat.context.cwd, last)
        case "skill":
            skills = await asyncio.to_thread(chat.skills)
            of_files = {name: found.skill.description for name, found in skills.commands.items()}
            return {**of_files, **(await chat.served()).descriptions()}
        case "approvals":
            return _open_questions(chat)
        case "approve":
            ids = _open_questions(chat) if " " not in rest else {}
            return ids or dict.fromkeys(("allow-once", "allow-always", "deny"), "")
        case _ if is_prompt(manager, agent, command):
            return dict.fromkeys(await argument_words(manager, agent, command, rest), "")
        case _:
            return {}


def _open_questions(chat: Chat) -> dict[str, str]:
    return {one.id: one.question.text for one in chat.app.engine.questions.pending()}


async def _commands(chat: Chat) -> dict[str, str]:
    skills = await asyncio.to_thread(chat.skills)
    of_skills = {name: found.skill.description for name, found in skills.commands.items()}
    prompts = await prompt_names(await chat.app.engine.manager(), chat.spec.id)
    served = (await chat.served()).descriptions()
    return {f"/{name}": text for name, text in {**SLASH_WORDS, **of_skills, **prompts, **served}.items()}


async def _mcp(chat: Chat, typed: str) -> dict[str, str]:
    names = await known_names(chat.app.engine)
    words = split_line(typed)
    if (of_server := await _of_server(chat, words)) is not None:
        return of_server
    found = offers({**tree(MCP, ""), "shared": []}, lambda kind: names.get(kind, {}), words)
    if found is None:
        return await asyncio.to_thread(_files, chat.context.cwd, words[-1])
    return found


async def _of_server(chat: Chat, words: list[str]) -> dict[str, str] | None:
    """Prompts and what they take, and resources, which servers that are up are asked for; None for other words."""
    manager, agent = await chat.app.engine.manager(), chat.spec.id
    match words:
        case ["prompt", name] if not name.startswith("-"):
            return await prompt_names(manager, agent)
        case ["prompt", name, *given] if is_prompt(manager, agent, name):
            return dict.fromkeys(await argument_words(manager, agent, name, " ".join(given)), "")
        case ["read", server, uri] if server in server_words(manager, agent) and not uri.startswith("-"):
            return await resource_names(manager, agent, server)
        case _:
            return None


async def _pointed_at(chat: Chat, typed: str) -> dict[str, str]:
    """`@server:uri` and `@path`."""
    manager, agent = await chat.app.engine.manager(), chat.spec.id
    server, colon, _ = typed.partition(":")
    if colon and server in server_words(manager, agent):
        found = await resource_names(manager, agent, server)
        return {f"@{server}:{uri}": text for uri, text in found.items()}
    words = await servers_with_resources(manager, agent) if "/" not in typed else []
    servers = {f"@{name}:": "resources" for name in words}
    files = await asyncio.to_thread(_files, chat.context.cwd, typed)
    return {**servers, **{f"@{path}": text for path, text in files.items()}}


def _files(cwd: Path, typed: str) -> dict[str, str]:
    """Files and folders that a path may go on with, as they are typed. Those with a dot in front only when one was typed."""
    plain = plain_path(typed).replace(os.sep, "/")
    start = plain.rpartition("/")[2]
    before = plain[: len(plain) - len(start)]
    found: dict[str, str] = {}
    try:
        entries = sorted(os.scandir(path_of(cwd, before or ".")), key=lambda entry: entry.name)
    except OSError:
        return {}
    for entry in entries:
        if entry.name.startswith(start) and (start or not entry.name.startswith(".")) and len(found) < _MOST_FILES:
            try:
                mark = "/" if entry.is_dir() else ""
            except OSError:
                continue
            found[typed_path(f"{before}{entry.name}") + mark] = "folder" if mark else ""
    return found
