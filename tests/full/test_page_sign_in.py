"""A server of others is signed in to from the gateway's page, with clicks alone but for the name and password that it asks for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from parts.auth_server import AuthServer
from parts.chromium import Chromium
from parts.gateway_page import open_page, shown, until
from parts.gateways import Running, home, running
from parts.oidc import OidcProvider

FREE = {"tools": {"approval": {"mode": "off", "taint": "off"}}}

pytestmark = [pytest.mark.full, pytest.mark.minutes(1)]


@asynccontextmanager
async def page(folder: Path) -> AsyncIterator[tuple[Running, Chromium]]:
    async with AuthServer() as server, OidcProvider(server.url) as provider:
        server.trust(provider.issuer, provider.look_up)
        with home(folder, {"mcp": {"servers": {"files": {"url": server.url}}}, **FREE}) as place:
            async with running(place) as gateway, Chromium(folder) as browser:
                await open_page(browser, place)
                await browser.click("nav a[href='#servers']")
                await shown(browser, "needs you to sign in")
                yield gateway, browser


async def begun(browser: Chromium, folder: Path) -> str:
    """The sign-in page of the others, in a tab of its own, where the browser goes on. Our own tab."""
    (mine,) = await browser.tabs()
    await browser.click("a[href='#servers/files']")
    await until(
        browser,
        "[...document.querySelectorAll('button.main')].some(one => one.textContent === 'Sign in')",
        "the button",
    )
    await browser.click("button.main")
    await browser.text("dialog a[target=_blank]")
    (folder / "dialog.png").write_bytes(await browser.screenshot())
    await browser.click("dialog a[target=_blank]")
    (theirs,) = [one for one in await browser.tabs() if one != mine]
    await browser.to_tab(theirs)
    return mine


async def test_a_person_signs_in_to_a_server_with_clicks(tmp_path: Path) -> None:
    async with page(tmp_path) as (gateway, browser):
        mine = await begun(browser, tmp_path)
        await browser.type("input[name=login]", "somebody")
        await browser.type("input[name=password]", "a password")
        await browser.click("button[type=submit]")
        # The next of their pages, which has no such field: the button of this one may still be there.
        await until(
            browser, "!document.querySelector('input[name=login]') && document.querySelector('form')", "the consent"
        )
        await browser.click("form:has([name=prompt][value=consent]) button")
        await shown(browser, "You are signed in")
        await browser.to_tab(mine)
        await until(browser, "!document.querySelector('dialog')", "that the dialog is gone")
        await shown(browser, "connected")
        (tmp_path / "signed-in.png").write_bytes(await browser.screenshot())
        # Nothing is left of what the first look showed.
        assert await browser.run("return document.querySelector('.hello')") is None
        _, called = await gateway.post("/v1/tools/invoke", {"tool": "files__read"})
        assert called["isError"] is False
        assert await browser.run("return window.refused") == []


async def test_a_person_who_says_no_there_is_told_so_here(tmp_path: Path) -> None:
    async with page(tmp_path) as (_, browser):
        mine = await begun(browser, tmp_path)
        await browser.click("a[href$=abort]")
        await shown(browser, "The sign-in did not work")
        await browser.to_tab(mine)
        await shown(browser, "access_denied")
        (tmp_path / "refused.png").write_bytes(await browser.screenshot())
