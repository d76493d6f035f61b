"""Write the parts of the documentation that the code knows best: settings, commands, errors, events, requirements,
and two pictures; and the JSON Schema of the config, which is a file of the package.

    python scripts/docs.py            write them
    python scripts/docs.py --check    exit with 1 and name what is stale

A generated part stands in a hand-written page between `<!-- generated: NAME -->` and `<!-- end -->`. Everything around it is prose and
is left alone. A new part is a function in PARTS; a new picture is a row of PICTURES.
"""

import inspect
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from scripts import pictures, python_api

from openclaw import errors
from openclaw.agent import events
from openclaw.commands.options import SHARED
from openclaw.commands.parse import Argument, Command, Option, Parsed, usage
from openclaw.config.schema import Field, Table, json_schema, tables
from openclaw.mcp import events as server_events
from openclaw.program import ROOT
from parts.requirement_marks import read
from requirements import REQUIREMENTS, Status

HERE = Path(__file__).parent.parent
DOCS = HERE / "docs"
SOURCE = HERE / "src" / "openclaw"
# The object that may stand wherever a secret is taken: more than this many places.
MOST_PLACES = 12
SECRET = "A secret reference"

_PART = re.compile(r"(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_TREE = re.compile(r"^\s*[│├└─ ]*(\w+Error)\s+(\S.*)$", re.MULTILINE)
# The tree names exit codes too; the table has a column for them.
_EXIT = re.compile(r"; exit code \d")


# Text


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def slug(heading: str) -> str:
    """The anchor that renderers give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


# docs/reference/config.md


def config() -> str:
    found = tables()
    titles = {table.places: title_of(table) for table in found}
    by_place = {place: title for places, title in titles.items() for place in places}
    order = [field.path for field in found[0].fields]
    first, *rest = found
    rest.sort(key=lambda one: (_index(order, titles[one.places].split(".")[0]), titles[one.places]))
    settings = {frozenset(one.fields): titles[one.places] for one in found}
    parts = ["\n".join(("## The sections", "", first.description, "", _fields(first.fields, "", by_place)))]
    for one in rest:
        base = next((fields for fields in settings if fields < frozenset(one.fields)), frozenset())
        shown = [field for field in one.fields if field not in base]
        title = titles[one.places]
        parts += [f"## {title if title == SECRET else code(title)}", one.description]
        if title == SECRET:
            parts.append('It may stand wherever a setting takes "a secret reference".')
        elif others := [place for place in one.places if place != title]:
            parts.append(f"The same at {', '.join(map(code, others))}.")
        if base:
            parts.append(f"Everything of `{settings[base]}`, and:")
        parts.append(_fields(shown, title, by_place))
    return "\n\n".join(parts)


def title_of(table: Table) -> str:
    """The shortest place says best what an object is."""
    if len(table.places) > MOST_PLACES:
        return SECRET
    # The sections of other programs' files are read, but the name is ours.
    ours = [place for place in table.places if not place.startswith(("servers.", "mcpServers."))] or table.places
    return min(ours, key=lambda place: (place.count(".") + place.count("[]"), len(place)))


def _index(order: list[str], section: str) -> int:
    return order.index(section) if section in order else len(order)


def _fields(fields: Sequence[Field], place: str, by_place: dict[str, str]) -> str:
    rows = []
    for field in fields:
        path = f"{place}.{field.path}" if place else field.path
        target = next((by_place[p] for p in (path, f"{path}.<name>", f"{path}[]") if p in by_place), "")
        linked = "secret reference" if target == SECRET else "object"
        value = f"[{field.kind}](#{slug(target)})" if target and linked in field.kind else field.kind
        marks = " Required." if field.required else ""
        marks += " A secret: never shown." if field.secret else ""
        rows.append((code(field.path), value, code(field.default), field.description + marks))
    return table(("setting", "value", "default", "meaning"), rows)


# docs/reference/cli.md and docs/reference/mcp-command.md


def commands() -> str:
    listed = (child for child in ROOT.children if not child.means)
    return "\n\n".join(section for child in listed for section in _command(child, (child.name,), "##"))


def mcp_commands() -> str:
    mcp = next(child for child in ROOT.children if child.name == "mcp")
    rows = []
    for child in mcp.children:
        if child.means:
            continue
        words = " ".join((f"/mcp {child.name}", *(argument.usage for argument in child.arguments)))
        options = ", ".join(code(_option(option)) for option in child.options if option.name not in ("json", "agent"))
        rows.append((code(words), child.summary, options))
    return table(("command", "what it does", "options"), rows)


def shared_options() -> str:
    return table(("option", "meaning"), [(code(_option(option)), _help(option)) for option in SHARED])


def _command(command: Command, trail: tuple[str, ...], level: str) -> Iterator[str]:
    yield f"{level} openclaw {' '.join(trail)}"
    yield command.summary
    if command.hidden:
        yield "For programs: `openclaw -h` does not list it."
    if command.children:
        if command.default:
            yield f"Without another word: `{command.default}`."
        for child in command.children:
            if child.means:
                continue
            yield from _command(child, (*trail, child.name), level + "#")
        return
    yield code(usage(ROOT, Parsed(command, trail)))
    if command.details:
        yield "  \n".join(command.details.strip().splitlines())
    rows = [(code(argument.usage), _help(argument)) for argument in command.arguments]
    rows += [(code(_option(option)), _help(option)) for option in command.options]
    if rows:
        yield table(("word", "meaning"), rows)


def _option(option: Option) -> str:
    short = f"{option.short}, " if option.short else ""
    return f"{short}{option.flag}" + (f" {option.value}" if option.value else "")


def _help(word: Option | Argument) -> str:
    return word.help + (f" One of {', '.join(word.choices)}." if word.choices else "")


# docs/reference/errors.md


def error_tree() -> str:
    meanings = {name: _EXIT.sub("", text) for name, text in _TREE.findall(errors.__doc__ or "")}
    rows = [
        (f"{'&emsp;' * depth}{code(kind.__name__)}", meanings[kind.__name__], str(kind.exit_code))
        for kind, depth in _kinds(errors.OpenClawError, 0)
    ]
    return table(("error", "meaning", "exit code"), rows)


def _kinds(kind: type[errors.OpenClawError], depth: int) -> Iterator[tuple[type[errors.OpenClawError], int]]:
    yield kind, depth
    for child in kind.__subclasses__():
        # Other modules may make kinds of their own; the tree is what callers can rely on.
        if child.__module__ == errors.__name__:
            yield from _kinds(child, depth + 1)


# docs/reference/events.md


def run_events() -> str:
    return _events(get_args(events.Event))


def engine_events() -> str:
    return _events(get_args(server_events.ServerEvent))


def _events(kinds: Sequence[type]) -> str:
    rows = []
    for kind in kinds:
        fields = ", ".join(f"{code(name)}: {_type(hint)}" for name, hint in get_type_hints(kind).items())
        # A dataclass without a docstring is given its signature as one.
        said = inspect.cleandoc(kind.__doc__ or "")
        rows.append((code(kind.__name__), "" if said.startswith(f"{kind.__name__}(") else said, fields))
    return table(("event", "meaning", "fields"), rows)


def _type(hint: object) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(code(str(word)) for word in get_args(hint))
    if isinstance(hint, type) and not get_args(hint):
        return code(hint.__name__)
    return code(re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", str(hint)))


# docs/reference/requirements.md


def requirements() -> str:
    shown, _ = read()
    parts = []
    for source, rows in itertools.groupby(REQUIREMENTS, key=lambda one: one.source):
        lines = []
        for row in rows:
            tests = ", ".join(code(test) for test in shown.get(row.id, ()))
            lines.append((code(row.id), row.text, row.status, " ".join(filter(None, (row.note, tests)))))
        parts.append(f"## {source}\n\n" + table(("id", "requirement", "status", "instead, and shown by"), lines))
    return "\n\n".join(parts)


def requirement_counts() -> str:
    counts = Counter(row.status for row in REQUIREMENTS)
    return table(("status", "requirements"), [(status, str(counts[status])) for status in get_args(Status)])


# docs/explain/


def server_transitions() -> str:
    rows = [
        (states, code(row.event) + (f" ({row.label})" if row.label else ""), row.target, ", ".join(row.actions))
        for row, states in pictures.transitions()
    ]
    return table(("in", "when", "goes to", "and does"), rows)


ACTORS = (
    "model",
    "agent/loop",
    "tools/invoke",
    "mcp/view",
    "mcp/server/server",
    "transport/connection",
    "server",
)
CALL = (
    (0, 1, "tool call"),
    (1, 2, "invoke"),
    (2, 2, "policy, arguments, audit line"),
    (2, 3, "run"),
    (3, 4, "call_tool"),
    (4, 4, "up? if not, connect now"),
    (4, 5, "request"),
    (5, 6, "tools/call"),
    (6, 5, "answer"),
    (5, 4, "answer"),
    (4, 3, "result or fault"),
    (3, 3, "mcp/tools/bridge: clean, frame, keep media"),
    (3, 2, "ToolResult"),
    (2, 2, "audit line"),
    (2, 1, "ToolResult"),
    (1, 0, "next request"),
)


def tool_call() -> str:
    for actor in ACTORS:
        assert "/" not in actor or (SOURCE / f"{actor}.py").is_file(), f"{actor} is no module any more"
    return pictures.sequence("The life of a tool call", ACTORS, CALL)


PARTS: dict[str, Callable[[], str]] = {
    "config": config,
    "commands": commands,
    "shared-options": shared_options,
    "mcp-commands": mcp_commands,
    "error-tree": error_tree,
    "run-events": run_events,
    "engine-events": engine_events,
    "python-names": python_api.names,
    "python-api": lambda: python_api.reference(cell),
    "requirement-counts": requirement_counts,
    "requirements": requirements,
    "server-transitions": server_transitions,
}
PICTURES: dict[str, Callable[[], str]] = {
    "explain/life-of-a-server.svg": pictures.server_states,
    "explain/life-of-a-tool-call.svg": tool_call,
}


# In the package, for editors.
SCHEMA = SOURCE / "config" / "openclaw.schema.json"


def fresh() -> Iterator[tuple[Path, str]]:
    """Every file with something generated in it, and what it should hold."""
    used: set[str] = set()
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        names = [name for _, name, _ in _PART.findall(text)]
        used.update(names)
        if names:
            yield page, _PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]]()}\n\n{found[3]}", text)
    assert used == set(PARTS), f"no page holds {sorted(set(PARTS) - used)}"
    for name, draw in PICTURES.items():
        yield DOCS / name, draw()
    yield SCHEMA, json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    stale = [(path, text) for path, text in fresh() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path, text in stale:
        print(f"docs: {path.relative_to(HERE)} {'is stale' if '--check' in sys.argv else 'written'}")
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print("docs: run `make docs`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
