"""`openclaw doctor`: what it finds, and what it says to do about it."""

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from openclaw import __version__
from openclaw.commands.check import Check
from openclaw.commands.doctor import judge
from openclaw.control.instance import Holder
from openclaw.grant import Grant
from openclaw.security.grants import GrantStore
from parts.auth_server import AuthServer
from parts.command_line import local_model
from parts.gateways import Home, gateway_process, home, stdio_server
from parts.model_servers import Answer, ChatServer
from parts.program import OPENCLAW
from parts.terminal import Terminal

if sys.platform != "win32":
    from openclaw.process.guardian import VARIABLE


def checks(place: Home, *words: str) -> dict[str, dict[str, Any]]:
    run = place.run("doctor", "--json", *words)
    found = json.loads(run.stdout)
    assert (run.returncode == 0) == found["ok"]
    return {check["what"]: check for check in found["checks"]}


def test_a_fresh_home_is_well_with_and_without_a_gateway(tmp_path: Path) -> None:
    with home(tmp_path, {"mcp": {"servers": {"part": stdio_server()}}}) as place:
        place.config_file.chmod(0o600)
        alone = checks(place)
        with gateway_process(place) as gateway:
            gateway.wait_until("'part' is ready")
            asked = checks(place)

    assert {check["state"] for name, check in (alone | asked).items() if name not in ("Processes", "PATH")} == {"ok"}
    assert alone["Gateway"]["message"].startswith("none runs")
    assert asked["Gateway"]["message"] == f"runs (pid {gateway.process.pid}), and answers this"
    assert alone["Server part"]["message"].startswith("Works, ")


def test_a_server_that_a_person_stopped_stays_so_and_is_not_said_to_be_well(tmp_path: Path) -> None:
    with home(tmp_path, {"mcp": {"servers": {"part": stdio_server()}}}) as place:
        with gateway_process(place) as gateway:
            gateway.wait_until("'part' is ready")
            assert place.run("mcp", "disconnect", "part").returncode == 0
            found = checks(place)
    assert (found["Server part"]["state"], found["Server part"]["message"]) == (
        "not asked",
        "disconnected by hand: not asked",
    )


def test_a_reference_that_leads_nowhere_is_named_with_its_place(tmp_path: Path) -> None:
    entry = {"url": "http://127.0.0.1:9/mcp", "apiKey": "secret://env/NO_SUCH_VARIABLE"}
    with home(tmp_path, {"mcp": {"servers": {"far": entry}}}) as place:
        found = checks(place)["Secrets"]

    assert (found["state"], found["fix"]) == ("failed", "Look: openclaw secrets check")
    assert "NO_SUCH_VARIABLE" in found["message"]
    assert "mcp.servers.far.apiKey" in found["message"]


def test_a_misspelt_key_of_a_server_is_told_once_and_not_taken_for_another_programs(tmp_path: Path) -> None:
    entry = {**stdio_server(), "enviroment": {"A": "1"}, "codex": {}}
    with home(tmp_path, {"mcp": {"servers": {"part": entry}}, "channels": {}}) as place:
        found = json.loads(place.run("doctor", "--offline", "--json").stdout)["checks"]
    told = [check["message"] for check in found if check["what"] == "Config" and "is valid" not in check["message"]]
    assert [re.sub(r"^\S+ ", "", one) for one in told] == [
        'mcp.servers.part.enviroment: unknown key, ignored. Did you mean "environment"?',
        "and ignored, as they belong to another program: mcp.servers.part.codex, channels",
    ]


def test_a_variable_that_a_server_is_not_given_is_spoken_of(tmp_path: Path) -> None:
    entry = {**stdio_server(), "env": {"LD_PRELOAD": "/x.so", "PLAIN": "1"}, "passEnv": ["NODE_OPTIONS"]}
    with home(tmp_path, {"mcp": {"servers": {"part": entry}}}) as place:
        given = Home(place.state, {**place.env, "NODE_OPTIONS": "--enable-source-maps"})
        validated, found = json.loads(given.run("config", "validate", "--json").stdout), checks(given)["Config"]
    sentence = "The server is not started: LD_PRELOAD, NODE_OPTIONS in its env or passEnv change which code runs."
    (warning,) = validated["warnings"]
    assert (validated["ok"], found["state"]) == (True, "warning")
    for said in (warning["message"], found["message"]):
        assert f"mcp.servers.part: {sentence}" in said


