"""Which arguments name the config or the state, in whatever words, and which do not."""

import os
from pathlib import Path
from typing import Any

import pytest

from openclaw.content import to_json
from openclaw.security.own_places import OwnPlaces
from openclaw.tool import Tool, ToolResult, parameters


async def _run(arguments: dict[str, Any], invocation: object) -> ToolResult:
    raise AssertionError("nothing is called here")


WRITE = Tool("files__write_file", "", parameters({}), _run, kind="mcp", origin="files")
NATIVE = Tool("write", "", parameters({}), _run)
EXEC = Tool("exec", "", parameters({}), _run)


class Machine:
    """A home directory with a state directory, a config beside it, and somewhere to work."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home" / "me"
        self.state = self.home / ".openclaw"
        self.config = self.home / "conf" / "claw.json5"
        self.work = self.home / "plans"
        for folder in (self.state / "py" / "workspace", self.config.parent, self.work / "src"):
            folder.mkdir(parents=True)
        (self.state / "openclaw.json").write_text("{}")
        self.config.write_text("{}")
        self.own = OwnPlaces(
            self.state,
            (self.config, self.state / "py" / "approvals.json"),
            homes=[self.home],
            bases=[self.work],
        )

    def names(self, value: Any, tool: Tool = WRITE, *, workspace: Path | None = None) -> bool:
        return self.own.named_in(tool, {"path": value}, workspace or self.work)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(Path(os.path.realpath(tmp_path)))


@pytest.mark.parametrize(
    "text",
    [
        "{state}/py/approvals.json",
        "{state}",
        "{state}/",
        "{state}/not/there/yet",
        "{home}/plans/../.openclaw/py/approvals.json",
        "{home}//./.openclaw//openclaw.json",
        "{home}/.OpenClaw/openclaw.json",
        "  '{state}/openclaw.json' ",
        "{state}/openclaw.json\0.txt",
        "~/.openclaw/py/approvals.json",
        "~/conf/claw.json5",
        "../.openclaw/openclaw.json",
        "src/../../.openclaw/openclaw.json",
        ".openclaw/openclaw.json",
        ".openclaw",
        "approvals.json",
        "home/me/.openclaw/x",
        "file://{state}/py/approvals.json",
        pytest.param(
            "file://localhost{state}/py/approvals.json", marks=pytest.mark.posix_only("paths without a drive")
        ),
        "file://localhost/{state}/py/approvals.json",
        "FILE:{state}/py/approvals.json",
        "file://{home}/%2eopenclaw/openclaw.json?x#y",
        "file://~/.openclaw/openclaw.json",
        "{home}/%2Eopenclaw/openclaw.json",
        pytest.param("/proc/self/root{state}/openclaw.json", marks=pytest.mark.linux_only("/proc")),
    ],
)
def test_a_path_to_the_state_or_the_config_is_found_in_every_form(machine: Machine, text: str) -> None:
    text = text.replace("{state}", str(machine.state)).replace("{home}", str(machine.home))
    assert machine.names(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "state",
        "claw",
        "a/b",
        "{home}/plans/notes.md",
        "~/plans/notes.md",
        "~",
        "{home}",
        "openclaw/x",
        "{home}/.openclawed/x",
        "https://example.org/.openclaw/x",
        "See {state}/openclaw.json for more.",
        "half a pair \ud800/ of surrogates",
        "x/" * 10_000,
    ],
)
def test_other_texts_name_nothing_of_ours(machine: Machine, text: str) -> None:
    assert not machine.names(text.replace("{state}", str(machine.state)).replace("{home}", str(machine.home)))


@pytest.mark.posix_only("symbolic links")
def test_links_lead_where_they_lead(machine: Machine) -> None:
    (machine.work / "innocent").symlink_to(machine.state)
    (machine.work / "src" / "note.txt").symlink_to(machine.config)
    (machine.work / "elsewhere").symlink_to(machine.work / "src")
    assert machine.names(f"{machine.work}/innocent/py/approvals.json")
    assert machine.names("innocent/py/approvals.json")
    assert machine.names("src/note.txt")
    assert machine.names("src/note.txt", NATIVE)
    assert not machine.names("elsewhere/note.md")


@pytest.mark.posix_only("symbolic links")
def test_a_config_that_is_a_link_is_ours_at_both_ends(machine: Machine) -> None:
    kept = machine.home / "dotfiles.json5"
    machine.config.rename(kept)
    machine.config.symlink_to(kept)
    own = OwnPlaces(machine.state, [machine.config], homes=[machine.home])
    for path in (kept, machine.config):
        assert own.named_in(WRITE, {"path": str(path)}, machine.work)


def test_another_name_of_the_same_file_is_found(machine: Machine) -> None:
    os.link(machine.config, machine.work / "copy.json5")
    assert machine.names(f"{machine.work}/copy.json5")


def test_arguments_are_looked_through_at_every_depth(machine: Machine) -> None:
    path = f"{machine.state}/openclaw.json"
    values: tuple[Any, ...] = (
        [path],
        {"file": {"name": ["a", path]}},
        {path: "the text"},
        [{"edits": [{path: {}}]}],
        to_json({"path": path}).decode(),
        to_json([{"path": path}]).decode(),
    )
    for value in values:
        assert machine.names(value)
    assert machine.names([f"a/{number}" for number in range(2_000)])


def test_a_workspace_inside_the_state_is_worked_in_and_the_rest_is_not(machine: Machine) -> None:
    inside = machine.state / "py" / "workspace"
    assert not machine.names(f"{inside}/notes.md", workspace=inside)
    assert not machine.names("notes/today.md", NATIVE, workspace=inside)
    assert machine.names(f"{inside}/../approvals.json", workspace=inside)
    assert machine.names("../approvals.json", NATIVE, workspace=inside)
    # Who works in the middle of it has not been given its rules.
    assert machine.names(str(machine.state / "py" / "approvals.json"), workspace=machine.state / "py")
    assert machine.names(str(machine.state / "openclaw.json"), workspace=machine.state)


def test_every_word_of_a_command_line_counts(machine: Machine) -> None:
    def names(*command: str, **more: Any) -> bool:
        return machine.own.named_in(EXEC, {"command": list(command), **more}, machine.work)

    assert names("rm", "-rf", f"{machine.state}")
    assert names("cp", "x", f"--target={machine.state}/py/approvals.json")
    assert names('echo "{}" >$HOME/.openclaw/py/approvals.json', shell=True)
    assert names("cat x>~/.openclaw/openclaw.json", shell=True)
    assert names("touch", "openclaw.json", cwd=f"{machine.state}")
    assert names("touch", "../.openclaw/openclaw.json")
    assert not names("git", "commit", "-m", "about the state/config")
    assert not names("ls", "-l", cwd=f"{machine.work}")


def test_a_folder_between_home_and_the_state_is_as_good_as_the_state(tmp_path: Path) -> None:
    home = Path(os.path.realpath(tmp_path))
    own = OwnPlaces(home / ".config" / "openclaw", homes=[home])
    assert own.named_in(WRITE, {"source": str(home / ".config"), "destination": str(home / "x")}, None)
    assert not own.named_in(WRITE, {"source": str(home / ".config" / "other")}, None)


def test_a_server_that_stands_in_the_state_directory_names_it_by_what_is_there(machine: Machine) -> None:
    own = OwnPlaces(machine.state, homes=[machine.home], bases=[machine.state])
    assert own.named_in(WRITE, {"path": "py"}, machine.work)
    assert not own.named_in(WRITE, {"text": "hello"}, machine.work)


def test_without_places_nothing_is_looked_for() -> None:
    assert not OwnPlaces().named_in(WRITE, {"path": "/etc/passwd"}, None)
