"""However the gateway ends, nothing that it started outlives it for long: servers that ignore signals, what they started, chains of
programs, and sessions of their own."""

import os
import select
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openclaw.process import guardian
from parts.cache import npm_folder
from parts.gateways import GatewayProcess, Home, gateway_process, home, stdio_server
from parts.processes import handle_of

pytestmark = pytest.mark.real

# What the product promises, in seconds.
AFTER_STOP = 7.0
AFTER_KILL = 5.0
MARK = "chaos-endings-{};"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Home]:
    npx = shutil.which("npx")
    assert npx, "npx comes with npm, which these tests need"
    servers: dict[str, Any] = {
        "polite": stdio_server(),
        "stubborn": stdio_server("--stubborn"),
        # A real chain: npx runs a shell, which runs the server.
        "chain": {"command": npx, "args": ["--no-install", "mcp-server-everything", "stdio"], "cwd": str(npm_folder())},
    }
    with home(tmp_path, {"mcp": {"servers": servers}}) as made:
        yield Home(made.state, {**made.env, guardian.VARIABLE: MARK.format(tmp_path.name)})


def started(gateway: GatewayProcess) -> dict[int, str]:
    """Handles and names of everything alive that the gateway is the cause of, once there is plenty of it."""
    for server in ("polite", "stubborn"):
        for how in ("child", "setsid", "chain"):
            called = gateway.home.run("mcp", "call", f"{server}__descend", f"how={how}", "--json")
            assert called.returncode == 0, called.stderr
    ready = gateway.home.run("mcp", "call", "chain__echo", "message=hi")
    assert ready.returncode == 0, ready.stderr
    own = gateway.process.pid
    mark = gateway.home.env[guardian.VARIABLE].encode()
    # The guardian carries no mark; it is our gateway's own child.
    found = {pid for pid in guardian.find(mark) if pid != own} | children_of(own)
    names = {pid: Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ") for pid in found}
    assert sum(b"time.sleep(600)" in name for name in names.values()) >= 6
    assert sum(b"mcp-server-everything" in name for name in names.values()) >= 2
    return {handle_of(pid): name.decode() for pid, name in names.items()}


def children_of(pid: int) -> set[int]:
    return {
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    }


def survivors(handles: dict[int, str], deadline: float) -> list[str]:
    """Which of these processes are alive at a moment of the monotonic clock. Ends as soon as none is."""
    alive = []
    for handle, name in handles.items():
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            alive.append(name)
        os.close(handle)
    return alive


def test_seven_seconds_after_a_stop_nothing_is_left(place: Home) -> None:
    with gateway_process(place) as gateway:
        handles = started(gateway)
        handles[handle_of(gateway.process.pid)] = "the gateway"
        gateway.process.send_signal(signal.SIGTERM)
        assert survivors(handles, time.monotonic() + AFTER_STOP) == []


def test_five_seconds_after_a_kill_nothing_is_left(place: Home) -> None:
    with gateway_process(place) as gateway:
        handles = started(gateway)
        gateway.process.kill()
        assert survivors(handles, time.monotonic() + AFTER_KILL) == []
