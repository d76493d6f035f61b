"""The map of ARCHITECTURE.md, held by reading every import: rows import earlier rows only, there are no cycles, and tests/unit mirrors it.

An import is an import statement, wherever it stands and for types alone too, a command's handler that is named as text, and every name of
a module in a file that calls `import_module`.
"""

import ast
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from conftest import WHOLE_PROGRAMS

SOURCE = Path(__file__).parent.parent / "src" / "openclaw"

# Each row imports earlier rows, and within a row only what stands before it.
ROWS: list[list[str]] = [
    [
        "version",
        "errors",
        "typed_words",
        "libraries",
        "files",
        "appending",
        "lock",
        "daemon_thread",
        "single_flight",
        "to_the_end",
        "wildcard",
        "late_pattern",
        "content",
        "redact",
        "log",
        "event_hub",
        "grant",
        "conversation",
        "run_state",
        "standstill",
        "trace_context",
        "tool",
    ],
    ["protocol", "plain_schema", "json_schema", "tool_form", "ranking"],
    ["config", "security", "media"],
    ["net", "process", "secrets", "transport", "auth"],
    ["mcp", "models", "sessions", "skills", "plugins", "tools", "asking", "importers", "fleet"],
    ["telemetry", "agent"],
    ["engine", "reply", "workplace", "app"],
    ["control"],
    ["commands"],
    ["gateway", "mcp_server", "acp", "cli", "demo"],
    ["program", "__main__"],
]
PLACE = {part: (row, column) for row, parts in enumerate(ROWS) for column, part in enumerate(parts)}

# Third-party packages and the only parts that may import them. What is not named here may not be imported at all.
FENCES: dict[str, set[str]] = {
    "aiohttp": {"gateway", "demo"},
    "msgspec": set(PLACE),
    "uvloop": {"control"},
    "prompt_toolkit": {"cli"},
    "rich": {"commands"},
    "markdown_it": {"commands"},
    "pypdf": {"agent"},
    "keyring": {"secrets"},
    "cryptography": {"secrets", "auth", "mcp_server"},
    "jsonschema_rs": {"json_schema"},
    "yaml": {"skills"},
    "boto3": {"secrets"},
    "botocore": {"secrets"},
    "google": {"secrets"},
    "azure": {"secrets"},
    "pydantic_monty": {"tools"},
    "opentelemetry": {"telemetry"},
    # It opens its own sockets: to the database that the operator named, and to nothing that anybody else could name.
    "asyncpg": {"fleet"},
}
STANDARD_FENCES: dict[str, set[str]] = {"subprocess": {"process"}, "ssl": {"net"}, "urllib.request": set()}

# The surfaces: none of them imports another, and each can be left out.
SURFACES = ("acp", "gateway", "mcp_server", "cli", "demo")

