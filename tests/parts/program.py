"""The `openclaw` program as a person runs it: a real process with a home of its own and a bare environment."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import msgspec

OPENCLAW = str(Path(sys.executable).parent / "openclaw")
STDIO_SERVER = str(Path(__file__).parent / "stdio_server.py")


class Ran(msgspec.Struct, frozen=True):
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


class Program(msgspec.Struct, frozen=True):
    """`home` is the person's home directory, `workspace` where they stand."""

    home: Path
    workspace: Path

    @classmethod
    def under(cls, folder: Path) -> Self:
        home, workspace = folder / "home", folder / "work"
        home.mkdir()
        workspace.mkdir()
        return cls(home, workspace)

    @property
    def config(self) -> Path:
        return self.home / ".openclaw" / "openclaw.json"

    def configure(self, text: str) -> None:
        self.config.parent.mkdir(mode=0o700, exist_ok=True)
        self.config.write_text(text, encoding="utf-8")

    def env(self, **more: str) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(self.home), **more}

    def run(self, *words: str, stdin: str = "", **env: str) -> Ran:
        done = subprocess.run(
            [OPENCLAW, *words],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=self.workspace,
            env=self.env(**env),
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)


def server_entry(*arguments: str) -> str:
    """A config entry for the stdio server of the tests."""
    return json.dumps({"command": sys.executable, "args": [STDIO_SERVER, *arguments]})
