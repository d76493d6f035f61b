"""What keeps one MCP server alive: server.py is the object others use, the other modules are its parts."""