# Modules that import something only when it is needed, and what for. Everywhere else imports stand at the top.
LATE: dict[str, str] = {
    "openclaw.__main__": "a command that the gateway runs loads the standard library alone",
    "openclaw.acp.command": "an editor waits while we start",
    "openclaw.acp.serve": "`initialize` is answered before the agent is loaded",
    "openclaw.agent.pdf_text": "where its library is missing, that is said",
    "openclaw.app": "a recording is rare",
    "openclaw.asking.approver": "most calls are not asked about",
    "openclaw.auth.signing": "most servers need no signature, and cryptography is large",
    "openclaw.cli.local": "many commands need neither an App nor a browser, and a pipe no keyboard",
    "openclaw.cli.terminal_asker": "most commands ask nothing",
    "openclaw.commands.call": "most calls are of a server of the config, and no question about a tool",
    "openclaw.commands.mcp": "files of other programs are looked at only where no server is configured",
    "openclaw.commands.render": "few results are pictures, and few terminals show them",
    "openclaw.commands.status": "files of other programs are looked at only where no server is configured",
    "openclaw.commands.doctor": "few configs have a fleet, and its library is large",
    "openclaw.commands.dispatch": "most commands do not fail",
    "openclaw.commands.store": "without the library of the database, that is said",
    "openclaw.commands.screen.turn": "rich is large, and a pipe needs nothing of it",
    "openclaw.commands.sign_in_prompt": "a sign-in is rare",
    "openclaw.config.wording": "only a mistyped word needs difflib",
    "openclaw.control.event_loop": "uvloop is not to be had everywhere",
    "openclaw.control.remote": "a browser is rarely opened and a question rarely asked, and asyncio and msgspec are large",
    "openclaw.control.shell_words": "most words are no conversations, and sqlite3 costs milliseconds",
    "openclaw.control.terminal_modes": "termios is not to be had everywhere",
    "openclaw.engine": "commands for local servers need no network, few configs have secrets, and fewer a fleet",
    "openclaw.gateway.command": "`gateway status` and `stop` need no gateway",
    "openclaw.gateway.credentials": "few tokens are references",
    "openclaw.gateway.gateway": "servers are begun to be started before aiohttp's server is loaded",
    "openclaw.gateway.routes": "only a gateway of a fleet is asked by others",
    "openclaw.mcp.connect": "stdio servers need no HTTP client",
    "openclaw.mcp.context": "html has a table of two thousand entities, and only a prompt needs any of it",
    "openclaw.mcp.embedding": "few configs name secrets",
    "openclaw.mcp.manager": "only programs write servers, answer questions and sign people in; few sessions bring any",
    "openclaw.mcp.tools.output": "only a large result is checked by a program of its own",
    "openclaw.mcp.tools.pins": "only a changed definition needs difflib",
    "openclaw.mcp.wording": "only a mistyped name needs difflib",
    "openclaw.mcp_server.calls": "most clients are never asked anything, and cryptography is large",
    "openclaw.mcp_server.server": "most clients cannot be asked",
    "openclaw.mcp_server.orders": "`initialize` is answered before the agent is loaded",
    "openclaw.mcp_server.command": "a client waits while we start",
    "openclaw.mcp_server.serve": "only --verbose needs the journal",
    "openclaw.models.catalog": "one wire does not pay for the other",
    "openclaw.plugins.discover": "package metadata is slow to read",
    "openclaw.json_schema": "the plainest schemas need no library",
    "openclaw.secrets.aws": "an optional library",
    "openclaw.secrets.azure": "an optional library",
    "openclaw.secrets.google_token": "an optional library",
    "openclaw.secrets.store.encrypted": "cryptography is large",
    "openclaw.secrets.resolve": "most configs use one provider or two",
    "openclaw.security.foreign": "the table of entities is for text that has some",
    "openclaw.security.fold": "a table of two thousand entities that most texts never need",
    "openclaw.security.policy": "only a mistyped word needs difflib",
    "openclaw.skills.frontmatter": "a machine without skills needs no YAML",
    "openclaw.telemetry.start": "who has a tracer of its own needs no SDK",
    "openclaw.tools.invoke": "only a name that nothing has needs difflib",
    "openclaw.tools.web_fetch": "few turns fetch a page, and the HTTP client is large",
}
# Modules that import by name, and where the names are.
BY_NAME: dict[str, str] = {
    "openclaw": "the public names, none of which `openclaw --version` pays for",
    "openclaw.mcp": "the public names of the engine: one module of it does not cost all of it",
    "openclaw.mcp.in_process": "the library that a server in this program was made with",
    "openclaw.commands.dispatch": "handlers, in the tables of commands",
    "openclaw.program": "the tables of the surfaces, any of which may be left out",
    "openclaw.secrets.store.keychain": "the keychain of this system, in a table of its own",
    "openclaw.demo.sdk_client": "the official SDK, which need not be installed",
}
_HANDLER = re.compile(r"(openclaw(?:\.\w+)+):\w+")
_MODULE = re.compile(r"(openclaw(?:\.\w+)+)")


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
    """Every imported module, its line, and whether that stands at the top of the file."""
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
        if not isinstance(node, ast.Import | ast.ImportFrom | ast.Constant):
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative imports hide where a name lives"
            module = node.module or ""
            names = [
                f"{module}.{alias.name}" if is_module(f"{module}.{alias.name}") else module for alias in node.names
            ]
        elif isinstance(node.value, str):
            # Elsewhere the name of a module is that of its log, or something to show.
            named = _HANDLER.fullmatch(node.value) or (name_of(path) in BY_NAME and _MODULE.fullmatch(node.value))
            names = [named[1]] if named else []
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


