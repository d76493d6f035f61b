"""The text of a PDF, read by a program of its own that may fail, hang or swell without harm to this one.

Owns the bounds of that program. It gets the bytes on standard input, an environment with nothing in it, and is ended when its time is
up or the caller leaves. What it does is in `pdf_text.py`.
"""

import sys

import msgspec

from openclaw.errors import MediaError
from openclaw.process.run import run

# Seconds: a thousand pages of plain text take about half of this.
PATIENCE = 30.0


class Extract(msgspec.Struct):
    """What the program prints. `error` is one sentence when there is no text to be had."""

    text: str = ""
    pages: int = 0
    read: int = 0
    error: str = ""


async def read_pdf(data: bytes, *, most_characters: int) -> str:
    """The text of all pages, cut off behind `most_characters`. Raises MediaError when there is none."""
    finished = await run(
        [sys.executable, "-I", "-m", "openclaw.agent.pdf_text", str(most_characters)],
        timeout=PATIENCE,
        env={},
        input=data,
        output_limit=8 * most_characters + 4096,
    )
    if finished.timed_out:
        raise MediaError(f"it took longer than {PATIENCE:g} seconds to read.")
    try:
        extract = msgspec.json.decode(finished.stdout, type=Extract)
    except msgspec.DecodeError:
        raise MediaError("it could not be read.") from None
    if extract.error:
        raise MediaError(extract.error)
    if extract.read < extract.pages:
        return f"{extract.text}\n[… {extract.read} of {extract.pages} pages were read]"
    return extract.text
