"""Every program's file, written as its vendor documents it, and what comes of each server in it."""

import pytest

from openclaw.errors import ConfigError
from openclaw.importers.programs import PROGRAMS, guess, read_text_of
from openclaw.importers.reading import Input, Origin, Reading

HOME = Origin("/home/ada/.config/app", home="/home/ada")
PROJECT = Origin("/projects/shop/.vscode", project="/projects/shop", home="/home/ada")


def read(program: str, text: str, origin: Origin = HOME) -> Reading:
    return read_text_of(PROGRAMS[program], text, "/home/ada/file", origin)


def values(program: str, text: str, origin: Origin = HOME) -> dict[str, object]:
    reading = read(program, text, origin)
    assert reading.skipped == ()
    return {entry.name: entry.value for entry in reading.entries}


# Program, its file, what is written here.
SAMPLES: list[tuple[str, str, dict[str, object]]] = [
    (
        "claude-desktop",
        """{"mcpServers": {"filesystem": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/Desktop"],
            "env": {"LOG_LEVEL": "debug", "RETRIES": 3, "FAST": true}}}}""",
        {
            "filesystem": {
                "command": "npx",
                "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/Desktop"],
                "env": {"LOG_LEVEL": "debug", "RETRIES": "3", "FAST": "true"},
            }
        },
    ),
    (
        "claude-code",
        """{"mcpServers": {
            "plain": {"command": "/usr/bin/serve", "args": [], "env": {}},
            "api": {"type": "http", "url": "${BASE:-https://api.example.com}/mcp",
                    "headers": {"Authorization": "Bearer ${API_KEY}"}},
            "events": {"type": "sse", "url": "https://events.example.com/sse"},
            "own": {"type": "http", "url": "https://own.example.com/mcp",
                    "oauth": {"clientId": "mine", "callbackPort": 8123, "scopes": "read write"}}}}""",
        {
            "plain": {"command": "/usr/bin/serve"},
            "api": {
                "url": "${BASE}/mcp",
                "transport": "streamable-http",
                "headers": {"Authorization": "Bearer ${API_KEY}"},
            },
            "events": {"url": "https://events.example.com/sse", "transport": "sse"},
            "own": {
                "url": "https://own.example.com/mcp",
                "transport": "streamable-http",
                "auth": {
                    "clientId": "mine",
                    "scopes": ["read", "write"],
                    "redirectUrl": "http://localhost:8123/callback",
                },
            },
        },
    ),
    (
        "cursor",
        """{"mcpServers": {
            "local": {"type": "stdio", "command": "python", "args": ["${userHome}/serve.py"], "env": {"KEY": "${env:my_key}"}},
            "far": {"url": "https://far.example.com/mcp", "headers": {"X-Key": "${env:FAR_KEY}"},
                    "auth": {"CLIENT_ID": "abc", "CLIENT_SECRET": "${env:SECRET}", "scopes": ["read"]}}}}""",
        {
            "local": {"command": "python", "args": ["${HOME}/serve.py"], "env": {"KEY": "${env:my_key}"}},
            "far": {
                "url": "https://far.example.com/mcp",
                "headers": {"X-Key": "${FAR_KEY}"},
                "auth": {"clientId": "abc", "clientSecret": "${SECRET}", "scopes": ["read"]},
            },
        },
    ),
    (
        "vscode",
        """{
            // asked for once
            "inputs": [{"type": "promptString", "id": "key", "description": "API key", "password": true}],
            "servers": {
                "search": {"type": "stdio", "command": "npx", "args": ["-y", "search-mcp"], "env": {"KEY": "${input:key}"}},
                "github": {"type": "http", "url": "https://api.githubcopilot.com/mcp/",},
            },
        }""",
        {
            "search": {"command": "npx", "args": ["-y", "search-mcp"], "env": {"KEY": "${input:key}"}},
            "github": {"url": "https://api.githubcopilot.com/mcp/", "transport": "streamable-http"},
        },
    ),
    (
        "copilot",
        """{"mcpServers": {
            "play": {"type": "local", "command": "npx", "args": ["@playwright/mcp@latest"], "tools": ["*"], "env": {}},
            "docs": {"type": "http", "url": "https://docs.example.com/mcp", "headers": {}, "tools": ["search"]}}}""",
        {
            "play": {"command": "npx", "args": ["@playwright/mcp@latest"]},
            "docs": {
                "url": "https://docs.example.com/mcp",
                "transport": "streamable-http",
                "toolFilter": {"include": ["search"]},
            },
        },
    ),
    (
        "codex",
        """
        model = "anything"
        [mcp_servers.docs]
        command = "npx"
        args = ["-y", "docs-mcp"]
        env_vars = ["HOME_TOKEN", { name = "REMOTE", source = "remote" }]
        cwd = "/work"
        startup_timeout_sec = 20
        tool_timeout_sec = 45.5
        enabled_tools = ["open"]
        supports_parallel_tool_calls = false
        disabled_tools = ["shut"]
        [mcp_servers.docs.env]
        MODE = "fast"
        [mcp_servers.figma]
        url = "https://mcp.figma.com/mcp"
        bearer_token_env_var = "FIGMA_TOKEN"
        http_headers = { "X-Region" = "us-east-1" }
        env_http_headers = { "X-Org" = "ORG" }
        enabled = false
        default_tools_approval_mode = "prompt"
        """,
        {
            "docs": {
                "command": "npx",
                "args": ["-y", "docs-mcp"],
                "env": {"HOME_TOKEN": "${HOME_TOKEN}", "REMOTE": "${REMOTE}", "MODE": "fast"},
                "cwd": "/work",
                "connectionTimeoutMs": 20_000,
                "requestTimeoutMs": 45_500,
                "toolFilter": {"include": ["open"], "exclude": ["shut"]},
                "supportsParallelToolCalls": False,
            },
            "figma": {
                "url": "https://mcp.figma.com/mcp",
                "transport": "streamable-http",
                "headers": {"Authorization": "Bearer ${FIGMA_TOKEN}", "X-Region": "us-east-1", "X-Org": "${ORG}"},
                "approval": "ask",
                "enabled": False,
            },
        },
    ),
    (
        "gemini",
        """{"mcp": {"excluded": ["off"]}, "mcpServers": {
            "old": {"url": "https://h.example.com/sse"},
            "new": {"httpUrl": "https://h.example.com/mcp", "timeout": 30000, "excludeTools": ["rm"],
                    "headers": {"Authorization": "Bearer $TOKEN"}},
            "py": {"command": "python", "args": ["-m", "serve"], "cwd": "./server", "env": {"DB": "${DB_URL}", "P": "100%"}},
            "off": {"command": "serve"}}}""",
        {
            "old": {"url": "https://h.example.com/sse", "transport": "sse"},
            "new": {
                "url": "https://h.example.com/mcp",
                "transport": "streamable-http",
                "headers": {"Authorization": "Bearer ${TOKEN}"},
                "requestTimeoutMs": 30_000,
                "toolFilter": {"exclude": ["rm"]},
            },
            "py": {
                "command": "python",
                "args": ["-m", "serve"],
                "env": {"DB": "${DB_URL}", "P": "100%"},
                "cwd": "/home/ada/.config/app/server",
            },
            "off": {"command": "serve", "enabled": False},
        },
    ),
    (
        "windsurf",
        """{"mcpServers": {
            "a": {"serverUrl": "https://a.example.com/mcp", "headers": {"API_KEY": "Bearer ${env:AUTH}"}},
            "b": {"command": "npx", "args": ["-y", "b"], "env": {"TOKEN": "${file:/run/token}"}, "disabled": true,
                  "disabledTools": ["x"]}}}""",
        {
            "a": {"url": "https://a.example.com/mcp", "headers": {"API_KEY": "Bearer ${AUTH}"}},
            "b": {
                "command": "npx",
                "args": ["-y", "b"],
                "env": {"TOKEN": "secret://file//run/token"},
                "enabled": False,
                "toolFilter": {"exclude": ["x"]},
            },
        },
    ),
    (
        "zed",
        """{
            // as Zed writes it
            "theme": "One Dark",
            "context_servers": {
                "new": {"source": "custom", "enabled": true, "command": "serve", "args": ["--x"], "env": {}},
                "older": {"command": {"path": "z", "args": ["--q"], "env": {"A": "b"}}},
                "far": {"url": "https://far.example.com/mcp", "headers": {"Authorization": "Bearer ${NOT_A_VARIABLE}"},
                        "oauth": {"client_id": "mine"}},
            },
        }""",
        {
            "new": {"command": "serve", "args": ["--x"]},
            "older": {"command": "z", "args": ["--q"], "env": {"A": "b"}},
            "far": {
                "url": "https://far.example.com/mcp",
                "headers": {"Authorization": "Bearer $${NOT_A_VARIABLE}"},
                "auth": {"clientId": "mine"},
            },
        },
    ),
    (
        "opencode",
        """{"$schema": "x", "mcp": {
            "y": {"type": "local", "command": ["bun", "x", "y"], "environment": {"T": "{env:T}"}, "enabled": false},
            "r": {"type": "remote", "url": "https://r.example.com/mcp", "headers": {"Authorization": "Bearer {env:R_KEY}"},
                  "oauth": false, "timeout": 5000}}}""",
        {
            "y": {"command": "bun", "args": ["x", "y"], "env": {"T": "${T}"}, "enabled": False},
            "r": {
                "url": "https://r.example.com/mcp",
                "headers": {"Authorization": "Bearer ${R_KEY}"},
                "auth": "none",
                "connectionTimeoutMs": 5000,
            },
        },
    ),
    (
        "opencode",
        """{"mcp": {"servers": {"two": {"type": "remote", "url": "https://two.example.com/mcp",
            "oauth": {"clientId": "c", "scope": "a b"}}}}}""",
        {"two": {"url": "https://two.example.com/mcp", "auth": {"clientId": "c", "scopes": ["a", "b"]}}},
    ),
    (
        "mcporter",
        """{"mcpServers": {
            "list": {"command": ["node", "serve.js"], "args": ["--x"]},
            "line": {"command": "npx -y 'a b'"},
            "far": {"baseUrl": "https://far.example.com/mcp", "bearerTokenEnv": "FAR", "auth": "oauth", "oauthScope": "a b",
                    "allowedTools": ["get"]},
            "env": {"url": "https://env.example.com/mcp", "headers": {"X": "$env:X_KEY"}}}}""",
        {
            "list": {"command": "node", "args": ["serve.js", "--x"]},
            "line": {"command": "npx", "args": ["-y", "a b"]},
            "far": {
                "url": "https://far.example.com/mcp",
                "headers": {"Authorization": "Bearer ${FAR}"},
                "auth": {"scopes": ["a", "b"]},
                "toolFilter": {"include": ["get"]},
            },
            "env": {"url": "https://env.example.com/mcp", "headers": {"X": "${X_KEY}"}},
        },
    ),
    (
        "lm-studio",
        """{"mcpServers": {"hf": {"url": "https://huggingface.co/mcp", "headers": {"Authorization": "Bearer x"}}}}""",
        {"hf": {"url": "https://huggingface.co/mcp", "headers": {"Authorization": "Bearer x"}}},
    ),
    (
        "openclaw",
        """{ mcp: { servers: {
            a: { command: "serve", cwd: "tools", env: { K: "${K}", S: { source: "env", provider: "default", id: "S" } } },
            b: { url: "https://b.example.com/mcp", transport: "sse", headers: { A: "secret://env/A" } },
        } } }""",
        {
            "a": {
                "command": "serve",
                "env": {"K": "${K}", "S": {"source": "env", "provider": "default", "id": "S"}},
                "cwd": "/home/ada/.config/app/tools",
            },
            "b": {"url": "https://b.example.com/mcp", "transport": "sse", "headers": {"A": "secret://env/A"}},
        },
    ),
]


