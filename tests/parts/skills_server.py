"""A stdio server with skills (`io.modelcontextprotocol/skills`): those in the folder that its first argument names.

    python skills_server.py FOLDER LOG

It lists what lies there when it is asked, with true sizes and digests, unless a file `lies.json` beside the skills says otherwise: fields
of entries, by the name of the skill, or under `text` the text that is given for a file. Every method that it is asked for is a line of LOG,
a read with its address.
"""

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

FOLDER, LOG = Path(sys.argv[1]), Path(sys.argv[2])
EXTENSION = "io.modelcontextprotocol/skills"
TOOL = {"name": "echo", "description": "Say it again.", "inputSchema": {"type": "object"}}


def lies() -> dict[str, Any]:
    path = FOLDER / "lies.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def uri_of(path: Path) -> str:
    return f"skill://acme/{path.relative_to(FOLDER).as_posix()}"


def listed(skill: Path) -> dict[str, Any]:
    text = (skill / "SKILL.md").read_text()
    front = dict(re.findall(r"^(\w[\w-]*): (.+)$", text.split("---")[1], re.M))
    files = [path for path in sorted(skill.rglob("*")) if path.is_file()]
    resources = [
        {
            "uri": uri_of(path),
            "digest": f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}",
            "size": len(path.read_bytes()),
        }
        for path in files
    ]
    entry = {"uri": uri_of(skill / "SKILL.md"), "frontmatter": front, "resources": resources}
    return {**entry, **lies().get(skill.name, {})}


def contents(uri: str) -> dict[str, Any]:
    path = FOLDER / uri.removeprefix("skill://acme/")
    text = lies().get("text", {}).get(uri, path.read_text())
    return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": text}]}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            capabilities = {"tools": {}, "resources": {"listChanged": True}, "extensions": {EXTENSION: {}}}
            info = {"name": "acme", "version": "1"}
            return {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
        case "tools/list":
            return {"tools": [TOOL]}
        case "resources/list":
            return {"resources": []}
        case "resources/templates/list":
            return {"resourceTemplates": []}
        case "skills/list":
            return {"skills": [listed(path.parent) for path in sorted(FOLDER.glob("*/SKILL.md"))]}
        case "resources/read":
            return contents(params["uri"])
        case "tools/call":
            # Whoever calls it tells the client that there are others now.
            print(json.dumps({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"}), flush=True)
            return {"content": [{"type": "text", "text": "told"}]}
        case "ping":
            return {}
    return None


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message["method"], message.get("params") or {}
        with LOG.open("a") as log:
            log.write(f"{method} {params.get('uri', '')}".strip() + "\n")
        if "id" not in message:
            continue
        found = answer(method, params)
        failed = {"error": {"code": -32601, "message": "Method not found"}}
        said = {"jsonrpc": "2.0", "id": message["id"], **(failed if found is None else {"result": found})}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
