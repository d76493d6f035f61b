"""What a person can point at in a conversation: `/server:prompt key=value` and `@server:uri`.

Both fetch something from a server and put it into the person's message. A resource is framed as what it is; a prompt is what the person
chose to say. Either way the conversation knows that the text came from there. Pointing at something that is not there is a UsageError; a
lone `@` or a word with a colon that names no server is just text.
"""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from openclaw.commands.arguments import prompt_arguments
from openclaw.config.wording import nearest
from openclaw.content import Block, Text
from openclaw.conversation import Conversation
from openclaw.engine import Engine
from openclaw.errors import OpenClawError, ProtocolError, TransportError, UsageError
from openclaw.late_pattern import late_pattern
from openclaw.mcp.client import Client, offers
from openclaw.mcp.manager import Manager
from openclaw.mcp.prompts import PROMPT_TOOL, get_prompt, list_prompts
from openclaw.mcp.prompts import blocks as prompt_blocks
from openclaw.mcp.resources import READ_TOOL, list_resources, read_resource, show
from openclaw.mcp.server.server import LiveServer
from openclaw.mcp.tools.names import typed_name
from openclaw.mcp.tools.results import PromptEntry, ResourceContents
from openclaw.security.policy import Decision, Named, ToolRef
from openclaw.tool import Invocation
from openclaw.typed_words import split_words

# `@server:uri`, at the start of a word. The address ends at the next blank, or before the marks that end a sentence.
_POINTER = late_pattern(r"(?<![^\s(])@(?P<server>[A-Za-z0-9_.-]+):(?P<uri>\S+)")
_MARKS = ".,;:!?)"
# What one reference may add to a message; the same bound as for resources that are put into the context.
_REFERENCE_BYTES = 64 * 1024
# How long one server may take to name its prompts while a person types.
_NAMES_SECONDS = 1.0


class FullMessage(msgspec.Struct, frozen=True):
    """A message as the model gets it: the person's own words, and what they pointed at. `sources` is where each block came from."""

    message: str
    blocks: tuple[Block, ...] = ()
    sources: tuple[str, ...] = ()


# What the rules say about a tool for an agent.
Decide = Callable[[Named, str], Decision]


def permit(manager: Manager, decide: Decide, agent: str, server: str, tool: str) -> None:
    """Raises UsageError when the agent's policy forbids `tool` of a server: a person who types it is bound by the policy too."""
    manager.server(server, agent)
    name = manager.tool_name(server, tool, agent)
    decision = decide(ToolRef(name, "mcp", server), agent)
    if not decision.allowed:
        raise UsageError(f"{name} may not be used: {decision}.")


async def with_resources(
    manager: Manager, decide: Decide, agent: str, message: str, *, invocation: Invocation | None = None
) -> FullMessage:
    """The message with every `@server:uri` in it read. Raises OpenClawError, which names what cannot be read or may not be.

    `invocation` has the person, whom a server may ask something first.
    """
    known = _typed(manager, agent)
    found = [match for match in _POINTER.finditer(message) if match["server"] in known]
    read_blocks: list[Block] = []
    sources: list[str] = []
    for match in found:
        name = known[match["server"]]
        permit(manager, decide, agent, name, READ_TOOL)
        server = manager.server(name, agent)
        if uri := await _meant(server, match["uri"]):
            contents = await read_from(server, uri, invocation)
            read_blocks.append(Text(show(server.spec.name, contents, _REFERENCE_BYTES)))
            sources.append(f"mcp:{name}")
    return FullMessage(message, tuple(read_blocks), tuple(sources))


def wanted_by(engine: Engine, conversation: Conversation) -> Invocation:
    """What a server is told of a person who wants something of it that is no tool's: what it asks them first is one of all open questions.
    The agent and the whole key of the session, if there is one, are in the conversation."""
    return Invocation(engine.asking(conversation))


