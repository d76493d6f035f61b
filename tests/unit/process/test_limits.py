"""The bounds a program sets itself, in a process of its own."""

import json
import sys

import pytest

from openclaw.process.run import run

# Allows itself no more than so many seconds, for good; then asks for the limits and prints those in force.
PROGRAM = """
import json, resource, sys
from openclaw.process.limits import limit_this_process

if len(sys.argv) > 1:
    resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]),) * 2)
limit_this_process(memory=1 << 30, seconds=20)
print(json.dumps([resource.getrlimit(resource.RLIMIT_AS), resource.getrlimit(resource.RLIMIT_CPU)]))
"""


async def limits(*allowed: str) -> object:
    finished = await run([sys.executable, "-I", "-c", PROGRAM, *allowed], timeout=60.0, env={})
    return json.loads(finished.stdout)


@pytest.mark.posix_only("limits of processes")
async def test_a_program_is_held_to_the_limits_it_sets_itself() -> None:
    assert await limits() == [[1 << 30, 1 << 30], [20, 20]]


@pytest.mark.posix_only("limits of processes")
async def test_a_program_that_may_not_raise_a_limit_goes_on_with_the_lower_one_and_keeps_the_others() -> None:
    assert await limits("10") == [[1 << 30, 1 << 30], [10, 10]]
