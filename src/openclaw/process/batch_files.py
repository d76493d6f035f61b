"""Batch files of Windows (`npx.cmd`): what may be handed to one.

The system runs such a file with cmd.exe, which reads its arguments as a command line of its own, whatever quotes stand around them
(CVE-2024-24576 and its kind). So what that program would take for anything but a plain word is refused; nothing is escaped, for no way to
do so holds everywhere. Pure.
"""

from collections.abc import Sequence

from openclaw.errors import ProcessError

_SUFFIXES = (".bat", ".cmd")
# What ends a quoted text, names a variable, joins commands, redirects them or escapes: within quotes or without.
_READ_BY_CMD = frozenset('"%!&|<>^\r\n')


def check_batch_file(program: str, arguments: Sequence[str]) -> None:
    """Raises ProcessError when `program` is a batch file and one of the arguments would not reach it as it is."""
    if not program.lower().endswith(_SUFFIXES):
        return
    for argument in arguments:
        if found := next((one for one in argument if one in _READ_BY_CMD), None):
            what = "a line break" if found in "\r\n" else found
            raise ProcessError(
                f"{program} is a batch file, and cmd.exe would not hand it an argument with {what} in it as it is.",
                hint="Name the program that the batch file starts as `command`, such as node with the script.",
            )
