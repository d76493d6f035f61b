"""The `openclaw` program as a person runs it: a real process with a home of its own and a bare environment."""

import json
import os
import sys
from pathlib import Path
from typing import Self

import msgspec

from parts import loaded

OPENCLAW = loaded.OPENCLAW
Ran = loaded.Ran
STDIO_SERVER = str(Path(__file__).parent / "stdio_server.py")


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
        return loaded.run(words, env=self.env(**env), cwd=self.workspace, stdin=stdin)


def server_entry(*arguments: str) -> str:
    """A config entry for the stdio server of the tests."""
    return json.dumps({"command": sys.executable, "args": [STDIO_SERVER, *arguments]})
