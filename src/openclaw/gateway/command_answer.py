"""A command of the terminal as the answer to a request: what it prints with `--json`, or why it failed."""

from collections.abc import Callable, Sequence

import msgspec
from aiohttp import web

from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context, run_command
from openclaw.commands.failure import sentence
from openclaw.errors import OpenClawError
from openclaw.gateway.completions import error_json
from openclaw.gateway.http import failure, json_response
from openclaw.redact import redact

_FAILED, _USAGE = 1, 2
_COMMAND_FAILED = "command_failed"

# Makes what a command needs, for a surface that nobody sits at.
MakeContext = Callable[[Console], Context]


async def answer_of(
    make_context: MakeContext,
    command: Sequence[str],
    options: Sequence[str] = (),
    words: Sequence[str] = (),
    *,
    finds: bool = False,
    as_text: bool = False,
) -> web.Response:
    """Run `COMMAND --json OPTIONS -- WORDS`. Behind `--` nothing is an option, whatever a caller names a server or a tool.

    `finds`: it looks at something, and an exit code that is not 0 says what it found, not that it failed. `as_text`: the answer is what it
    says to a person, as `text`.
    """
    out: list[str] = []
    err: list[str] = []
    context = make_context(Console(out=out.append, err=err.append))
    try:
        form = [] if as_text else ["--json"]
        code = await run_command([*command, *form, *options, *(["--", *words] if words else [])], context)
    except OpenClawError as error:
        code = error.exit_code
        err.append(sentence(error))
    said, complaint = "".join(out).strip(), "".join(err).strip()
    if code == _USAGE and not said:
        return failure(400, "invalid_request", complaint, exit_code=code)
    if not said:
        return json_response({"ok": True}) if code == 0 else failure(502, _COMMAND_FAILED, complaint, exit_code=code)
    if as_text:
        return json_response({"ok": code == 0, "text": said})
    try:
        body = msgspec.json.decode(said)
    except msgspec.DecodeError:
        body = {"ok": code == 0, "message": said}
    if code != _FAILED or finds:
        return json_response(body)
    # What it printed, and the error that every answer of a failure has.
    message = complaint or (str(body.get("message", "")) if isinstance(body, dict) else "")
    told = error_json(redact(message or "It did not work."), _COMMAND_FAILED, "server_error", exit_code=code)
    return json_response({**(body if isinstance(body, dict) else {"result": body}), **told}, status=502)
