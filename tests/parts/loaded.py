"""Processes of `openclaw` whose modules are there already: one process loads them, and forks for each program that is asked for.

Loading is most of what a short command costs. All else is as a person has it: a process of its own, with its arguments, environment,
folder and streams, which takes signals and ends with a code. What is not tried this way is how the interpreter starts: what gives it
orders (`PYTHON…`, a locale) is started as it is, and so are the tour and whatever a client of somebody else starts. `link` makes a program
for shells, which has one of these started on its own streams (`loaded_link.py`).

done = run(["status"], env=…, cwd=…)
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import IO, Any

import msgspec

if sys.platform != "win32":
    import fcntl
    import termios

PROGRAM = (sys.executable, "-m", "openclaw")
OPENCLAW = str(Path(sys.executable).with_name("openclaw"))
# Far longer than anything here may take, on the slowest machine: it only ends a test that hangs.
HANG_GUARD = 60.0
_LINK = Path(__file__).with_name("loaded_link.py")
# What is wanted is JSON, which this is no part of.
_END = b"\0"
# What an interpreter reads when it starts, and a fork would not.
_OF_THE_INTERPRETER = ("PYTHON", "LANG", "LC_")
# Its own code has this one, and it can be put in force afterwards.
_STRICT = ("PYTHONWARNINGS", "error")
# Loaded with the first use, by nearly every command.
_LOADED_LATE = ("openclaw.__main__", "prompt_toolkit", "uvloop")


class Order(msgspec.Struct, frozen=True):
    """What is to be started. A `terminal` becomes the one that controls it. `program` is what it is called by."""

    words: list[str]
    env: dict[str, str]
    cwd: str
    terminal: bool = False
    program: str = OPENCLAW


class Ran(msgspec.Struct, frozen=True):
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


class Process:
    """A program that runs. Its code comes over `line`, from the process that waits for it."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line.makefile("rb")
        line.close()
        self.pid = int(self._line.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self.wait(0.0) if self.returncode is None and self._told(0.0) else self.returncode

    def wait(self, timeout: float = HANG_GUARD) -> int:
        if self.returncode is None:
            if not self._told(timeout):
                raise subprocess.TimeoutExpired(PROGRAM, timeout)
            self.returncode = os.waitstatus_to_exitcode(int(self._line.readline()))
            self._line.close()
        return self.returncode

    def _told(self, timeout: float) -> bool:
        return bool(select.select([self._line], [], [], timeout)[0])

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            # It is waited for in another process: it may be gone a moment before its code is told here.
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


def words_of(argv: Sequence[str]) -> list[str] | None:
    """What is said to `openclaw` by a command line that starts it; None where it starts something else."""
    for program in (PROGRAM, (OPENCLAW,)):
        if (*argv[: len(program)],) == program:
            return [*argv[len(program) :]]
    return None


def is_plain(env: Mapping[str, str]) -> bool:
    """Whether nothing in this environment is for the interpreter."""
    return not any(name.startswith(_OF_THE_INTERPRETER) and (name, env[name]) != _STRICT for name in env)


def begin(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
    terminal: bool = False,
) -> Process | subprocess.Popen[bytes]:
    """Start this on these descriptors, which stay the caller's; `terminal`: they are one, and it is to control the process.

    What is not `openclaw`, or is for the interpreter too, is started as it is; and so is everything where nothing can be forked.
    """
    words = words_of(argv)
    if words is None or not is_plain(env) or sys.platform == "win32":
        return subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd,
            env=env,
            start_new_session=terminal,
            preexec_fn=_take_terminal if terminal else None,
        )
    line, theirs = socket.socketpair()
    with theirs, open(os.devnull, "r+b", buffering=0) as null:
        streams = [null.fileno() if one == subprocess.DEVNULL else one for one in (stdin, stdout, stderr)]
        socket.send_fds(_door(), [b"."], [*streams, theirs.fileno()])
    line.sendall(msgspec.json.encode(Order(words, {**env}, str(cwd), terminal)) + _END)
    return Process(line)


def run(
    words: Sequence[str], *, env: Mapping[str, str], cwd: Path, stdin: str | int = "", guard: float = HANG_GUARD
) -> Ran:
    """Run `openclaw WORDS` to its end, with this text or descriptor as its input."""
    (reading, writing), (out, their_out), (err, their_err) = os.pipe(), os.pipe(), os.pipe()
    try:
        given = reading if isinstance(stdin, str) else stdin
        process = begin([*PROGRAM, *words], env=env, cwd=cwd, stdin=given, stdout=their_out, stderr=their_err)
    finally:
        for end in (reading, their_out, their_err):
            os.close(end)
    with ThreadPoolExecutor(3) as threads:
        read = [threads.submit(_read, end) for end in (out, err)]
        threads.submit(_write, writing, stdin if isinstance(stdin, str) else "")
        try:
            code = process.wait(guard)
        finally:
            process.kill()
        return Ran(code, *(one.result() for one in read))


def _read(end: int) -> str:
    with open(end, encoding="utf-8") as file:
        return file.read()


