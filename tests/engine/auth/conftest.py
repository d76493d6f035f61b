"""A protected server, and a program that holds credentials for it."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from parts.auth_program import Clock, Program
from parts.auth_server import AuthServer


@pytest.fixture
async def server() -> AsyncIterator[AuthServer]:
    async with AuthServer() as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    return Clock(time.time)


@pytest.fixture
def program(server: AuthServer, tmp_path: Path, clock: Clock) -> Program:
    return Program(server, tmp_path / "tokens", clock=clock)
