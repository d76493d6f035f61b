"""Files and programs through the person's editor: the same tools, where the editor does the work.

Owns when the editor is asked, and what is done when it does not answer: then the tool works on the disk as always. What a path may be is
confine.py's to say, before the editor hears of it; a file that is no text, and what was kept of a server's result, is read from the disk.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from openclaw.content import Text
from openclaw.conversation import Editor, Ran
from openclaw.errors import PathError
from openclaw.redact import mask
from openclaw.security.external import clean_terminal
from openclaw.tool import ToolResult
from openclaw.tools import files
from openclaw.tools.confine import Fence, Place
from openclaw.tools.files import EDIT_BYTES, RESULT_CHARS, Change, edited, window_of, wrote
from openclaw.tools.program_output import program_result


async def read(
    editor: Editor, fence: Fence, workspace: Path, path: str, *, offset: int, limit: int
) -> ToolResult | None:
    """The lines of a text file as the editor has them; None when the disk has to say. Raises PathError."""
    if await asyncio.to_thread(files.is_text, fence, workspace, path) is False:
        return None
    place = fence.locate(path, workspace)
    # One more than wanted: whether there are more has to be said.
    text = await editor.read(place.real, line=offset, limit=limit + 1)
    return None if text is None else ToolResult((Text(window_of(text, place.shown, offset, limit)),))


async def write(editor: Editor, fence: Fence, workspace: Path, path: str, content: str) -> Change | None:
    """Write a file in the editor; None when the disk has to do. Raises PathError."""
    place = await asyncio.to_thread(_writable, fence, workspace, path)
    is_text = await asyncio.to_thread(files.is_text, fence, workspace, path)
    if is_text is False:
        return None
    old = await editor.read(place.real)
    if not await editor.write(place.real, content):
        return None
    said = wrote(content.encode("utf-8", "replace"), place.shown)
    return Change(said, place.real, content, old, is_known=old is not None or is_text is None)


async def edit(
    editor: Editor, fence: Fence, workspace: Path, path: str, old: str, new: str, *, replace_all: bool
) -> Change | None:
    """Change a passage of a file in the editor; None when the disk has to do. Raises PathError."""
    place = await asyncio.to_thread(_writable, fence, workspace, path)
    if await asyncio.to_thread(files.is_text, fence, workspace, path) is False:
        return None
    text = await editor.read(place.real)
    if text is None or len(text) > EDIT_BYTES:
        return None
    changed = edited(text, place.shown, old, new, replace_all=replace_all)
    if not await editor.write(place.real, changed.new):
        return None
    return Change(changed.said, place.real, changed.new, text)


def _writable(fence: Fence, workspace: Path, path: str) -> Place:
    place = fence.locate(path, workspace)
    if place.access != "write":
        raise PathError(f"{place.shown} may be read but not written.")
    return place


async def run(
    editor: Editor,
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    timeout: float,
    call: str,
    network: str = "",
) -> ToolResult | None:
    """Run a program in a terminal of the editor; None when it has to be run here. `network`: what it prints comes from there, by this
    program."""
    ran = await editor.run(command, env=env, cwd=str(cwd), timeout=timeout, most_bytes=RESULT_CHARS, call=call)
    if ran is None:
        return None
    output = mask(clean_terminal(ran.output)).rstrip("\n")
    details = {"exitCode": ran.code, "timedOut": ran.timed_out, "terminal": ran.place}
    failed = ran.timed_out or ran.code != 0
    return program_result(output, [_ending(ran, timeout)], network=network, is_error=failed, details=details)


def _ending(ran: Ran, timeout: float) -> str:
    if ran.timed_out:
        return f"[Stopped: it did not finish within {timeout:g} seconds.]"
    if ran.signal:
        return f"[Ended by {clean_terminal(ran.signal)}.]"
    if ran.code:
        return f"[Exit code {ran.code}.]"
    cut = "[The beginning of the output was not kept.]" if ran.was_cut else ""
    return cut or ("" if ran.output.strip() else "[Done; it printed nothing.]")
