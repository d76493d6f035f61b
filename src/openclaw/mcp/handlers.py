"""What a server may ask of us: elicitation, sampling, roots.

None of them is declared unless the embedding program gives a handler, and a server that asks anyway is refused. The same handlers
serve both ways of asking: a request of the server (up to 2025-11-25) and `input_required` results (2026-07-28).
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from openclaw.errors import RpcError
from openclaw.protocol.jsonrpc import METHOD_NOT_FOUND
from openclaw.tool import Invocation

# The server's name, the params it sent, and the call of a tool that it asks about, in whose conversation a person may be asked, without its
# id when it may be one of several of that conversation; None when even that is not sure. Gives the result to answer with.
Handler = Callable[[str, Mapping[str, Any], Invocation | None], Awaitable[Mapping[str, Any]]]


class Handlers(msgspec.Struct, frozen=True):
    """`elicitation` asks a person (form mode), `sampling` asks a model, `roots` names directories. None of them may answer for a
    person: an elicitation handler shows who asks and offers to decline."""

    elicitation: Handler | None = None
    sampling: Handler | None = None
    roots: Handler | None = None

    def capabilities(self) -> dict[str, Any]:
        """What is declared to servers: exactly what has a handler."""
        declared: dict[str, Any] = {}
        if self.elicitation is not None:
            declared["elicitation"] = {"form": {}}
        if self.sampling is not None:
            declared["sampling"] = {}
        if self.roots is not None:
            declared["roots"] = {}
        return declared

    async def answer(
        self, server: str, method: str, params: Mapping[str, Any], invocation: Invocation | None
    ) -> Mapping[str, Any]:
        """Serve one request of a server. Raises RpcError when nobody here can."""
        handler = {
            "elicitation/create": self.elicitation,
            "sampling/createMessage": self.sampling,
            "roots/list": self.roots,
        }.get(method)
        if handler is None:
            raise RpcError(METHOD_NOT_FOUND, f"This client does not support {method[:60]}.")
        return await handler(server, params, invocation)
