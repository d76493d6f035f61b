"""`openclaw order`: one order from standard input, its progress and its result as JSON lines.

For programs, and for `openclaw mcp-server`, which has a running gateway do it this way. The input is what `order_openclaw` takes. The
output is `{"session": "…"}`, the short hash by which logs know the conversation, `{"progress": "…"}` any number of times, then
`{"result": {"content": […], "isError": …}}`.
"""

from typing import Any

import msgspec
from msgspec import Raw

from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.content import to_json
from openclaw.errors import UsageError
from openclaw.mcp_server.arguments import Order, read_order
from openclaw.mcp_server.fulfil import fulfil
from openclaw.mcp_server.server import OrderListener
from openclaw.protocol.eras import MODERN


async def run(context: Context, parsed: Parsed) -> int:
    order = await _order(context)
    order.waited = parsed.number("waited") or 0.0

    def say(value: dict[str, Any]) -> None:
        context.console.out(to_json(value).decode() + "\n")

    async with context.open_app() as app:
        result = await fulfil(
            app,
            order,
            agent=parsed.text("agent"),
            version=parsed.text("revision") or MODERN[0],
            listener=OrderListener(
                tell=lambda text: say({"progress": text}), joined=lambda session: say({"session": session})
            ),
            # A gateway's servers are up, or on their way; a command waits for them.
            patience=app.engine.startup_grace if context.surface == "control" else None,
            workspace=context.cwd,
        )
    say({"result": result})
    return 1 if result["isError"] else 0


async def _order(context: Context) -> Order:
    # By itself: hundreds of megabytes of JSON are forgotten when this returns.
    given = (await context.console.read()).encode("utf-8", "replace")
    try:
        return read_order(Raw(given))
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UsageError(f"openclaw order: standard input is not JSON: {error}.") from None
