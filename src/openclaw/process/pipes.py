"""The two ends of a pipe in an event loop: bytes go to a callback as they arrive, and out as fast as the other side reads.

Which of the two kinds it is depends on the system; both keep the same promises. `loop_pipes.py` has the loop wait for the pipe. Windows has
no loop that could: there a thread does, `thread_pipes.py`.
"""

import sys

if sys.platform == "win32":
    from openclaw.process.thread_pipes import HIGH_WATER, PipeReader, PipeWriter
else:
    from openclaw.process.loop_pipes import HIGH_WATER, PipeReader, PipeWriter

__all__ = ["HIGH_WATER", "PipeReader", "PipeWriter"]
