"""A real browser without a screen: Chromium, driven through chromedriver's plain HTTP (WebDriver).

async with Chromium(tmp_path) as browser:
    await browser.go(url)
    await browser.type("input[name=login]", "somebody")
    await browser.click("button[type=submit]")
    text = await browser.text("h1")
"""

import asyncio
import base64
import shutil
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp

# Nothing that talks to anybody but the pages it is sent to.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1000,700",
)
# How WebDriver names an element in its answers.
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
# A browser of a loaded machine takes its time; past this it has stopped.
PATIENCE = 60.0


class Chromium:
    """`folder` gets a new profile. Every act waits until its element is there, for a minute at most. `hosts` are names that lead to this
    machine, as a hostile name server may have it."""

    def __init__(self, folder: Path, *, hosts: Sequence[str] = ()) -> None:
        self._profile = folder / "profile"
        rules = ",".join(f"MAP {host} 127.0.0.1" for host in hosts)
        self._flags = (*FLAGS, *((f"--host-resolver-rules={rules}",) if rules else ()))
        self._session = ""

    async def __aenter__(self) -> "Chromium":
        driver, program = shutil.which("chromedriver"), shutil.which("chromium")
        for found in (driver, program):
            assert found, "chromium or chromedriver is missing: scripts/full_parts installs them"
        self._driver = await asyncio.create_subprocess_exec(str(driver), "--port=0", stdout=PIPE, stderr=DEVNULL)
        assert self._driver.stdout is not None
        port = ""
        while not port:
            line = (await self._driver.stdout.readline()).decode()
            assert line, "chromedriver did not start"
            port = line.rpartition("on port ")[2].strip(" .\n") if "successfully on port" in line else ""
        self._drain = asyncio.create_task(self._driver.stdout.read())
        self._http = aiohttp.ClientSession(f"http://127.0.0.1:{port}")
        options = {"binary": program, "args": [*self._flags, f"--user-data-dir={self._profile}"]}
        wishes = {"goog:chromeOptions": options, "pageLoadStrategy": "eager", "timeouts": {"implicit": PATIENCE * 1000}}
        try:
            answer = await self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wishes}})
        except BaseException:
            await self._end()
            raise
        self._session = f"/session/{answer['sessionId']}"
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._ask("DELETE", self._session)
        finally:
            await self._end()

    async def _end(self) -> None:
        await self._http.close()
        self._driver.terminate()
        await self._driver.wait()
        await self._drain

    async def go(self, url: str) -> None:
        await self._ask("POST", f"{self._session}/url", {"url": url})

    async def address(self) -> str:
        return str(await self._ask("GET", f"{self._session}/url"))

    async def type(self, selector: str, text: str) -> None:
        await self._ask("POST", f"{await self._element(selector)}/value", {"text": text})

    async def click(self, selector: str) -> None:
        await self._ask("POST", f"{await self._element(selector)}/click", {})

    async def keys(self, keys: str, *, until: str = "") -> None:
        """Press these keys one after the other, wherever the person is; with `until` again and again, for a hundred times at most."""
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        actions = {"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]}
        for _ in range(100):
            await self._ask("POST", f"{self._session}/actions", actions)
            if not until or await self.run(f"return {until}"):
                return
        raise AssertionError(f"No key led to: {until}")

    async def press(self, words: str) -> None:
        """Click what says exactly these words: a button, a link, or the line that folds something open."""
        kinds = ("button", "a", "summary", "label")
        path = " | ".join(f'//{kind}[normalize-space()="{words}"]' for kind in kinds)
        found = await self._ask("POST", f"{self._session}/element", {"using": "xpath", "value": path})
        await self._ask("POST", f"{self._session}/element/{found[_ELEMENT]}/click", {})

    async def text(self, selector: str) -> str:
        return str(await self._ask("GET", f"{await self._element(selector)}/text"))

    async def run(self, script: str) -> Any:
        """What a script returns that runs in the page."""
        return await self._ask("POST", f"{self._session}/execute/sync", {"script": script, "args": []})

    async def enter(self, selector: str) -> None:
        """Go on inside a frame; `leave` leads back to the page."""
        found = await self._ask("POST", f"{self._session}/element", {"using": "css selector", "value": selector})
        await self._ask("POST", f"{self._session}/frame", {"id": found})

    async def leave(self) -> None:
        await self._ask("POST", f"{self._session}/frame", {"id": None})

    async def tabs(self) -> list[str]:
        return list(await self._ask("GET", f"{self._session}/window/handles"))

    async def open_tab(self) -> str:
        """A new tab, which has to be gone to."""
        return str((await self._ask("POST", f"{self._session}/window/new", {"type": "tab"}))["handle"])

    async def to_tab(self, handle: str) -> None:
        await self._ask("POST", f"{self._session}/window", {"handle": handle})

    async def resize(self, width: int, height: int) -> None:
        await self._ask("POST", f"{self._session}/window/rect", {"width": width, "height": height})

    async def prefer(self, scheme: str) -> None:
        """The person's taste: `light` or `dark`."""
        await self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def screen(self, width: int, height: int) -> None:
        """A screen of this size, which may be a phone's: a window is never that narrow."""
        await self.devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    async def devtools(self, command: str, **parameters: Any) -> Any:
        """What Chrome's own protocol answers."""
        return await self._ask("POST", f"{self._session}/goog/cdp/execute", {"cmd": command, "params": parameters})

    async def new_tab(self) -> str:
        """The name of a new tab, which is the one that is looked at from here on."""
        found = await self._ask("POST", f"{self._session}/window/new", {"type": "tab"})
        await self.look_at(str(found["handle"]))
        return str(found["handle"])

    async def look_at(self, tab: str) -> None:
        await self._ask("POST", f"{self._session}/window", {"handle": tab})

    async def close_tab(self) -> None:
        """Close the tab that is looked at; another one has to be looked at then."""
        await self._ask("DELETE", f"{self._session}/window")

    async def tab(self) -> str:
        """The name of the tab that is looked at."""
        return str(await self._ask("GET", f"{self._session}/window"))

    async def screenshot(self) -> bytes:
        """What a person sees, as PNG."""
        return base64.b64decode(await self._ask("GET", f"{self._session}/screenshot"))

    async def _element(self, selector: str) -> str:
        """Waits for it: that is what the implicit timeout is for."""
        found = await self._ask("POST", f"{self._session}/element", {"using": "css selector", "value": selector})
        return f"{self._session}/element/{found[_ELEMENT]}"

    async def _ask(self, method: str, path: str, body: Any = None) -> Any:
        async with self._http.request(method, path, json=body) as response:
            answer = (await response.json())["value"]
            assert response.status == 200, f"{method} {path}: {answer}"
            return answer
