"""How a command line may go on: what a shell's Tab key offers, decided over plain values.

Imports the standard library alone, and of that little: a person waits for every answer. A running gateway is asked first; without one
the answer comes from a file that the last answer of the slow kind left (`commands/completion.py` makes both), as long as nothing it was
made from has changed. Conversations are read from their store, which changes with every turn. Starts no server and prints no error: a
Tab that cannot be answered offers nothing.
"""

# `json` would load `re`, and cost more than all else of an answer.
import marshal
import os

from openclaw.config import plain_paths
from openclaw.control import remote
from openclaw.version import __version__

# A plain name instead of typing.TYPE_CHECKING: type checkers know it, and importing typing costs milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    # Words, each with what is said of it; None where files are offered.
    Offers = dict[str, str] | None
    # All names of a kind (`server`, `tool`, `session` …), each with what is said of it.
    Names = Callable[[str], Mapping[str, str]]

# What is printed in place of words when the shell should offer files.
FILES = ":files"
# Kinds of names.
FILE, SESSION, TOOL, ARGUMENT = "file", "session", "tool", "argument"
# Tools of servers alone: what a person may call.
MCP_TOOL = "mcp-tool"
PROMPT, PROMPT_ARGUMENT, GRANT = "prompt", "prompt-argument", "grant"
PROGRAM, SETTING, VALUE = "program", "setting", "value"
# Kinds whose names are looked for behind the word before them.
_BEHIND = (ARGUMENT, PROMPT_ARGUMENT, VALUE)
# Conversations that are offered, the newest: nobody reads through more.
MOST_SESSIONS = 100
# Of what is said of a word.
_HELP = 60
# A Tab waits no longer for a store that somebody else holds.
_BUSY_SECONDS = 0.2
# Bash puts a word on the line as it is: these would mean something there.
_SPECIAL = frozenset(" \t\n\"'\\$`&|;<>()*?[]{}!#~")


def command_line(words: "list[str]") -> "list[str]":
    """`complete -- …` with the config that is named on the line being typed, in whose place it is answered."""
    line = words[2:] if words[1:2] == ["--"] else words[1:]
    config = remote.config_named(typed_words(line))
    return ["complete", *([f"--config={config}"] if config else []), "--", *line]


def main(words: "list[str]") -> "int | None":
    """Answer such a command line; None when nothing is remembered that answers it."""
    code = remote.run(words)
    if code is not None:
        return code
    known = remembered(os.environ, remote.config_named(words))
    if known is None:
        return None
    commands, names = known
    database = os.path.join(plain_paths.state_dir(os.environ), "py", "sessions.sqlite")

    def named_so(kind: str) -> "Mapping[str, str]":
        return sessions(database, commands["agent"]) if kind == SESSION else names.get(kind, {})

    os.write(1, answer(commands, named_so, words[words.index("--") + 1 :]).encode())
    return 0


def typed_words(words: "Sequence[str]") -> "list[str]":
    """What stands on the line behind the name of the program; the last is being typed. `words` are the shell's name and what it says."""
    shell, *rest = words or [""]
    if shell != "bash":
        return rest or [""]
    line = split_line(rest[-1] if rest else "")
    while len(line) > 1 and "=" in line[0]:
        # A variable that is set for the program.
        del line[0]
    return line[1:] or [""]


def split_line(line: str) -> "list[str]":
    """The words of a line as a shell reads them; the last may be empty, or in quotes that are still open."""
    words, quote, escaped = [""], "", False
    for character in line:
        if escaped:
            words[-1] += character
            escaped = False
        elif character == "\\" and quote != "'":
            escaped = True
        elif quote:
            if character == quote:
                quote = ""
            else:
                words[-1] += character
        elif character in "\"'":
            quote = character
        elif character.isspace():
            words.append("")
        else:
            words[-1] += character
    return [word for word in words[:-1] if word] + words[-1:]