async def read_from(server: LiveServer, uri: str, invocation: Invocation | None = None) -> list[ResourceContents]:
    """What one resource holds. Raises OpenClawError, which says whose resource cannot be read."""
    try:
        return await server.use(lambda client: read_resource(client, uri, invocation=invocation))
    except (ProtocolError, TransportError) as error:
        # The error of a server mostly names neither the server nor the resource.
        raise OpenClawError(
            f"The resource {uri} of MCP server '{server.spec.name}' cannot be read: {error.message}",
            hint=error.hint,
        ) from error


async def _meant(server: LiveServer, typed: str) -> str:
    """The address that was typed, without the punctuation that may end a sentence, unless the server lists it with that."""
    bare = typed.rstrip(_MARKS)
    if bare == typed:
        return typed
    try:
        listed = {entry.uri for entry in await server.use(list_resources)}
    except OpenClawError:
        # Reading it tells what is wrong.
        listed = set()
    longer = (typed[:end] for end in range(len(typed), len(bare), -1))
    return next((uri for uri in longer if uri in listed), bare)


def is_prompt(manager: Manager, agent: str, name: str) -> bool:
    """Whether `/name` means a prompt: the part before the colon is one of the agent's servers."""
    server, colon, _ = name.partition(":")
    return bool(colon) and server in _typed(manager, agent)


def server_words(manager: Manager, agent: str) -> list[str]:
    """How the agent's servers are typed before a colon."""
    return list(_typed(manager, agent))


async def servers_with_resources(manager: Manager, agent: str) -> list[str]:
    """Those of `server_words` that may have some: all but the ones that are up and declare none. None is started for this."""
    up = {status.name for status in manager.status(agent) if status.state == "ready"}
    typed = _typed(manager, agent)
    without = {name for name in set(typed.values()) & up if not await _may_have_resources(manager.server(name, agent))}
    return [word for word, name in typed.items() if name not in without]


async def _may_have_resources(server: LiveServer) -> bool:
    async def declared(client: Client) -> bool:
        return offers(client.agreement, "resources")

    try:
        return await server.use(declared, timeout=_NAMES_SECONDS)
    except OpenClawError:
        # It may have some when it is back.
        return True


async def resource_names(manager: Manager, agent: str, word: str) -> dict[str, str]:
    """The resources of one server, by its typed word, with their names. None is started for this, and none waited for long."""
    server = _typed(manager, agent).get(word, "")
    if server not in {status.name for status in manager.status(agent) if status.state == "ready"}:
        return {}
    try:
        async with asyncio.timeout(_NAMES_SECONDS):
            entries = await manager.server(server, agent).use(list_resources)
    except (TimeoutError, OpenClawError):
        return {}
    return {entry.uri: entry.title or entry.name for entry in entries if not any(map(str.isspace, entry.uri))}


def _typed(manager: Manager, agent: str) -> dict[str, str]:
    """The agent's servers by the word that is typed for each. A configured name goes before one that was derived from another."""
    names = [status.name for status in manager.status(agent)]
    return {**{typed_name(name): name for name in names}, **{name: name for name in names}}


async def filled_prompt(
    engine: Engine, agent: str, name: str, words: str, *, invocation: Invocation | None = None
) -> FullMessage:
    """`/server:prompt key=value …` as a message: the line as it was typed, and what the prompt says for the person. Raises UsageError when
    there is no such prompt or an argument is wrong."""
    manager = await engine.manager()
    server, prompt = _taken_apart(manager, agent, name)
    permit(manager, engine.decide, agent, server, PROMPT_TOOL)
    entry = await _entry(manager, server, agent, prompt)
    try:
        given = prompt_arguments(entry, split_words(words))
    except ValueError:
        raise UsageError(f"/{name}: a quote is not closed.") from None
    filled = await manager.server(server, agent).use(
        lambda client: get_prompt(client, entry, given, invocation=invocation)
    )
    blocks = prompt_blocks(server, entry.name, filled, engine.media)
    return FullMessage(f"/{name} {words}".rstrip(), blocks, (f"mcp:{server}",) * len(blocks))


