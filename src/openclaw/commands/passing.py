"""Servers as a command without a gateway tells of them: what runs for it alone is gone when its answer is read."""

from collections.abc import Sequence

from msgspec.structs import replace

from openclaw.commands.dispatch import Surface
from openclaw.mcp.status import ServerStatus


def told_on(surface: Surface, found: Sequence[ServerStatus]) -> list[ServerStatus]:
    """The same servers, with whether they outlive this command. In a chat they do, and in a gateway."""
    return [replace(one, is_passing=True) for one in found] if surface == "terminal" else list(found)
