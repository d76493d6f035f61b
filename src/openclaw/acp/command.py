"""`openclaw acp`. Its options are read here by hand, since an editor waits while we start.

`main` is the fast way in, for the words an editor's config holds: it answers `initialize` before anything else is loaded (`greeting.py`),
unless somebody has to look first whether a model is there (`model_mark.py`).
Everything else (help, mistakes) goes through the command table like any other command, and ends in `run`.
"""

import os
import select
import sys
from collections.abc import Sequence

from openclaw.acp import greeting, model_mark
from openclaw.control import plain_options

# A plain name instead of typing.TYPE_CHECKING: type checkers know it, and importing typing costs milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from openclaw.commands.dispatch import Context
    from openclaw.commands.parse import Parsed

_FLAGS = {
    **plain_options.FLAGS,
    "--reset-session": "reset_session",
    "--require-existing": "require_existing",
    "--allow-client-servers": "allow_client_servers",
}
_VALUES = {**plain_options.VALUES, "--session": "session"}
# What another OpenClaw takes for its own gateway, and what says how it writes prompts: taken, and of no effect here.
_NOT_OURS_FLAGS = {"--no-prefix-cwd": ""}
_NOT_OURS = dict.fromkeys(
    ("--url", "--token", "--token-file", "--password", "--password-file", "--session-label", "--provenance"), ""
)

_AT_A_TERMINAL = (
    "openclaw acp waits for messages of the Agent Client Protocol on standard input; an editor usually starts it. Ctrl-D ends it.\n"
    "To talk to it from here: openclaw acp client\n"
)
_CLOSED = "openclaw acp: standard input or output is closed. Start it from an editor.\n"
_READ_BYTES = 65_536


def main(words: Sequence[str]) -> int | None:
    """Serve with these options (the words after `acp`); None when there is more to them, and the command table should see to it."""
    options = plain_options.read(words, {**_FLAGS, **_NOT_OURS_FLAGS}, {**_VALUES, **_NOT_OURS})
    if options is None:
        return None
    try:
        # Before anything is opened: it would take the place of a missing one.
        for descriptor in (0, 1):
            os.fstat(descriptor)
    except OSError:
        sys.stderr.write(_CLOSED)
        return 1
    if os.isatty(0):
        sys.stderr.write(_AT_A_TERMINAL)
    first = _greet(options)
    if first is None:
        # Nobody said anything. At a terminal another end of input would be waited for.
        return 0
    greeted, rest = first
    from openclaw.acp import serve
    from openclaw.control.standard_streams import take_over

    return serve.main(serve.ServeOptions(**options), take_over(), greeted, rest)


def _greet(options: "dict[str, Any]") -> tuple[bytes, bytes] | None:
    """Answer a plain `initialize`, if that is what comes first and it is known whether a model is there.

    That line, and what was read besides; nothing of it is lost. None when the input ends before anything came.
    """
    given = b""
    try:
        while b"\n" not in given and len(given) < greeting.MOST_BYTES:
            piece = _read()
            if not piece:
                return (b"", given) if given else None
            given += piece
    except OSError:
        return b"", given
    line, _, rest = given.partition(b"\n")
    named = (options.get(name, "") for name in ("config", "agent", "session"))
    has_model = model_mark.has_model(os.environ, *named)
    told = None if has_model is None else greeting.answer(line, has_model=has_model)
    if told is None:
        return b"", given
    try:
        os.write(1, told + b"\n")
    except OSError:
        # Nobody reads it. Whoever serves notices that too.
        return b"", given
    return line, rest


def _read() -> bytes:
    while True:
        try:
            return os.read(0, _READ_BYTES)
        except BlockingIOError:
            # The other side made what we share non-blocking.
            select.select([0], [], [])


async def run(context: "Context", parsed: "Parsed") -> int:
    """The same by way of the command table."""
    if editor := parsed.text("print-config"):
        return _print_config(context, parsed, editor)
    if parsed.flag("setup"):
        return await _set_up(context, parsed)
    from openclaw.acp.serve import ServeOptions, serve
    from openclaw.control.standard_streams import take_over

    texts: dict[str, Any] = {name: parsed.text(name.replace("_", "-")) for name in _VALUES.values()}
    flags: dict[str, Any] = {name: parsed.flag(name.replace("_", "-")) for name in _FLAGS.values()}
    return await serve(ServeOptions(**texts, **flags), take_over())


def _print_config(context: "Context", parsed: "Parsed", editor: str) -> int:
    from openclaw.acp.editors import EDITORS, config_text
    from openclaw.commands.own_program import command_line, own_places

    command, *words = command_line(context, parsed, "acp", also=("allow-client-servers",))
    context.console.line(config_text(editor, command, words, own_places(context)))
    context.console.note(context.console.dim(f"For {EDITORS[editor]}"))
    return 0


async def _set_up(context: "Context", parsed: "Parsed") -> int:
    """What a client runs where a person can read: 0 when there is a model to answer with."""
    from openclaw.models.naming import OFFLINE

    async with context.open_app() as app:
        selection = await app.selection(app.engine.agent(parsed.text("agent")))
        console = context.console
        if selection.name == OFFLINE and selection.found:
            console.line(f"There is no model to answer with: {selection.found}.")
            console.line(f"Set agents.defaults.model in {app.paths.config_file}, for example:")
            console.line("  openclaw config set agents.defaults.model anthropic/claude-sonnet-4-5")
            console.line("and give its vendor's key, such as ANTHROPIC_API_KEY, in the environment of the editor.")
            return 1
        console.line(f"{selection.name} answers{f' ({selection.found})' if selection.found else ''}.")
        if selection.problem:
            console.line(selection.problem)
        return 1 if selection.problem else 0