def answer(known: "Mapping[str, Any]", names: "Names", words: "Sequence[str]") -> str:
    """What is printed for the shell: a word in each line, and behind a tab what is said of it."""
    shell, typed = words[0] if words else "", typed_words(words)
    found = offers(known, names, typed)
    if found is None:
        return FILES + "\n"
    if shell == "bash":
        return "".join(f"{_for_bash(word, typed[-1], words[1])}\n" for word in found)
    return "".join(f"{word}\t{_plain(text)}\n" for word, text in found.items())


def _plain(text: str) -> str:
    """What is said of a word, as a screen may show it: a title is what somebody once typed."""
    said = "".join(character for character in " ".join(text.split()) if character.isprintable())
    return said if len(said) <= _HELP else said[: _HELP - 3].rstrip() + "..."


def _for_bash(word: str, typed: str, breaks: str) -> str:
    """Bash takes what stands behind the last of its word breaks for the word, and a blank in it for the end."""
    begins = max(typed.rfind(character) if character in breaks else -1 for character in ":=") + 1
    word = word[begins:]
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in word)


def offers(known: "Mapping[str, Any]", names: "Names", words: "Sequence[str]") -> "Offers":
    """How the last of `words` may go on; None where it is the name of a file."""
    place = _Place(known["tree"], known["shared"])
    for word in words[:-1]:
        place.pass_by(word)
    last = words[-1]
    found = place.offered(last, names)
    if found is None:
        return None
    fitting = {word: text for word, text in found.items() if word.startswith(last)}
    kind = place.kind
    if kind == PROGRAM and not fitting:
        # A file of one may be named in its place.
        return None
    return _by_level(fitting, len(last)) if kind == SETTING else fitting


def _by_level(found: "Mapping[str, str]", typed: int) -> "dict[str, str]":
    """Paths up to their next dot: all of them at once are more than anybody reads."""
    levels: dict[str, str] = {}
    for path, text in found.items():
        end = path.find(".", typed) + 1
        levels[path[:end] if end else path] = "" if end else text
    # What has settings of its own is gone into, and can be named without its dot.
    return {path: text for path, text in levels.items() if f"{path}." not in levels}


class _Place:
    """Where on the line the words so far have led."""

    def __init__(self, tree: "Mapping[str, Any]", shared: "Sequence[Mapping[str, Any]]") -> None:
        self._node = tree
        self._shared = shared
        self._given: list[str] = []
        self._seen: set[str] = set()
        # The option whose value comes next.
        self._open: Mapping[str, Any] | None = None
        self._only_words = False
        # What the word that is typed names, where it is an argument.
        self.kind = ""

    def pass_by(self, word: str) -> None:
        if self._open is not None:
            self._open = None
        elif self._only_words or not word.startswith("-") or word == "-":
            self._take(word)
        elif word == "--":
            self._only_words = True
        elif (option := self._option(word.partition("=")[0])) is not None:
            self._seen.add(option["flag"])
            self._open = option if option["value"] and "=" not in word else None

    def _take(self, word: str) -> None:
        if not self._given and not self._only_words and word in self._node["children"]:
            self._node = self._node["children"][word]
        else:
            self._node = self._default() or self._node
            self._given.append(word)
            at = len(self._given) - 1
            if (
                self._node["arguments"][at : at + 1]
                and self._node["arguments"][at].get("verbatim")
                and "://" not in word
            ):
                # What stands behind a program is its own.
                self._only_words = True

    def _default(self) -> "Mapping[str, Any] | None":
        found: Mapping[str, Any] | None = self._node["children"].get(self._node["default"])
        return found

    def _options(self) -> "list[Mapping[str, Any]]":
        default = self._default()
        return [*self._node["options"], *(default["options"] if default else ()), *self._shared]

    def _option(self, word: str) -> "Mapping[str, Any] | None":
        return next((one for one in self._options() if word and word in (one["flag"], one["short"])), None)

    def offered(self, last: str, names: "Names") -> "Offers":
        if self._open is not None:
            return self._values(self._open, names)
        flag, equals, _ = last.partition("=")
        if not self._only_words and equals and (option := self._option(flag)) is not None and option["value"]:
            values = self._values(option, names)
            return None if values is None else {f"{flag}={value}": text for value, text in values.items()}
        if last.startswith("-") and not self._only_words:
            return self._flags()
        found = {} if self._given or self._only_words else self._children()
        values = self._argument(names)
        if values is None and not found:
            return None
        found |= values or {}
        return found or ({} if last or self._only_words else self._flags())

    def _children(self) -> "dict[str, str]":
        return {name: child["summary"] for name, child in self._node["children"].items() if not child["hidden"]}

    def _flags(self) -> "dict[str, str]":
        return {one["flag"]: one["help"] for one in self._options() if one["many"] or one["flag"] not in self._seen}

    def _argument(self, names: "Names") -> "Offers":
        node = self._default() or self._node
        arguments = node["arguments"]
        place = len(self._given)
        if place < len(arguments):
            slot = arguments[place]
        elif arguments and arguments[-1]["rest"]:
            slot = arguments[-1]
        else:
            return {}
        found, self.kind = self._values(slot, names), slot["names"]
        if found is None or not place or self.kind not in _BEHIND:
            return found
        # Those of the tool, the prompt or the setting that was named before.
        prefix, given = f"{self._given[0]} ", {word.partition("=")[0] for word in self._given[1:]}
        behind = {word.removeprefix(prefix): text for word, text in found.items() if word.startswith(prefix)}
        mark = "" if self.kind == VALUE else "="
        return {f"{word}{mark}": text for word, text in behind.items() if word not in given}

    def _values(self, slot: "Mapping[str, Any]", names: "Names") -> "Offers":
        if slot["choices"]:
            return dict.fromkeys(slot["choices"], "")
        if slot["names"] == FILE:
            return None
        return dict(names(slot["names"])) if slot["names"] else {}


