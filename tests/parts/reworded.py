"""Describes the tools of a server over standard input and output otherwise while it runs: as many words as stand in a file are put behind
the description of every tool that it lists. Nothing else is changed on the way.

    python reworded.py FILE PROGRAM [ARGUMENTS …]

Standard library only.
"""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any


def reworded(message: dict[str, Any], words: str) -> dict[str, Any]:
    """A message of the server as the client gets it."""
    result = message.get("result")
    if not words or not isinstance(result, dict) or "tools" not in result:
        return message
    tools = [{**tool, "description": f"{tool.get('description', '')} {words}"} for tool in result["tools"]]
    return {**message, "result": {**result, "tools": tools}}


def main(file: Path, command: list[str]) -> int:
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    answers = server.stdout

    def back() -> None:
        for line in answers:
            words = file.read_text().strip() if file.exists() else ""
            sys.stdout.buffer.write(json.dumps(reworded(json.loads(line), words)).encode() + b"\n")
            sys.stdout.buffer.flush()

    reader = threading.Thread(target=back)
    reader.start()
    for line in sys.stdin.buffer:
        server.stdin.write(line)
        server.stdin.flush()
    server.stdin.close()
    reader.join()
    return server.wait()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
