"""`grep`: starts search.py in a process of its own, and turns its answer into lines for a model.

Owns the limits of a search and its deadline. A pattern that takes too long costs that process and nothing else.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from openclaw.content import Text
from openclaw.errors import PathError
from openclaw.process.environment import child_environment
from openclaw.process.run import run
from openclaw.security.external import clean_terminal, frame
from openclaw.tool import ToolResult
from openclaw.tools import search
from openclaw.tools.confine import Fence, Identity, Place, not_on_windows, show

# The search gives up by itself after this many seconds, between two files.
SEARCH_SECONDS = 15.0
# And is ended after this many, when one pattern on one file takes longer.
GREP_SECONDS = 25.0
# A model reads no more than this; a person would narrow the search much earlier.
MATCHES = 200
FILES = 50_000
FILE_BYTES = 10 * 1024 * 1024
# All matches at their longest, escaped.
ANSWER_BYTES = 8 * 1024 * 1024

_STOPPED = {
    "matches": f"[Stopped after {MATCHES} matches. Narrow the search.]",
    "files": f"[Stopped after {FILES:,} files. Narrow the search with path or glob.]",
    "time": f"[Stopped after {SEARCH_SECONDS:g} seconds. Narrow the search with path or glob.]",
}


class _Answer(msgspec.Struct):
    """What search.py prints."""

    matches: list[tuple[str, int, str]] = []
    files: int = 0
    large: int = 0
    stopped: str = ""
    single: bool = False
    error: str = ""


async def grep(
    fence: Fence, workspace: Path, arguments: dict[str, Any], *, deadline: float = GREP_SECONDS
) -> ToolResult:
    """Search as the call asks. Raises PathError for a path outside; cancelling ends the search."""
    place, refused = await asyncio.to_thread(_located, fence, workspace, arguments.get("path", "."))
    asked = {
        "root": place.root,
        "parts": place.parts,
        "refused": refused,
        "pattern": arguments["pattern"],
        "glob": arguments.get("glob", ""),
        "ignore_case": arguments.get("ignore_case", False),
        "seconds": SEARCH_SECONDS,
        "max_files": FILES,
        "max_matches": MATCHES,
        "max_bytes": FILE_BYTES,
    }
    finished = await run(
        # Isolated and without site packages: nothing in the workspace or the environment changes what it imports.
        [sys.executable, "-I", "-S", "-B", search.__file__],
        timeout=deadline,
        env=child_environment().variables,
        input=json.dumps(asked).encode("ascii"),
        output_limit=ANSWER_BYTES,
    )
    if finished.timed_out:
        raise PathError(
            f"The search did not finish within {deadline:g} seconds: the pattern takes too long.",
            hint="Use a simpler pattern, without repetitions inside repetitions.",
        )
    try:
        # Not msgspec's own decoder: a file name may hold bytes that are no text, which it refuses.
        answer = msgspec.convert(json.loads(finished.stdout), _Answer)
    except (ValueError, msgspec.ValidationError) as error:
        raise PathError(f"The search failed (exit code {finished.returncode}).") from error
    if answer.error:
        raise PathError(answer.error)
    text = _report(answer, place)
    if place.access != "kept":
        return ToolResult((Text(text),))
    framed = frame(text, source="unknown", sender="a kept result")
    return ToolResult((Text(framed),), source=f"file:{os.path.basename(place.shown)}")


def _located(fence: Fence, workspace: Path, path: str) -> tuple[Place, list[Identity]]:
    if sys.platform == "win32":
        raise not_on_windows()
    place = fence.locate(path, workspace)
    if not os.path.lexists(place.real):
        raise PathError(f"{place.shown} does not exist.")
    return place, sorted(fence.identities())


def _report(answer: _Answer, place: Place) -> str:
    folder = os.path.dirname(place.shown) if answer.single else place.shown
    lines = [
        f"{show(os.path.normpath(os.path.join(folder, path)))}:{number}: {clean_terminal(text)}"
        for path, number, text in answer.matches
    ]
    if not lines:
        lines.append(f"No matches in {answer.files:,} files.")
    if answer.large:
        lines.append(f"[{answer.large:,} files larger than {FILE_BYTES // 2**20} MB were not searched.]")
    if answer.stopped:
        lines.append(_STOPPED[answer.stopped])
    return "\n".join(lines)
