"""A gateway with nothing to do: what it costs with twenty servers and a thousand tools."""

import os
import sys
import time
from pathlib import Path

import pytest

from parts.gateways import gateway_process, home

PART = Path(__file__).parent.parent / "parts" / "many_tools.py"
SERVERS, TOOLS = 20, 50
# What is promised: of a core, over a minute; and of memory.
SECONDS, CORE, MEMORY = 60.0, 0.005, 90_000_000


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.full
@pytest.mark.alone
def test_an_idle_gateway_with_a_thousand_tools_costs_next_to_nothing(tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": ["-S", "-E", str(PART), str(TOOLS)]}
    servers = {f"server-{number}": entry for number in range(SERVERS)}
    with home(tmp_path, {"mcp": {"servers": servers}}) as place, gateway_process(place, fresh=True) as gateway:
        for name in servers:
            gateway.wait_until(f"'{name}' is ready")
        # Everything a first command loads counts as well.
        assert place.run("mcp", "call", "server-7__tool_3", "path=x").stdout == "done\n"
        assert place.run("tools").stdout.count("server-") >= SERVERS * TOOLS
        pid = gateway.process.pid
        before = cpu_seconds(pid)
        time.sleep(SECONDS)
        used = cpu_seconds(pid) - before

        assert used / SECONDS < CORE
        assert memory(pid) < MEMORY