def _write(end: int, text: str) -> None:
    try:
        with open(end, "w", encoding="utf-8") as file:
            file.write(text)
    except BrokenPipeError:
        # Not every program wants all of it.
        pass


def link(program: Path) -> None:
    """Make an executable file that is `openclaw` for whoever starts it, as long as this process is there."""
    # Not for the process that loads modules, which runs this file alone.
    from parts.executable import python_program

    _door()
    text = _LINK.read_text(encoding="utf-8")
    for name, value in (("PLACE", _place()), ("OPENCLAW", OPENCLAW)):
        text = text.replace(f'{name} = ""', f"{name} = {value!r}")
    python_program(program, text, "-IS")


@cache
def _place() -> str:
    """Where those ask for a program that are no children of this process. The address of a socket is short."""
    folder = tempfile.mkdtemp(prefix="oc-loaded-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return f"{folder}/door"


@cache
def _door() -> socket.socket:
    """Where to ask for a program; what is behind it ends with this process."""
    ours, theirs = socket.socketpair()
    listener = socket.socket(socket.AF_UNIX)
    with theirs, listener:
        listener.bind(_place())
        listener.listen()
        doors = [theirs.fileno(), listener.fileno()]
        host = subprocess.Popen(
            # As bare as the environments that tests give; a folder of tests is no place to import from.
            [sys.executable, "-P", __file__, *map(str, doors)],
            env={"PATH": os.environ["PATH"]},
            stdin=subprocess.DEVNULL,
            pass_fds=doors,
        )

    def close() -> None:
        ours.close()
        host.wait()

    atexit.register(close)
    return ours


def _serve(door: socket.socket, listener: socket.socket) -> None:
    """Load everything, then fork for whoever asks."""
    # Whoever interrupts the tests does not mean this process; what it forks is as usual.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import openclaw

    for module in pkgutil.walk_packages(openclaw.__path__, "openclaw."):
        if not module.name.endswith(".__main__"):
            importlib.import_module(module.name)
    for name in _LOADED_LATE:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    while True:
        if door in select.select([door, listener], [], [])[0]:
            data, descriptors, _, _ = socket.recv_fds(door, 1, 4)
            if not data:
                return
        else:
            asking, _ = listener.accept()
            _, descriptors, _, _ = socket.recv_fds(asking, 1, 3)
            descriptors.append(asking.detach())
        _collect_ended()
        if os.fork() == 0:
            door.close()
            listener.close()
            _never_return(partial(_watch, descriptors))
        for one in descriptors:
            os.close(one)


def _collect_ended() -> None:
    """Of the processes that watch over programs. What they used is counted as ours then."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _watch(descriptors: Sequence[int]) -> int:
    """Start the program, and tell of its end."""
    *streams, line = descriptors
    given = b""
    while not given.endswith(_END):
        piece = os.read(line, 65536)
        if not piece:
            return 1
        given += piece
    order = msgspec.json.decode(given.removesuffix(_END), type=Order)
    pid = os.fork()
    if pid == 0:
        _never_return(partial(_become, order, streams, line))
    for one in streams:
        os.close(one)
    threading.Thread(target=_end_when_unwanted, args=(line, pid), daemon=True).start()
    status = os.waitpid(pid, 0)[1]
    with suppress(BrokenPipeError):
        os.write(line, b"%d\n" % status)
    return 0


def _end_when_unwanted(line: int, pid: int) -> None:
    """Nothing more is said there. Who asked for a program and is gone wants it no more."""
    os.read(line, 1)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _become(order: Order, streams: Sequence[int], line: int) -> int:
    for number, one in enumerate(streams):
        os.dup2(one, number)
    if order.terminal:
        os.setsid()
        _take_terminal()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(order.cwd)
    # What the interpreter itself put there stays.
    locale = {name: value for name, value in os.environ.items() if name == "LC_CTYPE"}
    os.environ.clear()
    os.environ.update(locale | order.env)
    time.tzset()
    if _STRICT in order.env.items():
        warnings.simplefilter("error")
    sys.argv = [order.program, *order.words]
    sys.stdin = _stream(0, "r")
    sys.stdout = _stream(1, "w")
    sys.stderr = _stream(2, "w", "backslashreplace")
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc, assignment]
    # From here on it is the program: who asked for it may look at it and send it signals.
    os.write(line, b"%d\n" % os.getpid())
    os.closerange(3, 256)
    from openclaw.__main__ import main

    return main()


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _stream(number: int, mode: str, errors: str = "surrogateescape") -> IO[str]:
    """As the interpreter opens it where no locale is set."""
    is_live = number == 2 or os.isatty(number)
    lines = 1 if is_live else -1
    return open(number, mode, buffering=lines, encoding="utf-8", errors=errors, newline="\n", closefd=False)


def _never_return(act: Callable[[], int]) -> None:
    """Do what a fork is for, and end it as an interpreter ends."""
    code: object = 1
    try:
        code = act()
    except SystemExit as leaving:
        code = leaving.code
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass
        os._exit(code if isinstance(code, int) else code is not None)


if __name__ == "__main__":
    _serve(*(socket.socket(fileno=int(number)) for number in sys.argv[1:]))
