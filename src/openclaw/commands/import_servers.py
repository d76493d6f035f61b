"""`openclaw mcp import`: servers that other programs have, taken over into our config.

Owns the order of things: look, plan, show, ask, put secrets away, write. Nothing is written before everything was shown and agreed to,
and the other program's file is never changed. Runs where the person sits, because the files, the variables and the keychain are theirs.
"""

import asyncio
import getpass
from collections.abc import Mapping, Sequence, Set

import msgspec

from openclaw.commands.dispatch import Context
from openclaw.commands.import_report import command_line, plan_json, plan_lines, problem_line, shortened, whole
from openclaw.commands.import_search import SourceFile, read_file, search
from openclaw.commands.parse import Parsed
from openclaw.config import json5
from openclaw.config.dotted import Path
from openclaw.config.edit import edit_file, set_value
from openclaw.config.include import read_text
from openclaw.config.load import Config, load_config
from openclaw.config.rules import servers
from openclaw.config.wording import nearest
from openclaw.errors import SecretError, UsageError
from openclaw.importers.credentials import texts_of
from openclaw.importers.plan import ASKED, Answers, Found, LeftOut, Plan, Step, inputs_needed, plan
from openclaw.importers.programs import PROGRAMS
from openclaw.importers.reading import Input
from openclaw.redact import redact, remember
from openclaw.secrets.inventory import references as references_of
from openclaw.secrets.keeping import Keeper, Place, is_kept
from openclaw.secrets.reference import references_in
from openclaw.secrets.resolve import Resolver
from openclaw.security.external import clean_label

# Every program at once.
_ALL = "all"
_SECTION: Path = ("mcp", "servers")
# Stands for where a secret will be while it is not put away yet.
_SOMEWHERE = "secret://keychain/openclaw/imported"


async def run(context: Context, parsed: Parsed) -> int:
    """Without a program: what is there. With one: take it over."""
    if context.surface != "terminal":
        raise UsageError(
            "Servers of other programs can only be imported from a shell.", hint="Run: openclaw mcp import"
        )
    word = parsed.text("program")
    if not word:
        return _list(context, parsed, await asyncio.to_thread(search, context))
    files = await asyncio.to_thread(_chosen, context, word, parsed.text("file"))
    config = await asyncio.to_thread(load_config, context.paths, context.env)
    planned = await _planned(context, parsed, config, files)
    place: Mapping[str, Place] = {"file": "file", "keychain": "keychain"}
    keeper = await Keeper.of(config, context.env, context.paths.secrets_dir, place.get(parsed.text("secrets")))
    return await _carry_out(context, parsed, config, files, planned, keeper)


def _chosen(context: Context, word: str, file: str) -> list[SourceFile]:
    """The files that the words mean. Raises UsageError when there are none."""
    if word == _ALL and not file:
        return search(context)
    if word in PROGRAMS and file:
        return [read_file(context, file, word)]
    if word in PROGRAMS:
        found = search(context, word)
        if not found:
            hint = f"Name its file: openclaw mcp import {word} FILE"
            raise UsageError(f"No servers of {PROGRAMS[word].name} were found.", hint=hint)
        return found
    is_file = not file and (any(mark in word for mark in "./\\") or (context.cwd / word).exists())
    if not is_file:
        hint = nearest(word, [*PROGRAMS, _ALL]) or f"Programs: {', '.join(PROGRAMS)}."
        raise UsageError(f"{word!r} is neither a program that is known here nor a file.", hint=hint)
    return [read_file(context, word)]


def _list(context: Context, parsed: Parsed, found: Sequence[SourceFile]) -> int:
    console = context.console
    if parsed.flag("json"):
        console.data(
            [
                {
                    "program": one.program.id,
                    "file": one.file,
                    "servers": [entry.name for entry in one.reading.entries],
                    "leftOut": one.reading.skipped,
                    "problem": problem_line(one.problem) if one.problem else "",
                }
                for one in found
            ]
        )
        return 0
    if not found:
        console.line("No servers of other programs were found.")
        console.line(f"Known are {', '.join(PROGRAMS)}. A file: openclaw mcp import FILE")
        return 0
    home = str(context.paths.home)
    console.table(
        ("program", "file", "servers"), [(one.program.id, shortened(one.file, home), _names(one)) for one in found]
    )
    first = next((one.program.id for one in found if one.reading.entries), found[0].program.id)
    console.line(f"To see what would be done: openclaw mcp import {first} --dry-run")
    return 0


