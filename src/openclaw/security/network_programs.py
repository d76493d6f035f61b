"""Which command lines bring text from the network: what such a program prints is a stranger's, like a web page. Pure.

Goes by the words alone: programs that are there to fetch (`curl`, `gh`, `git pull`), behind `env`, `timeout` and the like as well, within a
line for a shell too; and any program that is given an address. One that reaches the network without saying so (a script, a build) is not
found, nor is what it left in a file. An address of this machine alone is not the network: what listens there was started here.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from openclaw.security.patterns import program_of

# What they print was on another machine a moment ago.
_FETCHING = """
    curl wget wget2 aria2c http https xh lynx links elinks w3m ssh scp sftp ftp lftp rsync nc ncat netcat telnet
    gh glab hub dig nslookup host whois yt-dlp youtube-dl
"""
_FETCHERS = frozenset(_FETCHING.split())
# Of these only some commands do.
_FETCHING_COMMANDS = {
    "git": frozenset({"clone", "fetch", "pull", "ls-remote"}),
    **dict.fromkeys(("npm", "pnpm", "yarn"), frozenset({"view", "info", "show", "search"})),
    **dict.fromkeys(("pip", "pip3"), frozenset({"search", "index"})),
}
# Options that stand before such a command and have a value behind them.
_WITH_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--prefix"})
# They run the program that is named behind them; a shell has words of its own before one.
_BEFORE = """
    env timeout nice ionice nohup sudo doas time stdbuf xargs command exec setsid if then else do while until ! {
"""
_WRAPPERS = frozenset(_BEFORE.split())
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ash", "ksh", "fish"})
# What may stand between a wrapper and its program.
_BETWEEN = re.compile(r"-.*|\w+=.*|\d+(\.\d+)?[smhd]?")
# What ends one command of a shell's line and begins the next.
_NEXT = re.compile(r"[;&|\n()`]|\$\(")
_ADDRESS = re.compile(r"(?:https?|ftps?|wss?|git|ssh)://(?:[^\s/@'\"]*@)?(\[[^\]]*\]|[^\s/:?#'\"]*)", re.IGNORECASE)
_HERE = re.compile(r"(?:localhost|127\.[\d.]+|\[::1\]|0\.0\.0\.0)(?=[:/]|$)", re.IGNORECASE)
_PLACE = re.compile(r"[.:/]")
_QUOTES = "'\""


def network_program(command: Sequence[str], *, shell: bool = False) -> str:
    """The program of a command line whose output comes from the network; empty when none is known to. With `shell` its one word is a line
    for a shell."""
    words = [str(word) for word in command]
    hosts = [host for word in words for host in _ADDRESS.findall(word)]
    is_elsewhere = not all(map(_HERE.fullmatch, hosts))
    programs = [_unwrapped(line) for line in _lines(words, shell=shell)]
    for program, rest in programs:
        if _fetches(program, rest) and (is_elsewhere or not (hosts or _names_this_machine(rest))):
            return program
    return programs[0][0] if is_elsewhere else ""


def _lines(words: Sequence[str], *, shell: bool) -> Iterator[list[str]]:
    """The commands that are run, each by its words."""
    if not shell:
        yield list(words)
        program, rest = _unwrapped(words)
        if program not in _SHELLS:
            return
        words = rest
    for word in words:
        for part in _NEXT.split(word):
            yield [one.strip(_QUOTES) for one in part.split()]


def _unwrapped(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The program that is really meant, and its words."""
    at = 0
    while at < len(words) and (program_of(words[at]) in _WRAPPERS or (_BETWEEN.fullmatch(words[at]) is not None)):
        at += 1
    return (program_of(words[at]), words[at + 1 :]) if at < len(words) else ("", ())


def _fetches(program: str, words: Sequence[str]) -> bool:
    if program in _FETCHERS:
        return True
    commands = _FETCHING_COMMANDS.get(program)
    if commands is None:
        return False
    before = ""
    for word in words:
        if not word.startswith("-") and before not in _WITH_VALUE:
            return word in commands
        before = word
    return False


def _names_this_machine(words: Sequence[str]) -> bool:
    """Whether the places among the words, written without a scheme, are here: `curl -s localhost:8080/health`. A word behind an option may
    be its value, and is no other place."""
    is_here = False
    for before, word in pairwise(("", *words)):
        if _HERE.match(word):
            is_here = True
        elif not word.startswith("-") and not before.startswith("-") and _PLACE.search(word):
            return False
    return is_here