def stamp(env: "Mapping[str, str]", config: str, files: "Sequence[str]") -> "dict[str, Any]":
    """What remembered names are made from, as it is now."""
    lists = os.path.join(plain_paths.state_dir(env), "py", "mcp", "cache")
    main_file = plain_paths.config_file(env, config)
    return {
        "version": __version__,
        "config": main_file,
        "files": [[path, *_changed(path)] for path in dict.fromkeys([main_file, *files])],
        "lists": _changed(lists),
    }


def _changed(path: str) -> "list[int]":
    try:
        found = os.stat(path)
    except OSError:
        return [0, 0]
    return [found.st_mtime_ns, found.st_size]


def names_file(env: "Mapping[str, str]") -> str:
    """Where names are remembered."""
    return os.path.join(plain_paths.state_dir(env), "py", "completion.bin")


def remembered(env: "Mapping[str, str]", config: str) -> "tuple[Mapping[str, Any], Mapping[str, Any]] | None":
    """The commands, and the names by their kinds; None when they are not known, or something has changed since."""
    try:
        with open(names_file(env), "rb") as file:
            kept = marshal.loads(file.read())
        if kept["stamp"] == stamp(env, config, [path for path, *_ in kept["stamp"]["files"]]):
            return kept["commands"], kept["names"]
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        pass
    return None


def sessions(database: str, agent: str) -> "dict[str, str]":
    """The keys of conversations, the newest first, as they are listed and behind each its title."""
    if not os.path.exists(database):
        return {}
    import sqlite3

    try:
        connection = sqlite3.connect(database, timeout=_BUSY_SECONDS)
        try:
            # Only looked at: a store of another version is left as it is, and offers nothing.
            connection.execute("PRAGMA query_only = ON")
            rows = connection.execute(
                "SELECT key, CASE name WHEN '' THEN opening ELSE name END FROM sessions ORDER BY updated_ms DESC LIMIT ?",
                (MOST_SESSIONS,),
            ).fetchall()
        finally:
            connection.close()
    except sqlite3.Error:
        return {}
    return {short_key(key, agent): title for key, title in rows if key.isprintable()}


def short_key(key: str, agent: str) -> str:
    """A key as short as it can be pasted behind `--session-key`: without the name of the default agent."""
    less = key.removeprefix(f"agent:{agent}:")
    return key if less.startswith("agent:") or not less else less
