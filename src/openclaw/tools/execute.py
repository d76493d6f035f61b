"""`exec`: one program, run to its end or to its deadline, and what it printed.

Owns what a model sees of the output and of the ending. The process layer starts the program (an argument list; a shell only when
the call asks for one), gives it a clean environment and ends its whole group however the call ends. With this tool on,
no confinement is promised: a program reads and writes what its user may.
"""

import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from openclaw.conversation import Editor
from openclaw.process.environment import child_environment
from openclaw.process.run import Finished, run
from openclaw.redact import mask
from openclaw.security.external import clean_terminal
from openclaw.security.network_programs import network_program
from openclaw.tool import ToolResult
from openclaw.tools import through_editor
from openclaw.tools.files import RESULT_CHARS
from openclaw.tools.program_output import program_result

# Builds and test suites fit; what runs longer should say so.
DEFAULT_SECONDS = 120.0
MAX_SECONDS = 3_600
# Bytes held of one output. Only RESULT_CHARS of it are shown, but the end, where errors stand, comes last.
OUTPUT_BYTES = 8 * 1024 * 1024
# Of an output that is too long: this much of its beginning, and the rest from its end.
HEAD_CHARS = RESULT_CHARS // 5

_SHELL = "/bin/sh"


# The variables of the skill of that name, for the programs that are run for it.
Variables = Callable[[str], Awaitable[Mapping[str, str]]]


async def execute(
    workspace: Path,
    arguments: dict[str, Any],
    *,
    environ: Mapping[str, str] | None = None,
    variables: Variables | None = None,
    editor: Editor | None = None,
    call: str = "",
) -> ToolResult:
    """Run the command of a call. Raises ProcessError when it cannot be started, and what `variables` raises; cancelling ends its processes.

    `environ` is the environment that the short list is taken from: ours, unless given. With an `editor` that has terminals it is run in one
    of those, with that one's environment and the variables of the skill.
    """
    command: list[str] = arguments["command"]
    network = network_program(command, shell=arguments.get("shell", False))
    if arguments.get("shell", False):
        if sys.platform == "win32":
            return ToolResult.error("There is no shell for this on Windows: give the program and its arguments.")
        if len(command) != 1:
            return ToolResult.error("With shell, command has to be a single item: the whole command line.")
        command = [_SHELL, "-c", command[0]]
    skill = arguments.get("skill", "")
    given = await variables(skill) if skill and variables else None
    timeout = float(arguments.get("timeout", DEFAULT_SECONDS))
    cwd = workspace / arguments.get("cwd", ".")
    child = child_environment(given, parent=environ)
    if editor is not None:
        own = {name: value for name, value in (given or {}).items() if name not in child.refused}
        ran = await through_editor.run(editor, command, env=own, cwd=cwd, timeout=timeout, call=call, network=network)
        if ran is not None:
            return ran
    finished = await run(
        command,
        timeout=timeout,
        env=child.variables,
        cwd=cwd,
        output_limit=OUTPUT_BYTES,
        merge_stderr=True,
    )
    failed = finished.timed_out or finished.returncode != 0
    withheld = f"[Not given, as they change which code runs: {', '.join(child.refused)}.]" if child.refused else ""
    details = {"exitCode": finished.returncode, "timedOut": finished.timed_out}
    endings = (_ending(finished, timeout), withheld)
    return program_result(mask(_output(finished)), endings, network=network, is_error=failed, details=details)


def _output(finished: Finished) -> str:
    text = clean_terminal(finished.stdout.decode("utf-8", "replace")).rstrip("\n")
    if finished.dropped:
        text += f"\n[{finished.dropped:,} more bytes were not kept.]"
    if len(text) <= RESULT_CHARS:
        return text
    tail = RESULT_CHARS - HEAD_CHARS
    return f"{text[:HEAD_CHARS]}\n[… {len(text) - RESULT_CHARS:,} characters left out …]\n{text[-tail:]}"


def _ending(finished: Finished, timeout: float) -> str:
    if finished.timed_out:
        return f"[Stopped: it did not finish within {timeout:g} seconds.]"
    if finished.returncode > 0:
        return f"[Exit code {finished.returncode}.]"
    if finished.returncode < 0:
        return f"[Ended by {_signal(-finished.returncode)}.]"
    return "" if finished.stdout.strip() else "[Done; it printed nothing.]"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
