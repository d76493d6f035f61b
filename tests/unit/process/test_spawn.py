"""Starting programs, and ending all that came of them."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from openclaw.errors import ProcessError
from openclaw.process.pipes import PipeReader, PipeWriter
from openclaw.process.spawn import Process, spawn
from parts.loops import both_loops
from parts.processes import handle_of, is_alive, open_descriptors, wait_until_gone

if sys.platform != "win32":
    from openclaw.process.guardian import VARIABLE

# Nothing starts on Windows without the last.
ENV = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
# Prints the number of a process that outlives it, then does as its first argument says.
PARENT = """
import os, signal, subprocess, sys, time
new_session = "setsid" in sys.argv
child = subprocess.Popen([sys.executable, "-c", "import signal, sys, time; "
    + ("signal.signal(signal.SIGTERM, signal.SIG_IGN); " if "stubborn-child" in sys.argv else "")
    + "print('ready', flush=True); time.sleep(600)"],
    start_new_session=new_session, stdout=subprocess.PIPE, env={} if "bare" in sys.argv else None)
child.stdout.readline()
if "stubborn" in sys.argv: signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(child.pid, flush=True)
sys.stdin.read()
if "stubborn" in sys.argv: time.sleep(600)
"""


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-S", "-c", code, *arguments]


class Streams:
    """What a child says, and its input."""

    def __init__(self, process: Process) -> None:
        loop = asyncio.get_running_loop()
        self.output = bytearray()
        self.ended: asyncio.Future[None] = loop.create_future()
        self._line: asyncio.Future[None] = loop.create_future()
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.input = PipeWriter(process.stdin)
        self._readers = [
            PipeReader(process.stdout, self._take, lambda: self.ended.set_result(None)),
            PipeReader(process.stderr, self._take, lambda: None),
        ]

    def _take(self, data: bytes) -> None:
        self.output += data
        if b"\n" in self.output and not self._line.done():
            self._line.set_result(None)

    async def line(self) -> bytes:
        await self._line
        return bytes(self.output.partition(b"\n")[0])

    def close(self) -> None:
        self.input.close()
        for reader in self._readers:
            reader.close()


@asynccontextmanager
async def running(argv: list[str], **options: object) -> AsyncIterator[tuple[Process, Streams]]:
    process = spawn(argv, **{"env": ENV, **options})  # type: ignore[arg-type]
    streams = Streams(process)
    try:
        yield process, streams
    finally:
        streams.input.close()
        await process.end()
        streams.close()


async def output_of(argv: list[str], **options: object) -> str:
    async with running(argv, **options) as (_, streams):
        streams.input.close()
        await streams.ended
        return streams.output.decode()


@pytest.mark.posix_only("the mark that processes carry")
@both_loops
async def test_a_child_gets_its_environment_and_a_mark_and_nothing_else() -> None:
    text = await output_of(python("import os; print(sorted(os.environ))"), env={**ENV, "A": "1", "LC_CTYPE": "C"})
    assert text.strip() == str(sorted(["A", "LC_CTYPE", "PATH", VARIABLE]))


@both_loops
async def test_arguments_arrive_as_they_are_for_there_is_no_shell(tmp_path: Path) -> None:
    arguments = ["$(touch x)", "; touch x", "a b", "*", "'", "\\", "&&", ""]
    text = await output_of(python("import sys; print(sys.argv[1:])", *arguments), cwd=tmp_path)
    assert text.strip() == str(arguments)
    assert os.listdir(tmp_path) == []


@both_loops
async def test_the_working_directory_is_set(tmp_path: Path) -> None:
    code = "import os, sys; print(os.path.samefile(os.getcwd(), sys.argv[1]))"
    assert (await output_of(python(code, str(tmp_path)), cwd=tmp_path)).strip() == "True"


@pytest.mark.posix_only("streams that have names")
@both_loops
async def test_standard_output_is_a_pipe_that_can_be_opened_by_name() -> None:
    assert await output_of(python("open('/dev/stdout', 'w').write('by name')")) == "by name"


@pytest.mark.posix_only("streams that have names")
@pytest.mark.requirement("002-5.3-internals")
@both_loops
async def test_a_child_inherits_no_other_descriptor(tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        text = await output_of(python("import os; print(sorted(int(n) for n in os.listdir('/dev/fd'))[:4])"))
    # 3 is the folder being listed.
    assert text.strip() == "[0, 1, 2, 3]"


@pytest.mark.posix_only("sessions")
@both_loops
async def test_a_child_leads_its_own_session() -> None:
    text = await output_of(python("import os; print(os.getsid(0) == os.getpgrp() == os.getpid())"))
    assert text.strip() == "True"


@pytest.mark.posix_only("signals")
@pytest.mark.parametrize(("code", "returned"), [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", -9)])
@both_loops
async def test_the_exit_code_or_the_signal_is_told(code: str, returned: int) -> None:
    async with running(python(code)) as (process, _):
        assert await process.wait() == returned
        assert process.returncode == returned


@pytest.mark.posix_only("interpreters that a script names")
@both_loops
async def test_a_missing_program_directory_or_interpreter_is_named(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    for argv, cwd, words in (
        (["no-such-program-anywhere"], None, "There is no program 'no-such-program-anywhere'"),
        (python(""), tmp_path / "missing", "does not exist"),
        ([str(script)], None, "its interpreter"),
        ([*python(""), "a\0b"], None, "cannot be started"),
    ):
        with pytest.raises(ProcessError, match=words):
            spawn(argv, env=ENV, cwd=cwd)


@both_loops
async def test_a_failed_start_leaves_no_descriptor_open(tmp_path: Path) -> None:
    async with running(python("")):
        pass  # the guardian is awake from here on
    before = open_descriptors()
    with pytest.raises(ProcessError):
        spawn([*python(""), "a\0b"], env=ENV)
    assert open_descriptors() == before


@pytest.mark.posix_only("signals, and lines that end as POSIX ends them")
@pytest.mark.requirement("001-FR-3-shutdown")
@both_loops
async def test_a_polite_program_leaves_at_the_end_of_its_input() -> None:
    async with running(python("import sys; sys.stdin.read(); print('bye')")) as (process, streams):
        streams.input.close()
        assert await process.end() == 0
        await streams.ended
        assert streams.output == b"bye\n"


@pytest.mark.parametrize("how", ["child", "setsid", "bare"])
@both_loops
async def test_what_a_polite_program_left_behind_is_ended(how: str) -> None:
    async with running(python(PARENT, how)) as (process, streams):
        descendant = handle_of(int(await streams.line()))
        streams.input.close()
        assert await process.wait() == 0
        assert is_alive(descendant)
        assert await process.end(grace=0) == 0
        # The kernel may still be clearing it away; nobody else would end it.
        wait_until_gone(descendant)


@pytest.mark.posix_only("signals")
@pytest.mark.requirement("001-FR-3-shutdown")
@both_loops
async def test_a_program_that_ignores_everything_is_killed_with_all_its_descendants() -> None:
    async with running(python(PARENT, "setsid", "stubborn", "stubborn-child")) as (process, streams):
        descendant = handle_of(int(await streams.line()))
        assert await process.end(grace=0, patience=0.1) == -signal.SIGKILL
        wait_until_gone(descendant)


@pytest.mark.posix_only("signals")
@both_loops
async def test_a_descendant_that_ignores_sigterm_is_killed_after_its_parent_obeyed() -> None:
    async with running(python(PARENT, "setsid", "stubborn-child")) as (process, streams):
        descendant = handle_of(int(await streams.line()))
        assert await process.end(grace=0, patience=0.1) == -signal.SIGTERM
        wait_until_gone(descendant)


@pytest.mark.posix_only("signals, and lines that end as POSIX ends them")
@both_loops
async def test_ending_one_program_leaves_the_others_alone() -> None:
    async with (
        running(python("import time; time.sleep(600)")) as (one, _),
        running(python(PARENT, "setsid")) as (_, streams),
    ):
        descendant = handle_of(int(await streams.line()))
        await one.end(grace=0)
        assert is_alive(descendant)
        os.close(descendant)


@pytest.mark.posix_only("signals")
@both_loops
async def test_ending_twice_and_at_the_same_time_ends_once() -> None:
    async with running(python("import time; time.sleep(600)")) as (process, _):
        assert [*await asyncio.gather(process.end(grace=0), process.end(grace=0))] == [-15, -15]
        assert await process.end() == -15


@pytest.mark.posix_only("signals")
@both_loops
async def test_an_ended_program_is_no_zombie() -> None:
    async with running(python("")) as (process, _):
        await process.end()
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)


@both_loops
async def test_many_programs_leave_no_descriptor_open() -> None:
    async def one() -> None:
        async with running(python("print(1)")) as (_, streams):
            await streams.ended

    await one()
    before = open_descriptors()
    await asyncio.gather(*(one() for _ in range(10)))
    assert open_descriptors() == before


@pytest.mark.posix_only("signals, and lines that end as POSIX ends them")
@both_loops
async def test_a_writer_waits_for_a_slow_reader_and_everything_arrives() -> None:
    code = "import sys; sys.stdin.buffer.readline(); print(len(sys.stdin.buffer.read()))"
    async with running(python(code)) as (_, streams):
        chunk = b"x" * (1 << 20)
        for _ in range(3):
            streams.input.write(chunk)
        assert streams.input.is_full
        room = asyncio.ensure_future(streams.input.room())
        streams.input.write(b"\nabc")
        await room
        await streams.input.drained()
        streams.input.close()
        assert await streams.line() == b"3"


@pytest.mark.posix_only("signals")
@both_loops
async def test_what_a_program_never_read_is_counted() -> None:
    code = "import os, sys; os.read(0, 4); print('read four', flush=True); import time; time.sleep(600)"
    async with running(python(code)) as (process, streams):
        streams.input.write(b"1234")
        await streams.line()
        streams.input.write(b"never read")
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        assert streams.input.unread() == len(b"never read")
        assert streams.input.written == 14


@pytest.mark.posix_only("signals, and lines that end as POSIX ends them")
@both_loops
async def test_writing_to_a_program_that_is_gone_takes_nothing() -> None:
    async with running(python("")) as (process, streams):
        await process.wait()
        with pytest.raises(BrokenPipeError):
            streams.input.write(b"x")
        assert streams.input.written == 0
