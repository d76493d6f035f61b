"""Config that people paste: what other programs write about a server is read, or refused for that server with what to write."""

from typing import Any

import pytest

from openclaw.config.load import parse_config
from openclaw.config.servers import ServerSpec, server_specs
from openclaw.config.variables import escape, expand
from openclaw.errors import ConfigError

ENV = {"TOKEN": "t-1", "github_token": "t-2", "HOME": "/home/me"}


def specs(text: str) -> dict[str, ServerSpec]:
    return {spec.name: spec for spec in server_specs(parse_config(text, env=ENV), "main")}


def one(text: str) -> ServerSpec:
    return specs(f"{{mcp: {{servers: {{shop: {text}}}}}}}")["shop"]


def warnings(text: str) -> list[str]:
    return [f"{one.path}: {one.message} {one.hint}".strip() for one in parse_config(text, env=ENV).warnings]


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, env=ENV)
    return [f"{one.line}:{one.column} {one.path}: {one.message} {one.hint}".strip() for one in caught.value.problems]


@pytest.mark.parametrize("section", ["mcpServers", "servers"])
def test_the_file_of_another_program_is_read_as_it_is(section: str) -> None:
    pasted = f'{{"{section}": {{"shop": {{"command": "uvx", "args": ["shop"]}}, "web": {{"url": "https://h/mcp"}}}}, "inputs": []}}'
    usual = '{mcp: {servers: {"shop": {"command": "uvx", "args": ["shop"]}, "web": {"url": "https://h/mcp"}}}}'
    assert specs(pasted) == specs(usual)
    assert warnings(pasted) == []


def test_a_server_of_ours_replaces_a_pasted_one_of_the_same_name() -> None:
    found = specs("{mcpServers: {shop: {command: 'theirs'}}, mcp: {servers: {shop: {command: 'ours'}}}}")
    assert [spec.command for spec in found.values()] == ["ours"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{command: 'x', timeout: 60}", {"connect_timeout": 60.0}),
        ("{command: 'x', timeout: 60000}", {"connect_timeout": 60.0}),
        ("{command: 'x', toolTimeout: 90}", {"call_timeout": 90.0}),
        ("{command: 'x', connectionTimeoutMs: 60}", {"connect_timeout": 0.06}),
        ("{command: 'x', disabled: true}", {"enabled": False}),
        ("{command: 'x', disabled: false}", {"enabled": True}),
        ("{command: 'x', enabled: true, disabled: true}", {"enabled": False}),
        ("{httpUrl: 'https://h/mcp'}", {"url": "https://h/mcp", "transport": "streamable-http"}),
        ("{serverUrl: 'https://h/sse', type: 'sse'}", {"url": "https://h/sse", "transport": "sse"}),
        ("{baseUrl: 'https://h/mcp'}", {"url": "https://h/mcp", "transport": "streamable-http"}),
        ("{type: 'streamableHttp', url: 'https://h'}", {"transport": "streamable-http"}),
        ("{type: 'streamable_http', url: 'https://h'}", {"transport": "streamable-http"}),
        ("{type: 'remote', url: 'https://h'}", {"transport": "streamable-http"}),
        ("{type: 'local', command: ['npx', '-y', 'shop']}", {"transport": "stdio", "args": ("-y", "shop")}),
        ("{transportType: 'stdio', command: 'x'}", {"transport": "stdio"}),
        ("{command: ['npx'], args: ['shop']}", {"command": "npx", "args": ("shop",)}),
        ("{command: 'x', environment: {A: '1'}}", {"env": (("A", "1"),)}),
        ("{command: 'x', env: {A: '${env:TOKEN}'}}", {"env": (("A", "t-1"),)}),
        ("{command: 'x', args: ['--key=${env:github_token}']}", {"args": ("--key=t-2",)}),
        (
            "{url: 'https://h', headers: {Authorization: 'Bearer ${env:TOKEN}'}}",
            {"headers": (("Authorization", "Bearer t-1"),)},
        ),
        ("{command: 'x', args: null, env: null, cwd: null}", {"args": (), "env": (), "cwd": ""}),
        ("{command: 'x', url: 'https://h', type: 'stdio'}", {"transport": "stdio", "command": "x"}),
        ("{command: 'x', url: 'https://h', type: 'http'}", {"transport": "streamable-http", "url": "https://h"}),
        (
            "{command: 'cmd', args: ['/c', 'echo %TOKEN%', '$env:TOKEN', '{{TOKEN}}']}",
            {"args": ("/c", "echo %TOKEN%", "$env:TOKEN", "{{TOKEN}}")},
        ),
    ],
)
def test_what_other_programs_write_is_read_as_they_mean_it(text: str, expected: dict[str, Any]) -> None:
    spec = one(text)
    assert {"fault": spec.fault, **{name: getattr(spec, name) for name in expected}} == {"fault": "", **expected}


