"""The manual page of the program, made from the table of its commands: `openclaw completion man`.

Pure. Written in the macros of man(7), which every reader of manual pages knows; characters beyond ASCII by their numbers.
"""

from collections.abc import Iterator, Sequence

from openclaw.commands.parse import Argument, Command, Option, Parsed, usage

_SECTION = 1
# What stands for characters that every terminal can show otherwise, and for those that roff reads in its own way.
_PLAIN = {"…": "...", "\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", '"': "\\(dq", "^": "\\(ha", "~": "\\(ti"}
_FILES = (
    ("~/.openclaw/openclaw.json", "The config. OPENCLAW_CONFIG_PATH or --config names another."),
    ("~/.openclaw/py", "What the program keeps: conversations, logs, grants. OPENCLAW_STATE_DIR moves it."),
    ("~/.openclaw/mcp/tokens", "Tokens of sign-ins, encrypted."),
)
_VARIABLES = (
    ("OPENCLAW_HOME", "The directory that ~ means in all of these."),
    ("OPENCLAW_STATE_DIR", "The directory of config and state, in place of ~/.openclaw."),
    ("OPENCLAW_CONFIG_PATH", "The config file."),
    ("OPENCLAW_GATEWAY_TOKEN", "The token of the gateway's HTTP port, where the config has none."),
    ("NO_COLOR", "No colours."),
)
_CODES = (
    ("0", "It was done."),
    ("1", "It was not done; what is said tells why."),
    ("2", "The command line or the config is wrong."),
    ("130", "It was interrupted."),
)


def man_page(root: Command, shared: Sequence[Option], version: str) -> str:
    lines = [
        f'.TH {root.name.upper()} {_SECTION} "" "{_text(f"{root.name} {version}")}" "User Commands"',
        ".SH NAME",
        f"{_text(root.name)} \\- {_text(root.summary.rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {_text(root.name)}",
        "COMMAND [options]",
    ]
    if root.details:
        lines += [".SH DESCRIPTION", *_paragraphs(root.details)]
    lines.append(".SH COMMANDS")
    for child in root.children:
        lines += _command(root, child, (child.name,))
    lines += [".SH OPTIONS", "Every command takes these, too.", *_rows(shared)]
    for title, rows in (("EXIT STATUS", _CODES), ("ENVIRONMENT", _VARIABLES), ("FILES", _FILES)):
        lines += [f".SH {title}", *(line for word, meaning in rows for line in _row(word, meaning))]
    return "\n".join(lines) + "\n"


def _command(root: Command, command: Command, trail: tuple[str, ...]) -> Iterator[str]:
    if command.hidden or command.means:
        return
    if command.children:
        for child in command.children:
            yield from _command(root, child, (*trail, child.name))
        return
    yield f'.SS "{_text(usage(root, Parsed(command, trail)))}"'
    yield from _paragraphs(command.summary)
    if command.details:
        yield ".PP"
        yield from _paragraphs(command.details)
    yield from _rows(command.arguments)
    yield from _rows(command.options)


def _rows(words: Sequence[Option | Argument]) -> Iterator[str]:
    for word in words:
        name = word.usage if isinstance(word, Argument) else _spelled(word)
        yield from _row(name, word.help + (f" One of {', '.join(word.choices)}." if word.choices else ""))


def _row(word: str, meaning: str) -> Iterator[str]:
    yield ".TP"
    yield f".B {_text(word)}"
    yield from _paragraphs(meaning)


def _spelled(option: Option) -> str:
    short = f"{option.short}, " if option.short else ""
    return f"{short}{option.flag}" + (f" {option.value}" if option.value else "")


def _paragraphs(text: str) -> Iterator[str]:
    """Lines of prose. An empty one begins a new paragraph; what is indented is shown as it stands."""
    for line in text.strip().splitlines():
        if not line.strip():
            yield ".PP"
        elif line.startswith(" "):
            yield ".br"
            yield _text(line.strip())
        else:
            yield _text(line)


def _text(text: str) -> str:
    """Text that is nothing but text to roff: no macro, no escape, and no character that a device may lack."""
    shown = "".join(
        _PLAIN.get(character) or (character if character.isascii() else f"\\[u{ord(character):04X}]")
        for character in text
    )
    return f"\\&{shown}" if shown.startswith(".") else shown
