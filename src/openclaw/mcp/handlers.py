"""What a server may ask of us: elicitation, sampling, roots.

None of them is declared unless the embedding program gives a handler, and a server that asks anyway is refused. The same handlers
serve both ways of asking: a request of the server (up to 2025-11-25) and `input_required` results (2026-07-28).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from openclaw.conversation import Nobody
from openclaw.errors import RpcError
from openclaw.mcp.tools.panel import EXTENSION, MIME_TYPE
from openclaw.protocol.jsonrpc import METHOD_NOT_FOUND
from openclaw.tool import Invocation

ELICIT = "elicitation/create"
SAMPLE = "sampling/createMessage"
ROOTS = "roots/list"


class LogMessage(msgspec.Struct, frozen=True):
    """What a server logs (`notifications/message`). `text` is clean and bounded, for a terminal; `data` is what came."""

    server: str
    level: str
    logger: str
    text: str
    data: Any


OnLog = Callable[[LogMessage], None]
# The server's name, the params it sent, and the call of a tool that it asks about, in whose conversation a person may be asked, without its
# id when it may be one of several of that conversation; None when even that is not sure. Gives the result to answer with.
Handler = Callable[[str, Mapping[str, Any], Invocation | None], Awaitable[Mapping[str, Any]]]
# Returns when a person has done what a page asked of them (True), or will not wait for it any longer. For the server's name and the call.
Finished = Callable[[str, Invocation | None], Awaitable[bool]]
Mode = Literal["form", "url"]
_MODES: tuple[Mode, ...] = ("form", "url")
# What can be shown to the person of a call; None is a request that is no call's.
Modes = Callable[[Invocation | None], tuple[Mode, ...]]


def modes_of_call(invocation: Invocation | None) -> tuple[Mode, ...]:
    """What the surface can show that a call came from."""
    if invocation is None or type(asker := invocation.conversation.asker) is Nobody:
        # Where no person is, as for calls of programs: a sixth of what asking would take.
        return ()
    return tuple(mode for mode in _MODES if asker.can(mode))


class Handlers(msgspec.Struct, frozen=True):
    """`elicitation` asks a person, `sampling` asks a model, `roots` names directories. None of them may answer for a person: an elicitation
    handler shows who asks and offers to decline.

    `modes` are the elicitations that can be shown, as a connection declares them that all calls share; `modes_of_call`, where it is given,
    what each request declares for itself (2026-07-28). With `url` among them `finished` waits until the person has done what the page
    wants: without it, the server is asked again after a while. `samples_with_tools` says that a model may be given tools of the server,
    `roots_change` that a server is told when its roots become others (`Client.roots_changed`), where its revision has a word for that,
    `shows_panels` that a person can be shown its MCP Apps.
    """

    elicitation: Handler | None = None
    sampling: Handler | None = None
    roots: Handler | None = None
    modes: Sequence[Mode] = ("form",)
    modes_of_call: Modes | None = None
    finished: Finished | None = None
    samples_with_tools: bool = False
    roots_change: bool = False
    shows_panels: bool = False

    def capabilities(self) -> dict[str, Any]:
        """What a connection declares once and for all calls: exactly what has a handler."""
        return self._declared(self.modes, {"listChanged": True} if self.roots_change else {})

    def modes_for(self, invocation: Invocation | None) -> Sequence[Mode]:
        """The elicitations that can be shown to the person of one call."""
        return self.modes if self.modes_of_call is None else self.modes_of_call(invocation)

    def declared(self, modes: Sequence[Mode]) -> dict[str, Any]:
        """What one request declares, for a call whose person can be shown these (2026-07-28)."""
        return self._declared(modes, {})

    def _declared(self, modes: Sequence[Mode], roots: dict[str, Any]) -> dict[str, Any]:
        declared: dict[str, Any] = {}
        if self.elicitation is not None and modes:
            declared["elicitation"] = {mode: {} for mode in modes}
        if self.sampling is not None:
            declared["sampling"] = {"tools": {}} if self.samples_with_tools else {}
        if self.roots is not None:
            declared["roots"] = roots
        if self.shows_panels:
            declared["extensions"] = {EXTENSION: {"mimeTypes": [MIME_TYPE]}}
        return declared

    async def answer(
        self, server: str, method: str, params: Mapping[str, Any], invocation: Invocation | None
    ) -> Mapping[str, Any]:
        """Serve one request of a server. Raises RpcError when nobody here can."""
        handler = {ELICIT: self.elicitation, SAMPLE: self.sampling, ROOTS: self.roots}.get(method)
        if handler is None:
            raise RpcError(METHOD_NOT_FOUND, f"This client does not support {method[:60]}.")
        return await handler(server, params, invocation)
