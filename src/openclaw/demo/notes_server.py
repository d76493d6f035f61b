"""An MCP server over stdio: the notes in a folder, which is made where there is none.

python -m openclaw.demo.notes_server FOLDER
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openclaw.demo.server import DemoServer, tool

TOOLS = (
    tool("list_notes", "List the names of all notes."),
    tool("read_note", "Read one note.", name="The note's name, without .md."),
)


def call(folder: Path, name: str, arguments: Mapping[str, Any]) -> str:
    names = sorted(file.stem for file in folder.glob("*.md"))
    if name == "list_notes":
        return "\n".join(names) or "There are no notes."
    wanted = arguments.get("name")
    # A name comes from a model: it is looked up, and never becomes a path.
    if wanted not in names:
        raise ValueError(f"There is no note {wanted!r}. There are: {', '.join(names) or 'none'}.")
    return (folder / f"{wanted}.md").read_text(encoding="utf-8").rstrip("\n")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m openclaw.demo.notes_server FOLDER")
    folder = Path(sys.argv[1])
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sys.exit(f"{folder}: {error.strerror}")
    DemoServer("notes", TOOLS, lambda name, arguments: call(folder, name, arguments)).serve()


if __name__ == "__main__":
    main()