@pytest.mark.posix_only("paths as POSIX writes them")
@pytest.mark.parametrize(("program", "text", "written"), SAMPLES)
def test_a_documented_file_becomes_entries_of_ours(program: str, text: str, written: dict[str, object]) -> None:
    assert values(program, text) == written


def test_every_program_has_a_sample() -> None:
    assert {program for program, _, _ in SAMPLES} == set(PROGRAMS)


def test_inputs_are_described_as_the_file_does() -> None:
    text = """{"servers": {}, "inputs": [
        {"type": "promptString", "id": "key", "description": "API key", "password": true},
        {"type": "pickString", "id": "region", "description": "Where", "default": "eu",
         "options": ["eu", {"label": "US", "value": "us"}]}]}"""
    assert read("vscode", text).inputs == {
        "key": Input("key", "API key", is_secret=True),
        "region": Input("region", "Where", default="eu", options=("eu", "us")),
    }


SECRET = "it names a secret:// reference, which no other program's file may use"
APPROVALS = "which calls are asked about is said by tools.approval here"
HELPER = "a program that makes headers is not run here; write them under headers"
GATEWAY = "a gateway keeps servers up, and its log has what they do"
CMD = "started as npx itself, without cmd /c, which is for Windows"
HEADER = "is left out: the header Authorization counts before it"
EMPTY = "${B} may be unset there and then is empty; here the server needs it to be set"

