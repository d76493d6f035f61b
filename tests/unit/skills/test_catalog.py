"""From directories to what an agent has: discovery, precedence, containment, bounds, prompt and commands."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.security.external import clean_label
from openclaw.skills.catalog import SkillRules, Skills, load_skills
from openclaw.skills.command import SkillCommand, assign_commands, command_name, instructions
from openclaw.skills.discover import BUNDLED, Limits, SkillRoot, skill_roots
from openclaw.skills.frontmatter import parse, split
from openclaw.skills.prompt import skills_prompt
from openclaw.skills.skill import Skill, SkillFault, Skipped


def write(directory: Path, description: str = "Does it.", **front: str) -> Path:
    """A SKILL.md in `directory`, which is made; its path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "SKILL.md"
    lines = [f"{key.replace('_', '-')}: {value}" for key, value in {"description": description, **front}.items()]
    path.write_text("\n".join(["---", *lines, "---", "Go to {baseDir}/x."]), encoding="utf-8")
    return path


def load(roots: Sequence[SkillRoot], rules: SkillRules | None = None, **options: Any) -> Skills:
    return load_skills(roots, rules or SkillRules(), **{"config": {}, "env": {}, "platform": "linux"} | options)


def names(catalog: Skills) -> list[str]:
    return [skill.name for skill in catalog.skills]


def home_roots(home: Path, extra: Sequence[Path] = ()) -> tuple[SkillRoot, ...]:
    return skill_roots(workspace=home / "work", home=home, state_dir=home / ".openclaw", agent="main", extra_dirs=extra)


@pytest.mark.requirement("000-2-skill")
@pytest.mark.requirement("000-8-by-name")
@pytest.mark.requirement("000-8-raw")
def test_the_bundled_skill_gives_the_mcp_command_to_its_tool() -> None:
    catalog = load(home_roots(Path("/nowhere")), reserved={"help", "new", "tools", "status"})

    (skill,) = catalog.skills
    assert catalog.commands == {"mcp": SkillCommand("mcp", skill, "mcp_manage")}
    assert catalog.commands["mcp"].arguments("connect  https://x --name 'y z'") == {
        "command": "connect  https://x --name 'y z'",
        "commandName": "mcp",
        "skillName": "mcp",
    }
    assert "<name>mcp</name>" in catalog.prompt


@pytest.mark.requirement("000-7.1-front-matter")
def test_the_bundled_skill_says_of_itself_what_its_document_asks() -> None:
    """Seed 000 §7.1."""
    front, _ = split((BUNDLED / "mcp" / "SKILL.md").read_text(encoding="utf-8"))

    assert parse(front) == {
        "name": "mcp",
        "description": "Manage and interact with remote MCP (Model Context Protocol) servers. List servers, check status,"
        " connect new servers, and trigger authentication.\n",
        "user-invocable": "true",
        "command-dispatch": "tool",
        "command-tool": "mcp_manage",
        "command-arg-mode": "raw",
        "metadata": {"openclaw": {"requires": {"config": ["plugins.entries.mcp-client.enabled"]}, "emoji": "🔌"}},
    }


def test_without_a_skill_file_yaml_is_not_loaded(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from openclaw.skills.catalog import SkillRules, load_skills\n"
        "from openclaw.skills.discover import SkillRoot\n"
        "load_skills([SkillRoot(Path(sys.argv[1]), 'managed')], SkillRules(), config={}, env={}, platform='linux')\n"
        "print('yaml' in sys.modules)\n"
    )
    assert subprocess.check_output([sys.executable, "-c", script, str(tmp_path)]).split() == [b"False"]


@pytest.mark.requirement("000-7.2-gate")
def test_the_bundled_skill_goes_with_the_plugin_switch() -> None:
    config = {"plugins": {"entries": {"mcp-client": {"enabled": False}}}}

    catalog = load(home_roots(Path("/nowhere")), config=config)

    assert (catalog.skills, catalog.commands, catalog.prompt) == ((), {}, "")
    assert [s.reason for s in catalog.skipped] == ["it needs plugins.entries.mcp-client.enabled in the config"]


def test_skills_are_found_in_every_root_and_the_first_of_a_name_wins(tmp_path: Path) -> None:
    places = {
        "personal": tmp_path / ".agents" / "skills",
        "managed": tmp_path / ".openclaw" / "skills",
        "workshop": tmp_path / ".openclaw" / "agents" / "main" / "agent" / "workshop-skills",
        "extra": tmp_path / "extra",
        "workspace": tmp_path / "work" / "skills",
        "agents": tmp_path / "work" / ".agents" / "skills",
    }
    for source, place in places.items():
        write(place / source)
        write(place / "shared", f"From {source}.")

    catalog = load(home_roots(tmp_path, [places["extra"]]))

    assert {s.name: s.source for s in catalog.skills} == {
        "personal": "personal",
        "shared": "personal",
        "managed": "managed",
        "workshop": "workshop",
        "mcp": "bundled",
        "extra": "extra",
        "workspace": "workspace",
        "agents": "workspace",
    }
    winner = places["personal"] / "shared" / "SKILL.md"
    assert [s.reason for s in catalog.skipped] == [f"{winner} has the same name and comes first"] * 5


