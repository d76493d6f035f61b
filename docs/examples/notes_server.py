"""A whole MCP server in one file, with Python's standard library alone: the notes in a folder.

    python3 notes_server.py FOLDER

It reads one JSON-RPC message a line from standard input and writes one a line to standard output. That is all the stdio transport is.
Use it to try things out, or as the start of a server of your own.
"""

import json
import sys
from pathlib import Path

# The revisions of the protocol this server can speak: the messages it uses are the same in all of them.
REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")

NAME = {"type": "string", "description": "The note's name, without .md."}
TEXT = {"type": "string", "description": "What it says."}


def tool(name: str, description: str, arguments: dict) -> dict:
    schema = {"type": "object", "properties": arguments, "required": list(arguments), "additionalProperties": False}
    return {"name": name, "description": description, "inputSchema": schema}


TOOLS = [
    tool("list_notes", "List the names of all notes.", {}),
    tool("read_note", "Read one note.", {"name": NAME}),
    tool("add_note", "Write a new note.", {"name": NAME, "text": TEXT}),
]


def note(name: str) -> Path:
    """The file of a note. A name comes from a model: it must never become a path."""
    if not name.replace("-", "").replace("_", "").isalnum():
        raise ValueError(f"{name!r} is not a name: use letters, digits, - and _.")
    return FOLDER / f"{name}.md"


def call(name: str, arguments: dict) -> str:
    if name == "list_notes":
        return "\n".join(sorted(file.stem for file in FOLDER.glob("*.md"))) or "There are no notes."
    if name == "read_note":
        return note(arguments["name"]).read_text(encoding="utf-8")
    with note(arguments["name"]).open("x", encoding="utf-8") as file:
        file.write(arguments["text"] + "\n")
    return "Written."


def answer(method: str, params: dict) -> dict:
    if method == "initialize":
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in REVISIONS else REVISIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        try:
            text, failed = call(params["name"], params.get("arguments") or {}), False
        except (OSError, ValueError) as error:
            # A tool that fails says so in its result: the model can read it and try again.
            text, failed = str(error), True
        return {"content": [{"type": "text", "text": text}], "isError": failed}
    if method == "ping":
        return {}
    raise LookupError(f"Method not found: {method}")


def main() -> None:
    print(f"notes: serving {FOLDER}", file=sys.stderr, flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue  # a notification, or an answer to a question we never ask
        reply: dict = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = answer(message["method"], message.get("params") or {})
        except LookupError as error:
            reply["error"] = {"code": -32601, "message": str(error)}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("notes: usage: notes_server.py FOLDER, and the folder must exist")
    FOLDER = Path(sys.argv[1])
    main()
