"""All that came of one child, on Windows: a job object, which the system ends with its last handle, and so also when we are killed.

A child is started suspended and put into its job before it runs a line: whatever it starts is in there too. So no guardian is needed. There
is no signal that asks a program to leave: the end of its input does, and then the job is ended. Elsewhere it is `marked_kin.py`, with
the same methods. The records below are those of the Windows API; their sizes are tested everywhere.
"""

import ctypes
import sys
from collections.abc import Callable
from subprocess import Popen
from typing import Any

# Of the Windows API: CreateProcess, and the access rights that a job asks for (set quota, terminate, suspend and resume).
_CREATE_SUSPENDED = 0x4
_CREATE_NEW_PROCESS_GROUP = 0x200
_CREATE_NO_WINDOW = 0x08000000
_ACCESS = 0x100 | 0x1 | 0x800
# Which record is meant, and the limit that ends a job with its last handle.
_ACCOUNTING = 1
_EXTENDED_LIMITS = 9
_KILL_ON_JOB_CLOSE = 0x2000

# Ctrl-C is for us alone, and a program of a gateway without a console opens no window.
CREATION_FLAGS = _CREATE_SUSPENDED | _CREATE_NEW_PROCESS_GROUP | _CREATE_NO_WINDOW
# The exit code of what we ended: there are no signals to tell.
KILLED = 1


class BasicLimits(ctypes.Structure):
    """JOBOBJECT_BASIC_LIMIT_INFORMATION"""

    _fields_ = (
        ("per_process_user_time", ctypes.c_int64),
        ("per_job_user_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("minimum_working_set", ctypes.c_size_t),
        ("maximum_working_set", ctypes.c_size_t),
        ("active_processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority_class", ctypes.c_uint32),
        ("scheduling_class", ctypes.c_uint32),
    )


class ExtendedLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION"""

    _fields_ = (
        ("basic", BasicLimits),
        ("io_counters", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


class Accounting(ctypes.Structure):
    """JOBOBJECT_BASIC_ACCOUNTING_INFORMATION"""

    _fields_ = (
        ("times", ctypes.c_int64 * 4),
        ("page_faults", ctypes.c_uint32),
        ("processes", ctypes.c_uint32),
        ("active_processes", ctypes.c_uint32),
        ("terminated_processes", ctypes.c_uint32),
    )


def limits() -> ExtendedLimits:
    """Those of every job of ours: it ends with us."""
    return ExtendedLimits(basic=BasicLimits(flags=_KILL_ON_JOB_CLOSE))


if sys.platform == "win32":
    _HANDLE = ctypes.c_void_p
    _DWORD = ctypes.c_uint32
    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)

    def _function(name: str, result: type[Any], *arguments: type[Any]) -> Callable[..., Any]:
        return ctypes.WINFUNCTYPE(result, *arguments, use_last_error=True)((name, _kernel))

    _create_job = _function("CreateJobObjectW", _HANDLE, _HANDLE, ctypes.c_wchar_p)
    _set_job = _function("SetInformationJobObject", ctypes.c_int, _HANDLE, ctypes.c_int, _HANDLE, _DWORD)
    _query_job = _function("QueryInformationJobObject", ctypes.c_int, _HANDLE, ctypes.c_int, _HANDLE, _DWORD, _HANDLE)
    _assign = _function("AssignProcessToJobObject", ctypes.c_int, _HANDLE, _HANDLE)
    _terminate_job = _function("TerminateJobObject", ctypes.c_int, _HANDLE, _DWORD)
    _open_process = _function("OpenProcess", _HANDLE, _DWORD, ctypes.c_int, _DWORD)
    _close = _function("CloseHandle", ctypes.c_int, _HANDLE)
    # `subprocess` closes the handle of the thread that ResumeThread wants; this one takes that of the process.
    _resume = ctypes.WINFUNCTYPE(ctypes.c_int32, _HANDLE)(("NtResumeProcess", ctypes.WinDLL("ntdll")))

    class Kin:
        """Made before the child is started."""

        def __init__(self) -> None:
            self.variables: dict[str, str] = {}
            self._job: int | None = _create_job(None, None)
            wanted = limits()
            _check(self._job)
            _check(_set_job(self._job, _EXTENDED_LIMITS, ctypes.byref(wanted), ctypes.sizeof(wanted)))

        def began(self, child: "Popen[bytes]") -> None:
            """Put it into the job, and let it run. Raises OSError, and the child is gone then."""
            try:
                # Its number cannot have passed to somebody else: `child` holds on to the process.
                process = _open_process(_ACCESS, 0, child.pid)
                _check(process)
                try:
                    _check(_assign(self._job, process))
                    _check(_resume(process) >= 0)
                finally:
                    _close(process)
            except OSError:
                child.kill()
                child.wait()
                raise

        def are_gone(self) -> bool:
            if self._job is None:
                return True
            found = Accounting()
            told = _query_job(self._job, _ACCOUNTING, ctypes.byref(found), ctypes.sizeof(found), None)
            return bool(told) and found.active_processes == 0

        def ask_to_leave(self) -> bool:
            """Whether there is a way to ask."""
            return False

        def kill(self) -> None:
            if self._job is not None:
                _terminate_job(self._job, KILLED)

        def leave(self, seconds: float, output: int, errors: int) -> bool:
            """Let them go on without us. Nobody would read what they write, and so end them in time."""
            return False

        def ended(self) -> None:
            """All of them are gone, or end with the job."""
            if self._job is not None:
                _close(self._job)
                self._job = None

        def __del__(self) -> None:
            # Of a child that could not be started nobody says that it ended.
            self.ended()

    def _check(went_well: object) -> None:
        if not went_well:
            raise ctypes.WinError(ctypes.get_last_error())
