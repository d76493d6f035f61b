"""What the distribution says of itself: a name that is free, one version, metadata that an index accepts, a changelog in the known form."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from hatchling.metadata.spec import DEFAULT_METADATA_VERSION
from packaging.metadata import Metadata, RawMetadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from openclaw.gateway.service import LABEL
from openclaw.version import __version__

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Asked of the public index in November 2026. Ask again before the first release.
TAKEN = {"openclaw", "openclaw-py", "openclaw-sdk", "openclaw-lite", "clawpy", "pyclaw", "pythonclaw"}


def as_an_index_compares(name: str) -> str:
    """Names that differ in separators or look-alike characters alone are the same to it."""
    return re.sub(r"[-_.]", "", name.lower()).replace("1", "l").replace("i", "l").replace("0", "o")


def test_the_name_of_the_distribution_is_none_of_those_that_are_taken() -> None:
    assert PROJECT["name"] == canonicalize_name(PROJECT["name"]) == "openclaw-host"
    assert as_an_index_compares(PROJECT["name"]) not in {as_an_index_compares(name) for name in TAKEN}


def test_the_program_is_reached_under_its_own_name_and_that_of_the_distribution() -> None:
    assert PROJECT["scripts"] == dict.fromkeys(("openclaw", PROJECT["name"]), "openclaw.__main__:main")


def test_the_version_is_written_in_one_place() -> None:
    assert "version" in PROJECT["dynamic"]
    assert "version" not in PROJECT
    files = [ROOT / "pyproject.toml", *(ROOT / "src").rglob("*.py")]
    written = [
        path.name
        for path in files
        if re.search(rf"""["']{re.escape(__version__)}["']""", path.read_text(encoding="utf-8"))
    ]
    assert written == ["version.py"]


def test_every_page_names_the_wheel_and_the_supported_version_that_there_are() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = {
        version
        for page in pages
        for version in re.findall(r"openclaw_host-([\d.]+)-py3-none-any\.whl", page.read_text(encoding="utf-8"))
    }
    assert named == {__version__}
    supported = re.findall(r"^\| (\S+) \| yes \|$", (ROOT / "SECURITY.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert supported == [f"{__version__.rpartition('.')[0]}.x"]


def test_every_python_that_is_promised_is_named() -> None:
    named = [row.rpartition(" ")[2] for row in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", row)]
    assert named == ["3.11", "3.12", "3.13", "3.14"]
    assert PROJECT["requires-python"] == f">={named[0]}"


WORKFLOWS = {
    file.name: file.read_text(encoding="utf-8") for file in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}


def jobs(workflow: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(WORKFLOWS[workflow])["jobs"]
    return found


def test_every_python_that_is_promised_is_tested_in_public_and_the_wheel_on_the_systems_that_nobody_has_here() -> None:
    matrices = {name: job["strategy"]["matrix"] for name, job in jobs("test.yml").items() if "strategy" in job}
    assert matrices == {
        "quick": {
            "os": ["ubuntu-latest", "macos-latest", "windows-latest"],
            "python": ["3.11", "3.12", "3.13", "3.14"],
        },
        "wheel": {"os": ["macos-latest", "windows-latest"], "python": ["3.11", "3.14"]},
    }


def test_only_the_tests_may_fail_on_windows_and_never_what_readme_says_of_it() -> None:
    lenient = [name for name, job in jobs("test.yml").items() if "continue-on-error" in job]
    assert lenient == ["quick"]


def test_where_a_step_has_several_lines_the_first_that_fails_ends_it() -> None:
    """PowerShell, the shell of a step on Windows that names none, goes on, and tells of the last line alone."""
    wrong = [
        f"{name}: {step['name']}"
        for name in WORKFLOWS
        for job in jobs(name).values()
        if "windows-latest" in str(job.get("strategy"))
        for step in job["steps"]
        if "\n" in step.get("run", "").strip()
        and step.get("shell", job.get("defaults", {}).get("run", {}).get("shell")) != "bash"
    ]
    assert wrong == []


def test_what_launchd_is_given_is_read_under_the_name_that_it_has() -> None:
    (step,) = (step for step in jobs("test.yml")["wheel"]["steps"] if step.get("if") == "runner.os == 'macOS'")
    assert f"plutil -lint ~/Library/LaunchAgents/{LABEL}.plist" in step["run"]


def test_an_action_stands_by_its_commit_and_is_the_same_wherever_it_is_used() -> None:
    used = [line for text in WORKFLOWS.values() for line in re.findall(r"uses: (.+)$", text, re.MULTILINE)]
    # The workflow of this very commit is called by its path.
    strangers = {line for line in used if not line.startswith("./")}
    assert [line for line in strangers if not re.fullmatch(r"[\w/.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []
    assert len(strangers) == len({line.partition("@")[0] for line in strangers})


def test_no_workflow_may_write_unless_it_says_so() -> None:
    rights = {name: yaml.safe_load(text)["permissions"] for name, text in WORKFLOWS.items()}
    assert rights == {name: {"contents": "read"} for name in ("release.yml", "test.yml", "weekly.yml")}


def hook() -> ModuleType:
    name = "package_metadata"
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules.setdefault(name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("address", ["", "https://forge.example/people/claw"])
def test_an_index_accepts_the_metadata(address: str) -> None:
    """Read by the library that installers and the index use."""
    made = hook()
    core: RawMetadata = {
        "metadata_version": DEFAULT_METADATA_VERSION,
        "name": PROJECT["name"],
        "version": __version__,
        "summary": PROJECT["description"],
        "keywords": PROJECT["keywords"],
        "classifiers": PROJECT["classifiers"],
        "license_expression": PROJECT["license"],
        "requires_python": PROJECT["requires-python"],
        "requires_dist": PROJECT["dependencies"],
        "provides_extra": list(PROJECT["optional-dependencies"]),
        "project_urls": made.urls(address),
        "description_content_type": "text/markdown",
        "description": made.page((ROOT / "README.md").read_text(encoding="utf-8"), address, __version__),
    }
    assert Metadata.from_raw(core).name == "openclaw-host"
    for rows in PROJECT["optional-dependencies"].values():
        assert [Requirement(row) for row in rows]


def test_links_of_the_readme_lead_into_the_repository_of_whoever_builds() -> None:
    page = hook().page(
        "[a](docs/a.md#b) [c](https://c.example) [d](#d) [e](LICENSE)", "https://forge.example/claw", "1.2.3"
    )
    there = "https://forge.example/claw/blob/v1.2.3"
    assert page == f"[a]({there}/docs/a.md#b) [c](https://c.example) [d](#d) [e]({there}/LICENSE)"


KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


def test_the_changelog_has_versions_in_order_and_known_kinds_of_change() -> None:
    headings = re.findall(r"^(#+) (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[:2] == [("#", "Changelog"), ("##", "[Unreleased]")]
    released = [text for mark, text in headings if mark == "##"][1:]
    assert [text for text in released if not re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", text)] == []
    dates = [text[-10:] for text in released]
    assert dates == sorted(dates, reverse=True)
    assert {text for mark, text in headings if mark == "###"} <= set(KINDS)
