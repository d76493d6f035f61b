"""Structured results against the output schema of their tool: small ones at once, large ones in a program of its own.

To make objects of megabytes and go through them takes seconds in which nothing else here could run, in a thread too. So the program
(`output_program.py`) gets schema and value on standard input, within bounds of time and memory; where those do not suffice, the result says
that it was not checked.
"""

import asyncio
import logging
import sys
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw, structs

from openclaw.errors import ProcessError
from openclaw.mcp.tools.definition import is_null
from openclaw.mcp.tools.results import Result
from openclaw.tool import OwnWords
from openclaw.transport.base import PAUSE

_log = logging.getLogger(__name__)

# Structured content that is taken apart here, in bytes: some ten milliseconds. More would hold up everybody.
MAX_STRUCTURE = 1024 * 1024
# Seconds for one result, waiting for the lock included: twenty times what the largest message takes.
PATIENCE = 30.0
# Of what the program says before it fails.
MAX_SAID = 500
_MISFIT = "The structured result does not fit the tool's own output schema:"


class OutputVerdict(msgspec.Struct):
    """What the program prints: `fault` when the value does not fit, `problem` when that could not be found out."""

    fault: str = ""
    problem: str = ""


def is_large(call: Result) -> bool:
    return len(memoryview(call.structured_content)) > MAX_STRUCTURE


def output_fault(call: Result, check: Callable[[Any], str | None]) -> str:
    """Why structured content does not fit the tool's output schema; empty when it does, or when there is none to check."""
    if call.is_error or is_null(call.structured_content):
        return ""
    fault = check(msgspec.json.decode(call.structured_content))
    return f"{_MISFIT} {fault}" if fault else ""


async def checked_by_program(call: Result, schema: Raw, lock: asyncio.Lock) -> Result:
    """A large result held against its schema: the same, or a refusal, or the same with a note that it could not be checked.

    `lock` lets one program of a server run at a time: each may take as much memory as all of us.
    """
    # To read the result took a while already: others run before a program is started for it.
    await asyncio.sleep(PAUSE)
    try:
        async with asyncio.timeout(PATIENCE), lock:
            verdict = await _verdict(memoryview(schema), memoryview(call.structured_content))
    except TimeoutError:
        verdict = OutputVerdict(problem=f"that takes longer than {PATIENCE:g} seconds")
    if verdict.fault:
        return Result.refused(f"{_MISFIT} {verdict.fault}")
    if verdict.problem:
        note = f"[The structured result was not held against the tool's output schema: {verdict.problem}.]"
        return structs.replace(call, note=OwnWords(note))
    return call


async def _verdict(schema: memoryview, value: memoryview) -> OutputVerdict:
    from openclaw.process.run import run

    try:
        finished = await run(
            [sys.executable, "-I", "-m", "openclaw.mcp.tools.output_program", str(schema.nbytes)],
            timeout=2 * PATIENCE,
            env={},
            input=[schema, value],
        )
    except ProcessError as error:
        return OutputVerdict(problem=f"the program for that cannot be started ({error.message.rstrip('.')})")
    try:
        return msgspec.json.decode(finished.stdout, type=OutputVerdict)
    except msgspec.DecodeError:
        said = finished.stderr.decode("utf-8", "replace").strip()[-MAX_SAID:]
        _log.warning("The check of a large result ended with code %d: %s", finished.returncode, said)
        return OutputVerdict(problem="the program for that ended without a word")
