"""A server as a person types it: an address, or a program and its arguments.

Owns the entry that is made of the words, the folder they are read in, the name it gets, and the consent before a program is run. A program
may be named at a terminal or over the control socket only. Tries nothing and writes nothing: connect.py does.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from urllib.parse import urlsplit

from openclaw.commands.dispatch import Context, Surface
from openclaw.commands.once import is_address
from openclaw.commands.parse import Parsed
from openclaw.config.launchers import launch
from openclaw.config.rules import is_loopback
from openclaw.config.variables import escape
from openclaw.errors import UsageError
from openclaw.log import one_line
from openclaw.mcp.connect import TIMEOUT_KEY
from openclaw.redact import SECRET_SCHEME
from openclaw.typed_words import join_words, quote_word

# Programs that only run another one: the file they are given says more than they do. Those that fetch it first are launchers.
_INTERPRETERS = frozenset({"python", "python3", "node", "deno", "sh", "bash"})
# Behind these stands code, which is no name.
_CODE = frozenset({"-c", "-lc", "-ic", "-e", "--eval", "-p"})
# Parts of host and package names that say nothing about which server it is.
_DULL = frozenset({"mcp", "api", "www", "server", "com", "org", "net", "io", "dev", "ai", "app", "co", "latest", "sse"})
_OUTSIDE = re.compile(r"[^A-Za-z0-9_-]+")
# How an address begins, of whatever kind. One letter is a drive of Windows.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
# A host as people type it without what belongs before it: with a port, or with dots and a path.
_BARE_HOST = re.compile(r"(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*:\d{1,5}(?:/.*)?|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+/.*)")

# A server as it is written into the file.
Entry = dict[str, str | int | list[str] | dict[str, str]]


def is_typed_here(surface: Surface) -> bool:
    """Whether the person sits where programs are run, and may speak of this machine's secrets and variables."""
    return surface in ("terminal", "control")


def entry_of(context: Context, parsed: Parsed, words: Sequence[str], *, verb: str = "added") -> Entry:
    """What is written for the words, or `verb` otherwise. Where they were typed in a conversation, `${NAME}` in them stays plain text."""
    is_url = len(words) == 1 and is_address(words[0])
    _refuse_an_address(context, words)
    typed_here = is_typed_here(context.surface)
    if not is_url and not typed_here:
        raise UsageError(
            f"A server that is a program can only be {verb} from a terminal.",
            hint=f"Run: openclaw mcp connect {join_words(words)}" if verb == "added" else "",
        )
    text = (lambda value: value) if typed_here else _plain
    entry: Entry = {"url": text(words[0])} if is_url else {"command": words[0]}
    if not is_url and len(words) > 1:
        entry["args"] = list(words[1:])
    if not is_url and named_here(words, context.cwd):
        # A gateway, and the next terminal, run elsewhere.
        entry["cwd"] = escape(str(context.cwd))
    if parsed.text("transport"):
        entry["transport"] = parsed.text("transport")
    seconds = parsed.number("timeout")
    if seconds is not None:
        entry[TIMEOUT_KEY] = round(seconds * 1000)
    for key, setting in (("header", "headers"), ("env", "env")):
        pairs = pairs_of(parsed, key)
        if pairs:
            entry[setting] = {name: text(value) for name, value in pairs.items()}
    return entry


def _refuse_an_address(context: Context, words: Sequence[str]) -> None:
    """One that is not written as it has to be, and would be taken for a program. Raises UsageError."""
    first, *more = words
    shown = one_line(first, 60)
    if is_address(first):
        if more:
            raise UsageError(
                f"An address stands alone, and {one_line(more[0], 60)!r} comes behind {shown}.",
                hint="What its requests need goes before it: --header NAME=VALUE",
            )
    elif _SCHEME.match(first):
        raise UsageError(
            f"{shown} is neither a program nor the address of a server.",
            hint="Addresses begin with https://, or with http:// on this machine.",
        )
    elif not more and _BARE_HOST.fullmatch(first) and not _is_there(context.cwd / first):
        host = re.split("[:/]", first)[0]
        scheme = "http" if is_loopback(host) else "https"
        raise UsageError(f"There is no program {shown}.", hint=f"Is it an address? Write {scheme}://{shown}")


