"""`openclaw mcp add NAME …`, as other programs have it: `openclaw mcp connect --name NAME …`.

Owns the order of the words and how other programs write a header; everything else is `connect`.
"""

from openclaw.commands.dispatch import Context, handler
from openclaw.commands.mcp_table import MCP
from openclaw.commands.parse import Parsed
from openclaw.errors import UsageError


async def add(context: Context, parsed: Parsed) -> int:
    """`mcp add NAME …` as other programs have it: `mcp connect --name NAME …`."""
    called, words = parsed.text("called"), parsed.many("words")
    if not called:
        hint = "Write: openclaw mcp add NAME URL, or NAME and the program with its arguments."
        raise UsageError("What is to be added? Its name is missing, and where it is.", hint=hint)
    given = {name: value for name, value in parsed.values.items() if name not in ("called", "words")}
    if called.startswith(("http://", "https://")):
        # An address names itself.
        words = (called, *words)
    else:
        given.setdefault("name", called)
    if not words:
        hint = f"Write: openclaw mcp add {called} URL, or the program and its arguments."
        raise UsageError(f"Where is {called}? Its address or its program is missing.", hint=hint)
    if words[0].startswith("-"):
        hint = f"To add a program without choosing a name: openclaw mcp connect {called} {' '.join(words)}"
        raise UsageError(f"{words[0]} is not a program.", hint=hint)
    if "header" in given:
        given["header"] = tuple(_as_pair(one) for one in given["header"])
    connect = MCP.child("connect")
    assert connect is not None
    meant = Parsed(connect, (*parsed.trail[:-1], connect.name), {**given, "words": words})
    return await handler(meant)(context, meant)


def _as_pair(header: str) -> str:
    """A header as HTTP writes it, `Name: value`, as `Name=value`."""
    name, colon, value = header.partition(":")
    return f"{name}={value.strip()}" if colon and "=" not in name else header
