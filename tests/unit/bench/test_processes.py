"""Nothing in a run waits without a limit, and what is ended is ended with everything it started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from bench.processes import Failed, descendants, end, finished, line_from, start

# Starts a process in a session of its own, tells its number, and hangs; so does the other one.
HIDING = """
import subprocess, sys, time
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(other.pid, flush=True)
time.sleep(600)
"""


def test_a_program_is_ended_with_what_it_started_in_another_session(tmp_path: Path) -> None:
    process = start([sys.executable, "-c", HIDING], dict(os.environ), cwd=tmp_path)
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        other = int(line_from(process.stdout.fileno(), 60.0))
        assert descendants(process.pid) == [other]
        end(process)
        # Its output ends when the last who held it is gone.
        assert process.stdout.read() == b""
    assert process.returncode == -signal.SIGKILL


def test_a_program_that_hangs_is_a_failure_when_its_time_is_up(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"not done within 0\.3 s"):
        finished([sys.executable, "-c", "import time; time.sleep(600)"], dict(os.environ), cwd=tmp_path, patience=0.3)


def test_who_watches_is_told_that_a_program_still_works(tmp_path: Path) -> None:
    told: list[float] = []
    # Ends when it is told to: after the first word about it.
    go = tmp_path / "go"
    program = f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)\nprint('done')"

    def still(passed: float) -> None:
        told.append(passed)
        go.touch()

    done = finished(
        [sys.executable, "-c", program], dict(os.environ), cwd=tmp_path, patience=60.0, still=still, every=0.05
    )
    assert (done, len(told) >= 1) == ("done\n", True)


def test_a_program_that_fails_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="exit code 1: no such thing"):
        finished([sys.executable, "-c", "exit('no such thing')"], dict(os.environ), cwd=tmp_path, patience=60.0)


def test_a_run_that_is_ended_from_outside_ends_what_it_measures(tmp_path: Path) -> None:
    """The harness itself: a contender that hangs, then SIGTERM."""
    program = """
import signal, sys
from bench.processes import adopt_orphans, end_strays, start
from pathlib import Path
import os
adopt_orphans()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
try:
    process = start([sys.executable, "-c", "import time; time.sleep(600)"], dict(os.environ), cwd=Path.cwd())
    print(process.pid, flush=True)
    process.wait()
finally:
    end_strays()
"""
    root = Path(__file__).parents[3]
    harness = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=root)
    assert harness.stdout is not None
    with harness.stdout:
        pid = int(line_from(harness.stdout.fileno(), 60.0))
        harness.send_signal(signal.SIGTERM)
        harness.wait(60)
    assert not Path(f"/proc/{pid}").exists()
