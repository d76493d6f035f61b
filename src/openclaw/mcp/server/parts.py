"""What one server is made of, as a value: every connection of it works with the same parts, and so does what keeps its lists up to date.

`LiveServer` (server.py) makes them, once for all of its connections.
"""

import msgspec

from openclaw.config.servers import ServerSpec
from openclaw.mcp.resources import InjectedResources
from openclaw.mcp.server.log import ServerLog
from openclaw.mcp.server.state import ServerState
from openclaw.mcp.tools.catalog import Catalog


class ServerParts(msgspec.Struct, frozen=True, eq=False):
    spec: ServerSpec
    state: ServerState
    catalog: Catalog
    injection: InjectedResources
    log: ServerLog
