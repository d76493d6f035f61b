"""This program as another one starts it: its absolute command, the options it was given here, and where our files are.

For configs of other programs (`--print-config`), and for starting ourselves. Pure but for looking up the program.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from openclaw.config import plain_paths

if TYPE_CHECKING:
    from openclaw.commands.dispatch import Context
    from openclaw.commands.parse import Parsed

# Options that go on with the command, in the order in which they are printed.
_FLAGS, _VALUES = ("verbose", "local"), ("agent", "config")


def own_command(program: str = "") -> list[str]:
    """This program with its absolute path, as another one can start it."""
    program = program or sys.argv[0]
    found = os.path.abspath(program if os.sep in program else shutil.which(program) or program)
    # Started as a module, it is a file of ours that nobody can execute.
    return [sys.executable, "-m", "openclaw"] if found.endswith(".py") else [found]


def command_line(context: "Context", parsed: "Parsed", *words: str, also: Sequence[str] = ()) -> list[str]:
    """That, with these words, and with the options that were given beside `--print-config`; `also` names flags besides the usual."""
    line = [*own_command(), *words]
    line += [f"--{name}" for name in (*_FLAGS, *also) if parsed.flag(name)]
    for name in _VALUES:
        if value := parsed.text(name):
            line += [f"--{name}", os.path.join(context.cwd, value) if name == "config" else value]
    return line


def own_places(context: "Context") -> dict[str, str]:
    """Where our files are, as far as this shell says it: the other program does not know."""
    cwd = str(context.cwd)
    known = {
        "OPENCLAW_HOME": plain_paths.home(context.env),
        "OPENCLAW_STATE_DIR": plain_paths.state_dir(context.env, cwd),
        "OPENCLAW_CONFIG_PATH": plain_paths.config_file(context.env, "", cwd),
    }
    return {name: value for name, value in known.items() if context.env.get(name)}
