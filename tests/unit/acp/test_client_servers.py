"""Servers that a client hands over: how they are read, shown and recognised again."""

import pytest

from openclaw.acp import wire
from openclaw.acp.client_servers import fingerprint, given_servers, is_configured, question
from openclaw.acp.connection import RequestError
from openclaw.config.servers import ServerSpec, read_server

KEY = b"k" * 32
STDIO = wire.McpServer("db", command="/bin/sh", args=["-c", "echo 'a\tb'"], env=[wire.Pair("TOKEN", "hunter2")])


def spec_of(server: wire.McpServer, cwd: str = "/work") -> ServerSpec:
    [given] = given_servers([server], cwd)
    assert given.spec is not None, given.fault
    return given.spec


def shown(server: wire.McpServer) -> str:
    call = question(spec_of(server), "start-1", "/usr/bin:/bin")
    [block] = call.content or []
    assert isinstance(block, wire.Shown)
    assert isinstance(block.content, wire.Text)
    return block.content.text


@pytest.mark.posix_only("paths as POSIX writes them")
def test_a_command_is_shown_whole_and_its_values_are_not() -> None:
    text = shown(STDIO)
    # What cannot be seen is written as an escape, in quotes of another kind.
    assert """/bin/sh -c "echo 'a\\tb'\"""" in text
    assert "directory: /work" in text
    assert "TOKEN=" in text
    assert "hunter2" not in text


def test_an_address_is_shown_without_what_may_be_a_credential() -> None:
    headers = [wire.Pair("Authorization", "Bearer hunter2")]
    text = shown(wire.McpServer("web", "http", url="https://example.com/mcp?key=hunter2", headers=headers))
    assert "https://example.com/mcp?" in text
    assert "Authorization" in text
    assert "hunter2" not in text


@pytest.mark.parametrize(
    "server",
    [
        wire.McpServer("x"),
        wire.McpServer("x", "http"),
        wire.McpServer("x", "carrier-pigeon", url="https://example.com"),
        wire.McpServer("x", "http", url="http://example.com/mcp"),
        wire.McpServer("x", command="/bin/true", env=[wire.Pair("A", "secret://env/HOME")]),
        wire.McpServer("x", command="/bin/true", args=["a"] * 65),
        wire.McpServer("x", command="/bin/true", args=["a" * 9_000]),
    ],
    ids=["nothing", "no address", "unknown", "plain http", "secret", "many words", "long word"],
)
def test_what_cannot_be_started_says_why_and_spoils_no_other(server: wire.McpServer) -> None:
    bad, good = given_servers([server, STDIO], "/work")
    assert bad.spec is None
    assert bad.fault
    assert good.spec is not None


def test_two_of_one_name_are_told_apart_and_too_many_are_refused() -> None:
    assert [one.name for one in given_servers([STDIO, STDIO], "/work")] == ["db", "db-2"]
    configured = [read_server("DB", {"command": "/bin/true"})]
    assert [one.name for one in given_servers([STDIO, STDIO], "/work", configured)] == ["db-2", "db-3"]
    with pytest.raises(RequestError):
        given_servers([STDIO] * 33, "/work")


def test_every_word_value_and_folder_counts_in_a_fingerprint_and_only_with_the_key() -> None:
    variants = [
        spec_of(STDIO),
        spec_of(STDIO, "/elsewhere"),
        spec_of(wire.McpServer("db", command="/bin/sh", args=["-c"], env=STDIO.env)),
        spec_of(wire.McpServer("db", command="/bin/sh", args=STDIO.args, env=[wire.Pair("TOKEN", "hunter3")])),
        spec_of(wire.McpServer("db", command="/bin/ls", args=STDIO.args, env=STDIO.env)),
        spec_of(wire.McpServer("db", "http", url="https://example.com/a")),
        spec_of(wire.McpServer("db", "http", url="https://example.com/b")),
    ]
    marks = {fingerprint(spec, KEY, "/bin") for spec in variants}
    assert len(marks) == len(variants)
    assert fingerprint(variants[0], b"x" * 32, "/bin") not in marks
    # What a header says is no part of where an address leads.
    headers = [wire.Pair("Authorization", "another")]
    again = spec_of(wire.McpServer("db", "http", url="https://example.com/a", headers=headers))
    assert fingerprint(again, KEY, "/bin") in marks


def test_a_server_that_is_configured_is_recognised_by_what_it_runs_or_reaches() -> None:
    configured = [
        read_server("mine", {"command": "/bin/sh", "args": STDIO.args, "env": {"TOKEN": "hunter2"}}),
        read_server("web", {"url": "https://example.com/mcp"}),
    ]
    assert is_configured(spec_of(STDIO), configured)
    assert is_configured(spec_of(wire.McpServer("x", "sse", url="https://example.com/mcp")), configured)
    assert not is_configured(spec_of(wire.McpServer("db", command="/bin/sh", args=STDIO.args)), configured)
