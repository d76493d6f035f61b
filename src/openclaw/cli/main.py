"""The `openclaw` program: a stub on the standard library alone, so that answering costs no more than it must.

`--version` is answered here. Everything else is done by a running gateway of the same config when there is one (remote.py), and otherwise
in this process (local.py).
"""

import sys
from importlib import import_module

from openclaw import __version__

# Words that are about the gateway itself, or about this terminal: asking a gateway first would only cost time.
_HERE = ("gateway", "chat", "mcp-server", "acp", "completion")


def main() -> int:
    words = sys.argv[1:]
    if words in (["--version"], ["-V"]):
        sys.stdout.write(f"openclaw {__version__}\n")
        return 0
    code: int | None = None
    if words[:1] == ["mcp-server"]:
        code = import_module("openclaw.cli.mcp_server").main(words[1:])
    elif words and words[0] not in _HERE and "--local" not in words:
        code = import_module("openclaw.cli.remote").run(words)
    if code is None:
        code = import_module("openclaw.cli.local").run(words)
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
