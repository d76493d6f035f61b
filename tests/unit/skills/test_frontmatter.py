"""Front matter: YAML, the line by line fallback, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.skills.frontmatter import MAX_FRONT_MATTER, is_same, parse, split
from openclaw.skills.skill import Requires, Skill, SkillFault, Source, read_skill

PATH = Path("/skills/weather/SKILL.md")
ROOT = Path("/skills")


def skill(front: str, source: Source = "managed") -> Skill:
    return read_skill(parse(front), PATH, source, ROOT)


def fault(front: str) -> str:
    with pytest.raises(SkillFault) as caught:
        skill(front)
    return str(caught.value)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_front_matter_and_body_are_told_apart(end: str) -> None:
    text = end.join(["---", "name: a", "description: b", "---", "Body", "---", "more"])

    assert split(text) == (f"name: a{end}description: b", f"Body{end}---{end}more")


def test_a_byte_order_mark_and_an_empty_block_are_read() -> None:
    assert split("\ufeff---\n---\nBody") == ("", "Body")


@pytest.mark.parametrize(
    "text", ["", "# Title", "--\nname: a\n--", "---\nname: a", " ---\nname: a\n---\n", "----\na\n----\n"]
)
def test_a_file_without_front_matter_is_no_skill(text: str) -> None:
    with pytest.raises(SkillFault, match="does not begin with front matter"):
        split(text)


def test_front_matter_that_is_far_too_long_is_not_read() -> None:
    with pytest.raises(SkillFault, match="longer than 16,384 characters"):
        split(f"---\nname: {'a' * MAX_FRONT_MATTER}\n---\n")


def test_every_field_that_means_something_here_is_read() -> None:
    front = """
name: weather
description: >
  Tells the weather,
  today and tomorrow.
homepage: https://weather.example
user-invocable: false
disable-model-invocation: true
command-dispatch: tool
command-tool: weather_lookup
command-arg-mode: raw
metadata:
  openclaw:
    always: true
    emoji: ☀
    skillKey: wx
    os: [linux, darwin]
    requires:
      bins: [curl, jq]
      anyBins: [wget]
      env: [WX_TOKEN]
      config: [tools.weather]
