"""Stands between an ACP client and an agent and writes down every line of both, as it passes: `acp_tap.py TAPE COMMAND…`.

The tape has a JSON object for each line, {"side": "client" or "agent", "line": "…"}, in the order in which they passed here. Several
processes may write to one tape, one after the other: a line {"side": "start"} stands before each. Needs the standard library alone.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from typing import IO


class Tape:
    def __init__(self, path: str) -> None:
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115 (open until the process ends)
        self._lock = threading.Lock()

    def note(self, side: str, line: bytes = b"") -> None:
        with self._lock:
            self._file.write(json.dumps({"side": side, "line": line.decode("utf-8", "backslashreplace")}) + "\n")
            self._file.flush()


def pass_on(side: str, source: IO[bytes], target: IO[bytes], tape: Tape) -> None:
    """Until the source ends, or nobody reads the target; then the target is closed."""
    try:
        for line in source:
            tape.note(side, line)
            target.write(line)
            target.flush()
        target.close()
    except (OSError, ValueError):
        # The other side left.
        pass


def main(path: str, *command: str) -> int:
    tape = Tape(path)
    tape.note("start")
    agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert agent.stdin is not None
    assert agent.stdout is not None
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda got, frame: agent.send_signal(got))
    threading.Thread(target=pass_on, args=("client", sys.stdin.buffer, agent.stdin, tape), daemon=True).start()
    pass_on("agent", agent.stdout, sys.stdout.buffer, tape)
    return agent.wait()


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    # A thread that waits for standard input would keep the interpreter from ending.
    os._exit(code if code >= 0 else 128 - code)