def test_surfaces_do_not_import_each_other() -> None:
    wrong = [
        f"{name_of(path)}:{line} imports {target}"
        for path in modules()
        for target, line, _ in imports_of(path)
        if part_of(name_of(path)) in SURFACES
        and part_of(target) in SURFACES
        and target.startswith("openclaw.")
        and part_of(target) != part_of(name_of(path))
    ]
    assert not wrong


def test_there_are_no_import_cycles() -> None:
    graph = {name_of(p): {t for t, _, _ in imports_of(p) if t.split(".")[0] == "openclaw"} for p in modules()}
    done: set[str] = set()

    def visit(module: str, trail: list[str]) -> None:
        assert module not in trail, " -> ".join([*trail[trail.index(module) :], module])
        if module not in done:
            for target in graph.get(module, set()) - {module}:
                visit(target, [*trail, module])
            done.add(module)

    for module in graph:
        visit(module, [])


def test_import_statements_stand_at_the_top_but_for_those_that_are_listed() -> None:
    late = {name_of(path) for path in modules() for _, _, top in imports_of(path) if not top}
    assert late == set(LATE)


def test_what_is_imported_by_name_is_listed() -> None:
    named = {
        name_of(path)
        for path in modules()
        for node in ast.walk(tree_of(path))
        if (isinstance(node, ast.Name) and node.id == "import_module")
        or (isinstance(node, ast.Attribute) and node.attr == "import_module")
    }
    assert named == set(BY_NAME)


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

    # One module of the standard library has another name in every second version of it.
    known = set(FENCES) | set(sys.stdlib_module_names) | {"openclaw", "_sha2", "_sha256"}
    wrong = [
        f"{name_of(path)}:{line} imports {target}"
        for path in modules()
        for target, line, _ in imports_of(path)
        if target.split(".")[0] not in known
    ]
    assert not wrong


def _callers(called: re.Pattern[str]) -> set[str]:
    return {
        name_of(path)
        for path in modules()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and called.fullmatch(ast.unparse(node.func))
    }


def test_only_invoke_runs_a_tool() -> None:
    """`tool.run(...)` appears in tools/invoke.py alone."""
    assert _callers(re.compile(r"(?:.*\.)?tool\.run")) == {"openclaw.tools.invoke"}


def test_the_stack_of_a_call_is_composed_in_one_place() -> None:
    assert _callers(re.compile(r"(?:.*\.)?Invoke")) == {"openclaw.engine"}


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


_PARTS_OF_A_SERVER = {path.stem for path in (SOURCE / "mcp" / "server").glob("*.py")} - {"__init__", "server"}
# What whoever manages servers needs of these modules besides the server itself.
_HANDED_IN = {"UnavailableError", "Limiters", "StderrLog"}


def test_one_server_is_one_object_to_everybody_else() -> None:
    """Outside mcp/server/ nobody asks for the parts of a LiveServer."""
    wrong = [
        f"{name_of(path)}:{node.lineno} imports {alias.name}"
        for path in modules()
        if not name_of(path).startswith("openclaw.mcp.server")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("openclaw.mcp.server.")
        for alias in node.names
        if (node.module or "").rpartition(".")[2] in _PARTS_OF_A_SERVER and alias.name not in _HANDED_IN
    ]
    assert not wrong


def test_only_who_manages_servers_knows_what_keeps_one_alive() -> None:
    # The package itself names it for programs that are given one.
    above = {"openclaw.mcp", *(f"openclaw.mcp.{name}" for name in ("pool", "readiness", "view", "context", "manager"))}
    wrong = [
        f"{module}:{line} imports {target}"
        for path in modules()
        if part_of(module := name_of(path)) == "mcp"
        and not module.startswith("openclaw.mcp.server.")
        and module not in above
        for target, line, _ in imports_of(path)
        if target.startswith("openclaw.mcp.server.")
    ]
    assert not wrong