def _names(one: SourceFile) -> str:
    if one.problem:
        return f"cannot be read: {problem_line(one.problem)}"
    left_out = [f"{skipped.name} (left out)" for skipped in one.reading.skipped]
    return ", ".join(clean_label(name, 60) for name in (*(entry.name for entry in one.reading.entries), *left_out))


async def _planned(context: Context, parsed: Parsed, config: Config, files: Sequence[SourceFile]) -> Plan:
    """What would be written; what our own rules refuse is left out with their reason."""
    only = parsed.many("only")
    found: list[Found] = []
    left_out: list[LeftOut] = []
    seen: dict[tuple[str, str], str] = {}
    for file in files:
        if file.problem:
            left_out.append(LeftOut(file.program, file.file, "", f"it cannot be read: {problem_line(file.problem)}"))
        left_out += [LeftOut(file.program, file.file, one.name, one.reason) for one in file.reading.skipped]
        for entry in file.reading.entries:
            first = seen.setdefault((file.program.id, entry.name), file.file)
            if only and entry.name not in only:
                continue
            if first != file.file:
                left_out.append(LeftOut(file.program, file.file, entry.name, f"the one in {first} counts before it"))
            else:
                found.append(Found(file.program, file.file, entry))
    if unknown := [
        name for name in only if name not in {entry.name for file in files for entry in file.reading.entries}
    ]:
        names = [entry.name for file in files for entry in file.reading.entries]
        others = f"There are: {', '.join(clean_label(name, 100) for name in names)}." if names else ""
        raise UsageError(f"There is no server named {unknown[0]}.", hint=nearest(unknown[0], names) or others)
    taken = {path[-1]: config.get(path) for path, _ in servers(config)}
    answers = {file.file: await _answers(context, parsed, found, file) for file in files}
    stored = await _stored(context, config, [taken[name] for name in taken if name in _wanted(found)])
    planned = plan(found, taken, config.root.env.vars, answers, overwrite=parsed.flag("overwrite"), stored=stored)
    for step in planned.steps:
        for one in step.credentials:
            if one.value != ASKED:
                remember(one.value)
    refused = await asyncio.to_thread(_refused, context, config, planned)
    if parsed.flag("yes"):
        refused |= {step.name: _not_unseen(step) for step in planned.changes if step.references}
    there = {*context.env, *config.root.env.vars, *planned.defaults}
    kept = tuple(_told_of_unset(step, there) for step in planned.steps if step.name not in refused)
    left_out += [
        LeftOut(step.found.program, step.found.file, step.found.entry.name, refused[step.name])
        for step in planned.steps
        if step.name in refused
    ]
    return msgspec.structs.replace(planned, steps=kept, left_out=tuple(left_out))


def _wanted(found: Sequence[Found]) -> set[str]:
    """The names that these servers may get."""
    return {name for one in found for name in (one.entry.name, f"{one.entry.name}-{one.program.id}")}


async def _stored(context: Context, config: Config, entries: Sequence[object]) -> dict[str, str]:
    """The secrets of these entries that we keep ourselves, by reference: empty where one cannot be had. No other is looked up."""
    resolver = Resolver.of(config, context.env)
    values: dict[str, str] = {}
    for reference in {found for entry in entries for _, text in texts_of(entry) for found in references_in(text)}:
        if is_kept(reference, context.paths.secrets_dir):
            try:
                values[reference] = await resolver.resolve(reference)
            except SecretError:
                values[reference] = ""
    return values


def _not_unseen(step: Step) -> str:
    """A file that came from elsewhere could name any secret of this machine, for any address."""
    return f"it takes {', '.join(step.references)}, which --yes does not agree to: leave it out, and you are asked"


