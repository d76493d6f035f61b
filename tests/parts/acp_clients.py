"""ACP clients that nobody here wrote, as one call each: they run a script against an agent, with a tape of every line in between.

`typescript` and `python_sdk` run a script, which is that of acp_client.mjs; `acpx` is driven by its own command line, since it is a
program and not a library.
"""

import asyncio
import json
import os
import shlex
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from parts import acp_judge
from parts.cache import node, npm_folder, npm_program, python_of
from parts.order_process import environment
from parts.processes import handle_of, wait_until_gone

HERE = Path(__file__).parent
HANG_GUARD = 100.0
Script = dict[str, Any]
Kit = Callable[[Script], list[str]]


def typescript(script: Script) -> list[str]:
    return [node(), str(HERE / "acp_client.mjs"), str(npm_folder()), json.dumps(script)]


def python_sdk(script: Script) -> list[str]:
    return [python_of("acp"), str(HERE / "acp_client_sdk.py"), json.dumps(script)]


KITS: tuple[Kit, ...] = (typescript, python_sdk)


def tapped(tape: Path, agent: Sequence[str]) -> list[str]:
    """The agent's command line, with somebody who writes down everything in between."""
    return [sys.executable, "-S", "-E", str(HERE / "acp_tap.py"), str(tape), *agent]


async def run_script(kit: Kit, script: Script, agent: Sequence[str], home: Path, **env: str) -> Any:
    """What the client printed. Whatever is wrong with a message of either side is an error, and so is what runs on without end."""
    tape = home / "tape.jsonl"
    code, output, errors = await run([*kit(script), *tapped(tape, agent)], home, **env)
    assert code == 0, errors
    await until_all_are_gone(home)
    # A client may leave with a question unanswered when its script says so.
    assert acp_judge.tape_faults(tape, whole=script.get("permission") != "silent") == [], output
    return json.loads(output)


async def run(command: Sequence[str], home: Path, **env: str) -> tuple[int, str, str]:
    """A program to its end: exit code, output, errors."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=PIPE, stderr=PIPE, cwd=home, env=environment(home, **env)
    )
    try:
        async with asyncio.timeout(HANG_GUARD):
            output, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, output.decode(), errors.decode()


async def until_all_are_gone(home: Path) -> None:
    """Until nothing runs any more that was started in this home, by whomever: the client, its helpers, the agent, its servers."""
    await asyncio.to_thread(wait_until_gone, *living(home))


def living(home: Path) -> list[int]:
    """Handles of all processes whose home this is."""
    mark, found = f"HOME={home}".encode(), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            handle = handle_of(int(pid))
        except OSError:
            continue
        try:
            is_one = mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            is_one = False
        found.append(handle) if is_one else os.close(handle)
    return found


async def acpx(home: Path, agent: Sequence[str], *words: str, **env: str) -> tuple[int, list[Any], str]:
    """`acpx WORDS` with the agent: exit code, the wire as acpx tells it, errors. The tape is in the home."""
    command = [node(), npm_program("acpx"), "--agent", shlex.join(tapped(home / "tape.jsonl", agent))]
    code, output, errors = await run([*command, "--format", "json", "--cwd", str(home), *words], home, **env)
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return code, lines, errors


def prompt(text: str) -> list[Any]:
    """A step of a script."""
    return ["session/prompt", {"prompt": [{"type": "text", "text": text}]}]


def new_session(cwd: Path, *servers: Any) -> list[Any]:
    return ["session/new", {"cwd": str(cwd), "mcpServers": list(servers)}]


def told_text(updates: Sequence[Any]) -> str:
    """What an agent said in its updates."""
    return "".join(u["content"].get("text", "") for u in updates if u["sessionUpdate"] == "agent_message_chunk")
