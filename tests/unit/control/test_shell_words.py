"""How a command line may go on, over commands and names that are plain values."""

import marshal
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.commands.completion import tree
from openclaw.content import Text, UserMessage
from openclaw.control.shell_words import FILES, answer, offers, remembered, sessions, short_key, split_line, stamp
from openclaw.program import ROOT
from openclaw.sessions.sqlite import SqliteStore

NAMES = {
    "server": {"files": "ready", "web": "failed"},
    "mcp-tool": {"files__read": "Read a file.", "web__get": ""},
    "tool": {"read": "", "files__read": "Read a file.", "web__get": ""},
    "argument": {"files__read path": "Which.", "files__read lines": "", "web__get url": ""},
    "prompt": {"web:summarize": "Sum it up.", "notes": "stopped"},
    "prompt-argument": {"web:summarize topic": "", "web:summarize length": "", "web:greet who": ""},
    "grant": {"g-7Hk2": "read: any arguments"},
    "agent": {"main": "", "research": ""},
    "model": {"openai/gpt-5": ""},
    "program": {"cursor": "Cursor", "codex": "Codex", "all": ""},
    "vendor": {"anthropic": "", "openai": ""},
    "setting": {"tools.allow": "", "tools.exec.timeout": "", "session.store": "Where.", "session": ""},
    "value": {"session.store file": "", "session.store memory": "", "tools.x file": ""},
    "session": {"trip": "plan a trip", "agent:research:x y": "two words"},
}
COMMANDS = tree(ROOT, "main")


def names(kind: str) -> Mapping[str, str]:
    return NAMES[kind]


def offered(*words: str) -> list[str] | None:
    found = offers(COMMANDS, names, words)
    return None if found is None else [*found]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("mc",), ["mcp", "mcp-server"]),
        (("mcp", "res"), ["resources", "restart"]),
        (("mcp", "status", ""), ["files", "web"]),
        (("mcp", "status", "--json", "w"), ["web"]),
        (("mcp", "call", "f"), ["files__read"]),
        (("mcp", "call", "files__read", ""), ["path=", "lines="]),
        (("mcp", "call", "files__read", "path=x", ""), ["lines="]),
        (("mcp", "prompt", ""), ["web:summarize", "notes"]),
        (("mcp", "prompt", "web:summarize", ""), ["topic=", "length="]),
        (("mcp", "prompt", "web:summarize", "topic=x", ""), ["length="]),
        (("approvals", "revoke", ""), ["g-7Hk2"]),
        (("mcp", "call", "--agent", "research", "f"), ["files__read"]),
        (("agent", "--agent", ""), ["main", "research"]),
        (("agent", "--agent=r"), ["--agent=research"]),
        (("agent", "--session-key", "t"), ["trip"]),
        (("--log-level", "w"), ["warning"]),
        (("sessions", "show", "agent:"), ["agent:research:x y"]),
        (("sessions", "--st"), ["--store"]),
        (("sessions", "--store", ""), ["file"]),
        (("tools", "explain", "web"), ["web__get"]),
        (("completion", ""), ["bash", "zsh", "fish", "man"]),
        (("mcp", "import", "c"), ["cursor", "codex"]),
        (("keys", "set", "a"), ["anthropic"]),
        (("config", "get", ""), ["tools.", "session."]),
        (("config", "get", "tools."), ["tools.allow", "tools.exec."]),
        (("config", "set", "session.store", ""), ["file", "memory"]),
        (("config", "set", "tools.x", "m"), []),
        (("agent", "--", "--"), []),
    ],
)
def test_a_line_goes_on_with_the_commands_names_and_values_that_fit(words: tuple[str, ...], found: list[str]) -> None:
    assert offered(*words) == found


@pytest.mark.parametrize(
    "words", [("agent", "--attach", ""), ("mcp", "connect", "./ser"), ("--config", "x"), ("mcp", "import", "./x")]
)
def test_where_a_file_is_wanted_the_shell_offers_files(words: tuple[str, ...]) -> None:
    assert offered(*words) is None
    assert answer(COMMANDS, names, ["zsh", *words]) == f"{FILES}\n"


