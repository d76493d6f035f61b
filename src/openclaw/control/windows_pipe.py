"""Whether something comes through a pipe on Windows, where `select` takes sockets alone. Elsewhere there is nothing in it."""

import ctypes
import sys
import time

if sys.platform == "win32":
    import msvcrt

    _PAUSE = 0.02

    _peek = ctypes.WINFUNCTYPE(
        *(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32),
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p),
    )(("PeekNamedPipe", ctypes.WinDLL("kernel32")))

    def comes_within(descriptor: int, seconds: float) -> bool:
        """Whether there is something to read, or its end, within so many seconds. A file always has it. Raises OSError when closed."""
        handle, ends = msvcrt.get_osfhandle(descriptor), time.monotonic() + seconds
        waiting = ctypes.c_uint32()
        # It fails for what is no pipe, and for a pipe that nobody writes to any more: reading does not wait then.
        while _peek(handle, None, 0, None, ctypes.byref(waiting), None) and not waiting.value:
            if time.monotonic() > ends:
                return False
            time.sleep(_PAUSE)
        return True
