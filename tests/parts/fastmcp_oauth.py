"""FastMCP's own authorization server and a server it protects; run by the environment that has FastMCP: `python fastmcp_oauth.py PORT`."""

import sys

from fastmcp import FastMCP
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions

port = int(sys.argv[1])
auth = InMemoryOAuthProvider(
    base_url=f"http://127.0.0.1:{port}",
    client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["tools:use"]),
    revocation_options=RevocationOptions(enabled=True),
    required_scopes=["tools:use"],
)
server = FastMCP("protected", auth=auth)


@server.tool
def add(a: int, b: int) -> int:
    return a + b


server.run(transport="http", host="127.0.0.1", port=port, show_banner=False, log_level="error")