def test_a_small_timeout_is_noted() -> None:
    assert warnings("{mcpServers: {shop: {command: 'x', timeout: 60}}}") == [
        "mcpServers.shop.timeout: 60 is read as seconds. A number from 1000 on is milliseconds."
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "{command: 'x', env: {KEY: '${input:shop-key}'}}",
            "${input:shop-key} is a word of another program, and means nothing here. "
            "Write ${SHOP_KEY} and set that variable, or write a secret:// reference",
        ),
        (
            "{url: 'https://h', headers: {'X-Key': '${input:shopKey}'}}",
            "${input:shopKey} is a word of another program, and means nothing here. "
            "Write ${SHOP_KEY} and set that variable, or write a secret:// reference",
        ),
        (
            "{command: 'x', args: ['${workspaceFolder}/data']}",
            "${workspaceFolder} is a word of another program, and means nothing here. Write the path itself",
        ),
        (
            "{command: 'x', args: ['${workspaceFolder:shop}']}",
            "${workspaceFolder:shop} is a word of another program, and means nothing here. Write the path itself",
        ),
        (
            "{command: 'x', cwd: '${userHome}/data'}",
            "${userHome} is a word of another program, and means nothing here. Write ${HOME}",
        ),
        (
            "{command: 'x', args: ['${config:shop.key}']}",
            "${config:shop.key} is a word of another program, and means nothing here. "
            "Write the value itself, or ${NAME} for an environment variable",
        ),
        (
            "{command: 'x', env: {A: '${env.TOKEN}'}}",
            "${env.TOKEN} is a word of another program, and means nothing here. Write ${TOKEN}",
        ),
        (
            "{url: 'https://h', headers: {Authorization: 'Bearer ${process.env.github_token}'}}",
            "${process.env.github_token} is a word of another program, and means nothing here. Write ${env:github_token}",
        ),
        (
            "{url: 'https://a', httpUrl: 'https://b'}",
            "the entry has two different addresses. Keep one of them",
        ),
        (
            "{command: 'x', url: 'https://a'}",
            "the entry has a command and an address, and does not say which one is meant. "
            'Keep one of them, or add transport: "stdio" for the command or "http" for the address',
        ),
        (
            "{command: ['x'], serverUrl: 'https://a'}",
            "the entry has a command and an address, and does not say which one is meant. "
            'Keep one of them, or add transport: "stdio" for the command or "http" for the address',
        ),
        ("{type: 'websocket', url: 'https://a'}", "unknown transport. Use stdio, streamable-http (or http) or sse"),
        ("{command: {path: 'x'}}", "expected a text or a list of texts, found an object"),
        ("'npx shop'", "expected an object, found a text"),
        ("{args: ['shop']}", 'a server needs a command to start (stdio) or a url (HTTP). Add "command"'),
    ],
)
def test_what_cannot_be_read_is_refused_for_that_server_with_what_to_write(text: str, fault: str) -> None:
    config = parse_config(
        f"{{mcpServers: {{\nshop: {text},\ngood: {{command: 'y'}}}}}}", env=ENV, file="/c/openclaw.json"
    )
    shop, good = server_specs(config, "main")
    assert (shop.name, shop.enabled, good.fault, good.command) == ("shop", True, "", "y")
    assert shop.fault.startswith("openclaw.json:2:")
    assert shop.fault.endswith(f": {fault}")
    assert [(one.file, one.line) for one in config.refusals] == [("/c/openclaw.json", 2)]