def test_a_server_starts_whose_entry_passes_on_a_refused_variable_that_is_not_set(tmp_path: Path) -> None:
    with home(tmp_path, {"mcp": {"servers": {"part": {**stdio_server(), "passEnv": ["NODE_OPTIONS"]}}}}) as place:
        validated, found = json.loads(place.run("config", "validate", "--json").stdout), checks(place)
    assert (validated["ok"], validated["warnings"]) == (True, [])
    assert found["Server part"]["message"].startswith("Works, ")


def test_a_server_that_is_up_and_lists_no_tools_is_not_well(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"list": "refuse"}))
    script = str(Path(__file__).parent.parent / "parts" / "planned_server.py")
    shop = {"command": sys.executable, "args": [script, str(plan), str(tmp_path / "log")]}
    with home(tmp_path, {"mcp": {"servers": {"shop": shop}}}) as place:
        found = checks(place)["Server shop"]
    assert (found["state"], found["fix"]) == ("warning", "Look: openclaw mcp status shop")
    assert found["message"].endswith("Its tools could not be listed: Out of order, 0 tools")


def test_a_filter_of_tools_that_leaves_nothing_or_names_nothing_is_found(tmp_path: Path) -> None:
    servers = {
        "none": {**stdio_server(), "toolFilter": {"include": ["ech"]}},
        "some": {**stdio_server(), "toolFilter": {"include": ["echo"], "exclude": ["slo"]}},
    }
    with home(tmp_path, {"mcp": {"servers": servers}}) as place:
        found = checks(place)
        listed = [place.run("mcp", "tools", name) for name in ("none", "some")]
    nothing, typo = found["Server none"], found["Server some"]
    assert (nothing["state"], typo["state"]) == ("warning", "warning")
    left = re.search(r"its toolFilter leaves it no tool of \d+; ", nothing["message"])
    assert left is not None
    assert nothing["message"].endswith(f'0 tools: {left[0]}toolFilter.include "ech" names no tool of it')
    assert typo["message"].endswith('1 tool: toolFilter.exclude "slo" names no tool of it')
    assert nothing["fix"].startswith("Correct it: openclaw.json:")
    assert [(one.returncode, "toolFilter." in one.stderr) for one in listed] == [(0, True), (0, True)]


def test_conversations_that_are_kept_in_memory_are_not_said_to_be_in_a_file(tmp_path: Path) -> None:
    with home(tmp_path, {"session": {"store": "memory"}}) as place:
        assert checks(place)["Sessions"]["message"] == "0 in memory"
        assert json.loads(place.run("status", "--json").stdout)["store"] == "memory"


def test_the_author_of_a_skill_is_told_what_is_ignored_in_it(tmp_path: Path) -> None:
    skill = tmp_path / "work" / "skills" / "deploy" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: deploy\ndescription: d\ncommand-dispatch: tool\ncommand-tool: exec\n---\nGo.\n")
    with home(tmp_path, {"agents": {"defaults": {"workspace": str(tmp_path / "work")}}}) as place:
        found = json.loads(place.run("doctor", "--json").stdout)["checks"]

    told = [check for check in found if "command-dispatch" in check["message"]]
    assert [(check["what"], check["state"]) for check in told] == [("Agent main", "warning")]
    assert told[0]["message"].startswith(f"skill {skill}: ")


