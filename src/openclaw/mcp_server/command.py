"""`openclaw mcp-server` and `openclaw order`. The options of the first are read here by hand, since a client waits while we start.

`main` is the fast way in, for the words a client's config holds. Everything else (help, mistakes, `--print-config`) goes through the
command table like any other command, and ends in `run`.
"""

import os
from collections.abc import Sequence

from openclaw.control import plain_options
from openclaw.version import __version__

# A plain name instead of typing.TYPE_CHECKING: type checkers know it, and importing typing costs milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from openclaw.commands.dispatch import Context
    from openclaw.commands.parse import Parsed
    from openclaw.mcp_server.order import Order


def main(words: Sequence[str]) -> int | None:
    """Serve with these options (the words after `mcp-server`); None when there is more to them, and the command table should see to it."""
    if words == ["--version"]:
        try:
            os.write(1, f"openclaw mcp-server {__version__}\n".encode())
            return 0
        except OSError:
            # Nobody takes it. The command table knows what to say then.
            return None
    options = plain_options.read(words, plain_options.FLAGS, plain_options.VALUES)
    if options is None:
        return None
    from openclaw.mcp_server import serve

    return serve.main(serve.Options(**options))


async def run(context: "Context", parsed: "Parsed") -> int:
    """The same by way of the command table."""
    if client := parsed.text("print-config"):
        return _print_config(context, parsed, client)
    from openclaw.control.standard_streams import take_over
    from openclaw.mcp_server.serve import Options, serve

    options = Options(
        agent=parsed.text("agent"),
        config=parsed.text("config"),
        local=parsed.flag("local"),
        verbose=parsed.flag("verbose"),
        log_level=parsed.text("log-level"),
        log_json=parsed.flag("log-json"),
    )
    return await serve(options, take_over())


def _print_config(context: "Context", parsed: "Parsed", client: str) -> int:
    from openclaw.commands.own_program import command_line, own_places
    from openclaw.mcp_server.clients import config_text, place_text

    command, *arguments = command_line(context, parsed, "mcp-server")
    env = own_places(context)
    context.console.line(config_text(client, command, arguments, env))
    place = place_text(client, command, arguments, env)
    context.console.note(context.console.dim(f"For {place}"))
    return 0


async def run_order(context: "Context", parsed: "Parsed") -> int:
    """`openclaw order`: one order from standard input, its progress and its result as JSON lines.

    For programs, and for `openclaw mcp-server`, which has a running gateway do it this way. The input is what `order_openclaw` takes. The
    output is `{"session": "…"}`, the short hash by which logs know the conversation, `{"progress": "…"}` any number of times, then
    `{"result": {"content": […], "isError": …}}`.
    """
    import msgspec

    from openclaw.content import to_json
    from openclaw.mcp_server.host import carry_out
    from openclaw.mcp_server.server import OrderListener
    from openclaw.protocol.eras import MODERN
    from openclaw.trace_context import CARRIED, carried

    order = msgspec.structs.replace(
        await _order(context),
        waited=parsed.number("waited") or 0.0,
        caller=carried({name: parsed.text(name) for name in CARRIED if parsed.text(name)}),
    )

    def say(value: "dict[str, Any]") -> None:
        context.console.out(to_json(value).decode() + "\n")

    async with context.open_app() as app:
        result = await carry_out(
            app,
            order,
            agent=parsed.text("agent"),
            version=parsed.text("revision") or MODERN[0],
            listener=OrderListener(
                tell=lambda text: say({"progress": text}),
                joined=lambda session: say({"session": session}),
                asker=context.console.asker,
            ),
            # A gateway's servers are up, or on their way; a command waits for them.
            patience=app.engine.startup_grace if context.surface == "control" else None,
            workspace=context.cwd,
        )
    say({"result": result})
    return 1 if result["isError"] else 0


async def _order(context: "Context") -> "Order":
    import msgspec

    from openclaw.errors import UsageError
    from openclaw.mcp_server.order import read_order

    # By itself: hundreds of megabytes of JSON are forgotten when this returns.
    given = (await context.console.read()).encode("utf-8", "replace")
    try:
        return read_order(msgspec.Raw(given))
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UsageError(f"openclaw order: standard input is not JSON: {error}.") from None
