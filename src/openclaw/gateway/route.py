"""One route of the HTTP port as a value: where it is, who answers, what it takes and what it gives.

What a handler reads of a body or a query is a struct, and the same struct is named here: `openapi.py` describes the port from these values,
and nothing of it is written twice.
"""

from typing import Any

import msgspec
from aiohttp import web

# An answer that is a stream of server-sent events, and one that is bytes of any kind.
EVENTS = "text/event-stream"
BYTES = "application/octet-stream"


class Route(msgspec.Struct, frozen=True):
    """`about` says what it does, in the words of docs/reference/http.md. `body` and `query` are the structs that the handler reads. `gives`
    is the struct of its answer, or the media type of one that is not JSON. With `head` a HEAD is answered too. One that `begins` a turn or
    a call is closed first when the gateway drains."""

    method: str
    path: str
    # Takes a web.Request, gives a web.StreamResponse.
    handler: Any
    about: str
    body: Any = None
    query: Any = None
    gives: Any = None
    status: int = 200
    head: bool = False
    begins: bool = False

    def served(self) -> web.RouteDef:
        return web.RouteDef(
            self.method, self.path, self.handler, {"allow_head": self.head} if self.method == "GET" else {}
        )
