"""`openclaw setup` at a terminal, from nothing and again."""

import asyncio
import json
import shlex
import sys
from pathlib import Path

from parts.model_servers import ChatServer
from parts.program import OPENCLAW, STDIO_SERVER, Program
from parts.terminal import CONTROL_C, ENTER, Terminal


def drive(person: Program, env: dict[str, str], *steps: tuple[str, str]) -> tuple[int, str]:
    """Wait for each text and type what follows it; how it ended, and all that was shown."""
    with Terminal([OPENCLAW, "setup"], cwd=person.workspace, env=env) as terminal:
        shown = ""
        for text, keys in steps:
            shown += terminal.shows(text)
            terminal.type(keys)
        code, rest = terminal.ends()
        return code, shown + rest


async def test_a_fresh_home_gets_a_model_and_a_server_and_a_second_run_keeps_both(tmp_path: Path) -> None:
    person = Program.under(tmp_path)
    # Nothing that could fetch a server: what is offered is the same on every machine.
    (tmp_path / "bin").mkdir()
    program = shlex.join([sys.executable, STDIO_SERVER])
    async with ChatServer(models=("gpt-5.6-terra", "small")) as server:
        env = {**person.env(OPENAI_BASE_URL=server.url, OLLAMA_HOST="127.0.0.1:9"), "PATH": str(tmp_path / "bin")}
        first = await asyncio.to_thread(
            drive,
            person,
            env,
            ("Number [6]: ", f"2{ENTER}"),
            ("API key of openai (nothing is shown): ", f"{server.key}{ENTER}"),
            ("Model of openai (2 there) [gpt-5.6-terra]: ", ENTER),
            ("Number [1]: ", f"2{ENTER}"),
            ("Address (https://…) or command line: ", f"--name parts --yes {program}{ENTER}"),
            ("Start the gateway now?", ENTER),
        )
        written = person.config.read_text()
        person.configure("// mine\n" + written)
        second = await asyncio.to_thread(
            drive,
            person,
            env,
            ("Number [1]: ", ENTER),
            ("You have parts.", ""),
            ("Number [1]: ", ENTER),
            ("Start the gateway now?", ENTER),
        )
        asked = await asyncio.to_thread(
            lambda: person.run("agent", "--json", "hello", OPENAI_BASE_URL=server.url, OLLAMA_HOST="127.0.0.1:9")
        )

    assert first[0] == 0
    assert "ok  openai/gpt-5.6-terra answered in" in first[1]
    assert "Servers  parts" in first[1]
    assert server.key not in first[1] + written
    assert (second[0], person.config.read_text()) == (0, "// mine\n" + written)
    assert "openai/gpt-5.6-terra, as configured" in second[1]
    assert (json.loads(written)["agents"], asked.data["model"], asked.data["text"]) == (
        {"defaults": {"model": {"primary": "openai/gpt-5.6-terra"}}},
        "openai/gpt-5.6-terra",
        "ok",
    )


async def test_what_is_typed_is_shown_also_after_a_start_that_took_so_long_that_a_wait_was_shown(
    tmp_path: Path,
) -> None:
    person, may_answer = Program.under(tmp_path), asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await may_answer.wait()
        writer.close()

    async with await asyncio.start_server(slow, "127.0.0.1") as ollama:
        env = person.env(OLLAMA_HOST=f"http://127.0.0.1:{ollama.sockets[0].getsockname()[1]}")
        with Terminal([OPENCLAW, "setup"], cwd=person.workspace, env=env) as terminal:
            await asyncio.to_thread(terminal.shows, "Working · 0 s · Ctrl-C stops")
            may_answer.set()
            await asyncio.to_thread(terminal.shows, "Number [6]: ")
            is_seen = terminal.takes_lines()
            terminal.type(f"5{ENTER}")
            shown = await asyncio.to_thread(terminal.shows, "Vendor, or the address")
    assert (is_seen, shown.startswith("5")) == (True, True)


async def test_a_key_that_is_refused_is_not_kept_and_no_model_means_none(tmp_path: Path) -> None:
    person = Program.under(tmp_path)
    theirs = person.home / ".cursor" / "mcp.json"
    theirs.parent.mkdir()
    theirs.write_text('{"mcpServers": {"parts": {"command": "x"}}}')
    async with ChatServer(models=("gpt-5.6-terra",)) as server:
        env = {**person.env(OPENAI_BASE_URL=server.url, OLLAMA_HOST="127.0.0.1:9"), "PATH": str(tmp_path)}
        code, shown = await asyncio.to_thread(
            drive,
            person,
            env,
            ("Number [6]: ", f"nobody{ENTER}"),
            ("Type a number from 1 to 6, or how the line of one begins.", ""),
            ("Number [6]: ", f"OpenAI{ENTER}"),
            ("(nothing is shown): ", f"sk-wrong-0123456789{ENTER}"),
            ("openai refused the API key (401).", ""),
            ("The key of openai was not kept.", ""),
            ("Number [6]: ", ENTER),
            ("Which MCP server", ""),
            ("2)  Those of Cursor, which are on this machine", ""),
            ("Number [2]: ", f"1{ENTER}"),
            ("Start the gateway now?", ENTER),
        )
        kept = (json.loads(person.config.read_text()), list(person.run("keys", "--json").data))
        with_key = await asyncio.to_thread(
            drive,
            person,
            {**env, "OPENAI_API_KEY": server.key},
            ("Number [1]: ", f"6{ENTER}"),
            ("Number [2]: ", f"1{ENTER}"),
            ("Start the gateway now?", ENTER),
        )
    assert (code, "Model    builtin/offline" in shown) == (0, True)
    assert kept == ({}, [])
    # A key of the environment would bring a model by itself: that none is wanted is written down, and said.
    assert json.loads(person.config.read_text())["agents"] == {"defaults": {"model": {"primary": "builtin/offline"}}}
    assert "The key of openai stays and is not used" in with_key[1]


