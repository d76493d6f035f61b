"""Whether a call fits a pattern. Pure.

Owns what matching means; how a pattern is written is config/call_pattern.py's. Names are those of tool policy (security/policy.py). Every
argument that is named must be there and match; the others are free.

One pattern is read two ways. What *allows* (`covers`) takes no value that could mean something else than it says: no `..`, no address
that readers disagree about, nothing through a shell, no interpreter with its program on the command line. What *denies or asks*
(`touches`) takes whatever might be meant, in any case and however a letter is composed: systems differ about both. On Windows a path has
two signs between its names; dots and blanks at the end of one, streams of a file and `\\\\?\\` in front are not part of it.
"""

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import msgspec

from openclaw.config.call_pattern import Glob, read_address, read_pattern
from openclaw.content import to_json
from openclaw.late_pattern import late_pattern
from openclaw.security.policy import Named, NamePatterns, ToolKey, key_of
from openclaw.security.risk import hosts_of, leaves
from openclaw.wildcard import is_pattern, matches

_IS_WINDOWS = sys.platform == "win32"
# Of paths on Windows: in front of one that is taken as it stands, and behind a name; a letter alone in front is a drive.
_HOW_TO_READ = late_pattern(r"\A//[?.]/")
_STREAM = late_pattern(r"(?<!\A[A-Za-z]):[^/]*")
# Sets of patterns remember which of them name a tool, for so many tools.
_MOST_TOOLS = 10_000
_LISTS = (list, tuple)
# Where the paths among a call's arguments really lead, by argument, in every form a pattern may have it: absolute, and from the workspace.
Paths = Mapping[str, Sequence[str]]


class Pattern(msgspec.Struct, frozen=True, eq=False):
    """`text` is the pattern as written, `where` the place. `names` has its one name."""

    text: str
    name: str
    names: NamePatterns
    arguments: tuple[tuple[str, Glob], ...] = ()
    where: str = ""

    def is_of(self, tool: ToolKey) -> bool:
        return self.names.match(tool) is not None


