"""`openclaw setup`: from nothing to a model that answers and a server with tools, in a few questions.

Every question has an answer that Enter takes, and everything can be run again: what is there already is the answer that is offered. Only
what was answered is written, by the commands that a person could type instead, which keep every comment of the file. A model is asked for
a word before it is used, and a key that brought none is not kept.
"""

import asyncio
import shutil
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final

import msgspec

from openclaw.cli.keys import check_vendor, forget_key, keep_key, usable
from openclaw.cli.prompts import Prompts, StoppedError
from openclaw.commands.dispatch import Context, run_command
from openclaw.commands.import_search import search
from openclaw.commands.models import asking, catalog_of, doubts, model_path, tried_line, try_model
from openclaw.commands.parse import Parsed
from openclaw.config.agents import agent as agent_spec
from openclaw.config.edit import edit_file, remove_whole, set_value
from openclaw.config.load import Config, load_config
from openclaw.config.servers import server_specs
from openclaw.control.instance import holder, lock_file
from openclaw.errors import ConfigError, OpenClawError, UsageError
from openclaw.log import one_line
from openclaw.models.naming import OFFLINE
from openclaw.models.vendors import VENDORS
from openclaw.typed_words import split_words

# Vendors of which most people have a key of one; the others can be typed.
_USUAL: Final = ("anthropic", "openai", "google", "openrouter")
_ANOTHER: Final = "Another vendor, or a server of your own"
# What a server of one's own is called, unless its person says otherwise.
_OWN: Final = "own"
# A slip of the pen costs nothing that was typed before it. Who cannot answer at all is shown the ways again.
_TRIES: Final = 3
_NONE: Final = "None for now: words pick a tool, and no language model answers"


class Way(msgspec.Struct, frozen=True):
    """One way to a model, as it is offered: `model` when it is known already, otherwise whose it will be; neither for none at all."""

    text: str
    model: str = ""
    vendor: str = ""
    # It has a key.
    is_ready: bool = False
    # Nothing is written for what is in use already.
    is_kept: bool = False


async def run(context: Context, parsed: Parsed) -> int:
    unattended = parsed.flag("yes")
    if not unattended and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "openclaw setup asks questions, and nobody is at a terminal.",
            hint="To take the offered answers: --yes. One by one: openclaw keys set, models set, mcp connect.",
        )
    console, prompts = context.console, Prompts(context.console, unattended=unattended)
    config = load_config(context.paths, context.env)
    console.line(console.bold("OpenClaw: a model, a server with tools, and you are done."))
    kept = "is not there yet" if config.missing else "stays, with what you answer here put in"
    console.line(f"Enter takes the answer in brackets, Ctrl-C stops. {context.paths.config_file} {kept}.")
    model = await _model(context, prompts)
    servers = await _server(context, prompts)
    is_up = await _gateway(context, prompts)
    console.line("")
    console.line(console.bold("Done."))
    console.line(f"  Model    {model}")
    console.line(f"  Servers  {', '.join(one_line(name, 60) for name in servers) or 'none yet: openclaw mcp connect'}")
    console.line(f"  Gateway  {'runs' if is_up else 'does not run: openclaw gateway start makes calls much quicker'}")
    console.line("Talk with it: openclaw chat")
    return 0


# The model


async def _model(context: Context, prompts: Prompts) -> str:
    """The model that agents use when this is over."""
    while True:
        config = load_config(context.paths, context.env)
        context.console.line("")
        ways = await _ways(context, config)
        # Somebody without a key may want to look around first.
        default = 0 if ways[0].model or ways[0].is_ready else len(ways) - 1
        question = context.console.bold("Which model shall answer?")
        way = ways[await prompts.choice(question, [one.text for one in ways], default)]
        if way.is_kept:
            return way.model
        if not (way.model or way.vendor):
            return await _without_model(context)
        async with AsyncExitStack() as undo:
            try:
                name = way.model or await _of_vendor(context, prompts, config, way.vendor, undo)
                if await _works(context, prompts, name):
                    await _use(context, name)
                    undo.pop_all()
                    return name
            except (ConfigError, StoppedError):
                raise
            except OpenClawError as error:
                context.console.note(str(error))
        if prompts.unattended:
            # Nobody is there to choose another.
            return OFFLINE


