"""The command line as a person uses it: real processes, an empty home, nothing configured unless a test says so."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from openclaw.security.grants import GrantStore
from parts.program import OPENCLAW, STDIO_SERVER, Program, Ran, server_entry
from parts.terminal import CONTROL_D, ENTER, Terminal


@pytest.fixture
def person(tmp_path: Path) -> Program:
    return Program.under(tmp_path)


def write(person: Program, name: str, text: str) -> None:
    path = person.workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


# The offline model


@pytest.mark.parametrize(
    ("typed", "tool", "arguments"),
    [
        ("read README.md", "read", {"path": "README.md"}),
        ("show me the contents of src/app.py", "read", {"path": "src/app.py"}),
        ("cat notes.txt", "read", {"path": "notes.txt"}),
        ("what's inside config.toml?", "read", {"path": "config.toml"}),
        ("what files are in docs?", "ls", {"path": "docs"}),
        ("list the files in ./src", "ls", {"path": "./src"}),
        ("ls", "ls", {}),
        ("search for TODO in src", "grep", {"pattern": "TODO", "path": "src"}),
        ("find 'hello world' in README.md", "grep", {"pattern": "hello world", "path": "README.md"}),
        ("grep for import in src/app.py", "grep", {"pattern": "import", "path": "src/app.py"}),
    ],
)
def test_plain_words_reach_the_right_file_tool_without_a_model(
    person: Program, typed: str, tool: str, arguments: dict[str, str]
) -> None:
    for name in ("README.md", "src/app.py", "notes.txt", "config.toml", "docs/a.md"):
        write(person, name, "hello world\nimport os  # TODO\n")
    ran = person.run("agent", "--json", "-m", typed)
    assert [(call["name"], call["arguments"], call["isError"]) for call in ran.data["toolCalls"]] == [
        (tool, arguments, False)
    ]


def test_hello_calls_nothing_and_says_what_it_is(person: Program) -> None:
    reply = person.run("agent", "--json", "-m", "hello").data
    assert reply["toolCalls"] == []
    assert "not a language model" in reply["text"]


def test_a_denied_tool_that_is_named_is_told_with_the_rule_and_no_other_runs_instead(person: Program) -> None:
    person.configure("{tools: {deny: ['write']}}")
    write(person, "notes.txt", "milk")
    reply = person.run("agent", "--json", "-m", "write path=notes.txt content=eggs").data
    assert [(call["name"], call["isError"]) for call in reply["toolCalls"]] == [("write", True)]
    assert "write is not available: " in reply["text"]
    assert "tools.deny" in reply["text"]


def test_json_is_one_object_with_everything_about_the_answer(person: Program) -> None:
    reply = person.run("agent", "--json", "--session-key", "trip", "-m", "ls").data
    assert sorted(reply) == ["media", "model", "sessionKey", "text", "toolCalls", "usage"]
    assert (reply["sessionKey"], reply["model"]) == ("agent:main:trip", "builtin/offline")


def test_the_answer_goes_to_stdout_and_what_happens_on_the_way_to_stderr(person: Program) -> None:
    write(person, "notes.txt", "remember the milk")
    ran = person.run("agent", "-m", "read notes.txt")
    assert ran.out.startswith("remember the milk")
    assert ran.err.startswith("→ read(path='notes.txt')\n← read done")
    assert "\x1b" not in ran.out + ran.err


def test_a_message_may_come_from_stdin_or_without_an_option(person: Program) -> None:
    write(person, "notes.txt", "remember the milk")
    assert person.run("agent", "-m", "-", stdin="read notes.txt").out.startswith("remember the milk")
    assert person.run("agent", "read", "notes.txt").out.startswith("remember the milk")


def test_an_attached_text_reaches_the_conversation(person: Program) -> None:
    write(person, "letter.txt", "Dear Sir")
    person.run("agent", "--session-key", "k", "--attach", "letter.txt", "-m", "hello")
    assert "Dear Sir" in person.run("sessions", "export", "agent:main:k").out


def test_a_file_that_cannot_be_attached_is_named(person: Program) -> None:
    ran = person.run("agent", "--attach", "missing.txt", "-m", "hello")
    assert (ran.code, ran.err) == (2, "error: --attach missing.txt: No such file or directory.\n")


# Config


def test_every_wrong_key_is_reported_at_once_with_its_line_and_the_nearest_name(person: Program) -> None:
    person.configure('{"agents":\n{"defaults":{"model":{"primry":"x"},\n"toolz":1}}}')
    ran = person.run("status")
    first, second = ran.err.splitlines()
    assert ran.code == 2
    assert "openclaw.json:2:" in first
    assert "agents.defaults.model.primry" in first
    assert "primary" in first
    assert "openclaw.json:3:" in second
    assert "agents.defaults.toolz" in second
    assert "tools" in second


def _directory(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b'{"agents": {'),
        lambda path: path.write_bytes(b'{"a": "\xff\xfe"}'),
        lambda path: path.write_bytes(b" " * 50_000_000),
        lambda path: path.mkdir(),
        lambda path: os.mkfifo(path),
    ],
    ids=["half-written", "not UTF-8", "huge", "a directory", "a pipe"],
)
def test_a_file_that_cannot_be_used_gets_one_clear_line_and_exit_code_2(person: Program, spoil: object) -> None:
    person.config.parent.mkdir()
    spoil(person.config)  # type: ignore[operator]
    ran = person.run("status")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "openclaw.json" in ran.err
    assert "Traceback" not in ran.err


def test_set_keeps_every_comment_and_get_shows_what_was_set(person: Program) -> None:
    person.configure("// mine\n{\n  agents: {defaults: {model: 'a/b'}}, // trailing\n}\n")
    assert person.run("config", "set", "agents.defaults.model", "builtin/offline").code == 0
    assert person.config.read_text() == "// mine\n{\n  agents: {defaults: {model: 'builtin/offline'}}, // trailing\n}\n"
    assert person.run("config", "get", "agents.defaults.model").out == "builtin/offline\n"


def test_a_change_that_would_break_the_file_is_not_written(person: Program) -> None:
    person.configure("{}")
    ran = person.run("config", "set", "gateway.port", "lots")
    assert (ran.code, person.config.read_text()) == (2, "{}")
    assert "gateway.port" in ran.err


def test_a_broken_file_that_is_to_be_changed_is_named(person: Program) -> None:
    person.configure("{gateway: {")
    ran = person.run("config", "set", "gateway.port", "1")
    assert (ran.code, ran.err.startswith(f"config: {person.config}:1:")) == (2, True)


def test_a_misspelt_command_of_a_server_is_told_apart_from_a_missing_one(person: Program) -> None:
    person.configure("{mcp: {servers: {t: {comand: 'python3'}}}}")
    assert 'Did you mean "command" by "comand"?' in person.run("config", "validate").out


def test_a_change_that_names_nothing_is_written_with_a_warning_about_that_change_alone(person: Program) -> None:
    person.configure("{agents: {defaults: {model: 'nosuch/model'}}}")
    ran = person.run("config", "set", "tools.allow", "['raed']")
    assert (ran.code, ran.err.count("warning: ")) == (0, 1)
    assert 'tools.allow.0: "raed" is the name of no tool and of no group. Did you mean "read"?' in ran.err


def test_a_setting_of_a_server_that_is_misspelt_is_written_with_a_warning(person: Program) -> None:
    person.configure("{mcp: {servers: {t: {command: 'python3'}}}}")
    ran = person.run("config", "set", "mcp.servers.t.requestTimeoutMS", "5000")
    assert (ran.code, ran.err.count("warning: ")) == (0, 1)
    assert 'mcp.servers.t.requestTimeoutMS: unknown key, ignored. Did you mean "requestTimeoutMs"?' in ran.err


def test_credentials_are_not_printed(person: Program) -> None:
    person.configure(
        '{models: {providers: {x: {baseUrl: "http://127.0.0.1:1/v1", apiKey: "sk-0123456789abcdefghijkl"}}}}'
    )
    shown = person.run("config", "get", "models").out
    assert "sk-0123" not in shown
    assert "[REDACTED]" in shown


def test_credentials_are_not_printed_wherever_they_hide_in_a_servers_entry(person: Program) -> None:
    person.configure(
        """{mcp: {servers: {shop: {
            command: "shop", args: ["--api-key", "hidden-one", "--token=hidden-two", "--mode", "production"],
            env: {STRIPE_KEY: "hidden-three", MODE: "production", LATER: "${SHOP_LATER}"}, passEnv: ["SHOP_PASSED"],
        }, web: {url: "https://api.example.org/mcp?key=hidden-four", headers: {"X-Shop-Key": "hidden-five"}}}}}"""
    )
    for asked in ("mcp", "mcp.servers", "mcp.servers.shop.args", "mcp.servers.shop.args.1", "mcp.servers.web.url"):
        shown = person.run("config", "get", asked).out
        assert "hidden" not in shown, asked
        assert "[REDACTED]" in shown
    assert "production" in person.run("config", "get", "mcp.servers.shop").out


def test_the_schema_describes_every_field(person: Program) -> None:
    schema = person.run("config", "schema").data
    assert schema["$defs"]["Root"]["properties"]["mcp"]["description"]


def test_the_path_is_the_one_the_environment_names(person: Program) -> None:
    elsewhere = str(person.home / "other.json5")
    assert person.run("config", "path").out.strip() == str(person.config)
    assert person.run("config", "path", OPENCLAW_CONFIG_PATH=elsewhere).out.strip() == elsewhere
    assert person.run("config", "path", "--config", elsewhere).out.strip() == elsewhere


# Conversations


def test_a_conversation_goes_on_in_another_process_and_can_be_seen_and_deleted(person: Program) -> None:
    write(person, "notes.txt", "remember the milk")
    person.run("agent", "--session-key", "trip", "-m", "read notes.txt")
    person.run("agent", "--session-key", "trip", "-m", "hello")
    (listed,) = person.run("sessions", "--json").data
    assert (listed["key"], listed["agent"], listed["messages"]) == ("agent:main:trip", "main", 6)
    assert "remember the milk" in person.run("sessions", "show", "agent:main:trip").out
    lines = [json.loads(line) for line in person.run("sessions", "export", "agent:main:trip").out.splitlines()]
    assert [line["type"] for line in lines] == ["session", *["message"] * 6]
    assert person.run("sessions", "--store", "file", "--active", "5").out.count("agent:main:trip") == 1
    assert person.run("sessions", "delete", "agent:main:trip").code == 0
    assert person.run("sessions", "show", "agent:main:trip").code == 1


def test_a_chat_over_a_pipe_answers_every_line(person: Program) -> None:
    write(person, "notes.txt", "remember the milk")
    ran = person.run("chat", stdin="/help\nread notes.txt\n/new\n/tools\n/status\n/nwe\n")
    assert ran.code == 0
    assert "/new" in ran.out
    assert "remember the milk" in ran.out
    assert "A new conversation." in ran.out
    assert 'error: There is no command /nwe. Did you mean "/new"?' in ran.err


def test_a_skill_can_be_used_by_its_name_in_a_chat(person: Program) -> None:
    ran = person.run("chat", stdin="/skill mcp servers\n/skill\n/skill mpc\n/reset\n/exit\n/status\n")
    assert (
        ran.out
        == "No MCP servers are configured. Add one: openclaw mcp connect URL, or under mcp.servers in openclaw.json.\nA new conversation.\n"
    )
    assert ran.err.splitlines()[1:] == [
        "error: /skill needs the name of a skill. Type /help to see them.",
        'error: There is no command /mpc. Did you mean "/mcp"?',
    ]


# Tools and policy


def test_tools_explain_names_the_rule_and_its_place(person: Program) -> None:
    person.configure('{\n  tools: {deny: ["write"]}\n}')
    listed = {tool["name"] for tool in person.run("tools", "--json").data}
    assert listed == {"read", "edit", "ls", "grep", "web_fetch"}
    found = person.run("tools", "explain", "write", "--json")
    assert (found.code, found.data["available"], found.data["where"]) == (1, False, "openclaw.json:2 tools.deny")


def test_tools_explain_says_whether_a_call_is_asked_about_and_by_which_rule(person: Program) -> None:
    person.configure('{\n  tools: {approval: {deny: ["edit"],\n    allow: ["write(path=notes/**)"]}}\n}')
    said = {name: person.run("tools", "explain", name).out.splitlines()[-1] for name in ("read", "write", "edit")}
    assert said == {
        "read": '  a call runs without a question: it only reads (tools.approval.mode "writes")',
        "write": '  a call is asked about: it changes things and no rule allows it (tools.approval.mode "writes"); its arguments '
        'decide: allow "write(path=notes/**)" (openclaw.json:3 tools.approval.allow)',
        "edit": '  a call is refused: deny "edit" names it (openclaw.json:2 tools.approval.deny)',
    }


def test_approvals_explain_says_what_becomes_of_one_call_now_and_after_foreign_text(person: Program) -> None:
    person.configure('{\n  tools: {alsoAllow: ["exec"],\n    approval: {allow: ["write(path=notes/**)"]}}\n}')
    words = {"write": ("path=notes/a.md", "content=milk"), "read": ("path=a.md",), "exec": ('command=["ls"]',)}
    ran = {name: person.run("approvals", "explain", name, *given) for name, given in words.items()}
    now = 'is asked about, and runs where nobody can be: it changes things and no rule allows it (tools.approval.mode "writes")'
    later = "is asked about, and is refused where nobody can be"
    assert {name: (done.code, done.out.splitlines()) for name, done in ran.items()} == {
        "write": (
            0,
            [
                'write (write) runs: allow "write(path=notes/**)" names it (openclaw.json:3 tools.approval.allow)',
                f"  after text that nobody checked, a call with values from there {later}: the value of path came from "
                "somebody else and the value of content came from somebody else (tools.approval.taint)",
            ],
        ),
        "read": (0, ['read (read) runs: it only reads (tools.approval.mode "writes")']),
        "exec": (
            1,
            [
                f"exec (write, exec) {now}",
                f"  after text that nobody checked, a call {later}: it runs a program after text of somebody else was read "
                "(tools.approval.taint)",
            ],
        ),
    }


def test_tools_explain_says_where_it_looked_for_a_name_nobody_offers(person: Program) -> None:
    found = person.run("tools", "explain", "raed", "--json").data
    assert found["reason"] == 'nothing offers a tool of this name. Did you mean "read"?'
    assert found["looked"]


# Servers


def test_a_configured_server_is_listed_called_and_used_in_a_turn(person: Program) -> None:
    person.configure(f"{{mcp: {{servers: {{parts: {server_entry()}}}}}}}")
    assert "parts__echo" in {tool["name"] for tool in person.run("mcp", "tools", "--json").data}
    assert person.run("mcp", "call", "parts__echo", "text=hi").out == "hi\n"
    reply = person.run("agent", "--json", "-m", 'parts__echo {"text": "good day"}').data
    assert [call["name"] for call in reply["toolCalls"]] == ["parts__echo"]
    assert "good day" in reply["text"]
    (server,) = person.run("mcp", "servers", "--json").data
    assert (server["name"], server["state"], server["transport"]) == ("parts", "ready", "stdio")
    assert "Status: Works | " in person.run("mcp", "servers").out


def test_a_failed_call_has_exit_code_1_and_its_reason(person: Program) -> None:
    person.configure(f"{{mcp: {{servers: {{parts: {server_entry()}}}}}}}")
    ran = person.run("mcp", "call", "parts__crash", "code=3")
    assert ran.code == 1
    assert "Traceback" not in ran.err


def test_a_denied_server_tool_cannot_be_called_by_hand_either(person: Program) -> None:
    person.configure(f'{{tools: {{deny: ["parts__echo"]}}, mcp: {{servers: {{parts: {server_entry()}}}}}}}')
    ran = person.run("mcp", "call", "parts__echo", "text=hi")
    assert (ran.code, ran.out) == (2, "")
    assert 'parts__echo may not be used: deny "parts__echo" (openclaw.json:1 tools.deny)' in ran.err


def test_a_call_by_hand_leaves_the_trail_that_every_call_leaves(person: Program) -> None:
    write(person, "a.txt", "hi")
    script = str(Path(__file__).parent.parent / "parts" / "files_server.py")
    entry = json.dumps({"command": sys.executable, "args": [script, str(person.workspace)]})
    person.configure(f'{{tools: {{deny: ["files__list_directory"]}}, mcp: {{servers: {{files: {entry}}}}}}}')
    read, listed = "files__read_text_file", "files__list_directory"
    assert person.run("mcp", "call", read, f"path={person.workspace / 'a.txt'}").out == "hi\n"
    wrong = person.run("mcp", "call", read, "pth=a.txt")
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err.startswith(f"error: {read} was not called: The arguments do not fit their schema")
    assert person.run("mcp", "call", listed, "path=/").code == 2
    trail = [json.loads(line) for line in person.run("audit", "export").out.splitlines()]
    assert [(one["event"], one["tool"], one.get("outcome"), one.get("resultBytes")) for one in trail] == [
        ("request", read, None, None),
        ("outcome", read, "ok", 2),
        ("request", read, None, None),
        ("outcome", read, "invalid", None),
        ("request", listed, None, None),
        ("outcome", listed, "refused", None),
    ]


def test_a_call_that_a_rule_refused_says_why_and_the_trail_tells_what_became_of_approvals(person: Program) -> None:
    person.configure('{tools: {approval: {deny: ["write"], ask: ["edit"]}}}')
    ran = person.run("agent", "-m", "write path=a.txt content=hi")
    assert '← write was not called: deny "write" names it (openclaw.json:1 tools.approval.deny)' in ran.err
    write(person, "b.txt", "hi")
    ran = person.run("agent", "--yes", "-m", "edit path=b.txt old_text=hi new_text=ho")
    assert (person.workspace / "b.txt").read_text() == "ho", ran.err
    lines = [line.split() for line in person.run("audit", "tail").out.splitlines()]
    # A day and a time of day stand before it.
    assert [line[2:] for line in lines if line[2] == "approval"] == [
        ["approval", "write", "main", "refused"],
        ["approval", "edit", "main", "accepted"],
    ]


@pytest.mark.parametrize("before", ["// Mine.\n{ gateway: { port: 0 } } // So far.\n", "{mcp: {servers: {}}}", ""])
def test_a_server_that_can_never_work_leaves_the_file_as_it_was(person: Program, before: str) -> None:
    if before:
        person.configure(before)
    ran = person.run("mcp", "connect", "--yes", "/no/such/program")
    assert (ran.code, "program was not added" in ran.err) == (1, True)
    assert (person.config.read_text() if before else person.config.exists()) == (before or False)


@pytest.mark.parametrize(
    ("typed", "granted"), [(["y"], ["echo", "log"]), (["choose", "n", "y"], ["log"]), ([""], []), (["n"], [])]
)
def test_connecting_a_server_asks_once_about_the_tools_that_say_they_only_read(
    person: Program, typed: list[str], granted: list[str]
) -> None:
    words = ["mcp", "connect", "--name", "parts", "--", sys.executable, STDIO_SERVER, "--reading", "echo,log"]
    with Terminal([OPENCLAW, *words], cwd=person.workspace, env=person.env()) as terminal:
        terminal.shows("Add and run it? [y/N] ")
        terminal.type("y\r")
        terminal.shows("17 tools. 2 say that they only read. Allow those without asking? [y/N/choose] ")
        for place, word in enumerate(typed):
            if place:
                terminal.shows("without asking? [y/N] ")
            terminal.type(f"{word}\r")
        assert terminal.ends()[0] == 0
    grants = GrantStore(person.config.parent / "py" / "approvals.json").all()
    assert [(grant.tool, grant.as_read, grant.agent) for grant in grants] == [(name, True, "") for name in granted]
    asked = person.run("tools", "explain", "parts__log").out
    assert ("runs without a question: it only reads" in asked) is bool(granted)


def test_connect_writes_the_config_and_remove_takes_it_out_again(person: Program) -> None:
    person.configure("{ // mine\n}\n")
    script = str(Path(__file__).parent.parent / "parts" / "stdio_server.py")
    assert person.run("mcp", "connect", sys.executable, script).code == 2
    assert person.run("mcp", "connect", "--yes", "--name", "parts", sys.executable, script).code == 0
    assert "// mine" in person.config.read_text()
    assert person.run("mcp", "call", "parts__echo", "text=hi").out == "hi\n"
    assert person.run("mcp", "remove", "parts").code == 0
    assert person.run("mcp", "servers", "--json").data == []


def test_a_server_that_can_never_work_is_not_kept(person: Program) -> None:
    ran = person.run("mcp", "connect", "--yes", "no-such-program-anywhere")
    assert ran.code == 1
    assert "no-such-program-anywhere" in ran.err
    assert person.run("mcp", "servers", "--json").data == []


def test_slash_mcp_in_chat_runs_the_same_commands(person: Program) -> None:
    person.configure(f"{{mcp: {{servers: {{parts: {server_entry()}}}}}}}")
    ran = person.run("chat", stdin="/mcp call parts__echo text=hi\n/mcp servres\n/mcp connect python3 x.py\n")
    assert "hi\n" in ran.out
    assert 'Did you mean "servers"?' in ran.err
    assert "can only be added from a terminal" in ran.err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("mcp status", "mcp servers"),
        ("config show", "config get"),
        ("config show models", "config get models"),
        ("history", "sessions"),
        ("tool list", "tools"),
        ("resume", "chat --resume"),
        ("continue --session-key x", "chat --continue --session-key x"),
        ("run ls", "agent ls"),
    ],
)
def test_words_that_people_try_do_what_they_mean(person: Program, typed: str, meant: str) -> None:
    person.configure(f"{{models: {{mode: 'replace'}}, mcp: {{servers: {{parts: {server_entry()}}}}}}}")
    assert person.run(*typed.split()) == person.run(*meant.split())


# The program itself


def test_where_no_gateway_runs_a_server_that_was_not_tried_is_not_said_to_be_stopped(person: Program) -> None:
    slow = json.dumps({**json.loads(server_entry("--initialize", "silent")), "connectionTimeoutMs": 1_100})
    person.configure(f"{{mcp: {{servers: {{parts: {server_entry()}, slow: {slow}}}}}}}")
    assert person.run("mcp", "refresh", "slow").code == 1
    ran = person.run("status")
    assert "  Server    parts  starts when needed, its tools are not known yet\n" in ran.out
    late = "starts when needed (it did not come up within 1.1 s), its tools are not known yet"
    assert f"  Server    slow  {late}\n" in ran.out
    assert "This command started no server; to try each: openclaw mcp servers\n" in ran.out
    assert "stopped" not in ran.out


def test_status_says_which_model_and_whether_it_has_its_key(person: Program) -> None:
    person.configure('{agents: {defaults: {model: "openai/gpt-5"}}}')
    (agent,) = person.run("status", "--json").data["agents"]
    assert agent["model"] == "openai/gpt-5"
    assert "OPENAI_API_KEY" in agent["problem"]


@pytest.mark.parametrize("command", ["status", "doctor --offline"])
def test_status_and_doctor_say_where_a_key_comes_from_and_never_the_key(person: Program, command: str) -> None:
    person.configure(
        '{models: {providers: {openai: {apiKey: "sk-plain-in-config-0123456789"}}}, agents: {defaults: {model: "openai/gpt-5"}}}'
    )
    ran = person.run(*command.split())
    assert "model openai/gpt-5, key from the config at models.providers.openai.apiKey" in ran.out
    assert "sk-plain" not in ran.out + ran.err


@pytest.mark.parametrize("line", [("status",), ("config", "validate"), ("agent", "-m", "hello")])
def test_a_model_of_a_provider_that_does_not_exist_is_a_config_error_with_its_place(
    person: Program, line: tuple[str, ...]
) -> None:
    person.configure('{\n  agents: {defaults: {model: {primary: "opnai/x"}}},\n}')
    ran = person.run(*line)
    assert ran.code == 2
    assert (
        "openclaw.json:2:31: agents.defaults.model.primary: There is no model provider named 'opnai'. Did you mean \"openai\"?"
        in ran.out + ran.err
    )


def test_unset_takes_a_setting_out_and_keeps_every_comment(person: Program) -> None:
    person.configure("{\n  // mine\n  tools: {deny: ['exec']}, // theirs\n  logging: {level: 'info'},\n}\n")
    assert person.run("config", "unset", "tools.deny").code == 0
    assert person.config.read_text() == "{\n  // mine\n  tools: {}, // theirs\n  logging: {level: 'info'},\n}\n"
    ran = person.run("config", "unset", "tools.deny")
    assert (ran.code, ran.err) == (2, "error: Nothing is set at tools.deny.\n")


def test_a_word_that_is_not_one_of_the_allowed_ones_is_named_with_them(person: Program) -> None:
    ran = person.run("config", "set", "tools.profile", "codign")
    assert ran.code == 2
    assert (
        'tools.profile: expected "coding", "full", "messaging" or "minimal", found "codign". Did you mean "coding"?'
        in ran.err
    )


def test_doctor_finds_a_config_that_others_may_read(person: Program) -> None:
    person.configure("{}")
    os.chmod(person.config, 0o644)
    ran = person.run("doctor", "--json")
    assert ran.code == 0
    assert any(check["state"] == "warning" and "chmod 600" in check["fix"] for check in ran.data["checks"])


INTERRUPTED_WHILE_LOADING = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "openclaw.commands.dispatch":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""


def test_ctrl_c_while_the_program_loads_ends_it_without_a_word(person: Program, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTED_WHILE_LOADING)
    assert person.run("tools", PYTHONPATH=str(tmp_path)) == Ran(-signal.SIGINT, "", "")


def test_a_closed_pipe_ends_the_program_quietly(person: Program) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [OPENCLAW, "config", "schema"],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        cwd=person.workspace,
        env=person.env(),
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_call_in_a_pipe_loads_nothing_that_it_has_no_use_for(person: Program) -> None:
    person.configure(f"{{mcp: {{servers: {{parts: {server_entry()}}}}}}}")
    program = (
        "import sys; from openclaw.cli.local import run; from openclaw.program import ROOT; "
        "run(['mcp', 'call', 'parts__echo', 'text=hi'], ROOT); print(*sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=person.workspace,
        env=person.env(),
        check=False,
    )
    said, modules = done.stdout.splitlines()
    assert (done.returncode, done.stderr, said) == (0, "", "hi")
    needless = {
        # For programs that embed the engine.
        *("openclaw.mcp.embedding", "openclaw.mcp.in_process", "openclaw.mcp.typed_handlers"),
        *("openclaw.mcp.model_messages", "openclaw.tool_form", "openclaw.transport.memory"),
        # For other commands, for servers that are used once, and for a person who is asked.
        *("openclaw.commands.mcp", "openclaw.commands.used_once", "openclaw.commands.trial"),
        *("openclaw.asking.questions", "openclaw.asking.approval_words", "openclaw.security.suggestion"),
        # For HTTP, agents, conversations, many gateways and traces.
        *("openclaw.net.client", "openclaw.security.egress", "openclaw.app", "openclaw.agent", "openclaw.models"),
        *(
            "openclaw.sessions",
            "openclaw.fleet",
            "openclaw.telemetry.telemetry",
            "openclaw.auth",
            "openclaw.gateway.gateway",
        ),
        *("aiohttp", "rich", "prompt_toolkit", "cryptography", "yaml", "html.entities", "sqlite3"),
    }
    assert needless & set(modules.split()) == set()


def test_a_command_that_serves_nothing_never_loads_the_http_server_library(person: Program) -> None:
    program = (
        "import sys; from openclaw.cli.local import run; from openclaw.program import ROOT; run(['status'], ROOT); "
        "sys.exit(int('aiohttp' in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=person.workspace,
        env=person.env(),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("line", ["", "--help", "mcp", "mcp call --help", "config", "sessions --help"])
def test_help_is_there_for_every_group(person: Program, line: str) -> None:
    ran = person.run(*line.split())
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Usage: openclaw")


def test_help_lists_what_people_type_and_not_what_programs_use(person: Program) -> None:
    ran = person.run("-h")
    listed = {words[0] for line in ran.out.splitlines() if line.startswith("  ") and (words := line.split())}
    assert ({"agent", "chat", "mcp-server"} & listed, {"line", "order"} & listed) == (
        {"agent", "chat", "mcp-server"},
        set(),
    )
    assert person.run("order", "-h").out.startswith("Usage: openclaw order")


GREET = {
    "name": "greet",
    "arguments": [{"name": "who", "description": "Whom to greet.", "required": True}, {"name": "tone"}],
}


def test_resources_and_prompts_are_listed_though_another_server_is_away(person: Program) -> None:
    plan = person.home / "plan.json"
    plan.write_text(json.dumps({"resources": {"notes://today": "buy milk"}, "prompts": [GREET]}))
    script = str(Path(__file__).parent.parent / "parts" / "planned_server.py")
    shop = {"command": sys.executable, "args": [script, str(plan), str(person.home / "log")]}
    away = {"command": sys.executable, "args": ["-c", "pass"]}
    person.configure(json.dumps({"mcp": {"servers": {"away": away, "shop": shop}}}))
    resources, prompts = person.run("mcp", "resources", "--json"), person.run("mcp", "prompts", "--json")
    assert [(row["server"], row["uri"]) for row in resources.data] == [("shop", "notes://today")]
    who = {"name": "who", "description": "Whom to greet.", "required": True}
    tone = {"name": "tone", "description": "", "required": False}
    assert prompts.data == [{"server": "shop", "name": "greet", "description": "", "arguments": [who, tone]}]
    assert "/shop:greet  who tone?" in person.run("mcp", "prompts").out
    for ran in (resources, prompts):
        assert ran.err.startswith("MCP server 'away' is not available: ")
        assert ran.code == 0
    unknown = person.run("mcp", "prompt", "shop:zzz")
    assert (unknown.code, unknown.err) == (2, "error: There is no prompt zzz. Try: openclaw mcp prompts shop\n")
    slashed, bare = person.run("mcp", "prompt", "shop/greet"), person.run("mcp", "prompt", "greet")
    assert (slashed.code, slashed.err) == (2, 'error: shop/greet is no prompt. Did you mean "shop:greet"?\n')
    assert (bare.code, bare.err) == (2, "error: The name of the prompt is missing. Try: openclaw mcp prompts\n")
    alone = person.run("mcp", "prompt", "greet", "who=Ann")
    sentence = "greet stands without its server. openclaw mcp prompts lists each as SERVER:PROMPT."
    assert (alone.code, alone.err) == (2, f"error: {sentence}\n")
    filled = person.run("mcp", "prompt", "shop", "greet", "Ann", "--json")
    assert "description" not in filled.data
    # As the list names it.
    assert person.run("mcp", "prompt", "/shop:greet", "Ann", "--json") == filled
    unread = person.run("mcp", "read", "shop", "notes://never")
    sentence = "The resource notes://never of MCP server 'shop' cannot be read: No such resource: notes://never"
    assert (unread.code, unread.err) == (1, f"error: {sentence}\n")


def test_a_changed_tool_is_told_by_a_refresh_and_shown_as_it_is_indented(person: Program) -> None:
    plan, entry = person.home / "plan.json", {"name": "add", "inputSchema": {"type": "object"}}
    plan.write_text(json.dumps({"tools": [entry]}))
    script = str(Path(__file__).parent.parent / "parts" / "planned_server.py")
    shop = {"command": sys.executable, "args": [script, str(plan), str(person.home / "log")]}
    person.configure(json.dumps({"mcp": {"servers": {"shop": shop}}}))
    assert person.run("mcp", "refresh").out == "shop: 1 tool\n"
    plan.write_text(json.dumps({"tools": [{**entry, "inputSchema": {"type": "object", "required": ["a"]}}]}))
    changed = (
        "1 tool is held back because calls valid before may fail (add); see and accept it: openclaw mcp trust shop"
    )
    assert person.run("mcp", "refresh").out == f"shop: 0 tools; {changed}\n"
    for line in ('\n    +    "required": [', '\n    +      "a"'):
        assert line in person.run("mcp", "status", "shop").out
    assert '\n  +    "required": [\n  +      "a"' in person.run("mcp", "trust", "shop", "--yes").out


def test_a_list_says_for_whom_it_waits_and_one_of_a_single_server_starts_that_one_alone(person: Program) -> None:
    started = person.home / "started"
    program = f"import pathlib, sys; pathlib.Path({str(started)!r}).touch(); sys.stdin.read()"
    silent = {"command": sys.executable, "args": ["-c", program], "connectionTimeoutMs": 2000}
    person.configure(f"{{mcp: {{servers: {{parts: {server_entry()}, silent: {json.dumps(silent)}}}}}}}")
    assert "parts__echo" in person.run("mcp", "tools", "parts").out
    assert not started.exists()
    assert "MCP server 'silent' is down: The server did not come up within 2 s." in person.run("mcp", "tools").err
    assert started.exists()


def test_the_list_of_servers_tries_one_that_hangs_anew_every_time(person: Program) -> None:
    starts = person.home / "starts"
    program = f"import sys; open({str(starts)!r}, 'a').write('.'); sys.stdin.read()"
    silent = {"command": sys.executable, "args": ["-c", program], "connectionTimeoutMs": 1000}
    person.configure(f"{{mcp: {{servers: {{parts: {server_entry()}, silent: {json.dumps(silent)}}}}}}}")
    for times in (1, 2):
        listed = person.run("mcp", "servers", "--json").data
        assert [(one["name"], one["state"]) for one in listed] == [("parts", "ready"), ("silent", "restarting")]
        assert listed[1]["reason"].startswith("The server did not come up within 1 s.")
        assert len(starts.read_text()) == times


def test_a_person_at_a_terminal_may_go_on_without_the_server_that_is_awaited(person: Program) -> None:
    silent = {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"], "connectionTimeoutMs": 600_000}
    person.configure(f"{{mcp: {{servers: {{parts: {server_entry()}, silent: {json.dumps(silent)}}}}}}}")
    with Terminal([OPENCLAW, "agent", "-m", "hello"], cwd=person.workspace, env=person.env()) as terminal:
        terminal.until(lambda rows: any("Waiting for silent" in row and "Enter goes on without" in row for row in rows))
        terminal.type(ENTER)
        terminal.shows("Without silent: it is still starting.")
        assert terminal.ends()[0] == 0


def test_letters_without_enter_hold_nothing_up(person: Program) -> None:
    silent = {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"], "connectionTimeoutMs": 4000}
    person.configure(f"{{mcp: {{servers: {{silent: {json.dumps(silent)}}}}}}}")
    with Terminal([OPENCLAW, "agent", "-m", "hello"], cwd=person.workspace, env=person.env()) as terminal:
        terminal.until(lambda rows: any("Waiting for silent" in row and "Enter goes on without" in row for row in rows))
        terminal.type(f"abc{CONTROL_D}")
        terminal.shows("Without silent: it did not come up within 4 s.")
        assert terminal.ends()[0] == 0


def test_servers_past_the_limit_hold_no_command_up(person: Program) -> None:
    servers = f"{{one: {server_entry()}, two: {server_entry()}}}"
    person.configure(f"{{mcp: {{maxConcurrentServers: 1, servers: {servers}}}}}")
    listed = person.run("mcp", "servers", "--json").data
    assert [(one["name"], one["state"], one["reason"]) for one in listed] == [
        ("one", "stopped", "limit: maxConcurrentServers is 1"),
        ("two", "ready", ""),
    ]
    refreshed = person.run("mcp", "refresh")
    assert (refreshed.code, len(refreshed.out.splitlines())) == (0, 2)


def test_a_turn_past_the_limit_runs_the_tool_it_names_and_no_other(person: Program) -> None:
    servers = f"{{one: {server_entry()}, two: {server_entry()}}}"
    person.configure(f"{{mcp: {{maxConcurrentServers: 1, servers: {servers}}}}}")
    for name in ("two__echo", "one__echo"):
        reply = person.run("agent", "--json", "-m", f'{name} {{"text": "good day"}}').data
        assert [(call["name"], call["isError"]) for call in reply["toolCalls"]] == [(name, False)]
    explained = person.run("tools", "explain", "two__echo", "--json").data
    assert (explained["available"], explained["looked"]) == (True, [])
    said = person.run("chat", stdin='one__echo {"text": "aha"}\ntwo__echo {"text": "oho"}\n').out
    assert ("aha" in said, "oho" in said, "maxConcurrentServers" in said) == (True, True, False)


def test_an_unknown_name_is_explained_by_the_servers_it_tells_of_alone(person: Program) -> None:
    servers = ", ".join(f"k{number}: {server_entry()}" for number in range(6))
    person.configure(f"{{mcp: {{servers: {{{servers}}}}}}}")
    named = person.run("tools", "explain", "k3__nothing", "--json").data["looked"]
    assert [line.split(" (")[0] for line in named if "MCP" in line] == ["MCP server k3: Running"]
    (told,) = [line for line in person.run("tools", "explain", "zzz", "--json").data["looked"] if "MCP" in line]
    assert told.startswith("6 MCP servers with ")


def test_tools_that_are_missing_are_spoken_of_where_tools_are_listed(person: Program) -> None:
    script, servers = str(Path(__file__).parent.parent / "parts" / "planned_server.py"), {}
    twins = [{"name": "twin", "title": title, "inputSchema": {"type": "object"}} for title in ("One", "Two")]
    for name, plan in {"locked": {"list": "refuse"}, "twins": {"tools": twins}}.items():
        (person.home / name).write_text(json.dumps(plan))
        servers[name] = {"command": sys.executable, "args": [script, str(person.home / name), str(person.home / "log")]}
    person.configure(json.dumps({"mcp": {"servers": servers}}))
    locked, twins_list = person.run("mcp", "tools", "locked"), person.run("mcp", "tools", "twins")
    assert (locked.code, locked.out) == (1, "")
    assert locked.err == "MCP server 'locked' is up, but its tools could not be listed: Out of order.\n"
    assert "Its tools could not be listed: Out of order." in person.run("mcp", "status", "locked").out
    left_out = "1 tool cannot be used (twins__twin); `openclaw tools explain NAME` says why\n"
    assert (twins_list.code, twins_list.err) == (0, f"MCP server 'twins': {left_out}")
    assert f"  Left out      {left_out}" in person.run("mcp", "status", "twins").out


def test_a_tool_called_by_its_own_name_is_told_with_its_whole_one(person: Program) -> None:
    person.configure(f"{{mcp: {{servers: {{parts: {server_entry()}}}}}}}")
    person.run("mcp", "tools")
    ran = person.run("mcp", "call", "echo", "text=hi")
    assert (ran.code, ran.err) == (2, 'error: There is no MCP tool echo. Did you mean "parts__echo"?\n')


def test_the_status_of_a_program_that_ends_at_once_shows_what_it_wrote(person: Program) -> None:
    away = {"command": sys.executable, "args": ["-c", "import sys; sys.exit('no such folder: /notes')"]}
    unset = {"command": sys.executable, "args": ["${NOT_SET_ANYWHERE}"]}
    person.configure(json.dumps({"mcp": {"servers": {"away": away, "unset": unset}}}))
    ran = person.run("mcp", "status", "away")
    assert ran.code == 1
    assert "Z no such folder: /notes (more: openclaw mcp logs away)" in ran.out
    assert "${NOT_SET_ANYWHERE} is not set" in person.run("mcp", "status", "unset").out


def test_a_list_of_tools_fails_when_its_only_server_did(person: Program) -> None:
    away = {"command": sys.executable, "args": ["-c", "import sys; sys.exit('no such folder: /notes')"]}
    person.configure(json.dumps({"mcp": {"servers": {"away": away}}}))
    assert [person.run("mcp", "tools").code, person.run("mcp", "tools", "away").code] == [1, 1]
    person.configure(f"{{mcp: {{servers: {{parts: {server_entry()}, away: {json.dumps(away)}}}}}}}")
    assert [person.run("mcp", "tools").code, person.run("mcp", "tools", "away").code] == [0, 1]


def test_the_status_shows_the_line_that_says_what_is_wrong_and_not_the_last(person: Program) -> None:
    program = "import sys\nprint('Error: TOKEN is not set\\n    at main.js:1\\nnpm notice a new version', file=sys.stderr)\nsys.exit(1)"
    person.configure(json.dumps({"mcp": {"servers": {"away": {"command": sys.executable, "args": ["-c", program]}}}}))
    assert "Z Error: TOKEN is not set (more: openclaw mcp logs away)" in person.run("mcp", "status", "away").out


def test_a_resource_pointed_at_is_framed_and_a_prompt_is_said_as_the_persons_own_words(person: Program) -> None:
    plan = person.home / "plan.json"
    plan.write_text(
        json.dumps(
            {
                "resources": {"notes://today": "buy milk"},
                "prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}],
            }
        )
    )
    script = str(Path(__file__).parent.parent / "parts" / "planned_server.py")
    entry = json.dumps({"command": sys.executable, "args": [script, str(plan), str(person.home / "log")]})
    person.configure(f"{{mcp: {{servers: {{shop: {entry}}}}}}}")
    lines = "hello, see @shop:notes://today\n/shop:greet who=Ann\n/shop:greet\n/shop:gret who=x\n"
    ran = person.run("chat", stdin=lines)
    said = person.run("sessions", "export", "agent:main:main").out
    assert "lacks who" in ran.err
    assert 'Did you mean "greet"?' in ran.err
    messages = [json.loads(line)["message"] for line in said.splitlines() if '"role":"user"' in line]
    assert [message["content"][0]["text"] for message in messages] == [
        "hello, see @shop:notes://today",
        "/shop:greet who=Ann",
    ]
    pointed, chosen = (message["content"][1]["text"] for message in messages)
    assert "buy milk" in pointed
    assert "This is output from MCP server 'shop'." in pointed
    assert chosen == 'greet {"who": "Ann"}'
    assert '  greet {"who": "Ann"}' in ran.err
    # Where the words come from is remembered, and what they set off is asked about.
    assert [message["sources"] for message in messages] == [["", "mcp:shop"]] * 2


def test_a_server_disconnected_by_hand_stays_so_and_holds_nobody_up(person: Program) -> None:
    person.configure(f"{{mcp: {{servers: {{parts: {server_entry()}}}}}}}")
    ran = person.run("chat", stdin="/mcp servers\n/mcp disconnect parts\n/mcp servers\n/mcp restart parts\n")
    assert "Status: stopped" in ran.out
    assert ran.out.count("Running (PID") == 2


def test_a_conversation_is_found_by_the_key_it_was_given(person: Program) -> None:
    person.run("agent", "--session-key", "we/ird ../é😀", "-m", "hello")
    assert person.run("sessions", "show", "we/ird ../é😀").code == 0
    assert person.run("sessions", "delete", "we/ird ../é😀").out == "Deleted.\n"


def test_a_config_file_named_by_hand_must_be_there(person: Program) -> None:
    ran = person.run("--config", "typo.json", "agent", "-m", "hello")
    assert (ran.code, ran.out) == (2, "")
    assert "typo.json: there is no such file." in ran.err


def test_a_provider_whose_variable_is_not_set_is_not_asked_and_the_variable_is_named(person: Program) -> None:
    person.configure(
        '{models: {providers: {loc: {baseUrl: "http://127.0.0.1:9/v1", apiKey: "${NOPE_KEY}", models: ["m"]}}},'
        ' agents: {defaults: {model: "loc/m"}}}'
    )
    ran = person.run("agent", "-m", "hello")
    assert ran.code == 1
    assert "models.providers.loc cannot be used: ${NOPE_KEY} is not set." in ran.err


def test_debug_logging_tells_the_model_and_each_tool_call_with_its_time(person: Program) -> None:
    write(person, "notes.txt", "milk")
    ran = person.run("--log-level", "debug", "agent", "-m", "read notes.txt")
    assert "answers with builtin/offline" in ran.err
    assert "tool read for agent main: ok in" in ran.err


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("words", ["--version", "status", "tools", "--no-color mcp-server"])
def test_a_program_started_without_one_of_its_streams_does_its_work(person: Program, words: str, closed: str) -> None:
    command = ["sh", "-c", f'exec "$0" {words} {closed}', OPENCLAW]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=person.env(), check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)


def test_a_plugin_whose_work_refuses_to_end_does_not_keep_a_command_from_ending(person: Program) -> None:
    plugin = person.home / "clinging.py"
    plugin.write_text(
        "import asyncio\n"
        "from openclaw.plugins import PluginHandle, ToolPlugin\n"
        "async def cling():\n"
        "    while True:\n"
        "        try:\n"
        "            await asyncio.sleep(3600)\n"
        "        except asyncio.CancelledError:\n"
        "            pass\n"
        "async def initialize(context):\n"
        "    global task\n"
        "    task = asyncio.create_task(cling())\n"
        "    return PluginHandle()\n"
        "plugin = ToolPlugin(label='Clinging', description='d', initialize=initialize)\n"
    )
    person.configure(json.dumps({"plugins": {"load": {"paths": [str(plugin)]}, "entries": {"clinging": {}}}}))
    ran = person.run("tools")
    assert (ran.code, "read" in ran.out) == (0, True)


def test_a_description_is_whole_in_json_and_cut_for_the_model(person: Program) -> None:
    words = "d" * 20_000
    plan = person.home / "plan.json"
    plan.write_text(json.dumps({"tools": [{"name": "add", "description": words, "inputSchema": {"type": "object"}}]}))
    script = str(Path(__file__).parent.parent / "parts" / "planned_server.py")
    shop = {"command": sys.executable, "args": [script, str(plan), str(person.home / "log")]}
    person.configure(json.dumps({"mcp": {"servers": {"shop": shop}}}))
    assert person.run("mcp", "tools", "--json").data[0]["description"] == words
    (offered,) = [tool for tool in person.run("tools", "--json").data if tool["name"] == "shop__add"]
    assert len(offered["description"]) == len("[MCP server: shop] ") + 16_384


def test_the_doctor_warns_of_a_launcher_without_a_version(person: Program) -> None:
    servers = {
        "any": {"command": "npx", "args": ["-y", "some-server"]},
        "exact": {"command": "npx", "args": ["-y", "some-server@1.2.3"]},
    }
    person.configure(json.dumps({"mcp": {"servers": servers}}))
    said = person.run("doctor").out
    assert "!!  Server any: npx runs whatever version of some-server there is on the day\n" in said
    assert said.count("whatever version") == 1


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (("mcp", "status", "nope", "--json"), 2, "usage"),
        (("mcp", "restart", "--json"), 2, "usage"),
        (("mcp", "add", "--json"), 2, "usage"),
        (("sessions", "show", "nope", "--json"), 1, "unknown-session"),
    ],
)
def test_who_asks_for_json_gets_errors_as_json_too(
    person: Program, words: tuple[str, ...], code: int, kind: str
) -> None:
    ran = person.run(*words)
    error = ran.data["error"]
    assert (ran.code, ran.err, error["code"], error["exitCode"]) == (code, "", kind, code)
    assert error["message"]