def prompt_typed(manager: Manager, agent: str, words: Sequence[str]) -> tuple[str, str, Sequence[str]]:
    """The server, the prompt and its arguments, of `SERVER PROMPT …` or `SERVER:PROMPT …`, as the list of prompts names it. Raises
    UsageError when no prompt is named."""
    first, rest = words[0].removeprefix("/"), words[1:]
    if is_prompt(manager, agent, first):
        return (*_taken_apart(manager, agent, first), rest)
    if not rest:
        if is_prompt(manager, agent, meant := first.replace("/", ":", 1)):
            raise UsageError(f"{first} is no prompt.", hint=f'Did you mean "{meant}"?')
        listed = f"openclaw mcp prompts {first}" if first in _typed(manager, agent) else "openclaw mcp prompts"
        raise UsageError("The name of the prompt is missing.", hint=f"Try: {listed}")
    servers = _typed(manager, agent)
    if first not in servers and "=" in rest[0]:
        # An argument, and no prompt of a server.
        raise UsageError(
            f"{first} stands without its server.", hint="openclaw mcp prompts lists each as SERVER:PROMPT."
        )
    return servers.get(first, first), rest[0], rest[1:]


def _taken_apart(manager: Manager, agent: str, name: str) -> tuple[str, str]:
    """The server and the prompt that `/server:prompt` names."""
    word, _, prompt = name.partition(":")
    return _typed(manager, agent).get(word, word), prompt


async def _entry(manager: Manager, server: str, agent: str, prompt: str) -> PromptEntry:
    listed = {entry.name: entry for entry in await manager.server(server, agent).use(list_prompts)}
    if prompt not in listed:
        hint = nearest(prompt, list(listed)) or f"Try: /mcp prompts {server}"
        raise UsageError(f"{server} has no prompt of this name.", hint=hint)
    return listed[prompt]


async def prompt_names(manager: Manager, agent: str) -> dict[str, str]:
    """The prompts that can be typed now, and what is said of each."""
    return {name: _about(entry) for name, entry in (await prompt_entries(manager, agent)).items()}


async def prompt_entries(manager: Manager, agent: str) -> dict[str, PromptEntry]:
    """The prompts that can be typed now: those of servers that are up. No server is started for this, and none is waited for long."""
    up = [status.name for status in manager.status(agent) if status.state == "ready"]
    named = await asyncio.gather(*(_named(manager, agent, server) for server in up))
    return {name: entry for names in named for name, entry in names.items()}


async def _named(manager: Manager, agent: str, server: str) -> dict[str, PromptEntry]:
    try:
        async with asyncio.timeout(_NAMES_SECONDS):
            entries: Sequence[PromptEntry] = await manager.server(server, agent).use(list_prompts)
    except (TimeoutError, OpenClawError):
        # What the other servers have can still be typed.
        return {}
    return {f"{typed_name(server)}:{entry.name}": entry for entry in entries}


def _about(entry: PromptEntry) -> str:
    """What a prompt takes, and what it is for."""
    takes = " ".join(f"{argument.name}{'' if argument.required else '?'}" for argument in entry.arguments or [])
    return ": ".join(filter(None, (takes, entry.description or entry.title or ""))) or "a prompt"


async def argument_words(manager: Manager, agent: str, name: str, typed: str) -> list[str]:
    """How the last word after `/server:prompt` may go on: an argument's name, or its value as the server completes it."""
    server, prompt = _taken_apart(manager, agent, name)
    entry = await _entry(manager, server, agent, prompt)
    *before, last = typed.split(" ")
    given = dict(word.split("=", 1) for word in before if "=" in word)
    key, equals, start = last.partition("=")
    if not equals:
        names = [argument.name for argument in entry.arguments or [] if argument.name not in given]
        return [f"{argument}=" for argument in names if argument.startswith(key)]
    values = await manager.server(server, agent).complete(key, start, prompt=prompt, given=given)
    return [f"{key}={value}" for value in values]
