"""Orders carried out in this process: one agent host, made with the first order, and what one order becomes with it.

Owns that host: one task opens and closes it, whichever order comes first, and a config that was saved meanwhile is taken over before the
next order. `carry_out` is the same for an order that came over our own stdin and for one that another process handed to a gateway: it is
what `openclaw agent` would do with the same words, without a channel, without commands, with the rights of the local user. What fails
becomes a result that names no path and no secret (`public.py`).
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from openclaw.agent.attachments import Attachment
from openclaw.agent.events import Event, MessageEnd, ToolEnd
from openclaw.app import App, Reply
from openclaw.config.agents import agent as agent_of
from openclaw.config.load import load_config
from openclaw.config.paths import Paths
from openclaw.config.sections import LoggingSection
from openclaw.control.config_watch import Look, look_at
from openclaw.conversation import Conversation
from openclaw.errors import OpenClawError
from openclaw.log import short_hash
from openclaw.mcp_server.answer import NOTHING_SAID, Narrator, aggregate
from openclaw.mcp_server.attachments import check_counts, content, decode
from openclaw.mcp_server.dialogue import failure
from openclaw.mcp_server.order import Order
from openclaw.mcp_server.public import clean, sentence
from openclaw.mcp_server.server import OrderListener
from openclaw.sessions.key import session_key

# The first revision whose clients know audio content.
_AUDIO_SINCE = "2025-03-26"
# 128 bits: nobody guesses the key of a conversation that nobody named.
_KEY_BYTES = 16
_NAMESPACE = "mcp"

_log = logging.getLogger(__name__)


async def carry_out(
    app: App,
    order: Order,
    *,
    agent: str,
    version: str,
    listener: OrderListener,
    patience: float | None,
    workspace: Path,
) -> dict[str, Any]:
    """The result of the tool call. `patience` is how long to wait for servers never seen before. Raises CancelledError alone."""
    roots = private_places(app.paths, workspace)
    try:
        check_counts(order)
        spec = agent_of(app.config, agent)
        attachments = await _decoded(order)
        events: list[Event] = []
        key, namespace = (order.session_key, _NAMESPACE) if order.session_key else (_new_key(), "")
        listener.joined(short_hash(session_key(spec.id, key, namespace)))
        reply = await app.reply(
            order.message,
            Conversation(
                spec.id,
                key,
                namespace,
                workspace,
                patience=patience,
                sink=_collector(events, listener.tell),
                asker=listener.asker,
                surface="order",
            ),
            attachments=attachments,
            waited=order.waited,
        )
        # In a thread: hundreds of long results are compared with each other.
        said = await asyncio.to_thread(aggregate, events, verbose=spec.verbose)
        audio_blocks = app.config.root.media.audio.output == "block" and version >= _AUDIO_SINCE
        blocks = await asyncio.to_thread(content, _text(reply, said, roots), reply.media, audio_blocks=audio_blocks)
        return {"content": blocks, "isError": reply.reason != "done"}
    except (OpenClawError, OSError) as error:
        return failed(error, roots)


def failed(error: OpenClawError | OSError, roots: Mapping[str, str]) -> dict[str, Any]:
    """A failure as a result. The log says more."""
    _log.info("an order failed: %s", error)
    if isinstance(error, OpenClawError):
        return failure(sentence(error, roots))
    return failure(f"OpenClaw could not use its files: {error.strerror or type(error).__name__}.")


def private_places(paths: Paths, workspace: Path) -> dict[str, str]:
    """Directories that no result shows, and what stands for them. Which of our own files it is about may be known."""
    hidden = {str(path): "…" for path in (paths.config_file.parent, paths.home, workspace)}
    return hidden | {str(paths.state_dir): "state-directory"}


def _collector(events: list[Event], tell: Callable[[str], None]) -> Callable[[Event], None]:
    narrator = Narrator()

    def take(event: Event) -> None:
        if isinstance(event, MessageEnd | ToolEnd):
            events.append(event)
        if told := narrator.words(event):
            tell(told)

    return take


def _text(reply: Reply, said: str, roots: Mapping[str, str]) -> str:
    if reply.reason == "done":
        return said if said or reply.media else NOTHING_SAID
    before = f"\n\nSaid before that:\n\n{said}" if said else ""
    return f"Error: {clean(reply.error, roots)}{before}"


async def _decoded(order: Order) -> list[Attachment]:
    """The attachments, one after the other, in a thread: the largest take a tenth of a second each."""
    items = decode(order)
    attachments: list[Attachment] = []
    while (attachment := await asyncio.to_thread(next, items, None)) is not None:
        attachments.append(attachment)
    return attachments


def _new_key() -> str:
    return f"mcp-{int(time.time() * 1000)}-{secrets.token_hex(_KEY_BYTES)}"


class AgentHost:
    """One App, made with the first order. `agent` and `config` are what the command line chose; empty means the default ones.

    `log_as` is told how the config wants the log.
    """

    def __init__(
        self,
        agent: str,
        config: str,
        env: Mapping[str, str],
        cwd: Path,
        log_as: Callable[[LoggingSection], None],
    ) -> None:
        self._log_as = log_as
        self._agent = agent
        self._config = config
        self._env = env
        self._cwd = cwd
        self._opened: asyncio.Future[App] | None = None
        self._owner: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._looks: dict[Path, Look] = {}
        self._refreshing = asyncio.Lock()

    async def carry_out(self, order: Order, version: str, listener: OrderListener) -> dict[str, Any]:
        """What went wrong is in the result."""
        try:
            paths = Paths.from_env(self._env, config=self._config, cwd=str(self._cwd))
        except OpenClawError as error:
            return failed(error, {})
        try:
            app = await self._app(paths)
            await self._refresh(app)
        except (OpenClawError, OSError) as error:
            return failed(error, private_places(paths, self._cwd))
        return await carry_out(
            app, order, agent=self._agent, version=version, listener=listener, patience=None, workspace=self._cwd
        )

    async def close(self) -> None:
        """End the host and every server it started."""
        self._closing.set()
        if self._owner is not None:
            await asyncio.wait([self._owner])

    async def _app(self, paths: Paths) -> App:
        """The host. When it cannot be made, say because the config is wrong, the next order tries again."""
        if self._opened is None or (self._opened.done() and self._opened.exception() is not None):
            loop = asyncio.get_running_loop()
            self._opened = loop.create_future()
            self._owner = loop.create_task(self._own(paths, self._opened))
        return await asyncio.shield(self._opened)

    async def _refresh(self, app: App) -> None:
        """Take over a changed config. One that cannot be used is reported, and the running one stays."""
        async with self._refreshing:
            looks = look_at(app.config.files)
            if looks == self._looks:
                return
            self._looks = looks
            try:
                config = await asyncio.to_thread(load_config, app.paths, self._env)
            except OpenClawError as error:
                _log.warning("The changed config cannot be used; the running one stays: %s", error)
                return
            self._log_as(config.root.logging)
            await app.reload(config)
            self._looks = look_at(config.files)

    async def _own(self, paths: Paths, opened: "asyncio.Future[App]") -> None:
        try:
            config = await asyncio.to_thread(load_config, paths, self._env)
            self._log_as(config.root.logging)
            self._looks = look_at(config.files)
            async with App(config, paths=paths, env=self._env, workspace=self._cwd) as app:
                await app.engine.manager()
                opened.set_result(app)
                await self._closing.wait()
        except Exception as error:
            if opened.done():
                _log.warning("closing the host failed: %s", error, exc_info=error)
                return
            opened.set_exception(error)
            # Looked at: whoever waited for it may have been cancelled meanwhile.
            opened.exception()
