"""Who is not the person at the page: other sites, other names for this machine, old tickets and tokens, and servers that write."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from parts.chromium import Chromium
from parts.foreign_server import free_port
from parts.gateway_page import open_page, say, shown, ticket, until
from parts.gateways import Home, Running, home, running, stdio_server

pytestmark = [pytest.mark.full, pytest.mark.minutes(1)]

FREE = {"tools": {"approval": {"mode": "off", "taint": "off"}}}
EVIL = "evil.example"

# What a page of another site tries against the gateway. It writes down what came of each.
ATTACK = """<!doctype html><title>other</title><body><script>
const gateway = "GATEWAY";
window.came = {};
const note = async (name, act) => { try { window.came[name] = await act(); } catch (error) { window.came[name] = error.name; } };
const loads = (tag, more) => new Promise((done) => {
  const one = document.createElement(tag);
  one.onload = () => done("loaded"); one.onerror = () => done("failed");
  Object.assign(one, more); document.body.append(one);
});
(async () => {
  await note("read", async () => (await fetch(`${gateway}/v1/sessions`)).status);
  await note("readWithToken", async () => (await fetch(`${gateway}/v1/sessions`, { headers: { Authorization: "Bearer TOKEN" } })).status);
  const owned = { method: "POST", mode: "no-cors", body: '{"message":"owned"}' };
  await note("blind", async () => (await fetch(`${gateway}/v1/runs`, owned)).type);
  await note("trade", async () => (await fetch(`${gateway}/v1/page/session`, { method: "POST", body: '{"token":"TOKEN"}' })).status);
  await note("files", async () => (await fetch(`${gateway}/page/app.js`)).status);
  await note("script", () => loads("script", { src: `${gateway}/page/app.js` }));
  await note("picture", () => loads("img", { src: `${gateway}/page/icon.svg` }));
  const form = document.createElement("form");
  Object.assign(form, { method: "POST", action: `${gateway}/v1/runs`, enctype: "text/plain", target: "sink" });
  form.append(Object.assign(document.createElement("input"), { name: '{"message":"owned","x":"', value: '"}' }));
  document.body.append(Object.assign(document.createElement("iframe"), { name: "sink" }), form);
  form.submit();
  const frame = Object.assign(document.createElement("iframe"), { id: "framed", src: `${gateway}/` });
  document.body.append(frame);
  await new Promise((done) => (frame.onload = done));
  await note("framed", () => frame.contentWindow.sessionStorage.length);
  const opened = open(`${gateway}/`);
  await new Promise((done) => setTimeout(done, 1500));
  await note("window", () => opened.sessionStorage.length);
  await note("severed", () => opened.closed);
  window.came.done = true;
})();
</script></body>"""


@asynccontextmanager
async def other_site(html: str) -> AsyncIterator[int]:
    """A page of somebody else, on a port of its own."""

    async def index(request: web.Request) -> web.Response:
        return web.Response(text=html, content_type="text/html")

    application = web.Application()
    application.add_routes([web.get("/", index)])
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def page(folder: Path, *turns: dict[str, Any], **config: Any) -> AsyncIterator[tuple[Running, Chromium]]:
    with home(folder) as place:
        place.save({"mcp": {"servers": {"part": stdio_server()}}, **place.script(*turns), **config})
        async with running(place) as gateway, Chromium(folder, hosts=[EVIL]) as browser:
            await gateway.ready("part")
            await open_page(browser, place)
            yield gateway, browser


async def test_another_site_in_the_same_browser_gets_nothing(tmp_path: Path) -> None:
    async with page(tmp_path) as (gateway, browser):
        mine = (await browser.tabs())[0]
        html = ATTACK.replace("GATEWAY", gateway.url).replace("TOKEN", gateway.home.token)
        async with other_site(html) as port:
            for origin in (f"http://127.0.0.1:{port}", f"http://{EVIL}:{port}"):
                await browser.to_tab(await browser.open_tab())
                await browser.go(origin)
                await until(browser, "window.came.done", "the end of the attack")
                came = await browser.run("return window.came")
                # Not even with the gateway's own token: it is for programs, and no page of others may use it.
                assert came == {
                    "read": "TypeError",
                    "readWithToken": "TypeError",
                    "blind": "opaque",
                    "trade": "TypeError",
                    "files": "TypeError",
                    "script": "failed",
                    "picture": "failed",
                    "framed": "SecurityError",
                    "window": came["window"],
                    "severed": True,
                    "done": True,
                }
                assert came["window"] in ("SecurityError", "TypeError")
                # What it put around the page is empty.
                await browser.enter("#framed")
                assert await browser.run("return document.getElementById('root')") is None
                await browser.leave()
        # Nothing was said to anybody, and the page goes on.
        assert await gateway.get("/v1/runs") == (200, {"runs": []})
        await browser.to_tab(mine)
        assert await browser.run("return document.querySelector('.line').textContent") == "Live"
        assert await browser.run("return window.refused") == []


async def test_a_name_that_was_made_to_point_here_is_no_way_in(tmp_path: Path) -> None:
    async with page(tmp_path) as (gateway, browser):
        await browser.go(f"http://{EVIL}:{gateway.gateway.port}/")
        await shown(browser, "host_not_allowed")
        # As its own origin, which is what rebinding is for.
        headers = json.dumps({"Authorization": f"Bearer {gateway.home.token}"})
        status = await browser.run(f"return fetch('/v1/sessions', {{headers: {headers}}}).then(r => r.status)")
        assert status == 403


async def test_a_ticket_that_somebody_else_has_too_is_good_for_one_of_them(tmp_path: Path) -> None:
    async with page(tmp_path) as (gateway, browser):
        address = await ticket(gateway.home)
        await browser.to_tab(await browser.open_tab())
        await browser.go(address)
        await browser.text("textarea#message")
        # It left the address, and with it the history.
        assert await browser.address() == f"{gateway.url}/"
        assert await browser.run("return history.length") <= 2
        await browser.to_tab(await browser.open_tab())
        await browser.go(address)
        await shown(browser, "This is no longer good. Open the page again: openclaw ui")
        assert await browser.run("return sessionStorage.length") == 0
        assert "ticket" not in await browser.address()
        # Nor does another tab inherit a token.
        await browser.to_tab(await browser.open_tab())
        await browser.go(f"{gateway.url}/")
        await shown(browser, "Run this in a terminal")


def fixed(place: Home, port: int, *turns: dict[str, Any]) -> None:
    mcp = {"servers": {"part": stdio_server()}}
    place.save({"gateway": {"port": port}, "mcp": mcp, **place.script(*turns), **FREE})


async def test_a_token_that_grew_old_leads_back_to_the_sign_in(tmp_path: Path) -> None:
    port = free_port()
    with home(tmp_path) as place:
        fixed(place, port)
        async with Chromium(tmp_path) as browser:
            async with running(place):
                await open_page(browser, place)
                await shown(browser, "Live")
            file = place.paths.page_tokens_file
            tokens = json.loads(file.read_text())
            file.write_text(json.dumps([{**one, "used": 0} for one in tokens]))
            async with running(place):
                await shown(browser, "Run this in a terminal")
                assert await browser.run("return sessionStorage.length") == 0


async def test_ten_megabytes_of_a_tool_leave_the_page_usable(tmp_path: Path) -> None:
    call = {"toolCalls": [{"name": "part__huge", "arguments": {"bytes": 10_000_000}}], "text": "A lot."}
    async with page(tmp_path, call, {"text": "That was much."}, {"text": "Still here."}, **FREE) as (_, browser):
        await say(browser, "give me much")
        await shown(browser, "That was much.")
        await until(browser, "location.hash.startsWith('#talk/')", "the conversation's address")
        await browser.run("document.querySelector('details.call').open = true")
        rest = (
            "[...document.querySelectorAll('details.call button')].find(one => one.textContent.startsWith('Show all'))"
        )
        await until(browser, rest, "the rest")
        await browser.run(f"{rest}.click()")
        await until(
            browser, "document.querySelector('details.call pre.foreign').textContent.length >= 90000", "all that came"
        )
        await say(browser, "and now?")
        await shown(browser, "Still here.")
        assert await browser.run("return window.refused") == []


MARKUP = (
    "<script>document.title='owned'</script><img src=x onerror=document.title='owned'><iframe src='https://example.com'></iframe>"
    "<a href='javascript:alert(1)'>a</a> [x](javascript:alert(1)) [y](https://example.com/?leak) ![z](https://example.com/pixel)"
    " \u202egnp.exe \u200b \x1b[31mred\x1b]0;owned\x07 \x1b]8;;https://example.com\x07link\x1b]8;;\x07"
)


async def test_markup_links_and_terminal_codes_of_servers_and_models_stay_text(tmp_path: Path) -> None:
    call = {"toolCalls": [{"name": "part__echo", "arguments": {"text": MARKUP}}], "text": MARKUP}
    async with page(tmp_path, call, {"text": f"End. {MARKUP}"}, **FREE) as (_, browser):
        await say(browser, "say it")
        await shown(browser, "End.")
        await until(browser, "location.hash.startsWith('#talk/') && !document.querySelector('.working')", "the end")
        await browser.run("document.querySelectorAll('details').forEach(one => one.open = true)")
        (tmp_path / "markup.png").write_bytes(await browser.screenshot())
        assert await browser.run("return document.title") == "Talk · OpenClaw"
        inside = (
            "document.querySelectorAll('.messages img, .messages script, .messages iframe, .messages [style]').length"
        )
        assert await browser.run(f"return {inside}") == 0
        hosts = await browser.run("return [...document.querySelectorAll('.messages a')].map(a => a.protocol + a.rel)")
        assert set(hosts) == {"https:noreferrer noopener"}
        text = str(await browser.run("return document.querySelector('.messages').textContent"))
        assert ("\x1b" in text, "\u202e" in text, "\u200b" in text) == (False, False, False)
        assert ("<script>" in text, "⟨U+202E⟩" in text) == (True, True)
        # Nothing was fetched from anywhere else.
        fetched = await browser.run(
            "return performance.getEntriesByType('resource').map(one => new URL(one.name).host)"
        )
        assert set(fetched) == {(await browser.address()).split("/")[2]}
        assert await browser.run("return window.refused") == []
