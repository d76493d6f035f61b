"""Which folders a server is told of: the workspace of the agent whose call it works on. Pure.

A server that asks outside of any call is told the workspace of its agents when they all share one, and none otherwise: what one agent works
on is nothing for a server of another.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from openclaw.tool import Invocation


def list_roots(invocation: Invocation | None, workspaces: Collection[Path]) -> dict[str, Any]:
    """The result of `roots/list`. `workspaces` are those of all agents that have the server."""
    own = None if invocation is None else invocation.conversation.workspace
    if own is None:
        own = next(iter(workspaces)) if len(workspaces) == 1 else None
    if own is None:
        return {"roots": []}
    folder = own.absolute()
    return {"roots": [{"uri": folder.as_uri(), "name": folder.name}]}
