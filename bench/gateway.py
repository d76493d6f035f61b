"""A running gateway of ours, for the measures that need one."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.contenders.driver import Target
from bench.drivers import DriverError, environment
from bench.ours.engine import config_of
from bench.parts import ROOT

OPENCLAW = str(Path(sys.executable).parent / "openclaw")
READY_SECONDS = 20.0


@dataclass(frozen=True)
class Gateway:
    pid: int
    url: str
    token: str


def write_config(home: Path, servers: dict[str, Target]) -> None:
    """A config with these servers where commands run with `environment(home)` find it, and a port nobody else uses."""
    state = Path(environment(home)["OPENCLAW_STATE_DIR"])
    state.mkdir(parents=True, exist_ok=True)
    (state / "openclaw.json").write_text(json.dumps(config_of(servers) | {"gateway": {"port": free_port()}}))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_gateway(home: Path) -> Iterator[Gateway]:
    """`openclaw gateway run` with the config in `home`, until the end. Raises DriverError when it does not come up."""
    env = environment(home)
    log = home / "gateway.log"
    with open(log, "w") as file:
        process = subprocess.Popen(
            [OPENCLAW, "gateway", "run"], stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=ROOT, env=env
        )
    try:
        yield _ready(process, env, log)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _ready(process: "subprocess.Popen[bytes]", env: dict[str, str], log: Path) -> Gateway:
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            words = log.read_text(errors="replace").strip().splitlines()
            raise DriverError(f"the gateway ended: {words[-1] if words else process.returncode}")
        asked = subprocess.run(
            [OPENCLAW, "gateway", "status", "--json"], capture_output=True, text=True, cwd=ROOT, env=env, check=False
        )
        if asked.returncode == 0:
            told = json.loads(asked.stdout)
            token = Path(env["OPENCLAW_STATE_DIR"]) / "py" / "gateway.token"
            return Gateway(process.pid, f"http://127.0.0.1:{told['port']}", token.read_text().strip())
        time.sleep(0.1)
    raise DriverError(f"the gateway was not ready within {READY_SECONDS:.0f} s")
