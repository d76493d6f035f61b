"""What other programs may import: the names are listed, each of them is there, and the documentation imports these and no others."""

import ast
import re
from importlib import import_module

import pytest

from parts.pages import DOCS, ROOT, pages

PACKAGES = ["openclaw", "openclaw.mcp", "openclaw.plugins"]

_PYTHON = re.compile(r"^```(?:python|py)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def sources() -> dict[str, list[str]]:
    """Every Python text that a reader of the documentation is shown, by where it stands."""
    found = {str(page.relative_to(ROOT)): _PYTHON.findall(page.read_text(encoding="utf-8")) for page in pages()}
    for file in (*DOCS.rglob("*.py"), *(ROOT / "examples").rglob("*.py")):
        found[str(file.relative_to(ROOT))] = [file.read_text(encoding="utf-8")]
    return found


def imported(text: str) -> set[tuple[str, str]]:
    """Each module of ours that a text imports from, and the name."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "openclaw":
            found |= {(node.module or "", alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names if alias.name.partition(".")[0] == "openclaw"}
    return found


PUBLIC = {(package, name) for package in PACKAGES for name in import_module(package).__all__}
SHOWN = {place: set[tuple[str, str]]().union(*map(imported, texts)) for place, texts in sources().items()}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_can_be_imported(package: str) -> None:
    module = import_module(package)
    assert [name for name in module.__all__ if getattr(module, name, None) is None] == []


@pytest.mark.parametrize("package", ["openclaw", "openclaw.mcp"])
def test_a_name_that_is_not_public_is_not_there(package: str) -> None:
    with pytest.raises(AttributeError, match="nobody"):
        _ = import_module(package).nobody


def test_the_documentation_imports_public_names_alone() -> None:
    assert {place: names - PUBLIC for place, names in SHOWN.items() if names - PUBLIC} == {}


def test_every_public_name_is_shown_by_the_documentation() -> None:
    unshown = PUBLIC - set[tuple[str, str]]().union(*SHOWN.values())
    # The version is read off the package.
    assert unshown == {("openclaw", "__version__")}


def test_a_name_that_stands_in_two_packages_is_the_same_thing_in_both() -> None:
    # Each package is complete: who uses the engine alone imports from one place.
    meant: dict[str, set[int]] = {}
    for package, name in PUBLIC:
        meant.setdefault(name, set()).add(id(getattr(import_module(package), name)))
    assert [name for name, things in meant.items() if len(things) > 1] == []
