"""`openclaw config`: check, read and change openclaw.json.

`set` and `unset` write only what still loads afterwards: a change that would break the file is refused with the reason, and nothing is
written.
Credentials are never printed.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.config import json5
from openclaw.config.agents import agent_ids
from openclaw.config.dotted import Path, format_path, parse_path
from openclaw.config.edit import edit_file, remove
from openclaw.config.edit import set_value as edited
from openclaw.config.load import Config, load_config
from openclaw.config.schema import json_schema
from openclaw.config.server_credentials import is_secret_header
from openclaw.config.servers import server_specs
from openclaw.errors import ConfigError, Problem, UsageError
from openclaw.models.configured import misnamed
from openclaw.process.environment import refused_names, say_refused
from openclaw.redact import MASK, SECRET_SCHEME, redact
from openclaw.secrets.plaintext import credential_paths


async def validate(context: Context, parsed: Parsed) -> int:
    """Unlike other commands this one prints problems on stdout: they are its result."""
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    missing = False
    try:
        config = load_config(context.paths, context.env)
        warnings, missing = (*config.warnings, *withheld(config, context.env)), config.missing
        problems = (*config.refusals, *misnamed(config))
    except ConfigError as error:
        problems = error.problems
    if parsed.flag("json"):
        context.console.data(
            {"file": str(context.paths.config_file), "ok": not problems, "problems": problems, "warnings": warnings}
        )
        return 2 if problems else 0
    for problem in problems:
        context.console.line(f"{context.console.bad('error')} {problem}")
    for warning in warnings:
        context.console.line(f"{context.console.dim('warning')} {warning}")
    if missing:
        context.console.line(f"{context.paths.config_file} does not exist: every setting is at its default.")
    elif not problems:
        context.console.line(f"{context.paths.config_file} is valid.")
    return 2 if problems else 0


def withheld(config: Config, environ: Mapping[str, str]) -> list[Problem]:
    """Servers that do not start because a variable is passed to them that they may not be given."""
    specs = dict.fromkeys(spec for name in agent_ids(config) for spec in server_specs(config, name))
    found = []
    for spec in specs:
        passed = [name for name in spec.pass_env if name in environ]
        if names := refused_names((*dict(spec.env), *passed), spec.allow_env):
            message, hint = say_refused(names)
            found.append(Problem(f"{spec.where}: {message}", hint=hint))
    return found


async def get(context: Context, parsed: Parsed) -> int:
    text = parsed.text("path")
    config = load_config(context.paths, context.env)
    try:
        value = config.get(text)
    except KeyError:
        raise UsageError(f"Nothing is set at {text}.", hint=f"The file is {context.paths.config_file}.") from None
    path = parse_path(text)
    # Seen from above: what stands behind `--api-key` is an argument like any other by itself.
    sections = path[:1] or tuple(config.raw)
    secret = frozenset(found for name in sections for found in credential_paths(config.raw[name], (name,)))
    shown = _without(value, secret, path)
    if isinstance(shown, str):
        context.console.line(redact(shown))
    else:
        context.console.data(shown)
    return 0


def _without(value: Any, secret: frozenset[Path], path: Path) -> Any:
    """The value with a mask in the places of credentials."""
    if path in secret or (path[-2:-1] == ("headers",) and _is_secret_header(path[-1], value)):
        return MASK
    if isinstance(value, Mapping):
        return {name: _without(item, secret, (*path, name)) for name, item in value.items()}
    if isinstance(value, list):
        return [_without(item, secret, (*path, str(index))) for index, item in enumerate(value)]
    return value


def _is_secret_header(name: str, value: Any) -> bool:
    """A reference to a value kept elsewhere is not secret, and is shown."""
    written_out = isinstance(value, str) and SECRET_SCHEME not in value and "${" not in value
    return written_out and is_secret_header(name, value)


async def set_value(context: Context, parsed: Parsed) -> int:
    path = parse_path(parsed.text("path"))
    try:
        value = json5.loads(parsed.text("value"))
    except ConfigError:
        value = parsed.text("value")
    config = await asyncio.to_thread(edit_file, context.paths, context.env, lambda source: edited(source, path, value))
    context.console.line(f"Set {format_path(path)} in {context.paths.config_file}.")
    _warn(context, config)
    return 0


async def unset(context: Context, parsed: Parsed) -> int:
    path = parse_path(parsed.text("path"))
    config = await asyncio.to_thread(edit_file, context.paths, context.env, lambda source: remove(source, path))
    context.console.line(f"Removed {format_path(path)} from {context.paths.config_file}.")
    _warn(context, config)
    return 0


def _warn(context: Context, config: Config) -> None:
    """Warn of a model whose provider is not configured. It is written all the same: the provider may come next."""
    for problem in misnamed(config):
        context.console.note(f"{context.console.bad('config:')} {problem}")


async def schema(context: Context, parsed: Parsed) -> int:
    context.console.data(json_schema())
    return 0


async def path(context: Context, parsed: Parsed) -> int:
    context.console.line(str(context.paths.config_file))
    return 0
