"""An MCP client nobody here wrote gives one order to OpenClaw: the official Python SDK, where it is installed.

    python -m openclaw.demo.sdk_client MESSAGE

It starts `openclaw mcp-server` as any client does and prints what goes back and forth. OpenClaw itself contains and needs nothing of the
SDK: it is looked for when this program is run. Both lines of it, 1 and 2, have the few names that are used.
"""

import asyncio
import importlib
import importlib.metadata
import json
import os
import sys
from typing import Any

from openclaw.security.external import clean_terminal
from openclaw.security.unframe import without_frames

# How this program ends when there is no SDK it can use.
NO_SDK = 3
_TOOL = "order_openclaw"
_SERVER = ("-m", "openclaw", "mcp-server")


async def order(sdk: Any, stdio: Any, message: str) -> int:
    server = sdk.StdioServerParameters(command=sys.executable, args=list(_SERVER), env=dict(os.environ))
    async with stdio.stdio_client(server) as streams, sdk.ClientSession(*streams) as client:
        await client.initialize()
        print("→ tools/list")
        print("←", ", ".join(tool.name for tool in (await client.list_tools()).tools))
        arguments = {"message": message}
        print("→ tools/call", _TOOL, json.dumps(arguments, ensure_ascii=False))
        result = (await client.call_tool(_TOOL, arguments)).model_dump(by_alias=True)
    text = "\n".join(block.get("text", "") for block in result["content"])
    print("←", clean_terminal(without_frames(text)))
    return 1 if result.get("isError") else 0


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: python -m openclaw.demo.sdk_client MESSAGE", file=sys.stderr)
        return 2
    try:
        sdk, stdio = importlib.import_module("mcp"), importlib.import_module("mcp.client.stdio")
        version = importlib.metadata.version("mcp")
    except ImportError:
        print("The official Python SDK of MCP is not installed here.", file=sys.stderr)
        return NO_SDK
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        # An arrow must not end it on a terminal that knows ASCII alone.
        reconfigure(errors="backslashreplace")
    print(f"The client is mcp {version}, the official Python SDK.")
    return asyncio.run(order(sdk, stdio, sys.argv[1]))


if __name__ == "__main__":
    sys.exit(main())
