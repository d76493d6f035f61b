"""One gateway for each state directory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openclaw.control.instance import AlreadyRunningError, Holder, Instance, holder

HOLD = """
import sys
from pathlib import Path
from openclaw.control.instance import Instance
with Instance(Path(sys.argv[1]), version="9", config="c", socket=Path("/s")):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_one_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    file = tmp_path / "py" / "gateway.lock"
    with Instance(file, version="1", config="/c", socket=Path("/s")) as first:
        with pytest.raises(AlreadyRunningError, match=rf"\(pid {os.getpid()}\)") as caught:
            Instance(file, version="1", config="/c", socket=Path("/s")).__enter__()
        assert caught.value.holder == holder(file) == first.holder
    assert holder(file) is None
    with Instance(file, version="2", config="/c", socket=Path("/s")):
        pass


def test_a_killed_holder_leaves_the_place_free(tmp_path: Path) -> None:
    file = tmp_path / "gateway.lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        found = holder(file)
        assert isinstance(found, Holder)
        assert (found.pid, found.version) == (process.pid, "9")
        process.kill()
        process.wait()
    assert holder(file) is None
    with Instance(file, version="1", config="/c", socket=Path("/s")) as mine:
        assert holder(file) == mine.holder


def test_nobody_holds_a_lock_that_was_never_made(tmp_path: Path) -> None:
    assert holder(tmp_path / "none") is None