class PatternSet:
    """Several patterns; which of them name a tool is worked out once for each tool."""

    def __init__(self, patterns: Iterable[Pattern] = ()) -> None:
        self.patterns = tuple(patterns)
        self._known: dict[tuple[str, str, str], tuple[Pattern, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def of(self, tool: Named) -> tuple[Pattern, ...]:
        if not self.patterns:
            return ()
        key = tool.name, tool.kind, tool.origin
        named = self._known.get(key)
        if named is None:
            if len(self._known) >= _MOST_TOOLS:
                self._known.clear()
            normal = key_of(tool)
            named = self._known[key] = tuple(one for one in self.patterns if one.is_of(normal))
        return named


def parse(text: str, where: str = "", *, home: str = "") -> Pattern:
    """`home` is what `~/` at the beginning of a value stands for. Raises UsageError with what is wrong."""
    written = read_pattern(text, home=home)
    return Pattern(written.text, written.name, NamePatterns([written.name]), written.arguments, where)


def covers(wanted: Glob, value: Any, *, real: Sequence[str] = (), windows: bool = _IS_WINDOWS) -> bool:
    """Whether an allowed `value` is meant for sure. `real` are the forms of where a path really leads, when somebody looked."""
    if wanted.argv is not None and isinstance(value, _LISTS):
        return _is_argv(wanted.argv, value) and not has_inline_code(value)
    if wanted.is_anything:
        return True
    if isinstance(value, _LISTS):
        return bool(value) and all(covers(wanted, one, windows=windows) for one in value)
    if isinstance(value, Mapping):
        return False
    text = _text(value)
    if wanted.address is not None:
        return _is_address(wanted.address, text)
    if wanted.is_path:
        return any(_is_path(wanted.text, one, windows) for one in real or (text,))
    return matches(wanted.text, text) and not (is_pattern(wanted.text) and _climbs(text))


def touches(wanted: Glob, value: Any, *, real: Sequence[str] = (), windows: bool = _IS_WINDOWS) -> bool:
    """Whether a denied or doubted `value` may be meant."""
    if wanted.is_anything:
        return True
    if wanted.argv is not None and isinstance(value, _LISTS):
        return _may_be_argv(wanted.argv, value)
    return any(_may_be(wanted, _text(one), real, windows) for _, one in leaves({"": value}))


def covers_call(pattern: Sequence[tuple[str, Glob]], arguments: Mapping[str, Any], paths: Paths) -> bool:
    """Whether every named argument is there and matches. A command line is never matched when a shell reads it."""
    for name, wanted in pattern:
        if name not in arguments or not covers(wanted, arguments[name], real=paths.get(name, ())):
            return False
        if wanted.argv is not None and arguments.get("shell"):
            return False
    return True


def touches_call(pattern: Sequence[tuple[str, Glob]], arguments: Mapping[str, Any], paths: Paths) -> bool:
    """The same for what denies or asks. What a shell makes of a command line is not known: it may be any."""
    return all(
        name in arguments
        and (
            (wanted.argv is not None and bool(arguments.get("shell")))
            or touches(wanted, arguments[name], real=paths.get(name, ()))
        )
        for name, wanted in pattern
    )


def names_host(wanted: Glob, host: str) -> bool:
    return wanted.address is not None and wanted.address[1] == host


# Command lines

# Interpreters, and the options with which their program stands on the command line.
_INLINE: dict[str, tuple[str, ...]] = {
    "python": ("-c",),
    "pypy": ("-c",),
    "node": ("-e", "-p", "--eval", "--print"),
    "nodejs": ("-e", "-p", "--eval", "--print"),
    "bun": ("-e", "-p", "--eval", "--print"),
    "deno": ("eval",),
    **dict.fromkeys(("sh", "bash", "zsh", "dash", "ash", "ksh", "fish", "su"), ("-c", "--command")),
    "perl": ("-e", "-E"),
    "ruby": ("-e",),
    "php": ("-r", "-R", "-B", "-E"),
    **dict.fromkeys(("lua", "luajit", "julia", "elixir", "groovy", "scala", "ghc"), ("-e",)),
    **dict.fromkeys(("tsx", "ts-node"), ("-e", "-p", "--eval", "--print")),
    **dict.fromkeys(("emacs", "octave", "sbcl", "make", "gmake"), ("--eval", "-eval")),
    **dict.fromkeys(("gdb", "lldb"), ("-ex", "-o", "--eval-command")),
    "guile": ("-c",),
    # They hand a command line to a shell.
    **dict.fromkeys(("flock", "script"), ("-c", "--command")),
    **dict.fromkeys(("npx", "npm"), ("-c", "--call")),
    "tar": ("--to-command", "--checkpoint-action", "--use-compress-program"),
    "r": ("-e",),
    "rscript": ("-e",),
    "osascript": ("-e",),
    "pwsh": ("-c", "-e", "-command", "-encodedcommand"),
    "powershell": ("-c", "-e", "-command", "-encodedcommand"),
    "cmd": ("/c", "/k"),
    # `env -S` splits one argument into a command line of its own.
    "env": ("-S", "--split-string"),
}
# A program of theirs always stands on the command line.
_ALWAYS_INLINE = frozenset({"awk", "gawk", "mawk", "nawk", "eval"})
_VERSION = re.compile(r"[\d.]+$")


def has_inline_code(argv: Sequence[Any]) -> bool:
    """Whether some word is an interpreter whose program is another word: behind `env`, `timeout` and the like as well.

    In doubt it has: that costs a question, and no more.
    """
    words = [str(word) for word in argv]
    for index, word in enumerate(words):
        program = program_of(word)
        if program in _ALWAYS_INLINE:
            return True
        options = _INLINE.get(program) or _INLINE.get(_VERSION.sub("", program))
        if options and any(_has_option(later, options) for later in words[index + 1 :]):
            return True
    return False


def program_of(word: str) -> str:
    return re.split(r"[/\\]", word)[-1].casefold().removesuffix(".exe")


def _has_option(word: str, options: tuple[str, ...]) -> bool:
    for option in options:
        if word.casefold() == option.casefold() or word.startswith(f"{option}="):
            return True
        # Short ones stand together (`-lc`) or have their value behind them (`-cprint(1)`).
        short = option[:1] == "-" and len(option) == 2
        if short and word[:1] == "-" and word[:2] != "--" and option[1] in word[1:]:
            return True
    return False


def _is_argv(wanted: tuple[str, ...], value: Sequence[Any]) -> bool:
    """By elements: `*` is any one word, and any number of them at the end."""
    if wanted[-1] == "*":
        wanted, is_prefix = wanted[:-1], True
    else:
        is_prefix = False
    if len(value) < len(wanted) or (len(value) > len(wanted) and not is_prefix):
        return False
    return all(one in ("*", word) for one, word in zip(wanted, value, strict=False))


def _may_be_argv(wanted: tuple[str, ...], value: Sequence[Any]) -> bool:
    """Also a program that is given with its folder, and one behind another (`env`, `sudo`)."""
    words = [str(word) for word in value]
    by_name = (program_of(wanted[0]), *wanted[1:])
    return any(
        _is_argv(wanted, words[start:]) or _is_argv(by_name, [program_of(words[start]), *words[start + 1 :]])
        for start in range(len(words))
    )


# Paths and addresses


def _climbs(text: str) -> bool:
    return ".." in text and ".." in re.split(r"[/\\]", text)


def _is_path(wanted: str, value: str, windows: bool) -> bool:
    if windows:
        wanted, value = wanted.replace("\\", "/"), value.replace("\\", "/")
        if value != _windows_form(value):
            return False
    if not value or _climbs(value) or "\\" in value or "\0" in value:
        return False
    return _path_matches(_names(wanted), _names(value))


def _names(path: str) -> list[str]:
    """A path by its names; an absolute one has an empty name first."""
    first = [""] if path.startswith("/") else []
    return first + [name for name in path.split("/") if name not in ("", ".")]


def _path_matches(wanted: list[str], names: list[str]) -> bool:
    """`**` is any number of names, `*` stays within one. Linear, as in wildcard.py: the leftmost place is as good as any."""
    place, mark, after = 0, -1, 0
    at = 0
    while at < len(names):
        if place < len(wanted) and wanted[place] == "**":
            mark, after = place, at
            place += 1
        elif place < len(wanted) and matches(wanted[place], names[at]):
            place += 1
            at += 1
        elif mark >= 0:
            place, after = mark + 1, after + 1
            at = after
        else:
            return False
    return all(one == "**" for one in wanted[place:])


def _is_address(wanted: tuple[str, str, int, str], text: str) -> bool:
    given = read_address(text)
    if given is None or given[:3] != wanted[:3]:
        return False
    # What a server decodes is not ours to know: encoded dots climb as well, be they encoded twice.
    path = given[3].partition("?")[0]
    return not _climbs(unquote(unquote(path))) and matches(wanted[3], given[3])


def _may_be(wanted: Glob, text: str, real: Sequence[str], windows: bool) -> bool:
    if wanted.address is not None:
        given = read_address(text)
        if given is not None:
            return _is_address(wanted.address, text)
        # One that readers differ about: the host alone decides.
        return wanted.address[1] in hosts_of({"url": text})
    if _fits(wanted, text, real, windows, str.casefold):
        return True
    # One file on macOS, however its letters are composed.
    return not (wanted.text.isascii() and text.isascii() and "".join(real).isascii()) and _fits(
        wanted, text, real, windows, _composed
    )


def _fits(wanted: Glob, text: str, real: Sequence[str], windows: bool, fold: Callable[[str], str]) -> bool:
    folded, forms = fold(wanted.text), [text, _normal(text), *real]
    if not wanted.is_path and matches(folded, fold(text)):
        return True
    if windows:
        read = _windows_form(text)
        folded, forms = folded.replace("\\", "/"), [*forms, read, _normal(read), *map(_windows_form, real)]
    if wanted.is_path:
        names = _names(folded)
        return any(_path_matches(names, _names(fold(one))) for one in forms)
    return (windows or _climbs(text)) and any(matches(folded, fold(one)) for one in forms)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _windows_form(path: str) -> str:
    """As Windows reads a path: one sign between the names, no dots and blanks at the end of one, no stream of a file behind a colon, and
    nothing in front that only says how to read it."""
    plain = _HOW_TO_READ.sub("", path.replace("\\", "/"))
    names = [name.rstrip(" ") for name in _STREAM.sub("", plain).split("/")]
    return "/".join(name if name in (".", "..") else name.rstrip(". ") for name in names)


def _normal(path: str) -> str:
    names: list[str] = []
    for name in _names(path.replace("\\", "/")):
        if name == ".." and names and names[-1] not in ("", ".."):
            names.pop()
        elif name != ".." or names != [""]:
            names.append(name)
    return "/".join(names) or "."


def _text(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value).decode()
