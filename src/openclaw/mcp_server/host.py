"""Orders carried out in this process: one App, made with the first order (`control/app_host.py`), and what one order becomes with it.

`carry_out` is the same for an order that came over our own stdin and for one that another process handed to a gateway: it is
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
from openclaw.config.paths import Paths
from openclaw.config.sections import LoggingSection
from openclaw.control.app_host import AppHost
from openclaw.conversation import Conversation
from openclaw.errors import OpenClawError
from openclaw.log import short_hash
from openclaw.mcp_server.answer import NOTHING_SAID, Narrator, aggregate
from openclaw.mcp_server.attachments import check_counts, content, decode
from openclaw.mcp_server.dialogue import failure
from openclaw.mcp_server.order import Order
from openclaw.mcp_server.order_tool import TOOL_NAME
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
    with app.engine.serving_mcp("tools/call", TOOL_NAME, order.caller) as served:
        result = await _carried_out(
            app, order, agent=agent, version=version, listener=listener, patience=patience, workspace=workspace
        )
        if served is not None and result["isError"]:
            served.fail("tool_error")
        return result


async def _carried_out(
    app: App,
    order: Order,
    *,
    agent: str,
    version: str,
    listener: OrderListener,
    patience: float | None,
    workspace: Path,
) -> dict[str, Any]:
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
    """Orders for one App, made with the first of them. `agent` and `config` are what the command line chose; empty means the default ones.

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
        self._agent = agent
        self._cwd = cwd
        self._host = AppHost(config, env, cwd, log_as)

    async def carry_out(self, order: Order, version: str, listener: OrderListener) -> dict[str, Any]:
        """What went wrong is in the result."""
        try:
            paths = self._host.paths()
        except OpenClawError as error:
            return failed(error, {})
        try:
            app = await self._host.app()
        except (OpenClawError, OSError) as error:
            return failed(error, private_places(paths, self._cwd))
        return await carry_out(
            app, order, agent=self._agent, version=version, listener=listener, patience=None, workspace=self._cwd
        )

    async def close(self) -> None:
        """End the App and every server it started."""
        await self._host.close()
