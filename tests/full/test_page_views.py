"""What the views of the gateway's page do, one after the other, in a real browser with a real server of somebody else's."""

import json
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from openclaw.content import AssistantMessage, Text, UserMessage
from parts.cache import full_npm_file
from parts.chromium import Chromium
from parts.gateway_page import FREE, open_page, page, say, shown, until, view
from parts.gateways import Running, gateway_process, home, stdio_server
from parts.peers import npm, stdio_entry

pytestmark = [pytest.mark.full, pytest.mark.minutes(2)]

HANG = {"toolCalls": [{"name": "part__hang", "arguments": {}}], "text": "One moment."}
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
VIEWS = ("talk", "talk/new", "questions", "servers", "servers/part", "servers/part/tools", "servers/part/resources")
MORE_VIEWS = ("servers/part/prompts", "servers/part/logs", "why", "why/exec", "activity", "config", "status")
# Tabs, and calls of a tool while they are open.
TABS, CALLS = 10, 12


def everything(**more: Any) -> dict[str, Any]:
    return {"all": {**stdio_entry(npm("mcp-server-everything", "stdio")), **more}}


async def remembered(gateway: Running, key: str, count: int) -> None:
    """A conversation of so many messages."""
    async with gateway.gateway.app.store.turn(key, "main") as turn:
        for number in range(0, count, 2):
            turn.append(UserMessage((Text(f"question {number}"),)), AssistantMessage((Text(f"answer {number + 1}"),)))


async def test_earlier_messages_of_a_long_conversation_are_read_when_they_are_wanted(tmp_path: Path) -> None:
    async with page(tmp_path) as (gateway, browser):
        await remembered(gateway, "agent:main:long", 450)
        await view(browser, "#servers")
        await view(browser, "#talk")
        await browser.click(".sessions li a")
        await shown(browser, "answer 449")
        assert await browser.run("return document.body.innerText.includes('question 248')") is False
        await browser.click("#earlier")
        await shown(browser, "question 50")
        await browser.click("#earlier")
        await shown(browser, "question 0")
        await until(browser, "!document.querySelector('#earlier')", "there are no more")
        said = "[...document.querySelectorAll('.said p, .answer p')].map(one => one.textContent)"
        assert await browser.run(f"return {said}") == [
            f"{'answer' if number % 2 else 'question'} {number}" for number in range(450)
        ]


async def test_a_new_conversation_stays_where_it_is_when_it_gets_its_address(tmp_path: Path) -> None:
    usage = {"inputTokens": 1200, "outputTokens": 34}
    async with page(tmp_path, {"text": "Good day.", "usage": usage}, {"text": "Again.", "usage": usage}) as (
        _,
        browser,
    ):
        await browser.run("document.querySelector('.conversation').marked = true")
        await say(browser, "hello")
        await until(browser, "location.hash.match(/^#talk\\/[0-9a-f]{32}$/)", "its address")
        await shown(browser, "1,234 tokens")
        assert await browser.run("return document.querySelector('.conversation').marked") is True
        await say(browser, "once more")
        await shown(browser, "Again.")
        await until(browser, "!document.querySelector('.working')", "the end")
        assert await browser.run("return document.querySelectorAll('.said').length") == 2
        await browser.run("location.reload()")
        # The store knows what was used.
        await shown(browser, "1,234 tokens")


async def test_a_reload_in_the_middle_of_a_first_turn_loses_nothing_and_escape_stops_it(tmp_path: Path) -> None:
    async with page(tmp_path, HANG, **FREE) as (_, browser):
        await say(browser, "take your time")
        await until(browser, "document.querySelector('details.call.running')", "the call")
        await browser.run("location.reload()")
        await until(browser, "document.querySelector('details.call.running')", "the call again")
        said = "[...document.querySelectorAll('.said')].map(one => one.innerText.trim())"
        assert await browser.run(f"return {said}") == ["take your time"]
        await browser.type("textarea#message", "\ue00c")
        await shown(browser, "Press Esc again")
        await browser.type("textarea#message", "\ue00c")
        await until(browser, "document.querySelector('p.problem')?.innerText.includes('cancelled')", "the end")


