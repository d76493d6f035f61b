"""`openclaw keys set | list | remove`: the keys of model vendors, put away where no file shows them.

A key is typed unseen or comes through a pipe, never as a word of a command line. Its vendor is asked first: one that it refuses is not
kept, and the one before it stays. It goes into the system's keychain or, where there is
none, into an encrypted store of ours; the config gets a reference to it, and models find it by that. No key is ever printed.
"""

import asyncio
import sys
from typing import Final

import msgspec

from openclaw.cli.prompts import Prompts
from openclaw.commands.dispatch import Context
from openclaw.commands.models import catalog_of
from openclaw.commands.parse import Parsed
from openclaw.config.dotted import Path, format_path
from openclaw.config.edit import edit_file, remove_whole, set_value
from openclaw.config.load import Config, load_config
from openclaw.config.wording import nearest
from openclaw.engine import Engine
from openclaw.errors import ModelError, OpenClawError, SecretError, UsageError
from openclaw.models.listing import NoListError, RefusedKeyError
from openclaw.models.vendors import VENDORS
from openclaw.redact import remember
from openclaw.secrets.keeping import Keeper, is_kept

# The longest keys that are around (signed tokens) have a few thousand characters.
MOST_CHARACTERS: Final = 20_000
_FOLDER: Final = "models"


class Kept(msgspec.Struct, frozen=True):
    """Where a key is, in words; and what is to be told about that place, once for ever."""

    place: str
    warning: str = ""


async def set_key(context: Context, parsed: Parsed) -> int:
    vendor, config = parsed.text("vendor"), load_config(context.paths, context.env)
    check_vendor(config, vendor)
    typed = await _typed(context, vendor)
    if not typed:
        context.console.note("Nothing was typed, so nothing was changed.")
        return 1
    doubt = "" if parsed.flag("force") else await _doubt(context, vendor, typed)
    kept = await keep_key(context, config, vendor, typed)
    if parsed.flag("json"):
        path = format_path(key_path(vendor))
        context.console.data({"vendor": vendor, "place": kept.place, "path": path, "doubt": doubt})
        return 0
    context.console.line(f"The key of {vendor} is in {kept.place}.")
    if doubt:
        context.console.note(doubt)
    if kept.warning:
        context.console.note(kept.warning)
    context.console.note(
        context.console.dim(f"{format_path(key_path(vendor))} refers to it. Try it: openclaw models list {vendor}")
    )
    return 0


async def _doubt(context: Context, vendor: str, key: str) -> str:
    """Why it is not known whether the vendor takes a key; empty when it does. Raises ModelError when it does not."""
    async with context.open_engine() as engine, catalog_of(engine, vendor=vendor, key=key) as models:
        try:
            with context.console.live.waiting(f"Asking {vendor}"):
                await models.offered(vendor)
        except RefusedKeyError:
            raise ModelError(
                f"{vendor} refused this key, so nothing was changed.", hint="--force stores it all the same."
            ) from None
        except NoListError:
            return ""
        except OpenClawError as error:
            return f"Whether {vendor} takes it is not known: {error}"
    return ""


def check_vendor(config: Config, vendor: str) -> None:
    """Raises UsageError for one that nobody knows."""
    known = sorted({*VENDORS, *config.root.models.providers})
    if vendor not in known:
        near = nearest(vendor, known) or f"Known are: {', '.join(known)}."
        hint = f"{near} Another one needs models.providers.{vendor}.baseUrl first."
        raise UsageError(f"There is no model provider named '{vendor}'.", hint=hint)


def key_path(vendor: str) -> Path:
    return ("models", "providers", vendor, "apiKey")


async def _typed(context: Context, vendor: str) -> str:
    if sys.stdin.isatty():
        return usable(await Prompts(context.console).hidden(f"API key of {vendor}"))
    return usable((await context.console.read()).strip())


def usable(key: str) -> str:
    """A key as it can be sent. Raises UsageError, which does not repeat it."""
    remember(key)
    if key and (len(key) > MOST_CHARACTERS or not key.isascii() or not key.isprintable() or " " in key):
        raise UsageError("That is not a key: it is one word of plain letters, digits and signs.")
    return key


