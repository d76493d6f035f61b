"""What an import would write: which servers under which names, what is kept elsewhere, and what is left out. Pure.

A name that is taken is never given away: an entry that says the same is left alone, another gets a name with the program behind it, and
only `overwrite` replaces one. What a step needs of this machine (variables, secrets, a program to start) is worked out here, so that a
person can be shown it before they agree.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from openclaw.config.dotted import Path
from openclaw.config.servers import secret_text
from openclaw.config.variables import escape
from openclaw.importers.credentials import Credential, credentials_in, replaced, texts_of, without_names
from openclaw.importers.programs import Program
from openclaw.importers.reading import Entry, Input
from openclaw.log import one_line
from openclaw.redact import SECRET_SCHEME, tells_secret

_NAMED = re.compile(r"(?<!\$)\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}")
_BARE = re.compile(r"\$([A-Z_][A-Z0-9_]*)")
_INPUT = re.compile(r"(?<!\$)\$\{input:([^}]+)\}")
_REFERENCE = re.compile(r"secret://\S*")
# What stands for a value that is put away when it is shown.
HIDDEN = "[secret]"
# What stands for a value that nobody was asked for yet.
ASKED = "[asked]"
# Characters of a default that is shown.
_SHOWN = 200
# Fields in which a whole `$NAME` is a reference too.
_SECRET_FIELDS = ("env", "headers")

Action = Literal["add", "replace", "same"]


class Found(msgspec.Struct, frozen=True):
    """One server of one file."""

    program: Program
    file: str
    entry: Entry


class Step(msgspec.Struct, frozen=True):
    """What is done about one server. `name` is what it is called here; `value` has no credential in it, but `HIDDEN` in their places."""

    action: Action
    name: str
    found: Found
    value: Mapping[str, Any]
    credentials: tuple[Credential, ...] = ()
    variables: tuple[str, ...] = ()
    # References to secret stores and files that the entry itself has.
    references: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    # Places where the server that is here has another secret, and keeps it.
    rotated: tuple[str, ...] = ()

    @property
    def argv(self) -> tuple[str, ...]:
        """The program and its arguments, credentials hidden; empty for an address."""
        command = self.value.get("command")
        if not command:
            return ()
        words = command if isinstance(command, list) else [command]
        return tuple(
            secret_text(word) if not isinstance(word, dict) else HIDDEN
            for word in (*words, *self.value.get("args", ()))
        )

    @property
    def address(self) -> str:
        keys = ("url", "httpUrl", "serverUrl", "baseUrl")
        return next((str(self.value[key]) for key in keys if self.value.get(key)), "")

    @property
    def needs_consent(self) -> bool:
        """Whether it starts a program, or sends something of this machine to an address."""
        return bool(self.argv or self.variables or self.references)

    def written(self, references: Mapping[Path, str]) -> dict[str, Any]:
        """The entry with a reference for each credential, by the credential's path."""
        texts = {one.path: one.before + references[one.path] for one in self.credentials}
        entry: dict[str, Any] = replaced(self.value, texts)
        return entry


class LeftOut(msgspec.Struct, frozen=True):
    """A server, or a file, that is not taken over. `name` is empty for a file."""

    program: Program
    file: str
    name: str
    reason: str


