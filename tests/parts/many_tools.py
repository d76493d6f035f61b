"""A stdio server with as many tools as its argument says, and nothing else to it: python many_tools.py 50

With `turning` behind that, no two lists are in the same order; with `pages`, there is a tool `draw` besides that is for pages alone; with
`instructed`, it says how to use it.
"""

import json
import sys


def tool(number: int) -> dict[str, object]:
    properties = {"path": {"type": "string", "description": "Where to do it."}, "count": {"type": "integer"}}
    return {
        "name": f"tool_{number}",
        "description": f"Does thing number {number} in the usual way, with care, and says how it went. " * 2,
        "inputSchema": {"type": "object", "properties": properties, "required": ["path"]},
    }


def result(method: str, tools: list[dict[str, object]]) -> dict[str, object] | None:
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}}
        info = {"name": "many", "version": "1"}
        said = {"instructions": "Ask for one thing at a time."} if "instructed" in sys.argv else {}
        return {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info, **said}
    answers: dict[str, dict[str, object]] = {"tools/list": {"tools": tools}, "ping": {}}
    answers["tools/call"] = {"content": [{"type": "text", "text": "done"}]}
    return answers.get(method)


def main() -> None:
    tools = [tool(number) for number in range(int(sys.argv[1]))]
    if "pages" in sys.argv:
        tools.append({**tool(0), "name": "draw", "_meta": {"ui": {"visibility": ["app"]}}})
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        found = result(message["method"], tools)
        if message["method"] == "tools/list" and "turning" in sys.argv:
            tools = tools[::-1]
        failed = {"error": {"code": -32601, "message": "Method not found"}}
        print(json.dumps(answer | (failed if found is None else {"result": found})), flush=True)


if __name__ == "__main__":
    main()
