"""Whether a gateway takes work, as a load balancer asks: without a token."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from parts.gateways import Home, Running, home, running


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Home]:
    with home(tmp_path) as made:
        yield made


async def asked(gateway: Running, path: str) -> tuple[int, object]:
    async with gateway.client.get(gateway.url + path) as response:
        return response.status, await response.json()


async def test_a_gateway_that_is_up_is_live_and_ready_to_whoever_asks(place: Home) -> None:
    async with running(place) as gateway:
        assert await asked(gateway, "/health") == (200, {"ok": True, "status": "live"})
        assert await asked(gateway, "/ready") == (200, {"ok": True, "status": "ready"})


async def test_a_gateway_that_can_keep_no_conversation_is_live_and_says_why_it_is_not_ready(place: Home) -> None:
    place.paths.sessions_file.mkdir(parents=True)
    async with running(place) as gateway:
        assert await asked(gateway, "/health") == (200, {"ok": True, "status": "live"})
        reason = {"code": "store", "message": "Conversations can be neither read nor kept."}
        assert await asked(gateway, "/ready") == (503, {"ok": False, "status": "not ready", "reasons": [reason]})
