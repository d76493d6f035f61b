"""The other end of forwarding.py: a request of another gateway, carried out with the server that runs here.

Owns what is passed on and what is answered here. Agreeing on a revision is answered from what was agreed with the server; everything
about tools, resources, prompts and skills goes to the server, in a slot like our own calls, and at most once. A caller that leaves has its
request cancelled. Questions that a server asks about such a call are answered here, where nobody is: those of the newest revision are part
of its answers, and go back to the caller.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw

from openclaw.content import to_json
from openclaw.errors import ConnectError, DeadlineError, LinkLostError, OpenClawError, RpcError, UsageError
from openclaw.fleet.forwarding import Fault
from openclaw.fleet.placement import Here
from openclaw.mcp.client import Client
from openclaw.mcp.events import PromptsChanged, ResourceChanged, ToolsChanged
from openclaw.mcp.server.server import LiveServer
from openclaw.mcp.server.state import UnavailableError
from openclaw.protocol.eras import DISCOVER, INITIALIZE
from openclaw.protocol.jsonrpc import METHOD_NOT_FOUND

# Seconds. The caller has a deadline of its own, and ends the exchange when it is over.
_LONGEST: Final = 6 * 3600.0
# What goes to the server.
_PASSED: Final = ("tools/", "resources/", "prompts/", "completion/", "skills/")
_PROGRESS: Final = "progressToken"

Tell = Callable[[bytes], None]


class Message(msgspec.Struct, frozen=True):
    id: int
    method: str
    params: dict[str, Any] = {}


def read_message(body: bytes) -> Message:
    """Raises UsageError for what no gateway of ours sends."""
    try:
        return msgspec.json.decode(body, type=Message)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise UsageError("This is no request of a gateway.") from None


async def relay(here: Here, server: LiveServer, message: Message, tell: Tell) -> bytes:
    """The line that ends the answer; `tell` is given those before it. Never raises but CancelledError."""
    here.begin()
    try:
        return _line({"result": await _result(server, message, tell)}, message.id)
    except RpcError as error:
        told = {"code": error.code, "message": error.message}
        return _line({"error": told if error.data is None else {**told, "data": error.data}}, message.id)
    except OpenClawError as error:
        return to_json(_fault(error))
    finally:
        here.end()


def notification_of(event: object, server: str) -> bytes | None:
    """What other gateways are told of an event; None when it is not about this server, or nothing to them."""
    match event:
        case ToolsChanged() if event.server == server:
            return _notice("notifications/tools/list_changed")
        case PromptsChanged() if event.server == server:
            return _notice("notifications/prompts/list_changed")
        case ResourceChanged() if event.server == server and event.uri:
            return _notice("notifications/resources/updated", {"uri": event.uri})
        case ResourceChanged() if event.server == server:
            return _notice("notifications/resources/list_changed")
        case _:
            return None


async def _result(server: LiveServer, message: Message, tell: Tell) -> object:
    method = message.method
    if method == "ping":
        return {}
    if method in (DISCOVER, INITIALIZE):
        return await server.use(lambda client: _agreed(client, method), timeout=_LONGEST)
    if not method.startswith(_PASSED):
        raise RpcError(METHOD_NOT_FOUND, f"A gateway does not pass on {method[:40]}.")
    return await server.use(lambda client: _passed_on(client, message, tell), timeout=_LONGEST)


async def _agreed(client: Client, method: str) -> object:
    agreement = client.agreement
    told: dict[str, Any] = {"capabilities": agreement.capabilities, "serverInfo": agreement.server_info}
    if agreement.instructions:
        told["instructions"] = agreement.instructions
    if agreement.modern != (method == DISCOVER):
        raise RpcError(METHOD_NOT_FOUND, "The server speaks another revision.")
    return (
        {"supportedVersions": [agreement.version], **told}
        if agreement.modern
        else {"protocolVersion": agreement.version, **told}
    )


async def _passed_on(client: Client, message: Message, tell: Tell) -> Raw:
    if not client.connection.link.facts.is_process:
        # It has moved in the meantime, and is nobody's to pass on twice.
        raise ConnectError("The server has moved to another gateway.")
    params = {name: value for name, value in message.params.items() if name != "_meta"}
    meta: Mapping[str, Any] = message.params.get("_meta") or {}
    token = meta.get(_PROGRESS)
    name = params.get("name")

    def progressed(progress: float, total: float | None, words: str) -> None:
        told = {_PROGRESS: token, "progress": progress, "total": total, "message": words}
        tell(_notice("notifications/progress", {name: value for name, value in told.items() if value is not None}))

    return await client.connection.request(
        message.method,
        params,
        timeout=_LONGEST,
        max_total=None if token is None else _LONGEST,
        on_progress=None if token is None else progressed,
        name=name if isinstance(name, str) else "",
        meta={name: value for name, value in meta.items() if name != _PROGRESS},
    )


def _fault(error: OpenClawError) -> Fault:
    match error:
        case LinkLostError() if error.maybe_sent:
            return Fault("lost", error.message)
        case LinkLostError() | ConnectError() | UnavailableError():
            return Fault("unavailable", str(error))
        case DeadlineError():
            return Fault("late", error.message)
        case _:
            return Fault("refused", str(error))


def _line(outcome: Mapping[str, object], id: int) -> bytes:
    return to_json({"jsonrpc": "2.0", "id": id, **outcome})


def _notice(method: str, params: Mapping[str, object] | None = None) -> bytes:
    return to_json({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})