async def test_files_are_dropped_and_pasted_and_conversations_found_renamed_and_deleted(tmp_path: Path) -> None:
    async with page(tmp_path, {"text": "I see."}) as (_, browser):
        await browser.run(
            "const data = new DataTransfer(); data.items.add(new File(['words'], 'dropped.txt', {type: 'text/plain'}));"
            "document.querySelector('.composer').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true}));"
        )
        await shown(browser, "dropped.txt")
        await browser.run(
            f"const bytes = Uint8Array.from(atob('{PICTURE}'), one => one.charCodeAt(0));"
            "const data = new DataTransfer(); data.items.add(new File([bytes], 'pasted.png', {type: 'image/png'}));"
            "const event = new ClipboardEvent('paste', {clipboardData: data, bubbles: true});"
            "document.querySelector('#message').dispatchEvent(event);"
        )
        await shown(browser, "pasted.png")
        await say(browser, "look at these")
        await shown(browser, "I see.")
        await until(browser, "document.querySelector('.said img.picture')?.naturalWidth === 1", "the picture")
        await browser.run("[...document.querySelectorAll('.bar button')].find(b => b.innerText === 'Rename').click()")
        await browser.run("document.querySelector('dialog input').value = ''")
        await browser.type("dialog input", "What I saw")
        await browser.click("dialog button.main")
        await shown(browser, "What I saw")
        await browser.type("#search", "nothing like it")
        await shown(browser, "None has these words.")
        await browser.run("document.querySelector('#search').value = ''")
        await browser.type("#search", "SAW")
        await until(browser, "document.querySelectorAll('.sessions li').length === 1", "it is found")
        await browser.run("[...document.querySelectorAll('.bar button')].find(b => b.innerText === 'Delete').click()")
        await browser.click("dialog button.danger")
        await until(browser, "document.querySelectorAll('.sessions li').length === 0", "it is gone")


async def test_resources_and_prompts_of_a_server_are_shown_as_what_they_are(tmp_path: Path) -> None:
    async with page(tmp_path, servers=everything(), **FREE) as (gateway, browser):
        _, resources = await gateway.get("/v1/mcp/servers/all/resources")
        await view(browser, "#servers/all/resources")
        await until(browser, "document.querySelector('details.card')", "the resources")
        plain = next(place for place, one in enumerate(resources) if not one["template"])
        await browser.run(f"document.querySelectorAll('details.card')[{plain}].open = true")
        await until(browser, "document.querySelector('details.card pre.foreign')?.innerText.length > 5", "its text")
        template = next(place for place, one in enumerate(resources) if one["template"])
        await browser.run(f"document.querySelectorAll('details.card')[{template}].open = true")
        await until(browser, f"document.querySelectorAll('details.card')[{template}].querySelector('input')", "a field")
        _, prompts = await gateway.get("/v1/mcp/servers/all/prompts")
        await view(browser, "#servers/all/prompts")
        await until(browser, "document.querySelectorAll('details.card').length", "the prompts")
        asking = next(
            place for place, one in enumerate(prompts) if one["arguments"] and one["arguments"][0]["required"]
        )
        name = prompts[asking]["arguments"][0]["name"]
        await browser.run(f"document.querySelectorAll('details.card')[{asking}].open = true")
        await browser.type(f"details.card[open] input[name='{name}']", "Paris")
        await browser.click("details.card[open] button.main")
        await until(browser, "document.querySelector('details.card[open] h3')?.innerText === 'user'", "a message")
        await until(
            browser, "document.querySelector('details.card[open] pre.foreign')?.innerText.includes('Paris')", "it"
        )
        assert await browser.run("return window.refused") == []