@pytest.mark.parametrize(
    "inside", ["env:HOME:-/tmp", "env:github_token-none", "env:NOPE?", "HOME:-/tmp", "NOPE:-${TOKEN}"]
)
def test_a_default_beside_a_name_stops_that_server_and_is_never_sent(inside: str) -> None:
    shop, good = server_specs(
        parse_config(
            f"{{mcpServers: {{shop: {{command: 'x', args: ['a ${{{inside}}}']}}, good: {{command: 'y'}}}}}}", env=ENV
        ),
        "main",
    )
    assert shop.fault == f"${{{inside}}}: only a name may stand in the braces, without a default"
    assert good.fault == ""


def test_who_wrote_a_default_is_told_where_defaults_stand() -> None:
    assert warnings("{mcpServers: {shop: {command: 'x', args: ['${env:HOME:-/tmp}']}}}") == [
        "mcpServers.shop.args.0: ${env:HOME:-/tmp}: only a name may stand in the braces, without a default: "
        "this server will not start. Write ${HOME}, and the default under env.vars."
    ]


def test_servers_inside_a_server_are_told_to_stand_beside_it() -> None:
    assert warnings("{mcpServers: {mcpServers: {shop: {command: 'x'}}}}") == [
        "mcpServers.mcpServers.shop: unknown key, ignored. "
        "It looks like a server inside a server: put it one level up, beside the others."
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{context_servers: {shop: {command: {path: 'x'}}}}",
        "{mcp: {shop: {type: 'local', command: ['x']}}}",
        "{mcp: {shop: {url: 'https://h'}}}",
        "{mcp: {shop: {httpUrl: 'https://h'}}}",
        "{'amp.mcpServers': {shop: {command: 'x'}}}",
        "{shop: {command: 'x', args: []}}",
        "{command: 'x', args: []}",
        "{url: 'https://h', type: 'http'}",
    ],
)
def test_servers_at_a_place_where_none_are_read_are_told_where_to_stand(text: str) -> None:
    config = parse_config(text)
    assert server_specs(config, "main") == ()
    (warning,) = config.warnings
    assert warning.hint.startswith("Write it as mcp: {servers: {NAME: {")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{mcpServers: [1]}", "1:14 mcpServers: expected an object, found a list."),
        ("{mcpServers: [{name: 'shop', command: 'x'}]}", "1:14 mcpServers: expected an object, found a list."),
        ("{mcpServers: 'shop'}", "1:14 mcpServers: expected an object, found a text."),
        ("{mcpServers: null}", "1:14 mcpServers: expected an object, found null."),
        ("{servers: 5}", "1:11 servers: expected an object, found a number."),
        ("{mcp: {servers: [1]}}", "1:17 mcp.servers: expected an object, found a list."),
        (
            "{agents: {defaults: {mcp: {servers: true}}}}",
            "1:37 agents.defaults.mcp.servers: expected an object, found true.",
        ),
        (
            "{plugins: {entries: {'mcp-client': {config: {servers: []}}}}}",
            "1:55 plugins.entries.mcp-client.config.servers: expected an object, found a list.",
        ),
    ],
)
def test_an_object_of_servers_that_is_none_is_an_error_with_what_to_write(text: str, fault: str) -> None:
    assert problems(text) == [
        f'{fault} Write each server by its name: {{NAME: {{command: "…", args: […]}}}}, or a url.'
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "{agents: {defaults: {mcp: {shop: {command: 'x'}}}}}",
            ("agents.defaults.mcp.shop", "agents.defaults.mcp.servers"),
        ),
        (
            "{agents: {entries: {bob: {mcp: {shop: {url: 'https://h'}}}}}}",
            ("agents.entries.bob.mcp.shop", "agents.entries.bob.mcp.servers"),
        ),
        (
            "{agents: {list: [{id: 'bob', mcp: {mcpServers: {shop: {command: 'x'}}}}]}}",
            ("agents.list.0.mcp.mcpServers", "agents.list.0.mcp.servers"),
        ),
        (
            "{agents: {defaults: {mcpServers: {shop: {command: 'x'}}}}}",
            ("agents.defaults.mcpServers", "agents.defaults.mcp.servers"),
        ),
        (
            "{plugins: {entries: {'mcp-client': {config: {shop: {command: 'x'}}}}}}",
            ("plugins.entries.mcp-client.config.shop", "plugins.entries.mcp-client.config.servers"),
        ),
    ],
)
def test_a_server_beside_the_servers_of_an_agent_is_an_error_that_says_where_it_goes(
    text: str, fault: tuple[str, str]
) -> None:
    (told,) = problems(text)
    assert told.split(" ", 1)[1] == f"{fault[0]}: no MCP server is read here. Put it under {fault[1]}."


