"""How processes are found where there is no /proc."""

import sys

import pytest

if sys.platform != "win32":
    from openclaw.process.guardian import listed

pytestmark = pytest.mark.posix_only("the mark that processes carry")


def test_without_proc_processes_are_found_in_what_ps_shows() -> None:
    mark = b"a-mark.1;"
    shown = b"""\
    1     1 Ss   /sbin/launchd
  501   501 S    node server.js HOME=/Users/me OPENCLAW_PROCESSES=a-mark.1; LANG=C
  502   501 S+   /bin/sleep 600
  503   503 R    a program with  blanks OPENCLAW_PROCESSES=other.1;a-mark.1;
  504   501 Z    (node)
  505   505 S
  506   506 Ss   python OPENCLAW_PROCESSES=a-mark.11;
"""
    assert listed(shown, mark, ()) == [501, 503]
    # A program of the system shows no environment there: its group tells.
    assert listed(shown, mark, {501}) == [501, 502, 503]
    assert listed(b"", mark, {501}) == []
