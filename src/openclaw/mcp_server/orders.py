"""Orders carried out in this process: one agent host, made with the first order, for as long as the server lives.

Owns that host and the order of calls within one conversation. An order is what `openclaw agent` would do with the same words: no
channel, no commands, the rights of the local user. What is said becomes text in `aggregate.py`, media in `inbound.py` and
`outbound.py`. Everything that fails becomes an answer that names no path and no secret (`public.py`).
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec

from openclaw.agent.attachments import Attachment
from openclaw.agent.events import Event, MessageEnd, ToolEnd
from openclaw.app import App, Reply
from openclaw.config.agents import agent as agent_of
from openclaw.config.load import load_config
from openclaw.config.paths import Paths
from openclaw.errors import OpenClawError
from openclaw.mcp_server.aggregate import NOTHING_SAID, aggregate
from openclaw.mcp_server.arguments import Order
from openclaw.mcp_server.inbound import check_counts, decode
from openclaw.mcp_server.narrate import narrate
from openclaw.mcp_server.outbound import content
from openclaw.mcp_server.public import clean, sentence
from openclaw.mcp_server.server import Tell, failure
from openclaw.sessions.lock import KeyLocks

# The first revision whose clients know audio content.
_AUDIO_SINCE = "2025-03-26"
# 128 bits: nobody guesses the key of a conversation that nobody named.
_KEY_BYTES = 16
_NAMESPACE = "mcp"

_log = logging.getLogger(__name__)


class Choices(msgspec.Struct, frozen=True):
    """What the command line chose: the agent (the default one when empty) and the config file (likewise)."""

    agent: str = ""
    config: str = ""


class Orders:
    def __init__(self, choices: Choices, env: Mapping[str, str], cwd: Path) -> None:
        self._choices = choices
        self._env = env
        self._cwd = cwd
        self._locks = KeyLocks()
        self._paths: Paths | None = None
        self._opened: asyncio.Future[App] | None = None
        self._owner: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        # Servers that were never seen before are waited for once, not by every order.
        self._waited = False

    async def carry_out(self, order: Order, version: str, tell: Tell) -> dict[str, Any]:
        """The result of one call. Calls that name the same conversation wait for each other, in the order they came."""
        try:
            async with AsyncExitStack() as stack:
                if order.session_key:
                    await stack.enter_async_context(self._locks.hold(order.session_key))
                return await self._answer(order, version, tell)
        except OpenClawError as error:
            _log.info("an order was refused: %s", error)
            return failure(sentence(error, self._roots()))
        except OSError as error:
            _log.warning("an order failed: %s", error)
            return failure(f"OpenClaw could not use its files: {error.strerror or type(error).__name__}.")

    async def close(self) -> None:
        """End the host and every server it started."""
        self._closing.set()
        if self._owner is not None:
            await asyncio.wait([self._owner])

    async def _answer(self, order: Order, version: str, tell: Tell) -> dict[str, Any]:
        check_counts(order)
        tell("Starting")
        app = await self._app()
        spec = agent_of(app.config, self._choices.agent)
        attachments = await _decoded(order)
        events: list[Event] = []

        def take(event: Event) -> None:
            if isinstance(event, MessageEnd | ToolEnd):
                events.append(event)
            if told := narrate(event):
                tell(told)

        patience, self._waited = app.engine.startup_grace if self._waited else None, True
        reply = await app.reply(
            order.message,
            agent=spec.id,
            session_key=order.session_key or _new_key(),
            namespace=_NAMESPACE if order.session_key else "",
            attachments=attachments,
            on_event=take,
            patience=patience,
        )
        text = aggregate(events, verbose=spec.verbose)
        audio_blocks = app.config.root.media.audio.output == "block" and version >= _AUDIO_SINCE
        return await asyncio.to_thread(self._result, reply, text, audio_blocks=audio_blocks)

    def _result(self, reply: Reply, text: str, *, audio_blocks: bool) -> dict[str, Any]:
        if reply.reason == "done":
            text = text if text or reply.media else NOTHING_SAID
        else:
            said = f"\n\nSaid before that:\n\n{text}" if text else ""
            text = f"Error: {clean(reply.error, self._roots())}{said}"
        return {
            "content": content(text, reply.media, audio_blocks=audio_blocks),
            "isError": reply.reason != "done",
        }

    async def _app(self) -> App:
        """The host. When it cannot be made, say because the config is wrong, the next order tries again."""
        if self._opened is None or (self._opened.done() and self._opened.exception() is not None):
            loop = asyncio.get_running_loop()
            self._opened = loop.create_future()
            self._owner = loop.create_task(self._own(self._opened))
        return await asyncio.shield(self._opened)

    async def _own(self, opened: "asyncio.Future[App]") -> None:
        """One task opens the host and closes it, whichever order comes first."""
        try:
            paths = self._paths = Paths.from_env(self._env, config=self._choices.config, cwd=str(self._cwd))
            config = await asyncio.to_thread(load_config, paths, self._env)
            async with App(config, paths=paths, env=self._env, workspace=self._cwd) as app:
                await app.engine.manager()
                opened.set_result(app)
                await self._closing.wait()
        except Exception as error:
            if opened.done():
                _log.warning("closing the host failed: %s", error, exc_info=error)
            else:
                opened.set_exception(error)

    def _roots(self) -> tuple[str, ...]:
        """Directories that no answer names."""
        paths = self._paths
        ours = (paths.state_dir, paths.config_file.parent, paths.home) if paths else ()
        return tuple(str(path) for path in (*ours, self._cwd))


async def _decoded(order: Order) -> list[Attachment]:
    """The attachments, one after the other, in a thread: the largest take a tenth of a second each."""
    items = decode(order)
    attachments: list[Attachment] = []
    while (attachment := await asyncio.to_thread(next, items, None)) is not None:
        attachments.append(attachment)
    return attachments


def _new_key() -> str:
    return f"mcp-{int(time.time() * 1000)}-{secrets.token_hex(_KEY_BYTES)}"