def named_here(words: Sequence[str], folder: Path) -> str:
    """The first word of a command line that names something in `folder`, and would name nothing elsewhere; empty when none does.

    A program without a slash is looked for on the PATH, so it names no file.
    """
    command, *rest = words
    values = [word.partition("=")[2] if word.startswith("-") else word for word in rest]
    for word in [command, *values] if "/" in command else values:
        if word and not word.startswith("~") and not PurePath(word).is_absolute() and _is_there(folder / word):
            return word
    return ""


def _is_there(file: Path) -> bool:
    try:
        return file.exists()
    except (OSError, ValueError):
        # It is too long for a name, or has a null character in it: code, say.
        return False


def _plain(value: str) -> str:
    """Text from a conversation: it may not reach into this machine's environment or secret stores."""
    if SECRET_SCHEME in value or re.fullmatch(r"\$[A-Z_][A-Z0-9_]*", value):
        raise UsageError("References to secrets can only be set from a terminal or in openclaw.json.")
    return escape(value)


def pairs_of(parsed: Parsed, option: str) -> Mapping[str, str]:
    """What was given with `--OPTION NAME=VALUE`. Raises UsageError."""
    found: dict[str, str] = {}
    for word in parsed.many(option):
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"--{option} needs NAME=VALUE; {word!r} is not.")
        found[name] = value
    return found


def name_for(words: Sequence[str]) -> str:
    """A name from the host or the program: `https://mcp.tavily.com/mcp` is tavily, `npx -y @x/server-filesystem /tmp` filesystem."""
    parts: list[str]
    if is_address(words[0]):
        try:
            address = urlsplit(words[0])
            host, port = address.hostname or "", address.port
        except ValueError:
            # It is no address: whoever reads the entry says so.
            host, port = "", None
        numeric = host.replace(".", "").isdigit() or ":" in host
        parts = [f"{host}-{port}"] if numeric or host == "localhost" else host.split(".")
    else:
        program, launched = PurePath(words[0]).name, launch(words[0], words[1:])
        run = launched.main if launched else next(iter(_operands(words)), "")
        source = PurePath(run).name if run and (launched or program in _INTERPRETERS) else program
        # Without the version that is asked for.
        parts = re.split("[@=<>~![]", source)[0].removesuffix(".py").removesuffix(".js").split("-")
    telling = [part for part in parts if part.lower() not in _DULL] or parts
    return _OUTSIDE.sub("-", "-".join(telling)).strip("-") or "server"


def _operands(words: Sequence[str]) -> list[str]:
    """What a program is given besides options; nothing when that is code."""
    at = next((index for index, word in enumerate(words) if index and not word.startswith("-")), 0)
    return [] if words[at - 1] in _CODE else [word for word in words[1:] if not word.startswith("-")]


async def consent(context: Context, argv: Sequence[str], variables: Sequence[str], *, when: str, question: str) -> bool:
    """A program is shown in full before it runs for the first time, and `when` that will be. Raises UsageError when nobody is there."""
    context.console.note(f"This program will be run on this machine, with your rights, {when}:")
    words = " ".join(ascii(word) if not word.isprintable() else quote_word(word) for word in argv)
    # As it is, in one line: folded, a blank in it could not be told from the end of a row.
    context.console.err(f"  {words}\n")
    if variables:
        context.console.note(f"  with the variables {', '.join(map(one_line, variables))}")
    agreed = await context.console.agreed(f"{question} [y/N] ")
    if agreed is None:
        # Behind the program it is an option of that.
        place = " before the program" if "--yes" in argv else ""
        raise UsageError("Nobody is there to agree to running this program.", hint=f"Say so with --yes{place}.")
    return agreed
