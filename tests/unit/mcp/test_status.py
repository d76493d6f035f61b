"""How a server is described as a value."""

from openclaw.config.servers import read_server
from openclaw.mcp.status import target_of


def test_an_entry_with_a_command_and_an_address_is_shown_where_its_transport_goes() -> None:
    entry = {"command": "npx", "args": ["shop"], "url": "https://example.com/mcp?key=1"}
    assert target_of(read_server("shop", {**entry, "transport": "http"})) == "https://example.com/mcp"
    assert target_of(read_server("shop", {**entry, "transport": "stdio"})) == "stdio://npx shop"