# Modules that set what is no field of ours, and what for.
_SETS_FOREIGN: dict[str, str] = {
    "openclaw.net.tls": "an SSLContext is made by a function of the standard library, and switched by its fields alone",
}


def functions_of(tree: ast.Module) -> Iterator[tuple[list[ast.AST], set[str]]]:
    """Every function, and the rest of the module: its nodes without those of functions inside, and the names of objects it made itself."""
    scopes: list[ast.AST] = [tree]
    while scopes:
        scope = scopes.pop()
        nodes, inside = list[ast.AST](), list(ast.iter_child_nodes(scope))
        while inside:
            node = inside.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                scopes.append(node)
            else:
                nodes.append(node)
                inside += ast.iter_child_nodes(node)
        yield nodes, made_in(nodes)


def made_in(nodes: list[ast.AST]) -> set[str]:
    """Names that are given nothing but a new object: `one = Thing()`, `one, two = Thing(), Thing()`."""
    given: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=True))
                for one, value in pairs:
                    for name in ast.walk(one):
                        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                            given.setdefault(name.id, []).append(value)
    return {name for name, values in given.items() if all(map(is_new, values))}


def is_new(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2].lstrip("_")[:1].isupper()


def test_nobody_sets_a_field_of_another_object() -> None:
    """But of one that the same function has just made."""
    wrong = [
        (name_of(path), f"{name_of(path)}:{node.lineno} sets {ast.unparse(node)}")
        for path in modules()
        for nodes, made in functions_of(tree_of(path))
        for node in nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store | ast.Del)
        and not (isinstance(node.value, ast.Name) and node.value.id in {"self", *made})
    ]
    assert [line for module, line in wrong if module not in _SETS_FOREIGN] == []
    assert set(_SETS_FOREIGN) == {module for module, _ in wrong}


# Ways to set a field by its name, and who may use them.
_SETTERS = {"setattr", "__setattr__", "force_setattr", "delattr"}
_SETS_BY_NAME: dict[str, str] = {
    "openclaw.cli.local": "a standard stream that is closed is opened in `sys`",
    "openclaw.security.egress": "a frozen value works out some of its own fields once",
}


def test_fields_are_not_set_by_name_either() -> None:
    setting = {
        name_of(path)
        for path in modules()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in _SETTERS
    }
    assert setting == set(_SETS_BY_NAME)


# What the standard library offers under such a name alone.
_PRIVATE_OF_OTHERS = {"os._exit", "atexit._run_exitfuncs"}


def test_nobody_reads_a_private_part_of_another_object() -> None:
    """A server's parts are private, and so are everybody else's."""
    wrong = [
        f"{name_of(path)}:{node.lineno} reads {ast.unparse(node)}"
        for path in modules()
        for own in [{"self", "cls", *(node.name for node in tree_of(path).body if isinstance(node, ast.ClassDef))}]
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and not (isinstance(node.value, ast.Name) and node.value.id in own)
        and ast.unparse(node) not in _PRIVATE_OF_OTHERS
    ]
    assert not wrong


# Who keeps things, each one of several that keep the same contract: whoever has one asks nobody which it is.
_KEEPERS = {
    *("Store", "SqliteStore", "MemoryStore", "PostgresStore", "TracedStore"),
    *("Records", "FileRecords", "TokenRecords"),
    *("Grants", "GrantStore", "FleetGrants"),
    *("PinStore", "PinFiles", "FleetPins"),
    *("Pages", "PageTokens", "FleetPages"),
    *("Board", "OwnBoard", "FleetBoard"),
    *("RunDirectory", "OwnDirectory", "FleetRuns"),
    *("AuditTrail", "AuditFile", "FleetAudit"),
}


