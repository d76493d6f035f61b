"""Fixtures for tests of the MCP client against real servers."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from parts.sites import KINDS, Site


@pytest.fixture(params=KINDS)
async def site(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Site]:
    """A planned server, over each transport in turn."""
    async with Site(request.param, tmp_path) as place:
        yield place
