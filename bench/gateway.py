"""A running gateway of ours, for the measures that need one."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bench.contenders.driver import Target
from bench.drivers import environment
from bench.ours.engine import config_of
from bench.parts import ROOT
from bench.processes import Failed, end, finished, last_words, start

OPENCLAW = str(Path(sys.executable).parent / "openclaw")
READY_SECONDS = 20.0
# It ends its servers politely first.
STOP_SECONDS = 15.0


@dataclass(frozen=True)
class Gateway:
    pid: int
    url: str
    token: str


def write_config(home: Path, servers: dict[str, Target], **defaults: object) -> None:
    """A config with these servers where commands run with `environment(home)` find it, a port nobody else uses, and a model, as people
    have one. `defaults` are of agents."""
    state = Path(environment(home)["OPENCLAW_STATE_DIR"])
    state.mkdir(parents=True, exist_ok=True)
    more = {"gateway": {"port": free_port()}, "agents": {"defaults": {"model": "builtin/offline", **defaults}}}
    (state / "openclaw.json").write_text(json.dumps(config_of(servers) | more))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_gateway(home: Path) -> Iterator[Gateway]:
    """`openclaw gateway run` with the config in `home`, until the end. Raises Failed when it does not come up."""
    env = environment(home)
    log = home / "gateway.log"
    with open(log, "w") as file:
        process = start([OPENCLAW, "gateway", "run"], env, cwd=ROOT, stdout=file.fileno(), stderr=file.fileno())
    try:
        yield _ready(process, env, log)
    finally:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        end(process)


def _ready(process: "subprocess.Popen[bytes]", env: dict[str, str], log: Path) -> Gateway:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise Failed(f"the gateway ended: {last_words(log.read_bytes())}")
        with suppress(Failed):
            told = json.loads(
                finished([OPENCLAW, "gateway", "status", "--json"], env, cwd=ROOT, patience=READY_SECONDS)
            )
            token = Path(env["OPENCLAW_STATE_DIR"]) / "py" / "gateway.token"
            return Gateway(process.pid, f"http://127.0.0.1:{told['port']}", token.read_text().strip())
        time.sleep(0.1)
    raise Failed(f"the gateway was not ready within {READY_SECONDS:.0f} s")
