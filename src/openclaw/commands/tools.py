"""`openclaw tools`: what an agent has, and why it has not the rest."""

from openclaw.app import Explanation
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.log import one_line
from openclaw.security.external import clean_terminal
from openclaw.tool import Tool


async def list_tools(context: Context, parsed: Parsed) -> int:
    async with context.open_app() as app:
        agent = await app.settled(parsed.text("agent"))
        tools = agent.tools()
    if parsed.flag("json"):
        context.console.data([_as_json(tool) for tool in tools])
        return 0
    rows = [
        (tool.name, tool.kind + (f" {tool.origin}" if tool.origin else ""), one_line(tool.description))
        for tool in tools
    ]
    context.console.table(("tool", "from", "what it does"), rows)
    context.console.note(context.console.dim("Why is one missing? openclaw tools explain NAME"))
    return 0


def _as_json(tool: Tool) -> dict[str, object]:
    return {
        "name": tool.name,
        "kind": tool.kind,
        "origin": tool.origin,
        "description": tool.description,
        "inputSchema": tool.parameters,
    }


async def explain(context: Context, parsed: Parsed) -> int:
    """Exit code 0 when the agent has the tool, 1 when it has not."""
    async with context.open_app() as app:
        found: Explanation = await app.explain(parsed.text("name"), parsed.text("agent"))
    if parsed.flag("json"):
        context.console.data(found)
    else:
        word = context.console.good("available") if found.available else context.console.bad("not available")
        context.console.line(clean_terminal(f"{found.name}: ") + f"{word}: {clean_terminal(found.reason)}")
        if found.where:
            context.console.line(f"  decided in: {clean_terminal(found.where)}")
        for place in found.looked:
            context.console.line(f"  looked at: {clean_terminal(place)}")
    return 0 if found.available else 1