def test_options_are_offered_once_but_for_those_that_repeat_and_where_nothing_else_fits() -> None:
    assert offered("doctor", "--js") == ["--json"]
    assert offered("doctor", "--json", "--js") == []
    assert offered("agent", "--attach", "a", "--att") == ["--attach"]
    assert "--json" in (offered("doctor", "") or [])
    # Behind a program stand its own; behind an address, ours.
    assert offered("mcp", "connect", "npx", "--fo") is None
    assert offered("mcp", "connect", "https://h.example/mcp", "--fo") == ["--force"]


def test_commands_that_nobody_types_are_not_offered() -> None:
    assert {"line", "complete"}.isdisjoint(offered("") or [])


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("openclaw mcp st", ["status"]),
        ("openclaw agent --agent=r", ["research"]),
        ("openclaw agent --session-key agent:research:", ["x\\ y"]),
        ("openclaw agent --session-key 'agent:research:x", ["x\\ y"]),
        ("A=1 openclaw sessions show t", ["trip"]),
        ("openclaw", []),
    ],
)
def test_bash_gets_what_stands_behind_its_word_break_with_blanks_escaped(line: str, found: list[str]) -> None:
    printed = answer(COMMANDS, names, ["bash", " \t\n\"'><=;|&(:", line])
    assert printed.splitlines()[: len(found)] == found


def test_other_shells_get_a_word_a_line_and_what_is_said_of_it() -> None:
    assert answer(COMMANDS, names, ["fish", "mcp", "status", ""]) == "files\tready\nweb\tfailed\n"
    titled = answer(COMMANDS, lambda kind: {"k": "one\x1b[31m\ntwo"}, ["zsh", "sessions", "show", ""])
    assert titled == "k\tone[31m two\n"
    long = answer(COMMANDS, lambda kind: {"k": "word " * 40}, ["zsh", "sessions", "show", ""])
    assert long == f"k\t{('word ' * 40)[:57]}...\n"


@given(st.text(max_size=40))
def test_any_line_can_be_taken_apart(line: str) -> None:
    words = split_line(line)
    assert words
    assert all(words[:-1])
    offers(COMMANDS, names, words)


def test_names_are_remembered_until_what_they_were_made_from_changes(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    data = tmp_path / ".openclaw" / "py"
    data.mkdir(parents=True)
    config = tmp_path / ".openclaw" / "openclaw.json"
    config.write_text("{}")

    def keep(commands: Any) -> None:
        kept = {"stamp": stamp(env, "", [str(config)]), "commands": commands, "names": {"agent": {}}}
        (data / "completion.bin").write_bytes(marshal.dumps(kept))

    assert remembered(env, "") is None
    keep({"agent": "main"})
    assert remembered(env, "") == ({"agent": "main"}, {"agent": {}})
    assert remembered(env, str(tmp_path / "other.json")) is None
    os.utime(config, ns=(1, 1))
    assert remembered(env, "") is None
    keep({})
    assert remembered(env, "") is not None
    (data / "mcp" / "cache").mkdir(parents=True)
    assert remembered(env, "") is None
    for damaged in (b"", b"no names", marshal.dumps(None), marshal.dumps({})):
        (data / "completion.bin").write_bytes(damaged)
        assert remembered(env, "") is None


async def test_conversations_are_read_from_their_store_the_newest_first(tmp_path: Path) -> None:
    file = tmp_path / "sessions.sqlite"
    assert sessions(str(file), "main") == {}
    clock = iter(range(1, 100))
    store = SqliteStore(file, clock=lambda: float(next(clock)))
    for key, words in (("agent:main:one", "first words"), ("agent:other:two", "other words")):
        async with store.turn(key, key.split(":")[1]) as turn:
            turn.append(UserMessage((Text(words),)))
    await store.rename("agent:main:one", "a name")
    await store.close()
    assert list(sessions(str(file), "main").items()) == [("agent:other:two", "other words"), ("one", "a name")]
    file.write_bytes(b"no database")
    assert sessions(str(file), "main") == {}


@pytest.mark.parametrize(
    ("key", "short"),
    [("agent:main:x", "x"), ("agent:other:x", "agent:other:x"), ("agent:main:", "agent:main:"), ("plain", "plain")],
)
def test_a_key_is_short_without_the_name_of_the_default_agent(key: str, short: str) -> None:
    assert short_key(key, "main") == short
