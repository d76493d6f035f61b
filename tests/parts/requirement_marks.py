"""Which tests show which requirement: the `@pytest.mark.requirement` marks of every tier.

Reads the tests as text, so that it sees all of them and imports none.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent.parent
# pytest collects functions of these names from files of these names.
TEST_FILES = "test_*.py"
TEST_FUNCTION = "test_"


def marks(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Every `pytest.mark.requirement`: its line, its id, and the test it decorates; empty where there is no such thing."""
    nodes = list(ast.walk(tree))
    calls = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
    tests = {
        id(decorator): node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(TEST_FUNCTION)
        for decorator in node.decorator_list
    }
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr == "requirement" and ast.unparse(node.value) == "pytest.mark":
            call = calls.get(id(node))
            match call.args if call else []:
                case [ast.Constant(value=str(name))]:
                    yield node.lineno, name, tests.get(id(call), "")
                case _:
                    yield node.lineno, "", ""


@cache
def read() -> tuple[Mapping[str, list[str]], list[str]]:
    """The tests by the id they carry, and marks that nobody would ever run or count."""
    found: dict[str, list[str]] = defaultdict(list)
    stray: list[str] = []
    for path in sorted(TESTS.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        # Its own text has marks that are no marks.
        if "requirement" not in text or path.name == "test_requirements.py":
            continue
        for line, name, test in marks(ast.parse(text)):
            if name and test and path.match(TEST_FILES):
                found[name].append(f"{path.relative_to(TESTS)}::{test}")
            else:
                stray.append(f"{path.relative_to(TESTS)}:{line}")
    return found, stray