@pytest.mark.parametrize(
    "value",
    [
        "<YOUR_KEY>",
        "<your api key>",
        "YOUR_API_KEY",
        "your-token-here",
        "{{TOKEN}}",
        "%TOKEN%",
        "$env:TOKEN",
        "{env:TOKEN}",
        "${token}",
    ],
)
@pytest.mark.parametrize("start", ["", "Bearer "])
def test_a_credential_that_looks_like_a_blank_to_fill_in_is_sent_as_written_with_a_warning(
    value: str, start: str
) -> None:
    text = f"{{mcpServers: {{shop: {{url: 'https://h', headers: {{Authorization: '{start}{value}'}}}}}}}}"
    assert specs(text)["shop"].headers == (("Authorization", start + value),)
    assert specs(text)["shop"].fault == ""
    assert warnings(text) == [
        "mcpServers.shop.headers.Authorization: this looks like a blank that was not filled in, and is sent as written. "
        "Write the value itself, ${NAME} for an environment variable, or a secret:// reference."
    ]


@pytest.mark.parametrize(
    "value",
    [
        "yours-truly",
        "your_" + "a_" * 500 + "!",
        "<b>bold</b>",
        "100%",
        "%d%",
        "{}",
        "{{a b}} and {{c}}",
        "$5",
        "$${token}",
        "keyboard",
        "a<b>c",
        "%Y-%m%",
    ],
)
def test_an_ordinary_value_is_no_blank(value: str) -> None:
    assert warnings(f"{{mcpServers: {{shop: {{command: 'x', env: {{FORMAT: '{value}'}}}}}}}}") == []


@pytest.mark.parametrize(
    "text",
    [
        "{cron: {job: {command: 'backup'}}}",
        "{hooks: {a: {command: 'x'}, b: {type: 'http', url: 'https://h'}}}",
        "{inputs: [{id: 'key', type: 'command', command: 'x'}]}",
        "{mcp: {inputs: [{id: 'key', type: 'command', command: 'x'}]}}",
    ],
)
def test_a_command_in_a_section_of_another_program_is_no_server(text: str) -> None:
    assert warnings(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "${env:TOKEN}",
        "${env:TOKEN:-x}",
        "${TOKEN:-${TOKEN}}",
        "${env.TOKEN}",
        "${input:a}",
        "${workspaceFolder}",
        "a ${userHome} ${TOKEN}",
    ],
)
def test_what_people_type_never_means_our_environment_nor_a_word_of_an_editor(text: str) -> None:
    assert expand(escape(text), ENV).text == text
    spec = one(f"{{command: 'x', args: ['{escape(text)}']}}")
    assert (spec.fault, spec.args) == ("", (text,))
