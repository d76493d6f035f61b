"""`python -m bench.page.pictures FOLDER`: a picture of every view of the gateway's page, on three screens, in the light and in the dark.

For the eyes of whoever changes the page: nothing is judged. Needs Chromium (scripts/full_parts) and the servers of scripts/real_parts.py.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from openclaw.content import AssistantMessage, Text, UserMessage
from parts.chromium import Chromium
from parts.gateway_page import open_page, say, shown, until, view
from parts.gateways import Home, Running, home, running, stdio_server
from parts.peers import npm, stdio_entry

MEDIA_SERVER = str(Path(__file__).parents[2] / "tests" / "parts" / "media_server.py")
# A phone, a tablet that is held upright, and a small laptop.
SCREENS = ((390, 800), (820, 1000), (1280, 800))
SCHEMES = ("light", "dark")
ANSWER = """Here is **what I found** in `notes.md`, which has three parts:

1. A list of things to do
2. A table:

| what | when |
| --- | --- |
| write | today |
| send | tomorrow |

And a piece of code:

```python
def hello(name: str) -> str:
    return f"Hello, {name}"
```

> Ask again when you need more. See [the manual](https://example.com/manual)."""
TURNS: tuple[dict[str, Any], ...] = (
    {
        "reasoning": "The person wants a picture. The server has a tool for it.",
        "text": "Let me look.",
        "toolCalls": [
            {"name": "all__get-tiny-image", "arguments": {}},
            {"name": "all__echo", "arguments": {"message": "is anybody there?"}},
            {"name": "all__get-sum", "arguments": {"a": "no number"}},
            {"name": "media__sound", "arguments": {}},
            {"name": "media__document", "arguments": {}},
        ],
    },
    {"text": ANSWER, "usage": {"inputTokens": 4200, "outputTokens": 310}},
    {"text": "I write it down.", "toolCalls": [{"name": "part__echo", "arguments": {"text": "Buy milk.\nCall Ann."}}]},
    {"text": "Written."},
    {"toolCalls": [{"name": "all__trigger-elicitation-request", "arguments": {}}]},
    {"text": "Thank you."},
)
TITLES = (
    "Plans for the garden",
    "Why does the build fail?",
    "A very long title of a conversation that is about many things at once",
)
VIEWS = {
    "talk-list": "#talk",
    "talk-new": "#talk/new",
    "questions": "#questions",
    "servers": "#servers",
    "server": "#servers/all",
    "server-failed": "#servers/broken",
    "server-sign-in": "#servers/far",
    "server-tools": "#servers/all/tools",
    "server-resources": "#servers/all/resources",
    "server-prompts": "#servers/all/prompts",
    "server-logs": "#servers/all/logs",
    "why": "#why",
    "why-tool": "#why/exec",
    "activity": "#activity",
    "config": "#config",
    "status": "#status",
}
YES = "document.querySelector('.question button.main:not(:disabled)')"
OVER = "location.hash.startsWith('#talk/') && !document.querySelector('.working') && !document.querySelector('.tray')"


class Album:
    """`only` leaves out pictures whose names have none of these words."""

    def __init__(self, folder: Path, browser: Chromium, only: list[str]) -> None:
        self._folder = folder
        self._browser = browser
        self._only = only

    async def take(self, name: str) -> None:
        if self._only and not any(word in name for word in self._only):
            return
        for width, height in SCREENS:
            await self._browser.screen(width, height)
            for scheme in SCHEMES:
                await self._browser.prefer(scheme)
                await asyncio.sleep(0.15)
                (self._folder / f"{name}-{width}-{scheme}.png").write_bytes(await self._browser.screenshot())
        await self._browser.screen(*SCREENS[-1])


def configured(place: Home) -> None:
    servers = {
        "all": {**stdio_entry(npm("mcp-server-everything", "stdio"))},
        "part": stdio_server(),
        "media": {"command": sys.executable, "args": [MEDIA_SERVER]},
        "broken": {"command": "no-such-program", "args": ["--serve"]},
        "far": {"url": "http://127.0.0.1:9/mcp"},
    }
    approval = {"approval": {"ask": ["part__echo"], "mode": "off", "taint": "off"}}
    place.save({"mcp": {"servers": servers}, "tools": approval, **place.script(*TURNS)})


async def remembered(gateway: Running) -> None:
    for number, title in enumerate(TITLES):
        async with gateway.gateway.app.store.turn(f"agent:main:{number}", "main") as turn:
            turn.append(UserMessage((Text(title),)), AssistantMessage((Text("An answer."),)))


async def walk(gateway: Running, browser: Chromium, album: Album) -> None:
    await album.take("first")
    await remembered(gateway)
    await say(browser, "show me what you have")
    await shown(browser, "the manual")
    await until(browser, OVER, "the end")
    await album.take("conversation-end")
    await browser.run("document.querySelectorAll('details').forEach(one => one.open = true)")
    await until(browser, "document.querySelector('details.call img')?.naturalWidth > 0", "the picture")
    await browser.run("document.querySelector('.messages').scrollTop = 0")
    await album.take("conversation-calls")
    await browser.run("[...document.querySelectorAll('details.call')].at(-1).scrollIntoView({ block: 'end' })")
    await album.take("conversation-files")
    await say(browser, "write down: milk, Ann")
    await until(browser, YES, "a question")
    await album.take("question-tray")
    await view(browser, "#questions")
    await until(browser, YES, "a question")
    await album.take("question-approval")
    await browser.click(".question button.main")
    await view(browser, "#talk")
    await until(browser, "document.querySelector('.sessions li a')", "the list")
    await browser.click(".sessions li a")
    await shown(browser, "Written.")
    await until(browser, OVER, "the end")
    await say(browser, "let it ask me")
    await until(browser, "document.querySelector('.question form')", "a form")
    await album.take("question-form")
    await browser.run(
        "[...document.querySelectorAll('.question button')].find(one => one.textContent === 'No').click()"
    )
    await until(browser, OVER, "the end")
    for name, address in VIEWS.items():
        await view(browser, address)
        await until(
            browser,
            "document.querySelector('main h1') && !/Asking…|Looking…|Reading…/.test(document.body.innerText)",
            name,
        )
        await asyncio.sleep(0.4)
        if name in ("server-tools", "server-resources", "server-prompts"):
            await browser.run("document.querySelectorAll('details.card')[2].open = true")
        if name == "activity":
            await until(browser, "document.querySelector('.charts')", "charts")
        await album.take(name)
    await view(browser, "#why")
    await browser.run(
        "[...document.querySelectorAll('button')].find(one => one.textContent.startsWith('Without')).click()"
    )
    await until(browser, "document.querySelector('.checks')", "the checks")
    await album.take("doctor")
    await view(browser, "#servers")
    await browser.click("header.bar button.main")
    await album.take("connect")
    await browser.run("document.querySelector('dialog').close()")
    await view(browser, "#config")
    await until(browser, "document.querySelector('textarea.source')", "the config")
    place = gateway.home.config_file
    place.write_text(json.dumps(json.loads(place.read_text()), indent=2))
    await view(browser, "#talk")
    await view(browser, "#config")
    await until(browser, "document.querySelector('textarea.source')?.value.split('\\n').length > 9", "the config")
    await browser.run(
        "const field = document.querySelector('textarea.source'); field.focus(); field.setSelectionRange(2, 2); field.click();"
    )
    await browser.type("textarea.source", "\ue003 agents: { defaults: { model: 5 } }, ")
    await asyncio.sleep(1)
    await album.take("config-wrong")
    await browser.run("document.querySelector('.top button').click()")
    await shown(browser, "Run this in a terminal")
    await album.take("sign-in")


async def album(folder: Path, only: list[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch, home(Path(scratch)) as place:
        configured(place)
        async with running(place) as gateway, Chromium(Path(scratch)) as browser:
            await gateway.ready("all", "part", "media")
            await open_page(browser, place)
            await browser.screen(*SCREENS[-1])
            await walk(gateway, browser, Album(folder, browser, only))


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.page.pictures")
    parser.add_argument("folder", type=Path)
    parser.add_argument("only", nargs="*", help="words of names; without any, all pictures")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(album(given.folder, given.only))


if __name__ == "__main__":
    main()
