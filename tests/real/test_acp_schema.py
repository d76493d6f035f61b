"""Everything that `openclaw acp` says in its own tests, held against the published schema and the rules of the protocol."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from parts import acp_judge
from parts.editor import TAPES

pytestmark = pytest.mark.real

TESTS = Path(__file__).parent.parent


# The tests of the agent, all of them, on a machine that does other things too.
@pytest.mark.timeout(900)
async def test_all_that_the_agent_says_in_its_tests_is_what_the_protocol_says(tmp_path: Path) -> None:
    (tmp_path / "tapes").mkdir()
    files = sorted(str(file) for file in (TESTS / "surfaces").glob("test_acp*.py"))
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "not real and not full", *files]
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=TESTS.parent,
        env={**os.environ, TAPES: str(tmp_path / "tapes")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    tapes = sorted((tmp_path / "tapes").iterdir())
    assert len(tapes) >= 20, output.decode()
    # Clients in these tests misbehave as they please, and many are gone before everything is answered.
    faults = {
        tape.name.partition(" ")[2]: found
        for tape in tapes
        if (found := acp_judge.faults(acp_judge.tape(tape), judged=("agent",), whole=False))
    }
    assert faults == {}
