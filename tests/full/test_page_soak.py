"""What a page that stays open costs the gateway, and whether it hears of everything."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.page.measuring import resident

from parts.chromium import Chromium
from parts.gateway_page import open_page, until, view
from parts.gateways import gateway_process, home

ROOT = Path(__file__).parents[2]
MANY_TOOLS = ROOT / "tests" / "parts" / "many_tools.py"
SERVERS, TOOLS = 4, 50
# Views that are looked at before the page is left alone, and for how many seconds it is.
LOOKED_AT = ("#servers", "#servers/server-0/tools", "#why", "#activity", "#config", "#status", "#talk")
SECONDS = 60.0
# What is promised, in megabytes.
MOST_GROWTH = 10.0


@pytest.mark.full
@pytest.mark.minutes(2)
async def test_an_idle_gateway_with_a_page_open_grows_by_ten_megabytes_at_most(tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": ["-S", "-E", str(MANY_TOOLS), str(TOOLS)]}
    servers = {f"server-{number}": entry for number in range(SERVERS)}
    with home(tmp_path, {"mcp": {"servers": servers}}) as place, gateway_process(place) as gateway:
        for name in servers:
            gateway.wait_until(f"'{name}' is ready")
        before = resident(gateway.process.pid)
        async with Chromium(tmp_path) as browser:
            await open_page(browser, place)
            for place_of in LOOKED_AT:
                await view(browser, place_of)
                await until(browser, "document.querySelector('main h1')", place_of)
            await asyncio.sleep(SECONDS)
            assert await browser.run("return document.querySelector('.line').className") == "line live"
            after = resident(gateway.process.pid)
    assert after - before < MOST_GROWTH, (before, after)


@pytest.mark.full
@pytest.mark.minutes(11)
@pytest.mark.timeout(1500)
def test_ten_pages_hear_of_everything_in_ten_minutes_of_turns() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.page.soak", "--minutes", "10"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
