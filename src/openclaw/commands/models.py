"""`openclaw models list | test | set`: which models there are, whether they answer, and which one agents use.

Asks the vendors for real, each once: `list` for the models they say they have, `test` for an answer of one word. `set` looks whether the
vendor has the model before it writes, and warns when it has not. A key is never printed, only where it comes from.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, Final

import msgspec

from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.config.agents import agent as agent_spec
from openclaw.config.agents import agent_ids
from openclaw.config.dotted import Path, format_path
from openclaw.config.edit import edit_file, set_value
from openclaw.config.load import Config
from openclaw.config.wording import nearest
from openclaw.content import Text, UserMessage
from openclaw.engine import Engine
from openclaw.errors import ModelError, OpenClawError, UsageError
from openclaw.log import one_line
from openclaw.models.catalog import Models
from openclaw.models.configured import provider_specs
from openclaw.models.listing import NoListError
from openclaw.models.naming import BUILTIN, OFFLINE
from openclaw.models.provider import Done, ModelRequest, TextDelta
from openclaw.models.spec import ProviderSpec

# Of the models of one vendor on a screen, unless that vendor was asked for: some have hundreds.
SHOWN: Final = 15
# Seconds for an answer of one word: also a laptop that has to load its model first manages that.
TEST_PATIENCE: Final = 120.0
# What a model may need to think before it says one word.
_TEST_TOKENS: Final = 64
_TEST_MESSAGE: Final = "Reply with the one word ok."


class Offer(msgspec.Struct, frozen=True):
    """What one provider offers, or why that is not known. `key` says where its key comes from."""

    provider: str
    key: str
    models: tuple[str, ...] = ()
    error: str = ""


class Tried(msgspec.Struct, frozen=True):
    """How a model answered. Seconds are None where it did not."""

    model: str
    error: str = ""
    seconds: float | None = None
    first_word: float | None = None
    tokens: int = 0


@asynccontextmanager
async def catalog_of(engine: Engine, *, vendor: str = "", key: str = "") -> AsyncIterator[Models]:
    """A catalog of the models of an engine's config that asks each vendor once: who waits here is told what was said. With a `key` that
    `vendor` is asked with it, whatever the config has."""

    async def resolve(value: object) -> str:
        return await engine.resolve(str(value))

    specs = {spec.id: msgspec.structs.replace(spec, max_retries=0) for spec in provider_specs(engine.config)}
    if key:
        specs[vendor] = msgspec.structs.replace(specs.get(vendor, ProviderSpec(vendor)), api_key=key)
    models = Models(
        specs.values(),
        environ=engine.env,
        resolve=resolve,
        look_around=engine.config.root.models.mode == "merge",
        base=engine.config.file.parent,
    )
    try:
        yield models
    finally:
        await models.close()


@asynccontextmanager
async def opened(context: Context) -> AsyncIterator[tuple[Config, Models]]:
    async with context.open_engine() as engine, catalog_of(engine) as models:
        yield engine.config, models


async def in_use(config: Config, models: Models) -> dict[str, list[str]]:
    """The models that agents use, fallbacks too, and the agents of each."""
    used: dict[str, list[str]] = {}
    for name in agent_ids(config):
        spec = agent_spec(config, name)
        first = spec.model or (await models.select()).name
        for model in dict.fromkeys([first, *spec.fallbacks]):
            used.setdefault(_full_name(models, model), []).append(name)
    return used


def _full_name(models: Models, name: str) -> str:
    try:
        return models.full_name(name)
    except ModelError:
        return name


# list

_COMMANDS: Final = ("list", "test", "set")


def _known(models: Models, vendor: str) -> None:
    """Raises ModelError for a vendor that nobody knows, and UsageError where it looks like a command that was misspelt."""
    try:
        models.full_name(f"{vendor}/x")
    except ModelError:
        if not (near := nearest(vendor, _COMMANDS)):
            raise
        raise UsageError(f"openclaw models: there is no command {vendor!r}, and no vendor.", hint=near) from None


async def list_models(context: Context, parsed: Parsed) -> int:
    vendor = parsed.text("vendor")
    async with opened(context) as (config, models):
        used = await in_use(config, models)
        if vendor:
            _known(models, vendor)
        asked = [vendor] if vendor else await _worth_asking(models, used)
        with context.console.live.waiting(f"Asking {', '.join(asked)}"):
            offers = await asyncio.gather(*(_offer(models, one) for one in asked))
    if parsed.flag("json"):
        context.console.data(_offers_json(offers, used))
    else:
        _show_offers(context.console, offers, used, whole=bool(vendor))
    return 1 if vendor and offers[0].error else 0


async def _worth_asking(models: Models, used: Iterable[str]) -> list[str]:
    """Those that are configured, have a key, or serve an agent; and an Ollama that runs."""
    named = [name.partition("/")[0] for name in used]
    return [one for one in dict.fromkeys([*named, *await models.usable()]) if one != BUILTIN]


async def _offer(models: Models, provider: str) -> Offer:
    key = models.key_origin(provider)
    try:
        return Offer(provider, key, await models.offered(provider))
    except OpenClawError as error:
        return Offer(provider, key, error=str(error))


def _offers_json(offers: Sequence[Offer], used: dict[str, list[str]]) -> dict[str, Any]:
    return {
        "inUse": [{"model": model, "agents": agents} for model, agents in used.items()],
        "providers": [
            {"id": one.provider, "key": one.key, "models": list(one.models), "error": one.error} for one in offers
        ],
    }


def _show_offers(console: Console, offers: Sequence[Offer], used: dict[str, list[str]], *, whole: bool) -> None:
    console.line(console.bold("In use"))
    for model, agents in used.items():
        console.line(f"  {one_line(model, 200)}  {console.dim(f'({_agents(agents)})')}")
    if set(used) == {OFFLINE}:
        console.line(console.dim("  It is no language model. Set one up: openclaw setup"))
    for offer in offers:
        key = f"  {console.dim(f'key: {offer.key}')}" if offer.key else ""
        console.line("")
        console.line(f"{console.bold(offer.provider)}{key}")
        if offer.error:
            console.line(f"  {console.bad('not asked' if not offer.key else 'no answer')}: {offer.error}")
        # In a pipe everything is wanted.
        shown = offer.models if whole or not console.screen else offer.models[:SHOWN]
        for model in shown:
            mark = "*" if f"{offer.provider}/{model}" in used else " "
            console.line(f"{mark} {offer.provider}/{model}")
        if len(shown) < len(offer.models):
            rest = len(offer.models) - len(shown)
            console.line(console.dim(f"  … {rest} more: openclaw models list {offer.provider}"))


def _agents(names: Sequence[str]) -> str:
    return f"agent{'s' if len(names) > 1 else ''} {', '.join(one_line(name, 60) for name in names)}"


# test


async def test(context: Context, parsed: Parsed) -> int:
    async with opened(context) as (config, models):
        named = parsed.many("models")
        wanted = [models.full_name(name) for name in named] if named else list(await in_use(config, models))
        tried = []
        for name in wanted:
            # One after the other: two at a time would slow each other down on a machine of one's own.
            with context.console.live.waiting(asking(name)):
                tried.append(one := await try_model(models, name))
            if not parsed.flag("json"):
                context.console.line(tried_line(context.console, one))
    if parsed.flag("json"):
        context.console.data([_tried_json(one) for one in tried])
    return 1 if any(one.error for one in tried) else 0


def asking(name: str) -> str:
    """What is said while one waits for that word."""
    return f"Asking {one_line(name, 100)} for a word"


async def try_model(models: Models, name: str) -> Tried:
    """Ask a model for one word. Raises nothing but CancelledError."""
    if name == OFFLINE:
        return Tried(name, "It is no language model, so there is nothing to test. Set one up: openclaw setup")
    began = time.monotonic()
    first: float | None = None
    request = ModelRequest(
        name,
        system="",
        messages=(UserMessage((Text(_TEST_MESSAGE),)),),
        max_tokens=_TEST_TOKENS,
        timeout=TEST_PATIENCE,
    )
    try:
        selection = await models.select(name)
        async with aclosing(selection.provider.stream(request)) as events:
            async for event in events:
                if isinstance(event, TextDelta) and first is None:
                    first = time.monotonic() - began
                if isinstance(event, Done):
                    taken = time.monotonic() - began
                    tokens = event.usage.input_tokens + event.usage.output_tokens
                    return Tried(name, event.error) if event.error else Tried(name, "", taken, first, tokens)
    except OpenClawError as error:
        return Tried(name, str(error))
    return Tried(name, "It gave no answer.")


def tried_line(console: Console, tried: Tried) -> str:
    name = one_line(tried.model, 200)
    if tried.seconds is None:
        return f"{console.bad('failed')}  {name}: {tried.error}"
    word = f", its first word after {tried.first_word:.1f} s" if tried.first_word is not None else ""
    return f"{console.good('ok')}  {name} answered in {tried.seconds:.1f} s{word}"


def _tried_json(tried: Tried) -> dict[str, Any]:
    return {
        "model": tried.model,
        "ok": not tried.error,
        "error": tried.error,
        "seconds": _rounded(tried.seconds),
        "firstWordSeconds": _rounded(tried.first_word),
        "tokens": tried.tokens,
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


# set


async def set_model(context: Context, parsed: Parsed) -> int:
    console, agent = context.console, parsed.text("agent")
    async with opened(context) as (config, models):
        name = models.full_name(parsed.text("model"))
        insist = "To use it all the same: --yes"
        if not await agreed_to(console, models, name, "Nothing was changed.", insist, yes=parsed.flag("yes")):
            console.note("Nothing was changed.")
            return 1
        path = model_path(config, agent)
        changed = await asyncio.to_thread(
            edit_file, context.paths, context.env, lambda source: set_value(source, path, name)
        )
    told = f"Set {format_path(path)} to {name} in {context.paths.config_file}."
    if parsed.flag("json"):
        console.data({"model": name, "path": format_path(path), "file": str(context.paths.config_file)})
    else:
        console.line(told)
        console.note(console.dim(f"Try it: openclaw models test {name}"))
    for other in agent_ids(changed):
        if not agent and agent_spec(changed, other).model != name:
            console.note(f"The agent {other} has a model of its own: openclaw models set {name} --agent {other}")
    return 0


async def agreed_to(
    console: Console, models: Models, name: str, otherwise: str, insist: str, *, yes: bool = False
) -> bool:
    """Whether a model is to be used: its vendor has it or could not be asked, or the person (or `yes`) wants it all the same. Raises
    UsageError where nobody can be asked: `otherwise` says what is so then, `insist` how one has it all the same."""
    with console.live.waiting(f"Asking {name.partition('/')[0]}"):
        doubt = await doubts(models, name)
    if not doubt.unknown or yes:
        if doubt.text:
            console.note(doubt.text)
        return True
    if console.asker.can("approval"):
        console.note(doubt.text)
    agreed = await console.agreed("Use it all the same? [y/N] ")
    if agreed is None:
        raise UsageError(f"{doubt.text} {otherwise}", hint=insist)
    return agreed


class Doubt(msgspec.Struct, frozen=True):
    """What speaks against a model: `unknown` when its vendor has no such one, otherwise that it could not be asked."""

    text: str = ""
    unknown: bool = False


async def doubts(models: Models, name: str) -> Doubt:
    provider, _, model = name.partition("/")
    try:
        known = await models.offered(provider)
    except NoListError:
        return Doubt()
    except OpenClawError as error:
        return Doubt(f"Whether {provider} has {one_line(model, 200)} could not be asked: {error}")
    if model in known:
        return Doubt()
    near = nearest(model, known) or f"openclaw models list {provider} shows what it has."
    return Doubt(f"{provider} has no model named {one_line(model, 200)}. {near}", unknown=True)


def model_path(config: Config, agent: str) -> Path:
    """Where the model of all agents, or of one, stands or has to stand."""
    home: Path = ("agents", "defaults")
    if agent:
        id = agent_spec(config, agent).id
        listed = [index for index, one in enumerate(config.root.agents.list) if one.id == id]
        home = ("agents", "list", str(listed[0])) if listed else ("agents", "entries", id)
    try:
        written = config.get((*home, "model"))
    except KeyError:
        return (*home, "model", "primary")
    return (*home, "model") if isinstance(written, str) else (*home, "model", "primary")