class Plan(msgspec.Struct, frozen=True):
    steps: tuple[Step, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    # Defaults of variables that are not set under `env.vars` yet.
    defaults: Mapping[str, str] = {}

    @property
    def changes(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.action != "same")


class Answers(msgspec.Struct, frozen=True):
    """What a person said to the inputs of a file, and which of them are secret. One that was not answered becomes a variable, unless it
    is one of those that are asked for when the import is made: `later`."""

    values: Mapping[str, str] = {}
    secret: frozenset[str] = frozenset()
    later: frozenset[str] = frozenset()


def inputs_needed(found: Sequence[Found], inputs: Mapping[str, Input]) -> list[Input]:
    """Those that an entry uses, each once."""
    names = [name for one in found for _, text in texts_of(one.entry.value) for name in _INPUT.findall(text)]
    return [inputs[name] for name in dict.fromkeys(names) if name in inputs]


def plan(
    found: Sequence[Found],
    taken: Mapping[str, Any],
    variables: Mapping[str, str],
    answers: Mapping[str, Answers],
    *,
    overwrite: bool = False,
    stored: Mapping[str, str] | None = None,
) -> Plan:
    """`taken` are the servers that are configured, as written; `variables` what is under `env.vars`; `answers` are by file; `stored` are
    the secrets that we keep for those servers, by reference."""
    names: dict[str, Any] = {name: without_names(value) for name, value in taken.items()}
    steps: list[Step] = []
    defaults: dict[str, str] = {}
    for one in found:
        value, known, notes = _answered(one.entry.value, answers.get(one.file, Answers()))
        credentials = credentials_in(value, known)
        hidden = replaced(value, {each.path: each.before + HIDDEN for each in credentials})
        compared = without_names(replaced(value, {each.path: each.before + "secret://" for each in credentials}))
        replaces = overwrite and one.entry.name in taken
        action, name = _placed(one, compared, names, overwrite=replaces)
        rotated = _rotated(value, credentials, taken.get(name), stored or {}) if action == "same" else ()
        if rotated and replaces and name == one.entry.name:
            action, rotated = "replace", ()
        if action == "add" and name != one.entry.name:
            notes.append(f"named {name}, as there is another {one.entry.name} already")
        for variable, default in one.entry.defaults.items():
            if tells_secret(variable, default):
                notes.append(f"the default of {variable} looks like a secret and is left out: set {variable} yourself")
            elif variables.get(variable, default) != default or defaults.setdefault(variable, default) != default:
                notes.append(f"{variable} has another default here already, which stays")
            elif variable not in variables:
                # It holds for the whole file, so for more than this server.
                notes.append(
                    f"env.vars.{variable} becomes {one_line(default, _SHOWN)!r}, where the environment has none"
                )
        names[name] = compared
        steps.append(
            Step(
                action,
                name,
                one,
                hidden,
                credentials,
                _variables(value),
                _references(value),
                (*one.entry.notes, *notes),
                rotated,
            )
        )
    new = {name: value for name, value in defaults.items() if name not in variables}
    needed = {name for step in steps if step.action != "same" for name in step.variables}
    return Plan(tuple(steps), defaults={name: value for name, value in new.items() if name in needed})


def _placed(one: Found, value: Any, names: Mapping[str, Any], *, overwrite: bool) -> tuple[Action, str]:
    wanted = one.entry.name
    if wanted not in names:
        return "add", wanted
    if names[wanted] == value:
        return "same", wanted
    if overwrite:
        return "replace", wanted
    for name in (f"{wanted}-{one.program.id}", *(f"{wanted}-{one.program.id}-{number}" for number in range(2, 1000))):
        if name not in names:
            return "add", name
        if names[name] == value:
            return "same", name
    raise AssertionError("a thousand servers of one name")


def _rotated(
    value: Mapping[str, Any], credentials: Sequence[Credential], here: Any, stored: Mapping[str, str]
) -> tuple[str, ...]:
    """The places in which the same server has another secret here."""
    there, ours = dict(texts_of(value)), dict(texts_of(here))
    return tuple(
        one.place
        for one in credentials
        if one.value != ASKED
        and (text := ours.get(one.path, ""))
        and all(reference in stored for reference in _REFERENCE.findall(text))
        and _REFERENCE.sub(lambda found: stored[found[0]], text) != there[one.path]
    )


def _answered(entry: Mapping[str, Any], answers: Answers) -> tuple[dict[str, Any], set[Path], list[str]]:
    """The entry with answers in the places of inputs; the places that hold a secret for that; what is to be told."""
    texts: dict[Path, str] = {}
    secret: set[Path] = set()
    notes: list[str] = []
    for path, text in texts_of(entry):
        asked = _INPUT.findall(text)
        if not asked:
            continue
        for name in asked:
            if name in answers.later:
                notes.append(f"the import will ask you for {'.'.join(path)}")
            elif name not in answers.values:
                notes.append(f"{'.'.join(path)} waits for the variable {variable_of(name)}: nobody was asked for it")
            if name in answers.secret and (name in answers.values or name in answers.later):
                secret.add(path)
        texts[path] = _INPUT.sub(lambda match: _answer(match[1], answers), text)
    return replaced(entry, texts), secret, list(dict.fromkeys(notes))


def _answer(name: str, answers: Answers) -> str:
    if name in answers.later:
        return ASKED
    if name not in answers.values:
        return f"${{{variable_of(name)}}}"
    # A secret is put away as it was typed; what stays in the file is never a reference.
    return answers.values[name] if name in answers.secret else escape(answers.values[name])


def variable_of(input_id: str) -> str:
    """The variable that stands for an input nobody answered: `github-token` is GITHUB_TOKEN."""
    words = re.sub(r"([a-z0-9])(?=[A-Z])", r"\1_", input_id)
    name = re.sub(r"\W+", "_", words, flags=re.ASCII).strip("_").upper()
    return name if re.fullmatch(r"[A-Z_][A-Z0-9_]*", name) else f"INPUT_{name}"


def _variables(value: Mapping[str, Any]) -> tuple[str, ...]:
    found: list[str] = []
    for path, text in texts_of(value):
        found += _NAMED.findall(text)
        if path[0] in _SECRET_FIELDS and (bare := _BARE.fullmatch(text)):
            found.append(bare[1])
    return tuple(dict.fromkeys([*found, *(name for name in value.get("passEnv", ()) if isinstance(name, str))]))


def _references(value: Mapping[str, Any]) -> tuple[str, ...]:
    """Those that are written as texts, and those that are written as objects."""
    texts = [found for _, text in texts_of(value) for found in _REFERENCE.findall(text)]
    return tuple(dict.fromkeys([*texts, *_objects(value)]))


def _objects(value: Any) -> list[str]:
    members = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    found = [one for member in members for one in _objects(member)]
    if isinstance(value, Mapping) and {"source", "id"} <= value.keys():
        provider = value.get("provider", "default")
        found.append(f"{SECRET_SCHEME}ref/{value['source']}/{provider}/{value['id']}")
    return found
