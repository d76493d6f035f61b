"""Runs a program where the kernel has no `pidfd_open`, as before Linux 5.3 and in some sandboxes: `python -m parts.without_pidfd COMMAND…`.

A filter of system calls, which all that is started from here inherits, answers it with ENOSYS.
"""

import ctypes
import errno
import os
import struct
import sys

# <linux/prctl.h> and <linux/seccomp.h>.
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
# The same number on every architecture, as of all calls that are as new.
_PIDFD_OPEN = 434
# Of the classic BPF: load a word of the call (its number is the first), compare, answer.
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06


def _instruction(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def main() -> None:
    program = (
        _instruction(_LOAD, 0, 0, 0)
        + _instruction(_IF_EQUAL, 0, 1, _PIDFD_OPEN)
        + _instruction(_RETURN, 0, 0, _ERROR | errno.ENOSYS)
        + _instruction(_RETURN, 0, 0, _ALLOW)
    )
    kept = ctypes.create_string_buffer(program)
    header = ctypes.create_string_buffer(struct.pack("HL", len(program) // 8, ctypes.addressof(kept)))
    libc = ctypes.CDLL(None, use_errno=True)
    for asked in ((_NO_NEW_PRIVILEGES, 1, 0, 0, 0), (_SECCOMP, _FILTER, header, 0, 0)):
        if libc.prctl(*asked) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
    os.execv(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
