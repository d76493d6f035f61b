"""Ways to carry MCP messages: stdio, Streamable HTTP, HTTP+SSE, memory; and the connection that runs a peer over any of them."""
