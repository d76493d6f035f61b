"""What a person does on the gateway's page, with the mouse, and with keys only where they write something."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from parts.auth_server import AuthServer
from parts.chromium import Chromium
from parts.gateway_page import FREE, WATCH, open_page, page, say, says_yes, shown, until
from parts.gateways import home, running, stdio_server
from parts.oidc import OidcProvider
from parts.peers import everything, npm, stdio_entry
from parts.planned_server import tool

pytestmark = [pytest.mark.full, pytest.mark.minutes(2)]

PARTS = Path(__file__).parent.parent / "parts"
# Nobody is asked about calls, whatever was read before.
TRUSTING = {"tools": {"approval": {"mode": "off", "taint": "off"}}}
OVER = "location.hash.startsWith('#talk/') && !document.querySelector('.working')"
NO_TRAY = "!document.querySelector('.tray')"


def called(name: str, **arguments: Any) -> dict[str, Any]:
    return {"toolCalls": [{"name": name, "arguments": arguments}]}


@asynccontextmanager
async def started(folder: Path) -> AsyncIterator[str]:
    """A gateway that `openclaw gateway start` left running, with a server that wants a sign-in; the address that `openclaw ui` prints."""
    turns = (called("part__echo", text="written"), {"text": "Done: {result}"})
    async with AuthServer() as server, OidcProvider(server.url) as provider:
        server.trust(provider.issuer, provider.look_up)
        with home(folder) as place:
            servers = {"part": stdio_server(), "files": {"url": server.url}}
            approval = {"approval": {"ask": ["part__echo"]}}
            place.save({"mcp": {"servers": servers}, "tools": approval, **place.script(*turns)})
            begun = await asyncio.to_thread(place.run, "gateway", "start")
            assert begun.returncode == 0, begun.stderr
            try:
                printed = await asyncio.to_thread(place.run, "ui")
                assert "Open this address in your browser within a minute:" in printed.stdout
                yield printed.stdout.split()[-1]
            finally:
                await asyncio.to_thread(place.run, "gateway", "stop")


async def test_from_the_first_command_to_an_approved_call_a_sign_in_and_a_missing_tool_explained(
    tmp_path: Path,
) -> None:
    async with started(tmp_path) as address, Chromium(tmp_path) as browser:
        await browser.go(address)
        await browser.run(WATCH)
        # A turn with a call that is approved.
        await say(browser, "write it")
        await shown(browser, "May echo of part be called?")
        (tmp_path / "asked.png").write_bytes(await browser.screenshot())
        await says_yes(browser)
        await shown(browser, "Done: written")
        # A sign-in, at the page of the others.
        (mine,) = await browser.tabs()
        await browser.click("nav a[href='#servers']")
        await browser.click("a.card[href='#servers/files']")
        await browser.press("Sign in")
        await browser.click("dialog a[target=_blank]")
        (theirs,) = [one for one in await browser.tabs() if one != mine]
        await browser.to_tab(theirs)
        await browser.type("input[name=login]", "somebody")
        await browser.type("input[name=password]", "a password")
        await browser.click("button[type=submit]")
        await until(
            browser, "!document.querySelector('input[name=login]') && document.querySelector('form')", "the consent"
        )
        await browser.click("form[action*=interaction] button:not([name])")
        await shown(browser, "You are signed in")
        await browser.to_tab(mine)
        await until(browser, "!document.querySelector('dialog')", "that the dialog is gone")
        await shown(browser, "connected")
        (tmp_path / "signed-in.png").write_bytes(await browser.screenshot())
        # Why a tool is missing.
        await browser.click("nav a[href='#why']")
        await browser.press("exec")
        await until(
            browser, "document.querySelector('#told')?.innerText.includes('tools.allow')", "why, and what to do"
        )
        (tmp_path / "why.png").write_bytes(await browser.screenshot())
        # And out of the server again.
        await browser.click("nav a[href='#servers']")
        await browser.click("a.card[href='#servers/files']")
        await browser.click("section.view .row button:nth-of-type(2)")
        await shown(browser, "needs you to sign in")
        assert await browser.run("return window.refused") == []


async def test_a_turn_shows_thoughts_progress_pictures_sound_and_files(tmp_path: Path) -> None:
    servers = {"part": stdio_server(), "media": {"command": sys.executable, "args": [str(PARTS / "media_server.py")]}}
    calls = [{"name": f"media__{name}", "arguments": {}} for name in ("picture", "sound", "document")]
    slow = {"name": "part__slow", "arguments": {"seconds": 600, "every": 0.2}}
    turns = ({"reasoning": "I think of a sound.", "toolCalls": calls}, {"text": "All there."}, {"toolCalls": [slow]})
    async with page(tmp_path, *turns, servers=servers, **TRUSTING) as (_, browser):
        await say(browser, "show me everything")
        await shown(browser, "All there.")
        await until(browser, OVER, "the end")
        assert await browser.run("return document.querySelector('details.thoughts').open") is False
        await browser.press("Thoughts")
        await shown(browser, "I think of a sound.")
        for number in range(len(calls)):
            await browser.run(f"document.querySelectorAll('details.call summary')[{number}].id = 'call-{number}'")
            await browser.click(f"#call-{number}")
        await until(browser, "document.querySelector('details.call img')?.naturalWidth === 1", "the picture")
        await until(browser, "document.querySelector('details.call audio')?.duration > 0", "the recording")
        await until(browser, "/pdf/.test([...document.querySelectorAll('details.call')].at(-1).innerText)", "the file")
        (tmp_path / "media.png").write_bytes(await browser.screenshot())
        # What a call says of its progress, and the button that ends it.
        await say(browser, "now slowly")
        await until(
            browser, "document.querySelector('details.call.running summary')?.innerText.match(/· \\d/)", "progress"
        )
        await browser.click("#stop")
        await until(browser, "document.querySelector('p.problem')?.innerText.includes('cancelled')", "that it ended")
        assert await browser.run("return window.refused") == []


async def test_an_agent_and_a_model_are_chosen_and_a_conversation_is_exported(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        model = place.script({"text": "First."})
    agents = {"defaults": {"model": "play/one"}, "list": [{"id": "main"}, {"id": "cook", "name": "The cook"}]}
    folder = tmp_path / "here"
    folder.mkdir()
    async with page(folder, agents=agents, models=model["models"]) as (gateway, browser):
        await browser.click("select[aria-label=Agent] option[value=cook]")
        await browser.click("select[aria-label=Model] option[value='builtin/offline']")
        await say(browser, "xyzzy")
        await shown(browser, "not a language model")
        await until(browser, OVER, "the end")
        _, found = await gateway.get("/v1/sessions?agent=cook")
        assert [one["title"] for one in found["sessions"]] == ["xyzzy"]
        await browser.press("New conversation")
        await until(browser, "document.querySelector('.hello')", "a new one")
        await say(browser, "hello")
        await shown(browser, "First.")
        await until(browser, "document.querySelectorAll('.sessions li').length === 2", "both")
        await browser.devtools("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
        await browser.press("Export")
        async with asyncio.timeout(60):
            while not (folder / "hello.md").exists():
                await asyncio.sleep(0.05)
        assert "First." in (folder / "hello.md").read_text()


async def test_forms_and_pages_of_servers_are_answered_above_any_view_for_any_conversation(tmp_path: Path) -> None:
    visit = called("all__trigger-url-elicitation", url="https://example.com/pay?id=7", message="Pay here.")
    turns = (called("all__trigger-elicitation-request"), {"text": "Form: {result}"}, visit, {"text": "Page: {result}"})
    servers = {"all": stdio_entry(npm("mcp-server-everything", "stdio"))}
    async with page(tmp_path, *turns, servers=servers, **TRUSTING) as (gateway, browser):
        first = await browser.tab()
        second = await browser.new_tab()
        await open_page(browser, gateway.home)
        await browser.look_at(first)
        await browser.click("nav a[href='#status']")
        # A conversation of somebody else's asks, and both tabs show it.
        status, _ = await gateway.post("/v1/runs", {"message": "let it ask", "id": "elsewhere"})
        assert status == 202
        await shown(browser, "all asks")
        await browser.type(".question input[name=name]", "Ada")
        await browser.look_at(second)
        await shown(browser, "all asks")
        await browser.look_at(first)
        await browser.click(".question form button.main")
        await until(browser, NO_TRAY, "that it is answered")
        await browser.look_at(second)
        await until(browser, NO_TRAY, "that it is answered here too")
        await browser.click(".sessions li a")
        await until(browser, "document.querySelector('.answer')?.innerText.includes('Ada')", "what was written")
        # A page to visit is shown with its host apart, and opened at a click.
        await say(browser, "and a page")
        await shown(browser, "all wants you to visit a page")
        assert "example.com" in await browser.text(".question strong")
        assert await browser.text(".question .address") == "https://example.com/pay?id=7"
        (tmp_path / "visit.png").write_bytes(await browser.screenshot())
        await browser.click(".question button:not(.main):enabled")
        await shown(browser, "Page:")
        assert len(await browser.tabs()) == 2


async def test_a_gateway_that_nobody_set_up_says_what_it_lacks(tmp_path: Path) -> None:
    with home(tmp_path, env={"OLLAMA_HOST": "127.0.0.1:9"}) as place:
        async with running(place), Chromium(tmp_path) as browser:
            # On a phone there is nothing to choose from yet, and so a first message can be written at once.
            await browser.screen(390, 800)
            await open_page(browser, place)
            await shown(browser, "No language model is set up")
            await shown(browser, "No server is connected.")
            await say(browser, "hello")
            await until(browser, OVER, "an answer")
            await browser.press("‹")
            await browser.press("New conversation")
            await until(browser, "document.querySelector('#message')?.checkVisibility()", "another one")


async def test_a_server_with_an_address_is_connected_used_stopped_and_removed(tmp_path: Path) -> None:
    async with everything("streamable-http") as entry, page(tmp_path, servers={}, **FREE) as (gateway, browser):
        await shown(browser, "No server is connected.")
        await browser.press("Connect one")
        await browser.press("Connect a server")
        # A program is added at a terminal: the line for it is written here.
        await browser.run("document.querySelector('dialog input[aria-label]').select()")
        await browser.type("dialog input[aria-label]", "it's a program")
        await shown(browser, "openclaw mcp connect --stdio 'it'\\''s a program'")
        await browser.type("dialog input[name=address]", str(entry["url"]))
        await browser.type("dialog input[name=name]", "all")
        await browser.press("Connect")
        await browser.click("a.card[href='#servers/all']")
        await shown(browser, "connected")
        await shown(browser, "mcp-servers/everything")
        await browser.click(".tabs a[href$=tools]")
        await browser.type("input[type=search]", "get-sum")
        await until(browser, "document.querySelectorAll('details.card').length === 1", "one tool")
        await browser.click("details.card summary")
        await browser.type("details.card input[name=a]", "20")
        await browser.type("details.card input[name=b]", "22")
        await browser.press("Call it")
        await until(browser, "document.querySelector('details.card pre.foreign')?.innerText.includes('42')", "the sum")
        await browser.press("Restart")
        await shown(browser, "Restarted.")
        await browser.press("Disable")
        await until(browser, "document.querySelector('.state.disabled')", "that it is off")
        await browser.press("Enable")
        await until(browser, "document.querySelector('.state.ready')", "that it is back")
        await browser.press("Refresh")
        await shown(browser, "Asked for its lists anew.")
        await browser.press("Remove")
        await browser.click("dialog button.danger")
        await shown(browser, "No server is configured yet.")
        assert "everything" not in gateway.home.config_file.read_text()
        assert await browser.run("return window.refused") == []


async def test_what_a_server_changed_is_shown_and_trusted_and_its_log_and_states_are_followed(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"tools": [tool("add")], "version": "1.0"}))
    shop = {"command": sys.executable, "args": [str(PARTS / "planned_server.py"), str(plan), str(tmp_path / "log")]}
    crashing = stdio_server("--stderr-lines", "3", maxRestarts=0)
    async with page(tmp_path, servers={"shop": shop, "part": crashing}, **FREE) as (gateway, browser):
        stricter = {"type": "object", "required": ["a"]}
        plan.write_text(json.dumps({"tools": [tool("add", inputSchema=stricter)], "version": "2.0"}))
        await browser.click("nav a[href='#servers']")
        await browser.click("a.card[href='#servers/shop']")
        await browser.press("Refresh")
        await shown(browser, "Changed since you trusted it")
        await until(browser, "document.querySelector('.added')?.innerText.includes('required')", "what changed")
        (tmp_path / "changed.png").write_bytes(await browser.screenshot())
        await browser.press("Trust what is shown here")
        await until(browser, "!document.body.innerText.includes('Changed since you trusted it')", "that it is trusted")
        # One that ends shows why, and its log is read.
        await browser.click("nav a[href='#servers']")
        await browser.click("a.card[href='#servers/part']")
        await gateway.post("/v1/tools/invoke", {"tool": "part__crash", "arguments": {"code": 3}})
        await until(browser, "document.querySelector('.state.failed')", "that it failed")
        await until(browser, "document.querySelector('dl').innerText.includes('3')", "with which code")
        await browser.click(".tabs a[href$=logs]")
        await until(browser, "document.querySelector('pre.log').innerText.split('\\n').length >= 3", "its lines")
        await browser.press("Restart")
        await until(browser, "document.querySelector('.state.ready')", "that it is back")


async def test_the_doctor_the_filters_of_the_trail_and_the_charts_answer_to_clicks(tmp_path: Path) -> None:
    denied = {"tools": {"approval": {"mode": "off", "deny": ["part__slow"]}, "deny": ["part__hang"]}}
    async with page(tmp_path, **denied) as (gateway, browser):
        await gateway.post("/v1/tools/invoke", {"tool": "part__echo", "arguments": {"text": "a"}})
        await gateway.post("/v1/tools/invoke", {"tool": "part__crash", "arguments": {}})
        await gateway.post("/v1/tools/invoke", {"tool": "part__slow", "arguments": {"seconds": 0}})
        await browser.click("nav a[href='#activity']")
        rows = "[...document.querySelectorAll('tbody tr')].map(one => one.innerText)"
        await until(browser, f"{rows}.some(one => one.includes('part__echo'))", "the trail")
        await until(browser, "document.querySelectorAll('.charts polyline').length === 6", "the charts")
        await browser.press("refused")
        await until(browser, f"{rows}.length && {rows}.every(one => one.includes('part__slow'))", "what was refused")
        await browser.press("went wrong")
        await until(browser, f"{rows}.some(one => one.includes('part__crash'))", "what went wrong")
        assert await browser.run(f"return {rows}.some(one => one.includes('part__echo'))") is False
        await browser.press("went wrong")
        await until(browser, f"{rows}.some(one => one.includes('part__echo'))", "all of it")
        await browser.type("input#search", "ECHO outcome")
        await until(browser, f"{rows}.length === 1 && {rows}[0].includes('part__echo')", "one line")
        await browser.click("nav a[href='#why']")
        await browser.press("Without asking servers and models")
        await until(browser, "document.querySelectorAll('.checks li').length > 4", "what the doctor says")
        await browser.press("part__hang")
        await until(browser, "document.querySelector('#told')?.innerText.includes('tools.deny')", "why it is denied")


async def test_a_program_cannot_be_added_where_the_config_is_edited(tmp_path: Path) -> None:
    async with page(tmp_path) as (gateway, browser):
        text = "{\n  mcp: { servers: {  } },\n  gateway: { port: 0 },\n}\n"
        gateway.home.config_file.write_text(text)
        await browser.click("nav a[href='#config']")
        await until(browser, "document.querySelector('textarea.source')?.value.includes('servers: {  }')", "the config")
        await browser.run(
            "const field = document.querySelector('textarea.source'); const at = field.value.indexOf('{  }') + 2;"
            "field.focus(); field.setSelectionRange(at, at);"
        )
        await browser.type("textarea.source", 'evil: { command: "sh" }')
        await shown(browser, "It cannot be used like this.")
        await until(browser, "document.querySelector('.foot .problem')?.innerText.includes('terminal')", "why not")
        assert await browser.run("return document.querySelector('.foot button.main').disabled") is True
        (tmp_path / "refused.png").write_bytes(await browser.screenshot())
        await browser.press("Undo all")
        await until(browser, "!document.querySelector('.foot .problem')", "as it was")
        assert gateway.home.config_file.read_text() == text
