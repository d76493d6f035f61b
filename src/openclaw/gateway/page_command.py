"""`openclaw ui`: open the gateway's page, signed in, or sign all pages out."""

from urllib.parse import urlsplit

from openclaw.auth.browser import has_screen, open_browser
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.control import wire
from openclaw.control.instance import holder, lock_file, socket_of
from openclaw.control.socket_client import ask
from openclaw.errors import OpenClawError


async def ui(context: Context, parsed: Parsed) -> int:
    console = context.console
    if parsed.flag("sign-out"):
        answer = await _ask(context, wire.REVOKE)
        if parsed.flag("json"):
            console.data(answer)
        else:
            count = answer["revoked"]
            console.line(f"Signed out: {count} page{'' if count == 1 else 's'}.")
        return 0
    answer = await _ask(context, wire.TICKET)
    url = f"{answer['url']}#ticket={answer['ticket']}"
    if parsed.flag("json"):
        console.data({"url": url})
        return 0
    is_open = not parsed.flag("no-open") and has_screen(context.env) and await open_browser(url, context.env)
    if is_open:
        console.line(f"Opened {answer['url']} in your browser.")
    else:
        console.line("Open this address in your browser within a minute:")
        console.line(f"  {url}")
        port = urlsplit(str(answer["url"])).port
        console.note(console.dim(f"On another machine: ssh -L {port}:127.0.0.1:{port} to this one first."))
    return 0


async def _ask(context: Context, kind: bytes) -> dict[str, object]:
    """Raises OpenClawError when no gateway answers."""
    answer = await ask(socket_of(context.paths), kind)
    if answer is not None:
        return answer
    if holder(lock_file(context.paths)) is None:
        raise OpenClawError("No gateway runs.", hint="Start it: openclaw gateway start")
    raise OpenClawError("The gateway does not answer.", hint="Restart it: openclaw gateway restart")
