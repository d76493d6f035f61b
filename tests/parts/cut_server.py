"""The stdio server of these parts with one tool, cut off at a byte: the first time it is started, and never again.

    python cut_server.py CUT [options of stdio_server.py]

`CUT` is a file that says how: `out 37` exits after writing 37 bytes, `in 37` after reading as many, `deaf 37` then reads nothing more and
goes on running. Whoever starts first takes the file away, and writes `CUT.done` when it has come to that byte. Standard library only.
"""

import os
import sys
import threading
from collections.abc import Iterator

import stdio_server

CHUNK = 65536


class Cut:
    def __init__(self, file: str) -> None:
        self._file = file
        self.how, self.left = "", 0
        try:
            with open(file) as opened:
                how, at = opened.read().split()
            os.unlink(file)
            self.how, self.left = how, int(at)
        except FileNotFoundError:
            return

    def note(self) -> None:
        with open(f"{self._file}.done", "w"):
            pass


class Output:
    """What `sys.stdout.buffer` is to the server."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut

    def write(self, data: bytes) -> None:
        if self._cut.how == "out":
            data = data[: self._cut.left]
            self._cut.left -= len(data)
        while data:
            data = data[os.write(1, data) :]
        if self._cut.how == "out" and not self._cut.left:
            self._cut.note()
            os._exit(0)

    def flush(self) -> None:
        return None


class Input:
    """What `sys.stdin.buffer` is to the server."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut

    def __iter__(self) -> Iterator[bytes]:
        is_bounded = self._cut.how in ("in", "deaf")
        rest = b""
        while data := os.read(0, min(CHUNK, self._cut.left) if is_bounded else CHUNK):
            if is_bounded:
                self._cut.left -= len(data)
            *lines, rest = (rest + data).split(b"\n")
            yield from lines
            if is_bounded and not self._cut.left:
                self._end()

    def _end(self) -> None:
        self._cut.note()
        if self._cut.how == "in":
            os._exit(0)
        os.close(0)
        threading.Event().wait()


class Stream:
    def __init__(self, buffer: object) -> None:
        self.buffer = buffer

    def flush(self) -> None:
        return None


if __name__ == "__main__":
    cut = Cut(sys.argv.pop(1))
    sys.stdin, sys.stdout = Stream(Input(cut)), Stream(Output(cut))
    stdio_server.TOOLS = {"echo": "Answers with its `text`."}
    stdio_server.main()