async def _without_model(context: Context) -> str:
    """No language model, as was said: where a key would bring one by itself, the config says that none is wanted."""
    async with context.open_engine() as engine, catalog_of(engine) as models:
        found = (await models.select()).name
    if found != OFFLINE:
        await _use(context, OFFLINE)
        vendor = found.partition("/")[0]
        context.console.note(f"The key of {vendor} stays and is not used: openclaw models set {found} changes that.")
    return OFFLINE


async def _use(context: Context, name: str) -> None:
    # Read again: a key may have been put into it.
    path = model_path(load_config(context.paths, context.env), "")
    await asyncio.to_thread(edit_file, context.paths, context.env, lambda source: set_value(source, path, name))


async def _ways(context: Context, config: Config) -> list[Way]:
    present = agent_spec(config).model
    async with context.open_engine() as engine, catalog_of(engine) as models:
        ready = [(vendor, models.key_origin(vendor)) for vendor in models.with_keys()]
        found = await models.select() if not present else None
    ways = [Way(f"{present}, as configured", present, is_kept=True)] if present else []
    if found is not None and found.name != OFFLINE:
        ways.append(Way(f"{found.name} ({found.found})", found.name))
    ways += [
        Way(f"{'Another model of ' if present else ''}{vendor} (key: {origin})", vendor=vendor, is_ready=True)
        for vendor, origin in ready
        if found is None or not found.name.startswith(f"{vendor}/")
    ]
    with_key = {vendor for vendor, _ in ready}
    ways += [Way(f"{vendor}: you type its API key", vendor=vendor) for vendor in _USUAL if vendor not in with_key]
    ways.append(Way(f"{_ANOTHER}: {', '.join(_others())}", vendor=_ANOTHER))
    return ways if present else [*ways, Way(_NONE)]


def _others() -> list[str]:
    return [vendor for vendor in VENDORS if vendor not in _USUAL]


async def _of_vendor(context: Context, prompts: Prompts, config: Config, vendor: str, undo: AsyncExitStack) -> str:
    """A model of a vendor, whose key is asked for when there is none; `undo` takes it away again."""
    is_own = False
    if vendor == _ANOTHER:
        vendor = await prompts.text("Vendor, or the address of a server that speaks as OpenAI's does", _others()[0])
        if is_own := "://" in vendor:
            vendor = await _own(context, prompts, config, vendor, undo)
            config = load_config(context.paths, context.env)
        check_vendor(config, vendor)
    async with context.open_engine() as engine, catalog_of(engine) as models:
        takes_key = vendor in VENDORS and VENDORS[vendor].variables and not models.key_origin(vendor)
    if takes_key or is_own:
        key = usable(await prompts.hidden(f"API key of {vendor}{', Enter when it wants none' if is_own else ''}"))
        if not (key or is_own):
            raise UsageError(f"Without a key {vendor} does not answer.")
        if key:
            kept = await keep_key(context, config, vendor, key)
            undo.push_async_callback(_take_back, context, vendor)
            context.console.note(f"The key is in {kept.place}.")
            if kept.warning:
                context.console.note(kept.warning)
    async with context.open_engine() as engine, catalog_of(engine) as models:
        with context.console.live.waiting(f"Asking {vendor}"):
            offered = await models.offered(vendor)
        usual = VENDORS[vendor].model if vendor in VENDORS else ""
        default = usual if usual in offered else next(iter(offered), usual)
        for left in reversed(range(1 if prompts.unattended else _TRIES)):
            model = await prompts.text(f"Model of {vendor} ({len(offered)} there)", default)
            name = models.full_name(f"{vendor}/{model.removeprefix(f'{vendor}/')}")
            if not (doubt := await doubts(models, name)).unknown:
                return name
            if left:
                context.console.note(doubt.text)
    raise UsageError(doubt.text)


