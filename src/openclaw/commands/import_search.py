"""The files of other programs that have MCP servers, looked for and read. Changes nothing.

`importers/places.py` says where to look and its readers what a file says; this opens the files, within bounds.
"""

import glob
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from openclaw.commands.dispatch import Context
from openclaw.config.include import read_text
from openclaw.config.variables import escape, expand
from openclaw.errors import ConfigError, Problem, UsageError
from openclaw.importers.dotenv import read_dotenv
from openclaw.importers.places import Place, Platform, places
from openclaw.importers.programs import PROGRAMS, Program, guess, read_text_of
from openclaw.importers.reading import Entry, Origin, Reading

# Some of these files hold a history beside their servers.
MOST_BYTES = 32 * 1024 * 1024
# A file of variables is a page at most.
_MOST_VARIABLES = 1024 * 1024


class SourceFile(msgspec.Struct, frozen=True):
    """A file that is there: what it says, or why it cannot be read."""

    program: Program
    file: str
    reading: Reading = Reading()
    problem: Problem | None = None


def platform() -> Platform:
    return "darwin" if sys.platform == "darwin" else "win32" if sys.platform == "win32" else "linux"


def search(context: Context, program: str = "") -> list[SourceFile]:
    """Every file that is there and names servers, or cannot be read. Our own config is none of them."""
    listed = places(platform(), context.env, str(context.paths.home), str(context.cwd))
    found = [
        _read(context, PROGRAMS[place.program], Path(file), place.project)
        for place in listed
        if not program or place.program == program
        for file in _files(place)
        if not _is_ours(context, file)
    ]
    return [one for one in found if one is not None and (one.problem or one.reading.entries or one.reading.skipped)]


def read_file(context: Context, name: str, program: str = "") -> SourceFile:
    """One file that a person named; the program may be left out. Raises UsageError when there is none, or nobody knows whose it is."""
    file = Path(os.path.abspath(context.cwd / os.path.expanduser(name)))
    try:
        text = read_text(file, MOST_BYTES)
        chosen = PROGRAMS[program] if program else guess(text, str(file))
    except FileNotFoundError:
        raise UsageError(f"{file}: there is no such file.") from None
    except ConfigError as error:
        # Of a file of another program: our own config is not what is wrong.
        (problem, *_) = error.problems
        raise UsageError(str(problem)) from None
    return _read(context, chosen, file, str(_project_of(file))) or SourceFile(chosen, str(file))


def _project_of(file: Path) -> Path | str:
    """The project that a file was named out of: the folder above `.cursor`, `.vscode` and their like, or that of `.mcp.json`."""
    if file.name == ".mcp.json":
        return file.parent
    return file.parent.parent if file.parent.name in (".cursor", ".vscode", ".codex", ".gemini", ".zed") else ""


def _files(place: Place) -> Iterator[str]:
    if "*" in place.path:
        yield from sorted(glob.glob(place.path))
    elif os.path.lexists(place.path):
        yield place.path


def _is_ours(context: Context, file: str) -> bool:
    return os.path.realpath(file) == os.path.realpath(context.paths.config_file)


def _read(context: Context, program: Program, file: Path, project: str) -> SourceFile | None:
    origin = Origin(str(file.parent), project, str(context.paths.home), os.name == "nt")
    try:
        reading = read_text_of(program, read_text(file, MOST_BYTES), str(file), origin)
    except FileNotFoundError:
        return None
    except ConfigError as error:
        return SourceFile(program, str(file), problem=error.problems[0])
    entries = tuple(_with_variables(entry, context.env) for entry in reading.entries)
    return SourceFile(program, str(file), msgspec.structs.replace(reading, entries=entries))


def _with_variables(entry: Entry, env: Mapping[str, str]) -> Entry:
    """The entry with the variables of the file that it names; its own count first."""
    if not entry.env_file:
        return entry
    expanded = expand(entry.env_file, env)
    try:
        found, strange = read_dotenv(read_text(Path(os.path.expanduser(expanded.text)), _MOST_VARIABLES))
    except (FileNotFoundError, ConfigError):
        return _noted(entry, f"envFile {entry.env_file} cannot be read: write its variables under env")
    value = {
        **entry.value,
        "env": {**{name: escape(text) for name, text in found.items()}, **entry.value.get("env", {})},
    }
    what, they = ("variable", "it is") if len(found) == 1 else (f"{len(found)} variables", "they are")
    notes = [f"the {what} of {entry.env_file}: taken as {they} now"]
    if strange:
        lines = "1 line" if strange == 1 else f"{strange} lines"
        notes.append(f"{lines} of {entry.env_file} that set no variable: left out")
    return _noted(msgspec.structs.replace(entry, value=value), *notes)


def _noted(entry: Entry, *notes: str) -> Entry:
    return msgspec.structs.replace(entry, notes=(*entry.notes, *notes))


def could_import(context: Context) -> str:
    """One line about what could be imported; empty when there is nothing."""
    counts: dict[str, int] = {}
    for one in search(context):
        counts[one.program.name] = counts.get(one.program.name, 0) + len(one.reading.entries)
    told = [f"{name} ({count})" for name, count in counts.items() if count]
    return f"Import the servers of {_listed(told)}: openclaw mcp import" if told else ""


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
