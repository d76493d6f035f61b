"""The gateway's page in a real browser: talk, a question, servers, why, config; and what a hostile server cannot do to it."""

from pathlib import Path

import pytest

from openclaw.control import wire
from openclaw.control.socket_client import ask
from parts.gateway_page import FREE, page, say, shown, until

pytestmark = [pytest.mark.full, pytest.mark.minutes(1)]

HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    "\u202egnp.exe \x1b[31m [x](javascript:alert(1))"
)
# Clicks the yes of a question in the moment it appears, and notes whether that could count.
CLICK_AT_ONCE = """
new MutationObserver(() => {
  const yes = document.querySelector(".question button.main");
  if (yes && window.early === undefined) { window.early = yes.disabled; yes.click(); }
}).observe(document.body, { subtree: true, childList: true });
"""


async def test_a_turn_with_a_tool_is_watched_continued_and_found_again_after_a_reload(tmp_path: Path) -> None:
    call = {"toolCalls": [{"name": "part__echo", "arguments": {"text": "from the server"}}], "text": "Let me **ask**."}
    async with page(tmp_path, call, {"text": "It said: {result}"}, {"text": "Again."}, **FREE) as (_, browser):
        await say(browser, "ask the server")
        await shown(browser, "It said: from the server")
        # The ticket left the address before anything else happened, and the token is in no address.
        assert "ticket" not in await browser.address()
        await until(browser, "document.querySelector('.answer strong')?.textContent === 'ask'", "Markdown")
        await until(browser, "location.hash.startsWith('#talk/')", "the conversation has an address")
        await say(browser, "once more")
        await shown(browser, "Again.")
        await browser.go(await browser.address())
        await browser.run("location.reload()")
        await shown(browser, "It said: from the server")
        await browser.run("document.querySelector('details.call').open = true")
        await shown(browser, "text of the server part, not ours")


async def test_an_approval_is_given_with_the_mouse_and_a_click_too_early_counts_for_nothing(tmp_path: Path) -> None:
    call = {"toolCalls": [{"name": "part__echo", "arguments": {"text": "written"}}], "text": "I write."}
    approval = {"tools": {"approval": {"ask": ["part__echo"]}}}
    async with page(tmp_path, call, {"text": "Done: {result}"}, **approval) as (_, browser):
        await browser.run(CLICK_AT_ONCE)
        await say(browser, "write it")
        await until(browser, "document.querySelector('.question button.main:not(:disabled)')", "the question is ready")
        assert await browser.run("return window.early") is True
        assert "written" in await browser.text(".question pre")
        await browser.click(".question button.main")
        await shown(browser, "Done: written")
        # The answer and the end of its question come on two streams.
        await until(browser, "!document.querySelector('.tray')", "no question is left")


async def test_a_person_without_a_mouse_reads_a_question_and_answers_it(tmp_path: Path) -> None:
    call = {"toolCalls": [{"name": "part__echo", "arguments": {"text": "written"}}], "text": "I write."}
    approval = {"tools": {"approval": {"ask": ["part__echo"]}}}
    async with page(tmp_path, call, {"text": "Done: {result}"}, **approval) as (_, browser):
        await browser.type("textarea#message", "write it\ue007")
        await until(browser, "document.querySelector('.question button.main:not(:disabled)')", "the question is ready")
        # Where one typed is where one stays: no key that was meant for something else answers.
        assert await browser.run("return document.activeElement.id") == "message"
        assert await browser.run("return document.querySelector('.question').getAttribute('role')") == "alertdialog"
        await browser.run("document.querySelector('.skip').focus()")
        await browser.keys("\ue004", until="document.activeElement.textContent === 'Yes, once'")
        await browser.keys("\ue007")
        await shown(browser, "Done: written")
        # Letters lead to the views, where nobody types.
        await browser.run("document.activeElement.blur()")
        await browser.keys("gs")
        await until(browser, "location.hash === '#servers'", "the servers")
        await browser.keys("?")
        await shown(browser, "Keys")


async def test_text_of_others_stays_text(tmp_path: Path) -> None:
    call = {"toolCalls": [{"name": "part__echo", "arguments": {"text": HOSTILE}}], "text": HOSTILE}
    async with page(tmp_path, call, {"text": "{result}"}, **FREE) as (_, browser):
        await say(browser, HOSTILE.replace("\x1b", "").replace("\u202e", ""))
        # The conversation has its own address in the end, and is drawn anew there.
        both = "location.hash.startsWith('#talk/') && document.querySelectorAll('.answer').length === 2"
        await until(browser, f"{both} && !document.querySelector('.working')", "both messages")
        await browser.run("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert await browser.run("return document.title") == "Talk · OpenClaw"
        assert await browser.run("return document.querySelectorAll('.messages img, .messages script').length") == 0
        assert await browser.run("return [...document.links].some(a => a.protocol === 'javascript:')") is False
        assert "⟨U+202E⟩" in str(await browser.run("return document.body.textContent"))
        assert await browser.run("return window.refused") == []


async def test_servers_tools_why_config_and_activity_are_there(tmp_path: Path) -> None:
    async with page(tmp_path, **FREE) as (_, browser):
        await browser.run("location.hash = '#servers'")
        await shown(browser, "connected")
        await browser.run("location.hash = '#servers/part/tools'")
        await until(browser, "document.querySelector('details.card summary')", "the tools")
        await browser.type("input[type=search]", "echo")
        await browser.run("document.querySelector('details.card').open = true")
        await browser.type("textarea[name=arguments]", '{"text": "by hand"}')
        await browser.click("form.fields button.main")
        await shown(browser, "by hand")
        await browser.run("location.hash = '#why/exec'")
        await shown(browser, "exec")
        await browser.run("location.hash = '#activity'")
        await shown(browser, "part__echo")
        await browser.run("location.hash = '#config'")
        await until(browser, "document.querySelector('textarea.source')?.value.includes('part')", "the config")
        await browser.run("location.hash = '#status'")
        await shown(browser, "runs (pid")
        assert await browser.run("return window.refused") == []


async def test_two_tabs_are_in_step_and_a_page_that_is_signed_out_says_how_to_come_back(tmp_path: Path) -> None:
    async with page(tmp_path, {"text": "Both see it."}) as (gateway, browser):
        status, _ = await gateway.post("/v1/runs", {"message": "from elsewhere"})
        assert status == 202
        await until(browser, "document.querySelector('.sessions li a')", "the conversation of the other")
        await browser.click(".sessions li a")
        await shown(browser, "Both see it.")
        await ask(gateway.home.paths.control_socket, wire.REVOKE)
        await shown(browser, "openclaw ui")
        assert await browser.run("return sessionStorage.length") == 0