def test_personal_skills_belong_to_the_usual_state_directory_only(tmp_path: Path) -> None:
    write(tmp_path / ".agents" / "skills" / "mine")

    catalog = load(skill_roots(workspace=None, home=tmp_path, state_dir=tmp_path / "other", agent="main"))

    assert names(catalog) == ["mcp"]


@pytest.mark.parametrize("name", ["mcp", "MCP", "Mcp"])
def test_a_workspace_skill_cannot_take_the_place_of_an_installed_one(tmp_path: Path, name: str) -> None:
    write(tmp_path / "work" / "skills" / "x", name=name, command_dispatch="tool", command_tool="exec")

    catalog = load(home_roots(tmp_path))

    assert {n: c.tool for n, c in catalog.commands.items()} == {"mcp": "mcp_manage"}
    assert [s.source for s in catalog.skills] == ["bundled"]


def test_a_workspace_skill_of_a_similar_name_gets_another_command_and_no_tool(tmp_path: Path) -> None:
    write(tmp_path / "work" / "skills" / "x", name="mcp!", command_dispatch="tool", command_tool="exec")

    catalog = load(home_roots(tmp_path))

    assert {n: (c.skill.source, c.tool) for n, c in catalog.commands.items()} == {
        "mcp": ("bundled", "mcp_manage"),
        "mcp_2": ("workspace", ""),
    }


def test_nested_skills_are_found_down_to_six_levels_and_not_below_a_hit(tmp_path: Path) -> None:
    write(tmp_path / "1/2/3/4/5/six")
    write(tmp_path / "1/2/3/4/5/6/seven")
    write(tmp_path / "hit")
    write(tmp_path / "hit" / "below")
    write(tmp_path / ".git" / "hidden")
    write(tmp_path / "node_modules" / "package")

    assert names(load([SkillRoot(tmp_path, "managed")])) == ["six", "hit"]


def test_a_configured_directory_is_searched_two_levels_deep_and_may_be_a_skill_itself(tmp_path: Path) -> None:
    write(tmp_path / "a/two")
    write(tmp_path / "a/b/three")
    write(tmp_path / "alone")

    roots = home_roots(Path("/nowhere"), [tmp_path, tmp_path / "alone"])
    assert names(load(roots)) == ["mcp", "two", "alone"]


@pytest.mark.posix_only("symbolic links")
def test_links_do_not_lead_out_of_a_root(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside" / "secret")
    root = tmp_path / "root"
    write(root / "inside")
    (root / "linked").symlink_to(outside.parent, target_is_directory=True)
    (root / "file").mkdir()
    (root / "file" / "SKILL.md").symlink_to(outside)
    (root / "loop").symlink_to(root, target_is_directory=True)
    (root / "dangling").symlink_to(root / "nothing")
    (root / "twin").symlink_to(root / "inside", target_is_directory=True)

    catalog = load([SkillRoot(root, "managed")])

    assert names(catalog) == ["inside"]
    assert [(s.name, s.reason) for s in catalog.skipped] == [("file", "it is a link that leads out of its directory")]


@pytest.mark.posix_only("symbolic links")
def test_a_workspace_root_that_is_a_link_out_of_the_workspace_is_not_searched(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "secret")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "skills").symlink_to(tmp_path / "elsewhere", target_is_directory=True)

    catalog = load(home_roots(tmp_path))

    assert names(catalog) == ["mcp"]
    assert [s.reason for s in catalog.skipped] == ["it is a link that leads out of the workspace"]


@pytest.mark.posix_only("named pipes")
def test_malformed_files_are_passed_over_with_their_reasons(tmp_path: Path) -> None:
    write(tmp_path / "good")
    for name, data in {"binary": b"---\n\xff\n---\n", "big": b"---\n" + b"x" * 300_000, "bare": b"# Hi"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_bytes(data)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "SKILL.md")
    (tmp_path / "folder" / "SKILL.md").mkdir(parents=True)

    catalog = load([SkillRoot(tmp_path, "managed")])

    assert names(catalog) == ["good"]
    assert catalog.skipped == tuple(
        Skipped(name, tmp_path / name / "SKILL.md", reason, malformed=True)
        for name, reason in [
            ("bare", "it does not begin with front matter between two --- lines"),
            ("big", "it is larger than 256,000 bytes"),
            ("binary", "it is not UTF-8 text"),
            ("folder", "it cannot be read: Is a directory"),
            ("pipe", "it is not a regular file"),
        ]
    )


def test_one_root_cannot_hold_more_than_its_bound(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path / f"s{number}")

    catalog = load([SkillRoot(tmp_path, "managed")], SkillRules(limits=Limits(skills_per_source=3)))

    assert names(catalog) == ["s0", "s1", "s2"]
    assert [s.reason for s in catalog.skipped] == ["it holds more than 3 skills; the rest were not looked at"]


