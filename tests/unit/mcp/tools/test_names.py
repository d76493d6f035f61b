"""Tool names: both forms, the characters and length models accept, and who yields on a collision."""

import re
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw.config.servers import Section, ServersOptions, ServerSpec
from openclaw.mcp.tools.names import Claims, Form, base_name, form_for, may_be_of, typed_name


@pytest.mark.requirement("000-6.5-names")
@pytest.mark.requirement("001-FR-2-names")
@pytest.mark.parametrize(
    ("section", "tool_names", "form"),
    [
        ("mcp", "by-section", "prefix__tool"),
        ("plugin", "by-section", "prefix__tool"),
        ("agents", "by-section", "mcp_prefix_tool"),
        ("agents", "prefix__tool", "prefix__tool"),
        ("mcp", "mcp_prefix_tool", "mcp_prefix_tool"),
    ],
)
def test_the_section_decides_the_form_unless_one_is_forced(
    section: Section, tool_names: Literal["by-section"] | Form, form: Form
) -> None:
    assert form_for(ServerSpec("s", section=section), ServersOptions(tool_names=tool_names)) == form


@pytest.mark.requirement("002-7-bridge")
@pytest.mark.requirement("000-6.5-names")
@pytest.mark.requirement("001-8-naming")
@pytest.mark.requirement("001-FR-2-names")
@pytest.mark.parametrize(
    ("form", "prefix", "tool", "name"),
    [
        ("prefix__tool", "tavily", "search", "tavily__search"),
        ("mcp_prefix_tool", "linkedin", "get_feed", "mcp_linkedin_get_feed"),
        ("prefix__tool", "github-mcp", "repos/list.all", "github-mcp__repos-list-all"),
        ("prefix__tool", "Überserver", "naïve tool", "-berserver__na-ve-tool"),
        ("prefix__tool", "p" * 40, "read_everything_there_is_to_read", "p" * 30 + "__read_everything_there_is_to_read"),
        ("prefix__tool", "s", "t" * 100, "s__" + "t" * 19 + "-10e5-" + "t" * 36),
    ],
)
def test_names_have_safe_characters_and_a_bounded_length(form: Form, prefix: str, tool: str, name: str) -> None:
    assert base_name(form, prefix, tool) == name


@pytest.mark.parametrize("form", ["prefix__tool", "mcp_prefix_tool"])
def test_a_name_that_is_cut_keeps_the_end_by_which_tools_differ(form: Form) -> None:
    start = "list_all_of_the_repositories_that_belong_to_the_organisation_"
    tools = [f"{start}{end}" for end in ("by_name", "by_date", "with_issues")]
    names = [base_name(form, "a-server-with-quite-a-long-name", tool) for tool in tools]
    assert [name.endswith(tool[-12:]) for name, tool in zip(names, tools, strict=True)] == [True] * 3
    assert {len(name) for name in names} == {64}
    assert len(set(names)) == 3


def test_two_long_names_that_differ_in_the_middle_alone_stay_two() -> None:
    first, second = (f"{'a' * 40}{middle}{'z' * 60}" for middle in "xy")
    assert base_name("prefix__tool", "s", first) != base_name("prefix__tool", "s", second)


@settings(max_examples=200)
@given(st.sampled_from(["prefix__tool", "mcp_prefix_tool"]), st.text(), st.text())
def test_any_text_becomes_a_name_every_vendor_accepts(form: Form, prefix: str, tool: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", base_name(form, prefix, tool))


@settings(max_examples=100)
@given(st.lists(st.text(alphabet="aAbB-2", min_size=1, max_size=70), max_size=30))
def test_claimed_names_never_collide_and_stay_in_bounds(bases: list[str]) -> None:
    claims = Claims(["Read"])
    names = [claims.claim(base[:64]) for base in bases]
    assert len({name.lower() for name in [*names, "read"]}) == len(bases) + 1
    assert all(len(name) <= 64 for name in names)


def test_a_native_name_a_case_twin_and_an_ambiguous_join_get_a_suffix() -> None:
    claims = Claims(["exec"])
    bases = [
        "exec",
        "s__Go",
        "s__go",
        base_name("mcp_prefix_tool", "a_b", "c"),
        base_name("mcp_prefix_tool", "a", "b_c"),
    ]
    assert [claims.claim(base) for base in bases] == ["exec-2", "s__Go", "s__go-2", "mcp_a_b_c", "mcp_a_b_c-2"]


def test_a_suffix_shortens_a_name_that_is_already_as_long_as_allowed() -> None:
    claims = Claims()
    assert [claims.claim("x" * 64) for _ in range(3)] == ["x" * 64, "x" * 62 + "-2", "x" * 62 + "-3"]


def test_a_released_name_is_free_again() -> None:
    claims = Claims()
    claims.claim("A")
    assert not claims.claim_exactly("a")
    claims.release("A")
    assert claims.claim_exactly("a")


@settings(max_examples=200)
@given(st.sampled_from(["prefix__tool", "mcp_prefix_tool"]), st.text(max_size=80), st.text(max_size=80))
def test_a_tools_usual_name_may_always_be_of_its_server(form: Form, prefix: str, tool: str) -> None:
    assert may_be_of(form, prefix, base_name(form, prefix, tool))


def test_a_name_with_another_prefix_is_of_another_server() -> None:
    assert not may_be_of("prefix__tool", "git", "gitlab__log")
    assert not may_be_of("mcp_prefix_tool", "git", "git_log")


@pytest.mark.parametrize(
    ("server", "typed"), [("notes", "notes"), ("a.b", "a.b"), ("my notes", "my-notes"), ("my:notes", "my-notes")]
)
def test_a_server_is_typed_as_it_is_called_unless_that_is_no_word(server: str, typed: str) -> None:
    assert typed_name(server) == typed


def test_very_many_tools_that_want_one_name_get_numbers_without_trying_all_of_them() -> None:
    claims = Claims()
    assert [claims.claim("web__--") for _ in range(20_000)][-1] == "web__---20000"
    claims.release("web__---7")
    assert [claims.claim("web__--"), claims.claim("web__--")] == ["web__---7", "web__---20001"]
