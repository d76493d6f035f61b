"""What is shown of this process, with /proc and without."""

from pathlib import Path

import pytest

from openclaw.gateway.gauges import gauges

EVERYWHERE = {
    "openclaw_info",
    "openclaw_uptime_seconds",
    "openclaw_running",
    "openclaw_event_streams",
    "openclaw_mcp_server_state",
    "openclaw_mcp_server_tools",
    "openclaw_mcp_server_restarts",
    "openclaw_mcp_server_calls_running",
    "openclaw_mcp_server_calls_waiting",
    "process_cpu_seconds_total",
}


def test_where_there_is_no_proc_memory_and_open_files_are_left_out(tmp_path: Path) -> None:
    shown = gauges((), started=0.0, watchers=0, busy=0, proc=tmp_path / "nowhere")
    assert {gauge.name for gauge in shown} == EVERYWHERE


@pytest.mark.linux_only("/proc")
def test_where_there_is_they_are_told() -> None:
    shown = {gauge.name: gauge for gauge in gauges((), started=0.0, watchers=0, busy=0)}
    assert shown.keys() - EVERYWHERE == {"process_resident_memory_bytes", "process_open_fds"}
    (memory,), (files,) = (shown[name].samples for name in ("process_resident_memory_bytes", "process_open_fds"))
    # A running Python has more than a megabyte, and its three streams.
    assert (memory.value > 1_000_000, files.value > 2) == (True, True)
