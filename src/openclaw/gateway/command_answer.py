"""A command of the terminal as the answer to a request: what it prints with `--json`, or why it failed."""

from collections.abc import Callable, Sequence

import msgspec
from aiohttp import web

from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context, run_command
from openclaw.commands.failure import sentence
from openclaw.errors import OpenClawError
from openclaw.gateway.http import failure, json_response

_FAILED, _USAGE = 1, 2

# Makes what a command needs, for a surface that nobody sits at.
MakeContext = Callable[[Console], Context]


async def answer_of(
    make_context: MakeContext,
    command: Sequence[str],
    options: Sequence[str] = (),
    words: Sequence[str] = (),
    *,
    finds: bool = False,
) -> web.Response:
    """Run `COMMAND --json OPTIONS -- WORDS`. Behind `--` nothing is an option, whatever a caller names a server or a tool.

    `finds`: it looks at something, and an exit code that is not 0 says what it found, not that it failed.
    """
    out: list[str] = []
    err: list[str] = []
    context = make_context(Console(out=out.append, err=err.append))
    try:
        code = await run_command([*command, "--json", *options, *(["--", *words] if words else [])], context)
    except OpenClawError as error:
        code = error.exit_code
        err.append(sentence(error))
    said, complaint = "".join(out).strip(), "".join(err).strip()
    if code == _USAGE and not said:
        return failure(400, "invalid_request", complaint)
    if not said:
        return json_response({"ok": True}) if code == 0 else failure(502, "command_failed", complaint)
    try:
        body = msgspec.json.decode(said)
    except msgspec.DecodeError:
        body = {"ok": code == 0, "message": said}
    return json_response(body, status=502 if code == _FAILED and not finds else 200)