async def _own(context: Context, prompts: Prompts, config: Config, address: str, undo: AsyncExitStack) -> str:
    """A provider for a server of one's own, by its address; `undo` takes it away again. Its name."""
    for left in reversed(range(_TRIES)):
        name = await prompts.text("A name for it", _OWN)
        if name not in VENDORS and name not in config.root.models.providers and name.isidentifier():
            break
        refusal = f"{one_line(name, 60)} cannot be its name. Take one word of letters that no vendor has."
        if not left:
            raise UsageError(refusal)
        context.console.note(refusal)
    path = ("models", "providers", name)

    async def write(change: Callable[[str], str]) -> None:
        await asyncio.to_thread(edit_file, context.paths, context.env, change)

    try:
        entry = {"baseUrl": address, "api": "openai-completions"}
        await write(lambda source: set_value(source, path, entry))
    except ConfigError as error:
        # It is what was typed a moment ago, and no fault of the file.
        raise UsageError(f"{one_line(address, 200)} cannot be used: {error.problems[0].message}") from None
    undo.push_async_callback(write, lambda source: remove_whole(source, path))
    return name


async def _take_back(context: Context, vendor: str) -> None:
    """A key that brought no model: it would be found by itself from now on, and may be wrong."""
    left = await forget_key(context, load_config(context.paths, context.env), vendor)
    context.console.note(f"The key of {vendor} was not kept{f': {left}' if left else ''}.")


async def _works(context: Context, prompts: Prompts, name: str) -> bool:
    """Whether the model answers, or is to be used all the same."""
    async with context.open_engine() as engine, catalog_of(engine) as models:
        with context.console.live.waiting(asking(name)):
            tried = await try_model(models, name)
    context.console.note(tried_line(context.console, tried))
    return not tried.error or await prompts.yes("Use it all the same?", default=False)


# The server


async def _server(context: Context, prompts: Prompts) -> list[str]:
    """The servers there are when this is over."""
    console = context.console
    present = _names(context)
    console.line("")
    ways: list[tuple[str, list[str]]] = [("None now", [])]
    if others := await asyncio.to_thread(_importable, context):
        ways.append((f"Those of {', '.join(others)}, which are on this machine", ["import", "all"]))
    if shutil.which("npx", path=context.env.get("PATH")):
        folder = str(context.cwd)
        words = ["connect", "--name", "files", "npx", "-y", "@modelcontextprotocol/server-filesystem", folder]
        ways.append((f"The files of {folder} (by npx, which fetches the server)", words))
    if shutil.which("uvx", path=context.env.get("PATH")):
        words = ["connect", "--name", "time", "uvx", "mcp-server-time"]
        ways.append(("Time zones (by uvx, which fetches the server)", words))
    ways.append(("One whose address or command line you type", []))
    # The first one is offered to who has none, and is there to agree to running it.
    default = 0 if present or prompts.unattended or len(ways) == 2 else 1
    has = f" You have {', '.join(one_line(name, 60) for name in present)}." if present else ""
    chosen = await prompts.choice(
        console.bold(f"Which MCP server shall be added?{has}"), [text for text, _ in ways], default
    )
    words = ways[chosen][1]
    try:
        if chosen == len(ways) - 1 and (
            typed := split_words(await prompts.text("Address (https://…) or command line"))
        ):
            words = ["connect", *typed]
        if words:
            await run_command(["mcp", *words], context)
    except (ConfigError, StoppedError):
        raise
    except (OpenClawError, ValueError) as error:
        # A quote that is not closed is the second.
        console.note(f"{console.bad('not added:')} {error}")
    return _names(context)


def _importable(context: Context) -> list[str]:
    """The programs whose servers could be taken over."""
    return list(dict.fromkeys(one.program.name for one in search(context) if one.reading.entries))


def _names(context: Context) -> list[str]:
    config = load_config(context.paths, context.env)
    return [spec.name for spec in server_specs(config, agent_spec(config).id)]


# The gateway


async def _gateway(context: Context, prompts: Prompts) -> bool:
    """Whether one runs when this is over."""
    if holder(lock_file(context.paths)) is not None:
        return True
    if context.root.child("gateway") is None:
        return False
    context.console.line("")
    question = "Start the gateway now? It keeps servers running, so that calls take milliseconds; `openclaw gateway stop` ends it."
    if not await prompts.yes(question, default=False):
        return False
    return await run_command(["gateway", "start"], context) == 0
