"""What passes between client and server, for `--verbose`: one line each to the log, cut short, masked, conversations as the
short hash of their key, the one that the rest of the log and the audit records use.

Loaded only when it is asked for.
"""

import logging

from openclaw.log import one_line
from openclaw.mcp_server.order import Item, Order
from openclaw.protocol.jsonrpc import Failure, Notification, Request, RequestId, Result
from openclaw.protocol.strict_lines import Batch, Message
from openclaw.redact import redact

# Enough to recognise a message or an answer.
_SHOWN = 300
# What is masked before it is cut: a key that the cut goes through would no longer look like one.
_MASKED = 4 * _SHOWN

_log = logging.getLogger(__name__)


class LogJournal:
    def received(self, message: Message | Batch) -> None:
        match message:
            case Batch(messages):
                _log.info("→ a batch of %d", len(messages))
            case Request(id, method, params):
                _log.info("→ %s id=%r, %d bytes", method, id, len(memoryview(params)))
            case Notification(method):
                _log.info("→ %s", method)
            case Result(id) | Failure(id):
                _log.info("→ an answer to %r", id)
            case _:
                _log.info("→ a line that cannot be answered otherwise than: %s", message.message)

    def ordered(self, id: RequestId, order: Order) -> None:
        sizes = f"images={_shown(order.images)} files={_shown(order.files)}"
        _log.info("→ order id=%r %s: %s", id, sizes, _beginning(order.message))

    def joined(self, id: RequestId, session: str) -> None:
        _log.info("order id=%r session=%s", id, session)

    def asked(self, line: bytes) -> None:
        _log.info("← %d bytes: %s", len(line), _shown_line(line))

    def answered(self, id: RequestId | None, line: bytes) -> None:
        _log.info("← id=%r, %d bytes: %s", id, len(line), _shown_line(line))


def _shown_line(line: bytes) -> str:
    return _beginning(line[: 2 * _MASKED].decode("utf-8", "ignore"))


def _beginning(text: str) -> str:
    masked = redact(text[:_MASKED])
    return one_line(masked[:_SHOWN]) + ("…" if len(masked) > _SHOWN else "")


def _shown(items: list[Item]) -> str:
    return f"{len(items)} ({sum(len(item.data) for item in items):,} characters)" if items else "none"
