"""`openclaw keys`: typed unseen, kept where no file shows it, found by the model."""

import asyncio
import stat
from pathlib import Path

import pytest

from openclaw.cli.keys import usable
from openclaw.errors import UsageError
from parts.leaks import files_under, found_in
from parts.model_servers import ChatServer
from parts.program import OPENCLAW, Program, Ran
from parts.terminal import CONTROL_C, CONTROL_D, ENTER, Terminal

PROVIDER = "{models: {providers: {house: {baseUrl: '%s', models: ['local-model']}}}}"


async def test_a_key_is_typed_unseen_and_the_model_finds_it_until_it_is_removed(tmp_path: Path) -> None:
    person = Program.under(tmp_path)

    def type_it(key: str, *options: str, code: int = 0) -> str:
        argv = [OPENCLAW, "keys", "set", "house", *options]
        with Terminal(argv, cwd=person.workspace, env=person.env()) as terminal:
            terminal.shows("API key of house (nothing is shown): ")
            terminal.type(key + ENTER)
            assert terminal.ends()[0] == code
            return terminal.received.decode()

    async with ChatServer() as server:
        person.configure(PROVIDER % server.url)
        without = await asyncio.to_thread(person.run, "models", "test")
        typed = await asyncio.to_thread(type_it, "sk-mistyped-0123456789", "--force")
        wrong = await asyncio.to_thread(person.run, "models", "test")
        typed += await asyncio.to_thread(type_it, server.key)
        right = await asyncio.to_thread(person.run, "models", "test")
        listed = await asyncio.to_thread(person.run, "keys")
        written = person.config.read_text()
        folder = person.home / ".openclaw" / "py" / "secrets"
        modes = {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}
        readable = found_in([server.key], files_under(tmp_path))
        removed = await asyncio.to_thread(person.run, "keys", "remove", "house")
        again = await asyncio.to_thread(person.run, "keys", "remove", "house")

    assert "house asks for an API key (401)" in without.out
    assert "house refused the API key (401)" in wrong.out
    assert right.out.startswith("ok  house/local-model answered in ")
    # Not a letter of it on the screen, in the config or beside the present one.
    assert "sk-" not in typed + written + listed.out
    assert (readable, modes) == ([], {0o600})
    # Where the key of the store is, the person is told once.
    assert (" ".join(typed.split())).count(f"the key of the stored secrets is in the file {folder}/key") == 1
    assert "house   the secret at models.providers.house.apiKey" in listed.out
    assert (removed.code, removed.out) == (0, "The key of house is forgotten.\n")
    assert found_in([server.key], files_under(tmp_path)) == []
    assert (again.code, again.err.split(".")[0]) == (2, "error: No key of house is stored")
    assert person.config.read_text() == PROVIDER % server.url


async def test_a_key_that_the_vendor_refuses_is_not_stored_and_the_one_before_it_stays(tmp_path: Path) -> None:
    person = Program.under(tmp_path)

    async def put(key: str) -> Ran:
        return await asyncio.to_thread(person.run, "keys", "set", "house", stdin=f"{key}\n")

    async with ChatServer() as server:
        person.configure(PROVIDER % server.url)
        refused = await put("sk-mistyped-0123456789")
        untouched = person.config.read_text()
        taken = await put(server.key)
        written = person.config.read_text()
        refused_later = await put("sk-mistyped-0123456789")
        answered = await asyncio.to_thread(person.run, "models", "test")
    unreachable = await put("sk-nobody-can-tell-0123456789")

    sentence = "error: house refused this key, so nothing was changed. --force stores it all the same.\n"
    assert (refused.code, refused.err, untouched) == (1, sentence, PROVIDER % server.url)
    assert (taken.code, refused_later.code, answered.code) == (0, 1, 0)
    assert person.config.read_text() != written
    assert (unreachable.code, "Whether house takes it is not known: house cannot be reached" in unreachable.err) == (
        0,
        True,
    )


async def test_a_key_that_is_pasted_before_it_is_asked_for_is_not_shown_either(tmp_path: Path) -> None:
    person = Program.under(tmp_path)

    def paste(key: str) -> tuple[int, str]:
        with Terminal([OPENCLAW, "keys", "set", "house"], cwd=person.workspace, env=person.env()) as terminal:
            terminal.until_unseen()
            terminal.type(key + ENTER)
            code, _ = terminal.ends()
            assert terminal.takes_lines()
            return code, terminal.received.decode()

    async with ChatServer() as server:
        person.configure(PROVIDER % server.url)
        code, shown = await asyncio.to_thread(paste, server.key)
        assert (code, server.key in shown, "The key of house is in" in shown) == (0, False, True)


