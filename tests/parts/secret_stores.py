"""Secret stores that nobody here wrote, on this machine: OpenBao, which speaks Vault's protocol, and moto's AWS.

Both are in the environment `secrets` of the real parts.
"""

import json
import os
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parts.cache import python_of

ROOT_TOKEN = "root-token-of-a-test-0123456789"
# A port that was free a moment ago may be taken by another test.
_TRIES = 5

_MOTO = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
server.stop()
"""


@dataclass(frozen=True)
class Bao:
    """A running `bao server -dev` and an operator's hand on it."""

    address: str
    token: str = ROOT_TOKEN

    def call(self, method: str, path: str, body: Any = None, token: str = "") -> dict[str, Any]:
        request = urllib.request.Request(
            f"{self.address}/v1/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"X-Vault-Token": token or self.token},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return dict(json.loads(text)) if text else {}


@contextmanager
def bao_server(folder: Path) -> Iterator[Bao]:
    """OpenBao in memory, unsealed, with KV version 2 at `secret/`."""
    program = Path(python_of("secrets")).with_name("bao")
    for _ in range(_TRIES):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        process = subprocess.Popen(
            [
                *(str(program), "server", "-dev", "-dev-no-store-token", f"-dev-root-token-id={ROOT_TOKEN}"),
                f"-dev-listen-address=127.0.0.1:{port}",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"HOME": str(folder), "PATH": os.defpath},
            text=True,
        )
        try:
            if _comes_up(process):
                yield Bao(f"http://127.0.0.1:{port}")
                return
        finally:
            process.terminate()
            process.communicate()
    raise AssertionError("OpenBao did not start")


def _comes_up(process: "subprocess.Popen[str]") -> bool:
    """Whether it says that it is ready before it ends. Whatever it prints later fits into the pipe: tests are short."""
    assert process.stdout is not None
    return any("Development mode should NOT be used" in line for line in process.stdout)


@contextmanager
def moto_server() -> Iterator[str]:
    """The address of an AWS whose secrets live in memory."""
    process = subprocess.Popen(
        [python_of("secrets"), "-c", _MOTO],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port.isdigit(), "moto did not start"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.communicate()


def libraries() -> str:
    """Where the environment `secrets` keeps its libraries, boto3 among them. The same Python as ours."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return subprocess.run([python_of("secrets"), "-c", code], capture_output=True, text=True, check=True).stdout.strip()
