"""Which runs there are at all gateways: the contract, and the directory of a gateway that is alone.

A run is carried out where it was begun. Others know that it is there, do not begin it a second time, can end it, and learn when it is over.
"""

from collections.abc import Callable
from typing import Protocol

from openclaw.run_state import RunState


class RunDirectory(Protocol):
    """Everything that is awaited raises StoreError when it cannot be known."""

    def on_cancel(self, cancel: Callable[[str], None]) -> None:
        """`cancel` is called with the id of a run of ours that somebody elsewhere ends."""
        ...

    async def claim(self, state: RunState) -> RunState | None:
        """Enter a run that is to begin here. When there is one of its id already, how that stands; then this one is not begun."""
        ...

    def over(self, state: RunState) -> None:
        """A run of ours has ended."""
        ...

    async def find(self, id: str) -> RunState | None:
        """A run of another gateway; None when nobody has one of that id."""
        ...

    async def others(self, session: str = "") -> list[RunState]:
        """The runs of other gateways that are known, the newest first; those of one session when it is named."""
        ...

    async def cancel(self, id: str) -> None:
        """Have its gateway end a run."""
        ...


class OwnDirectory:
    def on_cancel(self, cancel: Callable[[str], None]) -> None:
        return None

    async def claim(self, state: RunState) -> RunState | None:
        return None

    def over(self, state: RunState) -> None:
        return None

    async def find(self, id: str) -> RunState | None:
        return None

    async def others(self, session: str = "") -> list[RunState]:
        return []

    async def cancel(self, id: str) -> None:
        return None
