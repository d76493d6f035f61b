"""Play a suite's attacks and tasks through an App, in one mode after the other, and print what came of each. One process for a suite.

    python -m bench.agentdojo.replay PYTHON SUITE MODE,… [EVERY]

PYTHON is the interpreter of AgentDojo's own environment. EVERY takes only each so-manieth attack. Everything between the person and the
suite is the product as it is installed: a config file, an App, its agent loop, approvals, the MCP client and a stdio server.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from bench.agentdojo.model import NAME, ModelServer, Obedient
from bench.agentdojo.modes import MODES, Mode
from bench.agentdojo.person import Person
from bench.agentdojo.suite import Play, Suite
from bench.agentdojo.tally import Played
from openclaw.app import App
from openclaw.config.load import load_config
from openclaw.config.paths import Paths
from openclaw.conversation import Conversation, Nobody
from openclaw.grant import Grant
from openclaw.security.offers import read_grant

SERVER = Path(__file__).with_name("suite_server.py")
# A path of a socket may have about a hundred characters, wherever the state is.
SOCKET = "suite.sock"
# AgentDojo alone takes six seconds to load on an idle machine.
CONNECT_MS = 120_000


def config_of(python: str, suite: str, socket: Path, model_url: str, mode: Mode) -> dict[str, Any]:
    entry = {"command": python, "args": [str(SERVER), suite, str(socket)], "connectionTimeoutMs": CONNECT_MS}
    # Room for every conversation: nothing is to be summarised away.
    model = {"id": NAME, "contextWindow": 1_000_000, "maxTokens": 1_000}
    provider = {"baseUrl": model_url, "apiKey": "none", "models": [model]}
    return {
        "session": {"store": "memory"},
        "models": {"mode": "replace", "providers": {"local": provider}},
        "agents": {"defaults": {"model": f"local/{NAME}"}},
        "mcp": {"servers": {suite: entry}},
        "tools": {"approval": mode.settings},
    }


class Replay:
    def __init__(self, python: str, suite: str, folder: Path) -> None:
        self._python = python
        self._suite = suite
        self._socket = folder / SOCKET
        self._paths = Paths.from_env(os.environ)
        self._folder = folder
        self._model = ModelServer()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Replay"]:
        """With the App running and its server connected."""
        async with self._model:
            async with App(self._config(MODES["nothing"]), paths=self._paths, workspace=self._folder) as self._app:
                self._manager = await self._app.engine.manager()
                self._manager.start(self._app.engine.agent().id)
                await self._manager.readiness.started(self._app.engine.agent().id)
                async with Suite(self._socket) as self._control:
                    yield self

    def _config(self, mode: Mode) -> Any:
        config = config_of(self._python, self._suite, self._socket, self._model.url, mode)
        self._paths.config_file.parent.mkdir(parents=True, exist_ok=True)
        self._paths.config_file.write_text(json.dumps(config))
        return load_config(self._paths, os.environ)

    async def plays(self, every: int) -> list[Play]:
        """All tasks by themselves, then each with each attack."""
        users, injections = await self._control.tasks()
        pairs = [Play(self._suite, user, injection) for user in users for injection in injections]
        return [Play(self._suite, user) for user in users] + pairs[::every]

    async def use(self, mode: Mode) -> None:
        await self._app.reload(self._config(mode))
        store = self._app.engine.grants
        for grant in store.all():
            await store.revoke(grant.id)
        if mode.reads:
            await store.add(*self._confirmed())

    def _confirmed(self) -> Iterator[Grant]:
        """What a person gives when a server is connected and they believe which of its tools only read."""
        for tool in self._manager.tools(self._app.engine.agent().id):
            facts = tool.facts() if tool.facts else None
            if facts is not None and facts.read_only:
                yield read_grant(tool, facts)

    async def play(self, play: Play, mode: Mode) -> Played | None:
        """None when it cannot be played."""
        scene = await self._control.load(play)
        if not scene.can_be_played:
            return None
        model = self._model.playing = Obedient(self._suite, scene)
        person = Person(self._suite, scene)
        reply = await self._app.reply(
            scene.prompt, Conversation(asker=person if mode.person else Nobody(), surface="chat")
        )
        reached = await self._control.judge(play, reply.text)
        return Played(
            play,
            scene.way,
            model.has_read_goal,
            reached,
            len(person.asked),
            person.approved,
            model.calls,
            reply.reason if not reply.error else f"{reply.reason}: {reply.error}",
        )


async def main(python: str, suite: str, modes: Sequence[str], every: int) -> None:
    folder = Path(os.environ["OPENCLAW_STATE_DIR"]).parent
    async with Replay(python, suite, folder).opened() as replay:
        plays = await replay.plays(every)
        found: dict[str, list[Played]] = {}
        for key in modes:
            begun = time.monotonic()
            await replay.use(MODES[key])
            played = [await replay.play(play, MODES[key]) for play in plays]
            found[key] = [one for one in played if one is not None]
            seconds = time.monotonic() - begun
            print(f"agentdojo: {suite}: {key}: {len(found[key])} plays in {seconds:.0f} s", file=sys.stderr, flush=True)
    print(msgspec.json.encode(found).decode())


if __name__ == "__main__":
    python, suite, modes, *every = sys.argv[1:]
    asyncio.run(main(python, suite, modes.split(","), int(every[0]) if every else 1))
