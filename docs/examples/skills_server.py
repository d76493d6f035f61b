"""A whole MCP server that offers skills, in one file, with Python's standard library alone: those in a folder.

    python3 skills_server.py FOLDER

Each folder in it that has a SKILL.md is a skill. A client lists them with `skills/list`, which tells the size and the digest of every
file, and reads a file with `resources/read` when it needs it.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

EXTENSION = "io.modelcontextprotocol/skills"


def address(file: Path) -> str:
    return f"skill://{file.relative_to(FOLDER).as_posix()}"


def entry(skill: Path) -> dict:
    """What a client is told of a skill: the fields at the top of its SKILL.md, and all of its files."""
    text = (skill / "SKILL.md").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^([\w-]+): (.+)$", text.split("---")[1], re.MULTILINE))
    files = [file for file in sorted(skill.rglob("*")) if file.is_file()]
    resources = [
        {
            "uri": address(file),
            "digest": f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}",
            "size": file.stat().st_size,
        }
        for file in files
    ]
    return {"uri": address(skill / "SKILL.md"), "frontmatter": fields, "resources": resources}


def answer(method: str, params: dict) -> dict | None:
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"resources": {}, "extensions": {EXTENSION: {}}},
            "serverInfo": {"name": "skills", "version": "1"},
        }
    if method == "skills/list":
        return {"skills": [entry(file.parent) for file in sorted(FOLDER.glob("*/SKILL.md"))]}
    if method == "resources/read":
        served = {address(file): file for file in FOLDER.rglob("*") if file.is_file()}
        text = served[params["uri"]].read_text(encoding="utf-8")
        return {"contents": [{"uri": params["uri"], "mimeType": "text/markdown", "text": text}]}
    lists = {"resources/list": "resources", "resources/templates/list": "resourceTemplates"}
    if method in lists:
        return {lists[method]: []}
    return {} if method == "ping" else None


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        failed = {"error": {"code": -32601, "message": "Method not found"}}
        said = {"jsonrpc": "2.0", "id": message["id"], **(failed if result is None else {"result": result})}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    FOLDER = Path(sys.argv[1]).resolve()
    main()
