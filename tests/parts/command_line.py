"""`openclaw …` as a person runs it: a process of its own, in a home of its own.

home = Home(tmp_path, mcp={"servers": {"parts": parts_server()}})
done = await home.openclaw("mcp", "servers")
done = await home.chat("/mcp servers", "hello")
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from openclaw.config.load import Config, load_config
from openclaw.config.paths import Paths
from parts import loaded, stdio_server
from parts.executable import python_program

PROGRAM = loaded.PROGRAM
Done = loaded.Ran


def parts_server(*options: str, **entry: Any) -> dict[str, Any]:
    """A config entry of the stdio server of this folder."""
    return {"command": sys.executable, "args": ["-S", "-E", stdio_server.__file__, *options], **entry}


def local_model(url: str, key: str, api: str = "openai-completions") -> dict[str, Any]:
    """The sections of a config whose agents use a model server on this machine that speaks `api`."""
    model = {"id": "local-model", "input": ["text", "image"]}
    provider = {"baseUrl": url, "apiKey": key, "api": api, "models": [model]}
    return {
        "models": {"mode": "replace", "providers": {"local": provider}},
        "agents": {"defaults": {"model": "local/local-model"}},
    }


def browser(folder: Path) -> str:
    """A program that opens the address it is given, says yes to everything and follows every redirect."""
    fetch = "import sys, urllib.request\nurllib.request.urlopen(sys.argv[1]).read()"
    return str(python_program(folder / "browser", fetch))


class Home:
    """A home directory with a config in it. `environ` is all that a command sees: no keys, no other home."""

    def __init__(self, folder: Path, **config: Any) -> None:
        self.folder = folder
        self.state = folder / ".openclaw"
        self.environ = {
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
            "TMPDIR": str(folder),
            "XDG_RUNTIME_DIR": str(folder),
            # Nobody's model: none is looked for outside of this home.
            "OLLAMA_HOST": "127.0.0.1:9",
        }
        self.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.write(**config)

    def write(self, **config: Any) -> None:
        file = self.state / "openclaw.json"
        file.touch(mode=0o600)
        file.write_text(json.dumps(config, indent=2))

    @property
    def paths(self) -> Paths:
        return Paths.from_env(self.environ)

    def config(self) -> Config:
        return load_config(self.paths, self.environ)

    async def openclaw(self, *words: str, text: str = "", guard: float = loaded.HANG_GUARD) -> Done:
        """Run one command to its end, with `text` as its standard input."""
        return await asyncio.to_thread(loaded.run, words, env=self.environ, cwd=self.folder, stdin=text, guard=guard)

    async def chat(self, *lines: str) -> Done:
        """Type these lines into one conversation."""
        return await self.openclaw("chat", text="".join(f"{line}\n" for line in lines))
