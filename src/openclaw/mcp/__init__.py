"""The MCP client engine: one supervisor per server, one manager over them, and their tools, resources and prompts as ours."""
