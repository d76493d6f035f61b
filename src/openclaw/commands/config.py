"""`openclaw config`: check, read and change openclaw.json.

`set` and `unset` write only what still loads afterwards: a change that would break the file is refused with the reason, and nothing is
written.
Credentials are never printed.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import structs

from openclaw.commands.dispatch import Context
from openclaw.commands.parse import Parsed
from openclaw.commands.rule_names import names_of_nothing
from openclaw.config import json5
from openclaw.config.agents import agent_ids
from openclaw.config.dotted import Path, format_path, parse_path
from openclaw.config.edit import edit_file, preview, remove
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
        warnings = (*config.warnings, *withheld(config, context.env), *names_of_nothing(config))
        missing = config.missing
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
    if isinstance(shown, str) and not parsed.flag("json"):
        context.console.verbatim(redact(shown))
    else:
        context.console.data(redact(shown) if isinstance(shown, str) else shown)
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
    typed, unread = parsed.text("value"), ""
    try:
        value = json5.loads(typed)
    except ConfigError as error:
        value = typed
        if typed.lstrip().startswith(("{", "[")):
            why = structs.replace(error.problems[0], file="", line=0, column=0)
            unread = f"It was taken as text, as it cannot be read as JSON5: {why}"

    def change(source: str) -> str:
        return edited(source, path, value)

    if not parsed.flag("force") and (unknown := await _unknown_models(context, path, change)):
        hint = f"{unknown[0].hint} --force writes it all the same.".lstrip()
        raise UsageError(f"{unknown[0].message} Nothing was changed.", hint=hint)
    config = await _edit(context, change, {format_path(path): unread} if unread else {})
    _tell(context, parsed, path, f"Set {format_path(path)} in {context.paths.config_file}.", _warnings(config, path))
    return 0


async def unset(context: Context, parsed: Parsed) -> int:
    path = parse_path(parsed.text("path"))
    config = await _edit(context, lambda source: remove(source, path))
    told = f"Removed {format_path(path)} from {context.paths.config_file}."
    _tell(context, parsed, path, told, _warnings(config, path))
    return 0


async def _edit(context: Context, change: Callable[[str], str], hints: Mapping[str, str] | None = None) -> Config:
    """The file with the change. `hints` say more about what may be wrong at a path. Raises what `edit_file` does."""
    try:
        return await asyncio.to_thread(edit_file, context.paths, context.env, change)
    except ConfigError as error:
        file = str(context.paths.config_file)
        # What changes a text does not know whose it is.
        found = [structs.replace(one, file=one.file or file) for one in error.problems]
        if await asyncio.to_thread(_loads, context):
            found = [_of_the_change(one, file, hints or {}) for one in found]
            found[-1] = structs.replace(found[-1], hint=f"{found[-1].hint} Nothing was changed.".lstrip())
        raise ConfigError(found) from None


def _loads(context: Context) -> bool:
    """Whether the file as it is can be used: else what is wrong with it may be what a change is refused for."""
    try:
        load_config(context.paths, context.env)
    except ConfigError:
        return False
    return True


def _of_the_change(problem: Problem, file: str, hints: Mapping[str, str]) -> Problem:
    """Its line is one of a text that was not written: who looks there finds something else, or no file at all."""
    if problem.file != file:
        return problem
    hint = " ".join(filter(None, (problem.hint, hints.get(problem.path, ""))))
    return structs.replace(problem, file="", line=0, column=0, hint=hint)


async def _unknown_models(context: Context, path: Path, change: Callable[[str], str]) -> list[Problem]:
    """Models that this change would name and nobody has. Where the change cannot be made at all, making it says why."""
    try:
        config = await asyncio.to_thread(preview, context.paths, context.env, change)
    except ConfigError:
        return []
    return _about(misnamed(config), path)


def _warnings(config: Config, changed: Path) -> list[Problem]:
    """What of a change will not work as it stands, or is ignored. It is written all the same: a server with the tool may come next."""
    return _about([*config.warnings, *misnamed(config), *names_of_nothing(config)], changed)


def _about(problems: Sequence[Problem], changed: Path) -> list[Problem]:
    """Those at the place of a change, below it or above it."""
    found = [(parse_path(problem.path), problem) for problem in problems]
    return [problem for at, problem in found if at[: len(changed)] == changed or changed[: len(at)] == at]


def _tell(context: Context, parsed: Parsed, path: Path, told: str, warnings: Sequence[Problem]) -> None:
    console = context.console
    if parsed.flag("json"):
        console.data(
            {"path": format_path(path), "file": str(context.paths.config_file), "message": told, "warnings": warnings}
        )
        return
    console.line(told)
    for problem in warnings:
        console.note(f"{console.dim('warning:')} {problem}")


async def schema(context: Context, parsed: Parsed) -> int:
    context.console.data(json_schema())
    return 0


async def path(context: Context, parsed: Parsed) -> int:
    context.console.line(str(context.paths.config_file))
    return 0
