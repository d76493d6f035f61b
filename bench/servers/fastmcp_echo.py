"""An echo server made with FastMCP 4, as its documentation begins. Run by the environment that has it.

python fastmcp_echo.py stdio|http [PORT]
"""

import sys

from fastmcp import FastMCP

server = FastMCP("fastmcp-echo")


@server.tool(annotations={"readOnlyHint": True})
def echo(text: str) -> str:
    """Answers with its text."""
    return text


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run(show_banner=False)
    else:
        server.run(transport="http", host="127.0.0.1", port=int(sys.argv[2]), show_banner=False, log_level="error")
