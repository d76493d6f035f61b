"""Where the tour plays: a home of its own in a temporary folder, one App over it for all steps, and nothing left when it ends.

Nothing of the person's is read or changed: not their config, conversations, keys or keychain; of their environment only what any program
needs. Everything started here is ended here, in the reverse order, also when the tour is interrupted.
"""

import os
import secrets
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from openclaw.app import App
from openclaw.commands.console import Console
from openclaw.commands.dispatch import Context
from openclaw.commands.table import tree
from openclaw.config.load import load_config
from openclaw.config.paths import Paths
from openclaw.config.servers import ServerSpec
from openclaw.engine import Engine
from openclaw.errors import StoreError
from openclaw.process.environment import child_environment

# With a key of its own the token store leaves the keychain of the system alone.
KEY = "OPENCLAW_DEMO_KEY"
_KEY_BYTES = 32
_CONFIG = f"""\
{{
  agents: {{ defaults: {{ model: {{ primary: "builtin/offline" }} }} }},
  tokenStore: {{ key: "secret://env/{KEY}" }},
  // Servers of the tour only read, and its keyboard turns pages.
  tools: {{ approval: {{ mode: "off" }} }},
}}
"""
_TRIP = """\
Trip to Lisbon
The train leaves at 09:40 from platform 7.
TODO: book the ferry
"""


class Stage:
    def __init__(self, home: Path, env: Mapping[str, str]) -> None:
        self.home = home
        self.env = env
        self.paths = Paths.from_env(env)
        # Where the agent works, and what the notes server serves.
        self.notes = home / "notes"
        self.app: App

    def context(self, console: Console) -> Context:
        """What commands of the tour are given: the App that runs, as a gateway would give it to them; no browser is opened."""
        return Context(
            console=console,
            paths=self.paths,
            env=self.env,
            cwd=self.notes,
            open_app=self._open_app,
            open_engine=self._open_engine,
            root=tree(),
            surface="control",
        )

    def own_server(self) -> ServerSpec:
        """`openclaw mcp-server` of this home, as a client's config would name it."""
        return ServerSpec(
            "openclaw",
            command=sys.executable,
            args=("-m", "openclaw", "mcp-server"),
            cwd=str(self.notes),
            pass_env=(KEY,),
        )

    @asynccontextmanager
    async def _open_app(self) -> AsyncIterator[App]:
        yield self.app

    @asynccontextmanager
    async def _open_engine(self) -> AsyncIterator[Engine]:
        yield self.app.engine


@asynccontextmanager
async def stage(env: Mapping[str, str]) -> AsyncIterator[Stage]:
    """Raises StoreError when there is no place for it."""
    with ExitStack() as stack:
        try:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="openclaw-demo-")))
            made = Stage(home, _environment(env, home))
            _furnish(made)
        except OSError as error:
            raise StoreError(
                f"The tour needs a temporary folder, and cannot have one: {error.strerror or error}.",
                hint="Set TMPDIR to a folder that can be written to.",
            ) from None
        async with App(
            load_config(made.paths, made.env), paths=made.paths, env=made.env, workspace=made.notes
        ) as made.app:
            yield made


def _environment(env: Mapping[str, str], home: Path) -> dict[str, str]:
    """What a program is given that is not to know the person's secrets, with another home."""
    allowed = child_environment(parent=env).variables
    plain = {name: value for name, value in allowed.items() if not name.startswith("XDG_")}
    own = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home), KEY: secrets.token_urlsafe(_KEY_BYTES)}
    return {**plain, **own}


def _furnish(made: Stage) -> None:
    made.notes.mkdir()
    (made.notes / "trip.md").write_text(_TRIP, encoding="utf-8")
    made.paths.state_dir.mkdir(mode=0o700)
    descriptor = os.open(made.paths.config_file, os.O_CREAT | os.O_WRONLY, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(_CONFIG)