def _told_of_unset(step: Step, there: Set[str]) -> Step:
    """The step with a note about the variables that it will miss: a server that needs one does not start without."""
    missing = [name for name in step.variables if name not in there]
    if not missing:
        return step
    note = f"does not start until {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} set"
    return msgspec.structs.replace(step, notes=(*step.notes, note))


async def _answers(context: Context, parsed: Parsed, found: Sequence[Found], file: SourceFile) -> Answers:
    """What the other program asks its person for, asked here; nobody is asked in a pipe, with `--yes` or in a dry run,
    which tells what the import would ask for."""
    needed = inputs_needed([one for one in found if one.file == file.file], file.reading.inputs)
    unattended = parsed.flag("yes") or not context.console.asker.can("form")
    secret = frozenset(one.id for one in needed if one.is_secret)
    if parsed.flag("dry-run") and not parsed.flag("yes"):
        # Who makes the import sits at a terminal, or it is not made.
        return Answers(secret=secret, later=frozenset(one.id for one in needed))
    values: dict[str, str] = {}
    for one in needed:
        value = one.default if unattended else await _asked(context, one)
        if value:
            values[one.id] = value
        if one.is_secret:
            remember(value)
    return Answers(values, secret)


async def _asked(context: Context, one: Input) -> str:
    with context.console.live.hidden():
        return await asyncio.to_thread(_typed, one)


def _typed(one: Input) -> str:
    """Read without showing it, whatever it is: a value that is no secret is still nobody else's."""
    options = f" ({', '.join(one.options)})" if one.options else ""
    usual = f" [{one.default}]" if one.default and not one.is_secret else ""
    prompt = clean_label(f"{one.description}{options}{usual}", 300)
    try:
        return getpass.getpass(f"{prompt}: ").strip() or one.default
    except EOFError:
        return one.default


def _refused(context: Context, config: Config, planned: Plan) -> dict[str, str]:
    """The servers that our own rules would refuse, and why."""
    try:
        source = read_text(context.paths.config_file)
    except FileNotFoundError:
        source = ""
    references = {step.name: {one.path: _SOMEWHERE for one in step.credentials} for step in planned.changes}
    text = _edited(source, _places(config), planned.changes, planned.defaults, references)
    loaded = load_config(context.paths, context.env, text=text) if planned.changes else config
    places = _places(config)
    return {
        step.name: "; ".join(f"{one.message.rstrip('.')}" for one in problems)
        for step in planned.changes
        if (problems := loaded.refused.get(places.get(step.name, (*_SECTION, step.name))))
    }


def _places(config: Config) -> dict[str, Path]:
    """Where each server that is configured stands."""
    return {path[-1]: path for path, _ in servers(config)}


def _edited(
    source: str,
    places: Mapping[str, Path],
    steps: Sequence[Step],
    defaults: Mapping[str, str],
    references: Mapping[str, Mapping[Path, str]],
) -> str:
    """The text of our file with these servers in it."""
    for step in steps:
        path = places[step.name] if step.action == "replace" else (*_SECTION, step.name)
        source = set_value(source, path, step.written(references[step.name]))
    for name, value in defaults.items():
        source = set_value(source, ("env", "vars", name), value)
    return source


async def _carry_out(
    context: Context, parsed: Parsed, config: Config, files: Sequence[SourceFile], planned: Plan, keeper: Keeper
) -> int:
    console, dry_run, as_json = context.console, parsed.flag("dry-run"), parsed.flag("json")
    asks = not dry_run and not parsed.flag("yes") and any(step.needs_consent for step in planned.changes)
    if not as_json or asks:
        say = console.note if as_json else console.line
        for line in plan_lines(files, planned, console, str(context.paths.home)):
            say(line)
    agreed: Sequence[Step] = planned.changes
    if asks:
        agreed = await _consented(context, planned.changes)
    if agreed and not dry_run:
        await _write(context, config, agreed, planned.defaults, keeper)
    written = [step.name for step in agreed] if not dry_run else []
    if as_json:
        console.data(plan_json(planned, keeper.place, written, dry_run=dry_run))
    else:
        for line in _summary(context, planned, agreed, keeper, dry_run=dry_run):
            console.line(line)
        if written and (warning := await keeper.warning()):
            console.note(warning)
    broken = any(not one.name for one in planned.left_out)
    return 1 if broken or (planned.changes and not agreed) else 0


