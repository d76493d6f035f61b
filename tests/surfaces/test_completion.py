"""`openclaw complete`, which shells ask at every Tab: quick without a gateway, and with one."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from openclaw.grant import Grant
from openclaw.security.grants import GrantStore
from parts import planned_server
from parts.gateways import gateway_process, home, stdio_server
from parts.program import Program

# What a program loads besides what its environment makes every interpreter load.
LOADED = """
import sys
before = set(sys.modules)
from openclaw.__main__ import main
code = main()
print(*(set(sys.modules) - before), file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture
def person(tmp_path: Path) -> Program:
    return Program.under(tmp_path)


def completed(person: Program, *words: str) -> tuple[list[str], set[str]]:
    """The words that are offered, and the modules that were loaded for it."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, "complete", "--", "zsh", *words],
        capture_output=True,
        text=True,
        cwd=person.workspace,
        env=person.env(),
        check=True,
    )
    return [line.partition("\t")[0] for line in done.stdout.splitlines()], set(done.stderr.split())


def test_names_are_found_once_and_then_answered_with_the_standard_library_alone_until_the_config_changes(
    person: Program,
) -> None:
    person.configure('{mcp: {servers: {one: {command: "x"}}}, agents: {entries: {main: {}, research: {}}}}')
    assert person.run("complete", "--", "zsh", "mcp", "status", "").out == "one\t\n"
    words, loaded = completed(person, "mcp", "status", "")
    assert words == ["one"]
    ours = {name for name in loaded if name.startswith("openclaw")}
    assert ours == {
        *("openclaw", "openclaw.__main__", "openclaw.config", "openclaw.config.plain_paths", "openclaw.control"),
        *("openclaw.control.marks", "openclaw.control.remote", "openclaw.control.shell_words", "openclaw.control.wire"),
        "openclaw.version",
    }
    assert {name.partition(".")[0] for name in loaded} - {"openclaw"} <= sys.stdlib_module_names
    assert completed(person, "agent", "--agent", "")[0] == ["main", "research"]
    person.configure('{mcp: {servers: {one: {command: "x"}, two: {command: "x"}}}}')
    assert person.run("complete", "--", "zsh", "mcp", "status", "").out == "one\t\ntwo\t\n"


def test_a_config_on_the_line_is_the_one_whose_names_are_offered(person: Program) -> None:
    other = person.home / "other.json"
    other.write_text('{mcp: {servers: {elsewhere: {command: "x"}}}}')
    for _ in range(2):
        ran = person.run("complete", "--", "fish", "--config", str(other), "mcp", "status", "")
        assert (ran.out, ran.err) == ("elsewhere\t\n", "")


def test_a_broken_config_offers_nothing_and_says_nothing_on_the_line(person: Program) -> None:
    person.configure("{")
    ran = person.run("complete", "--", "zsh", "mcp", "status", "")
    assert ran.out == ""


def test_a_gateway_answers_with_the_tools_of_its_servers(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        place.save({"mcp": {"servers": {"part": stdio_server()}}})
        with gateway_process(place) as gateway:
            gateway.wait_until("'part' is ready")
            tools = place.run("complete", "--", "zsh", "mcp", "call", "part__ec").stdout
            callable_ones = place.run("complete", "--", "zsh", "mcp", "call", "").stdout
            explained = place.run("complete", "--", "zsh", "tools", "explain", "").stdout
            servers = place.run("complete", "--", "zsh", "mcp", "status", "").stdout
    assert tools.startswith("part__echo\t")
    assert servers == "part\tready\n"
    # A person calls tools of servers; of the native ones they may ask.
    assert all(line.startswith("part__") for line in callable_ones.splitlines())
    assert {"read\t", "part__echo"} <= {
        line if line.startswith("read") else line.partition("\t")[0] for line in explained.splitlines()
    }


def test_a_gateway_answers_with_the_prompts_of_servers_that_are_up_and_without_one_servers_are_named(
    tmp_path: Path,
) -> None:
    greet = {"name": "greet", "description": "Say hello.", "arguments": [{"name": "who"}, {"name": "a b"}]}
    (tmp_path / "plan.json").write_text(json.dumps({"prompts": [greet]}))
    (tmp_path / "plain.json").write_text("{}")

    def planned(plan: str) -> dict[str, object]:
        return {
            "command": sys.executable,
            "args": [planned_server.__file__, str(tmp_path / plan), str(tmp_path / "log")],
        }

    with home(tmp_path) as place:
        place.save({"mcp": {"servers": {"shop": planned("plan.json"), "plain": planned("plain.json")}}})
        assert place.run("complete", "--", "zsh", "mcp", "prompt", "s").stdout == "shop\t\n"
        with gateway_process(place) as gateway:
            gateway.wait_until("'shop' is ready")
            gateway.wait_until("'plain' is ready")
            prompts = place.run("complete", "--", "zsh", "mcp", "prompt", "").stdout
            arguments = place.run("complete", "--", "zsh", "mcp", "prompt", "shop:greet", "").stdout
    assert prompts == "shop:greet\tSay hello.\n"
    assert arguments == "who=\t\n"


def test_grants_are_offered_to_be_revoked_and_no_longer_once_they_are(person: Program) -> None:
    def offered() -> str:
        return person.run("complete", "--", "zsh", "approvals", "revoke", "").out

    grants = GrantStore(person.home / ".openclaw" / "py" / "approvals.json")
    asyncio.run(grants.add(Grant("g-one", "read", "s"), Grant("g-two", "write", "s", arguments={"path": "/x/**"})))
    shown = 'g-one\tread: any arguments\ng-two\twrite: path="/x/**"\n'
    assert (offered(), offered()) == (shown, shown)
    assert asyncio.run(grants.revoke("g-one"))
    assert offered() == 'g-two\twrite: path="/x/**"\n'


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_a_script_that_asks_the_program_which_was_typed(person: Program, shell: str) -> None:
    script = person.run("completion", shell).out
    assert f"complete -- {shell} " in script
    if shell == "bash":
        assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