def test_a_stored_key_that_is_gone_from_its_store_is_listed_as_one_that_cannot_be_read(tmp_path: Path) -> None:
    person = Program.under(tmp_path)
    person.configure(PROVIDER % "http://127.0.0.1:9")
    person.run("keys", "set", "house", "--force", stdin="sk-0123456789abcdef\n")
    there = person.run("keys", "list")
    folder = person.home / ".openclaw" / "py" / "secrets"
    for file in folder.glob("[0-9a-f]" * 64 + ".json"):
        file.unlink()
    gone = person.run("keys", "list")
    listed = person.run("keys", "list", "--json").data
    doctor = person.run("doctor", "--offline").out

    assert ("cannot be read" in there.out, there.err) == (False, "")
    assert "house   the secret at models.providers.house.apiKey, which cannot be read\n" in gone.out
    why = f"secret://encrypted/models/house cannot be resolved: {folder} has nothing of that name."
    assert (gone.code, gone.err) == (0, f"{why} Store it again: openclaw keys set house\n")
    assert listed == [
        {"vendor": "house", "from": "the secret at models.providers.house.apiKey", "problem": why},
    ]
    assert why in doctor


def test_what_is_said_of_a_key_that_was_typed_before_it_was_asked_for_has_a_row_of_its_own(tmp_path: Path) -> None:
    person = Program.under(tmp_path)
    person.configure(PROVIDER % "http://127.0.0.1:9")
    asked = "API key of house (nothing is shown): "
    with Terminal([OPENCLAW, "keys", "set", "house"], cwd=person.workspace, env=person.env()) as early:
        early.until_unseen()
        early.type("two words" + ENTER)
        assert early.ends()[0] == 2
        screen = early.screen
    with Terminal([OPENCLAW, "keys", "set", "house"], cwd=person.workspace, env=person.env()) as late:
        late.shows(asked)
        late.type("two words" + ENTER)
        assert late.ends()[0] == 2
        assert late.screen == screen
    assert screen[0] == asked.rstrip()
    assert screen[1].startswith("error: That is not a key: ")


def test_a_program_that_is_ended_before_it_asks_for_a_key_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    person = Program.under(tmp_path)
    person.configure(PROVIDER % "http://127.0.0.1:9")
    with Terminal([OPENCLAW, "keys", "set", "house"], cwd=person.workspace, env=person.env()) as terminal:
        # At once: what asks is still being loaded, as a rule.
        terminal.until_unseen()
        terminal.terminate()
        terminal.ends()
        assert terminal.takes_lines()


def test_who_leaves_before_typing_leaves_the_terminal_and_the_config_as_they_were(tmp_path: Path) -> None:
    person = Program.under(tmp_path)
    for leave, code in ((CONTROL_C, 130), (CONTROL_D, 1), (ENTER, 1)):
        with Terminal([OPENCLAW, "keys", "set", "openai"], cwd=person.workspace, env=person.env()) as terminal:
            terminal.shows("API key of openai (nothing is shown): ")
            assert not terminal.takes_lines()
            terminal.type(leave)
            assert terminal.ends()[0] == code
            assert terminal.takes_lines()
    assert not person.config.exists()


def test_a_key_may_come_through_a_pipe_and_a_vendor_that_nobody_knows_is_told(tmp_path: Path) -> None:
    person = Program.under(tmp_path)
    piped = person.run("keys", "set", "anthropic", "--json", stdin="sk-ant-0123456789abcdef\n")
    status = person.run("status", "--json").data
    unknown = person.run("keys", "set", "opnai", stdin="sk-0123456789abcdef\n")
    assert (piped.code, piped.data["vendor"], piped.err) == (0, "anthropic", "")
    assert status["agents"][0]["model"] == "anthropic/claude-sonnet-5-5"
    assert (unknown.code, 'Did you mean "openai"?' in unknown.err) == (2, True)


@pytest.mark.parametrize("key", ["two words", "line\nend", "grüße", "x" * 20_001])
def test_what_cannot_be_a_key_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(UsageError) as refused:
        usable(key)
    assert key not in str(refused.value)
