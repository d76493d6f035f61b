"""Programs run to their end."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from openclaw.errors import ProcessError
from openclaw.process.run import Finished, run
from parts.processes import handle_of, has_ended, open_descriptors, wait_until_gone

ENV = {"PATH": os.environ["PATH"]}
LONG = 60.0


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


@pytest.mark.posix_only("signals, and lines that end as POSIX ends them")
async def test_output_and_exit_code_are_returned() -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    assert await run(python(code), timeout=LONG, env=ENV) == Finished(3, b"out\n", b"err\n")


@pytest.mark.posix_only("signals, and lines that end as POSIX ends them")
async def test_input_is_given_whole() -> None:
    data = b"x" * (3 << 20)
    finished = await run(python("import sys; print(len(sys.stdin.buffer.read()))"), timeout=LONG, env=ENV, input=data)
    assert finished.stdout == b"%d\n" % len(data)


@pytest.mark.posix_only("signals, and lines that end as POSIX ends them")
async def test_without_input_standard_input_is_at_its_end() -> None:
    assert (await run(python("import sys; print(sys.stdin.read())"), timeout=LONG, env=ENV)).stdout == b"\n"


async def test_a_program_may_leave_without_reading_its_input() -> None:
    assert (await run(python(""), timeout=LONG, env=ENV, input=b"x" * (3 << 20))).returncode == 0


async def test_output_past_the_limit_is_counted_and_dropped() -> None:
    finished = await run(python("print('x' * 100_000, end='')"), timeout=LONG, env=ENV, output_limit=10)
    assert finished == Finished(0, b"x" * 10, b"", dropped=99_990)


async def test_both_streams_can_arrive_as_one() -> None:
    code = "import os; os.write(1, b'a'); os.write(2, b'b'); os.write(1, b'c')"
    assert await run(python(code), timeout=LONG, env=ENV, merge_stderr=True) == Finished(0, b"abc", b"")


@pytest.mark.posix_only("signals, and lines that end as POSIX ends them")
async def test_when_time_is_up_what_was_said_so_far_is_returned() -> None:
    code = "import time; print('so far', flush=True); time.sleep(600)"
    finished = await run(python(code), timeout=0.5, env=ENV)
    assert finished.timed_out
    assert finished.returncode == -15


@pytest.mark.posix_only("signals, and lines that end as POSIX ends them")
async def test_a_program_that_falls_silent_is_ended_before_its_time() -> None:
    code = "import sys, time; print('so far', flush=True); time.sleep(600)"
    finished = await run(python(code), timeout=LONG, silence=1.0, env=ENV)
    assert (finished.timed_out, finished.silent, finished.returncode) == (True, True, -15)


async def test_a_program_that_goes_on_printing_is_not_silent() -> None:
    """Longer than it may be silent, by its own clock, and a word much more often than that."""
    code = "import time\nends = time.monotonic() + 3\nwhile time.monotonic() < ends: print('.', flush=True); time.sleep(0.01)"
    finished = await run(python(code), timeout=LONG, silence=2.5, env=ENV)
    assert (finished.returncode, finished.timed_out, finished.silent) == (0, False, False)


@pytest.mark.posix_only("signals, and lines that end as POSIX ends them")
async def test_a_background_job_is_ended_and_does_not_keep_us_waiting() -> None:
    code = "import subprocess, sys; p = subprocess.Popen(['sleep', '600'], start_new_session=True); print(p.pid)"
    finished = await run(python(code), timeout=LONG, env=ENV)
    assert (finished.returncode, finished.timed_out) == (0, False)
    assert has_ended(int(finished.stdout))


@pytest.mark.posix_only("signals, and lines that end as POSIX ends them")
async def test_a_caller_who_leaves_takes_the_program_along(tmp_path: Path) -> None:
    fifo = tmp_path / "pid"
    os.mkfifo(fifo)
    code = f"import os, time; print(os.getpid(), file=open({str(fifo)!r}, 'w')); time.sleep(600)"
    task = asyncio.create_task(run(python(code), timeout=LONG, env=ENV))
    pid = int(await asyncio.to_thread(fifo.read_text))
    handle = handle_of(pid)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    wait_until_gone(handle)


async def test_a_program_that_cannot_be_started_is_an_error() -> None:
    with pytest.raises(ProcessError):
        await run(["no-such-program-anywhere"], timeout=LONG, env=ENV)


async def test_running_leaves_no_descriptor_open() -> None:
    await run(python(""), timeout=LONG, env=ENV)
    before = open_descriptors()
    await asyncio.gather(*(run(python("print(1)"), timeout=LONG, env=ENV, input=b"x") for _ in range(5)))
    assert open_descriptors() == before
