"""`/…` in a conversation: the built-in commands, and those that skills declare.

Runs no model. A skill whose command names a tool gets that tool called with the words as typed; a skill without one turns the line
into a message that asks the model to follow the skill.
"""

import asyncio
from collections.abc import Mapping

import msgspec

from openclaw.asking.answers import Given
from openclaw.commands import conversations
from openclaw.commands.chat_state import Chat, Outcome, Run
from openclaw.commands.console import Console
from openclaw.commands.last import show_last
from openclaw.commands.plugin_mcp import mcp_manage
from openclaw.commands.questions import answer_question, described, show_pending, told
from openclaw.commands.references import FullMessage, filled_prompt, is_prompt, prompt_names
from openclaw.commands.tools import purpose
from openclaw.config.wording import nearest
from openclaw.content import Text, text_of
from openclaw.errors import UsageError
from openclaw.log import one_line
from openclaw.plugins.mcp_client import MCP_MANAGE
from openclaw.security.external import clean_terminal
from openclaw.security.unframe import without_frames
from openclaw.skills.skill import SkillFault
from openclaw.tool import Tool
from openclaw.workplace import SLASH_WORDS

# Of a prompt that is said for the person: its beginning tells which one it is.
_SHOWN_LINES = 8


async def run(chat: Chat, line: str) -> Outcome:
    """Run one line that starts with a slash. Raises OpenClawError."""
    name, _, words = line[1:].strip().partition(" ")
    built_in = BUILT_IN.get(name.lower())
    if built_in is not None:
        return await built_in(chat, words.strip())
    if (tool := await _served(chat, name)) is not None:
        return Outcome(await _use_served_skill(chat, name, tool, words.strip()))
    if is_prompt(await chat.app.engine.manager(), chat.spec.id, name):
        said = await filled_prompt(chat.app.engine, chat.spec.id, name, words, invocation=chat.wants())
        _show_words(chat.console, said)
        return Outcome(said)
    return await _use_skill(chat, name, words)


def _show_words(console: Console, said: FullMessage) -> None:
    """What a prompt says in the person's name, as far as they need it to know what they said."""
    lines = [
        line for block in said.blocks if isinstance(block, Text) for line in without_frames(block.text).split("\n")
    ]
    for line in lines[:_SHOWN_LINES]:
        console.note(console.dim(f"  {clean_terminal(line)}"))
    if len(lines) > _SHOWN_LINES:
        console.note(console.dim(f"  … {len(lines) - _SHOWN_LINES} more"))


async def _served(chat: Chat, name: str) -> Tool | None:
    """What reads the skill of a server that a word means; None when it means none, or one on this machine, which always comes first."""
    if ":" not in name or (await asyncio.to_thread(chat.skills)).find(name) is not None:
        return None
    return (await chat.served()).tool(name)


async def _use_served_skill(chat: Chat, name: str, tool: Tool, words: str) -> FullMessage:
    """A message with the instructions of a skill of a server, which the person chose by its name: for this once that is a yes."""
    conversation = msgspec.structs.replace(chat.conversation(), says_yes=True)
    result = await chat.app.call(tool, {"skill": name}, conversation)
    if result.is_error:
        raise UsageError(clean_terminal(without_frames(text_of(result.content))))
    task = f"Request: {words}" if words else "No further words were given."
    sources = (f"mcp:{tool.origin}",) * len(result.content)
    return FullMessage(f"Follow the skill {name!r} of the MCP server {tool.origin!r}. {task}", result.content, sources)


