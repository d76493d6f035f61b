"""What a program writes that embeds the client: servers as values, configs in every form, and a sentence for what is written wrongly."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from openclaw.config.servers import ServerSpec
from openclaw.errors import ConfigError, UsageError
from openclaw.mcp.embedding import Server, checked_servers, read_servers, secrets_of

ANY: Any = None


@pytest.mark.posix_only("paths as POSIX writes them")
def test_lists_mappings_and_paths_are_taken_as_they_are(tmp_path: Path) -> None:
    server = Server(
        "files",
        command=Path("/usr/bin/npx"),
        args=["-y", "some-server", tmp_path],
        env={"TOKEN": "t", "WHERE": tmp_path},
        pass_env=["EDITOR"],
        cwd=tmp_path,
        tool_include=["read_*"],
        call_timeout=5,
    )
    assert server.spec == ServerSpec(
        "files",
        commands="manager",
        command="/usr/bin/npx",
        args=("-y", "some-server", str(tmp_path)),
        env=(("TOKEN", "t"), ("WHERE", str(tmp_path))),
        pass_env=("EDITOR",),
        cwd=str(tmp_path),
        tool_include=("read_*",),
        call_timeout=5.0,
        max_total_timeout=50.0,
    )


@pytest.mark.parametrize(
    ("given", "transport"),
    [(None, "streamable-http"), ("http", "streamable-http"), ("streamable-http", "streamable-http"), ("sse", "sse")],
)
def test_an_address_implies_its_transport(given: Any, transport: str) -> None:
    server = Server("far", url="https://example.com/mcp", headers={"X-Team": "blue"}, transport=given)
    assert (server.spec.transport, server.spec.headers) == (transport, (("X-Team", "blue"),))


def test_what_is_shown_of_a_server_is_what_was_said_of_it_without_credentials() -> None:
    shown = repr(Server("far", url="https://example.com/mcp", api_key="sk-very-secret", headers={"X-Key": "hidden"}))
    assert shown == (
        "Server(name='far', transport='streamable-http', url='https://example.com/mcp', "
        "headers=(('X-Key', '[REDACTED]'),), api_key='[REDACTED]')"
    )


WRONG: list[tuple[Callable[[], object], str]] = [
    (
        lambda: Server(ANY, command="x"),
        "The name of a server must be a text, not None. "
        "Its name comes first: Server('files', command='npx', args=[…]).",
    ),
    (
        lambda: Server("s"),
        "Server 's': it says neither what to start nor where it is. Give it a command, a url, or an object as in_process.",
    ),
    (
        lambda: Server("s", command="x", url="https://e.com"),
        "Server 's': command and url were both given. A server has one of them: make two servers.",
    ),
    (
        lambda: Server("s", command="x", args="-y some-server"),
        "Server 's': args must be a list of texts, not a text. Write args=['…', '…'].",
    ),
    (
        lambda: Server("s", command="x", args=[1]),  # type: ignore[list-item]  # what a program without types writes
        "Server 's': each of args must be a text or a path, not the number 1. Write args=['…', '…'].",
    ),
    (
        lambda: Server("s", command="x", env=[("A", "b")]),  # type: ignore[arg-type]  # the same
        "Server 's': env must be a mapping of texts, not a list. Write env={'NAME': '…'}.",
    ),
    (
        lambda: Server("s", command="x", env={"PORT": 80}),  # type: ignore[dict-item]  # the same
        "Server 's': env['PORT'] must be a text or a path, not the number 80. Write env['PORT']='…'.",
    ),
    (
        lambda: Server("s", command="npx -y some-server"),
        "Server 's': there is no program named 'npx -y some-server'. "
        "Give its words as args: command='npx', args=['-y', 'some-server'].",
    ),
    (
        lambda: Server("s", url="example.com/mcp"),
        "Server 's': url must begin with http:// or https://. Write url='https://…/mcp'.",
    ),
    (
        lambda: Server("s", url="https://e.com", transport="stdio"),
        "Server 's': a server with url does not speak stdio. Leave transport out.",
    ),
    (
        lambda: Server("s", url="https://e.com", transport="websocket"),  # type: ignore[arg-type]  # the same
        "Server 's': there is no transport 'websocket'. "
        "Leave it out, or choose one of 'stdio', 'http', 'streamable-http', 'sse'.",
    ),
    (
        lambda: Server("s", command="x", call_timeout=0),
        "Server 's': call_timeout must be a number of seconds above zero, not the number 0. Write call_timeout=30.0.",
    ),
    (
        lambda: Server("s", command="x", health_interval="5"),  # type: ignore[arg-type]  # the same
        "Server 's': health_interval must be a number of seconds, or 0 for never, not a text. Write health_interval=30.0.",
    ),
    (
        lambda: Server("s", command="x", discovery_interval=-1),
        "Server 's': discovery_interval must be a number of seconds, or 0 for never, not the number -1. "
        "Write discovery_interval=30.0.",
    ),
    (
        lambda: Server("s", command="x", idle_timeout=0),
        "Server 's': idle_timeout must be a number of seconds above zero, not the number 0. Write idle_timeout=30.0.",
    ),
    (
        lambda: Server("s", command="x", max_in_flight=0),
        "Server 's': max_in_flight must be a whole number, at least 1, not the number 0. Write one, or leave max_in_flight out.",
    ),
    (
        lambda: Server("s", command="x", max_message_bytes="1k"),  # type: ignore[arg-type]  # the same
        "Server 's': max_message_bytes must be a whole number, at least 1, not a text. "
        "Write one, or leave max_message_bytes out.",
    ),
    (
        lambda: Server("s", command="x", max_restarts=True, lazy=True, restart_on_crash=False),
        "Server 's': max_restarts must be a whole number, at least 0, not True. Write one, or leave max_restarts out.",
    ),
    (
        lambda: Server("s", command="x", enabled="no"),  # type: ignore[arg-type]  # the same
        "Server 's': enabled must be True or False, not a text. Write enabled=True.",
    ),
    (
        lambda: Server("s", command="x", trust="no"),  # type: ignore[arg-type]  # the same
        "Server 's': trust must be 'pin' or 'follow', not 'no'. Write trust='pin'.",
    ),
    (
        lambda: Server("s", command="x", isolation=None),  # type: ignore[arg-type]  # the same
        "Server 's': isolation must be 'shared' or 'session', not None. Write isolation='shared'.",
    ),
    (
        lambda: checked_servers(Server("s", command="x")),
        "A manager takes a list of servers, not one. Write Manager([server]).",
    ),
    (
        lambda: checked_servers(".mcp.json"),
        "A manager takes a list of servers, not a text. "
        "Write Manager([Server('files', command=…)]), or Manager.from_config(…) for a path or a mapping.",
    ),
    (
        lambda: checked_servers([{"command": "x"}]),
        "A mapping is no server. Make one: Server('files', command='npx', args=[…]).",
    ),
    (
        lambda: checked_servers([Server("s", command="x"), Server("s", command="y")]),
        "Two servers are named 's'. Give each a name of its own.",
    ),
    (
        lambda: read_servers(7),  # type: ignore[arg-type]  # the same
        "A config must be a path or a mapping, not the number 7. Write Manager.from_config('.mcp.json').",
    ),
    (
        lambda: read_servers("/nowhere/at/all.json"),
        "There is no file /nowhere/at/all.json. Give the path of a config that names MCP servers.",
    ),
    (
        lambda: read_servers({"mcpServers": {}}),
        "The mapping names no MCP server. They stand under mcpServers, servers or mcp.servers.",
    ),
    (
        lambda: read_servers({"mcpServers": {"s": {"command": object()}}}),
        "The mapping holds an object, which JSON has no form for. Use texts, numbers, lists and mappings.",
    ),
]


@pytest.mark.posix_only("paths as POSIX writes them")
@pytest.mark.parametrize(("write", "sentence"), WRONG, ids=[sentence for _, sentence in WRONG])
def test_what_is_written_wrongly_is_told_in_a_sentence(write: Callable[[], object], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        write()
    assert str(caught.value) == sentence


BLOCK = {"files": {"command": "npx", "args": ["-y", "${WHICH}"]}, "far": {"url": "https://example.com/mcp"}}
MEANT = (
    ServerSpec("files", commands="manager", command="npx", args=("-y", "some-server")),
    ServerSpec("far", commands="manager", transport="streamable-http", url="https://example.com/mcp"),
)
FORMS: list[Mapping[str, Any]] = [BLOCK, {"mcpServers": BLOCK}, {"servers": BLOCK}, {"mcp": {"servers": BLOCK}}]


@pytest.mark.parametrize("form", FORMS, ids=["the block alone", "mcpServers", "servers", "openclaw.json"])
@pytest.mark.parametrize("kind", ["mapping", "file"])
def test_a_config_is_taken_in_every_form_that_programs_write(
    form: Mapping[str, Any], kind: str, tmp_path: Path
) -> None:
    file = tmp_path / "some.json"
    file.write_text(json.dumps(form if form is not BLOCK else {"mcpServers": BLOCK}))
    environ = {"WHICH": "some-server", "HOME": str(tmp_path)}
    found = read_servers(form if kind == "mapping" else file, environ=environ)
    assert tuple(structs.replace(spec, where="") for spec in found.specs) == MEANT
    assert all(("some.json" in spec.where) == (kind == "file") for spec in found.specs)


async def test_references_to_secrets_are_looked_up_as_the_config_says() -> None:
    environ = {"TOKEN": "t", "WHICH": "x"}
    resolve = secrets_of(read_servers(BLOCK, environ=environ).config, environ)
    assert [await resolve(text) for text in ("secret://env/TOKEN", "plain")] == ["t", "plain"]


def test_everything_wrong_with_a_config_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        read_servers({"mcp": {"servers": 7, "toolNames": "other"}})
    assert len(caught.value.problems) == 2
