"""The map of ARCHITECTURE.md, held by reading every import statement: rows import earlier rows only, and there are no cycles.

Lazy imports through a command table or a module `__getattr__` go through `importlib` and are not import statements.
"""

import ast
import os
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "openclaw"

# Each row imports earlier rows, and within a row only what stands before it.
ROWS: list[list[str]] = [
    ["errors", "files", "lock", "daemon_thread", "single_flight", "wildcard", "content", "redact", "log", "tool"],
    ["protocol", "plain_schema", "schema", "ranking"],
    ["config", "security", "media"],
    ["net", "process", "secrets", "transport", "auth"],
    ["mcp", "models", "sessions", "skills", "plugins", "tools"],
    ["agent"],
    ["engine", "reply", "workplace", "app"],
    ["commands"],
    ["gateway", "mcp_server"],
    ["demo", "cli"],
]
PLACE = {part: (row, column) for row, parts in enumerate(ROWS) for column, part in enumerate(parts)}

# Third-party packages and the only parts that may import them. What is not named here may not be imported at all.
FENCES: dict[str, set[str]] = {
    "aiohttp": {"gateway", "demo"},
    "msgspec": set(PLACE),
    "uvloop": {"cli"},
    "prompt_toolkit": {"cli"},
    "pypdf": {"agent"},
    "keyring": {"auth", "secrets"},
    "cryptography": {"auth"},
    "jsonschema_rs": {"schema"},
    "yaml": {"skills"},
    "boto3": {"secrets"},
    "botocore": {"secrets"},
    "google": {"secrets"},
    "azure": {"secrets"},
}
STANDARD_FENCES: dict[str, set[str]] = {"subprocess": {"process"}, "ssl": {"net"}, "urllib.request": set()}

# Names of two classes each, because both sides of a contract call it so: what a model streams and what a run tells of it, and the
# calls under way as the engine keeps them and as the caller of tools knows them.
SHARED_NAMES = {"Notice", "ReasoningDelta", "TextDelta", "Running", "RunningCall"}


@cache
def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module: str) -> str:
    """The part of the map a module belongs to; empty for the package itself."""
    pieces = module.split(".")
    return pieces[1] if len(pieces) > 1 else ""


