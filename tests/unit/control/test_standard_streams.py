"""Log lines on a standard error that is read late, or never."""

import os
import re
import threading

from openclaw.control.standard_streams import LogLines

# A test that hangs is ended long before.
PATIENCE = 60.0


def test_lines_that_find_no_reader_are_counted_and_the_others_come_in_order() -> None:
    reading, writing = os.pipe()
    log = LogLines(writing)
    for number in range(30_000):
        log.write(f"line {number}\n")
    received: list[bytes] = []

    def read() -> None:
        while data := os.read(reading, 1 << 16):
            received.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    log.flush(PATIENCE)
    os.close(writing)
    reader.join()
    os.close(reading)
    text = b"".join(received).decode()
    shown = [int(number) for number in re.findall(r"^line (\d+)$", text, re.MULTILINE)]
    dropped = [int(number) for number in re.findall(r"^\((\d+) lines found no reader\)$", text, re.MULTILINE)]
    assert dropped
    assert (shown, len(shown) + sum(dropped)) == (sorted(set(shown)), 30_000)


def test_a_log_that_nobody_can_read_any_more_is_no_fault() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    log = LogLines(writing)
    log.write("unheard\n")
    log.flush(PATIENCE)
    os.close(writing)