async def keep_key(context: Context, config: Config, vendor: str, key: str) -> Kept:
    """Put a key away and let the config refer to it; the one that was there before is forgotten, if it was ours."""
    keeper = await _keeper(context, config)
    try:
        reference = await keeper.keep(f"{_FOLDER}/{vendor}", key)
    except SecretError as error:
        raise SecretError(error.message, hint="Unlock it and try again.") from None
    former = _written(config, vendor)
    try:
        await asyncio.to_thread(
            edit_file, context.paths, context.env, lambda source: set_value(source, key_path(vendor), reference)
        )
    except BaseException:
        await keeper.take_back()
        raise
    if former != reference and _is_ours(context, former):
        await keeper.forget(former)
    return Kept(keeper.shown, await keeper.warning())


async def _keeper(context: Context, config: Config) -> Keeper:
    return await Keeper.of(config, context.env, context.paths.secrets_dir)


def _written(config: Config, vendor: str) -> str:
    """What stands in the config for the key of a vendor; empty when nothing does."""
    try:
        value = config.get(key_path(vendor))
    except KeyError:
        return ""
    return value if isinstance(value, str) else ""


def _is_ours(context: Context, reference: str) -> bool:
    """Whether we put it there: no other secret is ever taken away."""
    return is_kept(reference, context.paths.secrets_dir, f"{_FOLDER}/")


async def list_keys(context: Context, parsed: Parsed) -> int:
    async with context.open_engine() as engine, catalog_of(engine) as models:
        found = [(vendor, models.key_origin(vendor)) for vendor in models.with_keys()]
        wrong = await asyncio.gather(*(_lost(context, engine, vendor) for vendor, _ in found))
    if parsed.flag("json"):
        context.console.data(
            [
                {"vendor": vendor, "from": origin, "problem": error.message if error else ""}
                for (vendor, origin), error in zip(found, wrong, strict=True)
            ]
        )
    elif not found:
        context.console.line("No key is stored, configured or in the environment. Store one: openclaw keys set VENDOR")
    else:
        rows = [
            (vendor, f"{origin}, which cannot be read" if error else origin)
            for (vendor, origin), error in zip(found, wrong, strict=True)
        ]
        context.console.table(("vendor", "where its key comes from"), rows)
        for (vendor, _), error in zip(found, wrong, strict=True):
            if error is not None:
                context.console.note(f"{error.message} Store it again: openclaw keys set {vendor}")
    return 0


async def _lost(context: Context, engine: Engine, vendor: str) -> SecretError | None:
    """Why a key that we stored cannot be had. Other secrets are left alone: to look one up may cost time, or ask a person."""
    reference = _written(engine.config, vendor)
    if not _is_ours(context, reference):
        return None
    try:
        await engine.resolve(reference)
    except SecretError as error:
        return error
    return None


async def forget_key(context: Context, config: Config, vendor: str) -> str:
    """Take a key that we stored out of the config and from where it is kept. Why it may still be there; empty when it is gone."""
    path, former = key_path(vendor), _written(config, vendor)
    await asyncio.to_thread(edit_file, context.paths, context.env, lambda source: remove_whole(source, path))
    return await (await _keeper(context, config)).forget(former)


async def remove_key(context: Context, parsed: Parsed) -> int:
    vendor, config = parsed.text("vendor"), load_config(context.paths, context.env)
    check_vendor(config, vendor)
    path, former = key_path(vendor), _written(config, vendor)
    if not former:
        raise UsageError(f"No key of {vendor} is stored.", hint="openclaw keys list shows where keys come from.")
    if not _is_ours(context, former):
        hint = f"Take it out of the config with: openclaw config unset {format_path(path)}"
        raise UsageError(f"The key of {vendor} was not stored by `openclaw keys`, so it stays where it is.", hint=hint)
    left = await forget_key(context, config, vendor)
    if parsed.flag("json"):
        context.console.data({"vendor": vendor, "removed": not left, "why": left})
    elif left:
        context.console.line(f"The config has no key of {vendor} any more.")
        context.console.note(f"The key itself may still be where it was put ({former}): {left}.")
    else:
        context.console.line(f"The key of {vendor} is forgotten.")
    return 1 if left else 0
