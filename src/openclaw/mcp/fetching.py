"""Which servers are started by a launcher that may have to fetch them first, and how long that may take.

`npx`, `uvx` and the like look like the server that they start, and are silent while they fetch it. So the first start of such a server is
not ended with the connect timeout: waiting for it is, and the launcher goes on to fill its cache. Pure.
"""

import os
from collections.abc import Sequence

# Enough for a browser or a model over a slow line; after that it hangs.
FETCH_SECONDS = 600.0

_ALONE = frozenset({"npx", "uvx", "bunx", "pnpx"})
_WITH_WORD = frozenset(
    {
        *(("npm", "exec"), ("npm", "x"), ("pnpm", "dlx"), ("yarn", "dlx"), ("bun", "x"), ("uv", "run"), ("uv", "tool")),
        *(("pipx", "run"), ("docker", "run"), ("podman", "run")),
    }
)


def may_fetch(command: str, args: Sequence[str]) -> bool:
    """Whether a program fetches what it runs when it does not have it yet."""
    name = os.path.basename(command)
    word = next((arg for arg in args if not arg.startswith("-")), "")
    return name in _ALONE or (name, word) in _WITH_WORD
