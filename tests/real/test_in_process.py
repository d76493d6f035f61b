"""Servers in the same process, made with libraries that the checkout does not have: FastMCP 4, and version 1 of the official SDK."""

import asyncio
import json
import os
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from parts.cache import python_of

pytestmark = pytest.mark.real

PARTS = Path(__file__).parent.parent / "parts"
ENDING = [["ready", True], 1]


async def said(environment: str, module: str, *calls: str) -> list[Any]:
    process = await asyncio.create_subprocess_exec(
        *(python_of(environment), str(PARTS / "in_process.py"), module, *calls),
        env={**os.environ, "OUR_PACKAGES": sysconfig.get_path("purelib")},
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return [json.loads(line) for line in out.decode().splitlines()]


@pytest.mark.parametrize(("environment", "module"), [("fastmcp", "fastmcp_peer"), ("old", "sdk_peer")])
async def test_a_server_of_another_library_is_called_in_the_same_process(environment: str, module: str) -> None:
    calls = ('echo {"text": "hi"}', 'point {"x": 1, "y": 2}', "picture")
    echo, point, picture, *ending = await said(environment, module, *calls)
    assert echo == ["echo", False, "hi", "hi", []]
    assert (point[1], point[3]) == (False, {"x": 1, "y": 2})
    assert (picture[1], picture[4]) == (False, ["image/png"])
    assert ending == ENDING


async def test_a_server_of_fastmcp_asks_a_person_a_model_and_for_folders() -> None:
    book, invent, folder, *ending = await said("fastmcp", "fastmcp_asking", "book", "invent", "folder")
    assert book[2] == "accept Table(people=4, place='out', quiet=False)"
    assert invent[2] == "local: A NAME FOR A DISH? (endTurn)"
    assert folder[2] == "file:///srv/shared"
    assert ending == ENDING
