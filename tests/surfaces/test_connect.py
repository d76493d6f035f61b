"""`openclaw mcp connect`: what works is kept, what does not is not, and why not is said."""

import json
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from openclaw.commands.typed_server import name_for, named_here
from openclaw.conversation import Answer
from openclaw.security.grants import GrantStore
from openclaw.typed_words import quote_word
from parts.auth_server import AuthServer
from parts.command_line import Home as Lone
from parts.command_line import parts_server
from parts.commands_here import run_here
from parts.gateways import Home, gateway_process, home, running, stdio_server
from parts.person import Person
from parts.program import OPENCLAW

ENDS = (sys.executable, "-S", "-c", "import sys; sys.exit('no such key\\n  at 3')")
TALKS = (sys.executable, "-S", "-c", "print('starting up now', flush=True); raise SystemExit(3)")
HANGS = (sys.executable, "-S", "-c", "import sys; sys.stdin.read()")
NOWHERE = "http://127.0.0.1:9/mcp"


def kept(place: Home) -> dict[str, Any]:
    written = json.loads(place.config_file.read_text())
    servers: dict[str, Any] = written.get("mcp", {}).get("servers", {})
    return servers


def kept_in(place: Lone) -> dict[str, Any]:
    servers: dict[str, Any] = json.loads((place.state / "openclaw.json").read_text())["mcp"]["servers"]
    return servers


@pytest.mark.parametrize("has_gateway", [False, True])
def test_what_does_not_work_is_not_added_and_its_last_words_are_shown(tmp_path: Path, has_gateway: bool) -> None:
    with home(tmp_path) as place:
        before = place.config_file.read_text()

        def tried() -> list[tuple[int, str, str]]:
            lines = [("--yes", "--", *ENDS), ("--yes", "--", *TALKS), (NOWHERE,)]
            ran = [place.run("mcp", "connect", "--name", "bad", *line) for line in lines]
            return [(one.returncode, one.stdout, one.stderr) for one in ran]

        if has_gateway:
            with gateway_process(place) as gateway:
                found = tried()
                assert "'bad' has failed" not in gateway.said
        else:
            found = tried()
        after = place.config_file.read_text()

    assert found == [
        (
            1,
            "",
            "It wrote:\n  no such key\n    at 3\n"
            "error: bad was not added: The server exited with code 1. --force adds it all the same.\n",
        ),
        (
            1,
            "",
            "It wrote:\n  on standard output: not a JSON-RPC message (JSON is malformed: invalid character (byte 0)): "
            "'starting up now'\n"
            "error: bad was not added: The server exited with code 3. --force adds it all the same.\n",
        ),
        (
            1,
            "",
            "error: bad was not added: Nothing listens at http://127.0.0.1:9. Is the server running? "
            "--force adds it all the same.\n",
        ),
    ]
    assert after == before


def test_a_program_that_lacks_a_variable_is_told_with_the_option_that_gives_it(tmp_path: Path) -> None:
    lacks = [sys.executable, "-c", "import sys; sys.exit('Error: NOTES_TOKEN is not set.')"]
    with home(tmp_path) as place:
        run = place.run("mcp", "connect", "--name", "bad", "--yes", "--", *lacks)
    assert run.stderr.endswith(
        "error: bad was not added: The server exited with code 1. Does it need NOTES_TOKEN? "
        "--env NAME=VALUE before the program gives it a variable; --force adds it all the same.\n"
    )


def test_a_yes_behind_the_program_is_the_program_s_and_no_consent(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        run = place.run("mcp", "connect", "--name", "bad", *ENDS, "--yes")
    assert (run.returncode, run.stderr.splitlines()[-1]) == (
        2,
        "error: Nobody is there to agree to running this program. Say so with --yes before the program.",
    )


def test_who_puts_the_name_first_is_told_where_it_goes_before_any_program_is_asked_about(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        before = place.config_file.read_text()
        lines = [("notes", "--", sys.executable, "-c", "a b"), ("notes", "https://h.example/mcp")]
        ran = [place.run("mcp", "connect", *line) for line in lines]
        after = place.config_file.read_text()
    missing = "error: There is no program 'notes' on the search path. Is it a name? openclaw mcp connect --name notes"
    assert [(one.returncode, one.stdout, one.stderr) for one in ran] == [
        (2, "", f"{missing} {quote_word(sys.executable)} -c 'a b'\n"),
        (2, "", f"{missing} https://h.example/mcp\n"),
    ]
    assert before == after


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["https://h.example/mcp", "trains"],
            "An address stands alone, and 'trains' comes behind https://h.example/mcp. "
            "What its requests need goes before it: --header NAME=VALUE",
        ),
        (
            ["wss://h.example/mcp"],
            "wss://h.example/mcp is neither a program nor the address of a server. "
            "Addresses begin with https://, or with http:// on this machine.",
        ),
        (["h.example/mcp"], "There is no program h.example/mcp. Is it an address? Write https://h.example/mcp"),
        (
            ["localhost:8000/mcp"],
            "There is no program localhost:8000/mcp. Is it an address? Write http://localhost:8000/mcp",
        ),
    ],
)
async def test_an_address_that_is_not_written_as_one_is_no_program(tmp_path: Path, words: list[str], said: str) -> None:
    place = Lone(tmp_path)
    ran = await run_here(place, "mcp", "connect", *words)
    assert (ran.code, ran.out, ran.err) == (2, "", f"error: {said}\n")


