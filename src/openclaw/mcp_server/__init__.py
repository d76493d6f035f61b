"""OpenClaw as one tool of any MCP client."""
