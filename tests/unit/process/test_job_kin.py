"""What can be seen of Windows' jobs elsewhere: the records that its API reads and writes."""

import ctypes

from openclaw.process.job_kin import Accounting, BasicLimits, ExtendedLimits, limits


def test_the_records_are_as_large_as_those_of_the_windows_api() -> None:
    sizes = {record.__name__: ctypes.sizeof(record) for record in (BasicLimits, ExtendedLimits, Accounting)}
    # Of a process with addresses of 64 bits.
    assert sizes == {"BasicLimits": 64, "ExtendedLimits": 144, "Accounting": 48}


def test_a_field_stands_where_the_windows_api_looks_for_it() -> None:
    assert (BasicLimits.flags.offset, Accounting.active_processes.offset) == (16, 40)


def test_a_job_ends_with_its_last_handle() -> None:
    assert bytes(limits()) == bytes(16) + b"\x00\x20\x00\x00" + bytes(124)