def test_a_server_is_called_after_the_package_that_is_run_without_its_version() -> None:
    lines = {
        "npx -y @modelcontextprotocol/server-filesystem@2026.1.1 /tmp": "filesystem",
        "uvx --with mcp<2 mcp-server-sqlite --db-path x.db": "sqlite",
        "uvx --from mcp-server-git[all]==1.2.3 --with pygit2 run-it": "git",
        "uvx mcp-server-time>=1": "time",
        "python3 ./my_server.py": "my_server",
        "docker run -i --rm ghcr.io/acme/shop-mcp": "shop",
        "acme-mcp --stdio": "acme",
        "https://mcp.tavily.com/mcp": "tavily",
    }
    assert {line: name_for(line.split()) for line in lines} == lines


async def test_a_file_in_a_folder_whose_name_could_be_a_host_is_taken_for_a_program(tmp_path: Path) -> None:
    file = tmp_path / "h.example" / "mcp"
    file.parent.mkdir()
    file.touch()
    ran = await run_here(Lone(tmp_path), "mcp", "connect", "--yes", "h.example/mcp", cwd=tmp_path)
    assert (ran.code, ran.out, ran.err) == (
        1,
        "",
        f"error: mcp was not added: {file} is not an executable file. Check `command`, or make it executable. "
        "--force adds it all the same.\n",
    )