# Program, one entry of its file, what is said about it.
LEFT_OUT = [
    ("claude-code", '{"type": "ws", "url": "wss://h"}', "its transport ws is not spoken here"),
    ("claude-code", "5", "it is not an object"),
    ("claude-code", '{"command": 5}', "its command is not a text"),
    ("claude-code", '{"command": "x", "args": "y"}', "its args is not a list"),
    ("claude-code", '{"command": "x", "args": [{}]}', "an item of its args is not a text"),
    ("claude-code", '{"command": "x", "env": []}', "its env is not an object"),
    ("claude-code", "{}", "it has neither a command nor an address"),
    ("claude-code", '{"command": "x", "env": {"K": "secret://env/K"}}', SECRET),
    ("claude-code", '{"type": "http", "url": "https://h", "oauth": {"scopes": ["secret://env/K"]}}', SECRET),
    ("mcporter", '{"url": "https://h", "oauthScope": "secret://env/K"}', SECRET),
    ("mcporter", '{"url": "https://h", "bearerTokenEnv": "A} secret://env/K"}', "A} secret://env/K is no name of a variable"),
    ("cursor", '{"command": "${workspaceFolder}/x"}', "${workspaceFolder} means a project, and this file belongs to none"),
    ("vscode", '{"command": "x", "args": ["${input:gone}"]}', "it needs ${input:gone}, and the file does not describe it"),
    ("vscode", '{"command": "${command:pick}"}', "${command:pick} means nothing outside of that program"),
    ("zed", '{"source": "extension", "settings": {}}', "an extension of Zed starts it, and the file does not say how"),
    ("opencode", '{"enabled": false}', "it only switches a server of another file on or off"),
    ("openclaw", '{"enabled": false}', "it only switches a server of another section on or off"),
    ("windsurf", '{"serverUrl": "https://h/${file:/k}/x"}', "a file (/k) stands in the middle of a value, which cannot be written here"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "entry", "reason"), LEFT_OUT)
