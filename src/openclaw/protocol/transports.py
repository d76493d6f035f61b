"""The transports of MCP: their names, and what is true of each.

The one list of them. Whoever must know how a transport behaves asks for a fact; a name is for the config, for what is remembered between
runs, and for people to read.
"""

from typing import Final, Literal

import msgspec

TransportName = Literal["stdio", "streamable-http", "sse", "memory", "gateway"]


class TransportFacts(msgspec.Struct, frozen=True, kw_only=True):
    name: TransportName
    # The server is a process that we started: it can be seen to end, and writes to a standard error of its own.
    is_process: bool = False
    # All messages share one connection, which can be lost as a whole; else each request has its own.
    can_be_lost: bool = True
    # The server may forget our MCP session and still be there to begin another.
    has_sessions: bool = False
    # Requests of the newest revision repeat in HTTP headers what they are about.
    mirrors_headers: bool = False
    # Every request is answered, if only with an HTTP status: silence says nothing about the revision.
    always_answers: bool = False
    # Older than the newest revision, which is not asked for over it.
    is_legacy: bool = False
    # What the same address may speak instead.
    alternative: TransportName | None = None


STDIO: Final = TransportFacts(name="stdio", is_process=True)
STREAMABLE_HTTP: Final = TransportFacts(
    name="streamable-http",
    can_be_lost=False,
    has_sessions=True,
    mirrors_headers=True,
    always_answers=True,
    alternative="sse",
)
LEGACY_SSE: Final = TransportFacts(name="sse", is_legacy=True, alternative="streamable-http")
MEMORY: Final = TransportFacts(name="memory")
# To a server that another gateway runs.
GATEWAY: Final = TransportFacts(name="gateway", always_answers=True)
# The status of a gateway that does not run the server, or not any more, or stops: nothing was done. No proxy says this of itself.
NOT_HERE: Final = 409

# Those that can be written in a config; of the others one needs a program that brings the server, and one a fleet of gateways.
CONFIGURED: Final[tuple[TransportName, ...]] = (STDIO.name, STREAMABLE_HTTP.name, LEGACY_SSE.name)
TRANSPORTS: Final[dict[TransportName, TransportFacts]] = {
    facts.name: facts for facts in (STDIO, STREAMABLE_HTTP, LEGACY_SSE, MEMORY, GATEWAY)
}