async def test_a_server_that_asks_a_model_is_reviewed_in_the_tray_before_and_after(tmp_path: Path) -> None:
    call = {"name": "all__trigger-sampling-request", "arguments": {"prompt": "say boo", "maxTokens": 20}}
    turns = ({"toolCalls": [call]}, {"text": "Boo!"}, {"text": "It said: {result}"})
    entry = everything(sampling={"enabled": True})
    async with page(tmp_path, *turns, servers=entry, **FREE) as (_, browser):
        await say(browser, "let it ask")
        await until(browser, "document.querySelector('.question pre.foreign')?.innerText.includes('say boo')", "prompt")
        assert await browser.text(".question h2") == "all asks"
        await browser.click(".question button.main:enabled")
        await until(
            browser, "document.querySelector('.question pre.foreign')?.innerText.includes('Boo!')", "the answer"
        )
        await browser.click(".question button.main:enabled")
        await shown(browser, "It said:")


async def test_the_config_is_completed_checked_and_compared_before_it_is_saved(tmp_path: Path) -> None:
    async with page(tmp_path) as (gateway, browser):
        text = "{\n  // mine\n  gateway: { port: 0 },\n  agents: { defaults: {  } },\n  mcp: {},\n}\n"
        gateway.home.config_file.write_text(text)
        await view(browser, "#config")
        await until(browser, "document.querySelector('textarea.source')?.value.includes('// mine')", "the config")
        await browser.run(
            "const field = document.querySelector('textarea.source'); const at = field.value.indexOf('{  }') + 2;"
            "field.focus(); field.setSelectionRange(at, at); field.click();"
        )
        await until(
            browser, "[...document.querySelectorAll('.offers button')].some(b => b.innerText === 'model')", "it"
        )
        await browser.run("[...document.querySelectorAll('.offers button')].find(b => b.innerText === 'model').click()")
        await browser.type("textarea.source", "5")
        await shown(browser, "It cannot be used like this.")
        assert "Line 4" in await browser.text("p.problem")
        await browser.type("textarea.source", '\ue003"builtin/offline"')
        await shown(browser, "It can be used.")
        await browser.click(".foot button.main")
        changes = await browser.text("dialog pre.diff")
        assert '+   agents: { defaults: { model: "builtin/offline" } },' in changes
        assert "mine" in changes
        await browser.click("dialog button.main")
        await shown(browser, "Saved.")
        assert 'model: "builtin/offline"' in gateway.home.config_file.read_text()
        assert "// mine" in gateway.home.config_file.read_text()


async def test_axe_finds_nothing_serious_on_any_view_in_either_theme(tmp_path: Path) -> None:
    call = {
        "toolCalls": [{"name": "part__echo", "arguments": {"text": "a"}}],
        "text": "I write **this**:\n\n```\nx\n```",
    }
    approval = {"tools": {"approval": {"ask": ["part__echo"]}}}
    axe = full_npm_file("axe-core/axe.min.js").read_text()
    async with page(tmp_path, call, {"text": "Done."}, **approval) as (_, browser):
        await say(browser, "write it")
        await until(browser, "document.querySelector('.question button.main:not(:disabled)')", "the question is ready")
        found = [await judged(browser, axe, "a question")]
        await browser.click(".question button.main")
        await shown(browser, "Done.")
        await until(browser, "location.hash.match(/[0-9a-f]{32}/)", "its address")
        await browser.run("document.querySelectorAll('details').forEach(one => one.open = true)")
        found.append(await judged(browser, axe, "a conversation"))
        for name in (*VIEWS, *MORE_VIEWS):
            await view(browser, f"#{name}")
            await until(browser, "document.querySelector('main h1')", name)
            found.append(await judged(browser, axe, name))
        await view(browser, "#servers/part/tools")
        await until(browser, "document.querySelector('details.card')", "tools")
        await browser.run("document.querySelectorAll('details.card').forEach(one => one.open = true)")
        found.append(await judged(browser, axe, "tools that are open"))
        await view(browser, "#why")
        await browser.press("Without asking servers and models")
        await until(browser, "document.querySelector('.checks')", "the checks")
        found.append(await judged(browser, axe, "what the doctor says"))
        await view(browser, "#config")
        await browser.type("textarea.source", "}")
        await shown(browser, "It cannot be used like this.")
        found.append(await judged(browser, axe, "a config that cannot be used"))
        await browser.press("Undo all")
        await view(browser, "#servers")
        await browser.press("Connect a server")
        found.append(await judged(browser, axe, "a dialog"))
        await browser.press("Cancel")
        await browser.press("Sign out")
        await shown(browser, "Run this in a terminal")
        found.append(await judged(browser, axe, "the sign-in"))
    assert [one for one in found if one[1:] != ([], [])] == []