def test_what_cannot_be_carried_over_is_left_out_with_its_reason(program: str, entry: str, reason: str) -> None:
    keys = {"opencode": "mcp", "vscode": "servers", "zed": "context_servers"}
    text = (
        f'{{"{keys.get(program, "mcpServers")}": {{"good": {{"command": "serve", "type": "GOOD"}}, "bad": {entry}}}}}'
    )
    if program == "openclaw":
        text = f'{{"mcp": {{"servers": {{"good": {{"command": "serve"}}, "bad": {entry}}}}}}}'
    reading = read(program, text.replace("GOOD", "local" if program == "opencode" else "stdio"))
    assert [(one.name, one.reason) for one in reading.skipped] == [("bad", reason)]
    assert [entry.name for entry in reading.entries] == ["good"]


# Program, one entry of its file, what is noted about it.
NOTED = [
    ("claude-code", '{"url": "https://h/mcp", "headersHelper": "/bin/h"}', f"headersHelper is left out: {HELPER}"),
    ("claude-code", '{"command": "x", "futureThing": 1, "other": 2}', "left out, as it means nothing here: futureThing, other"),
    ("claude-code", '{"command": "x", "env": {"A": null}}', "env.A has no value and is left out"),
    ("claude-desktop", '{"command": "cmd", "args": ["/c", "npx", "-y", "p"]}', CMD),
    ("cursor", '{"command": "x", "autoApprove": ["a"]}', f"autoApprove is left out: {APPROVALS}"),
    ("gemini", '{"command": "x", "trust": true}', f"trust is left out: {APPROVALS}"),
    ("mcporter", '{"command": "x", "lifecycle": "keep-alive"}', f"lifecycle is left out: {GATEWAY}"),
    ("claude-code", '{"command": "x", "env": {"A": "${B:-}"}}', EMPTY),
    ("mcporter", '{"url": "https://h", "headers": {"authorization": "Bearer a"}, "bearerToken": "b"}', f"bearerToken {HEADER}"),
    ("copilot", '{"type": "local", "command": "x", "tools": []}', "disabled, as its tools names no tool"),
    ("gemini", '{"command": "x", "includeTools": []}', "disabled, as its includeTools names no tool"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "entry", "note"), NOTED)
