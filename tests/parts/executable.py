"""Programs that tests write and start: Python with the interpreter of the tests, wherever that is."""

import os
import re
import shlex
import sys
from pathlib import Path

# Systems read this much of the line that names an interpreter, and take a blank in it for its end.
LONGEST_LINE = 127


def python_program(path: Path, body: str, *options: str, interpreter: str = "", mode: int = 0o700) -> Path:
    """An executable file whose `body` is Python of the standard library: it gets no packages of the tests' environment.

    A long path, or one with a blank, cannot be named in the first line: then a shell is told to go on with the interpreter, in words that
    Python takes for a text.
    """
    # The one that an environment was made from: its path does not depend on where the checkout is.
    program = interpreter or os.path.realpath(sys.executable)
    line = " ".join([f"#!{program}", *options])
    if len(os.fsencode(line)) > LONGEST_LINE or re.search(r"\s", program):
        words = " ".join(shlex.quote(word) for word in (program, *options))
        line = f"#!/bin/sh\n'''exec' {words} \"$0\" \"$@\"\n' '''"
    path.write_text(f"{line}\n{body}\n", encoding="utf-8")
    path.chmod(mode)
    return path
