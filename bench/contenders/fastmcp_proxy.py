"""FastMCP's proxy as a program: `python -m bench.contenders.fastmcp_proxy TARGET PORT`, where TARGET is a driver's target as JSON."""

import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy

if __name__ == "__main__":
    target = json.loads(sys.argv[1])
    if "url" in target:
        client = Client(target["url"])
    else:
        command, *arguments = target["command"]
        client = Client(StdioTransport(command, arguments))
    create_proxy(client).run("http", port=int(sys.argv[2]), log_level="error", show_banner=False)