def test_force_adds_what_does_not_work_and_the_status_says_why(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        ran = place.run("mcp", "connect", "--name", "bad", "--force", "--yes", "--", *ENDS)
        assert (ran.returncode, ran.stderr, kept(place)) == (
            0,
            "",
            {"bad": {"command": ENDS[0], "args": list(ENDS[1:])}},
        )
    assert "State         restarting (The server exited with code 1." in ran.stdout


def test_a_slow_starter_is_told_which_setting_gives_it_time_and_the_time_given_is_kept(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        slow = place.run("mcp", "connect", "--name", "slow", "--timeout", "0.3", "--yes", "--", *HANGS)
        entry = stdio_server()
        quick = ("--name", "quick", "--timeout", "90", "--yes", "--", entry["command"], *entry["args"])
        assert place.run("mcp", "connect", *quick).returncode == 0
        assert kept(place) == {"quick": {**entry, "connectionTimeoutMs": 90_000}}
    said = (
        "error: slow was not added: The server did not come up within 0.3 s. A slow starter needs a larger "
        "`connectionTimeoutMs`. --timeout 120 gives it 120 s, and keeps that; --force adds it all the same.\n"
    )
    assert (slow.returncode, slow.stderr) == (1, said)


def test_the_process_that_was_tried_is_the_one_that_a_gateway_goes_on_with(tmp_path: Path) -> None:
    entry = stdio_server()
    with home(tmp_path) as place, gateway_process(place):
        words = ("--name", "good", "--yes", "--json", "--", entry["command"], *entry["args"])
        added = json.loads(place.run("mcp", "connect", *words).stdout)
        now = json.loads(place.run("mcp", "status", "good", "--json").stdout)
        assert kept(place) == {"good": entry}
    assert (added["state"], added["pid"]) == ("ready", now["pid"])


async def test_a_server_that_wants_a_sign_in_is_added_with_one_next_step(tmp_path: Path) -> None:
    async with AuthServer() as server:
        lone = Lone(tmp_path)
        done = await lone.openclaw("mcp", "connect", server.url, "--name", "files")
        again = await lone.openclaw("mcp", "servers", "--json")
    assert (done.code, done.out.count("openclaw mcp auth"), done.err.count("openclaw mcp auth")) == (0, 1, 0)
    assert "  Auth          OAuth\n" in done.out
    assert [(one["name"], one["state"], one["auth"]) for one in json.loads(again.out)] == [
        ("files", "needs-auth", "oauth")
    ]


async def test_over_http_what_does_not_answer_is_not_added(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        async with running(place) as gateway:
            status, answer = await gateway.post("/v1/mcp/servers", {"url": NOWHERE, "name": "away"})
        assert (status, kept(place)) == (502, {})
    assert answer["error"]["message"].startswith("away was not added: Nothing listens at http://127.0.0.1:9.")
    assert (answer["error"]["code"], answer["error"]["exitCode"]) == ("command_failed", 1)


def test_in_a_chat_what_does_not_answer_is_not_added(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        said = place.run("chat", input=f"/mcp connect {NOWHERE} --name away\n")
        assert kept(place) == {}
    assert "error: away was not added: Nothing listens at http://127.0.0.1:9." in said.stderr


async def test_a_program_that_is_named_from_where_one_stands_works_from_everywhere(tmp_path: Path) -> None:
    program = Path(stdio_server()["args"][-1])
    lone, desk = Lone(tmp_path / "home"), tmp_path / "desk"
    desk.mkdir()
    (desk / "server.py").symlink_to(program)
    words = ("--name", "near", "--yes", "--", sys.executable, "-S", "-E", "server.py")
    done = await run_here(lone, "mcp", "connect", *words, cwd=desk)
    called = await run_here(lone, "mcp", "call", "near__echo", "text=hi", "--yes")
    assert (done.code, kept_in(lone), (called.code, called.out)) == (
        0,
        {"near": {"command": sys.executable, "args": ["-S", "-E", "server.py"], "cwd": str(desk)}},
        (0, "hi\n"),
    )
    assert done.err == (
        f"It is run in {desk}, wherever OpenClaw runs: server.py is there. The entry keeps that as `cwd`.\n"
    )


def test_only_words_that_name_something_here_bind_a_server_to_this_folder(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "run").touch()
    lines = {
        "npx -y @x/server-files .": ".",
        "python3 -m server --root=notes": "notes",
        "./run --fast": "./run",
        # A program without a slash is looked for on the PATH.
        "run --fast": "",
        f"python3 {tmp_path}/run": "",
        "uvx mcp-server-time": "",
        "python3 -c pass": "",
    }
    assert {line: named_here(line.split(), tmp_path) for line in lines} == lines
    assert named_here(["python3", "-c", "x" * 5000 + "\0"], tmp_path) == ""


def test_a_server_is_named_after_what_runs_it_and_never_after_code() -> None:
    lines = {
        "https://mcp.tavily.com/mcp": "tavily",
        "http://127.0.0.1:9/mcp": "127-0-0-1-9",
        "npx -y @x/server-filesystem@1.2.3 /tmp": "filesystem",
        "python3 notes_server.py --fast": "notes_server",
        "node --no-warnings dist/weather.js -e prod": "weather",
        "python3 -m mcp_server_time": "mcp_server_time",
        "sh -c 'echo \"KEY is not set\" >&2; exit 1'": "sh",
        "python3 -S -c pass": "python3",
        "python3": "python3",
    }
    assert {line: name_for(shlex.split(line)) for line in lines} == lines


async def test_the_question_about_reading_tools_can_be_asked_later(tmp_path: Path) -> None:
    lone = Lone(tmp_path, mcp={"servers": {"parts": parts_server("--reading", "echo,log")}})
    person = Person(lambda question: Answer("accept", content={"option": "yes"}))
    first = await run_here(lone, "approvals", "reading", "parts", asker=person)
    nobody = await run_here(lone, "approvals", "reading", "parts")
    grants = GrantStore(lone.state / "py" / "approvals.json").all()
    assert (first.code, sorted(one.tool for one in grants)) == (0, ["echo", "log"])
    assert "2 of them run without a question." in first.err
    assert (nobody.code, nobody.err) == (2, "error: Nobody is there to answer. Run it at a terminal.\n")


async def test_the_question_about_reading_tools_comes_for_every_server_and_one_that_fails_stops_no_other(
    tmp_path: Path,
) -> None:
    broken = {"command": ENDS[0], "args": list(ENDS[1:])}
    parts = parts_server("--reading", "echo,log")
    lone = Lone(tmp_path, mcp={"servers": {"one": parts, "broken": broken, "two": parts, "plain": parts_server()}})
    person = Person(lambda question: Answer("accept", content={"option": "yes"}))
    every = await run_here(lone, "approvals", "reading", asker=person)
    named = await run_here(lone, "approvals", "reading", "two", "plain", asker=person)
    misspelt = await run_here(lone, "approvals", "reading", "two", "plan", asker=person)
    grants = GrantStore(lone.state / "py" / "approvals.json").all()
    assert (every.code, every.err.count("2 of them run without a question."), len(grants)) == (1, 2, 4)
    assert "MCP server 'broken' is not available: The server exited with code 1." in every.err
    assert (named.code, named.out.count("has no tool that says that it only reads and is asked about.")) == (0, 2)
    assert (misspelt.code, misspelt.out) == (2, "")


@pytest.mark.posix_only("a pseudo-terminal")
@pytest.mark.parametrize("has_gateway", [False, True])
def test_who_stops_it_hears_that_nothing_was_saved(tmp_path: Path, has_gateway: bool) -> None:
    from parts.terminal import CONTROL_C, Terminal

    with home(tmp_path) as place, ExitStack() as running_gateway:
        if has_gateway:
            running_gateway.enter_context(gateway_process(place))
        before = place.config_file.read_text()
        argv = [OPENCLAW, "mcp", "connect", "--name", "slow"]
        for words, shown in (((*HANGS,), "Add and run it? [y/N] "), (("--yes", "--", *HANGS), "Waiting for slow")):
            own = () if "--yes" in words else ("--",)
            with Terminal([*argv, *own, *words], cwd=tmp_path, env=place.env) as terminal:
                terminal.shows(shown)
                terminal.type(CONTROL_C)
                code, rest = terminal.ends()
            assert (code, rest.replace("\r\n", "\n").endswith("Stopped: nothing was saved.\n")) == (130, True), rest
        assert place.config_file.read_text() == before
