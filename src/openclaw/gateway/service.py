"""The gateway as a service of the user's session: the text of a systemd unit or a launchd job. Pure; command.py writes it."""

import plistlib
from collections.abc import Mapping, Sequence

# Our own name: another OpenClaw may have a service of its own.
UNIT = "openclaw-py-gateway.service"
LABEL = "ai.openclaw-py.gateway"

# Longer than a gateway takes to drain calls and end its servers.
_STOP_SECONDS = 25
# systemd gives a service up that started five times within ten seconds, as one would whose disk or port is away for a moment.
_AGAIN_SECONDS = 5


def systemd_unit(argv: Sequence[str], env: Mapping[str, str]) -> str:
    lines = [
        "[Unit]",
        "Description=OpenClaw gateway",
        "",
        "[Service]",
        f"ExecStart={' '.join(_quoted(word, dollar='$$') for word in argv)}",
        *(f"Environment={_quoted(f'{name}={value}', dollar='$')}" for name, value in env.items()),
        "Restart=on-failure",
        f"RestartSec={_AGAIN_SECONDS}",
        f"TimeoutStopSec={_STOP_SECONDS}",
        # Our own guardian ends servers; systemd sends its signal to us alone, so that calls can finish first.
        "KillMode=mixed",
        "",
        "[Install]",
        "WantedBy=default.target",
    ]
    return "\n".join(lines) + "\n"


def _quoted(word: str, *, dollar: str) -> str:
    """A word as systemd reads it back: quoted, with its escapes, specifiers and variables taken literally."""
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("\n", "\\n"), ("$", dollar)):
        word = word.replace(plain, escaped)
    return f'"{word}"'


def launchd_job(argv: Sequence[str], env: Mapping[str, str], log: str) -> bytes:
    job = {
        "Label": LABEL,
        "ProgramArguments": list(argv),
        "EnvironmentVariables": dict(env),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ExitTimeOut": _STOP_SECONDS,
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    return plistlib.dumps(job)
