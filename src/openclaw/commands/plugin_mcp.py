"""`mcp_manage`: the tool behind `/mcp …`, called with the words as they were typed and never by a model.

It runs the same commands as `openclaw mcp …`, on a console that collects what they print. What they have to say on the way (an error,
an address to open while they wait) goes to the person at once.
"""

from json import JSONDecodeError, JSONDecoder
from typing import Any

import msgspec

from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context, dispatch
from openclaw.commands.options import HELP
from openclaw.commands.other_words import MCP
from openclaw.content import Text
from openclaw.plugins.mcp_client import MCP_CLIENT, MCP_MANAGE
from openclaw.tool import Invocation, Tool, ToolResult, parameters
from openclaw.typed_words import split_words

# The tree of `openclaw mcp`, by the name it has here; options about the process that runs a command mean nothing here.
_TREE = msgspec.structs.replace(MCP, name="/mcp")
_SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


def words_of(line: str) -> list[str]:
    """The words of a line as a shell splits them, but for JSON, which nothing here needs to have quoted. Raises ValueError."""
    head, brace, rest = line.partition(" {")
    if not brace:
        return split_words(line)
    try:
        words = split_words(head)
    except ValueError:
        # The brace stands within quotes.
        return split_words(line)
    json = brace[1:] + rest
    try:
        _, end = JSONDecoder().raw_decode(json)
    except JSONDecodeError:
        # Whoever reads it says what is wrong with it.
        return [*words, json]
    return [*words, json[:end], *split_words(json[end:])]


def mcp_manage(context: Context) -> Tool:
    """The tool for one surface. Its result is what a person reads; `details.exitCode` says how it went."""

    async def run(arguments: dict[str, Any], invocation: Invocation) -> ToolResult:
        try:
            words = words_of(arguments["command"])
        except ValueError:
            return ToolResult.error("error: /mcp: a quote is not closed.")
        printed: list[str] = []
        console = context.console
        collecting = Console(
            out=printed.append,
            # Folded to fit the screen, as what else is said in a chat.
            err=lambda text: console.note(text.removesuffix("\n")),
            width=console.columns(),
            live=console.live,
            asker=console.asker,
            browse=console.browse,
        )
        code = await dispatch(words, msgspec.structs.replace(context, console=collecting, root=_TREE), (HELP,))
        return ToolResult((Text("".join(printed).rstrip("\n")),), is_error=code != 0, details={"exitCode": code})

    return Tool(
        MCP_MANAGE,
        "Manage MCP servers.",
        parameters(_SCHEMA),
        run,
        kind="plugin",
        origin=MCP_CLIENT,
        label="MCP servers",
        timeout=None,
    )