def test_an_agents_list_replaces_and_an_empty_one_means_none(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / name)

    assert names(load([SkillRoot(tmp_path, "managed")], SkillRules(allowed=["b"]))) == ["b"]
    assert names(load([SkillRoot(tmp_path, "managed")], SkillRules(allowed=[]))) == []
    assert names(load([SkillRoot(tmp_path, "managed")], SkillRules(disabled={"b"}))) == ["a"]


def test_the_prompt_lists_what_a_model_may_use(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "Tells <b> & 'c'")
    write(tmp_path / "b", disable_model_invocation="true")

    catalog = load([SkillRoot(tmp_path, "managed")])

    listing = catalog.prompt[catalog.prompt.index("<available_skills>") :]
    assert listing == (
        "<available_skills>\n"
        "  <skill>\n"
        "    <name>a</name>\n"
        "    <description>Tells &lt;b&gt; &amp; &#x27;c&#x27;</description>\n"
        f"    <location>{path}</location>\n"
        "  </skill>\n"
        "</available_skills>"
    )
    assert sorted(catalog.commands) == ["a", "b"]


def test_a_skill_the_user_may_not_invoke_has_no_command(tmp_path: Path) -> None:
    write(tmp_path / "a", user_invocable="false")

    catalog = load([SkillRoot(tmp_path, "managed")])

    assert (names(catalog), catalog.commands) == (["a"], {})


def test_a_skill_is_found_by_its_name_and_by_its_command(tmp_path: Path) -> None:
    write(tmp_path / "a", name="My Skill")

    catalog = load([SkillRoot(tmp_path, "managed")], reserved={"my_skill"})

    assert list(catalog.commands) == ["my_skill_2"]
    assert catalog.find("my skill") == catalog.find("MY_SKILL_2") == catalog.commands["my_skill_2"]
    assert catalog.find("other") is None


def test_what_a_skill_calls_itself_does_not_take_the_command_of_another(tmp_path: Path) -> None:
    write(tmp_path / "installed" / "a", name="Deploy!")
    write(tmp_path / "work" / "b", name="deploy")

    catalog = load([SkillRoot(tmp_path / "installed", "managed"), SkillRoot(tmp_path / "work", "workspace")])

    found = catalog.find("deploy")
    assert found is not None
    assert found.skill.name == "Deploy!"


@pytest.mark.posix_only("paths as POSIX writes them")
def test_a_command_without_a_tool_puts_the_instructions_before_the_model(tmp_path: Path) -> None:
    write(tmp_path / "a")

    command = load([SkillRoot(tmp_path, "managed")]).commands["a"]

    assert command.message("now, please") == (
        f"Follow the skill 'a' ({tmp_path}/a/SKILL.md). Request: now, please\n\nGo to {tmp_path}/a/x."
    )
    assert "No further words were given." in command.message(" ")


def test_a_skill_whose_file_has_gone_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "a")
    (skill,) = load([SkillRoot(tmp_path, "managed")]).skills
    path.unlink()

    with pytest.raises(SkillFault):
        instructions(skill)


def some_skill(name: str, description: str = "d") -> Skill:
    return Skill(name, description, Path("/r/<&>/SKILL.md"), "managed", Path("/r"), key=name)


words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), min_size=1, max_size=40)


@given(st.lists(words, max_size=30), st.sets(words.map(command_name), max_size=5))
def test_every_command_name_is_typeable_and_taken_once(skills: list[str], reserved: set[str]) -> None:
    commands = assign_commands([some_skill(name) for name in skills], reserved)

    assert [c.skill.name for c in commands.values()] == skills
    assert all(re.fullmatch("[a-z0-9_]{1,32}", name) for name in commands)
    assert not reserved & set(commands)


@given(st.lists(st.tuples(words, words), max_size=20), st.integers(0, 4_000), st.integers(0, 10))
def test_the_prompt_stays_within_its_bounds_and_says_what_it_left_out(
    skills: list[tuple[str, str]], chars: int, most: int
) -> None:
    limits = Limits(prompt_chars=chars, prompt_skills=most)

    prompt = skills_prompt([some_skill(name, text) for name, text in skills], limits)

    assert len(prompt) <= chars
    if prompt:
        start, end = prompt.index("<available_skills>"), prompt.index("</available_skills>")
        listed = ElementTree.fromstring(prompt[start : end + len("</available_skills>")])
        found = [(s.findtext("name"), s.findtext("description")) for s in listed]
        shown = [tuple(clean_label(word, 10_000) for word in pair) for pair in skills[: len(found)]]
        assert [tuple(word or "" for word in pair) for pair in found] == shown
        left_out = len(skills) - len(found)
        assert (f"({left_out} more skills did not fit here.)" in prompt) == (left_out > 0)