def test_a_field_that_cannot_be_carried_over_is_named(program: str, entry: str, note: str) -> None:
    (found,) = read(program, f'{{"mcpServers": {{"one": {entry}}}}}').entries
    assert found.notes == (note,)


def test_what_lets_a_server_be_called_unasked_is_left_out_and_what_believes_it_more_is_told() -> None:
    text = """{mcp: {servers: {
        a: {command: "x", approval: "allow", annotations: "trusted"},
        b: {url: "https://h", approval: "ask", sslVerify: false, sampling: {models: ["m"]}},
    }}}"""
    left, told = read("openclaw", text).entries
    assert (left.value, told.value["approval"]) == ({"command": "x"}, "ask")
    assert left.notes == (f"approval is left out: {APPROVALS}", f"annotations is left out: {APPROVALS}")
    assert told.notes == ("taken as it is there: sslVerify, sampling",)


def test_a_token_is_left_out_beside_a_header_that_a_variable_gives() -> None:
    text = """
        [mcp_servers.one]
        url = "https://h"
        bearer_token_env_var = "A"
        env_http_headers = { authorization = "B" }
    """
    (found,) = read("codex", text).entries
    assert (found.value["headers"], found.notes) == ({"authorization": "${B}"}, (f"bearer_token_env_var {HEADER}",))


def test_a_default_is_kept_beside_the_reference() -> None:
    (entry,) = read("claude-code", '{"mcpServers": {"a": {"url": "${BASE:-https://api.example.com}/mcp"}}}').entries
    assert (entry.value, entry.defaults) == ({"url": "${BASE}/mcp"}, {"BASE": "https://api.example.com"})


def test_cmd_is_kept_on_windows() -> None:
    origin = Origin("C:\\Users\\ada", home="C:\\Users\\ada", windows=True)
    text = '{"mcpServers": {"a": {"command": "cmd", "args": ["/c", "npx", "p"]}}}'
    assert values("claude-desktop", text, origin) == {"a": {"command": "cmd", "args": ["/c", "npx", "p"]}}


@pytest.mark.posix_only("paths as POSIX writes them")
def test_a_projects_server_is_started_in_the_project() -> None:
    text = '{"servers": {"a": {"command": "./serve", "args": ["${workspaceFolder}/x", "./y"], "envFile": "${workspaceFolder}/.env"}}}'
    (entry,) = read("vscode", text, PROJECT).entries
    assert entry.value == {
        "command": "/projects/shop/serve",
        "args": ["/projects/shop/x", "./y"],
        "cwd": "/projects/shop",
    }
    assert entry.env_file == "/projects/shop/.env"


def test_a_server_that_is_switched_off_in_this_project_is_imported_disabled() -> None:
    text = """{"mcpServers": {"on": {"command": "a"}, "off": {"command": "b"}}, "projects": {
        "/projects/shop": {"disabledMcpServers": ["off"], "disabledMcpjsonServers": ["shared"]}}}"""
    here, elsewhere = read("claude-code", text, PROJECT), read("claude-code", text)
    assert {one.name: one.value for one in here.entries} == {
        "on": {"command": "a"},
        "off": {"command": "b", "enabled": False},
    }
    assert here.notes == ("of this project's .mcp.json, not used in Claude Code: shared",)
    assert [one.value for one in elsewhere.entries] == [{"command": "a"}, {"command": "b"}]


