"""A command line that arrived at the control socket: the words, and the terminal they were typed at."""

import os
from pathlib import Path

import msgspec

from openclaw.commands.console import Pictures
from openclaw.control import wire
from openclaw.control.marks import pictures_of

# protocol, token, version, state directory, config file, working directory, width, marks, kinds of questions
_FIELDS = 9
# What a pipe has instead of columns; those of terminals are kept within reason.
_NO_EDGE = "0"
_NARROWEST, _WIDEST, _USUAL = 20, 1_000, 80


class CommandRequest(msgspec.Struct, frozen=True):
    """`screen`: standard output is one. `interactive`: a person watches standard error. `cursor`: lines can be drawn
    again. `kinds`: the questions that can be shown there.

    `token` matters only where a socket's file mode cannot protect it.
    """

    token: bytes
    version: str
    state_dir: str
    config_file: str
    cwd: Path
    words: tuple[str, ...]
    width: int = _USUAL
    screen: bool = False
    colour: bool = False
    interactive: bool = False
    cursor: bool = False
    utf8: bool = True
    pictures: Pictures = ""
    kinds: frozenset[str] = frozenset()


def read_request(payload: bytes) -> CommandRequest | None:
    """None when it is of another version of the protocol."""
    fields = wire.unpack(payload)
    if len(fields) < _FIELDS or fields[0] != wire.PROTOCOL:
        return None
    version, state_dir, config_file, cwd, width, marks, kinds, *words = (os.fsdecode(field) for field in fields[2:])
    return CommandRequest(
        token=fields[1],
        version=version,
        state_dir=state_dir,
        config_file=config_file,
        cwd=Path(cwd),
        words=tuple(words),
        width=usable_width(width),
        screen="s" in marks,
        colour="c" in marks,
        interactive="i" in marks,
        cursor="m" in marks,
        utf8="a" not in marks,
        pictures=pictures_of(marks),
        kinds=frozenset(kinds.split()),
    )


def usable_width(width: str) -> int:
    if width == _NO_EDGE:
        return 0
    return min(max(int(width), _NARROWEST), _WIDEST) if width.isdigit() else _USUAL
