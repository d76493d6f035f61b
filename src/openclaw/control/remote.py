"""Run a command in the gateway: the words go there, its output, its questions and its exit code come back.

Imports the standard library alone, and of that only what the interpreter has loaded anyway: a warm command costs little more than
starting Python does. Knows nothing of commands. A gateway that is not there, is another version's, serves another config or says that
the command belongs here leaves it to local.py; one that took the command has it, whatever happens then: nothing is done twice.
"""

# The modules under `signal` and `socket`, which would cost as much again as starting the interpreter.
import _signal  # type: ignore[import-not-found]
import _socket
import os
import stat
import sys
from _collections_abc import Callable

from openclaw.config import plain_paths
from openclaw.control import wire
from openclaw.control.marks import marks
from openclaw.version import __version__

# A plain name instead of typing.TYPE_CHECKING: type checkers know it, and importing typing costs milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from openclaw.control.terminal_questions import TerminalQuestions

# A signal that comes just before a wait begins does not end it: so often, in seconds, a wait is interrupted to look for one.
LOOK_FOR_SIGNALS = 1.0
_WIDTH = 80


def run(words: list[str], out: Callable[[bytes], object] | None = None, *, is_data: bool = False) -> int | None:
    """The exit code of a command line; None when it is to be run in this process. `out` takes what it prints in place of stdout; with
    `is_data` a program reads it, and nothing of what a terminal is shown while it waits stands in it.
    """
    config = config_named(words)
    place = plain_paths.running_socket(os.environ, config)
    link = _connect(place)
    if link is None:
        return None
    connection, token = link
    handler = _signal.getsignal(_signal.SIGINT)
    if handler is _signal.SIG_DFL:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    try:
        flags = _Flags(no_color=_has_flag(words, "--no-color"), json=_has_flag(words, "--json"))
        terminal = _Terminal(connection, out or _print, flags)
        # What somebody else takes in place of a terminal nobody reads.
        kinds = wire.TERMINAL_KINDS if out is None and os.isatty(0) and os.isatty(2) else b""
        if not terminal.is_taken(_request(words, config, token, kinds, is_data=is_data)):
            return None
        with_window = out is None and os.isatty(1) and hasattr(_signal, "SIGWINCH")
        before = _signal.signal(_signal.SIGWINCH, terminal.resized) if with_window else None
        try:
            return _served(terminal)
        finally:
            if with_window:
                _signal.signal(_signal.SIGWINCH, before)
    finally:
        connection.close()
        if handler is _signal.SIG_DFL:
            # The command may have to be run here, and loaded first.
            _signal.signal(_signal.SIGINT, handler)


def _served(terminal: "_Terminal") -> int:
    try:
        while True:
            try:
                return terminal.serve()
            except KeyboardInterrupt:
                if terminal.interrupted:
                    return wire.INTERRUPTED
                terminal.interrupt()
    except BrokenPipeError:
        # The reader went away (`openclaw tools | head`); keep the interpreter from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    finally:
        terminal.close()


def config_named(words: list[str]) -> str:
    """The value of `--config`. The gateway reads the words properly, and sends us away when it finds another."""
    for index, word in enumerate(words):
        if word == "--":
            break
        if word == "--config" and index + 1 < len(words):
            return words[index + 1]
        if word.startswith("--config="):
            return word.partition("=")[2]
    return ""


def _has_flag(words: list[str], flag: str) -> bool:
    return flag in words[: words.index("--") if "--" in words else None]


def _request(words: list[str], config: str, token: bytes, kinds: bytes, *, is_data: bool) -> bytes:
    env = os.environ
    screen, interactive = (False, False) if is_data else (os.isatty(1), os.isatty(2))
    try:
        cwd = os.getcwd()
    except OSError:
        cwd = plain_paths.home(env)
    return wire.request(
        token,
        version=__version__.encode(),
        state_dir=os.fsencode(plain_paths.state_dir(env)),
        config_file=os.fsencode(plain_paths.config_file(env, config)),
        cwd=os.fsencode(cwd),
        width=str(width()).encode(),
        marks=marks(env, screen=screen, interactive=interactive, no_color=_has_flag(words, "--no-color")).encode(),
        kinds=kinds,
        words=[os.fsencode(word) for word in words],
    )