"""
    assert skill(front) == Skill(
        name="weather",
        description="Tells the weather, today and tomorrow.",
        path=PATH,
        source="managed",
        root=ROOT,
        key="wx",
        user_invocable=False,
        model_invocable=False,
        command_tool="weather_lookup",
        always=True,
        os=("linux", "darwin"),
        requires=Requires(("curl", "jq"), ("wget",), ("WX_TOKEN",), ("tools.weather",)),
    )


def test_a_skill_needs_only_a_description_and_is_called_like_its_directory() -> None:
    assert skill("description: Tells it.") == Skill("weather", "Tells it.", PATH, "managed", ROOT, key="weather")


@pytest.mark.parametrize(
    "metadata",
    [
        '{"openclaw": {"requires": {"bins": ["jq"]}}}',
        "{openclaw: {requires: {bins: ['jq']}}}",
        "'{openclaw:{requires:{bins:[\"jq\",],}}} // by hand'",
        "{clawdbot: {requires: {bins: jq}}}",
    ],
)
def test_metadata_is_a_map_or_the_text_of_one(metadata: str) -> None:
    assert skill(f"description: d\nmetadata: {metadata}").requires == Requires(bins=("jq",))


def test_words_that_yaml_would_take_for_something_else_stay_words() -> None:
    found = skill("name: 1.10\ndescription: 2026-99-99\n")

    assert (found.name, found.description) == ("1.10", "2026-99-99")


def test_front_matter_that_is_not_yaml_is_read_line_by_line() -> None:
    front = (
        "name: 'weather'\n"
        "description: Use it when: the sky [is dark\n"
        "user-invocable: no\n"
        'metadata: {"openclaw": {"skillKey": "x"}}\n'
        "  indented: ignored\n"
    )
    found = skill(front)

    assert (found.name, found.description, found.user_invocable, found.key) == (
        "weather",
        "Use it when: the sky [is dark",
        False,
        "x",
    )


def test_control_and_invisible_characters_become_visible() -> None:
    assert skill('description: "a\\e[31mb\\u202ec\\nd"').description == "ab\\u202ec d"


def test_a_long_description_is_cut() -> None:
    found = skill(f"description: {'a' * 2_000}")

    assert (len(found.description), found.description[-2:]) == (1_024, "a…")


@pytest.mark.parametrize(
    ("front", "reason"),
    [
        ("name: a", "it has no description"),
        (f"name: {'a' * 65}\ndescription: d", "its name is longer than 64 characters"),
        ("- a\n- b", "its front matter is not a map"),
        ("[", "its front matter is not YAML (expected the node content, but found '<stream end>', line 2)"),
        ("[" * 10_000, "its front matter is not YAML (nested too deep)"),
        ("description: d\nname: [a]", "name is not text"),
        ("description: d\nuser-invocable: maybe", "user-invocable is neither true nor false"),
        ("description: d\nmetadata: '{a'", "metadata is neither a map nor JSON5"),
        ("description: d\nmetadata: [a]", "metadata is neither a map nor JSON5"),
        ("description: d\nmetadata: {openclaw: [a]}", "metadata.openclaw is not a map"),
        ("description: d\nmetadata: {openclaw: {requires: x}}", "metadata.openclaw.requires is not a map"),
        ("description: d\nmetadata: {openclaw: {os: [[x]]}}", "os is not a list of names"),
        ("description: d\ncommand-dispatch: shell", "command-dispatch is 'shell'; only 'tool' is known"),
        ("description: d\ncommand-dispatch: tool", "command-dispatch is 'tool' and command-tool is missing"),
        (
            "description: d\ncommand-dispatch: tool\ncommand-tool: t\ncommand-arg-mode: json",
            "command-arg-mode is 'json'; only 'raw' is known",
        ),
    ],
)
def test_malformed_front_matter_is_refused_with_its_reason(front: str, reason: str) -> None:
    assert fault(front) == reason


def test_aliases_that_would_multiply_stay_small() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 8)}]\n" for n in range(20)
    )

    assert skill(f"{bomb}description: d").description == "d"


def test_a_skill_of_the_workspace_never_names_a_tool_and_says_so() -> None:
    found = skill("description: d\ncommand-dispatch: tool\ncommand-tool: exec", "workspace")

    assert found.command_tool == ""
    assert found.note.startswith("command-dispatch is ignored in a workspace")


yaml_like = st.text(st.sampled_from("abn: -[]{}'\"\n#&*!|>%@`?,~\\\x00é😀"), max_size=80)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=80), yaml_like, yaml_like.map(lambda t: f"---\ndescription: x\n{t}\n---\nbody")))
def test_any_text_gives_a_skill_or_a_reason(text: str) -> None:
    found: Any
    try:
        found = read_skill(parse(split(text)[0]), PATH, "managed", ROOT)
    except SkillFault as fault:
        found = str(fault)
    assert isinstance(found, Skill) or found


@pytest.mark.parametrize(
    ("front", "listed", "same"),
    [
        ("name: a\ndescription: b", {"name": "a", "description": "b"}, True),
        ("name: a", {"name": "b"}, False),
        ("name: a\nlicense: MIT", {"name": "a"}, False),
        ("name: a", {"name": "a", "license": "MIT"}, False),
        ("on: true\noff: no\nn: 1.50\nm: 12\nx:", {"on": True, "off": False, "n": 1.5, "m": 12, "x": None}, True),
        ("on: false", {"on": True}, False),
        ("n: 1", {"n": True}, False),
        ("n: 2", {"n": 1}, False),
        ("n: 1_000", {"n": 1000}, True),
        ("v: '1.10'", {"v": "1.10"}, True),
        (
            "tags: [a, b]\nmetadata: {k: {d: 2024-01-01}}",
            {"tags": ["a", "b"], "metadata": {"k": {"d": "2024-01-01"}}},
            True,
        ),
        ("tags: [a, b]", {"tags": ["b", "a"]}, False),
        ("tags: [a]", {"tags": "a"}, False),
        ("d: >\n  two\n  lines\n", {"d": "two lines\n"}, True),
        ("a: &a [*a]", {"a": [[[[]]]]}, False),
    ],
)
def test_front_matter_is_compared_field_by_field_with_what_somebody_read_of_it(
    front: str, listed: dict[str, object], same: bool
) -> None:
    assert is_same(parse(front), listed) is same