async def judged(browser: Chromium, axe: str, name: str) -> tuple[str, list[str], list[str]]:
    """What axe holds against what is shown, in the light and in the dark."""
    found = []
    for scheme in ("light", "dark"):
        await browser.prefer(scheme)
        # The browser's own world: the policy of the page lets no other script in.
        await browser.devtools("Runtime.evaluate", expression=axe)
        answer = await browser.devtools(
            "Runtime.evaluate",
            expression="axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations))",
            awaitPromise=True,
            returnByValue=True,
        )
        violations = json.loads(answer["result"]["value"])
        found.append(
            [
                f"{one['id']}: {node['html'][:120]}"
                for one in violations
                if one["impact"] in ("serious", "critical")
                for node in one["nodes"]
            ]
        )
    return (name, found[0], found[1])


async def test_ten_pages_that_are_open_while_tools_are_called_miss_no_event(tmp_path: Path) -> None:
    async with page(tmp_path, **FREE) as (gateway, browser):
        tabs = [await browser.tab()]
        while len(tabs) < TABS:
            tabs.append(await browser.new_tab())
            await open_page(browser, gateway.home)
        for tab in tabs:
            await browser.look_at(tab)
            await view(browser, "#activity")
            await until(
                browser, "document.querySelector('.line.live') && document.querySelector('table')", "it is live"
            )
        for number in range(CALLS):
            status, _ = await gateway.post(
                "/v1/tools/invoke", {"tool": "part__echo", "arguments": {"text": str(number)}}
            )
            assert status == 200
        for tab in tabs:
            await browser.look_at(tab)
            rows = "document.querySelectorAll('tbody tr').length"
            # That a call was asked for, and that it is over.
            await until(browser, f"{rows} >= {2 * CALLS}", "every event")
            assert await browser.run(f"return {rows}") == 2 * CALLS
        # The one that watches for all leaves: another one does it from where it was.
        await browser.look_at(tabs[0])
        await browser.close_tab()
        await gateway.post("/v1/tools/invoke", {"tool": "part__echo", "arguments": {"text": "more"}})
        await browser.look_at(tabs[-1])
        await until(browser, f"document.querySelectorAll('tbody tr').length >= {2 * CALLS + 2}", "the last event")


async def test_a_gateway_that_is_killed_in_mid_turn_and_comes_back_is_said_to_have_lost_the_turn(
    tmp_path: Path,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    servers = {"part": stdio_server()}
    with home(tmp_path) as place:
        place.save(
            {"gateway": {"port": port}, "mcp": {"servers": servers}, **place.script({"text": "First."}, HANG), **FREE}
        )
        async with Chromium(tmp_path) as browser:
            with gateway_process(place) as first:
                await open_page(browser, place)
                await say(browser, "begin")
                await shown(browser, "First.")
                await say(browser, "ask the server")
                await until(browser, "document.querySelector('details.call.running')", "the call is under way")
                first.end(signal.SIGKILL)
                await shown(browser, "Lost. Again in")
            with gateway_process(place):
                await shown(browser, "The gateway stopped while this was under way.")
                await until(browser, "document.querySelector('.sessions li a')", "the list of conversations")
                calls = "[...document.querySelectorAll('details.call')].map(one => one.className)"
                assert await browser.run(f"return {calls}") == ["call no-result"]
                assert await browser.run("return document.querySelector('.working')") is None
                await shown(browser, "First.")
                await say(browser, "and again")
                await until(browser, "document.querySelectorAll('article.said').length === 3", "the next message")
