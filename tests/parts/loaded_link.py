"""The program that `loaded.link` makes of this file: has a loaded `openclaw` started on its own streams, and ends as that ends.

On as little of the standard library as there is: all of it is paid for with every command. Where there is a terminal, or an order for the
interpreter, the real program takes its place.
"""

# The module under `signal`, which is loaded anyway.
import _signal  # type: ignore[import-not-found]
import _socket
import array
import json
import os
import sys

# Where to ask, and what the real program is: written here by `loaded.link`.
PLACE = ""
OPENCLAW = ""
# With these an interpreter speaks UTF-8, as without any.
LOCALES = ("", "C", "C.UTF-8")


def is_plain() -> bool:
    env = os.environ
    locales = [env[name] for name in env if name == "LANG" or name.startswith("LC_")]
    return (
        not any(name.startswith("PYTHON") for name in env)
        and all(value in LOCALES for value in locales)
        and not any(os.isatty(number) for number in range(3))
    )


def number_on(line: _socket.socket) -> int:
    """What is told next: first the process, then how it ended."""
    told = b""
    while not told.endswith(b"\n"):
        piece = line.recv(1)
        if not piece:
            # Those who have it loaded are gone.
            os._exit(70)
        told += piece
    return int(told)


def main() -> None:
    if not is_plain():
        os.execv(OPENCLAW, [OPENCLAW, *sys.argv[1:]])
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    line.connect(PLACE)
    line.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
    wanted = {"words": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "program": sys.argv[0]}
    line.sendall(json.dumps(wanted).encode() + b"\0")
    pid = number_on(line)
    for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
        _signal.signal(number, lambda number, frame: os.kill(pid, number))
    status = number_on(line)
    if os.WIFSIGNALED(status):
        _signal.signal(os.WTERMSIG(status), _signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
