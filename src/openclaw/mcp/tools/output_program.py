"""A program: a JSON Schema and right behind it a value on standard input, whether the one fits the other on standard output.

    python -I -m openclaw.mcp.tools.output_program SCHEMA_BYTES

Both come from outside, and a large value takes a while and much memory to take apart: it runs here, apart from everything else, with
bounds on memory and processor time. Run by `output.py`; imported by nobody.
"""

import gc
import sys
from typing import BinaryIO

import msgspec

from openclaw.content import to_json
from openclaw.json_schema import Checker
from openclaw.process.limits import limit_this_process

# The smallest values cost thirty times their bytes: what the largest message can hold, in all but the most hostile form.
MOST_MEMORY = 2 << 30
MOST_SECONDS = 30


def verdict(stream: BinaryIO, schema_bytes: int) -> dict[str, str]:
    try:
        checker = Checker(stream.read(schema_bytes), what="results")
        return {"fault": checker.check(msgspec.json.decode(stream.read())) or ""}
    except (MemoryError, RecursionError):
        return {"problem": "it is too large or too deeply nested"}
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {"problem": "it cannot be read"}


if __name__ == "__main__":
    limit_this_process(memory=MOST_MEMORY, seconds=MOST_SECONDS)
    # Nothing is thrown away before the end.
    gc.disable()
    sys.stdout.buffer.write(to_json(verdict(sys.stdin.buffer, int(sys.argv[1]))))
