"""What a tool takes, in lists and in `mcp call TOOL --help`; and servers that are used once without being added."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from parts.auth_server import AuthServer
from parts.command_line import Home as Lone
from parts.command_line import parts_server
from parts.commands_here import run_here
from parts.gateways import gateway_process, home, stdio_server
from parts.http_server import HttpServer
from parts.person import Person, declines
from parts.program import OPENCLAW, Program
from parts.terminal import Terminal

NOTES = str(Path(__file__).parents[2] / "docs" / "examples" / "notes_server.py")


def notes(folder: Path) -> dict[str, object]:
    return {"command": sys.executable, "args": [NOTES, str(folder)]}


def test_the_tools_of_one_server_are_listed_with_what_they_take(tmp_path: Path) -> None:
    with home(tmp_path, {"mcp": {"servers": {"notes": notes(tmp_path)}}}) as place:
        listed = place.run("mcp", "tools", "notes")
        (first, *_) = json.loads(place.run("mcp", "tools", "notes", "--json").stdout)
    assert listed.stdout == (
        "notes__add_note(name: string, text: string)\n    Write a new note.\n"
        "notes__list_notes()\n    List the names of all notes.\n"
        "notes__read_note(name: string)\n    Read one note.\n"
    )
    assert first["signature"] == "notes__add_note(name: string, text: string)"
    assert set(first) >= {"annotations", "inputSchema", "title"}


def test_words_that_are_no_call_are_answered_with_the_one_that_was_meant(tmp_path: Path) -> None:
    def said(*words: str) -> str:
        ran = place.run("mcp", "call", "--yes", *words)
        assert (ran.returncode, ran.stdout) == (2, "")
        return ran.stderr.removeprefix("error: ").rstrip("\n")

    with home(tmp_path, {"mcp": {"servers": {"notes": notes(tmp_path)}}}) as place:
        place.run("mcp", "tools")
        assert said("notes", "read_note", "name=x") == 'There is no MCP tool notes. Did you mean "notes__read_note"?'
        assert said("notes", "nosuch") == (
            "There is no MCP tool notes. That is a server. Its tools: openclaw mcp tools notes"
        )
        assert said("sh", "list_notes") == ('There is no MCP tool sh. To use this program as the server: --stdio "sh"')
        assert said("notes__read_note", "nmae=x").endswith('It has no argument "nmae". Did you mean "name"?')
        assert said("notes__add_note", "name=x", "text=y", "extra=z").endswith(
            'It has no argument "extra". It takes: name, text.'
        )
        assert said("notes__add_note", "text=x").endswith("It takes: name, text.")
        assert said("notes__read_note", "trip") == "'trip' is not an argument. Write name=value, or one JSON object."


def test_the_tools_of_all_servers_are_listed_with_one_sentence_each(tmp_path: Path) -> None:
    with home(tmp_path, {"mcp": {"servers": {"notes": notes(tmp_path)}}}) as place:
        of_servers = place.run("mcp", "tools").stdout.splitlines()
        of_agent = place.run("tools", "list").stdout.splitlines()
        in_chat = place.run("chat", input="/tools\n").stdout.splitlines()
    assert [" ".join(line.split()) for line in of_servers] == [
        "tool server what it does",
        "notes__add_note notes Write a new note.",
        "notes__list_notes notes List the names of all notes.",
        "notes__read_note notes Read one note.",
    ]
    assert "notes__read_note mcp notes Read one note." in [" ".join(line.split()) for line in of_agent]
    assert "notes__read_note Read one note." in [" ".join(line.split()) for line in in_chat]


@pytest.mark.parametrize("has_gateway", [False, True])
def test_help_about_a_tool_shows_its_arguments_and_a_call_to_begin_with(tmp_path: Path, has_gateway: bool) -> None:
    with home(tmp_path, {"mcp": {"servers": {"notes": notes(tmp_path)}}}) as place:
        words = ("mcp", "call", "notes__read_note", "--help")
        if has_gateway:
            with gateway_process(place):
                shown, wrong = place.run(*words), place.run("mcp", "call", "read_note", "--help")
        else:
            shown, wrong = place.run(*words), place.run("mcp", "call", "read_note", "--help")
        chat = place.run("chat", input="/mcp call notes__read_note --help\n")
        general = place.run("mcp", "call", "--help")
    assert shown.stdout == (
        "Usage: openclaw mcp call notes__read_note name=…\n\nRead one note.\n\n"
        "Arguments:\n  name  string, required\n      The note's name, without .md.\n\n"
        "Example:\n  openclaw mcp call notes__read_note name=TEXT\n\n"
        "Options of the command itself: openclaw mcp call --help\n"
    )
    assert (wrong.returncode, 'Did you mean "notes__read_note"?' in wrong.stderr) == (2, True)
    assert "  /mcp call notes__read_note name=TEXT\n" in chat.stdout
    assert general.stdout.startswith("Usage: openclaw mcp call TOOL [WORDS …]")


@pytest.mark.parametrize("has_gateway", [False, True])
def test_a_program_is_called_once_where_the_person_stands_and_nothing_is_saved(
    tmp_path: Path, has_gateway: bool
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "server.py").write_text(Path(NOTES).read_text())
    (work / "trip.md").write_text("Platform 7.")
    program = shlex.join([sys.executable, "server.py", "."])
    with home(tmp_path) as place:
        before = place.config_file.read_text()
        words = ("mcp", "call", "--stdio", program, "--yes", "read_note", "name=trip")
        if has_gateway:
            with gateway_process(place):
                called = place.run(*words, cwd=work)
        else:
            called = place.run(*words, cwd=work)
        listed = place.run("mcp", "tools", "--stdio", program, "--yes", cwd=work)
        unasked = place.run("mcp", "call", "--stdio", program, "list_notes", cwd=work)
        wrong = place.run("mcp", "call", "--stdio", program, "--yes", "raed_note", cwd=work)
        chat = place.run("chat", input=f"/mcp call --stdio {shlex.quote(program)} list_notes\n", cwd=work)
        assert place.config_file.read_text() == before
    assert (called.returncode, called.stdout, called.stderr) == (0, "Platform 7.\n", "")
    assert listed.stdout.startswith("add_note(name: string, text: string)\n    Write a new note.\n")
    assert (unasked.returncode, "Say so with --yes." in unasked.stderr) == (2, True)
    assert (wrong.returncode, 'Did you mean "read_note"?' in wrong.stderr) == (2, True)
    assert "A server that is a program can only be run from a terminal." in chat.stderr


async def test_an_address_is_called_once(tmp_path: Path) -> None:
    lone = Lone(tmp_path)
    async with HttpServer() as server:
        called = await lone.openclaw("mcp", "call", server.url, "echo", "text=hi", "--yes")
        listed = await lone.openclaw("mcp", "tools", server.url, "--json")
        missing = await lone.openclaw("mcp", "call", server.url)
    away = await lone.openclaw("mcp", "call", "http://127.0.0.1:9/mcp", "echo")
    async with AuthServer() as guarded:
        refused = await lone.openclaw("mcp", "call", guarded.url, "read")
    assert (called.code, called.out) == (0, "hi\n")
    assert "echo" in {row["tool"] for row in json.loads(listed.out)}
    assert (missing.code, f"List them: openclaw mcp tools {server.url}" in missing.err) == (2, True)
    assert (away.code, away.err) == (
        1,
        "error: 127-0-0-1-9 cannot be used: Nothing listens at http://127.0.0.1:9. Is the server running?\n",
    )
    assert (refused.code, f"Add it and sign in: openclaw mcp connect {guarded.url}" in refused.err) == (1, True)
    assert json.loads((lone.state / "openclaw.json").read_text()) == {}


def test_a_person_at_a_terminal_is_asked_before_a_program_is_run_once(tmp_path: Path) -> None:
    person = Program.under(tmp_path)
    entry = stdio_server()
    program = shlex.join([entry["command"], *entry["args"]])
    words = [OPENCLAW, "mcp", "call", "--stdio", program, "echo", "text=hi", "--allow", "*"]
    with Terminal(words, cwd=person.workspace, env=person.env()) as terminal:
        terminal.shows("with your rights, once:")
        terminal.shows("Run it? [y/N] ")
        terminal.type("y\r")
        terminal.shows("hi")
        assert terminal.ends()[0] == 0


async def test_a_variable_of_nobody_s_is_not_sent_literally_to_an_address_that_is_used_once(tmp_path: Path) -> None:
    for header in ("Authorization=Bearer ${TOKEN}", "Authorization=$TOKEN"):
        done = await run_here(Lone(tmp_path), "mcp", "call", "http://127.0.0.1:9/mcp", "echo", "--header", header)
        assert (done.code, done.err) == (
            2,
            "error: ${TOKEN} stands for a variable in openclaw.json, and this server is not in it. "
            'Let your shell put it in: "$TOKEN"\n',
        )


async def test_who_is_asked_about_a_call_that_they_typed_is_told_why(tmp_path: Path) -> None:
    person = Person(declines)
    lone = Lone(tmp_path, mcp={"servers": {"parts": parts_server()}})
    await run_here(lone, "mcp", "call", "parts__echo", "text=hi", asker=person)
    assert person.asked[0].approval is not None
    assert person.asked[0].approval.reasons == (
        'Asked because it changes things and no rule allows it (tools.approval.mode "writes"). '
        "Typing a call is no yes to what it changes: this shows it whole, and --yes says it beforehand.",
    )