@cache
def imports_of(path: Path) -> list[tuple[str, int, bool]]:
    """Every imported module, its line, and whether the statement stands at the top of the file (types included)."""
    tree = tree_of(path)
    inner = {
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    found: list[tuple[str, int, bool]] = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative imports hide where a name lives"
            module = node.module or ""
            names = [
                f"{module}.{alias.name}" if is_module(f"{module}.{alias.name}") else module for alias in node.names
            ]
        found += [(name, node.lineno, node not in inner) for name in names]
    return found


@cache
def is_module(name: str) -> bool:
    path = SOURCE.parent.joinpath(*name.split("."))
    return name.startswith("openclaw") and (path.with_suffix(".py").exists() or (path / "__init__.py").exists())


@pytest.mark.requirement("002-2-layout")
@pytest.mark.requirement("000-13-layout")
def test_every_module_has_a_place_on_the_map() -> None:
    unknown = {part_of(name_of(path)) for path in modules()} - set(PLACE) - {""}
    assert not unknown


def test_every_module_says_in_its_docstring_what_it_owns() -> None:
    bare = [str(path) for path in modules() if not ast.get_docstring(tree_of(path))]
    assert not bare


def test_a_class_has_a_name_of_its_own() -> None:
    homes: dict[str, list[str]] = {}
    for path in modules():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(name_of(path))
    assert {name: found for name, found in homes.items() if len(found) > 1 and name not in SHARED_NAMES} == {}


def test_imports_go_down_only() -> None:
    wrong = []
    for path in modules():
        module = name_of(path)
        here = part_of(module)
        for target, line, _ in imports_of(path):
            there = part_of(target) if target.startswith("openclaw") else ""
            if here and there and here != there and PLACE[there] >= PLACE[here]:
                wrong.append(f"{module}:{line} imports {target}")
    assert not wrong


def test_agent_and_mcp_never_import_each_other() -> None:
    wrong = [
        f"{name_of(path)}:{line} imports {target}"
        for path in modules()
        for target, line, _ in imports_of(path)
        if {part_of(name_of(path)), part_of(target) if target.startswith("openclaw") else ""} == {"agent", "mcp"}
    ]
    assert not wrong


def test_there_are_no_import_cycles() -> None:
    graph = {name_of(p): {t for t, _, _ in imports_of(p) if t.startswith("openclaw.")} for p in modules()}
    done: set[str] = set()

    def visit(module: str, trail: list[str]) -> None:
        assert module not in trail, " -> ".join([*trail[trail.index(module) :], module])
        if module not in done:
            for target in graph.get(module, set()) - {module}:
                visit(target, [*trail, module])
            done.add(module)

    for module in graph:
        visit(module, [])


def test_import_statements_stand_at_the_top() -> None:
    inner = [
        f"{name_of(p)}:{line} imports {target}" for p in modules() for target, line, top in imports_of(p) if not top
    ]
    assert not inner


@pytest.mark.parametrize("package", sorted(FENCES))
def test_third_party_packages_stay_behind_their_fences(package: str) -> None:
    wrong = [
        f"{name_of(path)}:{line}"
        for path in modules()
        for target, line, _ in imports_of(path)
        if target.split(".")[0] == package and part_of(name_of(path)) not in FENCES[package]
    ]
    assert not wrong


@pytest.mark.parametrize("package", sorted(STANDARD_FENCES))
def test_processes_and_sockets_are_made_in_one_place(package: str) -> None:
    wrong = [
        f"{name_of(path)}:{line}"
        for path in modules()
        for target, line, _ in imports_of(path)
        if (target == package or target.startswith(package + "."))
        and part_of(name_of(path)) not in STANDARD_FENCES[package]
    ]
    assert not wrong


# Ways to start a program without importing `subprocess`.
_SPAWNERS = frozenset(
    {"create_subprocess_exec", "create_subprocess_shell", "fork", "forkpty", "popen", "posix_spawn", "posix_spawnp"}
    | {"startfile", "subprocess_exec", "subprocess_shell", "system"}
    | {name for name in dir(os) if name.startswith(("exec", "spawn"))}
)


def test_programs_are_started_in_one_place_by_whatever_name() -> None:
    wrong = [
        f"{name_of(path)}:{node.lineno} calls {node.func.attr}"
        for path in modules()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in ("os", "asyncio", "loop")
        and node.func.attr in _SPAWNERS
        and part_of(name_of(path)) != "process"
    ]
    assert not wrong


@pytest.mark.requirement("001-6-sdk")
def test_nothing_else_is_imported() -> None:
    import sys

    known = set(FENCES) | set(sys.stdlib_module_names) | {"openclaw"}
    wrong = [
        f"{name_of(path)}:{line} imports {target}"
        for path in modules()
        for target, line, _ in imports_of(path)
        if target.split(".")[0] not in known
    ]
    assert not wrong


def test_only_invoke_runs_a_tool() -> None:
    """`tool.run(...)` appears in tools/invoke.py alone."""
    callers = [
        f"{name_of(path)}:{node.lineno}"
        for path in modules()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "run"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "tool"
    ]
    assert {caller.split(":")[0] for caller in callers} <= {"openclaw.tools.invoke"}


_WRITERS = {"encode", "Encoder"}


def test_json_is_written_by_one_encoder() -> None:
    """`content.to_json` writes framed text; an encoder without its hook fails on it."""
    writers = {
        name_of(path)
        for path in modules()
        for node in ast.walk(tree_of(path))
        if (
            isinstance(node, ast.Attribute)
            and ast.unparse(node.value) in ("msgspec.json", "json")
            and node.attr in _WRITERS
        )
        or (isinstance(node, ast.ImportFrom) and node.module == "msgspec.json")
    }
    assert writers == {"openclaw.content"}