async def test_a_server_of_ones_own_is_taken_by_its_address_and_one_that_does_not_answer_leaves_nothing(
    tmp_path: Path,
) -> None:
    person = Program.under(tmp_path)
    (tmp_path / "bin").mkdir()
    address = "Vendor, or the address of a server that speaks as OpenAI's does [mistral]: "
    async with ChatServer(models=("local-model",)) as server:
        env = {**person.env(OLLAMA_HOST="127.0.0.1:9"), "PATH": str(tmp_path / "bin")}
        code, shown = await asyncio.to_thread(
            drive,
            person,
            env,
            ("Number [6]: ", f"5{ENTER}"),
            (address, f"http://127.0.0.1:9/v1{ENTER}"),
            ("A name for it [own]: ", ENTER),
            ("API key of own, Enter when it wants none (nothing is shown): ", ENTER),
            ("own cannot be reached", ""),
            ("Number [6]: ", f"5{ENTER}"),
            (address, f"ftp://nowhere{ENTER}"),
            ("A name for it [own]: ", ENTER),
            ("ftp://nowhere cannot be used: ", ""),
            ("Number [6]: ", f"5{ENTER}"),
            (address, f"{server.url}{ENTER}"),
            ("A name for it [own]: ", f"my house{ENTER}"),
            ("my house cannot be its name. Take one word of letters that no vendor has.", ""),
            ("A name for it [own]: ", f"house{ENTER}"),
            ("API key of house, Enter when it wants none (nothing is shown): ", f"{server.key}{ENTER}"),
            # A slip of the pen does not cost what was typed before.
            ("Model of house (1 there) [local-model]: ", f"local-mdoel{ENTER}"),
            ('house has no model named local-mdoel. Did you mean "local-model"?', ""),
            ("Model of house (1 there) [local-model]: ", ENTER),
            ("Number [1]: ", ENTER),
            ("Start the gateway now?", ENTER),
        )
    written = json.loads(person.config.read_text())
    assert (code, "Model    house/local-model" in shown) == (0, True)
    assert list(written["models"]["providers"]) == ["house"]
    assert written["models"]["providers"]["house"]["baseUrl"] == server.url
    assert server.key not in shown + person.config.read_text()


async def test_three_models_that_are_not_there_lead_back_to_the_ways_and_the_key_is_not_kept(tmp_path: Path) -> None:
    person = Program.under(tmp_path)
    async with ChatServer(models=("gpt-5.6-terra",)) as server:
        env = {**person.env(OPENAI_BASE_URL=server.url, OLLAMA_HOST="127.0.0.1:9"), "PATH": str(tmp_path)}
        code, shown = await asyncio.to_thread(
            drive,
            person,
            env,
            ("Number [6]: ", f"OpenAI{ENTER}"),
            ("(nothing is shown): ", f"{server.key}{ENTER}"),
            *[("Model of openai (1 there) [gpt-5.6-terra]: ", f"nosuch{ENTER}")] * 3,
            ("The key of openai was not kept.", ""),
            ("Number [6]: ", ENTER),
            ("Which MCP server", ""),
            ("Number [1]: ", ENTER),
            ("Start the gateway now?", ENTER),
        )
    assert (code, "Model    builtin/offline" in shown) == (0, True)
    assert json.loads(person.config.read_text()) == {}


def test_without_a_terminal_it_says_what_to_type_instead_and_yes_takes_what_is_offered(tmp_path: Path) -> None:
    person = Program.under(tmp_path)
    asked = person.run("setup", OLLAMA_HOST="127.0.0.1:9")
    taken = person.run("setup", "--yes", OLLAMA_HOST="127.0.0.1:9")
    assert (asked.code, "nobody is at a terminal" in asked.err) == (2, True)
    assert (taken.code, "Talk with it: openclaw chat" in taken.out, person.config.exists()) == (0, True, False)


def test_who_stops_it_gets_a_line_of_their_own_back(tmp_path: Path) -> None:
    person = Program.under(tmp_path)
    code, shown = drive(person, person.env(OLLAMA_HOST="127.0.0.1:9"), ("Number [6]: ", CONTROL_C))
    assert (code, shown.endswith("\n"), person.config.exists()) == (130, True, False)
