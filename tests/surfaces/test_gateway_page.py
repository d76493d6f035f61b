"""The page's files and how one signs in to it, without a browser."""

import asyncio
import hashlib
import json
import re
from pathlib import Path

import pytest

from openclaw.control import wire
from openclaw.control.socket_client import ask
from openclaw.gateway.page_routes import POLICY, page_files
from parts.gateways import Running, home, running

# Of the npm package htm 3.1.1, as it was published.
PREACT = "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7"
# What all of it may take over the wire.
MOST_BYTES = 60_000


async def signed_in(gateway: Running, given: dict[str, str]) -> tuple[int, dict[str, str]]:
    async with gateway.client.post(f"{gateway.url}/v1/page/session", json=given) as response:
        return response.status, await response.json()


async def reads(gateway: Running, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    async with gateway.client.get(f"{gateway.url}/v1/sessions", headers=headers) as response:
        return response.status


async def ticket(gateway: Running) -> str:
    answer = await ask(gateway.home.paths.control_socket, wire.TICKET)
    assert answer is not None
    assert answer["url"] == f"{gateway.url}/"
    return str(answer["ticket"])


async def test_a_ticket_of_the_control_socket_becomes_a_token_once(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        async with running(place) as gateway:
            good = await ticket(gateway)
            status, answer = await signed_in(gateway, {"ticket": good})
            again, refused = await signed_in(gateway, {"ticket": good})
            assert (status, again, refused["error"]["code"]) == (200, 401, "not_signed_in")  # type: ignore[index]
            token = answer["token"]
            assert await reads(gateway, token) == 200
            assert token != gateway.home.token
            async with gateway.client.delete(
                f"{gateway.url}/v1/page/session", headers={"Authorization": f"Bearer {token}"}
            ) as response:
                assert response.status == 200
            assert await reads(gateway, token) == 401


async def test_a_page_outlives_a_restart_and_ends_with_all_others(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        async with running(place) as gateway:
            status, answer = await signed_in(gateway, {"token": place.token})
            wrong, _ = await signed_in(gateway, {"token": "x" * 43})
            neither, _ = await signed_in(gateway, {})
            assert (status, wrong, neither) == (200, 401, 400)
        async with running(place) as gateway:
            assert await reads(gateway, answer["token"]) == 200
            stream = await gateway.client.get(
                f"{gateway.url}/v1/events", headers={"Authorization": f"Bearer {answer['token']}"}
            )
            assert (await stream.content.readline()).startswith(b"event: snapshot")
            assert await ask(place.paths.control_socket, wire.REVOKE) == {"revoked": 1}
            assert await reads(gateway, answer["token"]) == 401
            # Who watched with it is cut off.
            with pytest.raises(Exception, match=r"payload|closed|Transfer"):
                await stream.content.read()
            stream.close()


async def test_the_files_come_with_the_strictest_policy_and_are_small(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        async with running(place) as gateway:
            packed = 0
            for name in ("", *(f"page/{name}" for name in page_files())):
                async with gateway.client.get(f"{gateway.url}/{name}", auto_decompress=False) as response:
                    assert (response.status, response.headers["Content-Encoding"]) == (200, "gzip")
                    assert response.headers["Content-Security-Policy"] == POLICY
                    assert response.headers["X-Content-Type-Options"] == "nosniff"
                    packed += len(await response.read())
                    tag = {"If-None-Match": response.headers["ETag"]}
                async with gateway.client.get(f"{gateway.url}/{name}", headers=tag) as response:
                    assert response.status == 304
            async with gateway.client.get(f"{gateway.url}/page/..%2f__init__.py") as response:
                outside = response.status
    assert outside == 404
    assert packed <= MOST_BYTES


def test_the_vendored_module_is_the_published_one() -> None:
    assert hashlib.sha256(page_files()["preact.js"].data).hexdigest() == PREACT


def test_no_file_of_the_page_holds_what_the_policy_forbids() -> None:
    ours = {name: file.data.decode() for name, file in page_files().items() if name != "preact.js"}
    # The address of a name space, which nobody fetches.
    space = 'xmlns="http://www.w3.org/2000/svg"'
    for name, text in ours.items():
        assert "http://" not in text.replace(space, ""), name
        for word in ("innerHTML", "insertAdjacentHTML", "document.write", "eval(", "style=", "onclick="):
            assert word not in text, (name, word)


async def test_ui_prints_an_address_that_signs_in(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        async with running(place) as gateway:
            ran = await asyncio.to_thread(place.run, "ui", "--json")
            url = json.loads(ran.stdout)["url"]
            status, _ = await signed_in(gateway, {"ticket": url.partition("#ticket=")[2]})
            assert (status, url.startswith(f"{gateway.url}/#ticket=")) == (200, True)
            port = gateway.gateway.port
            shown = await asyncio.to_thread(place.run, "ui", "--no-open")
            assert shown.stderr == f"On another machine: ssh -L {port}:127.0.0.1:{port} to this one first.\n"
            assert (await asyncio.to_thread(place.run, "ui", "--sign-out")).stdout == "Signed out: 1 page.\n"
        alone = await asyncio.to_thread(place.run, "ui")
    assert (alone.returncode, alone.stderr) == (1, "error: No gateway runs. Start it: openclaw gateway start\n")


def test_every_module_is_asked_for_with_the_first_answer() -> None:
    files = page_files()
    asked = set(re.findall(r'modulepreload" href="/page/([a-z.]+)"', files["index.html"].data.decode()))
    # What is found only by reading another module is waited for once more.
    assert asked | {"app.js"} == {name for name in files if name.endswith(".js")}
