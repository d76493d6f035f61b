"""`grep`: the search itself, and the process around it that a bad pattern cannot hold up."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.content import Framed, Text
from openclaw.errors import PathError
from openclaw.tools.confine import Fence
from openclaw.tools.grep import FILE_BYTES, MATCHES, grep
from openclaw.tools.search import SHOWN, glob_pattern, search


async def lines(workspace: Path, fence: Fence | None = None, **arguments: Any) -> list[str]:
    result = await grep(fence or Fence(), workspace, arguments)
    [block] = result.content
    assert isinstance(block, Text)
    return block.text.splitlines()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in {
        "a.py": "import os\nprint('Hello')\n",
        "src/b.py": "# hello there\n",
        "src/deep/c.ts": "say('hello')\n",
        ".git/config": "hello from git\n",
        "node_modules/x/index.js": "hello from a package\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "binary").write_bytes(b"hello\0hello")
    return tmp_path


@pytest.mark.posix_only("the file tools")
async def test_matches_come_in_the_order_of_names_with_their_lines(tree: Path) -> None:
    assert await lines(tree, pattern="[Hh]ello") == [
        "a.py:2: print('Hello')",
        "src/b.py:1: # hello there",
        "src/deep/c.ts:1: say('hello')",
    ]


@pytest.mark.posix_only("the file tools")
async def test_case_can_be_ignored(tree: Path) -> None:
    assert len(await lines(tree, pattern="HELLO", ignore_case=True)) == 3
    assert await lines(tree, pattern="HELLO") == ["No matches in 4 files."]


@pytest.mark.posix_only("the file tools")
@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("*.py", ["a.py", "src/b.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**/*.ts", ["src/deep/c.ts"]),
        ("**/*.{py,ts}", ["a.py", "src/b.py", "src/deep/c.ts"]),
        ("[!a]*.py", ["src/b.py"]),
        ("?.ts", ["src/deep/c.ts"]),
        ("nothing", []),
    ],
)
async def test_a_glob_narrows_the_search(tree: Path, glob: str, found: list[str]) -> None:
    shown = await lines(tree, pattern="ello", glob=glob)

    assert [line.partition(":")[0] for line in shown if ":" in line] == found


@pytest.mark.posix_only("the file tools")
async def test_a_path_may_be_a_folder_or_a_file_also_one_that_is_usually_skipped(tree: Path) -> None:
    assert await lines(tree, pattern="hello", path="src/deep") == ["src/deep/c.ts:1: say('hello')"]
    assert await lines(tree, pattern="hello", path="src/b.py") == ["src/b.py:1: # hello there"]
    assert await lines(tree, pattern="hello", path=".git") == [".git/config:1: hello from git"]


@pytest.mark.posix_only("the file tools")
async def test_a_pattern_that_never_ends_costs_a_process_and_not_this_one(tree: Path) -> None:
    (tree / "trap.txt").write_text("a" * 40 + "b\n")

    with pytest.raises(PathError) as caught:
        await grep(Fence(), tree, {"pattern": "(a+)+$"}, deadline=0.5)

    assert caught.value.message == "The search did not finish within 0.5 seconds: the pattern takes too long."


@pytest.mark.posix_only("the file tools")
@pytest.mark.parametrize("pattern", ["(", "[", "*", "(?P<a>x)(?P<a>y)"])
async def test_what_is_no_pattern_is_explained(tree: Path, pattern: str) -> None:
    with pytest.raises(PathError, match=r"^The pattern is not a regular expression: "):
        await lines(tree, pattern=pattern)


@pytest.mark.posix_only("the file tools")
async def test_a_path_outside_is_refused(tree: Path) -> None:
    for path in ("..", "/etc", "/etc/passwd"):
        with pytest.raises(PathError, match="outside the workspace"):
            await lines(tree, pattern="root", path=path)


@pytest.mark.posix_only("the file tools")
async def test_links_are_not_followed_and_pipes_do_not_block(
    tree: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("hello secret")
    (tree / "folder").symlink_to(outside, target_is_directory=True)
    (tree / "file").symlink_to(outside / "secret.txt")
    os.mkfifo(tree / "pipe")

    assert await lines(tree, pattern="secret") == ["No matches in 4 files."]


@pytest.mark.posix_only("the file tools")
async def test_the_state_directory_is_left_out(tree: Path) -> None:
    state = tree / ".openclaw"
    state.mkdir()
    (state / "openclaw.json").write_text("hello token")
    config = tree / "other.json"
    config.write_text("hello token")

    assert await lines(tree, Fence(refused=(state, config)), pattern="token") == ["No matches in 4 files."]


@pytest.mark.posix_only("the file tools")
async def test_kept_results_are_searched_and_framed(tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    (results / "r.json").write_text("needle")
    workspace = tmp_path / "workspace"
    workspace.mkdir()

    result = await grep(Fence(kept=(results,)), workspace, {"pattern": "needle", "path": str(results)})

    [block] = result.content
    assert isinstance(block, Text)
    assert isinstance(block.text, Framed)
    assert f"{results}/r.json:1: needle" in block.text


@pytest.mark.posix_only("the file tools")
async def test_too_many_matches_are_cut(tree: Path) -> None:
    (tree / "many.txt").write_text("needle\n" * (MATCHES + 50))

    shown = await lines(tree, pattern="needle")

    assert (len(shown), shown[-1]) == (MATCHES + 1, f"[Stopped after {MATCHES} matches. Narrow the search.]")


@pytest.mark.posix_only("the file tools")
async def test_a_long_line_is_shown_around_its_match(tree: Path) -> None:
    (tree / "long.txt").write_text("x" * 5_000 + "needle" + "y" * 5_000)

    [line] = await lines(tree, pattern="needle")

    assert line == f"long.txt:1: …{'x' * 100}needle{'y' * (SHOWN - 106)}…"


@pytest.mark.posix_only("the file tools")
async def test_a_huge_file_is_left_out_and_mentioned(tree: Path) -> None:
    (tree / "huge.log").touch()
    os.truncate(tree / "huge.log", FILE_BYTES + 1)

    assert await lines(tree, pattern="nowhere") == [
        "No matches in 5 files.",
        "[1 files larger than 10 MB were not searched.]",
    ]


@pytest.mark.posix_only("the file tools")
async def test_names_and_lines_cannot_forge_output(tree: Path) -> None:
    (tree / "evil\nname").write_text("needle \x1b[31mred\n")
    (tree / os.fsdecode(b"caf\xe9")).write_text("needle\n")

    assert await lines(tree, pattern="needle") == ["caf\\udce9:1: needle", "evil\\nname:1: needle red"]


@pytest.mark.posix_only("the file tools")
async def test_nothing_in_the_workspace_changes_what_the_search_imports(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "json.py").write_text("raise SystemExit('imported from the workspace')")
    monkeypatch.chdir(tree)
    monkeypatch.setenv("PYTHONPATH", str(tree))

    assert await lines(tree, pattern="workspace", glob="*.py") == [
        "json.py:1: raise SystemExit('imported from the workspace')"
    ]


@pytest.mark.posix_only("the file tools")
async def test_folders_without_end_do_not_stop_the_search(tree: Path) -> None:
    here = tree / "deep"
    for _ in range(300):
        here.mkdir()
        here = here / "d"
    (tree / "zz.txt").write_text("needle")

    assert await lines(tree, pattern="needle") == ["zz.txt:1: needle"]


@pytest.mark.posix_only("the file tools")
def test_the_search_stops_at_its_own_limits(tree: Path) -> None:
    asked = {
        "root": str(tree),
        "parts": [],
        "refused": [],
        "pattern": "hello",
        "glob": "",
        "ignore_case": True,
        "seconds": 60,
        "max_files": 1,
        "max_matches": 10,
        "max_bytes": 1_000,
    }

    assert search(asked) == {
        "matches": [["a.py", 2, "print('Hello')"]],
        "files": 1,
        "large": 0,
        "stopped": "files",
        "single": False,
    }
    assert search({**asked, "seconds": -1})["stopped"] == "time"


@settings(max_examples=200)
@given(st.text(alphabet="ab*?[]{}!,^-/.\\", max_size=12))
def test_any_glob_is_a_pattern_or_a_clear_error(glob: str) -> None:
    try:
        pattern = glob_pattern(glob)
    except re.error:
        assert "[" in glob
        return
    if not set(glob) & set("*?[{"):
        assert pattern.fullmatch(glob)
        assert not pattern.fullmatch(glob + "x")