async def _use_skill(chat: Chat, name: str, words: str) -> Outcome:
    skills = await asyncio.to_thread(chat.skills)
    command = skills.find(name)
    if command is None:
        served = await chat.served()
        if (reading := served.tool(name)) is not None:
            return Outcome(await _use_served_skill(chat, name, reading, words.strip()))
        prompts = await prompt_names(await chat.app.engine.manager(), chat.spec.id)
        known = [f"/{word}" for word in (*BUILT_IN, *skills.commands, *served.offered(), *prompts)]
        # A prompt by its bare name: whose it is stands before the colon.
        whose = next((prompt for prompt in prompts if prompt.partition(":")[2] == name), "")
        hint = f'Did you mean "/{whose}"?' if whose else nearest(f"/{name}", known)
        raise UsageError(f"There is no command /{one_line(name, 40)}.", hint=hint or "Type /help.")
    if command.tool:
        is_ours = command.tool == MCP_MANAGE
        tool = mcp_manage(chat.context) if is_ours else command.tool
        conversation = chat.conversation()
        # They typed it themselves. A command of ours is theirs whatever the agent may do; a tool of a skill is one of the agent's.
        conversation = msgspec.structs.replace(
            conversation, says_yes=True, reads_only=conversation.reads_only and not is_ours
        )
        result = await chat.app.call(tool, command.arguments(words.strip()), conversation)
        if said := text_of(result.content):
            chat.console.line(clean_terminal(without_frames(said)))
        return Outcome()
    try:
        return Outcome(FullMessage(command.message(words.strip())))
    except SkillFault as fault:
        raise UsageError(f"/{name} cannot be used: {fault}") from None


async def _help(chat: Chat, words: str) -> Outcome:
    skills = await asyncio.to_thread(chat.skills)
    rows = [(f"/{name}", summary) for name, summary in SLASH_WORDS.items()]
    rows += [(f"/{name}", one_line(command.skill.description)) for name, command in skills.commands.items()]
    rows += [(f"/{name}", one_line(text)) for name, text in (await chat.served()).descriptions().items()]
    chat.console.table(("command", "what it does"), rows)
    return Outcome()


async def _tools(chat: Chat, words: str) -> Outcome:
    one = await chat.app.agent(chat.spec, workspace=chat.context.cwd, session=chat.session, folders=chat.folders)
    tools = one.tools()
    chat.console.table(("tool", "what it does"), [(tool.name, purpose(tool)) for tool in tools])
    return Outcome()


async def _last(chat: Chat, words: str) -> Outcome:
    await show_last(chat.app, chat.console, chat.session, words)
    return Outcome()


async def _status(chat: Chat, words: str) -> Outcome:
    selection = await chat.app.selection(chat.spec, chat.model)
    chat.console.line(f"agent {chat.spec.id}, model {selection.name}, conversation {one_line(chat.key, 80)}")
    if selection.problem:
        chat.console.line(selection.problem)
    return Outcome()


async def _quit(chat: Chat, words: str) -> Outcome:
    return Outcome(leave=True)


async def _approvals(chat: Chat, words: str) -> Outcome:
    questions = chat.app.engine.questions
    # The words of `openclaw approvals show ID` are understood, too.
    name = words.removeprefix("show ").strip()
    if name:
        for line in described(await questions.find(name)):
            chat.console.line(line)
        return Outcome()
    await questions.look()
    show_pending(chat.console, questions)
    return Outcome()


async def _approve(chat: Chat, words: str) -> Outcome:
    name, _, rest = words.partition(" ")
    word, _, note = rest.strip().partition(" ")
    if not word:
        raise UsageError("/approve needs an id and a word.", hint="Try: /approve ID allow-once, allow-always or deny.")
    ended = await answer_question(chat.app.engine.questions, name, Given(word, note=note.strip()))
    chat.console.line(told(ended))
    return Outcome()


async def _skill(chat: Chat, words: str) -> Outcome:
    name, _, rest = words.partition(" ")
    if not name:
        raise UsageError("/skill needs the name of a skill.", hint="Type /help to see them.")
    return await _use_skill(chat, name, rest)


# What each of SLASH_WORDS (workplace.py, with what /help says of it) does; in the same order, which a test holds.
BUILT_IN: Mapping[str, Run] = {
    "help": _help,
    "new": conversations.new,
    "reset": conversations.reset,
    "sessions": conversations.list_or_switch,
    "resume": conversations.list_or_switch,
    "title": conversations.title,
    "undo": conversations.undo,
    "compact": conversations.compact,
    "export": conversations.export,
    "copy": conversations.copy,
    "attach": conversations.attach,
    "model": conversations.model,
    "usage": conversations.usage,
    "tools": _tools,
    "last": _last,
    "status": _status,
    "approvals": _approvals,
    "approve": _approve,
    "skill": _skill,
    "quit": _quit,
    "exit": _quit,
}
