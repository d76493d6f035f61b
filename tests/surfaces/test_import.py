"""`openclaw mcp import` as a person types it: other programs' files in a home, real servers, and secrets that are seen nowhere."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from openclaw.config.load import parse_config
from openclaw.errors import SecretError
from openclaw.importers.programs import PROGRAMS
from openclaw.secrets.resolve import Resolver
from parts import stdio_server
from parts.command_line import PROGRAM, Home, parts_server
from parts.commands_here import run_here
from parts.leaks import files_under, found_in
from parts.terminal import Terminal

CANARIES = ("sk-live-CANARY0123456789abcdef", "canary-two-0123456789", "tvly-canary-three-01234")


def write(home: Home, path: str, content: Any) -> Path:
    file = home.folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def servers(home: Home) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((home.state / "openclaw.json").read_text())["mcp"]["servers"]
    return found


def with_secrets(home: Home) -> Path:
    """A file with a credential in every place that one can stand in."""
    entry = parts_server(env={"API_KEY": CANARIES[0], "MODE": "fast"})
    entry["args"] += [f"--token={CANARIES[1]}"]
    far = {
        "url": f"https://far.example.com/mcp?apiKey={CANARIES[2]}",
        "headers": {"Authorization": f"Bearer {CANARIES[1]}"},
    }
    return write(home, ".cursor/mcp.json", {"mcpServers": {"parts": entry, "far": far}})


async def test_an_imported_server_answers_a_call_and_gets_its_secrets(tmp_path: Path) -> None:
    home = Home(tmp_path)
    entry = parts_server(env={"API_KEY": CANARIES[0]})
    write(home, ".config/Claude/claude_desktop_config.json", {"mcpServers": {"parts": entry}})

    imported = await home.openclaw("mcp", "import", "claude-desktop", "--yes")
    called = await home.openclaw("mcp", "call", "parts__echo", "text=hello", "--yes")
    given = await home.openclaw("mcp", "call", "parts__environment", "--yes")
    checked = await home.openclaw("secrets", "check")

    assert imported.code == 0
    assert (called.code, called.out.strip()) == (0, "hello")
    assert checked.code == 0
    assert "API_KEY" in given.out


async def test_no_secret_is_printed_or_written_anywhere_but_where_it_is_kept(tmp_path: Path) -> None:
    home = Home(tmp_path)
    source = with_secrets(home)
    before = source.read_bytes()
    ran = [
        await home.openclaw("mcp", "import", *words)
        for words in (
            (),
            ("--json",),
            ("cursor", "--dry-run"),
            ("cursor", "--dry-run", "--json"),
            ("cursor",),
            ("cursor", "--yes", "--log-level", "debug"),
            ("cursor", "--yes", "--json"),
            ("cursor", "--overwrite", "--yes", "--json"),
        )
    ]
    assert [one.code for one in ran] == [0, 0, 0, 0, 2, 0, 0, 0]
    said = {str(number): (one.out + one.err).encode() for number, one in enumerate(ran)}
    assert found_in(CANARIES, said) == []

    assert found_in(CANARIES, files_under(home.state)) == []
    assert source.read_bytes() == before
    folder = "secret://encrypted"
    assert servers(home) == {
        "parts": {
            "command": sys.executable,
            "args": ["-S", "-E", stdio_server.__file__, f"--token={folder}/parts/args/3"],
            "env": {"API_KEY": f"{folder}/parts/env/API_KEY", "MODE": "fast"},
        },
        "far": {
            "url": f"https://far.example.com/mcp?apiKey={folder}/far/url",
            "headers": {"Authorization": f"Bearer {folder}/far/headers/Authorization"},
        },
    }


async def test_a_key_that_was_rotated_there_is_told_and_taken_where_that_is_asked_for(tmp_path: Path) -> None:
    home = Home(tmp_path)

    def there(key: str) -> None:
        write(home, ".cursor/mcp.json", {"mcpServers": {"parts": {"command": "serve", "env": {"API_KEY": key}}}})

    async def imported(*words: str) -> str:
        ran = await run_here(home, "mcp", "import", "cursor", "--yes", *words)
        assert ran.code == 0
        return " ".join(ran.out.split())

    there(CANARIES[0])
    await imported()
    there(CANARIES[1])
    stays = await imported()
    before = servers(home)
    taken = await imported("--overwrite")
    again = await imported("--overwrite")

    told = "parts: is here already, and stays as it is its secret is another one there: env.API_KEY. To take that: --overwrite"
    assert told in stays
    assert before == {"parts": {"command": "serve", "env": {"API_KEY": "secret://encrypted/parts/env/API_KEY"}}}
    assert "~ parts (in place of the one that is here)" in taken
    assert "= parts: is here already, and stays as it is Nothing is to be imported." in again
    now = "secret://encrypted/parts/env/API_KEY-2"
    assert servers(home) == {"parts": {"command": "serve", "env": {"API_KEY": now}}}
    assert await Resolver.of(parse_config("{}"), home.environ).resolve(now) == CANARIES[1]
    with pytest.raises(SecretError):
        await Resolver.of(parse_config("{}"), home.environ).resolve("secret://encrypted/parts/env/API_KEY")


async def test_a_dry_run_changes_nothing_and_a_pipe_needs_a_yes(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with_secrets(home)
    before = files_under(home.state)

    dry = await home.openclaw("mcp", "import", "cursor", "--dry-run")
    unasked = await home.openclaw("mcp", "import", "cursor")

    assert "2 servers would be added" in dry.out
    assert unasked.code == 2
    assert unasked.err.endswith("Nobody is there to agree to what these servers run and are sent. Say so with --yes.\n")
    assert {path: data for path, data in files_under(home.state).items() if "logs" not in path} == before


async def test_comments_and_servers_of_the_same_name_stay(tmp_path: Path) -> None:
    home = Home(tmp_path)
    ours = '{\n  // mine\n  mcp: { servers: {\n    parts: { command: "mine" }, // keep\n  } },\n}\n'
    (home.state / "openclaw.json").write_text(ours)
    write(home, ".cursor/mcp.json", {"mcpServers": {"parts": {"command": "theirs"}, "more": {"command": "more"}}})

    first = await home.openclaw("mcp", "import", "cursor", "--yes")
    again = await home.openclaw("mcp", "import", "cursor", "--yes")

    text = (home.state / "openclaw.json").read_text()
    assert "note: named parts-cursor, as there is another parts already" in first.out
    assert again.out.endswith("Nothing is to be imported.\n")
    assert all(kept in text for kept in ("// mine", 'parts: { command: "mine" }, // keep'))
    assert sorted(home.config().root.mcp.servers) == ["more", "parts", "parts-cursor"]

    replaced = await home.openclaw("mcp", "import", "cursor", "--yes", "--overwrite", "--only", "parts")
    assert replaced.code == 0
    assert home.config().root.mcp.servers["parts"].command == "theirs"


async def test_everything_that_is_left_out_is_named_with_its_reason(tmp_path: Path) -> None:
    home = Home(tmp_path)
    good, plain = {"command": "serve"}, {"type": "http", "url": "http://far.example.com/mcp"}
    write(home, ".mcp.json", {"mcpServers": {"good": good, "plain": plain, "ws": {"type": "ws", "url": "wss://h"}}})
    write(home, ".zed/settings.json", '{ "context_servers": { // broken\n "a" } }')

    listed = await home.openclaw("mcp", "import", "--json")
    imported = await home.openclaw("mcp", "import", "all", "--yes", "--json")

    assert [(one["program"], one["servers"], bool(one["problem"])) for one in json.loads(listed.out)] == [
        ("claude-code", ["good", "plain"], False),
        ("zed", [], True),
    ]
    reasons = {one["name"]: one["reason"] for one in json.loads(imported.out)["leftOut"]}
    assert reasons["ws"] == "its transport ws is not spoken here"
    assert "http" in reasons["plain"]
    assert reasons[""].startswith("it cannot be read: line 2, column ")
    # One file could not be read; the others were imported all the same.
    assert (imported.code, list(servers(home))) == (1, ["good"])


async def test_a_file_that_cannot_be_read_is_told_once_and_a_name_that_is_not_there_with_those_that_are(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    write(home, ".zed/settings.json", '{ "context_servers": { // broken\n "a" } }')
    write(home, ".cursor/mcp.json", {"mcpServers": {"good": {"command": "serve"}, "other": {"command": "serve"}}})

    broken = await run_here(home, "mcp", "import", "zed")
    unknown, near = [await run_here(home, "mcp", "import", "cursor", "--only", name) for name in ("zzz", "godo")]

    assert (broken.code, broken.out.count("cannot be read"), broken.out.count("left out")) == (1, 1, 0)
    assert (unknown.code, unknown.err) == (2, "error: There is no server named zzz. There are: good, other.\n")
    assert (near.code, near.err) == (2, 'error: There is no server named godo. Did you mean "good"?\n')


async def test_hostile_files_cost_their_program_alone(tmp_path: Path) -> None:
    home = Home(tmp_path)
    write(home, ".cursor/mcp.json", '{"mcpServers":' * 50_000)
    (home.folder / ".lmstudio").mkdir()
    (home.folder / ".lmstudio" / "mcp.json").symlink_to("mcp.json")
    with write(home, ".gemini/settings.json", "").open("wb") as huge:
        huge.truncate(40 * 1024 * 1024)
    (home.folder / ".copilot" / "mcp-config.json").mkdir(parents=True)
    write(home, ".codex/config.toml", "[mcp_servers.good]\ncommand = 'serve'\n")

    listed = await home.openclaw("mcp", "import", "--json")

    found = {one["program"]: (one["servers"], one["problem"]) for one in json.loads(listed.out)}
    assert found.pop("codex") == (["good"], "")
    assert set(found) == {"cursor", "lm-studio", "gemini", "copilot"}
    assert all(problem and not names for names, problem in found.values())
    assert "larger than 32 MB" in found["gemini"][1]


async def test_a_home_without_servers_says_what_could_be_imported(tmp_path: Path) -> None:
    home = Home(tmp_path)
    bare = await home.openclaw("mcp", "servers")
    write(home, ".cursor/mcp.json", {"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}})
    write(home, ".codex/config.toml", "[mcp_servers.c]\ncommand = 'z'\n")

    listed, status = await asyncio.gather(home.openclaw("mcp", "servers"), home.openclaw("status"))

    told = "Import the servers of Cursor (2) and Codex (1): openclaw mcp import"
    assert "import" not in bare.out
    assert told in listed.out
    assert told in status.out


async def test_words_that_mean_nothing_are_answered_with_the_right_ones(tmp_path: Path) -> None:
    home = Home(tmp_path)
    said = [(await home.openclaw("mcp", "import", *words)) for words in (("curser",), ("cursor",), ("./gone.json",))]
    in_chat = await home.chat("/mcp import cursor")
    assert [one.code for one in said] == [2, 2, 2]
    assert 'Did you mean "cursor"?' in said[0].err
    assert said[1].err == ("error: No servers of Cursor were found. Name its file: openclaw mcp import cursor FILE\n")
    # Not our config is meant.
    assert said[2].err == f"error: {home.folder}/gone.json: there is no such file.\n"
    assert "Servers of other programs can only be imported from a shell." in in_chat.out + in_chat.err


def test_each_program_is_shown_whole_and_asked_about_at_a_terminal(tmp_path: Path) -> None:
    home = Home(tmp_path)
    yes = {"command": "serve", "args": ["--all", "a b", "x" * 300], "env": {"KEY": "${input:key}"}}
    no = {"command": "other"}
    inputs = [{"type": "promptString", "id": "key", "description": "Key of the shop", "password": True}]
    write(home, ".vscode/mcp.json", {"inputs": inputs, "servers": {"yes": yes, "no": no}})
    words = [*PROGRAM, "mcp", "import", "vscode"]
    with Terminal(words, cwd=home.folder, env=home.environ) as terminal:
        terminal.shows("Key of the shop: ")
        terminal.type(f"{CANARIES[1]}\r")
        shown = terminal.shows("Add yes? [y/N] ")
        assert f"serve --all 'a b' {'x' * 300}" in shown.replace("\r\n", "")
        terminal.type("y\r")
        terminal.shows("Add no? [y/N] ")
        terminal.type("\r")
        code, rest = terminal.ends()
        assert CANARIES[1].encode() not in terminal.received
    assert code == 0
    assert "Added 1 server to" in rest
    # What was typed just now stands in no file.
    assert "still has" not in rest
    assert servers(home)["yes"]["env"] == {"KEY": "secret://encrypted/yes/env/KEY"}
    assert found_in(CANARIES, files_under(home.state)) == []


async def test_a_dry_run_says_what_the_import_will_ask_for_and_one_with_yes_what_nobody_is_asked_for(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    inputs = [{"type": "promptString", "id": "key", "description": "Key of the shop", "password": True}]
    shop = {"command": "serve", "env": {"KEY": "${input:key}"}}
    write(home, ".vscode/mcp.json", {"inputs": inputs, "servers": {"shop": shop}})
    asks = await run_here(home, "mcp", "import", "vscode", "--dry-run")
    asks_not = await run_here(home, "mcp", "import", "vscode", "--dry-run", "--yes")
    assert [line.strip() for line in asks.out.splitlines() if "note: " in line] == [
        "note: the import will ask you for env.KEY"
    ]
    assert "env.KEY waits for the variable KEY: nobody was asked for it" in asks_not.out


async def test_variables_of_a_file_join_the_entry_and_its_secrets_are_put_away(tmp_path: Path) -> None:
    home = Home(tmp_path)
    write(home, "shop/.env", f"API_KEY={CANARIES[0]}\nMODE=slow\n")
    entry = {"command": "serve", "env": {"MODE": "fast"}, "envFile": "${workspaceFolder}/.env"}
    file = write(home, "shop/.cursor/mcp.json", {"mcpServers": {"shop": entry}})

    done = await home.openclaw("mcp", "import", str(file), "--yes")

    assert f"note: the 2 variables of {tmp_path}/shop/.env: taken as they are now" in done.out
    kept = "secret://encrypted/shop/env/API_KEY"
    assert servers(home) == {
        "shop": {"command": "serve", "env": {"API_KEY": kept, "MODE": "fast"}, "cwd": str(tmp_path / "shop")}
    }


async def test_a_secret_that_a_file_names_is_never_taken_unseen(tmp_path: Path) -> None:
    home = Home(tmp_path)
    shop = {"url": "https://shop.example.com/mcp", "headers": {"A": "secret://env/API_KEY"}}
    spelt = {"url": "https://shop.example.com/mcp", "apiKey": {"source": "env", "id": "API_KEY"}}
    plain = {"url": "https://a.example.com/mcp"}
    file = write(home, "found/openclaw.json", {"mcp": {"servers": {"shop": shop, "spelt": spelt, "plain": plain}}})
    unasked = await run_here(home, "mcp", "import", str(file), "--only", "spelt")
    done = await run_here(home, "mcp", "import", str(file), "--yes")
    assert [*servers(home)] == ["plain"]
    told = " ".join(done.out.split())
    assert "it takes secret://env/API_KEY, which --yes does not agree to" in told
    assert "it takes secret://ref/env/default/API_KEY, which --yes does not agree to" in told
    assert (unasked.code, "spelt is sent what is in secret://ref/env/default/API_KEY" in unasked.err) == (2, True)


# One server of each program, in its own file and its own words; each starts the same real server.
def every_programs_file(home: Home) -> None:
    entry = parts_server()
    command, args = entry["command"], entry["args"]
    as_most = {"mcpServers": {"NAME": {"command": command, "args": args}}}
    write(home, ".config/Claude/claude_desktop_config.json", json.dumps(as_most).replace("NAME", "desktop"))
    write(home, ".claude.json", json.dumps({"numStartups": 1, **as_most, "projects": {}}).replace("NAME", "code"))
    write(home, ".cursor/mcp.json", json.dumps(as_most).replace("NAME", "cursor"))
    vscode = json.dumps({"command": command, "args": args, "type": "stdio"})
    write(home, ".config/Code/User/mcp.json", '{// mine\n"servers": {"code-user": ' + vscode + ",},}")
    copilot = {"type": "local", "command": command, "args": args, "tools": ["*"]}
    write(home, ".copilot/mcp-config.json", {"mcpServers": {"copilot": copilot}})
    codex = f"[mcp_servers.codex]\ncommand = {json.dumps(command)}\nargs = {json.dumps(args)}\n"
    write(home, ".codex/config.toml", f'model = "any"\n{codex}startup_timeout_sec = 20\n')
    gemini = {"command": command, "args": args, "timeout": 30_000, "trust": False}
    write(home, ".gemini/settings.json", {"mcpServers": {"gemini": gemini}})
    windsurf = {"command": command, "args": args, "disabledTools": ["hang"]}
    write(home, ".codeium/windsurf/mcp_config.json", {"mcpServers": {"windsurf": windsurf}})
    zed = json.dumps({"source": "custom", "command": command, "args": args, "env": {}})
    write(home, ".config/zed/settings.json", '// Zed\n{"theme": "One", "context_servers": {"zed": ' + zed + ",},}")
    opencode = {"type": "local", "command": [command, *args], "enabled": True}
    write(home, ".config/opencode/opencode.json", {"$schema": "s", "mcp": {"opencode": opencode}})
    write(home, ".mcporter/mcporter.json", {"mcpServers": {"porter": {"command": [command, *args]}}})
    write(home, ".lmstudio/mcp.json", json.dumps(as_most).replace("NAME", "studio"))
    write(home, "elsewhere/openclaw.json", {"mcp": {"servers": {"claw": {"command": command, "args": args}}}})


async def test_a_server_of_each_of_the_thirteen_programs_is_taken_over_and_works(tmp_path: Path) -> None:
    home = Home(tmp_path)
    every_programs_file(home)
    listed = json.loads((await home.openclaw("mcp", "import", "--json")).out)
    imported = await home.openclaw("mcp", "import", "all", "--yes")
    another = await home.openclaw("mcp", "import", "openclaw", str(home.folder / "elsewhere/openclaw.json"), "--yes")
    status = json.loads((await home.openclaw("mcp", "servers", "--json")).out)

    assert {one["program"] for one in listed} == set(PROGRAMS) - {"openclaw"}
    assert [one["leftOut"] for one in listed] == [[]] * 12
    assert (imported.code, another.code) == (0, 0)
    assert {one["name"]: one["state"] for one in status} == dict.fromkeys(servers(home), "ready")
    assert len(status) == 13
