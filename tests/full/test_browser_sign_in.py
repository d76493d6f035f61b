"""A sign-in in a real browser: `openclaw mcp auth` opens it, Chromium goes through oidc-provider's own pages and comes back."""

import asyncio
import os
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from parts.auth_server import AuthServer
from parts.chromium import Chromium
from parts.command_line import PROGRAM, Done, Home
from parts.executable import python_program
from parts.oidc import OidcProvider

pytestmark = pytest.mark.full


@pytest.fixture
async def server() -> AsyncIterator[AuthServer]:
    async with AuthServer() as server, OidcProvider(server.url) as provider:
        server.trust(provider.issuer, provider.look_up)
        yield server


@pytest.fixture
def home(server: AuthServer, tmp_path: Path) -> Home:
    return Home(tmp_path, mcp={"servers": {"files": {"url": server.url}}})


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[Chromium]:
    async with Chromium(tmp_path) as browser:
        yield browser


@asynccontextmanager
async def signing_in(home: Home) -> AsyncIterator[tuple[str, "asyncio.Task[Done]"]]:
    """`openclaw mcp auth files`: the address that it had a browser open, and its end."""
    mailbox, program = home.folder / "mailbox", home.folder / "browser"
    os.mkfifo(mailbox)
    python_program(program, f"import sys\nopen({str(mailbox)!r}, 'w').write(sys.argv[1])")
    home.environ["BROWSER"] = str(program)
    process = await asyncio.create_subprocess_exec(
        *(*PROGRAM, "mcp", "auth", "files"), stdout=PIPE, stderr=PIPE, env=home.environ, cwd=home.folder
    )

    async def end() -> Done:
        out, err = await process.communicate()
        assert process.returncode is not None
        return Done(process.returncode, out.decode(), err.decode())

    ended = asyncio.create_task(end())
    try:
        yield await asyncio.to_thread(mailbox.read_text), ended
    finally:
        if process.returncode is None:
            process.kill()
        await ended


async def signed_in_there(browser: Chromium, address: str) -> None:
    """Through the provider's own pages: who are you, and may this client have what it wants?"""
    await browser.go(address)
    await browser.type("input[name=login]", "somebody")
    await browser.type("input[name=password]", "a password")
    await browser.click("button[type=submit]")
    await browser.click("form:has([name=prompt][value=consent]) button")
    # A heading of theirs is not taken for ours: the last page has no form.
    await browser.text("body:not(:has(form)) main")


async def test_a_person_signs_in_with_a_browser_and_is_told_so_in_both_places(
    home: Home, browser: Chromium, tmp_path: Path
) -> None:
    async with signing_in(home) as (address, ended):
        await signed_in_there(browser, address)
        assert (
            await browser.text("main")
            == "You are signed in\nOpenClaw can use this server now.\nYou can close this page.\nOpenClaw"
        )
        for scheme in ("light", "dark"):
            await browser.prefer(scheme)
            (tmp_path / f"signed-in-{scheme}.png").write_bytes(await browser.screenshot())
        done = await ended
    assert (done.code, done.out) == (0, "Signed in to files. Scopes: tools:read. Expires: in 60 min.\n")
    assert (await home.openclaw("mcp", "call", "files__read")).out == "read\n"


async def test_a_person_who_cancels_is_told_so_in_both_places(home: Home, browser: Chromium, tmp_path: Path) -> None:
    async with signing_in(home) as (address, ended):
        await browser.go(address)
        await browser.click("a[href$=abort]")
        assert (await browser.text("h1"), await browser.text("footer")) == ("The sign-in did not work", "OpenClaw")
        (tmp_path / "cancelled.png").write_bytes(await browser.screenshot())
        done = await ended
    assert (done.code, done.out) == (1, "")
    assert "access_denied" in done.err


async def test_the_page_fits_a_phone_and_fetches_nothing(home: Home, browser: Chromium, tmp_path: Path) -> None:
    async with signing_in(home) as (address, ended):
        await signed_in_there(browser, address)
        assert await browser.text("h1") == "You are signed in"
        assert await browser.run("return performance.getEntriesByType('resource').map((entry) => entry.name)") == []
        await browser.resize(390, 700)
        assert await browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
        (tmp_path / "phone.png").write_bytes(await browser.screenshot())
        assert (await ended).code == 0
