"""The registry: who is offered under what name, who keeps it, and why others are absent."""

from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from openclaw.config.servers import ServersOptions, ServerSpec
from openclaw.mcp.tools.definition import Definition, RefusedTool
from openclaw.mcp.tools.pins import Change
from openclaw.mcp.tools.registry import Difference, Registry, Toolset
from openclaw.tool import Absence

A = ServerSpec("a", section="agents", command="a", where="openclaw.json:3")
A_B = replace(A, name="a_b")
PLAIN = ServerSpec("plain", command="p", where="openclaw.json:9")


def definition(name: str) -> Definition:
    return Definition(name, Raw(b"{}"))


def toolset(*names: str, **more: Any) -> Toolset:
    return Toolset(tuple(definition(name) for name in names), **more)


def registry(*specs: ServerSpec, **more: Any) -> Registry:
    return Registry(specs, ServersOptions(), **more)


def names(of: Registry) -> list[tuple[str, str, str]]:
    return [(entry.name, entry.spec.name, entry.definition.name) for entry in of.entries()]


@pytest.mark.requirement("000-3.1-namespaces")
def test_every_tool_gets_a_name_that_leads_back_to_server_and_tool() -> None:
    tools = registry(A, PLAIN)
    tools.update("plain", toolset("search", "read.file"))
    tools.update("a", toolset("go"))
    assert names(tools) == [
        ("mcp_a_go", "a", "go"),
        ("plain__read-file", "plain", "read.file"),
        ("plain__search", "plain", "search"),
    ]
    entry = tools.entry("plain__read-file")
    assert entry is not None
    assert (entry.spec, entry.definition) == (PLAIN, definition("read.file"))
    assert tools.entry("plain__nothing") is None


@pytest.mark.requirement("000-11.2-prefix")
def test_colliding_names_get_a_suffix_and_still_lead_back() -> None:
    tools = registry(A, A_B, reserved=["mcp_a_Exec"])
    tools.update("a", toolset("b_c", "exec"))
    tools.update("a_b", toolset("c"))
    assert names(tools) == [("mcp_a_b_c", "a", "b_c"), ("mcp_a_exec-2", "a", "exec"), ("mcp_a_b_c-2", "a_b", "c")]


def test_a_tool_that_stays_keeps_its_name_when_the_name_it_yielded_to_goes() -> None:
    tools = registry(A, A_B)
    tools.update("a", toolset("b_c"))
    tools.update("a_b", toolset("c"))
    assert tools.update("a", toolset()) == Difference((), ("mcp_a_b_c",))
    assert tools.update("a_b", toolset("c", "d")) == Difference(("mcp_a_b_d",), ())
    assert names(tools) == [("mcp_a_b_c-2", "a_b", "c"), ("mcp_a_b_d", "a_b", "d")]


def test_an_unusual_name_is_the_same_after_a_restart_in_another_order() -> None:
    first = registry(A, A_B)
    first.update("a", toolset("b_c"))
    first.update("a_b", toolset("c"))
    remembered = {server: first.unusual_names(server) for server in ("a", "a_b")}
    assert remembered == {"a": {}, "a_b": {"c": "mcp_a_b_c-2"}}
    second = registry(A, A_B, remembered=remembered)
    second.update("a_b", toolset("c"))
    second.update("a", toolset("b_c"))
    assert names(second) == names(first)


def test_the_order_a_server_lists_its_tools_in_does_not_change_their_names() -> None:
    one, other = registry(PLAIN), registry(PLAIN)
    one.update("plain", toolset("x.y", "x-y", "X-Y"))
    other.update("plain", toolset("x-y", "X-Y", "x.y"))
    assert names(one) == names(other)


@pytest.mark.requirement("000-12.1-prefix")
@pytest.mark.requirement("001-8-naming")
@pytest.mark.requirement("001-FR-1-prefix")
def test_a_prefix_replaces_the_server_name() -> None:
    tools = registry(replace(PLAIN, tool_prefix="fs"))
    tools.update("plain", toolset("read"))
    assert names(tools) == [("fs__read", "plain", "read")]


def test_the_filter_takes_included_names_and_then_leaves_out_excluded_ones() -> None:
    tools = registry(replace(PLAIN, tool_include=("read*", "Write"), tool_exclude=("*secret*",)))
    tools.update("plain", toolset("read", "read_secret", "Write", "write"))
    assert [entry.definition.name for entry in tools.entries()] == ["Write", "read"]
    assert tools.absences("plain") == [
        Absence("plain__read_secret", "The tool is left out: toolFilter.exclude has '*secret*'.", "openclaw.json:9"),
        Absence("plain__write", "The tool is left out: toolFilter.include does not name it.", "openclaw.json:9"),
    ]


def test_refused_and_held_tools_are_absent_with_their_reason() -> None:
    tools = registry(PLAIN)
    changes = (Change("moved", held=True, diff="", digest=""), Change("reworded", held=False, diff="", digest=""))
    tools.update("plain", toolset("reworded", refusals=(RefusedTool("bad", "its schema is not one"),), changes=changes))
    assert tools.absences("plain") == [
        Absence("plain__bad", "The tool is unusable: its schema is not one.", "openclaw.json:9"),
        Absence(
            "plain__moved",
            "The server changed the tool so that calls valid before may fail. See what changed and accept it: openclaw mcp trust plain",
            "openclaw.json:9",
        ),
    ]


def test_a_utility_yields_to_a_tool_of_the_server_with_the_same_name() -> None:
    tools = registry(PLAIN)
    utilities = (definition("resources_list"), definition("resources_read"))
    tools.update("plain", toolset("resources_list", utilities=utilities))
    assert [(entry.name, entry.is_utility) for entry in tools.entries()] == [
        ("plain__resources_list", False),
        ("plain__resources_read", True),
    ]


def test_twenty_thousand_tools_are_named_and_found() -> None:
    tools = registry(PLAIN)
    tools.update("plain", toolset(*(f"tool.{n}" for n in range(20_000))))
    entry = tools.entry("plain__tool-19999")
    assert entry is not None
    assert entry.definition.name == "tool.19999"
    assert len(tools.entries()) == 20_000


def test_a_tool_of_which_the_server_says_something_else_now_is_made_anew() -> None:
    """The model keeps seeing the same; who approved it did not approve this."""
    both = registry(ServerSpec("web"))
    both.update("web", toolset("get"))
    before = both.entry("web__get")
    both.update("web", toolset("get"))
    assert both.entry("web__get") is before
    both.update("web", toolset("get", changes=(Change("get", False, "diff", "new form"),)))
    after = both.entry("web__get")
    assert after is not None
    assert after.changed == "new form"