@pytest.mark.linux_only("/proc")
def test_a_process_that_was_left_behind_is_found(tmp_path: Path) -> None:
    left = subprocess.Popen(
        [sys.executable, "-I", "-c", "print(flush=True); input()"],
        env={**os.environ, VARIABLE: "00112233445566ff.1;"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert left.stdout is not None
        left.stdout.readline()
        with home(tmp_path) as place:
            said = place.run("doctor").stdout
    finally:
        left.kill()
        left.communicate()

    assert f"(pid {left.pid}) was left behind by a gateway that was killed\n      Run: kill {left.pid}\n" in said


HOLDER = Holder(7, __version__, 0.0, "/a/openclaw.json")
ANSWER = {"version": __version__, "url": "http://127.0.0.1:1", "configProblem": "", "restartNeeded": []}


@pytest.mark.parametrize(
    ("answer", "config", "expected"),
    [
        (ANSWER, "/a/openclaw.json", Check("Gateway", "ok", "runs (pid 7, http://127.0.0.1:1)")),
        (
            None,
            "/b/openclaw.json",
            Check(
                "Gateway",
                "warning",
                "pid 7 serves another config, /a/openclaw.json",
                "Use that config, or another OPENCLAW_STATE_DIR.",
            ),
        ),
        (None, "/a/openclaw.json", Check("Gateway", "failed", "pid 7 does not answer", "Run: kill 7")),
        (
            {**ANSWER, "version": "0.0.1"},
            "/a/openclaw.json",
            Check("Gateway", "warning", f"pid 7 is version 0.0.1, not {__version__}", "Run: openclaw gateway restart"),
        ),
        (
            {**ANSWER, "configProblem": "openclaw.json:2: no\nmore"},
            "/a/openclaw.json",
            Check("Gateway", "warning", "the config is not in use as saved: openclaw.json:2: no", "Mend the file."),
        ),
        (
            {**ANSWER, "restartNeeded": ["session.store"]},
            "/a/openclaw.json",
            Check("Gateway", "warning", "a restart is needed for: session.store", "Run: openclaw gateway restart"),
        ),
    ],
)
def test_each_way_a_gateway_can_stand_is_told(answer: Any, config: str, expected: Check) -> None:
    assert judge(HOLDER, answer, config=config) == expected


def test_a_server_or_plugin_that_does_not_run_comes_with_what_to_do(tmp_path: Path) -> None:
    sly = tmp_path / "sly.py"
    sly.write_text("raise RuntimeError('no')")
    config = {
        "agents": {"entries": {"main": {}, "b": {"mcp": {"servers": {"own": {"command": "false"}}}}}},
        "mcp": {"servers": {"far": {"url": "http://127.0.0.1:9/mcp"}}},
        "plugins": {"load": {"paths": [str(sly), "/no/such/path"]}, "entries": {"sly": {}, "absent": {}}},
    }
    with home(tmp_path, config) as place:
        found = checks(place)

    named = ("Server own", "Server far", "Plugin sly", "Plugin absent", "Plugin /no/such/path")
    fixes = {name: found[name]["fix"] for name in named}
    assert fixes == {
        "Server own": "Look: openclaw mcp logs own --agent b",
        "Server far": "Look: openclaw mcp status far",
        "Plugin sly": f"Mend {sly}, or switch it off: plugins.entries.sly.enabled.",
        "Plugin absent": "Install it, or take plugins.entries.absent out.",
        "Plugin /no/such/path": "Correct plugins.load.paths.",
    }


async def test_each_server_is_tried_anew_and_what_is_wrong_is_said_once(tmp_path: Path) -> None:
    async with AuthServer() as guarded:
        servers = {
            "refused": {"command": "sleep", "args": 600},
            "crashing": {"command": "sh", "args": ["-c", "echo NOTES_TOKEN is not set >&2; exit 3"]},
            "hanging": {"command": "sleep", "args": ["600"], "connectionTimeoutMs": 500},
            "closed": {"url": "http://127.0.0.1:9/mcp"},
            "guarded": {"url": guarded.url},
            "lazy": {"command": "sh", "args": ["-c", "exit 4"], "lazy": True},
        }
        with home(tmp_path, {"mcp": {"servers": servers}}) as place:
            twice = [await asyncio.to_thread(place.run, "doctor") for _ in range(2)]
    for run in twice:
        assert (run.returncode, SAID_OF_SERVERS in run.stdout) == (1, True), run.stdout
        assert [line.partition(" ")[2].strip() for line in run.stdout.splitlines() if "refused" in line] == [
            f"Config: {place.config_file}:1:86: mcp.servers.refused.args: {EXPECTED}."
        ]
        # Who sees the end of a long list alone is told that there is more.
        failed, warned = (run.stdout.count(f"\n{mark}  ") for mark in ("✗ ", "!!"))
        assert re.fullmatch(
            rf"Of \d+ checks: {failed} failed \(✗\), {warned} to look at \(!!\)\.", run.stdout.splitlines()[-1]
        )


async def test_a_server_that_failed_is_not_well_while_its_next_attempt_is_under_way(tmp_path: Path) -> None:
    connections = 0

    async def refuse_twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        if connections <= 2:
            writer.write(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        else:
            # The end of the doctor ends it.
            await reader.read()
        writer.close()

    async with await asyncio.start_server(refuse_twice, "127.0.0.1", 0) as refusing:
        port = refusing.sockets[0].getsockname()[1]
        servers = {
            "refusing": {"url": f"http://127.0.0.1:{port}/mcp"},
            # Long enough for a third attempt at the other, which nobody asked for.
            "hanging": {"command": "sleep", "args": ["600"], "connectionTimeoutMs": 5000},
        }
        with home(tmp_path, {"mcp": {"servers": servers}}) as place:
            found = (await asyncio.to_thread(checks, place))["Server refusing"]
    assert (found["state"], found["fix"]) == ("failed", "Look: openclaw mcp status refusing")
    assert "503" in found["message"]


def test_a_person_sees_for_whom_the_doctor_waits_and_may_go_on_without(tmp_path: Path) -> None:
    with home(tmp_path, {"mcp": {"servers": {"hanging": {"command": "sleep", "args": ["600"]}}}}) as place:
        with Terminal([OPENCLAW, "doctor"], cwd=tmp_path, env=dict(place.env)) as terminal:
            terminal.until(lambda rows: any("Waiting for hanging" in row and "Enter goes on" in row for row in rows))
            terminal.type("\r")
            terminal.shows("Server hanging: starting")
            assert terminal.ends()[0] == 0


EXPECTED = "expected a list, each item a text or a secret reference, found a number"
SAID_OF_SERVERS = """\
Server crashing: restarting (The server exited with code 3.) It wrote: NOTES_TOKEN is not set
      Look: openclaw mcp logs crashing
✗   Server hanging: restarting (The server did not come up within 0.5 s. A slow starter needs a larger `connectionTimeoutMs`.)
      Look: openclaw mcp logs hanging
✗   Server closed: unreachable (Nothing listens at http://127.0.0.1:9. Is the server running?)
      Look: openclaw mcp status closed
✗   Server guarded: needs-auth (The server 'guarded' needs you to sign in.)
      Run: openclaw mcp auth guarded
✗   Server lazy: restarting (The server exited with code 4.)
      Look: openclaw mcp logs lazy
"""


def test_programs_of_which_the_newest_is_fetched_are_told_of_in_one_line(tmp_path: Path) -> None:
    packages = {"a": "notes", "b": "trains@latest", "c": "pinned@1.2.3"}
    servers = {name: {"command": "npx", "args": ["-y", package]} for name, package in packages.items()}
    with home(tmp_path, {"mcp": {"servers": servers}}) as place:
        run = place.run("doctor", "--offline")
    assert (
        "!!  Servers a, b: npx runs whatever version of notes, trains@latest there is on the day\n"
        "      Write the version you tried, as in NAME@1.2.3: openclaw.json:1 mcp.servers.a, openclaw.json:1 mcp.servers.b\n"
    ) in run.stdout


def test_a_server_whose_program_is_missing_is_told_without_starting_it(tmp_path: Path) -> None:
    with home(tmp_path, {"mcp": {"servers": {"lost": {"command": "/no/such/program"}}}}) as place:
        found = checks(place)

    assert found["Server lost"] == {
        "what": "Server lost",
        "state": "failed",
        "message": "There is no program at /no/such/program.",
        "fix": "Check `command`.",
    }


def test_the_doctor_says_what_is_asked_about_and_what_of_it_is_of_no_use(tmp_path: Path) -> None:
    approval = {"fallback": {"order": "allow"}, "deny": ["write(file=x)", "gone__tool(a=b)"]}
    config = {
        "tools": {"approval": approval},
        "agents": {"entries": {"other": {"tools": {"approval": {"mode": "deny"}}}}},
    }
    with home(tmp_path, config) as place:
        old = (date.today() - timedelta(days=200)).isoformat()
        asyncio.run(GrantStore(place.state / "py" / "approvals.json").add(Grant("g_1", "save", "server", created=old)))
        run = place.run("doctor", "--json")
    said = [
        (check["what"], check["state"], check["message"])
        for check in json.loads(run.stdout)["checks"]
        if check["what"].startswith("Approvals")
    ]
    places = "openclaw.json:1 tools.approval.deny"
    runs = "what should be asked about runs when nobody can be asked"
    assert said == [
        ("Approvals of agent other", "warning",
         f'mode "deny", after untrusted text "ask", where nobody can be asked "untainted", for order "allow": {runs}'),
        ("Approvals", "failed", f'"write(file=x)" matches nothing: no tool of that name has an argument file ({places})'),
        ("Approvals", "warning", f'"gone__tool(a=b)" names no tool that is there now ({places})'),
        ("Approvals", "warning", "1 grant nobody has needed for 90 days"),
        ("Approvals", "ok",
         "only this OpenClaw reads tools.approval, agents.entries.other.tools.approval: "
         "one in TypeScript that shares the file refuses it"),
    ]  # fmt: skip


def test_what_is_broken_around_the_servers_is_found(tmp_path: Path) -> None:
    provider = {"baseUrl": "http://127.0.0.1:9/v1", "apiKey": "${KEY}", "api": "openai-completions", "models": ["m"]}
    config = {
        "models": {"mode": "replace", "providers": {"dead": provider}},
        "agents": {"defaults": {"model": "dead/m"}},
        "mcp": {"servers": {"part": stdio_server(), "both": {"command": "x", "url": "https://h.example/mcp"}}},
        "tools": {"allow": ["nosuch"]},
    }
    other = tmp_path / "bin" / "openclaw"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    with home(tmp_path) as plain, socket.create_server(("127.0.0.1", 0)) as taken:
        place = Home(plain.state, {**plain.env, "KEY": "k", "PATH": f"{other.parent}:{plain.env['PATH']}"})
        place.save(config, gateway={"port": taken.getsockname()[1]})
        place.paths.data_dir.mkdir(mode=0o700, exist_ok=True)
        place.paths.approvals_file.write_text("{broken")
        (place.paths.data_dir / "sessions.sqlite").write_text("nothing of ours, and long enough to be looked at")
        run = place.run("doctor", "--json")
        offline = checks(place, "--offline")
    found = [(one["what"], one["message"]) for one in json.loads(run.stdout)["checks"] if one["state"] != "ok"]
    wanted = {
        "PATH": "`openclaw` in your shell is another program",
        "Gateway": "none could start: Port ",
        "Agent main": "dead cannot be reached: Nothing listens at http://127.0.0.1:9.",
        "Approvals": "no grants are in force: ",
        "Sessions": "it is not a session store",
        "Config": "mcp.servers.both.url: the entry has a command and an address, and does not say which one is meant.",
    }
    for what, words in wanted.items():
        assert any(name == what and words in said for name, said in found), (what, found)
    assert any("its rules leave it none of " in said for _, said in found)
    assert any('allow "nosuch" names no tool' in said for _, said in found)
    assert offline["Server part"] == {"what": "Server part", "state": "not asked", "message": "not asked", "fix": ""}


async def test_a_model_that_answers_is_well_and_one_that_is_not_asked_is_said_to_be_so(tmp_path: Path) -> None:
    async with ChatServer([Answer("Yes.")]) as model:
        with home(tmp_path, local_model(model.url, model.key)) as place:
            asked = await asyncio.to_thread(place.run, "doctor")
            offline = await asyncio.to_thread(place.run, "doctor", "--offline")
    assert (
        "ok  Agent main: model local/local-model, key from the config at models.providers.local.apiKey, answered in"
        in (asked.stdout)
    )
    assert re.search("^--  Agent main: model local/local-model.*: not asked$", offline.stdout, re.MULTILINE)
    assert (asked.returncode, offline.returncode) == (0, 0)
    # Its key stands in the file.
    assert "holds a credential in plain sight\n      Run: openclaw keys set local\n" in asked.stdout
