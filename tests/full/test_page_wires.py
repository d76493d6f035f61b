"""The page with the strict wires of vendors and the reference server from npm: a picture reaches the model and the person."""

from pathlib import Path

import pytest

from parts.chromium import Chromium
from parts.gateway_page import open_page, say, says_yes, shown, until
from parts.gateways import home, running
from parts.model_servers import Answer, Call, ChatServer, MessagesServer, ModelServer
from parts.peers import everything
from parts.responses_server import ResponsesServer

pytestmark = [pytest.mark.full, pytest.mark.minutes(1)]

WIRES: dict[str, type[ModelServer]] = {
    "anthropic-messages": MessagesServer,
    "openai-completions": ChatServer,
    "openai-responses": ResponsesServer,
}


@pytest.mark.parametrize("wire", WIRES)
async def test_a_picture_of_a_server_reaches_the_vendor_and_the_page(tmp_path: Path, wire: str) -> None:
    answers = [Answer("Let me look.", calls=[Call("call_1", "all__get-tiny-image", {})]), Answer("A **tiny** picture.")]
    async with WIRES[wire](answers) as model, everything("stdio") as entry:
        with home(tmp_path) as place:
            provider = {"baseUrl": model.url, "apiKey": model.key, "api": wire, "models": ["local-model"]}
            place.save(
                {
                    "mcp": {"servers": {"all": entry}},
                    "models": {"mode": "replace", "providers": {"vendor": provider}},
                    "agents": {"defaults": {"model": "vendor/local-model"}},
                }
            )
            async with running(place) as gateway, Chromium(tmp_path) as browser:
                await gateway.ready("all")
                await open_page(browser, place)
                await say(browser, "show me a picture")
                await says_yes(browser)
                await shown(browser, "A tiny picture.")
                await until(
                    browser, "location.hash.startsWith('#talk/') && !document.querySelector('.working')", "the end"
                )
                await browser.run("document.querySelector('details.call').open = true")
                await until(browser, "document.querySelector('details.call img')?.naturalWidth > 0", "the picture")
                (tmp_path / "picture.png").write_bytes(await browser.screenshot())
                assert await browser.run("return window.refused") == []
            assert (len(model.requests), model.refused) == (2, [])
