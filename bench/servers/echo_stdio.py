"""An echo server over standard input and output.

    python -S -E echo_stdio.py [--tools N] [--modern] [--cores N,…] [--hang] [--exit]

Reads whatever has arrived and answers all of it with one write. `--modern` also speaks 2026-07-28. `--hang` never answers, `--exit` ends
at once. `--cores` are the processor cores to run on, whatever it inherited.
"""

from __future__ import annotations

import json
import os
import sys

from answers import TYPE_CHECKING, Answers

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# A pipe holds this much.
CHUNK = 1 << 16


def option(name: str, default: int) -> int:
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


def answers() -> Answers:
    return Answers(option("--tools", 3), modern="--modern" in sys.argv)


def settle() -> None:
    """Run on the cores that were named."""
    if "--cores" in sys.argv and hasattr(os, "sched_setaffinity"):
        named = sys.argv[sys.argv.index("--cores") + 1]
        os.sched_setaffinity(0, {int(core) for core in named.split(",")})


def serve(answer: Callable[[dict[str, Any]], bytes]) -> None:
    pending = b""
    while chunk := os.read(0, CHUNK):
        *lines, pending = (pending + chunk).split(b"\n")
        out = [reply for line in lines if line and (reply := answer(json.loads(line)))]
        if out:
            out.append(b"")
            write(b"\n".join(out))


def write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


if __name__ == "__main__":
    if "--exit" in sys.argv:
        sys.exit(1)
    settle()
    serve((lambda message: b"") if "--hang" in sys.argv else answers().to)