def test_a_server_of_gemini_without_a_name_is_told_of() -> None:
    text = """{"mcp": {"serverCommand": "serve"}, "mcpServers": {"a": {"command": "x"}}}"""
    assert read("gemini", text).notes == ("mcp.serverCommand is left out: it starts a server without a name",)


def test_a_server_of_this_project_counts_before_the_persons_own_and_others_are_named() -> None:
    text = """{"mcpServers": {"a": {"command": "own"}, "b": {"command": "b"}}, "projects": {
        "/projects/shop": {"mcpServers": {"a": {"command": "local"}}},
        "/projects/other": {"mcpServers": {"c": {"command": "c"}}}}}"""
    reading = read("claude-code", text, Origin("/home/ada", project="/projects/shop", home="/home/ada"))
    assert {entry.name: entry.value for entry in reading.entries} == {
        "a": {"command": "local", "cwd": "/projects/shop"},
        "b": {"command": "b"},
    }
    assert [(one.name, one.reason) for one in reading.skipped] == [
        ("a", "another of this name in the same file counts before it")
    ]
    assert reading.notes == ("servers of other projects stay where they are: run this in /projects/other",)


@pytest.mark.parametrize("text", ['{"mcpServers": 5}', '{"mcpServers": []}', '{"mcpServers": "x"}'])
def test_servers_that_are_no_object_are_told_of(text: str) -> None:
    assert read("cursor", text) == Reading(notes=("mcpServers is not an object, so no server was read",))


def test_a_file_with_thousands_of_servers_is_read_up_to_a_bound() -> None:
    many = ", ".join(f'"s{number}": {{"command": "x"}}' for number in range(600))
    reading = read("cursor", f'{{"mcpServers": {{{many}}}}}')
    assert len(reading.entries) == 500
    assert reading.notes == ("100 servers past the first 500 were not read",)


@pytest.mark.parametrize("name", ["", " ", "\u001b[2J", "x" * 101])
def test_a_name_that_cannot_be_shown_costs_its_server_alone(name: str) -> None:
    reading = read(
        "cursor",
        f'{{"mcpServers": {{"{name}": {{"command": "x"}}, "good": {{"command": "x"}}}}}}'.replace("\u001b", "\\u001b"),
    )
    assert [entry.name for entry in reading.entries] == ["good"]
    assert [one.reason for one in reading.skipped] == ["its name cannot be used here"]


# A path, what the file holds, whose it is.
OWNERS = [
    ("/x/claude_desktop_config.json", '{"mcpServers": {}}', "claude-desktop"),
    ("/x/.mcp.json", '{"mcpServers": {}}', "claude-code"),
    ("/x/.cursor/mcp.json", '{"mcpServers": {}}', "cursor"),
    ("/x/.vscode/mcp.json", '{"servers": {}}', "vscode"),
    ("/x/.lmstudio/mcp.json", '{"mcpServers": {}}', "lm-studio"),
    ("/x/.codeium/windsurf/mcp_config.json", '{"mcpServers": {}}', "windsurf"),
    ("/x/.gemini/settings.json", '{"mcpServers": {}}', "gemini"),
    ("/x/.codex/config.toml", "", "codex"),
    ("/x/zed/settings.json", '{"context_servers": {}}', "zed"),
    ("/x/opencode.jsonc", '{"mcp": {}}', "opencode"),
    ("/x/config/mcporter.json", '{"mcpServers": {}}', "mcporter"),
    ("/x/.copilot/mcp-config.json", '{"mcpServers": {}}', "copilot"),
    ("/x/.openclaw/openclaw.json", '{"mcp": {"servers": {}}}', "openclaw"),
    ("/x/anything.json", '{"mcpServers": {}}', "claude-code"),
]


@pytest.mark.parametrize(("file", "text", "owner"), OWNERS)
def test_a_file_is_known_by_its_path_and_what_is_in_it(file: str, text: str, owner: str) -> None:
    assert guess(text, file).id == owner


def test_a_file_of_nobody_is_an_error_that_says_what_to_type() -> None:
    with pytest.raises(ConfigError, match="no servers of a program that is known here are in this file"):
        guess('{"a": 1}', "/x/y.json")
