"""What a call could do."""

from typing import Any

import pytest

from openclaw.security.risk import Risk, has_many_values, hosts_of, risk_of
from openclaw.tool import Tool, ToolFacts, ToolResult, parameters


async def _run(arguments: dict[str, Any], invocation: object) -> ToolResult:
    raise AssertionError("nothing is called here")


def tool(name: str, **fields: Any) -> Tool:
    return Tool(name, "", parameters({}), _run, **fields)


SERVERS = tool("files__write_file", kind="mcp", origin="files")
FACTS = ToolFacts("id", "write_file", "digest")


@pytest.mark.parametrize(
    ("asked", "risk"),
    [
        (tool("read", read_only=True), Risk(read=True)),
        (tool("write"), Risk(write=True)),
        (tool("exec"), Risk(write=True, exec=True)),
        (tool("exec", kind="plugin", origin="p"), Risk(write=True)),
        (tool("forecast", kind="plugin", origin="p", read_only=True), Risk(read=True)),
        (tool("files__list_resources", kind="mcp", origin="files", read_only=True), Risk(read=True)),
    ],
)
def test_a_tool_of_ours_is_what_we_say_and_a_plugin_s_what_it_declares(asked: Tool, risk: Risk) -> None:
    assert risk_of(asked, None, {}, reads=False) == risk


@pytest.mark.parametrize(
    ("facts", "reads", "risk"),
    [
        ({}, False, Risk(write=True)),
        ({"read_only": True}, False, Risk(write=True)),
        ({"read_only": True, "trusts_annotations": True}, False, Risk(read=True)),
        ({"read_only": False, "trusts_annotations": True}, False, Risk(write=True)),
        ({"trusts_annotations": True}, False, Risk(write=True)),
        ({}, True, Risk(read=True)),
    ],
)
def test_a_server_s_word_counts_only_where_its_annotations_are_trusted(
    facts: dict[str, Any], reads: bool, risk: Risk
) -> None:
    assert risk_of(SERVERS, ToolFacts("id", "write_file", "digest", **facts), {}, reads=reads) == risk


@pytest.mark.parametrize(
    ("facts", "hosts"),
    [
        ({}, {"example.org"}),
        ({"open_world": False}, {"example.org"}),
        ({"open_world": False, "trusts_annotations": True}, set()),
        ({"open_world": True, "trusts_annotations": True}, {"example.org"}),
        ({"trusts_annotations": True}, {"example.org"}),
    ],
)
def test_an_address_goes_nowhere_from_a_server_that_is_trusted_with_saying_so(
    facts: dict[str, Any], hosts: set[str]
) -> None:
    told = ToolFacts("id", "remember", "digest", **facts)
    assert risk_of(SERVERS, told, {"link": "https://example.org/x"}, reads=True).hosts == hosts


def test_a_fetch_is_a_read_and_a_way_out() -> None:
    fetch = tool("web_fetch", read_only=True)
    risk = risk_of(fetch, None, {"url": "https://Example.org/?q=secret"}, reads=False)
    assert risk == Risk(read=True, hosts=frozenset({"example.org"}))
    assert risk.only_reads
    assert risk.classes == ("read", "egress:example.org")


@pytest.mark.parametrize(
    ("arguments", "hosts"),
    [
        ({}, set()),
        ({"text": "see https://a.example for more"}, set()),
        ({"text": "https://a.example/x"}, {"a.example"}),
        ({"text": "  HTTPS://A.Example:8443/x"}, {"a.example"}),
        ({"text": "https://user:word@a.example/"}, {"a.example"}),
        ({"text": "ht\ntps://a.example/"}, {"a.example"}),
        ({"text": "https:a.example"}, {"a.example"}),
        ({"text": "https:///a.example"}, {"a.example"}),
        ({"text": "https://a.example.:443"}, {"a.example"}),
        ({"text": "https://[::1]:80/"}, {"::1"}),
        ({"text": "www.a.example"}, set()),
        ({"url": "www.a.example/path?x=1"}, {"www.a.example"}),
        ({"page_url": "//a.example/x"}, {"a.example"}),
        ({"baseUri": "a.example:8080"}, {"a.example"}),
        ({"Website": "a.example"}, {"a.example"}),
        ({"hosts": ["a.example", "b.example"]}, {"a.example", "b.example"}),
        ({"endpoint": "ftp://a.example/x"}, {"a.example"}),
        ({"url": "/relative/path"}, set()),
        ({"curly": "a.example"}, set()),
        ({"message": {"attachments": [{"at": "https://a.example/x"}]}}, {"a.example"}),
        ({"options": {"host": "a.example"}}, {"a.example"}),
        ({"command": ["curl", "https://a.example/x"]}, {"a.example"}),
        ({"count": 7, "on": True, "none": None}, set()),
    ],
)
def test_hosts_are_found_wherever_they_stand(arguments: dict[str, Any], hosts: set[str]) -> None:
    assert hosts_of(arguments) == hosts


def test_what_a_server_calls_its_own_resource_is_no_host() -> None:
    own = tool("notes__resources_read", kind="mcp", origin="notes", read_only=True)
    assert risk_of(own, None, {"uri": "notes://today"}, reads=False) == Risk(read=True)
    away = risk_of(own, None, {"uri": "https://away.example/x"}, reads=False)
    assert away == Risk(read=True, hosts=frozenset({"away.example"}))


def test_an_address_that_readers_take_differently_reaches_every_host_it_may_mean() -> None:
    assert hosts_of({"url": "https://good.example\\@evil.example/"}) == {"good.example", "evil.example"}


@pytest.mark.parametrize(
    "arguments",
    [
        {f"key{number}": 1 for number in range(1_001)},
        {"list": [[0] for _ in range(501)]},
        {"deep": {"in": [{"the": ["x"] * 1_000}]}},
        {"one": "x" * 500_001, "other": ["x" * 500_001]},
    ],
)
def test_many_values_and_much_text_are_found_at_whatever_depth(arguments: dict[str, Any]) -> None:
    assert has_many_values(arguments)


def test_the_values_of_an_ordinary_call_are_few() -> None:
    assert not has_many_values({"text": "x" * 10_000, "edits": [{"old": "a", "new": "b"}] * 300, "dry": True})