def test_nobody_asks_which_store_it_has() -> None:
    """No `isinstance` on a store, nor a `match` or a comparison by its class: what one can do that another cannot is in the contract."""
    wrong = []
    for path in modules():
        for node in ast.walk(tree_of(path)):
            asked: list[ast.AST] = []
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("isinstance", "issubclass")
            ):
                asked = [*node.args[1:]]
            elif isinstance(node, ast.MatchClass):
                asked = [node.cls]
            elif isinstance(node, ast.Compare) and any(
                isinstance(one, ast.Is | ast.IsNot | ast.Eq) for one in node.ops
            ):
                asked = [*node.comparators]
            named = {
                one.id if isinstance(one, ast.Name) else one.attr
                for each in asked
                for one in ast.walk(each)
                if isinstance(one, ast.Name | ast.Attribute)
            }
            if found := named & _KEEPERS:
                wrong.append(f"{path.name}:{getattr(node, 'lineno', 0)}: {sorted(found)}")
    assert not wrong


def test_every_store_that_must_not_be_asked_for_is_there() -> None:
    defined = {node.name for path in modules() for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)}
    assert sorted(_KEEPERS - defined) == []


_UNIT = Path(__file__).parent / "unit"
# What the folders of tests/unit mirror, if not the one of that name in the package.
_MIRRORED = {"bench": SOURCE.parent.parent / "bench", "parts": _UNIT.parent / "parts"}
# Tests of no single module, and why they stand here all the same.
_OF_SEVERAL = {
    "config/test_every_key_is_read.py": "asks of each setting whether any module reads it",
    "config/test_seed_examples.py": "the examples of the requirement documents, through all of config",
    "demo/test_servers.py": "the servers of the tour, each too small for a file",
    "secrets/test_cloud_secrets.py": "aws, azure and gcp keep the same promises",
    "secrets/test_local_secrets.py": "so do environment, file, exec and keychain",
}


def test_unit_tests_stand_where_their_module_does() -> None:
    """`tests/unit/a/test_b.py` and `test_b_c.py` are of `a/b.py`, or of the folder `a/b`; the longer name says which side of it."""

    def has_module(test: Path) -> bool:
        top, *inner = test.relative_to(_UNIT).parent.parts or ("",)
        folder = _MIRRORED.get(top, SOURCE / top).joinpath(*inner)
        words = test.stem.removeprefix("test_").split("_")
        names = ["_".join(words[:count]) for count in range(1, len(words) + 1)]
        return any((folder / f"{name}.py").is_file() or (folder / name).is_dir() for name in names)

    alone = {str(test.relative_to(_UNIT)) for test in _UNIT.rglob("test_*.py") if not has_module(test)}
    assert alone == set(_OF_SEVERAL)


# Of the standard library, what Windows lacks.
_NOT_ON_WINDOWS = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}
_TESTS = Path(__file__).parent


def _files_of_windows() -> dict[str, Path]:
    """By the name that others import them by: our modules, the tests that are collected there, and the parts that these import."""
    files = {".".join(path.relative_to(_TESTS).with_suffix("").parts): path for path in _TESTS.rglob("*.py")}
    elsewhere = (*WHOLE_PROGRAMS, "parts/", "real/", "full/", "conformance/")
    tests = [name for name, path in files.items() if not path.relative_to(_TESTS).as_posix().startswith(elsewhere)]
    found: dict[str, Path] = {}
    while tests:
        name = tests.pop()
        if name in files and name not in found:
            found[name] = files[name]
            tests += _imported_everywhere(files[name])
    return found | {name_of(path): path for path in modules()}


def _imported_everywhere(path: Path) -> set[str]:
    """What is imported whenever the file is: at its top, and not below a question about the system."""
    found: set[str] = set()
    for node in tree_of(path).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_what_is_collected_on_windows_imports_nothing_that_is_not_there() -> None:
    """A test of such a module imports it below a question about the system, and is marked."""
    files = _files_of_windows()
    missing = _NOT_ON_WINDOWS | {
        name for name, path in files.items() if "assert sys.platform != 'win32'" in map(ast.unparse, tree_of(path).body)
    }
    asserting = missing & set(files)
    assert "openclaw.process.guardian" in asserting
    wrong = {
        name: sorted(found)
        for name, path in files.items()
        if name not in asserting and (found := _imported_everywhere(path) & missing)
    }
    assert wrong == {}
