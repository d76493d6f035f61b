"""The `openclaw` program: a stub on the standard library alone, so that answering costs no more than it must.

`--version` is answered here. Everything else is run by local.py in this process.
"""

import sys
from importlib import import_module

from openclaw import __version__


def main() -> int:
    words = sys.argv[1:]
    if words in (["--version"], ["-V"]):
        sys.stdout.write(f"openclaw {__version__}\n")
        return 0
    code: int = import_module("openclaw.cli.local").run(words)
    return code
