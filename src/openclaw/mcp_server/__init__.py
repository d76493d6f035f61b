"""OpenClaw as one tool of any MCP client: `openclaw mcp-server`, a stdio server whose only tool is `order_openclaw`."""
