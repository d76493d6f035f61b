"""What an import would do, and has done, in words and as JSON.

Shows the names of variables, headers and secrets, and never a value of theirs.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from openclaw.commands.console import Console
from openclaw.commands.import_search import SourceFile
from openclaw.errors import Problem
from openclaw.importers.plan import HIDDEN, LeftOut, Plan, Step
from openclaw.log import one_line
from openclaw.redact import redact
from openclaw.security.external import clean_label
from openclaw.typed_words import quote_word

_MARKS = {"add": "+", "replace": "~", "same": "="}
_NAME = 60
_SENTENCE = 1_000


def command_line(argv: Sequence[str]) -> str:
    """A command as it is run, whole: what does not print is shown by its code."""
    return " ".join(
        word if word == HIDDEN else quote_word(word) if word.isprintable() else ascii(word) for word in argv
    )


def whole(text: str) -> str:
    """A folder or an address of another's file, in one line: what it says may not look like a line of ours."""
    return text if text.isprintable() else ascii(text)


def problem_line(problem: Problem) -> str:
    place = f"line {problem.line}, column {problem.column}: " if problem.line else ""
    return redact(f"{place}{problem.message}")


def shortened(file: str, home: str) -> str:
    return f"~{file[len(home) :]}" if file.startswith(home.rstrip("/") + "/") else file


def plan_lines(files: Sequence[SourceFile], planned: Plan, console: Console, home: str) -> Iterator[str]:
    """All of a plan, by file."""
    for file in files:
        yield f"{console.bold(file.program.name)}  {shortened(file.file, home)}"
        if file.problem:
            # It is also what was left out, for programs.
            yield f"  {console.bad('-')} cannot be read: {problem_line(file.problem)}"
            continue
        for note in file.reading.notes:
            yield f"    note: {one_line(note, _SENTENCE)}"
        for step in planned.steps:
            if step.found.file == file.file and step.found.program.id == file.program.id:
                yield from step_lines(step, console)
        for one in planned.left_out:
            if one.file == file.file and one.program.id == file.program.id:
                yield f"  {console.bad('-')} {clean_label(one.name, _NAME)}: left out, as {one_line(one.reason, _SENTENCE)}"


def step_lines(step: Step, console: Console) -> Iterator[str]:
    name = console.bold(clean_label(step.name, _NAME))
    if step.action == "same":
        yield f"  = {name}: is here already, and stays as it is"
        if step.rotated:
            yield f"      its secret is another one there: {', '.join(step.rotated)}. To take that: --overwrite"
        return
    off = "" if step.value.get("enabled", True) else "  (disabled, as it is there)"
    over = "  (in place of the one that is here)" if step.action == "replace" else ""
    yield f"  {console.good(_MARKS[step.action])} {name}{off}{over}"
    yield f"      {'runs' if step.argv else 'at'} {command_line(step.argv) if step.argv else whole(redact(step.address))}"
    if cwd := step.value.get("cwd"):
        yield f"      in {whole(str(cwd))}"
    for key in ("env", "headers"):
        if names := step.value.get(key):
            yield f"      {key}: {', '.join(clean_label(str(one), _NAME) for one in names)}"
    if step.credentials:
        yield f"      secrets: {', '.join(one.place for one in step.credentials)}"
    if step.variables or step.references:
        yield f"      takes from this machine: {', '.join((*step.variables, *step.references))}"
    for note in step.notes:
        yield f"      note: {one_line(note, _SENTENCE)}"


def plan_json(planned: Plan, kept_in: str, written: Collection[str], *, dry_run: bool) -> dict[str, Any]:
    return {
        "dryRun": dry_run,
        "secretsIn": kept_in,
        "servers": [
            {
                "name": step.name,
                "program": step.found.program.id,
                "file": step.found.file,
                "action": step.action,
                "written": step.name in written and step.action != "same",
                "command": [redact(word) for word in step.argv],
                "url": redact(step.address),
                "env": list(step.value.get("env", ())),
                "headers": list(step.value.get("headers", ())),
                "secrets": [one.place for one in step.credentials],
                "variables": step.variables,
                "references": step.references,
                "notes": step.notes,
                "otherSecrets": step.rotated,
            }
            for step in planned.steps
        ],
        "leftOut": [_left_out_json(one) for one in planned.left_out],
    }


def _left_out_json(one: LeftOut) -> dict[str, str]:
    return {"program": one.program.id, "file": one.file, "name": one.name, "reason": one.reason}
