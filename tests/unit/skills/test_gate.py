"""Which skills are offered: one decision over plain values."""

from pathlib import Path
from typing import Any

import pytest

from openclaw.skills.gate import Facts, config_value, gate, gather_programs
from openclaw.skills.skill import Requires, Skill, Source


def skill(*, source: Source = "managed", key: str = "s", **fields: Any) -> Skill:
    return Skill("s", "d", Path("/r/s/SKILL.md"), source, Path("/r"), key=key, **fields)


ENABLED = "plugins.entries.mcp-client.enabled"


@pytest.mark.parametrize(
    ("candidate", "facts", "reason"),
    [
        (skill(), Facts("linux"), None),
        (skill(), Facts("linux", allowed=frozenset({"s"})), None),
        (skill(), Facts("linux", allowed=frozenset()), "the agent's `skills` list does not name it"),
        (skill(key="k"), Facts("linux", disabled=frozenset({"k"})), "skills.entries.k.enabled is false"),
        (skill(key="k"), Facts("linux", disabled=frozenset({"s"})), "skills.entries.k.enabled is false"),
        (skill(source="bundled"), Facts("linux", allow_bundled=frozenset()), "skills.allowBundled does not name it"),
        (skill(source="bundled"), Facts("linux", allow_bundled=frozenset({"s"})), None),
        (skill(source="managed"), Facts("linux", allow_bundled=frozenset()), None),
        (skill(os=("darwin", "win32")), Facts("linux"), "it is for darwin, win32 only"),
        (skill(os=("darwin",), always=True), Facts("linux"), "it is for darwin only"),
        (skill(os=("linux",)), Facts("linux"), None),
        (
            skill(requires=Requires(bins=("jq", "curl"))),
            Facts("linux", programs=frozenset({"jq"})),
            "it needs the program curl, which is not on PATH",
        ),
        (skill(requires=Requires(any_bins=("a", "b"))), Facts("linux"), "it needs one of the programs a, b"),
        (skill(requires=Requires(any_bins=("a", "b"))), Facts("linux", programs=frozenset({"b"})), None),
        (skill(requires=Requires(env=("T",))), Facts("linux"), "it needs the environment variable T"),
        (skill(requires=Requires(env=("T",))), Facts("linux", env=frozenset({"T"})), None),
        (skill(requires=Requires(config=("a.b",))), Facts("linux"), "it needs a.b in the config"),
        (skill(requires=Requires(config=("a.b",))), Facts("linux", config={"a": {"b": 1}}), None),
        (skill(requires=Requires(bins=("no",), env=("NO",)), always=True), Facts("linux"), None),
    ],
)
def test_a_skill_is_offered_or_kept_back_with_a_reason(candidate: Skill, facts: Facts, reason: str | None) -> None:
    assert gate(candidate, facts) == reason


@pytest.mark.parametrize(
    ("config", "value"),
    [
        ({}, True),
        ({"plugins": {"entries": {"mcp-client": {}}}}, True),
        ({"plugins": {"entries": {"mcp-client": {"enabled": None}}}}, True),
        ({"plugins": {"entries": {"mcp-client": {"enabled": False}}}}, False),
        ({"plugins": {"entries": {"mcp-client": {"enabled": True}}}}, True),
        ({"plugins": "broken"}, True),
    ],
)
def test_the_engine_is_on_unless_it_is_turned_off(config: dict[str, Any], value: bool) -> None:
    assert config_value(config, ENABLED) is value


@pytest.mark.posix_only("scripts that run by their first line")
def test_only_programs_on_the_given_path_count(tmp_path: Path) -> None:
    program = tmp_path / "our-program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "no-program").write_text("")
    asked = skill(
        requires=Requires(bins=("our-program", "no-program", "sh", str(program), "", "\0"), any_bins=("../x",))
    )

    assert gather_programs([asked], {"PATH": str(tmp_path)}) == {"our-program"}
    assert gather_programs([asked], {}) == set()
