"""`openclaw mcp connect`: a server is tried, and kept when it works.

Owns the order: the entry is read, a person agrees to running a program, the server is started and asked for its tools, somebody signs in
where it wants that, and then the file is written, with every comment kept. What does not work is not written, unless `--force` says so.
"""

import asyncio
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from openclaw.commands.dispatch import Context
from openclaw.commands.last_words import variable_lacked
from openclaw.commands.manage import change_config, section_of
from openclaw.commands.mcp import status_json
from openclaw.commands.once import is_address
from openclaw.commands.parse import Parsed
from openclaw.commands.passing import told_on
from openclaw.commands.read_tools import ask_about_reading, claims_reading
from openclaw.commands.render import status_lines
from openclaw.commands.sign_in import sign_in_to
from openclaw.commands.trial import Trial, show_last_lines, trial, why_not, works
from openclaw.commands.typed_server import Entry, consent, entry_of, name_for, named_here, pairs_of
from openclaw.config.agents import agent as agent_spec
from openclaw.config.dotted import Path, format_path
from openclaw.config.edit import preview, set_value
from openclaw.config.servers import ServerSpec, read_server, server_specs
from openclaw.engine import Engine
from openclaw.errors import AuthError, OpenClawError, ProcessError, UsageError
from openclaw.log import one_line
from openclaw.mcp.connect import TIMEOUT_KEY
from openclaw.mcp.status import ServerStatus
from openclaw.process.find_program import find_program
from openclaw.security.external import clean_label
from openclaw.typed_words import join_words

# Seconds that a slow starter may be given, in place of the usual 30.
_LONG = 120
_FORCE = "--force adds it all the same."


async def connect(context: Context, parsed: Parsed) -> int:
    """Try a server, start a sign-in when it wants one, and add it to the config when it works."""
    words = parsed.many("words")
    entry = entry_of(context, parsed, words)
    is_untouched = True
    try:
        async with context.open_engine() as engine:
            name = parsed.text("name") or name_for(words)
            agent = agent_spec(engine.config, parsed.text("agent")).id
            if any(one.name == name for one in (await engine.manager()).status(agent)):
                raise UsageError(f"There is a server named {name} already.", hint="Choose another: --name NAME")
            read_server(name, entry)
            _refuse_a_name(context, parsed, words)
            if "command" in entry and not parsed.flag("yes"):
                variables = list(pairs_of(parsed, "env"))
                when = "whenever OpenClaw runs"
                if not await consent(context, words, variables, when=when, question="Add and run it?"):
                    context.console.note("Nothing was changed.")
                    return 1
            path = (*section_of(engine.config, parsed.text("agent")), name)
            spec = _spec_at(context, path, entry, agent)
            async with trial(engine, spec, agent) as tried:
                status = await _tried(context, parsed, tried)
                is_untouched = False
                # It goes on running: the config names the same server now.
                await change_config(context, engine, _addition(path, entry))
            await _told(context, parsed, engine, path, agent, status)
            if "cwd" in entry and not parsed.flag("json"):
                here = f"{one_line(named_here(words, context.cwd), 60)} is there"
                context.console.note(
                    f"It is run in {context.cwd}, wherever OpenClaw runs: {here}. The entry keeps that as `cwd`."
                )
    except asyncio.CancelledError:
        # Its person wants it to stop, and is owed a word of what became of it.
        if is_untouched:
            context.console.note("Stopped: nothing was saved.")
        raise
    return 0


def _refuse_a_name(context: Context, parsed: Parsed, words: Sequence[str]) -> None:
    """Other programs have the name first, and it would be asked about as a program. Raises UsageError."""
    # Of `notes -- npx …`, the dashes stand between the two.
    words = [word for at, word in enumerate(words) if (at, word) != (1, "--")]
    if parsed.text("name") or parsed.flag("force") or len(words) < 2:
        return
    name, where, *_ = words
    # A path, also one with a variable in it, is no name.
    if (
        "/" not in name
        and "$" not in name
        and not _is_program(context, name)
        and (is_address(where) or _is_program(context, where))
    ):
        line = f"openclaw mcp connect --name {join_words(words)}"
        raise UsageError(
            f"There is no program '{one_line(name, 60)}' on the search path.", hint=f"Is it a name? {line}"
        )


def _is_program(context: Context, word: str) -> bool:
    try:
        find_program(word, search_path=context.env.get("PATH", ""), cwd=context.cwd)
    except ProcessError:
        return False
    return True


def _addition(path: Path, entry: Entry) -> Callable[[str], str]:
    return lambda source: set_value(source, path, entry)


def _spec_at(context: Context, path: Path, entry: Entry, agent: str) -> ServerSpec:
    """The server as the file would have it, with the settings and variables that hold there."""
    config = preview(context.paths, context.env, _addition(path, entry))
    return next(one for one in server_specs(config, agent) if one.name == path[-1])


async def _tried(context: Context, parsed: Parsed, tried: Trial) -> ServerStatus:
    """How the server stands after one attempt, with a sign-in where somebody can do it. Raises OpenClawError when it is not to be kept."""
    with context.console.live.waiting(f"Waiting for {clean_label(tried.spec.name, 60)}"):
        status = await tried.attempt()
    if status.state == "needs-auth" and context.surface != "http":
        return replace(await _signed_in(context, parsed, tried), auth="oauth")
    if works(status) or parsed.flag("force"):
        return status
    lines = await tried.last_lines()
    show_last_lines(context.console, lines)
    raise OpenClawError(f"{tried.spec.name} was not added: {why_not(status)}", hint=_next_step(status, tried, lines))


def _next_step(status: ServerStatus, tried: Trial, lines: list[str]) -> str:
    if TIMEOUT_KEY in status.reason:
        return f"--timeout {_LONG} gives it {_LONG} s, and keeps that; {_FORCE}"
    lacked = variable_lacked(lines)
    if lacked and lacked not in dict(tried.spec.env):
        return f"Does it need {lacked}? --env NAME=VALUE before the program gives it a variable; {_FORCE}"
    return _FORCE


async def _signed_in(context: Context, parsed: Parsed, tried: Trial) -> ServerStatus:
    name = tried.spec.name
    say = context.console.note if parsed.flag("json") else context.console.line
    try:
        if not await sign_in_to(context, tried.engine, tried.spec, say):
            # It works but for the sign-in, and how to finish that was said: no second way to begin it.
            return replace(tried.status, remedy="", last_error="", last_error_ago=None)
    except AuthError as error:
        if parsed.flag("force"):
            context.console.note(f"Nobody signed in: {error.message}")
            return tried.status
        raise AuthError(f"{name} was not added: {error.message}", hint=error.hint or _FORCE) from error
    return await tried.again()


async def _told(context: Context, parsed: Parsed, engine: Engine, path: Path, agent: str, status: ServerStatus) -> None:
    console, name = context.console, path[-1]
    if parsed.flag("json"):
        console.data(status_json(status))
        return
    console.line(f"Added {name} to {format_path(path[:-1])} in {context.paths.config_file}.")
    (shown,) = told_on(context.surface, [status])
    for line in status_lines(shown):
        console.line(line)
    if status.state != "ready":
        return
    added = next(one for one in server_specs(engine.config, agent) if one.name == name)
    if not parsed.flag("yes"):
        await ask_about_reading(console, engine, added, agent)
    elif console.interactive and await claims_reading(engine, added, agent):
        console.note(f"Some of its tools say that they only read. To allow them: openclaw approvals reading {name}")
