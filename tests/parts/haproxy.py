"""A real HAProxy before gateways, as docs/how-to/run-many-gateways.md has it: `/ready` says who is sent work. From Debian alone."""

import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from parts.postgres import free_port

_TRIES = 5
_SETTINGS = """
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  option redispatch 1
  retries 3
frontend all
  bind 127.0.0.1:{port}
  default_backend gateways
backend gateways
  balance roundrobin
  option httpchk
  http-check send meth GET uri /ready ver HTTP/1.1 hdr Host localhost
  http-check expect status 200
  default-server check inter 200ms fall 1 rise 1
{servers}
"""


@contextmanager
def haproxy(gateways: Mapping[str, int]) -> Iterator[str]:
    """The address of a balancer before these gateways, named with their ports."""
    program = shutil.which("haproxy", path=f"{os.defpath}:/usr/sbin:/usr/bin")
    assert program is not None, "apt-get install haproxy"
    folder = Path(tempfile.mkdtemp(prefix="openclaw-haproxy-"))
    servers = "\n".join(f"  server {name} 127.0.0.1:{port}" for name, port in gateways.items())
    try:
        for _ in range(_TRIES):
            port = free_port()
            settings = folder / "haproxy.cfg"
            settings.write_text(_SETTINGS.format(port=port, servers=servers))
            process = subprocess.Popen(
                [program, "-db", "-f", str(settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            url = f"http://127.0.0.1:{port}"
            try:
                # Until it listens; it ends when somebody else has the port.
                while process.poll() is None and not _answers(url):
                    pass
                if process.poll() is None:
                    yield url
                    return
            finally:
                process.kill()
                process.wait()
        raise AssertionError("HAProxy did not start")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/ready", timeout=5):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