async def _consented(context: Context, steps: Sequence[Step]) -> list[Step]:
    """Those that the person agreed to. Nobody to ask means that nothing is written at all."""
    agreed = []
    for step in steps:
        if not step.needs_consent:
            agreed.append(step)
            continue
        name = clean_label(step.name, 60)
        if step.argv:
            context.console.note(f"{name} runs this program, with your rights, whenever OpenClaw runs:")
            # As it is, in one line: folded, a blank in it could not be told from the end of a row.
            context.console.err(f"  {command_line(step.argv)}\n")
        else:
            sent = ", ".join((*step.variables, *step.references))
            context.console.note(f"{name} is sent what is in {sent}:")
            context.console.err(f"  {whole(redact(step.address))}\n")
        answer = await context.console.agreed(f"Add {name}? [y/N] ")
        if answer is None:
            raise UsageError(
                "Nobody is there to agree to what these servers run and are sent.", hint="Say so with --yes."
            )
        if answer:
            agreed.append(step)
    return agreed


async def _write(
    context: Context, config: Config, steps: Sequence[Step], defaults: Mapping[str, str], keeper: Keeper
) -> None:
    """Put the secrets away, then write the file; where that fails, the secrets go again."""
    references: dict[str, dict[Path, str]] = {}
    needed = {name for step in steps for name in step.variables}
    chosen = {name: value for name, value in defaults.items() if name in needed}
    try:
        for step in steps:
            references[step.name] = {}
            for one in step.credentials:
                references[step.name][one.path] = await keeper.keep("/".join((step.name, *one.path)), one.value)

        def change(source: str) -> str:
            _still_free(source, steps)
            return _edited(source, _places(config), steps, chosen, references)

        changed = await asyncio.to_thread(edit_file, context.paths, context.env, change)
    except BaseException:
        await keeper.take_back()
        raise
    used = references_of(changed)
    for step in steps:
        before = texts_of(config.get(_places(config)[step.name])) if step.action == "replace" else []
        for reference in {found for _, text in before for found in references_in(text)}:
            if reference not in used and is_kept(reference, context.paths.secrets_dir, f"{step.name}/"):
                await keeper.forget(reference)


def _still_free(source: str, steps: Sequence[Step]) -> None:
    """Somebody may have added a server of one of these names while the person was asked."""
    there = json5.loads(source) if source.strip() else {}
    for key in _SECTION:
        there = there.get(key) if isinstance(there, dict) else None
    for step in steps:
        if step.action == "add" and isinstance(there, dict) and step.name in there:
            raise UsageError(
                f"{step.name} was added by somebody else meanwhile, and nothing was changed.", hint="Run it again."
            )


def _summary(context: Context, planned: Plan, agreed: Sequence[Step], keeper: Keeper, *, dry_run: bool) -> list[str]:
    secrets = sum(len(step.credentials) for step in agreed)
    count = f"{len(agreed)} server{'' if len(agreed) == 1 else 's'}"
    if not planned.changes:
        return ["Nothing is to be imported."]
    if dry_run:
        would = [f"{count} would be added to {context.paths.config_file}."]
        if secrets:
            would.append(f"{_secrets(secrets)} would be put into {keeper.shown}.")
        return [*would, "Nothing was changed."]
    if not agreed:
        return ["Nothing was changed."]
    lines = [
        f"Added {count} to {context.paths.config_file}: {', '.join(clean_label(step.name, 60) for step in agreed)}."
    ]
    if secrets:
        why = f" ({keeper.why})" if keeper.why else ""
        lines.append(f"{_secrets(secrets)} {'was' if secrets == 1 else 'were'} put into {keeper.shown}{why}.")
        if still := sum(not one.was_asked for step in agreed for one in step.credentials):
            them = "it" if secrets == 1 else "them" if still == secrets else f"{still} of them"
            lines[-1] += f" The other program's file still has {them}."
    return [*lines, "Try them: openclaw mcp servers. Which of their tools only read: openclaw approvals reading NAME"]


def _secrets(count: int) -> str:
    return f"{count} secret{'' if count == 1 else 's'}"