def width() -> int:
    """Columns of the terminal, 0 for a pipe; as `shutil` would tell, which takes longer to import than all of this."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(1).columns or _WIDTH
    except OSError:
        return 0


def _connect(place: str) -> "tuple[_socket.socket, bytes] | None":
    """A connection to whoever listens at our own address, and the token to show there."""
    try:
        port, token = address(place)
        if port is not None:
            return _dialled(_socket.AF_INET, ("127.0.0.1", port)), token
        if sys.platform == "win32":
            return None
        return _dialled(_socket.AF_UNIX, place), token
    except (OSError, ValueError):
        return None


def address(place: str) -> tuple[int | None, bytes]:
    """The port and the token that stand in a file where there are no Unix sockets; no port for a socket. Raises OSError, ValueError."""
    status, folder = os.lstat(place), os.lstat(os.path.dirname(place))
    for found in (status, folder):
        # Anybody may put something into a shared directory before we do: what is not ours alone is not our gateway.
        if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o077):
            raise ValueError("not our socket")
    if stat.S_ISSOCK(status.st_mode):
        return None, b""
    with open(place, "rb") as file:
        port, _, token = file.read(4096).strip().partition(b" ")
    return int(port), token


def _dialled(family: int, address: "str | tuple[str, int]") -> "_socket.socket":
    connection = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        connection.settimeout(wire.ANSWER_TIMEOUT)
        connection.connect(address)
    except BaseException:
        connection.close()
        raise
    return connection


class _Flags:
    """What the words say about how to print."""

    def __init__(self, *, no_color: bool, json: bool) -> None:
        self.no_color = no_color
        self.json = json


class _Terminal:
    """This terminal, as the gateway uses it."""

    def __init__(self, connection: "_socket.socket", out: Callable[[bytes], object], flags: _Flags) -> None:
        self.interrupted = False
        self._flags = flags
        self._connection = connection
        self._out = out
        self._arrived = bytearray()
        self._is_taken = False
        # Whether the cursor stands at the start of a line, as far as we moved it.
        self._is_at_start = True
        self._questions: TerminalQuestions | None = None
        # While what is typed is not shown.
        self._unseen: AbstractContextManager[None] | None = None

    def is_taken(self, request: bytes) -> bool:
        """Whether the gateway does what is asked for."""
        try:
            self._connection.sendall(wire.frame(wire.RUN, request))
            kind, payload = self._next()
            if kind == wire.TAKEN:
                self._connection.sendall(wire.frame(wire.GO))
        except TimeoutError:
            _write(2, b"note: the gateway does not answer, so this runs without it.\n")
            return False
        except OSError:
            return False
        if kind == wire.LOCAL and payload:
            _write(2, payload + b"\n")
        self._is_taken = kind == wire.TAKEN
        return self._is_taken

    def resized(self, number: int, frame: object) -> None:
        """The window was made wider or narrower: what is printed from now on has to fit it."""
        self._send(wire.frame(wire.WIDTH, str(width()).encode()))

    def interrupt(self) -> None:
        """Ask the gateway to stop; it still tells how that went."""
        self.interrupted = True
        if self._questions is not None:
            self._questions.drop()
        self._send(wire.frame(wire.CANCEL))

    def close(self) -> None:
        if self._questions is not None:
            self._questions.close()
        self._show_keys()

    def serve(self) -> int:
        """Do what the gateway says until the command is over. Raises KeyboardInterrupt and BrokenPipeError."""
        while True:
            try:
                kind, payload = self._next()
            except OSError:
                if self.interrupted:
                    return wire.INTERRUPTED
                self._tell_of_the_end()
                return 1
            if kind in (wire.OUT, wire.ERR) and self._questions is not None:
                self._questions.make_room()
            if kind in (wire.OUT, wire.ERR) and payload:
                self._is_at_start = payload.endswith(b"\n")
            if kind == wire.OUT:
                self._out(payload)
            elif kind == wire.ERR:
                _write(2, payload)
            elif kind == wire.QUESTION:
                self._asked().ask(payload)
            elif kind == wire.WITHDRAWN:
                self._asked().withdraw(payload.decode())
            elif kind == wire.BROWSE:
                self._open_address(payload)
            elif kind == wire.READ:
                self._give_input(int(payload or b"0"))
            elif kind == wire.UNSEEN:
                self._show_keys()
                if payload and self._out is _print:
                    self._hide_keys()
            elif kind == wire.EXIT:
                return int(payload)
            if kind in (wire.OUT, wire.ERR) and self._questions is not None:
                self._questions.printed(ends_a_line=self._is_at_start)

    def _tell_of_the_end(self) -> None:
        message, hint = b"The gateway ended while it ran the command.", b"Look: openclaw gateway status"
        if not self._flags.json:
            start = b"" if self._is_at_start else b"\n"
            told = b"error: %s" % message
            is_narrow = 0 < width() <= len(told) + len(hint)
            _write(2, start + told + (b"\n" if is_narrow else b" ") + hint + b"\n")
            return
        told = b'{"error":{"code":"gateway-ended","message":"%s","hint":"%s","exitCode":1}}\n'
        self._out(told % (message, hint))

    def _next(self) -> tuple[bytes, bytes]:
        """The next frame. Raises OSError when there is none to come."""
        while True:
            try:
                found = wire.take(self._arrived)
            except ValueError:
                raise ConnectionError from None
            if found is not None:
                return found
            if self._questions is not None:
                self._questions.listen(self._connection)
            data = self._received()
            if not data:
                raise ConnectionError
            self._arrived += data

    def _received(self) -> bytes:
        while self._is_taken:
            self._connection.settimeout(LOOK_FOR_SIGNALS)
            try:
                return self._connection.recv(wire.PIECE_BYTES)
            except TimeoutError:
                continue
        # The gateway has not yet said that it takes the command, and has only so long to do so.
        return self._connection.recv(wire.PIECE_BYTES)

    def _asked(self) -> "TerminalQuestions":
        """The questions put to the person here. What shows them is loaded with the first one."""
        if self._questions is None:
            from openclaw.control.question_screen import question_screen
            from openclaw.control.terminal_questions import TerminalQuestions

            screen = question_screen(os.environ, no_color=self._flags.no_color)
            self._questions = TerminalQuestions(_show, self._send, _browse, screen)
        return self._questions

    def _hide_keys(self) -> None:
        # Loaded while somebody waits for something else.
        from openclaw.control.terminal_modes import unseen_until_ended

        self._unseen = unseen_until_ended(0)
        self._unseen.__enter__()

    def _show_keys(self) -> None:
        unseen, self._unseen = self._unseen, None
        if unseen is not None:
            unseen.__exit__(None, None, None)

    def _open_address(self, payload: bytes) -> None:
        number, _, address = payload.partition(b"\0")
        opened = b""
        try:
            opened = b"yes" if _browse(address.decode()) else b""
        finally:
            # Also when the person interrupts it.
            self._send(wire.frame(wire.BROWSED, wire.pack([number, opened])))

    def _give_input(self, most: int) -> None:
        """All of standard input; with `most`, so many bytes of what is piped in."""
        left = most if not most or has_piped() else -1
        while left >= 0 and (data := os.read(0, min(left, wire.PIECE_BYTES) if most else wire.PIECE_BYTES)):
            self._send(wire.frame(wire.INPUT, data))
            left -= len(data) if most else 0
        self._send(wire.frame(wire.INPUT))

    def _send(self, data: bytes) -> None:
        try:
            self._connection.settimeout(None)
            self._connection.sendall(data)
        except OSError:
            # What is read next tells whether the gateway is gone.
            pass


def has_piped() -> bool:
    """Whether something comes through standard input that no person types. Says so when nothing does for too long."""
    try:
        if os.isatty(0):
            return False
        if _comes():
            return True
    except (OSError, ValueError):
        # It is closed.
        return False
    _write(2, wire.NOTHING_PIPED)
    return False


def _comes() -> bool:
    """Whether there is something to read from standard input, or its end, within a while. Loads what only commands need that take it."""
    if sys.platform == "win32":
        from openclaw.control.windows_pipe import comes_within

        return comes_within(0, wire.PIPE_PATIENCE)
    import select

    return bool(select.select([0], [], [], wire.PIPE_PATIENCE)[0])


def _browse(address: str) -> bool:
    """Open an address on the screen of this terminal's person; without one, tell whether there is a screen."""
    import asyncio
    import threading

    from openclaw.auth.browser import has_screen, open_browser

    if not address:
        return has_screen(os.environ)
    opened: list[bool] = []
    # In a thread of its own: a chat hands its lines to the gateway from within a loop.
    thread = threading.Thread(target=lambda: opened.append(asyncio.run(open_browser(address, os.environ))))
    thread.start()
    thread.join()
    return opened == [True]


def _print(data: bytes) -> None:
    """Leaves the program when the output cannot be written, as a command does that runs here."""
    try:
        _write(1, data)
    except BrokenPipeError:
        raise
    except OSError as error:
        _write(2, f"error: The output cannot be written: {(error.strerror or str(error)).lower()}.\n".encode())
        raise SystemExit(1) from None


def _show(text: str) -> None:
    _write(2, text.encode("utf-8", "backslashreplace"))


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
