"""How long a launcher may take that has to fetch the server it starts (`config/launchers.py` knows them).

The first start of such a server is not ended with the connect timeout: waiting for it is, and the launcher goes on to fill its cache. Pure.
"""

from collections.abc import Sequence

from openclaw.config.launchers import launch

# Enough for a browser or a model over a slow line; after that it hangs.
FETCH_SECONDS = 600.0


def may_fetch(command: str, args: Sequence[str]) -> bool:
    """Whether a program fetches what it runs when it does not have it yet."""
    return launch(command, args) is not None
